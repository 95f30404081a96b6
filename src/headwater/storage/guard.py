"""Runs a command for as long as somebody holds the other end of its standard input.

Started by path, with nothing but the standard library: a server must not outlive the process that
started it, however that process ends. Writes the number of the command's process, then waits.

    python guard.py COMMAND [ARGUMENT ...]
"""

import os
import signal
import subprocess
import sys
import threading


def main() -> int:
    """Run the command; end it when standard input ends."""
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=sys.stderr)  # noqa: S603
    sys.stdout.write(f"{child.pid}\n")
    sys.stdout.flush()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a key press ends our caller, and then us
    threading.Thread(target=_end_with_caller, args=(child,), daemon=True).start()
    return abs(child.wait())


def _end_with_caller(child: "subprocess.Popen[bytes]") -> None:
    while os.read(0, 1024):
        pass
    child.terminate()
    try:
        child.wait(timeout=5)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(main())
