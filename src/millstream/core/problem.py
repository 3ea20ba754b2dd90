"""A problem with a text: what is wrong, where, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

_WIDTH = 100
_LONGEST = 240  # of a fact, which may quote the text


@dataclass(frozen=True, slots=True)
class Problem:
    r"""A fact about `text[start:end]`; the place is shown underlined.

    >>> print(Problem("this is no number", "LIMIT\n  many;", 8, 12))
    line 2, column 3: this is no number
      2 |   many;
        |   ^^^^
    """

    fact: str
    text: str
    start: int
    end: int
    hint: str | None = None
    not_yet: bool = False
    """Nothing is wrong with the text; we cannot do it yet."""

    @property
    def line(self) -> int:
        """The line, counted from 1."""
        return self.text.count("\n", 0, self._place) + 1

    @property
    def column(self) -> int:
        """The column in that line, counted from 1."""
        return self._place - self._line_start + 1

    @property
    def _place(self) -> int:
        return min(self.start, len(self.text))

    @property
    def _line_start(self) -> int:
        return self.text.rfind("\n", 0, self._place) + 1

    def __str__(self) -> str:
        """The fact, the line with the culprit underlined, the hint."""
        return self.shown()

    def shown(self, times: int = 1, *, longest: int | None = _LONGEST) -> str:
        """The same, for a problem that is there so many times; a fact is cut where it is too long."""
        shown, at = self._shown()
        width = max(1, min(self.end, len(self.text)) - self._place)
        width = min(width, max(1, len(shown) - at))
        number = str(self.line)
        fact = _clean(self.fact)
        fact = fact if longest is None or len(fact) <= longest else fact[:longest] + "…"
        more = f" (and {times - 1:,} more times)" if times > 1 else ""
        lines = [
            f"line {number}, column {self.column}: {fact}{more}",
            f"  {number} | {shown}".rstrip(),
            f"  {' ' * len(number)} | {' ' * at}{'^' * width}",
        ]
        return "\n".join(lines if self.hint is None else [*lines, f"Hint: {_clean(self.hint)}"])

    def _shown(self) -> tuple[str, int]:
        """The line, cut to what fits on a screen, and where the culprit begins in it."""
        begin = self._line_start
        end = self.text.find("\n", begin)
        line = _clean(self.text[begin : len(self.text) if end < 0 else end])
        at = self._place - begin
        low = 0 if len(line) <= _WIDTH else max(0, min(at - _WIDTH // 3, len(line) - _WIDTH))
        shown = line[low : low + _WIDTH]
        if low:
            shown = "…" + shown[1:]
        if low + _WIDTH < len(line):
            shown = shown[:-1] + "…"
        return shown, at - low


def _clean(text: str) -> str:
    """A text without what a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in text)
