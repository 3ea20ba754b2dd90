"""A case from its number: streams, what is asked of them, and how it is played. The same number is the same case."""

from __future__ import annotations

import random
from dataclasses import dataclass

from fuzz import aggregate_questions, expressions, join_questions, row_questions
from fuzz.feed import TICK, Feed, feed
from fuzz.question import Question


@dataclass
class Case:
    """Everything that a number means."""

    seed: int
    feeds: dict[str, Feed]
    questions: list[Question]
    lives: list[tuple[int, int | None]]
    """On disk: the partitions of each life of the engine, and how many epochs it sees (None for all)."""

    def __str__(self) -> str:
        """What a person needs to see the case."""
        out = [f"case {self.seed}; lives on disk (partitions, epochs): {self.lives}"]
        for one in self.feeds.values():
            out.append(f"stream {one.name}: {one.schema.to_string()!r}")
            out.append(f"  promise {one.promise} span {one.span} per {one.per} supplied {one.supplied}")
            out += [f"  epoch {i}: {rows}" for i, rows in enumerate(one.epochs)]
        out += [f"q{i}: {one.what}\n    SQL: {one.sql}" for i, one in enumerate(self.questions)]
        return "\n".join(out)


def case(seed: int) -> Case:
    """The case of a number."""
    rnd = random.Random(seed)
    kind = rnd.choice(["windows", "windows", "windows", "rows", "joins", "joins", "expressions"])
    n = rnd.choice([1, 1, 2, 3])
    match kind:
        case "windows":
            feeds = {"s": feed(rnd, "s")}
            makers = (aggregate_questions.windows,) * 5
            makers += (aggregate_questions.chain, aggregate_questions.whole, aggregate_questions.limited)
        case "rows":
            feeds = {"s": feed(rnd, "s")}
            makers = row_questions.KINDS
        case "joins":
            first = feed(rnd, "s", most=30)
            second = feed(rnd, "t", clock=first.clock, like=first, most=30)
            feeds = {"s": first, "t": second}
            for one in feeds.values():
                _timely(one)
            makers = join_questions.KINDS
        case _:
            feeds = {"s": expressions.edges(rnd)}
            makers = expressions.KINDS
    asked = [rnd.choice(makers)(rnd, feeds["s"]) for _ in range(n)]
    most = max(len(one.epochs) for one in feeds.values())
    cuts = sorted(rnd.randint(1, most) for _ in range(rnd.choice([0, 1, 1, 2])))
    lives = [(rnd.choice([1, 2, 3]), at) for at in (*cuts, None)]
    return Case(seed, feeds, asked, lives)


def _timely(one: Feed) -> None:
    """Without progress nothing rejects a row without a time, and what a join does with it is not defined here."""
    if one.promise == "none":
        one.epochs = [[row for row in rows if row[TICK] is not None] for rows in one.epochs]
