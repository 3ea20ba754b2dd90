"""The house keeps its rules: small files, rooms with few of them, one name for one thing, one way to a checkpoint."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "millstream"
LAYERS_OF_ONE_THING = {
    # A node of the plan, the operator that computes it, and the form of its contract.
    *(
        "Answers",
        "AsOf",
        "Compute",
        "Distinct",
        "Enrich",
        "Instrument",
        "Join",
        "ManyJoin",
        "Matches",
        "Pace",
        "Project",
        "Select",
        "SharedJoin",
        "Sort",
        "Top",
        "Union",
    ),
    # What a statement says, and what it means.
    *("Ordered", "Sessions", "Sliding", "Supplied"),
    # What the user has in hand, and the node of it.
    *("Source", "Table"),
}
FILES_OF_ONE_THING = {
    # Packages and commands.
    *("__init__", "__main__"),
    # The first file of a room: what all the others in it are.
    "base",
    # A node of the plan, its operator, what it promises, its kernel, and the method that makes it.
    *(
        "aggregate",
        "answers",
        "as_of",
        "compute",
        "distinct",
        "enrich",
        "feedback",
        "instrument",
        "join",
        "many",
        "pace",
    ),
    *("project", "ring", "select", "sort", "top", "union"),
    # A kind of window, its operator, its kernel.
    *("landmark", "rows", "session", "slide_by_tuple", "sliding"),
    # The same part of two or three hosts.
    *("arrange", "drive", "host", "jobs", "partials", "partition"),
    # What a user has in hand, what a statement says, and what it means inside.
    *("contract", "control", "entrance", "expression", "flush", "intervals", "query", "side", "store", "types"),
    # What a person is told, by layer.
    *("failure", "hints"),
}
OPENING = {
    "open",
    "read_bytes",
    "write_bytes",
    "write_text",
    "unlink",
    "mkdir",
    "rename",
    "replace",
    "rglob",
    "iterdir",
}


@cache
def modules() -> list[tuple[str, ast.Module]]:
    paths = sorted(SOURCE.rglob("*.py"))
    return [(path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text())) for path in paths]


def test_no_file_is_long_and_no_folder_is_full() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    folders = Counter(path.parent for path in lengths)

    assert {} == {path: lines for path, lines in lengths.items() if lines > 400}
    assert {} == {folder: number for folder, number in folders.items() if number > 20}


def test_classes_of_one_name_are_one_thing() -> None:
    classes = Counter(node.name for _, tree in modules() for node in tree.body if isinstance(node, ast.ClassDef))

    assert LAYERS_OF_ONE_THING == {name for name, number in classes.items() if number > 1 and name[0] != "_"}


def test_files_of_one_name_are_one_thing() -> None:
    names = Counter(name.rpartition("/")[2] for name, _ in modules())

    assert FILES_OF_ONE_THING == {name.removesuffix(".py") for name, number in names.items() if number > 1}


def test_only_state_knows_the_disk_of_a_checkpoint() -> None:
    """Whoever else touches files has them from the user: sources, results put together, SQL files, Java."""
    of_users = ("runtime/sources/", "runtime/sinks/compact.py", "api/sql/script.py", "cli/", "demo.py")
    of_users += ("spark/java.py", "spark/quiet.py", "spark/local_session.py")
    touching = {
        name
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _touches_files(node.func)
    }

    assert set() == {name for name in touching if not name.startswith(("state/", *of_users))}


def test_the_hash_of_partitions_is_defined_once() -> None:
    """Spark computes it with functions of its own, in one place that takes what it says from the kernel."""
    hashing = {
        name
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("murmur", "F.hash", "F.crc32", "F.xxhash64")
    }

    assert {"kernels/partition.py", "spark/paths/partition.py"} == hashing


def _touches_files(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id == "open"
    if not isinstance(function, ast.Attribute):
        return False
    if isinstance(function.value, ast.Name) and function.value.id in ("os", "shutil"):
        return True
    # Strings, dates, dataclasses and partials have such methods too; those of paths are called on nothing else here.
    return function.attr in OPENING and "path" in ast.unparse(function.value).lower()
