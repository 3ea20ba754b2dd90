"""Lags: how far punctuation trails the rows, as it flows from the sources through the operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from millstream.core.contract.form import Form
from millstream.core.contract.scheme import Scheme
from millstream.core.contract.template import Template
from millstream.plan.horizon import Lag, Part

Promises: TypeAlias = Mapping[Template, Lag]
"""The templates of a stream, each with its lag."""
SKEW = Part("skew of the inputs")


def until_over(template: Template) -> Part:
    """How long rows of a group stay that goes only when it is over."""
    return Part(f"until its {', '.join(template.literals)} is over")


def used(form: Form, incoming: Sequence[Promises]) -> list[tuple[Template, Lag]]:
    """The promises that let an operator forget, port by port, each with its lag."""
    return [(one, some[one]) for port, some in enumerate(incoming) for one in form.uses(Scheme(frozenset(some)), port)]


def through(form: Form, incoming: Promises, out: Scheme) -> Promises:
    """The lags of what leaves an operator that keeps nothing: a promise is as late as the one that it was."""
    pairs = ((form.offers([Scheme.of(one)])[0].out, lag) for one, lag in incoming.items())
    found = {template: lag for scheme, lag in pairs for template in scheme}
    # The least of several progresses when all have: it is as late as the latest.
    together = longest(list(incoming.values()))
    return {one: found.get(one, together) for one in out}


def implied(template: Template, promises: Promises) -> Lag:
    """The lag of the promise that says at least this."""
    return next((lag for one, lag in promises.items() if one.implies(template)), ())


def longest(lags: Sequence[Lag]) -> Lag:
    """The lag that is known to be the longest, and of the others what is not known."""
    if not lags:
        return ()
    most = max(lags, key=lambda lag: sum(part.ticks or 0 for part in lag))
    unknown = [part for lag in lags for part in lag if part.ticks is None and part not in most]
    return (*most, *dict.fromkeys(unknown))
