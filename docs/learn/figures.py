"""Draw the figures of the course from a trained model:  python docs/learn/figures.py runs/demo"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator
from torch import Tensor

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.dataset.batches import collate, pad
from seq2seq.model.positions import sinusoids
from seq2seq.model.transformer import AttentionWeights
from seq2seq.reports import learning_curve
from seq2seq.reports.style import panels, save
from seq2seq.tokenizer import SPACE, Tokenizer
from seq2seq.vocabulary import EOS

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs/images/learn"
HUE = "Blues"  # from light to dark in one hue, as in all pictures of attention here
PAIR = ("Léa a mangé la pomme rouge.", "Léa ate the red apple.")
WORDS = (
    *("chat", "chien", "rue", "parc", "marché", "jardin"),
    *("lundi", "mardi", "jeudi", "samedi", "hier", "demain"),
    *("Léa", "Nadia", "Julien", "Simon"),
)
EST = (
    "Léa est fatiguée.",
    "Julien est fatigué.",
    "Léa est dans la cuisine.",
    "Julien est malade.",
    "Léa est arrivée hier.",
    "Julien est arrivé hier.",
    "Léa est partie hier.",
)


@dataclass
class Looking:
    """A sentence pair, its pieces, and the weights of all heads."""

    source: list[str]
    target: list[str]  # as the decoder reads them, from bos on
    weights: AttentionWeights


class Demo:
    """The model from which the figures are drawn."""

    def __init__(self, run: Path) -> None:
        trained = TrainedModel.read(run)
        self.run, self.tokenizer, self.model = run, trained.tokenizer, trained.build().eval()

    def look(self, source: str, target: str) -> Looking:
        src, tgt = self.tokenizer.encode([source, target])
        batch = collate([src], [tgt])
        with torch.no_grad():
            weights = self.model.attention_weights(batch.src, batch.tgt_in)
        return Looking([*pieces(self.tokenizer, src), "eos"], ["bos", *pieces(self.tokenizer, tgt)], weights)

    @cached_property
    def pair(self) -> Looking:
        return self.look(*PAIR)


def pieces(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """The pieces of a sentence, as text. One that continues a word begins with a dot."""
    texts = tokenizer.decode([[i] for i in ids])
    begins_word = {i for piece, (i, _) in tokenizer.subwords().items() if piece.startswith(SPACE)}
    return [text if i in begins_word or not text.isalnum() else f"·{text}" for i, text in zip(ids, texts, strict=True)]


def squares(
    axis: Axes, weights: Tensor, columns: Sequence[str], rows: Sequence[str], title: str = "", least: float = 0
) -> None:
    """A matrix of weights, in squares: the darker, the more. What is `least` or less is white."""
    axis.imshow(weights.detach().float().numpy(), cmap=HUE, vmin=least, vmax=1)
    axis.set_title(title)
    for ticks, minor, names in (
        (axis.set_xticks, axis.xaxis.set_minor_locator, columns),
        (axis.set_yticks, axis.yaxis.set_minor_locator, rows),
    ):
        ticks(range(len(names)), names)
        minor(FixedLocator([i - 0.5 for i in range(1, len(names))]))
    axis.tick_params(axis="x", rotation=90)
    axis.tick_params(which="both", length=0, labelsize=8)
    axis.grid(visible=False)
    axis.grid(which="minor", color="white")  # gaps between the squares
    axis.spines[:].set_visible(False)


def similarity(demo: Demo, file: Path) -> None:
    """Page 1: how alike words are, by the cosine of their embeddings; of several pieces, by their mean."""
    ids = demo.tokenizer.encode(list(WORDS))
    table = demo.model.embeddings.source
    vectors = torch.stack([table[torch.tensor(each)].mean(0) for each in ids])
    vectors = torch.nn.functional.normalize(vectors - table.mean(0), dim=-1)
    with panels(1) as (figure, [axis]):
        figure.set_size_inches(4.6, 4.2)
        squares(axis, (vectors @ vectors.T).clamp(min=0), WORDS, WORDS)
        save(figure, file)


def temperature(demo: Demo, file: Path) -> None:
    """Page 3: one row of cross-attention, with its scores multiplied by beta."""
    looking = demo.pair
    place = len(looking.target) - 3
    layers = looking.weights.cross
    weights = layers[len(layers) // 2][0, :, place]  # (H, S)
    row = weights[weights.amax(-1).sub(0.6).abs().argmin()]  # a head that is neither even nor hard
    with panels(4) as (figure, axes):
        figure.set_size_inches(9.2, 2.6)
        for axis, beta in zip(axes, (0, 0.5, 1, 4), strict=True):
            axis.bar(looking.source, (row.log() * beta).softmax(-1).tolist())
            axis.set(ylim=(0, 1), title=f"beta = {beta} / sqrt(d)" if beta else "beta = 0")
            axis.tick_params(axis="x", rotation=90, length=0)
            axis.grid(visible=False)
        save(figure, file)


def heads(demo: Demo, file: Path) -> None:
    """Page 7: what the heads of the first encoder layer look at."""
    looking = demo.pair
    weights = looking.weights.encoder[0][0]  # (H, S, S)
    with panels(len(weights)) as (figure, axes):
        figure.set_size_inches(2.8 * len(weights), 3)
        for number, (axis, head) in enumerate(zip(axes, weights, strict=True), 1):
            squares(axis, head, looking.source, looking.source, f"head {number}")
        save(figure, file)


def positions(demo: Demo, file: Path) -> None:
    """Page 8: the table of sinusoids, and dot products of its rows."""
    table = sinusoids(64, demo.model.config.d_model)
    with panels(2) as (figure, [left, right]):
        left.pcolormesh(table.numpy(), cmap="RdBu", vmin=-1, vmax=1, rasterized=True)
        left.set(ylim=(64, 0), xlabel="number of the vector", ylabel="position", title="sinusoids")
        left.grid(visible=False)
        right.plot(range(-32, 32), (table @ table[32]).tolist())
        right.set(xlabel="distance", ylabel="dot product", title="how alike positions are")
        save(figure, file)


def masks(demo: Demo, file: Path) -> None:
    """Page 9: the decoder's self-attention, the mean of all heads."""
    looking = demo.pair
    weights = looking.weights.decoder
    with panels(len(weights)) as (figure, axes):
        figure.set_size_inches(3 * len(weights), 3)
        for number, (axis, layer) in enumerate(zip(axes, weights, strict=True), 1):
            squares(axis, layer[0].mean(0), looking.target, looking.target, f"decoder layer {number}")
        save(figure, file)


