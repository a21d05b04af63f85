import dataclasses
import json
import math
from functools import cache
from itertools import zip_longest
from typing import Any

import pytest
import torch
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from seq2seq.cli import front_door
from seq2seq.config import DataConfig, RunConfig, SourcePath, read_config
from seq2seq.config.on_resume import marks, value_of
from seq2seq.errors import ConfigError
from seq2seq.model.transformer import Transformer
from tests.places import ROOT

CONF = ROOT / "conf"
GROUPS = [path for path in CONF.iterdir() if path.is_dir() and path.name not in ("experiment", "search")]
OPTIONS = [[f"{group.name}={file.stem}" for file in sorted(group.glob("*.yaml"))] for group in sorted(GROUPS)]
ROWS = [[option for option in row if option] for row in zip_longest(*OPTIONS)]
EXPERIMENTS = sorted(path.stem for path in CONF.glob("experiment/*.yaml"))


@cache
def composed(*overrides):
    ConfigStore.instance().store(name="schema", node=RunConfig)
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train", overrides=list(overrides))


TAGGED = {"source": "news", "tag": "9-b_c"}


def problems(**sections):
    """The lines of the refusal of a configuration; none if it is accepted."""
    try:
        read_config(sections)
    except ConfigError as error:
        return str(error).splitlines()
    return []


def test_the_defaults_work():
    config = read_config({"trainer": {"max_epochs": 1}})
    assert config == read_config(dataclasses.asdict(config))
    assert dataclasses.replace(config, trainer=RunConfig().trainer) == RunConfig()


def test_each_key_that_takes_a_path_is_marked_as_one_of_this_machine():
    """The first three name text, of which an exported model keeps the file; the others are titles."""
    taken = []
    for key, mark in marks(RunConfig).items():
        config = read_config({"trainer": {"max_epochs": 1}})
        section, _, name = key.rpartition(".")
        if not mark.is_local and isinstance(value_of(config, key), str):
            setattr(value_of(config, section) if section else config, name, "../of/ann")
            problems = [*config.problems(), *config.problems_of_training()]
            taken += [key] if not problems else []
    assert sorted(taken) == ["data.name", "data.test", "data.train", "data.valid"]


@pytest.mark.parametrize(
    "text",
    ["${oc.env:SECRET}", "${oc.decode:'${oc.env:SECRET}'}", "${hydra:runtime.cwd}", "${seed}", "\\${seed}", "a ${"],
)
def test_what_is_stored_is_never_looked_up(text, monkeypatch):
    monkeypatch.setenv("SECRET", "of this machine")
    trainer = {"max_epochs": 1}
    for key, sections in {
        "name": {"name": text},
        "seed": {"seed": text},
        "logger.wandb_tags[1]": {"logger": {"wandb_tags": ["a", text]}},
        "data.test.news.src": {"data": {"test": {"news": {"src": text, "tgt": "b"}}}},
    }.items():
        (problem,) = problems(trainer=trainer, **sections)
        assert problem.startswith(f"{key}: {text!r} names a value that is somewhere else"), problem


def test_what_the_command_looks_up_is_looked_up_once(monkeypatch):
    monkeypatch.setenv("OUTER", "inner")
    assert read_config(composed("name=${oc.env:OUTER}")).name == "inner"
    monkeypatch.setenv("OUTER", "${oc.env:HOME}")
    with pytest.raises(ConfigError, match=r"name: '\$\{oc\.env:HOME\}' names a value"):
        read_config(composed("name=${oc.env:OUTER}"))


@pytest.mark.parametrize("other", ["a.en/x", "a.en.1", "a.en.x", "A", "A.EN.1"])
def test_test_sets_whose_files_would_have_the_same_names_are_refused(other):
    trainer = {"max_epochs": 1}
    (problem,) = problems(trainer=trainer, data={"test": {"a": "test", other: "test"}})
    assert problem == f"data.test: the files of {other!r} and of 'a' would have the same names; rename one of them"
    for apart in ("a.fr/x", "a.enx", "a/en", "b.en/x"):
        assert not problems(trainer=trainer, data={"test": {"a": "test", apart: "test"}})


