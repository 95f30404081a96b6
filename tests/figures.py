"""Figures that tests find worth telling, shown at the end of the run, whichever worker ran them."""

from __future__ import annotations

import pytest

_NAME = "figures"


@pytest.fixture
def report(request: pytest.FixtureRequest) -> list[str]:
    """Lines for the end of the run."""
    lines: list[str] = []
    request.node.user_properties.append((_NAME, lines))
    return lines


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    told = [
        (found.nodeid, lines)
        for reports in terminalreporter.stats.values()
        for found in reports
        if getattr(found, "when", None) == "call"
        for name, lines in found.user_properties
        if name == _NAME and lines
    ]
    for test, lines in told:
        terminalreporter.section(test)
        for line in lines:
            terminalreporter.write_line(line)
