import hashlib
import multiprocessing
import pickle
import random

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]

from seq2seq.config import TokenizerConfig
from seq2seq.errors import CorpusError, TokenizerError
from seq2seq.tokenizer import END_OF_VOCABULARY, Tokenizer, with_target
from seq2seq.vocabulary import BOS, EOS, PAD, UNK


def word(rng):
    return "".join(
        rng.choice(["cha", "té", "sou", "ris", "mai", "son", "où", "l'é", "the", "bl", "ack"]) for _ in "123"
    )


LINES = [" ".join(word(random.Random(8 * i + k % 5)) for k in range(8)) + f" {i}" for i in range(300)]
any_text = st.text(st.characters(exclude_categories=["Cs"]))


def train(lines=LINES, **settings_):
    return Tokenizer.train(lines, TokenizerConfig(**{"vocab_size": 330, **settings_}))


@pytest.fixture(scope="module")
def tokenizer():
    return train()


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def of_each_type(request):
    return train(model_type=request.param)


@pytest.fixture(scope="module", params=["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "identity"])
def of_each_rule(request):
    return request.param, train(normalization=request.param)


def test_the_special_ids_and_the_size_are_as_configured(of_each_type):
    assert of_each_type.vocab_size == 330
    assert of_each_type.pieces([PAD, UNK, BOS, EOS, 4, 259]) == [
        "<pad>",
        "<unk>",
        "<s>",
        "</s>",
        "<0x00>",
        "<0xFF>",
    ]


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_digits_can_be_pieces_of_their_own(model_type):
    lines = [f"232 300 $ {line}" for line in LINES]
    assert "▁232" in train(lines, model_type=model_type).subwords()
    split = train(lines, model_type=model_type, split_digits=True)
    assert not [piece for piece in split.subwords() if len(piece) > 1 and any(map(str.isdigit, piece))]
    assert split.decode(split.encode(["1 232 300,50 $"])) == ["1 232 300,50 $"]


def test_subwords_are_the_pieces_that_are_text(of_each_type):
    subwords, processor = of_each_type.subwords(), sentencepiece.SentencePieceProcessor(model_proto=of_each_type.proto)
    assert list(subwords) == of_each_type.pieces(range(260, 330))
    assert all(subwords[piece] == (i, processor.get_score(i)) for i, piece in enumerate(subwords, start=260))
    assert of_each_type.pieces(of_each_type.byte_ids()) == [f"<0x{byte:02X}>" for byte in range(256)]
    assert not any("tag" in piece for piece in tagged().subwords())


def test_normalised_text_is_what_pieces_are_cut_from(of_each_type):
    text = "  ｓouris  là ▁ té "
    assert of_each_type.normalized(text) == "▁souris▁là▁té"
    pieces = of_each_type.pieces(of_each_type.encode([text])[0])
    assert "".join(pieces) == "▁souris▁l<0xC3><0xA0>▁té"


def _put_fingerprints(queue):
    queue.put([train(iter(LINES), model_type=each).fingerprint for each in ("bpe", "unigram")])


@pytest.mark.slow
def test_another_process_trains_the_same_tokenizers_on_the_same_lines():
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_put_fingerprints, args=(queue,))
    process.start()
    assert queue.get(timeout=120) == [train(model_type=each).fingerprint for each in ("bpe", "unigram")]
    process.join()


@pytest.mark.parametrize("n_lines", [0, 50])
@pytest.mark.parametrize("error", [CorpusError("train.fr:7: bad"), KeyboardInterrupt(), RuntimeError("mine")])
def test_an_error_of_the_lines_is_raised_as_it_is(error, n_lines):
    def lines():
        yield from LINES[:n_lines]
        raise error

    with pytest.raises(type(error)) as caught:
        train(lines())
    assert caught.value is error


@given(text=any_text)
def test_decoding_gives_the_normalised_text(of_each_rule, text):
    rule, tokenizer = of_each_rule
    if rule == "identity":
        expected = text.replace("▁", " ")
    else:
        normalizer = sentencepiece.SentencePieceNormalizer(rule_name=rule, remove_extra_whitespaces=True)
        expected = normalizer.normalize(text).replace("▁", " ").strip(" ")
    expected = expected.replace("\n", " ").replace("\r", " ")
    assert tokenizer.decode(tokenizer.encode([text])) == [expected]


@given(texts=st.lists(any_text))
def test_no_text_gives_a_special_id(of_each_type, texts):
    ids = of_each_type.encode(texts)
    assert len(ids) == len(texts)
    assert all(EOS < i < 330 for sentence in ids for i in sentence)


@pytest.mark.parametrize("text", ["<s>", "</s>", "<pad>", "<unk>", "<0x0A>", "le <s> chat </s> <pad>"])
def test_control_symbols_in_a_text_are_text(of_each_type, text):
    ids = of_each_type.encode([text])
    assert not {PAD, UNK, BOS, EOS} & set(ids[0])
    assert of_each_type.decode(ids) == [text]


def test_control_symbols_in_the_training_text_stay_text():
    trained = train([f"{line} <s> </s> <pad>" for line in LINES])
    assert trained.decode(trained.encode(["<s> chat </s>"])) == ["<s> chat </s>"]
    assert not {PAD, UNK, BOS, EOS} & set(trained.encode(["<s> chat </s>"])[0])


@given(ids=st.lists(st.lists(st.integers(0, 329))))
def test_whatever_a_model_generates_decodes_to_one_line_of_unicode(tokenizer, ids):
    texts = tokenizer.decode(ids)
    assert len(texts) == len(ids)
    for text in texts:
        assert "\n" not in text
        assert "\r" not in text
        text.encode()


def test_byte_pieces_of_line_ends_become_spaces_and_incomplete_ones_nothing(tokenizer):
    ids = {piece: i for i, piece in enumerate(tokenizer.pieces(range(4, 260)), start=4)}
    line_end = [ids["<0x41>"], ids["<0x0D>"], ids["<0x0A>"], ids["<0x42>"], ids["<0xE2>"]]
    assert tokenizer.decode([line_end]) == ["A  B"]
    assert tokenizer.decode([line_end[4:] + line_end]) == ["A  B"]
    assert tokenizer.decoded_offsets(line_end[4:] + line_end) == [(0, 0), (0, 1), (1, 2), (2, 3), (3, 4), (4, 4)]


def test_special_ids_leave_no_trace(tokenizer):
    (ids,) = tokenizer.encode(["le chat"])
    assert tokenizer.decode([[BOS, *ids, EOS, PAD, PAD], [], [EOS]]) == ["le chat", "", ""]


def test_saving_loading_and_pickling_keep_everything(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "tokenizer.model")
    copies = [
        Tokenizer.load(tmp_path / "tokenizer.model"),
        Tokenizer.load(str(tmp_path / "tokenizer.model")),
        Tokenizer(tokenizer.proto),
        pickle.loads(pickle.dumps(tokenizer)),
    ]
    for copy in copies:
        assert copy.proto == tokenizer.proto
        assert copy.fingerprint == hashlib.sha256(tokenizer.proto).hexdigest()
        assert copy.encode(LINES) == tokenizer.encode(LINES)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.model"]


def test_a_failed_save_leaves_the_old_file(tokenizer, tmp_path, monkeypatch):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(b"old")

    def full_disk(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        tokenizer.save(path)
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["tokenizer.model"]


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_a_vocabulary_beyond_the_text_is_refused_with_the_largest_that_works(model_type):
    with pytest.raises(TokenizerError, match=r"tokenizer\.vocab_size=8000 .* to at most (\d+)") as caught:
        train(LINES[:50], model_type=model_type, vocab_size=8000)
    largest = int(str(caught.value).split("at most ")[1].split()[0])
    assert train(LINES[:50], model_type=model_type, vocab_size=largest).vocab_size == largest
    with pytest.raises(TokenizerError, match=f"at most {largest} "):
        train(LINES[:50], model_type=model_type, vocab_size=largest + 1)


def tagged(**settings_):
    lines = [f"{line} <tag:law>" for line in LINES]
    return Tokenizer.train(lines, TokenizerConfig(**{"vocab_size": 330, **settings_}), ["law", "med-2"])


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_tags_are_control_symbols_that_follow_the_special_ids(model_type):
    tokenizer = tagged(model_type=model_type)
    assert tokenizer.tags == {"law": 4, "med-2": 5}
    assert tokenizer.pieces([EOS, 4, 5, 6]) == ["</s>", "<tag:law>", "<tag:med-2>", "<0x00>"]
    assert (tokenizer.tag("law"), tokenizer.tag("med-2"), tokenizer.tag("")) == ([4], [5], [])
    for copy in (Tokenizer(tokenizer.proto), pickle.loads(pickle.dumps(tokenizer))):
        assert copy.tags == tokenizer.tags
    text = "chaté <tag:law> <tag:med-2>"  # the training text has <tag:law>, too
    (ids,) = tokenizer.encode([text])
    assert not {4, 5} & set(ids)
    assert tokenizer.decode([[4, *ids, 5], [5], [4, 4]]) == [text, "", ""]


def test_without_tags_nothing_is_one(tokenizer):
    assert tokenizer.tags == {}
    assert train([f"{line} <tag:law>" for line in LINES]).tags == {}
    assert Tokenizer.train(LINES, TokenizerConfig(vocab_size=330), []).proto == tokenizer.proto


@pytest.mark.parametrize(
    ("tags", "told"),
    [
        ([], r"vocab_size=261 .* 3 characters .* set it to 263 or more or lower"),
        (["law", "med-2"], r"=261 .* 3 characters .*, 6 special ids and 256 bytes; set it to 265 or"),
    ],
)
def test_a_vocabulary_below_the_characters_is_refused_with_the_smallest_that_works(tags, told):
    with pytest.raises(TokenizerError, match=told):
        Tokenizer.train(["aé"], TokenizerConfig(vocab_size=261), tags)


@pytest.mark.parametrize("lines", [[], ["", "  "]])
def test_no_text_is_refused(lines):
    with pytest.raises(TokenizerError, match=r"no sentence to learn a tokenizer from; check data\.train"):
        train(lines)


@pytest.mark.parametrize("change", [lambda proto: b"", lambda proto: proto[:-5], lambda proto: b"not a model"])
def test_bytes_that_are_no_model_are_refused(tokenizer, tmp_path, change):
    damaged = change(tokenizer.proto)
    with pytest.raises(TokenizerError, match="not a SentencePiece model, or a damaged one; restore"):
        Tokenizer(damaged)
    (tmp_path / "t.model").write_bytes(damaged)
    with pytest.raises(TokenizerError, match=rf"{tmp_path}/t\.model: not a SentencePiece model"):
        Tokenizer.load(tmp_path / "t.model")


def test_a_model_with_other_special_ids_is_refused(tmp_path):
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_prefix=str(tmp_path / "foreign"), vocab_size=100, minloglevel=2
    )
    with pytest.raises(TokenizerError, match=r"foreign\.model: .*= \(-1, 0, 1, 2\) instead of \(0, 1, 2, 3\)"):
        Tokenizer.load(tmp_path / "foreign.model")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(TokenizerError, match=rf"cannot read the tokenizer {tmp_path}/none: No such file"):
        Tokenizer.load(tmp_path / "none")


def test_an_id_outside_the_vocabulary_is_refused(tokenizer):
    with pytest.raises(TokenizerError, match="outside this tokenizer's vocabulary of 330; use the tokenizer"):
        tokenizer.decode([[5], [330]])


def test_half_a_surrogate_pair_is_refused(tokenizer):
    with pytest.raises(TokenizerError, match="half a surrogate pair; decode the input as UTF-8"):
        tokenizer.encode(["fine", "\ud800"])


def test_long_lines_are_learned_from_too():
    words = " ".join(["abracadabra"] * 2000)  # 24 kB, beyond SentencePiece's default limit of 4,192 bytes
    assert len(train([words, *LINES[:5]], vocab_size=290).encode(["abracadabra"])[0]) < 5


def test_each_side_can_have_a_model_of_its_own(tokenizer):
    other = train([line.upper() for line in LINES], normalization="identity")
    both = Tokenizer(with_target(tokenizer.proto, other.proto))
    text = "souris CHATÉ"
    assert both.encode([text]) == tokenizer.encode([text]) != other.encode([text])
    assert both.target.encode([text]) == other.encode([text])
    assert both.target.proto == other.proto
    assert both.fingerprint not in (tokenizer.fingerprint, other.fingerprint)
    assert pickle.loads(pickle.dumps(both)).target.encode([text]) == other.encode([text])
    assert sentencepiece.SentencePieceProcessor(model_proto=both.proto).encode(text) == tokenizer.encode([text])[0]
    assert tokenizer.target is tokenizer


def test_a_piece_after_the_end_of_the_vocabulary_is_read_as_unk():
    before = train()
    model = ModelProto.FromString(before.proto)
    (moved,) = (piece for piece in model.pieces if piece.piece == "▁ris")
    model.pieces.add(piece=END_OF_VOCABULARY, type="CONTROL")
    model.pieces.add(piece="▁ris", score=moved.score)
    moved.piece, moved.type = "of the other side", moved.UNUSED
    after = Tokenizer(model.SerializeToString())
    assert after.vocab_size == before.vocab_size
    (ids,) = before.encode(["sou ris ris"])
    expected = [UNK if piece == "▁ris" else i for i, piece in zip(ids, before.pieces(ids), strict=True)]
    assert expected.count(UNK) == 2
    assert after.encode(["sou ris ris", ""] * 40) == [expected, []] * 40
    assert after.encode(["sou ris ris"]) == [expected]
    assert after.subwords()["▁ris"][0] == UNK
    assert "of the other side" not in after.subwords()
