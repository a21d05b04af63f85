"""What a run is: typed sections with their defaults and checks.

Hydra composes the files under `conf/`, `read_config` turns the result once into these objects, and
nothing below that line knows Hydra. A default lives here and nowhere else; `docs/configuration.md` and the
comments under `conf/` say what each key is for.
"""

import dataclasses
import difflib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigKeyError, MissingMandatoryValue, OmegaConfBaseException

from seq2seq.errors import ConfigError

# Any: OmegaConf has no union of string and mapping; seq2seq/corpus/sources.py checks the forms.
Source = Any


@dataclass(kw_only=True)
class DataConfig:
    """Which parallel text, in which direction.

    A source is a prefix (`corpus/train` means `corpus/train.fr` and `corpus/train.en`, compressed or not), a
    `.tsv` or `.jsonl` file, or `{src: FILE, tgt: FILE}`; `{source: SOURCE, tag: NAME}` is one of these with a tag that
    says what kind of text it is. `train` and `valid` are a source or a list of sources, `test` is a source, a list of
    them, or a mapping from names to sources: each is a test set with its own scores. Files `test.en.1`, `test.en.2`,
    ... beside the targets `test.en` (or `valid.en`) are further references.
    """

    name: str = "sample"  # in logs and titles
    dir: str = ""  # relative sources start here; empty: the working directory; `bundled:NAME`: data/NAME
    src_lang: str = "fr"  # also the ending of its files
    tgt_lang: str = "en"  # also the ending of its files, and whose tokens bleu_legacy_tok counts
    train: Source = "train"  # a source or a list of sources
    valid: Source = "valid"  # a source or a list of sources
    test: Source = "test"  # one source, several, or {NAME: SOURCE}
    tsv_columns: list[str] = field(default_factory=lambda: ["fr", "en"])  # languages of a TSV's columns
    max_sentence_tokens: int = 256  # training pairs with a longer side, in subword tokens, are left out and counted
    max_length_ratio: float = 0.0  # longer side over shorter side, in tokens; 0: no limit
    drop_duplicates: bool = False  # leave out repeated (source, target) pairs of the training text
    temperature: float = 1.0  # of several training sources: shares in proportion to pairs ** (1 / temperature)
    tag_dropout: float = 0.1  # share of tagged training pairs that are read without their tag, others in each epoch
    cache_dir: str = ""  # prepared corpora and tokenizers; empty: $SEQ2SEQ_CACHE or ~/.cache/seq2seq

    @property
    def tests(self) -> dict[str, Source]:
        """The test sets by name; one without a name is called as its file is."""
        if isinstance(self.test, dict) and not set(self.test) & {"src", "tgt"} and set(self.test) != {"source", "tag"}:
            return self.test
        return {_stem(source): source for source in self._unnamed_tests}

    @property
    def tags(self) -> list[str]:
        """Those of the training text, each once, in alphabetical order."""
        return sorted(_tags(self.train))

    @property
    def _unnamed_tests(self) -> list[Source]:
        sources = self.test if isinstance(self.test, list) else [self.test]
        return [source for source in sources if source]  # data.test=null: no test set

    def problems(self) -> Iterator[str]:
        yield from _at_least("data", self, max_sentence_tokens=1, max_length_ratio=0.0, temperature=1.0)
        if self.src_lang == self.tgt_lang:
            yield f"data.src_lang and data.tgt_lang are both {self.src_lang!r}; name two languages"
        if self.max_length_ratio and self.max_length_ratio < 1:
            yield f"data.max_length_ratio={self.max_length_ratio} is below 1 and would drop every pair; use 0 or > 1"
        if len(self.tests) < len(self._unnamed_tests):
            yield f"data.test={self.test} names two test sets alike; write {{NAME: SOURCE, OTHER: SOURCE}}"
        if not 0 <= self.tag_dropout < 1:
            yield f"data.tag_dropout={self.tag_dropout} is not a probability below 1"
        yield from self._tag_problems()

    def _tag_problems(self) -> Iterator[str]:
        for name in self.tags:
            if not re.fullmatch(r"[a-z0-9_-]+", name):
                yield f"data.train: the tag {name!r} is not made of a-z, 0-9, _ and - alone; rename it"
        for split, value in (("valid", self.valid), ("test", list(self.tests.values()))):
            if unknown := sorted(_tags(value) - set(self.tags)):
                yield (
                    f"data.{split} has the tag {unknown[0]!r}, and data.train has {', '.join(self.tags) or 'no tags'}; "
                    "a model knows the tags of its training text only"
                )