ELSEWHERE = ["../../evil", "a/../b", "..", ".", "", "/etc/evil", "a//b", "a/", ".hidden", "a\\..\\b", "c:evil"]
NO_FILE_NAMES = ["a*", "a[1]", "a\nb", "\ud800", "é" * 101]


@pytest.mark.parametrize("name", ELSEWHERE + NO_FILE_NAMES)
def test_a_name_that_becomes_a_path_stays_in_its_folder(name):
    trainer, refusal = {"max_epochs": 1}, f"{name[:60]!r} cannot name a file; between slashes, use 1 to 200 bytes"
    (problem,) = problems(trainer=trainer, data={"test": {name: "test"}})
    assert problem.startswith(f"data.test: {refusal}")
    (problem,) = problems(trainer=trainer, name=name)
    assert problem.startswith(f"name: {refusal}")


@pytest.mark.parametrize("name", ["flickr 2016", "news/typos+upper", "été_2014-v1.2", "a..b", "x=1,y(2)", "é" * 100])
def test_usual_names_are_accepted(name):
    assert problems(trainer={"max_epochs": 1}, data={"test": {name: "test"}}, name=name) == []


@pytest.mark.parametrize("language", ["", ".", "../fr", "fr/x", "f r", "*", "-"])
def test_a_language_that_cannot_end_a_file_name_is_refused(language):
    found = problems(trainer={"max_epochs": 1}, data={"tgt_lang": language})
    assert found == [
        f"data.tgt_lang={language!r} cannot end the name of a file; use letters, digits, _, - and . alone, as in de_AT"
    ]
    assert problems(trainer={"max_epochs": 1}, data={"src_lang": "de_AT", "tgt_lang": "zh-Hans"}) == []


def test_norwegian_without_quotes_is_no_language():
    found = problems(trainer={"max_epochs": 1}, data={"src_lang": False})
    assert found == ['data.src_lang=False is no language: YAML reads no as false; write "no" in quotes']


def test_plain_types_become_sections():
    data = {"test": {"a": "x", "b": ["y"]}}
    config = read_config({"model": {"d_model": 48, "n_heads": 3}, "data": data, "trainer": {"max_steps": 1}})
    assert (config.model.d_k, config.model.d_v, config.model.n_groups, config.model.d_ff) == (16, 16, 3, 1024)
    assert config.data.tests == {"a": [SourcePath("x")], "b": [SourcePath("y")]}
    assert DataConfig(test=None).tests == DataConfig(test=[]).tests == {}
    assert type(config.data.test) is dict and type(config.data.tsv_columns) is list


def test_tags_are_those_of_the_training_text():
    train = [{"source": "a", "tag": "ted"}, "b", {"source": {"src": "c", "tgt": "d"}, "tag": 2019}]
    assert DataConfig(train=train, test={"ted": TAGGED}).tags == ["2019", "ted"]
    assert DataConfig().tags == []


