"""Search with CTranslate2: the same model in C++, several times as fast on a CPU, and in 8 bits if exported so.

It finds what `seq2seq/decoding` finds, except for one rule: a beam of CTranslate2 stops when `patience` x `beam_size`
hypotheses have ended, ours when no live hypothesis can win any more. Log-probabilities and scores mean the same. If the
model has a shortlist (`seq2seq/export/shortlist.py`), a search has a choice only among its pieces.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from math import expm1, inf, log
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seq2seq.artifacts.model_directory import CTRANSLATE2, SHORTLIST
from seq2seq.config import DecodingConfig
from seq2seq.cores import n_cores
from seq2seq.decoding import Hypothesis, length_limit, length_penalty, min_length
from seq2seq.errors import CheckpointError, ConfigError, TokenizerError
from seq2seq.memory import no_room_on, telling_out_of_memory
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.engines import Engine, Needs, Sentence
from seq2seq.translation.options import EngineOptions
from seq2seq.vocabulary import BOS, EOS, PAD, UNK

if TYPE_CHECKING:
    from ctranslate2 import Translator

logger = logging.getLogger(__name__)

# The length to this power is 1 in float32. With a power of 0, CTranslate2 would also follow another rule for when to
# stop: as soon as the best hypothesis of the beam has ended.
_NO_PENALTY = 1e-12


class _Job(NamedTuple):
    """One sentence in CTranslate2's terms."""

    source: list[str]  # pieces; CTranslate2 adds eos
    limit: int  # most tokens of a hypothesis, eos counted
    minimum: int  # fewest tokens of a hypothesis, eos not counted


class CTranslate2Engine:
    """An `Engine`, see `seq2seq/translation/engines/__init__.py`."""

    max_batch_tokens = 3072  # in float32 as fast as 8192, in int8 faster by some percent (d_model 256, two cores)

    def __init__(
        self,
        translator: "Translator",
        pieces: Sequence[str],
        max_length: int,
        n_workers: int,
        attending: Engine | None = None,
        n_always: int = 0,
    ) -> None:
        """Use `load`.

        Args:
            attending: an engine of the same model, for the attention that CTranslate2 does not give.
            n_always: if the model has a shortlist, the number of pieces that each of its searches may choose.
        """
        self.max_length = max_length
        self.n_workers = n_workers
        self.splits_last = translator.device == "cpu"
        self.forks = False
        self.precision: str = translator.compute_type
        self.translator = translator
        self._has_shortlist = n_always > 0
        self._n_pieces = EOS + 1 + n_always if n_always else len(pieces)  # to choose among, with the special ones
        if self._has_shortlist:  # a batch has a choice among what is likely for any of its sources
            self.max_batch_tokens = 1024
        self._attending = attending
        self.gives_attention = attending is not None
        self._pieces = pieces
        self._id_of = {piece: i for i, piece in enumerate(pieces)}

    def start_worker(self) -> None:
        """CTranslate2 has its own threads."""
        if self._attending is not None:
            self._attending.start_worker()

    def check(self, config: DecodingConfig, needs: Needs) -> None:
        """See `Engine.check`."""
        problems = list(search_problems(config, needs, self._n_pieces))
        if needs.attention and not self.gives_attention:
            problems.append("CTranslate2 gives no attention to align words by")
        if problems:
            remedy = "use the run that the model comes from, with engine=torch"
            raise ConfigError("\n".join(f"{problem}; {remedy}" for problem in problems))

    def decode(self, sentences: Sequence[Sentence], config: DecodingConfig) -> list[list[Hypothesis]]:
        """See `Engine.decode`."""
        assert not any(sentence.prefix or sentence.required for sentence in sentences)  # `check` has refused that
        jobs = [self._job(sentence.source, config) for sentence in sentences]
        found: dict[int, list[Hypothesis]] = {}
        # One call of CTranslate2 takes one least length and one limit for all sentences.
        for indices in _alike(range(len(jobs)), lambda i: jobs[i].minimum):
            longest = max(jobs[i].limit for i in indices)
            found.update(zip(indices, self._translate([jobs[i] for i in indices], longest, config), strict=True))
            unfinished = [i for i in indices if not _is_final(found[i], jobs[i].limit, longest, config)]
            for group in _alike(unfinished, lambda i: jobs[i].limit):
                cut = self._translate([jobs[i] for i in group], jobs[group[0]].limit, config, reaches_limit=True)
                found.update(zip(group, cut, strict=True))
        return [found[i][: config.n_best] for i in range(len(jobs))]

    def score(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """See `Engine.score`."""
        src = [self._to_pieces(source) for source in sources]
        results = self.translator.score_batch(src, [self._to_pieces(target) for target in targets], max_input_length=0)
        # The model itself never makes pad, unk and bos: its output has a bias against them. Only the search forbids eos
        # as the first token, so the probability of eos is taken out of the first softmax here.
        ends_at_once = self.translator.score_batch(src, [[] for _ in src], max_input_length=0)
        return [
            _scores(target, list(result.log_probs), end.log_probs[0])
            for target, result, end in zip(targets, results, ends_at_once, strict=True)
        ]

    def attention(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """See `Engine.attention`."""
        assert self._attending is not None  # `check` has refused that
        return self._attending.attention(sources, targets)

    def _job(self, source: Sequence[int], config: DecodingConfig) -> _Job:
        limit = length_limit(len(source), config, self.max_length)
        return _Job(self._to_pieces(source), limit, min_length(len(source), config, limit))

    def _translate(
        self, jobs: Sequence[_Job], limit: int, config: DecodingConfig, *, reaches_limit: bool = False
    ) -> list[list[Hypothesis]]:
        """For each sentence all hypotheses that CTranslate2 keeps, best first.

        Args:
            jobs: all with the same least length.
            limit: most tokens of a hypothesis, the same for all jobs.
            reaches_limit: whether each search is known to go on up to the limit. Then more patience changes nothing but
                the number of hypotheses returned: all that ended before, and the beam that ended or was cut there.
        """
        # A beam stops when so many hypotheses have ended.
        enough = 1 if config.beam_size == 1 else int(config.patience * config.beam_size + 0.5)
        if reaches_limit and config.beam_size > 1:
            enough += config.beam_size
        results = self.translator.translate_batch(
            [job.source for job in jobs],
            max_batch_size=0,
            beam_size=config.beam_size,
            patience=enough / config.beam_size,
            num_hypotheses=enough,
            length_penalty=config.alpha if config.normalization == "length" and config.alpha else _NO_PENALTY,
            repetition_penalty=config.repetition_penalty,
            no_repeat_ngram_size=config.no_repeat_ngram,
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=jobs[0].minimum,
            return_scores=True,
            return_end_token=True,
            use_vmap=self._has_shortlist,
        )
        return [self._hypotheses(result, config) for result in results]

    def _hypotheses(self, result: Any, config: DecodingConfig) -> list[Hypothesis]:
        hypotheses = []
        for pieces, score in zip(result.hypotheses, result.scores, strict=True):
            ids = [self._id_of[piece] for piece in pieces]
            penalty = length_penalty(len(ids), config.normalization, config.alpha)
            finished = ids[-1] == EOS
            hypotheses.append(Hypothesis(ids[:-1] if finished else ids, score * penalty, score, finished))
        return sorted(hypotheses, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))

    def _to_pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._pieces[i] for i in ids]


