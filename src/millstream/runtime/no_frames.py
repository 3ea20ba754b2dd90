"""What a host answers that reads no data frames of Spark."""

from __future__ import annotations

from typing import Any

from millstream.core.errors import SourceError


class NoFrames:
    """A host without Spark."""

    def frame_schema(self, frame: Any) -> Any:
        """This host reads no data frames."""
        raise SourceError(
            f"the local host cannot read a {type(frame).__name__} of Spark",
            hint='Use ms.Engine(spark), or give frame.toArrow() to host="local".',
        )

    def frame_table(self, frame: Any) -> Any:
        """Nor has it rows of one."""
        return self.frame_schema(frame)
