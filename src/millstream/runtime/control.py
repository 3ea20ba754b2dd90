"""Control of a running engine from another process: requests and replies are objects in the checkpoint.

A request is taken between two epochs, answered, and removed. Whoever asked removes the reply.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from millstream.core.errors import RunError
from millstream.state.storage import Storage

_ASKED, _TOLD = "control/asked/", "control/told/"
_LOOK = 0.05
"""Seconds between two looks for a reply."""


def requests(storage: Storage) -> Iterator[tuple[str, dict[str, Any]]]:
    """The requests that wait, oldest first: a number to reply to, and what is asked."""
    found = [(key, storage.get(key)) for key in storage.list(_ASKED)]
    asked = [(key, json.loads(data)) for key, data in found if data is not None]
    for key, request in sorted(asked, key=lambda one: one[1]["at"]):
        yield key.removeprefix(_ASKED), request


def reply(storage: Storage, number: str, answer: dict[str, Any]) -> None:
    """Answer a request; only then it is removed, so that none is lost when this process dies."""
    storage.put(f"{_TOLD}{number}", json.dumps(answer).encode())
    storage.delete(f"{_ASKED}{number}")


def ask(storage: Storage, request: dict[str, Any], timeout: float) -> dict[str, Any]:
    """Ask the engine that runs on a checkpoint, and wait for its answer."""
    number = uuid.uuid4().hex
    storage.put(f"{_ASKED}{number}", json.dumps({**request, "at": time.time()}).encode())
    limit = time.monotonic() + timeout
    try:
        while time.monotonic() < limit:
            found = storage.get(f"{_TOLD}{number}")
            if found is not None:
                return json.loads(found)
            time.sleep(_LOOK)
    finally:
        storage.delete(f"{_TOLD}{number}")
        storage.delete(f"{_ASKED}{number}")
    raise RunError(
        f"no engine answered within {timeout:g} seconds on {storage.name('')}",
        hint="Is one running with this checkpoint, for example with --every '1 second'? It answers between two epochs.",
    )


Listener = Callable[[], None]
"""Looks for requests between two epochs."""
