"""What the processes of one job, or the tasks of a job array, do with a shared translation.

The processes of a job meet in the folder of the parts, and nowhere else. The first one cuts the text, and holds its
file there as long as it lives; the others wait for that. When no part is left, the first one joins them. If a process
dies, its lock is open, and whoever comes to its part makes it.
"""

import json
import shlex
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seq2seq.artifacts.lease import LeaseTakenError, is_leased, leased
from seq2seq.config import DecodingConfig
from seq2seq.errors import TranslationError, command
from seq2seq.exit_status import note, tell_at_end
from seq2seq.files import write_json
from seq2seq.translation.descriptors import is_stream
from seq2seq.translation.output import OutputTaken, locked, open_output
from seq2seq.translation.request import TranslationRequest, check_lines
from seq2seq.translation.resumable import AlreadyTranslated, beside, differences, reporting
from seq2seq.translation.sharing.join import write_joined
from seq2seq.translation.sharing.plan import Folder, Plan, cut
from seq2seq.translation.sharing.processes import Process
from seq2seq.translation.sharing.share import Share
from seq2seq.translation.translator import Translator
from seq2seq.translation.watch import Counts, Watch
from seq2seq.translation.work import Work, block_size_of, watch_of

PATIENCE_S = (
    120.0  # for the first process to appear, and for the others to come late; NFS may show a file a minute late
)
_LOOK_EVERY_S = 0.2
_SAY_EVERY_S = 600.0
_HELD_BY_ASKING_S = 1.0  # who asks whether a file is held, holds it for a moment


def is_shared(request: TranslationRequest, process: Process | None) -> bool:
    """Whether several processes or tasks share the text.

    Raises:
        TranslationError: it cannot be shared; or it was, and is now to be translated by one process.
    """
    if process is None and request.shard is None:
        _refuse_parts(request.output)
        return False
    if process is not None and request.shard is not None:
        raise TranslationError("--shard is for tasks that run by themselves; leave it out under torchrun and srun")
    who = "several processes" if request.shard is None else "--shard"
    files = [("--input", request.input), *request.parallel_files(), ("--terms", request.terms)]
    for option, path in files:
        if (path is None and option == "--input") or (path is not None and is_stream(path)):
            raise TranslationError(
                f"{option} {path or 'from stdin'}: {who} cannot share a stream, since each reads all of it; give a "
                "file that all of them can read"
            )
    if request.output is None or is_stream(request.output):
        raise TranslationError(f"{who} need --output FILE, beside which the parts lie until they are joined")
    if request.references and request.shard is not None:
        raise TranslationError(
            "--reference scores the whole text, and --shard makes a part: leave it out, and score what is joined with "
            f"{command('join', request.output, '--reference', 'FILE')}"
        )
    if beside(request.output, ".partial").exists():
        raise TranslationError(
            f"{beside(request.output, '.partial')} is of one process: let one process continue it with --resume, or "
            "remove it to start anew"
        )
    return True


def _refuse_parts(output: Path | None) -> None:
    if output is None or is_stream(output):
        return
    folder = Folder(output)
    if folder.path.is_dir() and folder.read_plan() is not None:
        raise TranslationError(
            f"{folder.path} has parts of this translation by several processes: complete them with --shard 1/1 and "
            f"{command('join', output)}, or {folder.to_start_anew}"
        )


