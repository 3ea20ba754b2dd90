"""The source says the glossary's words, and not the ones it rules out."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "millstream"

# Word -> folders in which it has its own, proper meaning. The glossary says what to write instead.
BANNED = {
    "accumulator": [],
    "bucket": [],
    "hop": ["sql"],  # a word of the language it reads
    "straggler": [],
    "watermark": ["spark", "sql"],
}


@pytest.mark.parametrize(("word", "allowed"), BANNED.items())
def test_a_banned_word_is_not_in_the_source(word: str, allowed: list[str]) -> None:
    pattern = re.compile(rf"\b{word}s?\b", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] not in allowed
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if pattern.search(line)
    ]

    assert [] == found


@pytest.mark.parametrize("word", BANNED)
def test_a_banned_word_is_in_the_glossary(word: str) -> None:
    assert word in (ROOT / "docs" / "glossary.md").read_text()