@pytest.mark.parametrize("test", ["a", ["a"], None, [], TAGGED, {"x": TAGGED, "y": ["b", {"src": "c", "tgt": "d"}]}])
def test_sources_are_stored_as_they_were_written(test):
    data = {"train": [TAGGED, "b"], "valid": {"src": "c", "tgt": "d"}, "test": test}
    stored = dataclasses.asdict(read_config({"data": data, "trainer": {"max_steps": 1}}))
    assert {name: stored["data"][name] for name in data} == data
    assert dataclasses.asdict(read_config(json.loads(json.dumps(stored)))) == stored


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"model": {"d_modell": 8}}, "no configuration key 'model.d_modell'; did you mean model.d_model"),
        ({"optim": {"learning_rate": 1}}, "no configuration key 'optim.learning_rate'"),
        ({"modle": {"d_model": 8}}, "no configuration key 'modle'"),
        ({"model": {"d_model": "wide"}}, "model.d_model: "),
        ({"model": {"n_heads": 2.5}}, "model.n_heads: "),
        ({"trainer": {"compile": "perhaps"}}, "trainer.compile: "),
        ({"model": {"d_model": None}}, "model.d_model: "),
        ({"logger": {"wandb_tags": "a"}}, "logger.wandb_tags"),
    ],
)
def test_unknown_keys_and_wrong_types_are_named(sections, message):
    (line,) = problems(**sections)
    assert message in line


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"model": {"d_model": 30}}, "model.d_model=30 does not split over model.n_heads=4; choose a multiple of 4"),
        ({"model": {"d_model": 9, "n_heads": 3}}, "model.d_model=9 is odd"),
        ({"model": {"d_model": 20, "positions": "rotary"}}, "model.positions=rotary turns pairs of numbers"),
        (
            {"model": {"d_encoder": 30, "embeddings": "decoder"}},
            "model.d_encoder=30 does not split over model.n_heads=4",
        ),
        ({"model": {"d_encoder": 9, "d_head": 8, "embeddings": "decoder"}}, "model.d_encoder=9 is odd; sines"),
        (
            {"model": {"d_encoder": 512}},
            "model.embeddings=shared is one table for both halves, which model.d_encoder=512 and model.d_model=256 "
            "make of different widths; set model.embeddings=decoder",
        ),
        ({"model": {"d_head": -1}}, "model.d_head=-1 is below 0, the smallest value that works"),
        ({"model": {"d_value": -8}}, "model.d_value=-8 is below 0"),
        (
            {"model": {"positions": "rotary", "d_head": 5}},
            "model.positions=rotary turns pairs of numbers, and model.d_head=5 is odd; choose an even size",
        ),
        (
            {"model": {"positions": "rotary", "d_encoder": 20, "embeddings": "decoder"}},
            "model.positions=rotary turns pairs of numbers, and model.d_encoder=20 over model.n_heads=4 makes heads",
        ),
        (
            {"model": {"n_heads": 8, "n_kv_heads": 3}},
            "model.n_heads=8 does not split over model.n_kv_heads=3; choose a number that divides 8, such as 1",
        ),
        ({"model": {"n_kv_heads": -1}}, "model.n_kv_heads=-1 is below 0"),
        ({"model": {"norm_type": "batch"}}, "model.norm_type='batch' is not one of layer, rms"),
        ({"model": {"residual": 0.0}}, "model.residual=0.0 is not between 0.01 and 100; 1 is the paper's"),
        ({"model": {"norm_eps": 0.0}}, "model.norm_eps=0.0 is not between 0 and 1; 1e-5 and 1e-6 are usual"),
        ({"model": {"attention": "dot"}}, "model.attention='dot' is not one of scaled, unscaled, additive"),
        ({"model": {"temperature": 0.0}}, "model.temperature=0.0 is not between 0.01 and 100; 1 leaves"),
        ({"model": {"temperature": 101.0}}, "model.temperature=101.0 is not between 0.01 and 100"),
        ({"model": {"temperature": math.nan}}, "model.temperature=nan is not between 0.01 and 100"),
        ({"model": {"window": -1}}, "model.window=-1 is below 0"),
        ({"model": {"stride": -1}}, "model.stride=-1 is below 0"),
        ({"model": {"window": 3, "stride": 4}}, "model.window=3 and model.stride=4 exclude each other; set one of"),
        ({"model": {"norm": "both"}}, "model.norm='both' is not one of pre, post"),
        ({"model": {"dropout": 1.0}}, "model.dropout=1.0 is not a probability below 1"),
        ({"model": {"n_heads": 0}}, "model.n_heads=0 is below 1"),
        ({"model": {"d_ff": 10**20}}, f"model.d_ff={10**20} is above 1e+06, the largest value that works"),
        ({"tokenizer": {"vocab_size": 260}}, "tokenizer.vocab_size=260 is below 261"),
        (
            {"tokenizer": {"subword_regularization": 1.0}},
            "tokenizer.subword_regularization=1.0 is not a BPE-dropout probability",
        ),
        (
            {"tokenizer": {"model_type": "unigram", "subword_regularization": 11.0}},
            "tokenizer.subword_regularization=11.0 is an alpha that leaves nothing to chance; choose 10 or less",
        ),
        ({"tokenizer": {"character_coverage": 0.0}}, "tokenizer.character_coverage=0.0 is not in (0, 1]"),
        ({"tokenizer": {"vocab_size": 3_000_000_000}}, "tokenizer.vocab_size=3000000000 is above 1e+06, the largest"),
        ({"optim": {"lr": 0.0}}, "optim.lr=0.0 must be a finite number above 0"),
        ({"optim": {"lr": float("inf")}}, "optim.lr=inf must be a finite number above 0"),
        ({"optim": {"eps": float("nan")}}, "optim.eps=nan is not between 1e-30 and 1; 1e-8 and 1e-9 are usual"),
        ({"optim": {"eps": 0.0}}, "optim.eps=0.0 is not between 1e-30 and 1"),
        ({"optim": {"final_lr": 1.5}}, "optim.final_lr=1.5 is not in [0, 1]"),
        ({"optim": {"weight_decay": math.inf}}, "optim.weight_decay=inf is not a finite number"),
        ({"optim": {"beta2": 1.0}}, "optim.beta2=1.0 is not in [0, 1)"),
        ({"optim": {"schedule": "step"}}, "optim.schedule='step' is not one of inverse_sqrt, cosine, linear, constant"),
        ({"batch": {"accumulate": 0}}, "batch.accumulate=0 is below 1"),
        ({"evaluation": {"tokenize": "mecab"}}, "evaluation.tokenize='mecab' is not one of auto, 13a, intl, zh, char"),
        ({"decoding": {"alpha": 11.0}}, "decoding.alpha=11.0 is above 10, the largest value that works"),
        ({"decoding": {"patience": 1e12}}, "decoding.patience=1000000000000.0 is above 1000, the largest value"),
        ({"decoding": {"no_repeat_ngram": 10**20}}, f"decoding.no_repeat_ngram={10**20} is above 1e+06"),
        ({"decoding": {"temperature": math.inf}}, "decoding.temperature=inf must be a finite number above 0"),
        ({"decoding": {"max_length_b": 10**400}}, f"decoding.max_length_b={10**400} is above 1e+09, the largest value"),
        (
            {"batch": {"n_workers": 1025}},
            "batch.n_workers=1025 is more than 1024; give as many as this machine has cores",
        ),
        ({"trainer": {"devices": 10**6}}, "trainer.devices=1000000 is more than 1024; give as many as"),
        ({"trainer": {"threads": 10**6}}, "trainer.threads=1000000 is more than 1024; give as many as"),
        ({"trainer": {"max_time": "90 min"}}, "trainer.max_time='90 min' is not a duration; write DD:HH:MM:SS"),
        ({"trainer": {"max_time": "00:00:00:00"}}, "trainer.max_time='00:00:00:00' is not a duration; write DD:HH:MM"),
        ({"trainer": {"max_time": "00:00:00:²"}}, "trainer.max_time='00:00:00:²' is not a duration; write DD:HH:MM:SS"),
        ({"data": {"temperature": math.nan}}, "data.temperature=nan is not a number"),
        ({"trainer": {"ema_decay": 1.0}}, "trainer.ema_decay=1.0 is not in [0, 1)"),
        ({"trainer": {"precision": "bf16"}}, "trainer.precision='bf16' is not one of auto"),
        ({"trainer": {"monitor": "bleu"}}, "trainer.monitor='bleu' is not one of valid/bleu"),
        ({"decoding": {"n_best": 6}}, "decoding.n_best=6 is above decoding.beam_size=5"),
        ({"decoding": {"alpha": math.inf}}, "decoding.alpha=inf is not a finite number"),
        (
            {"decoding": {"min_length_b": 12}},
            "decoding.min_length_a=0.0 and min_length_b=12 ask for at least 12 tokens for a source of 1, and "
            "max_length_a=1.5 and max_length_b=10 allow 11; lower the former or raise the latter",
        ),
        (
            {"decoding": {"min_length_a": 0.5, "max_length_a": 0.0, "max_length_b": 100}},
            "decoding.min_length_a=0.5 and min_length_b=0 ask for at least 101 tokens for a source of 202, and "
            "max_length_a=0.0 and max_length_b=100 allow 100",
        ),
        ({"data": {"src_lang": "en"}}, "data.src_lang and data.tgt_lang are both 'en'"),
        ({"data": {"max_length_ratio": 0.5}}, "data.max_length_ratio=0.5 is below 1"),
        ({"data": {"temperature": 0.9}}, "data.temperature=0.9 is below 1.0, the smallest value that works"),
        ({"data": {"tag_dropout": 1.0}}, "data.tag_dropout=1.0 is not a probability below 1"),
        ({"data": {"augment": {"typos": 1.1}}}, "data.augment.typos=1.1 is not a share from 0 to 1"),
        (
            {"data": {"augment": {"upper": 0.6, "title": 0.5}}},
            "data.augment: upper, title and lower exclude each other, and their shares add up to more than 1",
        ),
        ({"data": {"augment": {"join": 0.6, "join3": 0.5}}}, "data.augment: join and join3 exclude each other"),
        (
            {"data": {"train": [{"source": "a", "tag": "Law"}, "b"]}},
            "data.train: the tag 'Law' is not made of a-z, 0-9, _ and - alone; rename it",
        ),
        ({"data": {"train": {"source": "a", "tag": ""}}}, "data.train: the tag '' is not made of"),
        (
            {"data": {"max_sentence_tokens": 1023, "train": TAGGED}},
            "data.max_sentence_tokens=1023 lets in sentences beyond model.max_length=1024 (two more tokens tag and end",
        ),
        ({"batch": {"max_tokens": 257}, "data": {"train": TAGGED}}, "batch.max_tokens=257 cannot hold one sentence"),
        (
            {"data": {"max_sentence_tokens": 1024}},
            "data.max_sentence_tokens=1024 lets in sentences beyond model.max_length=1024",
        ),
        (
            {"batch": {"max_tokens": 256}},
            "batch.max_tokens=256 cannot hold one sentence of data.max_sentence_tokens=256",
        ),
        (
            {"logger": {"wandb_mode": "dryrun"}},
            "logger.wandb_mode='dryrun' is not one of auto, online, offline, disabled",
        ),
        ({"logger": {"x_axis": "epochs"}}, "logger.x_axis='epochs' is not one of step, tokens, hours"),
        ({"seed": -1}, "seed=-1 is not in [0, 2^32)"),
    ],
)
def test_values_that_cannot_work_are_refused(sections, message):
    lines = problems(trainer={"max_steps": 5} | sections.pop("trainer", {}), **sections)
    assert len(lines) == 1 and lines[0].startswith(message)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"train": ["a", TAGGED], "valid": ["a", {"source": "a", "tag": "law"}]},
            "data.valid has the tag 'law', and data.train has 9-b_c; a model knows the tags of its training text only",
        ),
        ({"test": TAGGED}, "data.test has the tag '9-b_c', and data.train has no tags;"),
        ({"test": {"news": ["a", TAGGED]}}, "data.test has the tag '9-b_c'"),
    ],
)
def test_a_tag_that_training_does_not_have_is_refused_unless_another_model_has_it(data, message):
    sections = {"trainer": {"max_steps": 5}, "data": data}
    with pytest.raises(ConfigError) as refused:
        read_config(OmegaConf.create(sections))
    assert str(refused.value).startswith(message)
    read_config(OmegaConf.create(sections | {"finetune": "general"}))


