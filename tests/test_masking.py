import pytest

from seq2seq.config import RunConfig
from seq2seq.config.on_resume import classes
from seq2seq.errors import ConfigError
from seq2seq.masking import is_secret, masked, masked_addresses, masked_words

ENVIRONMENT = {
    "WANDB_API_KEY": "0123456789abcdef",
    "MY_PASSWORD": "0123456789",
    "HF_TOKEN": "short",
    "HOME": "/home/ann",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://ann:S3cret@host/train", "http://***@host/train"),
        ("https://S3cret@host", "https://***@host"),
        ("[http://a/b,http://u:p@ss@h/x]", "[http://a/b,http://***@h/x]"),
        ("http://u:p/w@h/x http://u:p?w@h/x http://u:p#w@h/x", "http://***@h/x http://***@h/x http://***@h/x"),
        ("http://localhost:8080/a@b.tsv http://[::1]:80/a@b ann@host", None),
        ("https://h/a?x=1&token=S3cret#sha256=ab", "https://h/a?x=1&token=***#sha256=ab"),
        (
            "h/a?X-Amz-Signature=S3%2Fc&X-Amz-Date=2&sig=S3,c; then",
            "h/a?X-Amz-Signature=***&X-Amz-Date=2&sig=***; then",
        ),
        ("api_key: S3cret", "api_key: ***"),
        ("{clientSecret: S3cret, 'token': \"S3 cret\", a: b}", "{clientSecret: ***, 'token': \"***\", a: b}"),
        ("[x,password=S3,cret]; next", "[x,password=***]; next"),
        ("Authorization: Bearer S3cret", "Authorization: ***"),
        ("a-0123456789abcdef-b-0123456789-short", "a-***-b-***-short"),
        ("tokenizer.vocab_size=300 max_tokens: 3 monkey: x; the token of, an unknown key 'x'", None),
    ],
)
def test_secrets_in_text_are_masked(text: str, expected: str | None) -> None:
    found = masked(text, ENVIRONMENT)
    assert found == (text if expected is None else expected)
    assert masked(found, ENVIRONMENT) == found


def test_the_folder_of_a_shell_is_no_secret() -> None:
    assert masked("/home/ann/corpus/out.en", {"PWD": "/home/ann/corpus"}) == "/home/ann/corpus/out.en"
    assert masked("/home/ann/corpus/out.en", {"DB_PWD": "/home/ann/corpus"}) == "***/out.en"


def test_secrets_in_words_are_masked() -> None:
    words = [
        "train.py",
        "experiment=demo",
        "tokenizer.vocab_size=300",
        "batch.max_tokens=160",
        "data.dir=/home/ann/short",
        "hydra.job.env_set.WANDB_API_KEY=geheim",
        "+my.password=geheim, mit Leerzeichen",
        "--auth-token",
        "geheim",
        "x=pre-0123456789abcdef-post",
        "data.train=[https://ann:geheim@example.org/a.tsv]",
    ]
    assert masked_words(words, ENVIRONMENT) == [
        *words[:5],
        "hydra.job.env_set.WANDB_API_KEY=***",
        "+my.password=***",
        "--auth-token",
        "***",
        "x=pre-***-post",
        "data.train=[https://***@example.org/a.tsv]",
    ]


def test_in_a_configuration_only_addresses_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is also the value of a variable must be there when the configuration is read again."""
    monkeypatch.setenv("EXPERIMENT_KEY", "multi30k_tiny")
    config = {"name": "multi30k_tiny", "n": 1, "train": [{"source": "http://ann:S3cret@host/multi30k_tiny"}, "a"]}
    assert masked_addresses(config) == {**config, "train": [{"source": "http://***@host/***"}, "a"]}


def test_no_key_of_a_configuration_is_taken_for_a_secret() -> None:
    assert not list(filter(is_secret, classes(RunConfig)))


def test_an_error_does_not_tell_the_secret_that_it_quotes() -> None:
    error = ConfigError("data.train: {'url': 'http://ann:S3cret@host'} is wrong\napi_key: S3cret, too")
    assert error.problems == ["data.train: {'url': 'http://***@host'} is wrong", "api_key: ***, too"]


def test_an_error_shows_no_command_to_the_terminal() -> None:
    assert str(ConfigError("a.txt: \x1b]0;title\x07é\nb.txt: \x9b2J")) == "a.txt: \\x1b]0;title\\x07é\nb.txt: \\x9b2J"