def context(demo: Demo, file: Path) -> None:
    """Page 10: how alike the vectors of "est" are after the encoder, in sentences that use it in two ways."""
    ids = demo.tokenizer.encode(list(EST))
    (est, *_) = demo.tokenizer.encode(["est"])[0]
    with torch.no_grad():
        found = [demo.model.encode(pad([each], end=EOS))[0, each.index(est)] for each in ids]
    vectors = torch.nn.functional.normalize(torch.stack(found), dim=-1)
    cosines = vectors @ vectors.T
    with panels(1) as (figure, [axis]):
        figure.set_size_inches(5.6, 4.6)
        squares(axis, cosines, EST, EST, least=0.85)
        for place, value in enumerate(cosines.flatten().tolist()):
            row, column = divmod(place, len(EST))
            colour = "white" if value > 0.95 else "black"
            axis.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7, color=colour)
        save(figure, file)


def owner(demo: Demo, file: Path) -> None:
    """Page 11: where the last layer looks when the next word is "her", by head."""
    looking = demo.look("Léa a enlevé sa chemise.", "Léa took off")
    with panels(2) as (figure, axes):
        figure.set_size_inches(7, 2.4)
        for axis, title, weights, columns in (
            (axes[0], "cross-attention", looking.weights.cross, looking.source),
            (axes[1], "self-attention", looking.weights.decoder, looking.target),
        ):
            rows = weights[-1][0, :, -1]  # (H, S)
            squares(axis, rows, columns, [f"head {number}" for number in range(1, len(rows) + 1)], title)
        save(figure, file)


def cross(demo: Demo, file: Path) -> None:
    """Page 11: who looks where in the source, the mean of the heads of the middle layer."""
    looking = demo.pair
    layers = looking.weights.cross
    with panels(1) as (figure, [axis]):
        squares(axis, layers[len(layers) // 2][0].mean(0), looking.source, [*looking.target[1:], "eos"])
        axis.set(xlabel="source", ylabel="the piece that is written next")
        save(figure, file)


def training(demo: Demo, file: Path) -> None:
    """Page 12: loss and BLEU over the steps of training."""
    learning_curve.draw([RunDirectory(demo.run)], file)


FIGURES: tuple[Callable[[Demo, Path], None], ...] = (
    similarity,
    temperature,
    heads,
    positions,
    masks,
    context,
    owner,
    cross,
    training,
)


def draw_all(run: Path, folder: Path) -> None:
    demo = Demo(run)
    for draw in FIGURES:
        draw(demo, folder / f"{draw.__name__}.svg")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the run directory of `make demo`")
    parser.add_argument("--output", type=Path, default=IMAGES, help="folder for the pictures")
    args = parser.parse_args()
    draw_all(args.run, args.output)
