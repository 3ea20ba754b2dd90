"""Adding things: the recipes of CONTRIBUTING are followed to the letter, and what they add works."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import millstream as ms
from millstream.core.errors import ContractError, WindowError
from millstream.kernels.aggregates import aggregate_registry as aggregates
from millstream.runtime.compile import operator_registry as operators

ROOT = Path(__file__).parents[2]
CHAPTER = (ROOT / "CONTRIBUTING.md").read_text().partition("## Adding things")[2].partition("\n## ")[0]
BLOCK = re.compile(r"^```py\n# (\S+?\.py)(?:, in class (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCHEMA = pa.schema({"ts": pa.int64(), "v": pa.int64()})
ROWS = [[(3, 1), (1, 2)], [(12, 3), (9, 4)], [(25, 5), (31, 6)]]
CHECKPOINTS = pytest.mark.parametrize("durable", [False, True], ids=["memory", "checkpoint"])


class Block(NamedTuple):
    """Lines for a file, or for a class in it."""

    path: str
    inside: str
    code: str


def recipe(title: str) -> list[Block]:
    text = CHAPTER.partition(f"### {title}\n")[2].partition("\n### ")[0]
    return [Block(*found.groups("")) for found in BLOCK.finditer(text)]


class Followed:
    """Puts blocks into modules, and takes them out again."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.patch = patch

    def __call__(self, title: str) -> None:
        for path, inside, code in recipe(title):
            name = path.removeprefix("src/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")
            module = importlib.import_module(name) if (ROOT / path).exists() else self._new(name)
            made: dict[str, Any] = dict(vars(module))
            exec(compile(dedent(code), path, "exec"), vars(module) if not inside else made)
            if inside:
                *_, added = (key for key in made if key not in vars(module))  # after what it imports
                self.patch.setattr(getattr(module, inside), added, made[added], raising=False)
                continue
            for key in [key for key in vars(module) if key not in made]:
                value = vars(module).pop(key)
                self.patch.setattr(module, key, value, raising=False)

    def _new(self, name: str) -> ModuleType:
        module = ModuleType(name)
        self.patch.setitem(sys.modules, name, module)
        return module


@pytest.fixture
def follow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Followed]:
    known = (operators._OPERATORS, operators._WINDOWS, aggregates.FUNCTIONS)
    before = [dict(one) for one in known]
    yield Followed(monkeypatch)
    for one, was in zip(known, before, strict=True):
        one.clear()
        one.update(was)  # type: ignore[arg-type]  # each is what it was


def engine_of(path: Path, *, durable: bool) -> ms.Engine:
    return ms.Engine(host="local", checkpoint=path / "checkpoint") if durable else ms.Engine(host="local")


def stream_of(engine: ms.Engine, epochs: list[list[tuple[int, int]]], progress: Any = None) -> Any:
    tables = [pa.Table.from_pylist([{"ts": ts, "v": v} for ts, v in rows], SCHEMA) for rows in epochs]
    return engine.stream("s", tables, progress=progress or ms.bounded_disorder("ts", 5))


@pytest.mark.parametrize(
    ("title", "most"), [("An operator", 6), ("A window kind", 4), ("An aggregate", 2), ("A sink", 2), ("A source", 2)]
)
def test_a_recipe_names_few_files(title: str, most: int) -> None:
    paths = [block.path for block in recipe(title)]

    assert 2 <= len(paths) == len(set(paths)) <= most
    # What is there already gets a few lines; what is new has the rest.
    assert all(len(block.code.splitlines()) < 10 for block in recipe(title) if (ROOT / block.path).exists())


@CHECKPOINTS
def test_an_operator(follow: Followed, tmp_path: Path, *, durable: bool) -> None:
    follow("An operator")
    told: list[list[int]] = []
    engine = engine_of(tmp_path, durable=durable)
    held = stream_of(engine, ROWS).hold("ts")
    held.where("v > 1").named("q").for_each(lambda table, _: told.append(table["v"].to_pylist()))

    assert "hold until ts has passed" in engine.explain()
    assert "horizon  5 of ts: disorder 5" in str(engine.check()["q"])
    engine.start(ms.available_now()).await_termination()
    assert [[2], [3, 4, 5]] == told  # v = 1 is filtered; the bound of 26 has not passed v = 6, which is held
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    assert [[2], [3, 4, 5], [6]] == told


