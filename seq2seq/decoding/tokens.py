"""Which tokens a search may generate."""

from torch import Tensor

from seq2seq.vocabulary import BOS, EOS, PAD, UNK


def allowed_logits(logits: Tensor, may_end: bool) -> tuple[Tensor, int]:
    """The logits of the tokens that may come next, and the id of the first of them.

    pad, unk and bos are never generated, and eos only where `may_end`. What is left out is left out of the
    softmax too, as in CTranslate2, so that the scores are those of a distribution over the tokens allowed.

    Args:
        logits: (..., V), of any floating type.
    Returns:
        (..., V') in float32, where index i is token `first_id + i`; and `first_id`.
    """
    assert max(PAD, UNK, BOS) < EOS  # so that a slice does it, without writing to the model's logits
    first_id = EOS if may_end else EOS + 1
    return logits[..., first_id:].float(), first_id
