"""What a plan promises without operators is what its operators promise."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import millstream as ms
from millstream.core.pattern import Pattern
from millstream.core.progress import Progress
from millstream.core.promise.columns import renamed
from millstream.core.punctuation import Punctuation
from millstream.plan import nodes
from millstream.runtime.tasks.program import Program, Target
from support.harness import SCHEMA
from support.questions import QUESTIONS


def some_progress(rnd: random.Random, schema: pa.Schema, ended: float) -> Progress:
    """Bounds, group-wise bounds and groups that are over, on some of the columns."""
    names = list(schema.names)
    out = Progress(ended=rnd.random() < ended)
    if out.ended:
        return out
    for name in rnd.sample(names, min(len(names), 2)):
        out.accept(Punctuation.linear(name, rnd.randint(-50, 200)))
    if len(names) > 1:
        one, other = rnd.sample(names, 2)
        out.accept(Punctuation.group_wise(one, rnd.randint(-50, 200), {other: rnd.randint(0, 3)}))
        out.accept(Punctuation.over({other: rnd.randint(0, 3)}))
    return out


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_node_promises_what_its_operator_does(question: str) -> None:
    rnd = random.Random(question)
    engine = ms.Engine(host="local")
    stream = engine.stream("s", [], schema=SCHEMA, progress=ms.bounded_disorder("ts", 8))
    node = QUESTIONS[question](stream).node
    program = Program([Target("q", node)], 2)
    for i, one in enumerate(program.nodes):
        if isinstance(one, nodes.Source) or (isinstance(one, nodes.Aggregate) and one.flush is not None):
            continue
        for _ in range(50):
            below = [some_progress(rnd, read.schema, 0.1) for read in nodes.inputs(one)]
            operator = program.operator(i)
            operator.resume([progress.copy() for progress in below])
            assert operator.promises() == one.promised(below), one


@pytest.mark.parametrize(
    "names", [{"a": "x", "b": "y", "c": "z"}, {"a": "z", "b": "y", "c": "x"}, {"b": "a", "c": "b"}]
)
def test_renamed_progress_is_each_punctuation_renamed(names: dict[str, str]) -> None:
    rnd = random.Random(str(names))
    schema = pa.schema(dict.fromkeys("abc", pa.int64()))
    for _ in range(200):
        now = some_progress(rnd, schema, 0.05)
        for _ in range(rnd.randint(0, 3)):
            one, *others = rnd.sample("abc", 3)
            now.accept(Punctuation.group_wise(one, rnd.randint(-50, 200), {name: rnd.randint(0, 2) for name in others}))
            now.accept(Punctuation.joint({name: rnd.randint(0, 9) for name in others}))
            now.accept(Punctuation.over({name: rnd.randint(0, 2) for name in others}))
        expected = Progress()
        for punctuation in now.punctuations():
            parts = punctuation.pattern.attributes
            if parts.keys() <= names.keys():
                expected.accept(Punctuation(Pattern({names[name]: part for name, part in parts.items()})))

        assert expected == as_punctuations(renamed(now, names))


def as_punctuations(progress: Progress) -> Progress:
    """The same, without what is said twice."""
    out = Progress()
    for punctuation in progress.punctuations():
        out.accept(punctuation)
    return out
