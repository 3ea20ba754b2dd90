"""A program ends as programs do, whatever a run was doing."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.slow

ENDS = {
    "after a query with an expression": """
        engine = ms.Engine(host="local")
        positive = engine.stream("s", [{"v": 1}, {"v": -1}]).where("v > 0").named("q")
        engine.start().await_termination()
        print(positive.table().num_rows)
    """,
    "while a run is under way": """
        rows = [{"ts": t, "k": str(t % 7)} for t in range(100)]
        engine = ms.Engine(host="local")
        busy = engine.stream("s", lambda: rows).where("k <> 'x'").window("ts", range=50).group_by("k")
        busy.agg(n=ms.median("ts")).named("q")
        run = engine.start(ms.every("1 ms"), allow_unbounded=True)
        while not run.progress:
            pass
        print(1)
    """,
}


@pytest.mark.parametrize("end", ENDS)
def test_a_program_ends_without_a_word(end: str) -> None:
    """DuckDB aborts a process that ends while a thread is inside it, or destroys its connection."""
    text = "import millstream as ms\n" + textwrap.dedent(ENDS[end])
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "1\n", "")
