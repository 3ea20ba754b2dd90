"""Outcomes as pictures, for people and for documents: one PNG and one SVG each."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from lab.outcome import Outcome

_MARKS = "osD^vPX*"


def draw(outcome: Outcome, path: Path) -> list[Path]:
    """Draw the panels side by side; returns the files, `path` with each ending."""
    figure = Figure(figsize=(5.2 * len(outcome.panels), 3.8), layout="constrained")
    for place, panel in enumerate(outcome.panels):
        axes = figure.add_subplot(1, len(outcome.panels), place + 1)
        for mark, (name, points) in zip(_MARKS * 2, panel.lines.items(), strict=False):
            axes.plot([x for x, _ in points], [y for _, y in points], marker=mark, markersize=4, label=name)
        axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
        if panel.log_x:
            axes.set_xscale("log")
        if panel.log_y:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize="small")
    figure.suptitle(outcome.title, fontsize="medium")
    files = [path.with_name(f"{path.name}.{kind}") for kind in ("png", "svg")]
    # The same figures give the same file: no date in it, and ids that do not change from run to run.
    with mpl.rc_context({"svg.hashsalt": "millstream"}):
        figure.savefig(files[0], dpi=110)
        figure.savefig(files[1], metadata={"Date": None})
    return files
