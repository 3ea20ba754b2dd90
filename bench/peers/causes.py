"""Why Millstream is behind where it is: told beside the ratio, with what was profiled and what is only supposed."""

from __future__ import annotations

from peers.ratios import Ratio

_PROFILED = (
    "The fixed cost of epochs on Spark: W2-20 took 2.4 s over 400,000 rows and 2.5 to 3.0 s over 4,000,000, in four "
    "epochs each. Of 0.4 to 0.7 s an epoch the job was 0.3 to 0.4 s (reading and reducing in Spark 0.15 to 0.25, "
    "kernels in Python 0.05 to 0.15), and planning it most of the rest. Of an epoch of 100,000 rows of W1 and W3-60, "
    "in one warm run, the job is about 40 % (Spark's own stage 12 to 21 %), the rest is building, planning and logs."
)
_SUPPOSED = "Supposed, not profiled here: the fixed cost of epochs on Spark, as profiled for W2-20."
_EIGHT = (
    "Eight joins at once over few rows, profiled on W6 with 2,500 rows a side and epoch: in one warm run the stage "
    "where rows enter is a quarter of an epoch and the stage where eight operators open, probe and save their state a "
    "third; the JVM is busy for a small part of both, so that the rest is Python's, which was not profiled further."
)
_BAGS = (
    "Bags of values, profiled on W7: the stage in Python where windows are answered is more than half of an epoch on "
    "Spark, and grows from epoch to epoch with what is open; on the local host two thirds of the time are in sliding "
    "bags of values, a third of all in sorting."
)
_UNKNOWN = "Without a profile so far."


def cause(ratio: Ratio) -> str:
    """The cause of a ratio below one, and how far it is known."""
    if ratio.cell.startswith("W7/"):
        return _BAGS
    if ratio.cell.startswith("W6/"):
        return _EIGHT
    if ratio.host != "spark":
        return _UNKNOWN
    return _PROFILED if ratio.cell.startswith(("W1/", "W2-", "W3-")) else _SUPPOSED
