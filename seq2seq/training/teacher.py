"""A model whose probabilities a run learns beside the text (word-level distillation; Kim and Rush 2016, section 3.1).

Shapes: B pairs, T target tokens, D d_model of the teacher, V vocabulary
"""

import torch
from torch import Tensor

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import RunConfig
from seq2seq.dataset.batches import Batch
from seq2seq.errors import ConfigError
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer


class Teacher:
    """It has no part in checkpoints, gradients or what the processes of a run exchange, so it is no `nn.Module`."""

    def __init__(self, model: Transformer) -> None:
        self.model = model.requires_grad_(False).eval()

    @classmethod
    def read(cls, path: str, tokenizer: Tokenizer, config: RunConfig) -> "Teacher":
        """A trained model.

        Args:
            tokenizer: of the run, and so that of its teacher: probabilities are of subwords.
        Raises:
            ConfigError: it has other subwords or languages, or reads less at once.
            CheckpointError: there is no model.
        """
        found = TrainedModel.read(path)
        if found.tokenizer.fingerprint != tokenizer.fingerprint:
            raise ConfigError(f"teacher={path} has other subwords than this run; name a model that has its tokenizer")
        languages, own = ((each.src_lang, each.tgt_lang) for each in (found.config.data, config.data))
        if languages != own:
            raise ConfigError(f"teacher={path} translates {' to '.join(languages)}, and this run {' to '.join(own)}")
        most, own_most = found.config.model.max_length, config.model.max_length
        if own_most > most:  # augmentation and drawn subwords make sentences as long as the run can read
            raise ConfigError(
                f"teacher={path} reads {most} tokens at once, and this run {own_most}; add model.max_length={most}"
            )
        return cls(found.build())

    @torch.no_grad()
    def factors(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """What `Transformer.factors` returns: states (B, T, D) and a table (V, D) whose products are the logits."""
        device = batch.src.device
        self.model.to(device)
        if torch.is_autocast_enabled(device.type) and torch.get_autocast_dtype(device.type) == torch.bfloat16:
            for p in self.model.parameters():  # or autocast would round its matrices in every step
                if p.dim() > 1:
                    p.data = p.data.to(torch.bfloat16)
        hidden = self.model.decode(batch.tgt_in, self.model.encode(batch.src), batch.src)
        return self.model.factors(hidden)