def search_problems(config: DecodingConfig, needs: Needs, vocab_size: int) -> Iterator[str]:
    """What CTranslate2 cannot do of a search."""
    if config.sampling:
        yield "decoding.sampling=true draws other random numbers in CTranslate2"
    if config.normalization == "gnmt" and config.alpha:
        yield "decoding.normalization=gnmt is unknown to CTranslate2, which knows only none and length"
    # Each hypothesis needs spare candidates; beyond the vocabulary CTranslate2 would take forbidden tokens.
    if 2 * config.beam_size > (widest := vocab_size - 4):
        yield f"decoding.beam_size={config.beam_size} is too wide for {widest} pieces in CTranslate2"
    if needs.prefixes:
        yield "CTranslate2 cannot let a translation begin with given words"
    if needs.required:
        yield "CTranslate2 cannot make a translation contain given phrases"


def _alike(indices: Iterable[int], key: Callable[[int], int]) -> Iterator[list[int]]:
    """The indices in groups that have the same key."""
    for _, group in groupby(sorted(indices, key=key), key=key):
        yield list(group)


def _is_final(hypotheses: Sequence[Hypothesis], limit: int, longest: int, config: DecodingConfig) -> bool:
    """Whether a search with the limit `longest` found what a search with `limit` would find; `limit` <= `longest`.

    Both searches take the same steps before step `limit`. A search stops in the step in which its last hypotheses end
    or are cut. One of these is always returned, since fewer than are returned ended before. So the longest hypothesis
    that was returned tells when the search stopped:

    - before step `limit`: the limit made no difference.
    - in step `limit`, because enough had ended: only cut hypotheses differ, and these come after those that ended.
    - in step `limit`, because the others were cut there: the best of all by score were returned. If `n_best` of these
      ended, they are the best of those that ended.
    """
    n_steps = max(len(hypothesis.tokens) + hypothesis.finished for hypothesis in hypotheses)
    if n_steps == limit == longest and config.beam_size > 1:
        return sum(hypothesis.finished for hypothesis in hypotheses) >= config.n_best
    return n_steps <= limit