@dataclass(kw_only=True)
class TokenizerConfig:
    """One SentencePiece model for both languages, trained on the training side only."""

    model_type: str = "bpe"  # bpe, unigram
    vocab_size: int = 8000  # pieces, the 256 bytes and 4 special ids included
    character_coverage: float = 1.0  # share of characters with a piece of their own; the rest become bytes
    normalization: str = "nmt_nfkc"  # SentencePiece rule; `identity` keeps no-break spaces and double spaces
    max_sentences: int = 5_000_000  # lines a side that the model is trained on, drawn at random beyond that
    subword_regularization: float = 0.0  # subword regularisation: BPE-dropout probability, or unigram alpha; 0: off

    def problems(self) -> Iterator[str]:
        yield from _one_of("tokenizer", self, model_type=("bpe", "unigram"))
        yield from _one_of("tokenizer", self, normalization=("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "identity"))
        yield from _at_least("tokenizer", self, vocab_size=261, max_sentences=1, subword_regularization=0.0)
        if not 0 < self.character_coverage <= 1:
            yield f"tokenizer.character_coverage={self.character_coverage} is not in (0, 1]"
        if self.model_type == "bpe" and self.subword_regularization >= 1:
            yield (
                f"tokenizer.subword_regularization={self.subword_regularization} is not a BPE-dropout probability; "
                "choose one below 1"
            )


@dataclass(kw_only=True)
class BatchConfig:
    """How pairs become batches: see `seq2seq/dataset/batches.py`."""

    max_tokens: int = 4096  # a micro-batch on one rank: pairs x longest side, padding counted
    accumulate: int = 1  # micro-batches in one optimizer step
    n_workers: int = 0  # processes that assemble batches; 0: the training process, which costs well under 2%

    def problems(self) -> Iterator[str]:
        yield from _at_least("batch", self, max_tokens=1, accumulate=1, n_workers=0)


# The fields of ModelConfig that act in training only.
DROPOUTS = ("dropout", "attention_dropout", "activation_dropout", "word_dropout")


@dataclass(kw_only=True)
class ModelConfig:
    """The Transformer of Vaswani et al. 2017 and the variants that matter."""

    d_model: int = 256  # width of the residual stream
    n_heads: int = 4  # divides d_model
    d_ff: int = 1024  # width inside the feed-forward network
    n_encoder_layers: int = 3  # encoder depth
    n_decoder_layers: int = 3  # decoder depth; a shallow decoder translates faster
    norm: str = "pre"  # `post` is the paper's; `pre` (Xiong et al. 2020) trains without a delicate warm-up
    activation: str = "relu"  # relu, gelu, swiglu
    positions: str = "sinusoidal"  # sinusoidal, learned, or rotary (Su et al. 2021)
    embeddings: str = "shared"  # source, target and output: `shared`; target and output: `decoder`; or `separate`
    dropout: float = 0.1  # after embeddings and on each sublayer's output (the paper's section 5.4)
    attention_dropout: float = 0.0  # on attention weights
    activation_dropout: float = 0.0  # inside the feed-forward network
    word_dropout: float = 0.0  # share of source and target tokens of which only the position is seen
    max_length: int = 1024  # longest source or target, in tokens with bos or eos

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @property
    def has_dropout(self) -> bool:
        return any(getattr(self, name) > 0 for name in DROPOUTS)

    def problems(self) -> Iterator[str]:
        yield from _at_least(
            "model", self, d_model=2, n_heads=1, d_ff=1, n_encoder_layers=1, n_decoder_layers=1, max_length=2
        )
        yield from _one_of("model", self, norm=("pre", "post"), activation=("relu", "gelu", "swiglu"))
        yield from _one_of("model", self, positions=("sinusoidal", "learned", "rotary"))
        yield from _one_of("model", self, embeddings=("shared", "decoder", "separate"))
        if self.n_heads > 0 and self.d_model % self.n_heads:
            yield (
                f"model.d_model={self.d_model} does not split over model.n_heads={self.n_heads}; "
                f"choose a multiple of {self.n_heads}"
            )
        elif self.positions == "rotary" and self.n_heads > 0 and self.d_head % 2:
            yield (
                f"model.positions=rotary turns pairs of numbers, and model.d_model={self.d_model} over "
                f"model.n_heads={self.n_heads} makes heads of an odd size; choose sizes that make it even"
            )
        if self.d_model % 2:
            yield f"model.d_model={self.d_model} is odd; sines and cosines come in pairs, choose an even size"
        for name in DROPOUTS:
            if not 0 <= getattr(self, name) < 1:
                yield f"model.{name}={getattr(self, name)} is not a probability below 1"


@dataclass(kw_only=True)
class OptimConfig:
    """Loss, optimizer and the learning rate as a function of the step."""

    optimizer: str = "adamw"  # adamw; muon: for the matrices of the layers, AdamW for the rest (Jordan et al. 2024)
    lr: float = 2e-3  # the highest learning rate, reached at the end of warm-up
    schedule: str = "inverse_sqrt"  # inverse_sqrt, constant; cosine, linear: down to the end of the run, steps or time
    warmup_steps: int = 1000  # linear, from 0 to lr
    final_lr: float = 0.0  # where `cosine` and `linear` end, as a share of lr
    beta1: float = 0.9  # of Adam
    beta2: float = 0.98  # of Adam
    eps: float = 1e-9  # of Adam
    momentum: float = 0.95  # of Muon
    weight_decay: float = 0.0  # on matrices only: no norms, no biases
    clip_norm: float = 1.0  # largest norm of the gradient; 0: no clipping
    label_smoothing: float = 0.1  # probability mass spread evenly over the whole vocabulary
    r_drop: float = 0.0  # two passes with other dropout, and so much weight on their agreement (Liang et al. 2021)

    def problems(self) -> Iterator[str]:
        schedules = ("inverse_sqrt", "cosine", "linear", "constant")
        yield from _one_of("optim", self, optimizer=("adamw", "muon"), schedule=schedules)
        yield from _at_least("optim", self, warmup_steps=0, final_lr=0.0, weight_decay=0.0, clip_norm=0.0, r_drop=0.0)
        if self.lr <= 0:
            yield f"optim.lr={self.lr} must be above 0"
        for name in ("label_smoothing", "beta1", "beta2", "momentum"):
            if not 0 <= getattr(self, name) < 1:
                yield f"optim.{name}={getattr(self, name)} is not in [0, 1)"


@dataclass(kw_only=True)
class TrainerConfig:
    """Where and how long to train, how often to look, and what to keep."""

    accelerator: str = "auto"  # `auto`: a GPU if there is one
    devices: int = 0  # how many; 0: all GPUs, or one CPU process
    n_nodes: int = 1  # machines
    strategy: str = "auto"  # any name that Lightning knows; ddp is tested, those that share out the weights are not
    precision: str = "auto"  # `auto`: bf16-mixed where the hardware multiplies bf16 natively, else 32-true
    threads: int = 0  # CPU threads for the products; 0: as torch decides
    max_epochs: int = 0  # 0: no limit
    max_steps: int = 0  # optimizer steps; 0: no limit
    max_time: str = ""  # DD:HH:MM:SS of training and validation; the final selection and the test scores come after it
    val_every_n_steps: int = 0  # 0: at the end of each epoch
    log_every_n_steps: int = 10  # of the training metrics
    valid_sentences: int = 0  # decode only so many sentences of valid while training, evenly spread; 0: all
    monitor: str = "valid/bleu"  # what is best: higher, except for names with `loss` or `perplexity`
    patience: int = 0  # stop after so many validations without a better monitor; 0: never
    average_last: int = 5  # the last so many validations' weights are averaged at the end; 0: none
    ema_decay: float = 0.0  # exponential moving average of the weights, a candidate at the end; 0: off
    compile: bool = False  # torch.compile the model; worth its warm-up on GPUs
    progress: bool = True  # the progress bar

    def problems(self) -> Iterator[str]:
        yield from _one_of(
            "trainer", self, precision=("auto", "32-true", "bf16-mixed", "16-mixed", "bf16-true", "64-true")
        )
        yield from _one_of("trainer", self, accelerator=("auto", "cpu", "gpu", "cuda", "mps"))
        yield from _one_of(
            "trainer",
            self,
            monitor=("valid/bleu", "valid/chrf", "valid/loss", "valid/perplexity", "valid/accuracy"),
        )
        yield from _at_least(
            "trainer",
            self,
            devices=0,
            n_nodes=1,
            threads=0,
            max_epochs=0,
            max_steps=0,
            val_every_n_steps=0,
            log_every_n_steps=1,
            valid_sentences=0,
            patience=0,
            average_last=0,
        )
        if not 0 <= self.ema_decay < 1:
            yield f"trainer.ema_decay={self.ema_decay} is not in [0, 1)"
        if not (self.max_epochs or self.max_steps or self.max_time):
            yield "nothing ends this run; set trainer.max_epochs, trainer.max_steps or trainer.max_time"
        if self.max_time and not _is_duration(self.max_time):
            yield f"trainer.max_time={self.max_time!r} is not a duration; write DD:HH:MM:SS, such as 00:01:30:00"

    @property
    def max_seconds(self) -> int:
        """`max_time`; 0 for none."""
        if not self.max_time:
            return 0
        days, hours, minutes, seconds = map(int, self.max_time.split(":"))
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


@dataclass(kw_only=True)
class DecodingConfig:
    """How a translation is searched for, in validation, in the final test and by default in translate.py."""

    beam_size: int = 5  # 1 is greedy
    normalization: str = "length"  # none; length: n^alpha; gnmt: ((5 + n) / 6)^alpha (Wu et al. 2016)
    alpha: float = 1.0  # exponent of the normalisation
    n_best: int = 1  # hypotheses kept, best first; at most beam_size, unless they are sampled
    max_length_a: float = 1.5  # a hypothesis has at most a * source tokens + b tokens
    max_length_b: int = 10  # tokens
    min_length_a: float = 0.0  # no hypothesis ends before it has a * source tokens + b tokens
    min_length_b: int = 0  # tokens
    no_repeat_ngram: int = 0  # no sequence of so many tokens comes twice in a hypothesis; 0: no such rule
    repetition_penalty: float = 1.0  # above 1: makes tokens less likely that the hypothesis has (Keskar et al. 2019)
    sampling: bool = False  # draw tokens at random, n_best times, in place of a search for the most probable ones
    temperature: float = 1.0  # of sampling: logits are divided by it
    top_k: int = 0  # of sampling: only from the k most probable tokens; 0: from all
    top_p: float = 1.0  # of sampling: only from the fewest tokens that have this probability (Holtzman et al. 2020)
    seed: int = 1  # of sampling
    max_batch_tokens: int = 8192  # sources decoded together: sentences x longest source x beam_size

    def problems(self) -> Iterator[str]:
        yield from _one_of("decoding", self, normalization=("none", "length", "gnmt"))
        yield from _at_least(
            "decoding",
            self,
            beam_size=1,
            alpha=0.0,
            n_best=1,
            max_length_a=0.0,
            max_length_b=1,
            min_length_a=0.0,
            min_length_b=0,
            no_repeat_ngram=0,
            top_k=0,
            seed=0,
            max_batch_tokens=1,
        )
        if self.n_best > self.beam_size and not self.sampling:
            yield f"decoding.n_best={self.n_best} is above decoding.beam_size={self.beam_size}; widen the beam"
        for name in ("repetition_penalty", "temperature"):
            if not 0 < getattr(self, name) < math.inf:
                yield f"decoding.{name}={getattr(self, name)} must be above 0"
        if not 0 < self.top_p <= 1:
            yield f"decoding.top_p={self.top_p} is not in (0, 1]"


@dataclass(kw_only=True)
class LoggerConfig:
    """Where metrics go besides `metrics.csv`, which is always written."""

    wandb: bool = True  # track in Weights & Biases
    tensorboard: bool = False  # write TensorBoard events
    wandb_mode: str = "auto"  # `auto` is online with credentials and offline without; online, offline, disabled
    wandb_project: str = "seq2seq"  # of W&B
    wandb_entity: str = ""  # W&B user or team; empty: the default one
    wandb_group: str = ""  # of W&B; empty: the experiment, or the sweep
    wandb_tags: list[str] = field(default_factory=list)  # of W&B
    n_samples: int = 20  # validation sentences whose translations are logged at each validation

    def problems(self) -> Iterator[str]:
        yield from _one_of("logger", self, wandb_mode=("auto", "online", "offline", "disabled"))
        yield from _at_least("logger", self, n_samples=0)


@dataclass(kw_only=True)
class RunConfig:
    """One training run, whole."""

    name: str = "default"  # of the experiment
    seed: int = 1  # of weights, batches, dropout and sampling
    run_dir: str = ""  # everything that the run writes
    resume: str = ""  # a run directory to continue; its configuration is used
    finetune: str = ""  # a trained model to start from: its weights, model and subwords are used
    data: DataConfig = field(default_factory=DataConfig)
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    batch: BatchConfig = field(default_factory=BatchConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)

    def problems(self) -> Iterator[str]:
        if not 0 <= self.seed < 2**32:
            yield f"seed={self.seed} is not in [0, 2^32)"
        for section in dataclasses.fields(self):
            if dataclasses.is_dataclass(section.type):
                yield from getattr(self, section.name).problems()
        n_more, ends = (2, "two more tokens tag and end") if self.data.tags else (1, "one more token ends")
        if self.data.max_sentence_tokens + n_more > self.model.max_length:
            yield (
                f"data.max_sentence_tokens={self.data.max_sentence_tokens} lets in sentences beyond model.max_length="
                f"{self.model.max_length} ({ends} a sentence); lower the first or raise the second"
            )
        if self.batch.max_tokens < self.data.max_sentence_tokens + n_more:
            yield (
                f"batch.max_tokens={self.batch.max_tokens} cannot hold one sentence of data.max_sentence_tokens="
                f"{self.data.max_sentence_tokens} ({ends} it); raise the first or lower the second"
            )
        if self.optim.r_drop and not self.model.has_dropout:
            yield f"optim.r_drop={self.optim.r_drop} compares passes that differ in dropout; set model.dropout above 0"


def read_config(cfg: DictConfig | Mapping[str, Any]) -> RunConfig:
    """Turn what Hydra composed, or what a checkpoint holds, into plain typed objects.

    Raises:
        ConfigError: unknown keys (with the nearest valid one), wrong types, and values that cannot work,
            the latter all in one message.
    """
    try:
        plain = (
            OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)
            if isinstance(cfg, DictConfig)
            else dict(cfg)
        )
        # Merging plain containers, not the composed config, also closes the hole of `+unknown=1`.
        config = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(RunConfig), plain))
    except OmegaConfBaseException as error:
        raise ConfigError(describe(error)) from error
    assert isinstance(config, RunConfig)
    if problems := list(config.problems()):
        raise ConfigError("\n".join(problems))
    return config


