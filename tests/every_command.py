"""Do commands one after another in this process:  python -m tests.every_command MODULE... < commands.json > ended.json

The modules are missing then, as where they are not installed. A command is a list of words. It ends as its exit status
and what it wrote to stderr.
"""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout


def ended(words: list[str]) -> tuple[int, str]:
    from seq2seq.cli import main

    messages = io.StringIO()
    with redirect_stderr(messages), redirect_stdout(io.TextIOWrapper(io.BytesIO())):
        try:
            main(words)
        except SystemExit as end:
            return int(end.code or 0), messages.getvalue()
    return 0, messages.getvalue()


if __name__ == "__main__":
    for module in sys.argv[1:]:
        sys.modules[module] = None  # type: ignore[assignment]  # what makes `import` fail
    results = [ended(words) for words in json.load(sys.stdin)]
    print(json.dumps(results))
