"""A virtual environment for each peer, since what they need does not go together; and Flink's jar.

What is there already, with the same versions, is kept. What cannot be had is left out, with the reason.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

_PSUTIL = "psutil==7.2.2"
PINS = {
    "flink": ("apache-flink==2.3.0", _PSUTIL),
    "spark": ("pyspark==4.3.0", _PSUTIL),
    "bytewax": ("bytewax==0.21.1", "pyarrow==26.0.1", _PSUTIL),
    "batch": ("duckdb==2.0.0", "polars==2.1.0", _PSUTIL),
}
ENVIRONMENT = {"flink": "flink", "spark": "spark", "bytewax": "bytewax", "duckdb": "batch", "polars": "batch"}
"""Which environment an engine runs in; Millstream's own hosts run in the one that this runs in."""
_JAVA = Path(__file__).parent / "flink" / "src"
_STAMP = "pins.txt"


class Missing(Exception):  # noqa: N818 - it says what is wrong, not that something is
    """An engine cannot be had on this machine; the text says why."""


def python_of(engine: str, root: Path) -> Path:
    """The interpreter that runs an engine's driver."""
    place = ENVIRONMENT.get(engine)
    return Path(sys.executable) if place is None else root / "venvs" / place / "bin" / "python"


def make(place: str, root: Path) -> None:
    """Make an environment, unless it is there with the same versions."""
    folder = root / "venvs" / place
    stamp, pins = folder / _STAMP, "\n".join(PINS[place])
    if stamp.exists() and stamp.read_text() == pins:
        return
    print(f"peers: installing {', '.join(PINS[place])}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(folder)], f"no environment for {place}")
    pip = [str(folder / "bin" / "python"), "-m", "pip", "-qq", "--disable-pip-version-check", "--no-input"]
    _run([*pip, "install", *PINS[place]], f"{PINS[place][0]} does not install")
    stamp.write_text(pins)


def flink_jar(root: Path) -> Path:
    """The source and the sink of bench/peers/flink, compiled against the jars of PyFlink's wheel."""
    sources = sorted(path for path in _JAVA.rglob("*") if path.is_file())
    content = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    jar = root / f"flink-{content}.jar"
    if jar.exists():
        return jar
    compiler = java_compiler()
    libraries = next((root / "venvs" / "flink").glob("lib/python*/site-packages/pyflink/lib"))
    with tempfile.TemporaryDirectory() as place:
        java = [str(path) for path in sources if path.suffix == ".java"]
        command = [compiler, "-nowarn", "-proc:none", "-d", place, "-cp", f"{libraries}/*", *java]
        _run(command, "the source and the sink do not compile")
        shutil.copytree(_JAVA / "META-INF", Path(place, "META-INF"))
        made = jar.with_suffix(".tmp")
        with zipfile.ZipFile(made, "w") as archive:
            for path in sorted(Path(place).rglob("*")):
                archive.write(path, path.relative_to(place))
        made.rename(jar)
    return jar


def java_compiler() -> str:
    """The `javac` of JAVA_HOME, or on the path."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("javac", path=f"{home}/bin") if home else None
    found = found or shutil.which("javac")
    if found is None:
        raise Missing("no javac: install a Java development kit, or set JAVA_HOME to one")
    return found


def _run(command: list[str], failure: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Missing(f"{failure}: {lines[-1] if lines else f'exit status {done.returncode}'}")
