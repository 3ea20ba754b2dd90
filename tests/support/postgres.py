"""A PostgreSQL server of our own, for as long as the tests run: on a socket in a folder, with no network."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def missing(what: str) -> None:
    """Skip, with the reason; where nothing may be missing, fail."""
    if os.environ.get("MILLSTREAM_NOTHING_MISSING"):
        pytest.fail(f"{what}; MILLSTREAM_NOTHING_MISSING is set")
    pytest.skip(what)


@contextmanager
def server() -> Iterator[str]:
    """The address of a server that is stopped at the end."""
    found = shutil.which("initdb") or next(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")), None)
    if found is None:
        missing("PostgreSQL is not installed: no initdb")
    programs = Path(str(found)).resolve().parent
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    as_user: list[str] = []
    if os.getuid() == 0:  # the server refuses to run as root
        nobody = pwd.getpwnam("postgres" if "postgres" in {one.pw_name for one in pwd.getpwall()} else "nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        as_user = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
    try:
        _run([*as_user, str(programs / "initdb"), "-D", f"{folder}/data", "-U", "tester", "-A", "trust", "-N"])
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        control = [*as_user, str(programs / "pg_ctl"), "-D", f"{folder}/data", "-w"]
        _run([*control, "-l", f"{folder}/log", "-o", options, "start"])
        try:
            yield f"host={folder} user=tester dbname=postgres"
        finally:
            _run([*control, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False)
    assert not done.returncode, done.stderr
