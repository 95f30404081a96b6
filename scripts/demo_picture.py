"""Runs the demo on a terminal of its own and writes what it shows to docs/demo.svg."""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

COLUMNS, LINES = 96, 50
PICTURE = Path("docs/demo.svg")
WEB_FONTS = re.compile(r"@font-face \{\{.*?\}\}\s*", re.DOTALL)


def main() -> int:
    code, shown = run([sys.executable, "-m", "headwater.cli.main", "demo"])
    sys.stdout.write(shown)
    if code == 0:
        PICTURE.write_text(picture(shown), encoding="utf-8")
        print(f"{PICTURE} is written")
    return code


def run(command: list[str]) -> tuple[int, str]:
    """Exit code and output of a command whose standard output is a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    settings = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    process = subprocess.Popen(command, stdout=theirs, env=settings)
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the terminal is gone: the command has ended
            part = b""
        if not part:
            break
        parts.append(part)
    os.close(ours)
    return process.wait(), b"".join(parts).decode().replace("\r\n", "\n")


def picture(shown: str) -> str:
    """The output as a terminal window; it needs no font from the network."""
    console = Console(width=COLUMNS, record=True, file=io.StringIO())
    console.print(Text.from_ansi(f"$ make demo\n{shown.rstrip()}"))
    return console.export_svg(
        title="make demo",
        theme=MONOKAI,
        code_format=WEB_FONTS.sub("", CONSOLE_SVG_FORMAT),
        unique_id="headwater-demo",
    )


if __name__ == "__main__":
    sys.exit(main())
