"""Ends a test that hangs, and only that test: its report says where it was.

SYSTEM_SECONDS, which scripts/test sets, bounds each test with its fixtures; without it there is no
limit. `pytest.mark.time_limit(times=4)` is for a test that may take four times as long.

A signal interrupts the test; if its cleaning up hangs too, another does. A test that never comes
back to Python ends with its whole process, whose threads' stacks go to standard error: pytest-xdist
then names the test and goes on with the others in a new process. conftest.py imports the hooks.
"""

import faulthandler
import os
import signal
import time

import pytest

LIMIT_S = float(os.environ.get("SYSTEM_SECONDS") or 0)
GRACE_S = min(60.0, LIMIT_S)

__all__ = [
    "pytest_configure",
    "pytest_runtest_call",
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
]


class Clock:
    """Of the test at hand. Outside of its phases an exception would end pytest itself."""

    inside = False
    began_s = 0.0
    stderr = 2


def interrupt(_signal, _frame):
    if Clock.inside:
        pytest.fail(f"still running after {time.monotonic() - Clock.began_s:.0f} s")


def pytest_configure(config):
    Clock.stderr = os.dup(2)  # pytest does not capture yet
    config.addinivalue_line("markers", "time_limit(times): so many times the usual limit")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    if not LIMIT_S:
        return (yield)
    marker = item.get_closest_marker("time_limit")
    limit_s = LIMIT_S * (marker.kwargs["times"] if marker else 1)
    before = signal.signal(signal.SIGALRM, interrupt)
    Clock.began_s = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, limit_s, GRACE_S)
    faulthandler.dump_traceback_later(limit_s + 3 * GRACE_S, exit=True, file=Clock.stderr)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def phase():
    Clock.inside = True
    try:
        return (yield)
    finally:
        Clock.inside = False


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup():
    return (yield from phase())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call():
    return (yield from phase())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown():
    return (yield from phase())
