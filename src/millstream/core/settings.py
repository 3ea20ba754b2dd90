"""Settings that expressions are computed under: they are an engine's, and go with each expression wherever it runs."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from millstream.core.errors import PlanError


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Spark's ANSI mode, and the time zone that days and hours are read in.

    >>> str(Settings(ansi=False, zone="Europe/Berlin"))
    'ansi off, Europe/Berlin'
    """

    ansi: bool = True
    zone: str = "UTC"

    def __post_init__(self) -> None:
        """Refuse a zone that nobody knows."""
        if self.ansi not in (True, False):
            raise PlanError(f"ansi={self.ansi!r} is neither True nor False", hint="Write ansi=True or ansi=False.")
        try:
            ZoneInfo(self.zone)
        except (KeyError, ValueError, OSError, TypeError, AttributeError):
            raise PlanError(
                f"there is no time zone {self.zone!r}", hint='Give a name such as "UTC" or "Europe/Berlin".'
            ) from None

    def __str__(self) -> str:
        """As a plan shows it."""
        return f"ansi {'on' if self.ansi else 'off'}, {self.zone}"


PLAIN = Settings()
"""What holds where nothing was said."""
