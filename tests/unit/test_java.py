"""Java is looked for where JAVA_HOME says, on the path, beside the environment, and fetched last."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from millstream.core.errors import PlanError
from millstream.spark.java import ensure_java, version_of


def java(home: Path, version: str) -> Path:
    """A program that says which Java it is."""
    path = home / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    return tmp_path


@pytest.mark.parametrize(("version", "major"), [("1.8.0_402", 8), ("11.0.2", 11), ("17.0.15", 17), ("25", 25)])
def test_old_and_new_numbers_are_read(tmp_path: Path, version: str, major: int) -> None:
    assert major == version_of(java(tmp_path, version))


def test_what_is_no_java_has_no_version(tmp_path: Path) -> None:
    assert 0 == version_of(tmp_path / "missing")


def test_java_home_is_taken_if_it_is_new_enough(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java(nowhere / "seventeen", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(nowhere / "seventeen"))

    assert ensure_java() is None


def test_an_old_java_home_gives_way_to_the_system_s(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java(nowhere / "eight", "1.8.0")
    java(nowhere / "path", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(nowhere / "eight"))

    assert ensure_java() is None
    assert "JAVA_HOME" not in os.environ


@pytest.mark.parametrize("place", ["venv/jdk/current", "home/.millstream/jdk"])
def test_one_that_was_fetched_before_is_found(nowhere: Path, place: str) -> None:
    java(nowhere / "path", "11.0.2")
    java(nowhere / place, "17.0.1")

    assert str(nowhere / place) == ensure_java()


def test_where_there_is_none_it_is_fetched(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def install(version: str, path: str) -> str:
        asked.append((version, path))
        return "/fetched"

    monkeypatch.setitem(sys.modules, "jdk", SimpleNamespace(install=install))

    assert "/fetched" == ensure_java()
    assert [("17", str(nowhere / "home" / ".millstream"))] == asked


@pytest.mark.usefixtures("nowhere")
def test_where_it_cannot_be_fetched_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def install(*_: str, **__: str) -> str:
        raise OSError("no network")

    monkeypatch.setitem(sys.modules, "jdk", SimpleNamespace(install=install))

    with pytest.raises(PlanError, match="Java 17 or newer, none was found") as caught:
        ensure_java()
    assert caught.value.hint is not None
    assert "openjdk-17-jre-headless" in caught.value.hint
