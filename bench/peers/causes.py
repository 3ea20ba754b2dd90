"""Why Millstream is behind where it is: told beside the ratio, so that a number below one never stands alone."""

from __future__ import annotations

from peers.ratios import Ratio

_EPOCHS = (
    "An epoch on Spark costs some tenths of a second whatever it holds (planning a job, two stages of Python tasks, "
    "files of state and results, the manifest); four of them and the end of the stream outweigh so few rows."
)
_ONE_PASS = (
    "With so few windows a row there is nothing to share: what is left is reading Parquet and one grouped reduction, "
    "against binary rows and a loop compiled for the query."
)


def cause(ratio: Ratio) -> str:
    """The cause of a ratio below one."""
    workload, size = ratio.cell.split("/")
    if ratio.host == "spark" and workload in ("W1", "W2-5") and size == "large":
        return _ONE_PASS
    if ratio.host == "spark":
        return _EPOCHS
    return "Not looked into yet."
