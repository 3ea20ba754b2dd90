"""Project and apply: computed columns; punctuation is rewritten to the columns that are left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from millstream.core.domain import BOTTOM, END
from millstream.core.expression import Expression
from millstream.core.pattern import ANY, Pattern, UpTo
from millstream.core.progress import Progress
from millstream.core.punctuation import Punctuation
from millstream.kernels.expressions.evaluate import evaluate
from millstream.ops.operator import Operator


class Project(Operator):
    """Each output column is an expression over the input's."""

    def __init__(
        self,
        columns: Sequence[tuple[str, Expression]],
        extremes: Mapping[str, tuple[str, tuple[str, ...]]] | None = None,
    ) -> None:
        """Names and expressions, in the order of the output; and which of them are extremes of columns of one type."""
        super().__init__()
        self.columns = tuple(columns)
        self.extremes = dict(extremes or {})

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        made = evaluate([expression for _, expression in self.columns], rows)
        out = pa.Table.from_arrays(made.values, names=[name for name, _ in self.columns])
        good = made.good()
        if good is None:
            return [out]
        self.reject_failed(rows, made)
        return [out.filter(pa.array(good))]

    def promises(self) -> Progress:
        """A punctuation goes on if every attribute it speaks of does, under its new names."""
        now, out = self.progress[0], Progress()
        names: dict[str, list[str]] = {}
        for name, expression in self.columns:
            if expression.plain is not None:
                names.setdefault(expression.plain, []).append(name)
        for punctuation in now.punctuations():
            parts = punctuation.pattern.attributes
            if all(part in names for part in parts):
                renamed = {new: parts[old] for old in parts for new in names[old][:1]}
                out.accept(Punctuation(Pattern(renamed)))
                # The same column under two names: both progress.
                for old in parts:
                    for new in names[old][1:]:
                        out.accept(Punctuation(Pattern({**renamed, names[old][0]: ANY, new: parts[old]})))
        for name, (which, parts) in self.extremes.items():
            bound = _greatest(now, parts) if which == "greatest" else min(now.bound(part) for part in parts)
            if BOTTOM < bound < END:
                out.accept(Punctuation.linear(name, bound))
        return out


def _greatest(progress: Progress, parts: Sequence[str]) -> int:
    """The greatest of some columns is at least what any of them is; and if not all are below some bounds, the least."""
    bounds = [progress.bound(part) for part in parts]
    for punctuation in progress.others:
        joint = punctuation.pattern.attributes
        if joint.keys() <= set(parts) and all(isinstance(one, UpTo) for one in joint.values()):
            bounds.append(min(one.bound for one in joint.values() if isinstance(one, UpTo)))
    return max(bounds)
