"""Why Millstream is behind where it is: told beside the ratio, so that a number below one never stands alone."""

from __future__ import annotations

from peers.ratios import Ratio

_EPOCHS = (
    "The fixed cost of epochs on Spark. The query of W1 takes 3.0 s over 20,000 rows and 3.0 s over 2,000,000 (4.1 and "
    "5.1 s of CPU): 0.6 s an epoch, of which 0.4 s is Spark's job (planning, two stages, Python workers) and 0.2 s its "
    "offset log and its listing of files; our commit is 0.01 s. Larger epochs outweigh it."
)
_BAGS = (
    "A median needs every value of its window, and each slide sorts them anew: of 3.5 s on the local host over 500,000 "
    "rows, 2.3 s go to sliding bags of values, 1.0 s of it to sorting alone."
)
_UNKNOWN = "Without a profile so far."


def cause(ratio: Ratio) -> str:
    """The cause of a ratio below one, as profiles have shown it."""
    if ratio.cell.startswith("W7/"):
        return _BAGS
    return _EPOCHS if ratio.host == "spark" else _UNKNOWN
