"""What another process can ask of a running engine: add a query, drop one, or say which run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.core.errors import MillstreamError
from millstream.runtime.control import reply, requests

if TYPE_CHECKING:
    from millstream.api.engine import Engine


class Control:
    """Answers requests for an engine, between two of its epochs."""

    def __init__(self, engine: Engine) -> None:
        """For this engine, whose host has a checkpoint."""
        self._engine = engine

    def __call__(self) -> None:
        """Answer the requests that wait. One that is refused changes nothing."""
        storage = self._engine.host.storage
        for number, request in requests(storage):
            try:
                with self._engine.between_epochs():
                    answer = {"ok": True, **self._done(request)}
            except MillstreamError as error:
                answer = {"ok": False, "error": str(error)}
            except (KeyError, TypeError) as error:
                answer = {"ok": False, "error": f"the request {request} was not understood: {error}"}
            reply(storage, number, answer)

    def _done(self, request: dict[str, Any]) -> dict[str, Any]:
        engine = self._engine
        match request["do"]:
            case "add":
                query = engine.sql(request["sql"], name=request.get("name"))
                since = query.complete_from
                return {"name": query.name, "complete_from": None if since is None else str(since)}
            case "drop":
                engine.drop(request["name"])
                return {"name": request["name"]}
            case _:
                return {"queries": sorted(engine.host.queries)}