def test_a_least_length_as_high_as_the_limit_is_no_contradiction():
    assert not problems(trainer={"max_steps": 5}, decoding={"min_length_b": 11})
    assert not problems(trainer={"max_steps": 5}, decoding={"min_length_a": 1.5, "min_length_b": 10})


def test_shares_that_exclude_each_other_may_be_all_pairs():
    assert 0.33 + 0.56 + 0.11 > 1
    assert not problems(trainer={"max_steps": 5}, data={"augment": {"upper": 0.33, "title": 0.56, "lower": 0.11}})


def test_a_run_without_an_end_is_refused():
    assert any("nothing ends this run; set trainer.max_epochs" in line for line in problems(model={"d_model": 8}))


def test_all_problems_are_reported_together():
    lines = problems(
        model={"d_model": 30, "max_length": 100},
        batch={"max_tokens": 50},
        optim={"lr": -1.0},
        trainer={"max_time": "00:00:01:00"},
    )
    for start in ("model.d_model=30", "optim.lr=-1.0", "data.max_sentence_tokens=256", "batch.max_tokens=50"):
        assert sum(line.startswith(start) for line in lines) == 1
    assert len(lines) == 4


def section_of(config, group):
    sections = dataclasses.asdict(config)
    return sections["data"]["augment"] if group == "augment" else sections[group]


