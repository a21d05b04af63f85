import pytest

from seq2seq.artifacts.model_card import hub_metadata, model_card
from seq2seq.config import DataConfig, ModelConfig, RunConfig


def test_a_card_names_the_keys_of_a_variant_and_no_others() -> None:
    usual, variant = (
        model_card(RunConfig(model=model), 10, 300, [], None)
        for model in (ModelConfig(n_heads=8, dropout=0.3), ModelConfig(n_kv_heads=2, bias=True, dropout=0.3))
    )
    assert "- n_kv_heads 2, bias True\n" in variant
    assert not any(word in usual for word in ("n_kv_heads", "bias", "d_encoder", "dropout", "n_heads"))


@pytest.mark.parametrize(
    ("src_lang", "tgt_lang", "codes"),
    [("en", "zh-CN", ["en", "zh"]), ("pt_PT", "pt_BR", ["pt"]), ("zho_Hans", "formal", ["zho"])],
)
def test_the_hub_is_told_the_languages_that_it_knows(src_lang: str, tgt_lang: str, codes: list[str]) -> None:
    config = RunConfig(data=DataConfig(src_lang=src_lang, tgt_lang=tgt_lang))
    assert "language:\n" + "".join(f"- {code}\n" for code in codes) + "library_name" in hub_metadata(config, None)
