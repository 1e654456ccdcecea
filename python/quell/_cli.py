"""The command ``quell``: the same program as the one that cargo builds."""

import signal
import sys

from quell import _quell


def main() -> int:
    """Run the command line.

    Returns
    -------
    int
        The exit code.
    """
    # Python's handler would only set a flag that nothing reads while Rust runs.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _quell.cli(["quell", *sys.argv[1:]])
