"""Progress and patterns as plain values, for manifests and reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millstream.core.feedback import Records
from millstream.core.pattern import Between, Equal, From, OneOf, Pattern, UpTo, ValuePattern
from millstream.core.progress import Progress
from millstream.core.punctuation import Punctuation

_FORMS: dict[str, type[Any]] = {"=": Equal, "<": UpTo, ">=": From, "[)": Between, "in": OneOf}


def pattern_plain(pattern: Pattern) -> dict[str, Any]:
    """A pattern as names, forms and values.

    >>> pattern_plain(Pattern({"ts": UpTo(5)}))
    {'ts': ['<', 5]}
    """
    return {name: _plain(value) for name, value in pattern.attributes.items()}


def pattern_from(fields: dict[str, Any]) -> Pattern:
    """The pattern that `pattern_plain` was given."""
    return Pattern({name: _FORMS[form](*values) for name, (form, *values) in fields.items()})


def records_plain(records: Records) -> list[dict[str, Any]]:
    """Records of feedback as plain values."""
    return [pattern_plain(one) for one in records]


def records_from(fields: Iterable[dict[str, Any]]) -> Records:
    """The records that `records_plain` was given."""
    return tuple(pattern_from(one) for one in fields)


def progress_plain(progress: Progress) -> dict[str, Any]:
    """Progress as plain values."""
    return {
        "linear": progress.linear,
        "grouped": progress.grouped,
        "over": progress.over,
        "others": [pattern_plain(one.pattern) for one in progress.others],
        "ended": progress.ended,
    }


def progress_from(fields: dict[str, Any]) -> Progress:
    """The progress that `progress_plain` was given.

    >>> progress_from(progress_plain(Progress({"ts": 5}))).bound("ts")
    5
    """
    others = tuple(Punctuation(pattern_from(one)) for one in fields["others"])
    return Progress(
        dict(fields["linear"]), dict(fields["grouped"]), dict(fields["over"]), others, bool(fields["ended"])
    )


def _plain(value: ValuePattern) -> list[Any]:
    match value:
        case Equal(constant):
            return ["=", constant]
        case UpTo(bound):
            return ["<", bound]
        case From(bound):
            return [">=", bound]
        case Between(low, high):
            return ["[)", low, high]
        case OneOf(constants):
            return ["in", constants]
        case _:
            return []