def test_an_operator_goes_on_where_it_was(follow: Followed, tmp_path: Path) -> None:
    follow("An operator")
    found: list[int] = []
    for end in (False, True):
        engine = engine_of(tmp_path, durable=True)
        query = stream_of(engine, ROWS).hold("ts").named("q")
        query.for_each(lambda table, _: found.extend(table["v"].to_pylist()))
        engine.start(ms.available_now(), end_of_stream=end).await_termination()

    assert [1, 2, 3, 4, 5, 6] == sorted(found)


def test_an_operator_that_would_keep_rows_for_ever_is_refused(follow: Followed, tmp_path: Path) -> None:
    follow("An operator")
    engine = engine_of(tmp_path, durable=False)
    silent: Any = engine.stream("s", [], schema=SCHEMA)
    silent.hold("ts").named("q")

    with pytest.raises(ContractError, match="hold until ts has passed keeps rows for ever"):
        engine.start(ms.available_now())


def test_an_operator_is_shared(follow: Followed, tmp_path: Path) -> None:
    follow("An operator")
    engine = engine_of(tmp_path, durable=False)
    stream = stream_of(engine, ROWS)
    stream.hold("ts").named("one")
    stream.hold("ts").named("other")

    assert "shared with other" in engine.explain()


@CHECKPOINTS
def test_a_window_kind(follow: Followed, tmp_path: Path, *, durable: bool) -> None:
    follow("A window kind")
    from millstream.api.operations import window  # noqa: PLC0415 - as it is now

    sampled = vars(window)["sampled"]
    engine = engine_of(tmp_path, durable=durable)
    query = stream_of(engine, ROWS).window("ts", range=sampled(5, every=10)).agg(n=ms.count(), s=ms.sum("v")).named("q")

    assert "window the first 5 of each 10 on ts [CF]" in engine.explain()
    assert "horizon  10 of ts: size 5 + disorder 5" in str(engine.check()["q"])
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    found = sorted((row["window_start"], row["window_end"], row["n"], row["s"]) for row in query.table().to_pylist())
    assert [(0, 5, 2, 3), (10, 15, 1, 3), (30, 35, 1, 6)] == found


def test_a_window_kind_has_no_slide(follow: Followed, tmp_path: Path) -> None:
    follow("A window kind")
    from millstream.api.operations import window  # noqa: PLC0415 - as it is now

    stream = stream_of(engine_of(tmp_path, durable=False), ROWS)
    with pytest.raises(WindowError, match="has no slide"):
        stream.window("ts", range=vars(window)["sampled"](5, every=10), slide=5)


@CHECKPOINTS
def test_an_aggregate(follow: Followed, tmp_path: Path, *, durable: bool) -> None:
    follow("An aggregate")
    engine = engine_of(tmp_path, durable=durable)
    query = stream_of(engine, ROWS).window("ts", range=20).agg(x=ms.aggregate("sum_of_squares", "v")).named("q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert [30.0, 61.0] == sorted(query.table()["x"].to_pylist())


@CHECKPOINTS
def test_a_sink(follow: Followed, tmp_path: Path, *, durable: bool) -> None:
    follow("A sink")
    engine = engine_of(tmp_path, durable=durable)
    query: Any = stream_of(engine, ROWS).where("v > 2").named("q")
    query.to_arrow(tmp_path / "out")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    files = sorted((tmp_path / "out").glob("*.arrow"))
    assert [3, 4, 5, 6] == [v for file in files for v in pa.ipc.open_file(file).read_all()["v"].to_pylist()]


@CHECKPOINTS
def test_a_source(follow: Followed, tmp_path: Path, *, durable: bool) -> None:
    follow("A source")
    found: list[int] = []
    for end in (3, 7):
        engine = engine_of(tmp_path, durable=durable)
        source = vars(ms)["Numbers"](end, each=2)
        engine.stream("s", source).named("q").for_each(lambda table, _: found.extend(table["n"].to_pylist()))
        engine.start(ms.available_now()).await_termination()

    assert (list(range(7)) if durable else [*range(3), *range(7)]) == found
