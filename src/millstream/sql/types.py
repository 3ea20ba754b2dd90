"""Types of columns as Spark's SQL names them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import SqlglotError

from millstream.core.errors import nearest
from millstream.sql.dialect import DIALECT
from millstream.sql.grammar.text import Piece

_KINDS = {
    "TINYINT": "int8", "SMALLINT": "int16", "INT": "int32", "BIGINT": "int64", "FLOAT": "float32", "DOUBLE": "float64",
    "BOOLEAN": "bool", "TEXT": "string", "VARCHAR": "string", "CHAR": "string", "BINARY": "binary",
    "VARBINARY": "binary", "DATE": "date32", "DATE32": "date32", "TIMESTAMP": "timestamp",
    "TIMESTAMPTZ": "timestamp", "TIMESTAMPLTZ": "timestamp", "TIMESTAMPNTZ": "timestamp_ntz",
    "DATETIME": "timestamp_ntz", "DECIMAL": "decimal", "ARRAY": "array", "LIST": "array", "STRUCT": "struct",
    "MAP": "map",
}  # fmt: skip
_WORDS = (
    "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "STRING", "BINARY", "DATE",
    "TIMESTAMP", "TIMESTAMP_NTZ", "ARRAY", "STRUCT", "MAP",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Type:
    """A type: its name, its numbers, the types inside it."""

    name: str
    numbers: tuple[int, ...] = ()
    inner: tuple[tuple[str, Type], ...] = ()


def read_type(piece: Piece) -> Type:
    """The type that a piece of text names.

    >>> text = "DECIMAL(10, 2)"
    >>> read_type(Piece(text, text, 0, len(text)))
    Type(name='decimal', numbers=(10, 2), inner=())
    """
    try:
        found = DIALECT.parser().parse_into(exp.DataType, piece.tokens(), piece.read)
    except (SqlglotError, RecursionError):
        found = []
    tree = found[0] if len(found) == 1 else None
    if not isinstance(tree, exp.DataType):
        raise _unknown(piece)
    return _type(tree, piece)


def _type(tree: exp.DataType, piece: Piece) -> Type:
    name = _KINDS.get(getattr(tree.this, "value", str(tree.this)).upper())
    if name is None:
        raise _unknown(piece)
    match name:
        case "decimal":
            numbers = tuple(int(one.name) for one in tree.expressions) or (10, 0)
            precision, scale = (*numbers, 0)[:2]
            if not 1 <= precision <= 38 or not 0 <= scale <= precision:
                raise piece.error(f"there is no DECIMAL({precision}, {scale})", "Give 1 to 38 digits.")
            return Type(name, (precision, scale))
        case "array" | "map":
            inner = tuple(("", _type(one, piece)) for one in tree.expressions)
            if len(inner) != (1 if name == "array" else 2):
                raise piece.error(f"{name.upper()} does not say of what", "Write ARRAY<STRING> or MAP<STRING, INT>.")
            return Type(name, (), inner)
        case "struct":
            return Type(name, (), tuple((one.name, _type(one.args["kind"], piece)) for one in tree.expressions))
        case _:
            return Type(name)


def _unknown(piece: Piece) -> Exception:
    word = str(piece).split("(")[0].split("<")[0].strip()
    return piece.error(f'there is no type "{word[:40]}"', nearest(word.upper(), _WORDS))
