"""Finding Java 17 or newer: where JAVA_HOME says, where the system has it, or fetched once."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from millstream.core.errors import PlanError

NEEDED = 17


def ensure_java() -> str | None:
    """Make sure that a Java Spark can use will be found; returns the JAVA_HOME that was set, if one had to be."""
    home = os.environ.get("JAVA_HOME")
    if home and version_of(Path(home) / "bin" / "java") >= NEEDED:
        return None
    system = shutil.which("java")
    if system and version_of(Path(system)) >= NEEDED:
        os.environ.pop("JAVA_HOME", None)  # it names an older one, or none
        return None
    for candidate in (Path(sys.prefix) / "jdk" / "current", Path.home() / ".millstream" / "jdk"):
        if version_of(candidate / "bin" / "java") >= NEEDED:
            os.environ["JAVA_HOME"] = str(candidate)
            return str(candidate)
    return _fetch()


def version_of(java: Path) -> int:
    """The major version of a Java program, 0 if it cannot be run."""
    try:
        shown = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(\d+)(?:\.(\d+))?', shown.stderr + shown.stdout)
    if not found:
        return 0
    major = int(found[1])
    return int(found[2] or 0) if major == 1 else major


def _fetch() -> str:
    try:
        import jdk  # noqa: PLC0415 - only where there is no Java at all

        home = jdk.install(str(NEEDED), path=str(Path.home() / ".millstream"))
    except Exception as error:
        raise PlanError(
            f"Spark needs Java {NEEDED} or newer, none was found, and fetching one failed: {error}",
            hint='Install it, e.g. "apt-get install openjdk-17-jre-headless", or set JAVA_HOME.',
        ) from error
    os.environ["JAVA_HOME"] = home
    return home
