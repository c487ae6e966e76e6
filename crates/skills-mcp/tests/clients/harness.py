"""Runs tests, each in its own environment and with a timeout, and prints a line for each."""

import functools
import inspect
import signal
import sys
import time
import traceback

import anyio

from world import World

TESTS = []


def test(seconds=30, ways=None):
    """Registers a test. With `ways`, it runs once for each of them, as its second argument."""

    def mark(function):
        for way in ways or [None]:
            TESTS.append((function, way, seconds))
        return function

    return mark


def name(function, way):
    return function.__name__ + (f" [{' '.join(way)}]" if way else "")


def once(function, way, seconds):
    with World() as world:
        call = functools.partial(function, world, *([way] if way else []))
        if not inspect.iscoroutinefunction(function):
            return call()

        async def bounded():
            with anyio.fail_after(seconds):
                await call()

        anyio.run(bounded)


def too_late(*_):
    raise TimeoutError("the deadline of the test is over")


def run(wanted):
    """Runs the tests whose names contain one of the words (all without words); returns whether all passed."""
    signal.signal(signal.SIGALRM, too_late)
    failed = []
    for function, way, seconds in TESTS:
        title = name(function, way)
        if wanted and not any(word in title for word in wanted):
            continue
        begun = time.monotonic()
        # Later than the timeout after which a test can clean up.
        signal.alarm(seconds + 15)
        try:
            once(function, way, seconds)
            verdict = "ok"
        except Exception:
            verdict = "FAILED"
            failed.append(title)
            traceback.print_exc()
        signal.alarm(0)
        print(f"{verdict} {title}, {time.monotonic() - begun:.1f} s", flush=True)
    for title in failed:
        print(f"failed: {title}", file=sys.stderr)
    return not failed
