"""The command line: `millstream run FILE.sql` and its siblings.

Exit codes: 0 it worked; 1 a run failed; 2 a statement or an option is wrong; 130 stopped by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import sys

from millstream.cli.app import app
from millstream.cli.failure import FAILED, STOPPED, WRONG, report
from millstream.core.errors import MillstreamError, SqlError


def main() -> None:
    """Run the command that was asked for, and exit with its code."""
    try:
        app()
    except MillstreamError as error:
        report(error)
        sys.exit(WRONG if isinstance(error, SqlError) else FAILED)
    except KeyboardInterrupt:
        sys.exit(STOPPED)


__all__ = ["app", "main"]
