"""The functions, a family a file; to import this is to register them all."""

from millstream.kernels.expressions.functions import (
    arrays,
    bits,
    conditional,
    dates,
    formats,
    hashing,
    json_texts,
    mathematics,
    patterns,
    rounding,
    texts,
    times,
)

__all__ = [
    "arrays", "bits", "conditional", "dates", "formats", "hashing", "json_texts", "mathematics", "patterns",
    "rounding", "texts", "times",
]  # fmt: skip