@pytest.mark.slow
@pytest.mark.parametrize("options", ROWS, ids=" ".join)
def test_each_option_of_each_group_works(options):
    """One of each group at a time: to compose takes a tenth of a second."""
    config = read_config(composed(*options))
    for group, name in (option.split("=") for option in options):
        file = OmegaConf.load(CONF / group / f"{name}.yaml")
        expected: Any = OmegaConf.merge(section_of(RunConfig(), group), file)  # it may refer to its section
        own = {key: expected[key] for key in map(str, file) if key != "defaults"}
        section = section_of(config, group)
        assert {key: section[key] for key in own} == own


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_each_experiment_works_and_is_called_as_its_file(experiment):
    config = read_config(composed(f"experiment={experiment}"))
    assert config.name == experiment
    assert config.run_dir.startswith(f"runs/{experiment}/")


def test_multi30k_tiny_has_the_settings_of_wu_2021():
    """Those that its file leaves to the defaults, and the number of weights that all of them make."""
    config = read_config(composed("experiment=multi30k_tiny"))
    model, optim = config.model, config.optim
    assert (model.activation, model.embeddings) == ("relu", "shared")
    assert (model.attention_dropout, model.activation_dropout, optim.weight_decay) == (0.0, 0.0, 0.0)
    assert (optim.beta1, optim.beta2, optim.label_smoothing, config.batch.accumulate) == (0.9, 0.98, 0.1, 1)
    assert (config.decoding.beam_size, config.decoding.normalization, config.decoding.alpha) == (5, "length", 1.0)
    with torch.device("meta"):
        assert Transformer(model, config.tokenizer.vocab_size).n_parameters == pytest.approx(2.6e6, rel=0.01)


