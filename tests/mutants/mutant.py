"""A deliberate fault, and the tests that must notice it."""

import ast
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True, eq=False)
class Mutant:
    """One mistake that somebody could make.

    Attributes:
        fault: what goes wrong, in words.
        file: the one that is changed; like all paths here, it begins at the root of the repository.
        text: what is replaced. It occurs once in the file, so that nobody can move it without noticing.
        becomes: what it is replaced by.
        tests: files and names of tests, as pytest takes them: the quickest that notice.
    """

    fault: str
    file: str
    text: str
    becomes: str
    tests: list[str]

    def problem(self, root: Path) -> str:
        """Why this is no mutant of the tree at `root`; empty if it is one."""
        path = root / self.file
        if not path.is_file():
            return f"there is no {self.file}"
        code = path.read_text(encoding="utf-8")
        if (n := code.count(self.text)) != 1:
            return f"{self.file} has its text {n} times"
        if path.suffix != ".py":  # a part of a page
            return "" if self.text != self.becomes else f"{self.file} does the same with it"
        try:
            mutated = ast.dump(ast.parse(self._applied_to(code)))
        except SyntaxError as error:
            return f"{self.file} is no longer Python with it ({error})"
        if mutated == ast.dump(ast.parse(code)):
            return f"{self.file} does the same with it"
        return ""

    @contextmanager
    def applied(self, root: Path) -> Iterator[None]:
        """The tree at `root` has the fault in this block."""
        path = root / self.file
        code, before = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(self._applied_to(code), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(code, encoding="utf-8")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def _applied_to(self, code: str) -> str:
        return code.replace(self.text, self.becomes)
