"""The charts of a run's report as files, for papers: each as PNG and as SVG."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq.analysis.test_set import AttentionMap, Slice
from seq2seq.reports import style
from seq2seq.reports.analysed_run import AnalysedRun
from seq2seq.reports.attention_matrix import draw_matrix
from seq2seq.reports.curves import PANELS, Curve, Panel, drawn_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def write_pictures(analysed: AnalysedRun, folder: Path) -> list[Path]:
    """Draw the curves, the slices of each test set and its attention maps.

    Raises:
        RunError: the run has no metrics.
    """
    found = drawn_curves(analysed.run)
    files: list[Path] = []
    for panel in PANELS:
        if any(metric in found for metric in panel.metrics):
            with style.panels(1) as (figure, (axes,)):
                _draw_curves(axes, panel, found)
                files += style.save_all(figure, folder / panel.name)
    for test, analysis in analysed.analyses.items():
        place = folder / test
        for name, rows in analysis.slices.items():
            with style.panels(2) as (figure, axes_of):
                _draw_slices(axes_of, name, rows)
                files += style.save_all(figure, place / name.replace(" ", "_"))
        for map_ in analysis.attention:
            with style.panels(1) as (figure, (axes,)):
                _draw_attention(axes, map_)
                files += style.save_all(figure, place / f"attention_{map_.number}")
    return files


def _draw_curves(axes: "Axes", panel: Panel, found: Mapping[str, Curve]) -> None:
    axes.set(xlabel="optimizer step", ylabel=panel.unit or panel.title.lower(), title=panel.title)
    for metric, label in panel.metrics.items():
        if metric in found:
            steps, values = found[metric].steps, found[metric].values
            is_sparse = len(steps) < 60
            axes.plot(steps, values, label=label, marker="." if is_sparse else "", linewidth=1.4 if is_sparse else 0.9)
    if len(axes.lines) > 1:
        axes.legend()


def _draw_slices(axes: Sequence["Axes"], name: str, rows: Sequence[Slice]) -> None:
    names = [f"{row.name} ({row.n_sentences:,})" for row in rows]
    bleu = [(row.bleu, row.bleu_half_width) for row in rows]
    chrf = [(row.chrf, row.chrf_half_width) for row in rows]
    for axis, label, scores, colour in zip(axes, ("BLEU", "chrF"), (bleu, chrf), style.COLOURS[::2], strict=False):
        axis.set(title=f"{label} by {name}", xlabel=f"{label}, with 95% interval")
        values = [score for score, _ in scores]
        axis.errorbar(values, names, xerr=[half or 0 for _, half in scores], fmt="o", color=colour)
        axis.invert_yaxis()


def _draw_attention(axes: "Axes", found: AttentionMap) -> None:
    draw_matrix(axes, found.weights, found.target_pieces, found.source_pieces)
    axes.set(title=f"Attention, line {found.number}", xlabel="source", ylabel="translation")
