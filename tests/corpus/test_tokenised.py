import gzip

import pytest

from seq2seq.corpus.tokenised import is_tokenised
from tests.places import SHARED

MULTI30K = SHARED / "multi30k"
needs_multi30k = pytest.mark.skipif(not MULTI30K.is_dir(), reason=f"no corpus in {MULTI30K}")


def lines(name: str) -> list[str]:
    return gzip.decompress((MULTI30K / f"{name}.gz").read_bytes()).decode().split("\n")[:-1]


@needs_multi30k
@pytest.mark.parametrize("split", ["train", "val", "test_2016_flickr"])
@pytest.mark.parametrize("language", ["fr", "en"])
def test_tokenised_corpora_are_recognised_and_others_are_not(split: str, language: str) -> None:
    assert is_tokenised(lines(f"tok/{split}.lc.norm.tok.{language}"))
    assert not is_tokenised(lines(f"{split}.{language}"))


def test_what_has_no_full_stop_is_not_taken_for_tokens() -> None:
    assert not is_tokenised([])
    assert not is_tokenised(["", "Ah !", "no stop"])
    assert not is_tokenised(["one .", "two."])
    assert is_tokenised(["one .", "two . ", "three."])


def test_tokens_of_chinese_and_japanese_end_in_another_stop() -> None:
    assert is_tokenised(["他 走 了 。", "彼 は 帰っ た 。"])
    assert not is_tokenised(["他走了。", "他走了。 ", "。"])
    assert not is_tokenised(["यह एक है ।", "គាត់ទៅ ។"])  # as some people write
