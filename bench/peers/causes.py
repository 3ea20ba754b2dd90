"""Why Millstream is behind where it is: told beside the ratio, with what was profiled and what is only supposed."""

from __future__ import annotations

from peers.ratios import Ratio

_PROFILED = (
    "The fixed cost of epochs on Spark: W2-20 took 2.4 s over 400,000 rows and 2.5 to 3.0 s over 4,000,000, in four "
    "epochs each. Of 0.4 to 0.7 s an epoch the job was 0.3 to 0.4 s (reading and reducing in Spark 0.15 to 0.25, "
    "kernels in Python 0.05 to 0.15), and planning it most of the rest."
)
_SUPPOSED = "Supposed, not profiled here: the fixed cost of epochs on Spark, as profiled for W2-20."
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
    return _PROFILED if ratio.cell.startswith(("W1/", "W2-", "W3-")) else _SUPPOSED
