"""Writes the lists in docs/functions.md from the functions that are registered: `python tools/functions_page.py`."""

from __future__ import annotations

import re
from pathlib import Path

from millstream.kernels.expressions import bind as _all  # noqa: F401 - registers them
from millstream.kernels.expressions.function_registry import ALIASES, FUNCTIONS

PAGE = Path(__file__).parent.parent / "docs" / "functions.md"


def lists() -> str:
    """A line for each family, its functions in order, with their other names."""
    families: dict[str, list[str]] = {}
    for one in sorted(FUNCTIONS.values(), key=lambda one: one.name):
        if one.syntax:
            continue
        others = sorted(alias for alias, name in ALIASES.items() if name == one.name)
        shown = f"`{one.name}`" + (f" ({', '.join(f'`{alias}`' for alias in others)})" if others else "")
        families.setdefault(one.family, []).append(shown)
    return "\n".join(f"- **{family}**: {', '.join(families[family])}" for family in sorted(families))


def written(page: str) -> str:
    """The page with its lists as they should be."""
    return re.sub(
        r"(<!-- functions -->\n).*?(\n<!-- end -->)", lambda found: found[1] + lists() + found[2], page, flags=re.S
    )


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
