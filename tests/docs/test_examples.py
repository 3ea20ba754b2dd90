"""What is shown is what is printed: by the examples, by the documents, and by the demo."""

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest
from rich.console import Console

from millstream.demo import run_demo

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

# A ```text block right after a ```python block is what that block prints.
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
DOCUMENTS = [
    document
    for document in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    if any(block[2] is not None for block in BLOCK.finditer(document.read_text()))
]


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def expected_of(example: Path) -> list[str]:
    _, mark, comment = example.read_text().partition("\n# expected:\n")

    assert mark, f"{example.name} does not end in `# expected:` and what it prints"
    return [line.removeprefix("#").removeprefix(" ").rstrip() for line in comment.strip("\n").splitlines()]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_it_says(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    with contextlib.redirect_stdout(io.StringIO()) as out:
        runpy.run_path(str(example), run_name="__main__")

    assert expected_of(example) == lines(out.getvalue())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_a_document_shows_what_its_code_prints(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}

    for block in BLOCK.finditer(document.read_text()):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(block[1], document, "exec"), names)
        if block[2] is not None:
            assert lines(block[2]) == lines(out.getvalue())


def test_the_demo_finds_the_batch_answer() -> None:
    out = io.StringIO()

    verdict = run_demo(Console(file=out, width=120), rows=12_000, pace=0)

    assert (True, 30, 10) == (verdict.identical, verdict.late, verdict.rejected), out.getvalue()
    assert f"identical: {verdict.rows:,} rows" in out.getvalue()
