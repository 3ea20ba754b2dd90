"""Digests and encodings of texts and bytes."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from millstream.core.errors import ExpressionError
from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.bound_term import Binding, BoundTerm, constant, rowwise
from millstream.kernels.expressions.fit import fixed, text
from millstream.kernels.expressions.function_registry import function

_FAMILY = "digests"
_SHA2 = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}


def _of_bytes(name: str, kind: pa.DataType, fn: Callable[[bytes], Any], *aliases: str) -> None:
    @function(name, _FAMILY, (1, 1), *aliases)
    def _bind(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
        return _applied(name, kind, fn, parts[0], bound)


def _applied(name: str, kind: pa.DataType, fn: Callable[[bytes], Any], node: BoundTerm, bound: Binding) -> BoundTerm:
    if node.kind == t.BINARY:
        return rowwise(kind, [node], fn)
    return rowwise(kind, [text(node, bound, name)], lambda a: fn(a.encode()))


_of_bytes("md5", t.TEXT, lambda a: hashlib.md5(a, usedforsecurity=False).hexdigest())
_of_bytes("sha1", t.TEXT, lambda a: hashlib.sha1(a, usedforsecurity=False).hexdigest(), "sha")
_of_bytes("crc32", t.LONG, zlib.crc32)
_of_bytes("base64", t.TEXT, lambda a: base64.b64encode(a).decode())


@function("sha2", _FAMILY, (2, 2))
def _sha2(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    bits = fixed(parts[1], "sha2", "the number of bits")
    if bits not in _SHA2:
        return constant(None, t.TEXT)
    return _applied("sha2", t.TEXT, lambda a: hashlib.new(_SHA2[bits], a).hexdigest(), parts[0], bound)


@function("encode", _FAMILY, (2, 2))
def _encode(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    charset = str(fixed(parts[1], "encode", "the character set"))
    if charset.upper() not in ("UTF-8", "UTF8"):
        raise ExpressionError(f"encode to {charset!r} is not computed here", hint="Use UTF-8.")
    return rowwise(t.BINARY, [text(parts[0], bound, "encode")], str.encode)
