"""The commands: what they are called, what they take, what their help teaches."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from millstream.api.sql.script import Script
from millstream.api.triggers import every as every_interval
from millstream.cli import bench as benches
from millstream.cli import checking, controlling, running
from millstream.cli.failure import FAILED, code_of, print_json, report, show_traces
from millstream.cli.versions import versions
from millstream.core.errors import MillstreamError
from millstream.demo import ROWS, run_demo
from millstream.speed_map import run_speed_map

app = typer.Typer(
    name="millstream",
    help="Continuous window queries over streams that arrive out of order.",
    epilog="Start with: millstream demo. Then write a file of SQL and run it: millstream run FILE.sql.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_EXAMPLE = """
A FILE.sql is self-contained:

\b
    CREATE STREAM bids FROM parquet 'in/bids' PROGRESS ON ts WITHIN 5 seconds;
    INSERT INTO parquet 'out/top'
    SELECT auction, max(price) AS top, count(*) AS n
    FROM bids [RANGE 60 seconds, SLIDE 1 second, WATTR ts]
    GROUP BY auction;
"""


def _interval(value: str | None) -> str | None:
    """Refuse a duration that is none before anything starts."""
    try:
        if value is not None:
            every_interval(value)
    except MillstreamError as error:
        raise typer.BadParameter(str(error)) from None
    return value


class Demo(StrEnum):
    """The demos there are."""

    auction = "auction"
    speed_map = "speed-map"


class HostName(StrEnum):
    """Where queries run."""

    local = "local"
    spark = "spark"


File = Annotated[Path, typer.Argument(help="A file of SQL statements; - is standard input.", metavar="FILE.sql")]
Json = Annotated[bool, typer.Option("--json", help="Write JSON, one object per line, for machines.")]
Host = Annotated[HostName, typer.Option(help="Where queries run: in this process (local) or on Spark.")]


@app.callback()
def every_command(
    *,
    debug: Annotated[bool, typer.Option("--debug", "-v", help="Show the stack trace of an error.")] = False,
) -> None:
    """Take the options that come before a command."""
    show_traces(show=debug)


@app.command()
def demo(
    name: Annotated[Demo, typer.Argument(help="Which demo.")] = Demo.auction,
    rows: Annotated[int, typer.Option(min=100, help="How many bids.")] = ROWS,
    pace: Annotated[float, typer.Option(min=0, help="Seconds between epochs.")] = 0.05,
) -> None:
    """Show a query at work, then check it: bids in sliding windows out of order, or a map whose viewport moves."""
    if name is Demo.speed_map:
        raise typer.Exit(0 if run_speed_map(Console(), pace=pace).exact else FAILED)
    verdict = run_demo(Console(), rows=rows, pace=pace)
    raise typer.Exit(0 if verdict.identical else FAILED)


@app.command(
    epilog="Example: millstream run top.sql --every '1 second'", help=f"Run the queries of a file.\n{_EXAMPLE}"
)
def run(
    file: File,
    *,
    every: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help="Run one epoch per DURATION until Ctrl-C, such as '1 second'.", callback=_interval
        ),
    ] = None,
    keep_open: Annotated[
        bool,
        typer.Option(
            "--keep-open",
            help="Keep windows open at the end of the input. This is the default with --checkpoint.",
        ),
    ] = False,
    end: Annotated[
        bool,
        typer.Option(
            "--end", help="End the streams at the end of the input, also with --checkpoint. No later run can continue."
        ),
    ] = False,
    allow_unbounded: Annotated[
        bool, typer.Option("--allow-unbounded", help="Also run queries with unbounded state.")
    ] = False,
    limit: Annotated[int, typer.Option(min=0, help="Rows to print per epoch.")] = 20,
    host: Host = HostName.local,
    checkpoint: Annotated[Path | None, typer.Option(help="The folder for state; a restart continues from it.")] = None,
    as_json: Json = False,
) -> None:
    """Run the queries of a file."""
    if end and (keep_open or every is not None):
        raise typer.BadParameter(f"--end and {'--keep-open' if keep_open else '--every'} do not go together")
    # What has a checkpoint goes on: with tomorrow's files, which would all be late after the end of the streams.
    ends = end or (every is None and not keep_open and checkpoint is None)
    asked = running.Asked(every=every, ends=ends, allow_unbounded=allow_unbounded, limit=limit, as_json=as_json)
    with _told(as_json=as_json):
        engine = running.engine_on(host.value, checkpoint)
        raise typer.Exit(running.run(_script(file), engine, asked))


@app.command(epilog="Example: millstream drain top.sql top --checkpoint ck")
def drain(
    file: File,
    name: Annotated[str, typer.Argument(help="The query: the last part of its folder, as run and check show it.")],
    *,
    checkpoint: Annotated[Path, typer.Option(help="The folder for state that the query has run with.")],
    limit: Annotated[int, typer.Option(min=0, help="Rows to print per epoch.")] = 20,
    host: Host = HostName.local,
    as_json: Json = False,
) -> None:
    """Emit everything that a query still holds, and remove it from the checkpoint. Then change the query.

    FILE.sql has the query as it ran. The other queries keep their state.
    """
    asked = running.Asked(every=None, ends=False, allow_unbounded=True, limit=limit, as_json=as_json)
    with _told(as_json=as_json):
        running.drain(_script(file), running.engine_on(host.value, checkpoint), name, asked)


Running = Annotated[Path, typer.Argument(help="The checkpoint of a running engine.", metavar="CHECKPOINT")]
Patience = Annotated[float, typer.Option(min=0.1, help="Seconds to wait for the engine: it answers between epochs.")]


@app.command(epilog='Example: millstream add ck "SELECT k, count(*) AS n FROM s [RANGE 60, WATTR ts] GROUP BY k" -n q')
def add(
    checkpoint: Running,
    sql: Annotated[str, typer.Argument(help="A SELECT or INSERT statement over streams that the engine reads.")],
    *,
    name: Annotated[str | None, typer.Option("--name", "-n", help="The name of the query.")] = None,
    timeout: Patience = 60.0,
    as_json: Json = False,
) -> None:
    """Add a query to an engine that is running, from its next epoch on."""
    with _told(as_json=as_json):
        controlling.show(controlling.asked(checkpoint, timeout, do="add", sql=sql, name=name), as_json=as_json)


@app.command(epilog="Example: millstream drop ck top")
def drop(
    checkpoint: Running,
    name: Annotated[str, typer.Argument(help="The name of the query.")],
    *,
    timeout: Patience = 60.0,
    as_json: Json = False,
) -> None:
    """Remove a query from an engine that is running. What it still holds is dropped."""
    with _told(as_json=as_json):
        controlling.show(controlling.asked(checkpoint, timeout, do="drop", name=name), as_json=as_json)


@app.command(epilog="Example: millstream queries ck")
def queries(checkpoint: Running, *, timeout: Patience = 60.0, as_json: Json = False) -> None:
    """List the queries of an engine that is running."""
    with _told(as_json=as_json):
        controlling.show(controlling.asked(checkpoint, timeout, do="list"), as_json=as_json)


@app.command()
def explain(file: File, *, host: Host = HostName.local, as_json: Json = False) -> None:
    """Show how the queries of a file would be computed, without running them."""
    with _told(as_json=as_json):
        plans = checking.explain(_script(file), running.engine_on(host.value, None))
        if as_json:
            print_json({"ok": True, "queries": plans})
        else:
            Console(soft_wrap=True).print(Text("\n\n".join(plans.values())))


@app.command()
def check(
    file: File,
    *,
    ends: Annotated[
        bool, typer.Option("--ends", help="Assume that the streams end with the input, as run does.")
    ] = False,
    host: Host = HostName.local,
    as_json: Json = False,
) -> None:
    """Check every statement of a file: do its names and types exist, and is the state of its queries bounded?

    For each operator, show what it keeps, which punctuation releases it, and how long that takes.

    The check assumes that streams never end.
    """
    with _told(as_json=as_json):
        engine = running.engine_on(host.value, None)
        raise typer.Exit(checking.check(_script(file), engine, ends=ends, as_json=as_json))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def bench(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Which benchmark; without a name, list all.")] = None,
) -> None:
    """Run a benchmark of the source tree. All arguments after the name are passed to it."""
    raise typer.Exit(benches.run(name, context.args))


@app.command()
def version(*, as_json: Json = False) -> None:
    """Show the versions of Millstream and of its packages."""
    found = versions()
    if as_json:
        print_json(found)
    else:
        Console(highlight=False).print("\n".join(f"{name} {number}" for name, number in found.items()))


@contextmanager
def _told(*, as_json: bool) -> Iterator[None]:
    """Errors in here are told to the user, and become the exit code: 2 for a wrong statement, 1 for a failed run."""
    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
        raise
    except Exception as error:  # noqa: BLE001 - a trace is for those who ask for it
        report(error, as_json=as_json)
        raise typer.Exit(code_of(error)) from None


def _script(file: Path) -> Script:
    if str(file) == "-":
        return Script(sys.stdin.read())
    try:
        return Script.load(file)
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error.strerror).lower()
        raise typer.BadParameter(f"{file} cannot be read: {reason}") from None
