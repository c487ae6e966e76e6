"""Runs tests, each in its own environment and with a timeout, and prints a line for each."""

import functools
import inspect
import signal
import sys
import time
import traceback

import anyio

from environment import Environment

TESTS = []


def test(seconds=30, cases=None):
    """Registers a test. With `cases`, it runs once for each of them, passed as the second argument."""

    def register(function):
        for case in cases or [None]:
            TESTS.append((function, case, seconds))
        return function

    return register


def name(function, case):
    return function.__name__ + (f" [{case}]" if case else "")


def run_case(function, case, seconds):
    with Environment() as env:
        call = functools.partial(function, env, *([case] if case else []))
        if not inspect.iscoroutinefunction(function):
            return call()

        async def bounded():
            with anyio.fail_after(seconds):
                await call()

        anyio.run(bounded)


def on_alarm(*_):
    raise TimeoutError("the test timed out")


def run(wanted):
    """Runs the tests whose names contain one of the words (all without words); returns whether all passed."""
    signal.signal(signal.SIGALRM, on_alarm)
    failed = []
    for function, case, seconds in TESTS:
        title = name(function, case)
        if wanted and not any(word in title for word in wanted):
            continue
        started = time.monotonic()
        # Later than the timeout after which a test can clean up.
        signal.alarm(seconds + 15)
        try:
            run_case(function, case, seconds)
            result = "ok"
        except Exception:
            result = "FAILED"
            failed.append(title)
            traceback.print_exc()
        signal.alarm(0)
        print(f"{result} {title}, {time.monotonic() - started:.1f} s", flush=True)
    for title in failed:
        print(f"failed: {title}", file=sys.stderr)
    return not failed
