"""Patterns that can read a text in exponentially many ways, and would try them all where none of them matches.

A pattern is taken as an automaton: a position for each character that it reads, and an edge for each way from one
position to the next. Two ways from a position back to itself that read the same text double with every time around.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

_ALPHABET = [*map(chr, range(128)), "é", "\u2028"]
_COPIED = 32
"""A repetition with an end is that many copies if they have no more positions than this; else it counts as endless."""
_COMPARED = 48
"""Of larger knots only ways by the same positions are compared."""
_Ways = Counter[int]
_Node = TypeVar("_Node", bound=Hashable)


@dataclass(slots=True)
class _Tree:
    """A part of a pattern: a character to read, or others one after the other, instead of each other, or again."""

    kind: str
    parts: list[_Tree] = field(default_factory=list["_Tree"])
    piece: str = ""
    least: int = 0
    most: int | None = None

    def size(self) -> int:
        """The positions of all copies."""
        return (self.kind == "read") + sum(part.size() for part in self.parts) * (self.most or 1)

    def even(self) -> bool:
        """Is every text that it reads as long as any other?"""
        return self.kind != "or" and (self.kind != "again" or self.least == self.most) and all(
            part.even() for part in self.parts
        )  # fmt: skip


@dataclass(slots=True)
class _Piece:
    """Where a part may begin and end, how many ways lead there, and whether it may be skipped."""

    empty: bool = True
    first: _Ways = field(default_factory=_Ways)
    last: _Ways = field(default_factory=_Ways)


def explodes(tokens: Sequence[str], flags: re.RegexFlag) -> bool:
    """May the time that a pattern takes double with every character?

    >>> explodes(list("(a+)+b"), re.ASCII), explodes(list("(a+,)+b"), re.ASCII), explodes(list("(a|b)*c"), re.ASCII)
    (True, False, False)
    """
    reader = _Reader(tokens)
    tree = reader.any_of()
    return any(_Automaton(flags, may_fail=reader.may_fail).knotted(one) for one in (tree, *reader.ahead))


class _Reader:
    """A pattern, already known to be one, as a tree."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens, self.at = tokens, 0
        self.ahead: list[_Tree] = []
        self.may_fail = False
        """Is there a condition that a text may fail without a character being read?"""

    def any_of(self) -> _Tree:
        found = [self._sequence()]
        while self._next("|"):
            found.append(self._sequence())
        return found[0] if len(found) == 1 else _Tree("or", found)

    def _sequence(self) -> _Tree:
        parts: list[_Tree] = []
        while self.at < len(self.tokens) and self.tokens[self.at] not in ("|", ")"):
            parts.append(self._repeated(self._one()))
        return _Tree("and", parts)

    def _one(self) -> _Tree:
        token = self.tokens[self.at]
        self.at += 1
        if token == "(":
            return self._group()
        if token == "^" or token.startswith("(?="):
            self.may_fail = self.may_fail or self.at > 1
            return _Tree("and")
        return _Tree("read", piece=token)

    def _group(self) -> _Tree:
        kind = ""
        if self._next("?"):
            kind = self.tokens[self.at]
            self.at += 1
        inside = self.any_of()
        self._next(")")
        if kind in ("=", "!"):
            self.ahead.append(inside)
            self.may_fail = True
            return _Tree("and")
        return inside

    def _repeated(self, tree: _Tree) -> _Tree:
        while self.at < len(self.tokens) and self.tokens[self.at] in ("*", "+", "?", "{"):
            least, most = self._times()
            tree = _Tree("again", [tree], least=least, most=most)
            if not self._next("?"):  # as few as possible, or all or nothing: as many ways
                self._next("+")
        return tree

    def _times(self) -> tuple[int, int | None]:
        token = self.tokens[self.at]
        self.at += 1
        if token != "{":
            return (token == "+", 1 if token == "?" else None)
        end = self.tokens.index("}", self.at)
        low, comma, high = "".join(self.tokens[self.at : end]).partition(",")
        self.at = end + 1
        return int(low), int(high) if high else None if comma else int(low)

    def _next(self, token: str) -> bool:
        found = self.at < len(self.tokens) and self.tokens[self.at] == token
        self.at += found
        return found


