"""One storage: nothing but its implementation touches the files of a checkpoint or of a folder of results."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import millstream
from millstream.core.errors import StateError
from millstream.state.local_storage import LocalStorage

SOURCE = Path(millstream.__file__).parent
TOUCHES = {"write_text", "write_bytes", "unlink", "mkdir", "rmdir", "touch", "rmtree", "symlink_to", "fsync"}
ELSEWHERE = {
    "state/local_storage.py": "the implementation",
    "demo.py": "the demo makes a folder of its own",
}


def test_nothing_else_writes_files() -> None:
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TOUCHES:
                found.setdefault(path.relative_to(SOURCE).as_posix(), set()).add(node.func.attr)

    assert set() == set(found) - set(ELSEWHERE), found


@pytest.mark.parametrize("key", ["../x", "/etc/x", "a/../../x", "a\0b"])
def test_a_key_that_leads_out_of_the_root_is_refused(tmp_path: Path, key: str) -> None:
    storage = LocalStorage(tmp_path / "root")

    for touch in (lambda: storage.put(key, b""), lambda: storage.get(key), lambda: storage.delete(key)):
        with pytest.raises(StateError, match="is not in"):
            touch()


def test_what_is_under_way_is_no_object(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    storage.put("a/b", b"1")
    (tmp_path / "a" / ".~cafe").write_bytes(b"half")

    assert ["a/b"] == storage.list()
    storage.sweep()
    assert ["b"] == [path.name for path in (tmp_path / "a").iterdir()]


def test_put_replaces_and_put_if_absent_does_not(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)

    assert storage.put_if_absent("k", b"1")
    storage.put("k", b"2")
    assert not storage.put_if_absent("k", b"3")
    assert (b"2", 1) == (storage.get("k"), storage.size("k"))
    storage.delete("k")
    storage.delete("k")
    assert (None, None) == (storage.get("k"), storage.size("k"))
