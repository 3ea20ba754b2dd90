"""Sessions that the engine cannot run on are told so at the start."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import millstream as ms
from millstream.core.errors import PlanError
from millstream.spark import check_session

pytestmark = pytest.mark.spark


def test_what_is_no_session_is_refused(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlanError, match="int is no Spark session"):
        ms.Engine(3)
    with pytest.raises(PlanError, match="DataFrame is no Spark session"):
        ms.Engine(spark.range(1))
    monkeypatch.setattr(type(spark), "version", property(lambda _: "3.5.1"))
    with pytest.raises(PlanError, match=r"runs Spark 3\.5\.1, and the engine needs 4\.3 or newer"):
        ms.Engine(spark)


def test_a_session_of_connect_is_refused() -> None:
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(PlanError, match="a session of Spark Connect"):
        check_session.check_session(remote)


@pytest.mark.parametrize("package", ["millstream", "pyarrow"])
def test_workers_that_cannot_import_the_package_are_told_of_in_a_line(tmp_path: Path, package: str) -> None:
    """In a process of its own: the workers of this session can."""
    program = textwrap.dedent(
        f"""
        import os, sys
        sys.path.insert(0, {str(Path(ms.__file__).parent.parent)!r})
        from pyspark.sql import SparkSession
        # A package of that name which is none stands in for a Python without it.
        spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
                 .config("spark.executorEnv.PYTHONPATH", {str(tmp_path / "fake")!r}).getOrCreate())
        import millstream as ms
        engine = ms.Engine(spark)
        engine.stream("s", [{{"ts": 1}}]).select("ts").named("q")
        try:
            engine.start(ms.available_now()).await_termination()
        except ms.MillstreamError as error:
            print("SAID", error)
        try:
            ms.Engine(spark, checkpoint="ck").stream("s", [{{"ts": 1}}]).select("ts").named("q").engine.drain("q")
        except ms.MillstreamError as error:
            print("DRAINED", error)
        """
    )
    (tmp_path / "fake" / package).mkdir(parents=True)
    (tmp_path / "fake" / package / "__init__.py").write_text("raise ImportError('not the real one')")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False
    )
    said, _, drained = done.stdout.partition("SAID")[2].partition("DRAINED")

    assert "cannot import Millstream: ImportError: not the real one" in said, done.stdout + done.stderr[-2000:]
    assert sys.executable in said
    assert "PYSPARK_PYTHON" in said
    assert len(said) < 800
    assert drained.strip() == said.strip()
    assert "Traceback" not in done.stderr