class _Automaton:
    def __init__(self, flags: re.RegexFlag, *, may_fail: bool) -> None:
        self.flags, self.may_fail = flags, may_fail
        self.reads: list[frozenset[str]] = []
        self.edges: Counter[tuple[int, int]] = Counter()

    def knotted(self, tree: _Tree) -> bool:
        """Are there two ways around that read the same, where what follows may fail?"""
        made = self._made(tree)
        after: dict[int, list[int]] = {}
        for one, other in self.edges:
            after.setdefault(one, []).append(other)
        for knot in _knots(after):
            if not self.may_fail and all(one in made.last for one in knot):
                continue  # whatever was read, the pattern matches
            if any(ways > 1 and {*edge} <= knot for edge, ways in self.edges.items()):
                return True
            if len(knot) <= _COMPARED and self._two_ways(knot, after):
                return True
        return False

    def _two_ways(self, knot: set[int], after: dict[int, list[int]]) -> bool:
        pairs: dict[tuple[int, int], list[tuple[int, int]]] = {
            (one, other): [
                (a, b)
                for a in after[one]
                for b in after[other]
                if a in knot and b in knot and self.reads[a] & self.reads[b]
            ]
            for one in knot
            for other in knot
        }
        return any(any(a == b for a, b in found) and any(a != b for a, b in found) for found in _knots(pairs))

    def _made(self, tree: _Tree) -> _Piece:
        match tree.kind:
            case "read":
                piece = re.compile(tree.piece, self.flags)
                letters = {*_ALPHABET, *tree.piece}
                self.reads.append(frozenset(one for one in letters if piece.fullmatch(one)))
                here = len(self.reads) - 1
                return _Piece(empty=False, first=Counter([here]), last=Counter([here]))
            case "or":
                parts = [self._made(part) for part in tree.parts]
                return _Piece(
                    empty=any(part.empty for part in parts),
                    first=sum((part.first for part in parts), _Ways()),
                    last=sum((part.last for part in parts), _Ways()),
                )
            case "and":
                out = _Piece()
                for part in tree.parts:
                    out = self._after(out, self._made(part))
                return out
            case _:
                return self._again(tree)

    def _again(self, tree: _Tree) -> _Piece:
        (inside,) = tree.parts
        if tree.most is not None and tree.size() <= _COPIED:
            out = _Piece()
            for _ in range(tree.most - tree.least):  # the last of them first: each may come only if the one before did
                out = self._after(self._made(inside), out)
                out.empty = True
            for _ in range(tree.least):
                out = self._after(self._made(inside), out)
            return out
        out = self._made(inside)
        if not tree.even():  # else there is one way through, however often
            self._tie(out.last, out.first)
        out.empty = out.empty or not tree.least
        return out

    def _after(self, one: _Piece, other: _Piece) -> _Piece:
        self._tie(one.last, other.first)
        return _Piece(
            empty=one.empty and other.empty,
            first=one.first + other.first if one.empty else one.first,
            last=one.last + other.last if other.empty else other.last,
        )

    def _tie(self, last: _Ways, first: _Ways) -> None:
        for one, ways in last.items():
            for other, more in first.items():
                self.edges[one, other] = min(2, self.edges[one, other] + ways * more)


def _knots(after: dict[_Node, list[_Node]]) -> Iterator[set[_Node]]:
    """What can be reached from itself, all that reach each other together (Tarjan's way, without recursion)."""
    found: dict[_Node, int] = {}
    low: dict[_Node, int] = {}
    path: list[_Node] = []
    for root in after:
        if root in found:
            continue
        found[root] = low[root] = len(found)
        path.append(root)
        work = [(root, iter(after.get(root, ())))]
        while work:
            node, rest = work[-1]
            step = next((one for one in rest if one not in found or one in low), None)
            if step is not None and step not in found:
                found[step] = low[step] = len(found)
                path.append(step)
                work.append((step, iter(after.get(step, ()))))
            elif step is not None:
                low[node] = min(low[node], found[step])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == found[node]:
                    at = path.index(node)
                    knot = {*path[at:]}
                    del path[at:]
                    for one in knot:
                        del low[one]
                    if len(knot) > 1 or node in after.get(node, ()):
                        yield knot
