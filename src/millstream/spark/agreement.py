"""Two checkpoints must agree: Spark's, which knows what was read, and ours, which knows what came of it."""

from __future__ import annotations

from pathlib import Path

from millstream.core.errors import StateError
from millstream.runtime.durable.ledger import Ledger


def check_frames(ledger: Ledger, checkpoint: Path, names: list[str]) -> None:
    """Spark's part must fit the streams there are and the epoch that our part is at."""
    if ledger.epoch >= 0 and names != ledger.frames:
        was, now = (", ".join(map(repr, some)) or "none" for some in (ledger.frames, names))
        raise StateError(
            f"this checkpoint was made with the streaming data frames {was}, and now there are {now}",
            hint="Keep a query on each of them, or start with an empty checkpoint.",
        )
    offset = checkpoint / "spark" / "offsets" / str(ledger.epoch)
    if names and ledger.epoch >= 0 and not offset.exists():
        raise StateError(
            f"{offset} is missing: Spark no longer knows what epoch {ledger.epoch} had read",
            hint=f"Restore the folder {checkpoint / 'spark'}.",
        )


def check_next(ledger: Ledger, checkpoint: Path, epoch: int) -> None:
    """Epochs follow one another; a gap means that Spark has read rows that no manifest knows of."""
    last = ledger.epoch
    if epoch != last + 1:
        spark = checkpoint / "spark"
        raise StateError(
            f"Spark goes on with epoch {epoch}, but the last manifest is that of epoch {last}",
            hint=f"To fall back to epoch {last}, remove what {spark / 'commits'} has after {last}, what "
            f"{spark / 'offsets'} has after {last + 1}, and the sinks' files after "
            f"part-{ledger.sequence:08d}.",
        )
