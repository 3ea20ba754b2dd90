"""Feedback: what a reader says against the stream about the rows that it reads.

*Assumed* feedback says which rows the reader will ignore. Whoever makes them may leave out none, some or all of them,
and nothing else: `SR - subset(SR, f) <= S <= SR`, as bags, where SR is the output without feedback and S that with it.
It is not a promise. *Desired* feedback asks for rows first. *Demanded* feedback asks for results now, even
partial ones.

Records of assumed feedback add up: a row is ignored if some record matches it. See docs/guide/feedback.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from millstream.core.pattern import Pattern
from millstream.core.progress import Progress

Records: TypeAlias = tuple[Pattern, ...]
"""Patterns of rows that are ignored, none of which another one covers."""
MOST = 256
"""Records that are kept for one stream of rows. Beyond that, some are left out, which is always right."""


class Intent(Enum):
    """What a reader means by feedback."""

    ASSUMED = "assumed"
    """These rows will be ignored."""
    DESIRED = "desired"
    """These rows are wanted first; the others are wanted too."""
    DEMANDED = "demanded"
    """These results are needed now, even if they are partial; the exact ones are wanted, too."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """One message: an intent, and the rows that it speaks of, in ticks where columns are ordered.

    >>> from millstream.core.pattern import UpTo
    >>> str(Feedback(Intent.ASSUMED, Pattern({"segment": UpTo(4)}), ttl=10))
    'assumed segment < 4, for 10 epochs'
    """

    intent: Intent
    pattern: Pattern
    ttl: int | None = None
    """For so many epochs; None: until punctuation has passed it, or it is withdrawn."""

    def __str__(self) -> str:
        """In words."""
        lasts = "" if self.ttl is None else f", for {self.ttl} epoch{'s' if self.ttl > 1 else ''}"
        return f"{self.intent.value} {self.pattern}{lasts}"


@dataclass(frozen=True, slots=True)
class InForce:
    """Feedback in force: who sent it is told apart by a number, and it lasts until an epoch, if it has a limit."""

    number: int
    feedback: Feedback
    until: int | None = None


def compact(records: Iterable[Pattern]) -> Records:
    """The same rows in fewer records: one that another covers goes, whichever came first.

    >>> from millstream.core.pattern import UpTo
    >>> [str(one) for one in compact([Pattern({"ts": UpTo(5)}), Pattern({"ts": UpTo(9)}), Pattern({"ts": UpTo(7)})])]
    ['ts < 9']
    """
    kept: list[Pattern] = []
    for one in records:
        if not any(_subsumes(other, one) for other in kept):
            kept = [other for other in kept if not _subsumes(one, other)]
            kept.append(one)
    return tuple(kept[:MOST])


def common(a: Records, b: Records) -> Records:
    """The rows that both ignore.

    >>> from millstream.core.pattern import From, UpTo
    >>> [str(one) for one in common((Pattern({"a": UpTo(5)}),), (Pattern({"a": From(3)}), Pattern({"b": UpTo(1)})))]
    ['a in [3, 5)', 'a < 5, b < 1']
    """
    found = (_meet(one, other) for one in a for other in b)
    return compact(one for one in found if one is not None)


def covered(record: Pattern, records: Iterable[Pattern]) -> bool:
    """Does one of the records match every row that this one does?"""
    return any(_subsumes(one, record) for one in records)


def passed(record: Pattern, progress: Progress) -> bool:
    """Has punctuation said that no more such row comes? Then the record has done its work.

    >>> from millstream.core.pattern import From, UpTo
    >>> seen = Progress({"window_id": 3})
    >>> passed(Pattern({"window_id": UpTo(2)}), seen), passed(Pattern({"window_id": From(2)}), seen)
    (True, False)
    """
    return any(_subsumes(one.pattern, record) for one in progress.punctuations())


def _subsumes(outer: Pattern, inner: Pattern) -> bool:
    try:
        return outer.subsumes(inner)
    except TypeError:  # values of two types are no values of one another
        return False


def _meet(a: Pattern, b: Pattern) -> Pattern | None:
    try:
        return a.meet(b)
    except TypeError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What an operator does with a record of assumed feedback over the rows that leave it.

    It always may keep matching rows from leaving. With `inputs` it can do so before it works on them: rows that match
    these patterns it drops where they come in, and its inputs are told that it ignores them. That is said only where
    dropping *any* of these rows changes no row that leaves but such as match the record.
    """

    inputs: Mapping[int, Pattern]
    """By port. None for a port that must go on as it is."""
    whole: bool = False
    """Does no matching row leave if none of those comes?"""
    settles: str | None = None
    """Where results are made of several rows: the column by which to tell those that have lost some of them, when the
    feedback is withdrawn. What is below the greatest value that had come may be wrong, and must not leave."""


NOTHING = Response(inputs={})
"""Matching rows are kept from leaving, and that is all."""


def plain(standing: InForce, pattern: Any) -> dict[str, Any]:
    """As a mapping for manifests, with the pattern in the form that the caller has for it."""
    return {
        "number": standing.number,
        "intent": standing.feedback.intent.value,
        "pattern": pattern,
        "ttl": standing.feedback.ttl,
        "until": standing.until,
    }


def restored(fields: Mapping[str, Any], pattern: Pattern) -> InForce:
    """What `plain` was given.

    >>> one = InForce(3, Feedback(Intent.ASSUMED, Pattern(), 5), 9)
    >>> restored(plain(one, {}), Pattern()) == one
    True
    """
    feedback = Feedback(Intent(fields["intent"]), pattern, fields["ttl"])
    return InForce(int(fields["number"]), feedback, fields["until"])
