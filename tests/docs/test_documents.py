"""The documents are true: the Python they show runs, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").glob("*.md")])

# ```python runs here, ```python spark in tests/spark/test_documents.py; there are no others.
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
NAMED = re.compile(r"[\[`]((?:\.?[\w-]+/)+(?:[\w.-]+\.\w+)?)[\]`]")


def relative(document: Path) -> str:
    return str(document.relative_to(ROOT))


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative)
def test_links_lead_somewhere(document: Path) -> None:
    targets = [link[1] for link in LINK.finditer(document.read_text()) if "://" not in link[1]]

    assert [] == [target for target in targets if not (document.parent / target).exists()]


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_path_that_is_named_exists(name: str) -> None:
    named = {found[1] for found in NAMED.finditer((ROOT / name).read_text())}

    roots = (ROOT, ROOT / "src" / "millstream")
    assert len(named) > 3
    assert [] == [path for path in sorted(named) if not any((root / path).exists() for root in roots)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative)
def test_every_python_block_runs_somewhere(document: Path) -> None:
    assert {"python", "python spark"} >= set(re.findall(r"^```(python.*)$", document.read_text(), re.MULTILINE))


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if BLOCK.search(d.read_text())], ids=relative)
def test_python_blocks_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = document.read_text()
    names: dict[str, object] = {"__name__": "__main__"}

    # One document is one program: a later block may use the names of an earlier one.
    for block in BLOCK.finditer(text):
        lines_before = text.count("\n", 0, block.start(1))
        exec(compile("\n" * lines_before + block[1], document, "exec"), names)