@dataclass(frozen=True)
class Job:
    """A text that is shared, as one of its processes sees it."""

    translator: Translator
    decoding: DecodingConfig
    request: TranslationRequest
    fingerprint: dict[str, Any]

    def do_shard(self) -> None:
        """Make the parts of one task of a job array."""
        assert self.request.shard is not None
        number, n_shards = self.request.shard
        folder = self._folder
        name = f"shard {number} of {n_shards}"
        with reporting(folder.path):
            folder.path.mkdir(exist_ok=True)
        with _holding(folder.path / f"shard-{number}-of-{n_shards}", f"{name} of {folder.output}"):
            with locked(folder.path / "plan", waits=True):
                plan = self._plan(folder, n_shards)
            mine = [index for index in range(len(plan.parts)) if index % n_shards == number - 1]
            todo = sum(plan.parts[index].n_units for index in mine)
            n_done = todo - sum(plan.parts[index].n_units for index in mine if folder.fault(plan, index))
            watch = watch_of(self.request, todo, n_done)
            with self._keeping(folder), Share(folder, plan, lambda index: index in mine, waits=False) as share:
                self._work(share, watch, 1)
        watch.report()
        n_left = len(folder.faults(plan))
        then = f"{n_left} parts of other shards are not there yet" if n_left else "all parts are there"
        watch.say(f"{name} is done, {then}; join them with: {command('join', folder.output)}")

    def do(self, process: Process) -> bool:
        """Make parts as one process of a job, and join them if this is the first one.

        Returns:
            Whether this process is to score the output.
        """
        folder = self._folder
        if (self.request.resume or process.is_restart) and self._is_done(folder, process):
            return process.is_first
        if process.is_first:
            with locked(folder.output):
                self._lead(folder, process)
            return True
        self._help(folder, process)
        return False

    def _lead(self, folder: Folder, process: Process) -> None:
        with reporting(folder.path):
            folder.path.mkdir(exist_ok=True)
            # What is left of an earlier attempt: a process of this one that comes late would be taken for dead.
            for path in folder.path.glob("process-*"):
                if not is_leased(path):
                    path.unlink()
        with _holding(folder.process(0), str(folder.output)), self._keeping(folder):
            plan = self._plan(folder, 0)
            n_done = plan.whole.n_units - sum(plan.parts[index].n_units for index in folder.faults(plan))
            watch = watch_of(self.request, plan.n_texts, n_done, lambda: _n_lines_of_others(folder, process))
            while True:
                with Share(folder, plan, lambda index: True, waits=True) as share:
                    self._work(share, watch, process.n_local_cores)
                if not _wait_for_free_part(folder, plan):
                    break
            write_joined(folder, plan)
            others = list(_counts_of_others(folder, process))
        shutil.rmtree(folder.path, ignore_errors=True)
        watch.report(others)

    def _help(self, folder: Folder, process: Process) -> None:
        plan = _plan_of_first(folder)
        self._check(folder, plan)
        own = folder.process(process.rank)
        with _holding(own, str(folder.output)), self._keeping(folder):
            watch = Watch(None, 0, self.request.is_quiet, shows_progress=False)
            progress = own.with_name(f"{own.name}.lines")
            with Share(folder, plan, lambda index: True, waits=True, progress=progress) as share:
                self._work(share, watch, process.n_local_cores)
            watch.counts.n_replaced = 0  # the first process has read the same input
            with suppress(FileNotFoundError):  # the first one waits no longer
                write_json(own.with_name(f"{own.name}.json"), vars(watch.counts))

    def _work(self, share: Share, watch: Watch, n_workers_alone: int) -> None:
        """
        Args:
            n_workers_alone: workers that a single process would have here, if it had as many as cores. The last batches
                of the text are shared out for them, so that they are the same.
        """
        chosen = self.request.engine.workers or self.request.engine.threads
        n_workers = self.translator.engine.n_workers
        n_sharing = n_workers if chosen else max(n_workers, n_workers_alone)
        Work(
            self.translator,
            self.decoding,
            replace(self.request, references=()),
            share,
            watch,
            lambda: n_sharing if share.has_last else 0,
        ).do()

    @property
    def _folder(self) -> Folder:
        assert self.request.output is not None
        return Folder(self.request.output)

    @contextmanager
    def _keeping(self, folder: Folder) -> Iterator[None]:
        """Say at the end of an interruption or an error what is kept. Without a plan, nothing is."""
        try:
            yield
        except BaseException as error:
            if folder.read_plan() is None:
                shutil.rmtree(folder.path, ignore_errors=True)
            else:
                tell_at_end(error, f"what is translated is kept in {folder.path}; the same command goes on")
            raise

    def _plan(self, folder: Folder, n_shards: int) -> Plan:
        """The plan that is there, or a new one."""
        if (plan := folder.read_plan()) is None:
            check_lines(self.request)
            request, size = self.request, block_size_of(self.request, self.decoding)
            parallel = request.prefixes or request.score
            beside_it = None if parallel is None else request.lines_of(parallel)
            if request.input_form == "lines":
                parts, whole, n_blocks, n_texts = cut(request.placed_lines([], size), str, beside_it)
            else:
                parts, whole, n_blocks, n_texts = cut(request.placed_pieces([], size), lambda piece: piece.source)
            plan = Plan(
                fingerprint=folder.settings(self.fingerprint),
                block_size=size,
                n_blocks=n_blocks,
                n_texts=n_texts,
                parts=parts,
                whole=whole,
                command=shlex.join([Path(sys.executable).name, *sys.orig_argv[1:]]),
                n_shards=n_shards,
            )
            folder.write_plan(plan)
        self._check(folder, plan)
        return plan

    def _check(self, folder: Folder, plan: Plan) -> None:
        old = {**plan.fingerprint, "max_batch_tokens": plan.block_size}
        new = {**folder.settings(self.fingerprint), "max_batch_tokens": block_size_of(self.request, self.decoding)}
        if changes := differences(old, new):
            raise TranslationError(
                f"{folder.path} was begun with other settings: {changes}. Continue it with the same, or "
                f"{folder.to_start_anew}"
            )

    def _is_done(self, folder: Folder, process: Process) -> bool:
        """Whether the output is complete, and what is asked for."""
        if folder.path.exists() or not folder.output.exists():
            return False
        try:
            with open_output(folder.output, self.fingerprint, resume=True) as output:
                watch = watch_of(self.request, None, output.n_lines_done)
                Work(self.translator, self.decoding, replace(self.request, references=()), output, watch).do()
        except AlreadyTranslated as done:
            if process.is_first:
                note(str(done))
            return True
        except TranslationError:
            if self.request.resume:
                raise
        return False


