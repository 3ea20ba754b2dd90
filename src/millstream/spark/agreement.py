"""Two checkpoints must agree: Spark's, which knows what was read, and ours, which knows what came of it."""

from __future__ import annotations

from millstream.core.errors import StateError
from millstream.runtime.durable.ledger import Ledger
from millstream.state.storage import Storage

SPARK = "spark"
"""Where Spark keeps its own checkpoint, below ours."""


def check_frames(ledger: Ledger, storage: Storage, names: list[str]) -> None:
    """Spark's part must fit the streams there are and the epoch that our part is at."""
    if ledger.epoch >= 0 and names != ledger.frames:
        was, now = (", ".join(map(repr, some)) or "none" for some in (ledger.frames, names))
        raise StateError(
            f"this checkpoint was made with the streaming data frames {was}, and now there are {now}",
            hint="Keep a query on each of them, or start with an empty checkpoint.",
        )
    offset = f"{SPARK}/offsets/{ledger.epoch}"
    if names and ledger.epoch >= 0 and storage.size(offset) is None:
        raise StateError(
            f"{storage.name(offset)} is missing: Spark no longer knows what epoch {ledger.epoch} had read",
            hint=f"Restore the folder {storage.name(SPARK)}.",
        )


def check_next(ledger: Ledger, storage: Storage, epoch: int) -> None:
    """Epochs follow one another; a gap means that Spark has read rows that no manifest knows of."""
    last = ledger.epoch
    if epoch != last + 1:
        raise StateError(
            f"Spark goes on with epoch {epoch}, but the last manifest is that of epoch {last}",
            hint=f"To fall back to epoch {last}, remove what {storage.name(f'{SPARK}/commits')} has after {last}, what "
            f"{storage.name(f'{SPARK}/offsets')} has after {last + 1}, and the sinks' files after "
            f"part-{ledger.sequence:08d}.",
        )
