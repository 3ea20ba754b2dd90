"""Text as decimals, whatever its exponent.

Arrow reads a text of more places than a decimal can have beyond the end of its tables: it gives 0 for 1e-77, and for
1e-99999999 it ends the process. Such texts are read here.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_FAR = r"\d[eE]|\d\.[eE]|\.\d{38}|\d{39}"
_FAR_BYTES = re.compile(_FAR.encode())
_NUMBER = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?", re.ASCII)


def far(data: bytes) -> bool:
    """May there be a number in the text of a file that is not for Arrow to read as a decimal?

    >>> far(b'{"a": 1.50}'), far(b'{"a": 1e-77}')
    (False, True)
    """
    return _FAR_BYTES.search(data) is not None


def decimals(text: Any, kind: pa.DataType) -> Any:
    """Texts, an Arrow array or its chunks, as decimals; raises for one that is none, or has more digits than fit.

    >>> decimals(pa.array(["1.5", "15e-1", "1.50000"]), pa.decimal128(5, 2)).to_pylist()
    [Decimal('1.50'), Decimal('1.50'), Decimal('1.50')]
    >>> decimals(pa.array(["1e-77"]), pa.decimal128(5, 2))
    Traceback (most recent call last):
        ...
    pyarrow.lib.ArrowInvalid: 1e-77 does not fit into decimal128(5, 2)
    """
    if not pc.any(pc.match_substring_regex(text, _FAR)).as_py():
        return text.cast(kind)
    return pa.array([None if one is None else _decimal(one, kind) for one in text.to_pylist()], kind)


def _decimal(text: str, kind: pa.DataType) -> Decimal:
    found = _NUMBER.fullmatch(text)
    if found is None or not (found[2] or found[3]):
        raise pa.ArrowInvalid(f"{text[:40]} is not a number")
    places = found[3] or ""
    digits = ((found[2] or "") + places).lstrip("0")
    exponent = int(found[4] or 0) - len(places)
    figures = digits.rstrip("0")
    exponent += len(digits) - len(figures)
    if figures and (exponent < -kind.scale or len(figures) + exponent > kind.precision - kind.scale):
        raise pa.ArrowInvalid(f"{text[:40]} does not fit into {kind}")
    whole = figures + "0" * (exponent + kind.scale) if figures else "0"
    return Decimal((found[1] == "-", tuple(map(int, whole)), -kind.scale))
