"""Before the first step it is settled in which order processes sum their gradients."""

import pytorch_lightning as pl
from pytorch_lightning.utilities.seed import isolate_rng
from torch.nn.parallel import DistributedDataParallel

from seq2seq.dataset.batches import Shape
from seq2seq.training.module import TranslationModule
from seq2seq.training.trial import stand_in

_SMALL = Shape(2, 3, 4)


class GradientOrder(pl.Callback):
    """Shows DDP a backward pass before the first step of a new or resumed run, and throws its gradients away.

    DDP puts all gradients into one long row, and sums each place of it over the processes. After the first backward
    pass it makes the row anew, in the order in which gradients were ready. Where three or more processes sum, the place
    decides which of them comes first, and with it the rounding. So the first step after a start would be rounded in
    another way than the same step of a run that was never stopped.
    """

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        ddp = trainer.strategy.model
        if not isinstance(ddp, DistributedDataParallel):
            return  # one process; or weights that are split, whose rows never move
        assert isinstance(pl_module, TranslationModule)
        with isolate_rng(include_cuda=pl_module.device.type == "cuda"):
            with trainer.precision_plugin.forward_context():
                loss = ddp(stand_in(_SMALL, pl_module))
            loss.smoothed.backward()
        pl_module.zero_grad(set_to_none=True)
