"""What Spark says while it starts is held back, and shown if the start fails; what it says later is passed on."""

from __future__ import annotations

import os
import time

import pytest

from millstream.spark.quiet import _Said


def wait_for(said: _Said, text: bytes) -> None:
    until = time.monotonic() + 5
    while text not in b"".join(said._held or ()) and time.monotonic() < until:
        time.sleep(0.01)


def test_lines_of_a_start_that_worked_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    said = _Said()
    writing = os.dup(said.writing)
    os.write(writing, b"WARN while it starts\n")
    wait_for(said, b"starts")

    said.started(show=False)
    os.write(writing, b"a later line\n")
    os.close(writing)
    said._thread.join(5)

    assert "a later line\n" == capsys.readouterr().err


def test_lines_of_a_start_that_failed_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    said = _Said()
    os.write(said.writing, b"ERROR no memory\n")

    said.started(show=True)

    assert "ERROR no memory\n" == capsys.readouterr().err