@contextmanager
def _holding(file: Path, what: str) -> Iterator[None]:
    """Hold a file of the folder as long as this process is at work."""
    end = time.monotonic() + _HELD_BY_ASKING_S
    with ExitStack() as held:
        while True:
            try:
                with reporting(file):
                    held.enter_context(leased(file))
                break
            except LeaseTakenError as taken:
                if time.monotonic() > end:
                    raise OutputTaken(
                        f"{what} is being translated by {taken.holder}; wait for it, or choose another --output"
                    ) from None
                time.sleep(_LOOK_EVERY_S)
        yield


def _plan_of_first(folder: Folder) -> Plan:
    """The plan, when the first process is there and has made it.

    Raises:
        TranslationError: the first process does not come, or it has ended.
    """
    end = time.monotonic() + PATIENCE_S
    was_there = False
    while True:
        is_there = is_leased(folder.process(0))
        was_there |= is_there
        if is_there and (plan := folder.read_plan()) is not None:
            return plan
        if was_there and not is_there:
            raise TranslationError("the first process has ended; see what it says")
        if not was_there and time.monotonic() > end:
            raise TranslationError(
                f"no sign of the first process in {folder.path} after {PATIENCE_S:.0f} s. All processes must see one "
                "folder with --output, on a file system that their machines share and that has locks. Without one, "
                "use --shard on each machine, and join the parts in one place"
            )
        time.sleep(_LOOK_EVERY_S)


def _wait_for_free_part(folder: Folder, plan: Plan) -> bool:
    """Wait while other processes make parts. False: all are whole; True: one is free, since its process has ended."""
    began = said = time.monotonic()
    missing = list(folder.faults(plan))
    while missing := [index for index in missing if folder.fault(plan, index)]:
        for index in missing:
            with suppress(OutputTaken), locked(folder.part(index)):
                if folder.fault(plan, index):
                    return True
        if time.monotonic() - said > _SAY_EVERY_S:
            said = time.monotonic()
            note(f"waiting for {len(missing)} parts that other processes make, such as {folder.part(missing[0])}")
        time.sleep(min(_LOOK_EVERY_S + (time.monotonic() - began) / 10, 5.0))
    return False


def _n_lines_of_others(folder: Folder, process: Process) -> int:
    n_lines = 0
    for rank in range(1, process.n_processes):
        with suppress(OSError, ValueError):  # not there yet, or just being written
            n_lines += int(Path(f"{folder.process(rank)}.lines").read_text())
    return n_lines


def _counts_of_others(folder: Folder, process: Process) -> Iterator[Counts]:
    """What the other processes counted. One that has died says nothing; one that comes late is waited for."""
    end = time.monotonic() + PATIENCE_S
    for rank in range(1, process.n_processes):
        file = folder.process(rank)
        counted = Path(f"{file}.json")
        while not counted.exists():
            has_died = file.exists() and not is_leased(file) and not counted.exists()
            if has_died or time.monotonic() > end:
                break
            time.sleep(_LOOK_EVERY_S)
        with suppress(OSError, ValueError, TypeError):
            content = json.loads(counted.read_bytes())
            yield Counts(**content | {name: Counter(content[name]) for name in ("findings", "changes")})
