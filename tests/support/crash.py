"""Pulling the plug: an exception at a chosen step of an epoch, the n-th time that it is reached."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import millstream as ms
from millstream.runtime.durable import deliver as delivery
from millstream.runtime.durable import host as host_module
from millstream.runtime.tasks import task as tasks
from millstream.state import manifest as manifest_module
from millstream.state.local_storage import LocalStorage


class CrashError(Exception):
    """The plug is pulled."""


class Plug:
    """Pulled the n-th time that it is reached."""

    def __init__(self, nth: int) -> None:
        self.left = nth
        self.pulled = False

    def reached(self) -> None:
        self.left -= 1
        if self.left < 0 and not self.pulled:
            self.pulled = True
            raise CrashError


def _before(plug: Plug, real: Any) -> Any:
    def call(*args: Any, **named: Any) -> Any:
        plug.reached()
        return real(*args, **named)

    return call


def _after(plug: Plug, real: Any) -> Any:
    def call(*args: Any, **named: Any) -> Any:
        out = real(*args, **named)
        plug.reached()
        return out

    return call


def _torn(plug: Plug, real: Any) -> Any:
    """A manifest of which half is on disk, under the name it has until it is whole."""

    def call(storage: LocalStorage, key: str, data: bytes) -> bool:
        if key.endswith(".json"):
            if plug.left == 0:
                folder = (storage.root / key).parent
                folder.mkdir(parents=True, exist_ok=True)
                (folder / ".~cafe").write_bytes(data[: len(data) // 2])
            plug.reached()
        return real(storage, key, data)

    return call


def _half(plug: Plug, real: Any) -> Any:
    """The first file is published, the others are not."""

    def call(outputs: list[Any], checkpoint: str, *, again: bool) -> None:
        real(outputs[:1], checkpoint, again=again)
        plug.reached()
        real(outputs[1:], checkpoint, again=again)

    return call


STEPS: dict[str, tuple[Any, str, Any]] = {
    "before the job": (host_module.DurableHost, "order", _after),
    "while state is written": (tasks, "write_table", _after),
    "after the job": (host_module.DurableHost, "take_in", _before),
    "before the manifest": (manifest_module.Manifests, "write", _before),
    "while the manifest is written": (LocalStorage, "put_if_absent", _torn),
    "after the manifest": (host_module, "deliver", _before),
    "between two files": (delivery, "publish", _half),
    "after publishing": (host_module, "deliver", _after),
    "after old state is gone": (manifest_module.Manifests, "collect", _after),
}


@contextmanager
def pulled(step: str, nth: int) -> Iterator[Plug]:
    plug = Plug(nth)
    where, name, how = STEPS[step]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, name, how(plug, getattr(where, name)))
        yield plug


def ended(run: ms.Run) -> Any:
    """Wait for the end; returns why it came, if not by itself."""
    try:
        run.await_termination()
    except ms.MillstreamError as error:
        return error
    return None
