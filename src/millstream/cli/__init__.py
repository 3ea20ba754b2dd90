"""The command line: `millstream run FILE.sql` and its siblings.

Exit codes: 0 it worked; 1 a run failed; 2 a statement or an option is wrong; 130 stopped by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import os
import sys

from millstream.cli.app import app
from millstream.cli.failure import FAILED, STOPPED, code_of, report


def main() -> None:
    """Run the command that was asked for, and exit with its code. Whatever goes wrong is one readable error."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(STOPPED)
    except BrokenPipeError:  # `millstream run … | head`: nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except Exception as error:  # noqa: BLE001 - a trace is for those who ask for it
        report(error)
        sys.exit(code_of(error))


__all__ = ["app", "main"]
