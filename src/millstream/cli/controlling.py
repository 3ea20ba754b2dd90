"""`millstream add`, `drop` and `queries`: what a running engine is asked from another process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from millstream.cli.failure import print_json
from millstream.core.errors import RunError
from millstream.runtime.control import ask
from millstream.state.local_storage import LocalStorage
from millstream.state.paths import local_path


def asked(checkpoint: Path, timeout: float, **request: Any) -> dict[str, Any]:
    """The answer of the engine that runs on a checkpoint."""
    folder = local_path(checkpoint, "a checkpoint")
    if not folder.is_dir():
        raise RunError(f"there is no checkpoint {folder}", hint="Give the folder that the engine runs with.")
    answer = ask(LocalStorage(folder), request, timeout)
    if not answer["ok"]:
        fact, _, hint = str(answer["error"]).partition("\nHint: ")
        raise RunError(fact, hint=hint or "The engine goes on as it was.")
    return answer


def show(answer: dict[str, Any], *, as_json: bool) -> None:
    """Tell what was answered."""
    if as_json:
        print_json(answer)
        return
    console = Console(highlight=False, soft_wrap=True)
    for name in answer.get("queries", ()):
        console.print(Text(name))
    if "complete_from" in answer:
        since = answer["complete_from"]
        whole = "from the beginning" if since is None else f"for windows that begin at {since} or later"
        console.print(Text(f"{answer['name']} runs from the next epoch on; its answers are complete {whole}"))
    elif "name" in answer:
        console.print(Text(f"{answer['name']} runs no longer"))