def _scores(target: Sequence[int], log_probs: list[float], end_at_once: float) -> list[float]:
    """The scores of CTranslate2, without eos in the first softmax, and with -inf for tokens that no search may choose.

    Args:
        end_at_once: log-probability of eos as the first token.
    """
    scores = [
        -inf if token in (PAD, UNK, BOS) else value for token, value in zip([*target, EOS], log_probs, strict=True)
    ]
    if not target or end_at_once == 0:  # a probability that rounds to 1 leaves nothing for the others
        return [-inf, *scores[1:]]
    return [scores[0] - log(-expm1(end_at_once)), *scores[1:]]


def load(
    directory: Path, tokenizer: Tokenizer, max_length: int, options: EngineOptions, attending: Engine | None = None
) -> CTranslate2Engine:
    """The engine for a model directory with CTranslate2 weights.

    Args:
        tokenizer: of the same directory.
        max_length: `model.max_length` of its configuration.
        options: `precision=auto` is the type that the weights were quantised to, or the nearest one that the device
            computes. `workers=0` on a CPU searches one batch on each thread: that was 2 to 6 times as fast as one batch
            on all threads.
        attending: see `CTranslate2Engine`.
    Raises:
        CheckpointError: there are no CTranslate2 weights, or they are damaged.
        ConfigError: CTranslate2 is not installed, or has no such device or precision here, or the device has no room.
        TokenizerError: the weights belong to another tokenizer.
    """
    ctranslate2 = require_ctranslate2()
    weights = directory / CTRANSLATE2
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    _check_vocabulary(weights, pieces)
    name, _, index = options.device.partition(":")
    gpu = int(index) if index.isdigit() else 0
    n_threads = options.threads or n_cores()
    n_gpus = ctranslate2.get_cuda_device_count()
    if n_gpus and options.device in ("auto", "cuda"):
        gpu = options.local_rank % n_gpus
    n_workers = options.workers or (1 if name == "cuda" or (name == "auto" and n_gpus) else n_threads)
    try:
        if name == "cuda" and gpu >= n_gpus:  # CTranslate2 would report it like damaged weights
            raise ValueError(f"it sees {n_gpus} CUDA devices")
        with telling_out_of_memory(no_room_on(f"the GPU {gpu}")):
            translator = ctranslate2.Translator(
                str(weights),
                device=name,
                device_index=gpu,
                compute_type="default" if options.precision == "auto" else options.precision,
                inter_threads=n_workers,
                intra_threads=max(1, n_threads // n_workers),
            )
    except ValueError as error:  # it does not have the device or the type
        raise ConfigError(
            f"CTranslate2 cannot run with device={options.device} and precision={options.precision} here ({error}); "
            "use device=cpu or precision=auto"
        ) from error
    except RuntimeError as error:
        raise CheckpointError(
            f"{weights}: cannot be loaded, so it is damaged or from another version of CTranslate2; export the model "
            f"again [{' '.join(str(error).split())[:200]}]"
        ) from error
    if translator.device == "cuda" and (problem := _problem_on_gpu(translator, pieces)):
        if name != "auto":
            raise ConfigError(f"CTranslate2 cannot use this GPU ({problem}); docs/export.md says what it needs there")
        logger.warning("CTranslate2 cannot use the GPU (%s), and takes the CPU (docs/export.md)", problem)
        return load(directory, tokenizer, max_length, replace(options, device="cpu"), attending)
    return CTranslate2Engine(translator, pieces, max_length, n_workers, attending, _n_always(directory / SHORTLIST))


def _problem_on_gpu(translator: "Translator", pieces: list[str]) -> str:
    """Why a GPU cannot translate: the libraries of CUDA are loaded with the first batch, and need not be there."""
    try:
        translator.translate_batch([[pieces[EOS]]], max_decoding_length=1)
    except RuntimeError as error:
        return " ".join(str(error).split())[:200]
    return ""


def _n_always(shortlist: Path) -> int:
    """How many pieces the first line of a shortlist has, which is for every sentence; 0 without such a file."""
    if not shortlist.exists():
        return 0
    with shortlist.open(encoding="utf-8", newline="\n") as lines:
        return len(lines.readline().partition("\t")[2].split(" "))


def require_ctranslate2() -> Any:
    """The module `ctranslate2`.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import ctranslate2
    except ImportError as error:
        if isinstance(error.__cause__, (KeyboardInterrupt, SystemExit)):
            raise error.__cause__ from None  # a signal during the import, which C++ turns into an ImportError
        raise ConfigError(
            "CTranslate2 is not installed; run, in a clone of seq2seq: pip install -e '.[ctranslate2]'"
        ) from error
    return ctranslate2


def _check_vocabulary(weights: Path, pieces: list[str]) -> None:
    file = weights / "shared_vocabulary.json"
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{file}: cannot be read, so it is damaged; export the model again") from error
    if stored != pieces:
        raise TokenizerError(f"{file}: has other pieces than the tokenizer beside it; export the model again")
