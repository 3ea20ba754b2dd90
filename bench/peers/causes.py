"""Why Millstream is behind where it is: told beside the ratio, with what was profiled and what is only supposed."""

from __future__ import annotations

from peers.ratios import Ratio

_PROFILED = (
    "The fixed cost of epochs on Spark: in one warm process W1 took 3.0 s over 20,000 rows and 3.0 s over 2,000,000 "
    "(4.1 and 5.1 s of CPU; single runs, load average about 4). Of some 0.6 s an epoch, our job was 0.3 to 0.5 s and "
    "most of the rest Spark's offset log and listing of files."
)
_SUPPOSED = "Supposed, not profiled here: the fixed cost of epochs on Spark, as profiled for W1."
_BAGS = (
    "Supposed from a profile of the local host alone: of 3.5 s over 500,000 rows 2.3 s were in sliding bags of values, "
    "and 1.0 s in all in sorting. On Spark it was not profiled."
)
_UNKNOWN = "Without a profile so far."


def cause(ratio: Ratio) -> str:
    """The cause of a ratio below one, and how far it is known."""
    if ratio.cell.startswith("W7/"):
        return _BAGS
    if ratio.host != "spark":
        return _UNKNOWN
    return _PROFILED if ratio.cell.startswith("W1/") else _SUPPOSED