def describe(error: OmegaConfBaseException) -> str:
    """One sentence for a key or value that the schema refuses."""
    key = str(error.full_key or error.key or "?")
    if isinstance(error, MissingMandatoryValue):
        return f"{key} has no value here; add {key}=... to the command"
    if isinstance(error, (ConfigKeyError, AttributeError)):
        return unknown_key(key)
    return f"{key}: {str(error).splitlines()[0]}; see the comments in conf/ for what {key} takes"


def unknown_key(key: str) -> str:
    """Say that no key has this name, and which valid ones come nearest."""
    near = difflib.get_close_matches(key, _keys(RunConfig), n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "conf/ documents every key."
    return f"there is no configuration key {key!r}; {hint}"


def _keys(section: type, prefix: str = "") -> list[str]:
    """Every dotted key of a section and of those inside it."""
    keys = []
    for item in dataclasses.fields(section):
        keys.append(prefix + item.name)
        if dataclasses.is_dataclass(item.type):
            keys += _keys(item.type, f"{prefix}{item.name}.")  # type: ignore[arg-type]
    return keys


def _stem(source: Source) -> str:
    """What to call a test set after its file: `corpus/news.fr.gz` is `news`."""
    if isinstance(source, dict) and "tag" in source:
        return _stem(source["source"])
    path = source.get("src", "test") if isinstance(source, dict) else source
    return Path(str(path)).name.split(".")[0]


def _tags(sources: Source) -> set[str]:
    """The tags of a source, or of all sources of a list."""
    if isinstance(sources, list):
        return {tag for source in sources for tag in _tags(source)}
    return {str(sources["tag"])} if isinstance(sources, dict) and "tag" in sources else set()


def _one_of(section: str, config: Any, **choices: tuple[str, ...]) -> Iterator[str]:
    for name, allowed in choices.items():
        value = getattr(config, name)
        if value not in allowed:
            yield f"{section}.{name}={value!r} is not one of {', '.join(allowed)}"


def _at_least(section: str, config: Any, **bounds: float) -> Iterator[str]:
    for name, low in bounds.items():
        value = getattr(config, name)
        if value < low:
            yield f"{section}.{name}={value} is below {low}, the smallest value that works"


def _is_duration(text: str) -> bool:
    parts = text.split(":")
    return len(parts) == 4 and all(part.isdigit() for part in parts)
