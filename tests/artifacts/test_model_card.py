from seq2seq.artifacts.model_card import model_card
from seq2seq.config import ModelConfig, RunConfig


def test_a_card_names_the_keys_of_a_variant_and_no_others() -> None:
    usual, variant = (
        model_card(RunConfig(model=model), 10, 300, [], None)
        for model in (ModelConfig(n_heads=8, dropout=0.3), ModelConfig(n_kv_heads=2, bias=True, dropout=0.3))
    )
    assert "- n_kv_heads 2, bias True\n" in variant
    assert not any(word in usual for word in ("n_kv_heads", "bias", "d_encoder", "dropout", "n_heads"))
