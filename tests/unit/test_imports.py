"""The import contracts hold, and each of them can fail: a planted violation is caught."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the package and its contracts, to do harm to."""
    shutil.copytree(
        ROOT / "src" / "millstream",
        tmp_path / "src" / "millstream",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint_imports(project: Path) -> tuple[int, str]:
    run = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(project / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return run.returncode, run.stdout + run.stderr


def test_the_package_keeps_its_contracts(project: Path) -> None:
    code, report = lint_imports(project)

    assert code == 0, report


@pytest.mark.parametrize(
    ("layer", "planted", "contract"),
    [
        ("core", "import millstream.api", "imports point down, siblings never meet"),
        ("ops", "import millstream.plan", "imports point down, siblings never meet"),
        ("kernels", "import millstream.state", "kernels know arrays, not segments"),
        ("plan", "import millstream.kernels", "a plan says what, not how"),
        ("workload", "import millstream.state", "generators know only the meaning"),
        ("runtime", "from pyspark.sql import DataFrame", "only millstream.spark imports pyspark"),
        ("plan", "import sqlglot", "only millstream.sql imports sqlglot"),
        ("core", "import pyarrow.compute", "core needs the standard library only"),
    ],
)
def test_a_planted_violation_is_caught(project: Path, layer: str, planted: str, contract: str) -> None:
    (project / "src" / "millstream" / layer / "planted.py").write_text(planted + "\n")

    code, report = lint_imports(project)

    assert code == 1, report
    assert f"{contract} BROKEN" in report
    assert f"millstream.{layer}.planted" in report


def test_a_module_outside_the_layers_is_caught(project: Path) -> None:
    (project / "src" / "millstream" / "planted.py").write_text("")

    code, report = lint_imports(project)

    assert code == 1, report
    assert "planted" in report
