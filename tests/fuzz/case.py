"""A case from its number: streams, what is asked of them, and how it is played. The same number is the same case."""

from __future__ import annotations

import random
from dataclasses import dataclass

from fuzz import aggregate_questions, expressions, join_questions, result_questions, row_questions
from fuzz.feed import Feed, feed
from fuzz.question import Question
from fuzz.values import TICK
from millstream.core.settings import PLAIN, Settings
from support.crash import STEPS


@dataclass(frozen=True)
class Life:
    """One life of an engine on disk."""

    partitions: int
    epochs: int | None
    """How many it sees; None for all."""
    crash: tuple[str, int] | None = None
    """The step of an epoch at which the plug is pulled, the n-th time that it is reached."""


@dataclass
class Case:
    """Everything that a number means."""

    seed: int
    feeds: dict[str, Feed]
    questions: list[Question]
    lives: list[Life]
    settings: Settings = PLAIN

    def __str__(self) -> str:
        """What a person needs to see the case."""
        out = [f"case {self.seed}; {self.settings}"]
        out += [f"on disk: {one}" for one in self.lives]
        for one in self.feeds.values():
            out.append(f"stream {one.name}: {one.schema.to_string()!r}")
            out.append(f"  promise {one.promise} span {one.span} per {one.per} now {one.now} {one.supplied}")
            out += [f"  epoch {i}: {rows}" for i, rows in enumerate(one.epochs)]
        out += [f"q{i}: {one.what}\n    SQL: {one.sql}" for i, one in enumerate(self.questions)]
        return "\n".join(out)


def case(seed: int) -> Case:
    """The case of a number."""
    rnd = random.Random(seed)
    settings = Settings(ansi=rnd.random() < 0.7, zone=rnd.choice(ZONES))
    kind = rnd.choice(["windows", "windows", "windows", "rows", "joins", "joins", "expressions"])
    n = rnd.choice([1, 1, 2, 3])
    match kind:
        case "windows":
            feeds = {"s": feed(rnd, "s")}
            makers = (*(aggregate_questions.windows,) * 5, *result_questions.KINDS)
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
    for one in feeds.values():
        one.zone = settings.zone
    asked = [rnd.choice(makers)(rnd, feeds["s"]) for _ in range(n)]
    return Case(seed, feeds, asked, _lives(rnd, max(len(one.epochs) for one in feeds.values())), settings)


ZONES = ("UTC", "UTC", "UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York")


def _lives(rnd: random.Random, epochs: int) -> list[Life]:
    """Some lives that see more and more epochs; some of them end in a crash, and are begun again."""
    cuts: list[int | None] = [*sorted(rnd.randint(1, epochs) for _ in range(rnd.choice([0, 1, 1, 2])))]
    out: list[Life] = []
    for at in (*cuts, None):
        for _ in range(rnd.choice([0, 0, 0, 0, 0, 1, 2])):
            crash = rnd.choice(list(STEPS)), rnd.choice([0, 0, 1, 2, 3, 5, 9])
            out.append(Life(rnd.choice([1, 2, 3]), at, crash))
        out.append(Life(rnd.choice([1, 2, 3]), at))
    return out


def _timely(one: Feed) -> None:
    """Without progress nothing rejects a row without a time, and what a join does with it is not defined here."""
    if one.promise == "none":
        one.epochs = [[row for row in rows if row[TICK] is not None] for rows in one.epochs]
