"""What a source's progress promises: a scheme, and for each of its templates how far punctuation lags behind rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from millstream.core.contract.template import END, Sign, Template
from millstream.core.domain import Domain
from millstream.core.generator import BoundedDisorder, BoundedRows, PerGroup, Step, Supplied, Timer
from millstream.plan.horizon import Lag, Part
from millstream.plan.lag import Promises, until_over

if TYPE_CHECKING:
    from millstream.plan.nodes.source import Source


def promises_of(source: Source, *, ends: bool = False) -> Promises:
    """What is promised of a source; with `ends`, also that it will end."""
    out: dict[Template, Lag] = {END: (Part("the end of the stream"),)} if ends else {}
    template = template_of(source.progress)
    if template is not None:
        out[template] = _lag(source.progress, template, source.domains)
    return out


def template_of(generator: Any) -> Template | None:
    """The shape of a generator's punctuation; None if nothing is said about it."""
    if generator is None:
        return None
    attribute: str | None = generator.attribute
    keys: tuple[str, ...] = generator.per if isinstance(generator, Supplied) else generator.keys
    signs = dict.fromkeys(keys, Sign.LITERAL)
    if attribute is not None:
        signs[attribute] = Sign.UP_TO
    return Template(signs) if signs else None


def _lag(generator: Any, template: Template, domains: Mapping[str, Domain]) -> Lag:
    inner = generator.inner if isinstance(generator, PerGroup) else generator
    if not template.up_to:
        return (until_over(template),)
    domain = domains.get(template.up_to[0])
    match inner:
        case BoundedDisorder():
            return (Part.of("disorder", inner.span, domain),)
        case BoundedRows():
            return (Part("disorder", rows=inner.rows),)
        case Step():
            return (Part.of("step", inner.every, domain),)
        case Timer():
            return (Part.of("timer", inner.every, domain),)
        case Supplied():
            return (Part("what is not punctuated yet"),)
        case _:
            return ()