def test_an_experiment_gives_way_to_the_command_line():
    config = read_config(composed("experiment=multi30k", "optim.lr=0.5", "model=tiny"))
    assert (config.optim.lr, config.model.d_model, config.data.name) == (0.5, 128, "multi30k")
    config = read_config(composed("experiment=mixed", "data.test=null", "data.test=[mine]"))
    assert config.data.test == ["mine"]


@pytest.mark.parametrize("option", ["--config-dir=", "--config-dir"])
def test_presets_of_ones_own_take_no_name_of_the_project(option, tmp_path, capsys):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "demo.yaml").write_text("name: mine")
    folder = [f"{option}{tmp_path}"] if option.endswith("=") else [option, str(tmp_path)]
    with pytest.raises(SystemExit, match="2"):
        front_door("train", [*folder, "experiment=demo", "--cfg", "job"])
    assert "there is a preset experiment/demo already; give yours another name" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["data.max_tokens=5"], ["no configuration key 'data.max_tokens'; did you mean "]),
        (["+model.widht=3"], ["no configuration key 'model.widht'"]),
        (["optim.lr=fast"], ["optim.lr: "]),
        (
            ["model=bigg"],
            ["model=bigg", "choose one of: base, base_paper, big, big_paper, small, tiny; --config-dir=DIR"],
        ),
        (["hydra/launcher=submitit_slurm"], ["hydra/launcher=submitit_slurm", "add -m"]),
        (["experiment=mixed", "data.test=[a]"], ["data.test has other entries in a preset; put data.test=null before"]),
        (["experiment=mixed", "data.test={a: b}"], ["data.test has other entries in a preset"]),
        (["experiment=null"], ["experiment=null", "leave it out", "demo, general, mixed, multi30k,"]),
        (["model.d_model=30", "batch.max_tokens=9"], ["model.d_model=30 does not", "\nbatch.max_tokens=9 cannot hold"]),
    ],
    ids=["unknown", "added", "wrong-type", "no-preset", "no-launcher", "list", "names", "no-experiment", "impossible"],
)
def test_a_mistake_on_the_command_line_is_told_in_a_sentence(words, parts, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        front_door("train", [*words, f"run_dir={tmp_path / 'run'}"])
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("error:") == 1 and "Traceback" not in err
    assert [part for part in parts if part not in err] == []
    assert not (tmp_path / "run").exists()
