"""Calls that end early: their programs are stopped."""

import contextlib
import os
import signal

import anyio
import httpx2

from clients import PROGRAMS, WAYS, connected, run
from harness import test
from raw import Raw
from world import mark, marked, until

LONG = "--allow", "spawn"


def endless(world):
    """Creates a script that starts a child and a grandchild and never exits; returns a word in their arguments."""
    word = mark()
    world.skill("work", PROGRAMS)
    world.script("work", "child.sh", f"sh scripts/grandchild.sh {word} &\nwhile :; do sleep 1; done\n")
    world.script("work", "grandchild.sh", "trap '' TERM HUP INT\nwhile :; do sleep 1; done\n")
    world.script("work", "endless.sh", f"sh scripts/child.sh {word} & \nwait\n")
    return word


async def within(seconds, condition):
    with anyio.move_on_after(seconds):
        while not condition():
            await anyio.sleep(0.05)
    return condition()


async def begun(group, client, word):
    """Calls the script, and returns a function that cancels the call once the script runs."""
    scope = anyio.CancelScope()

    async def call():
        # Other tests check how the call ends for the client.
        with scope, contextlib.suppress(Exception):
            await client.call_tool("skills_run", run("endless.sh"))

    group.start_soon(call)
    assert await within(10, lambda: len(marked(word)) >= 2), "the script did not start"
    return scope


@test(ways=WAYS)
async def a_cancelled_call_ends_its_programs(world, way):
    word = endless(world)
    async with connected(world, way, *LONG) as client, anyio.create_task_group() as group:
        scope = await begun(group, client, word)
        scope.cancel()
        assert await within(3, lambda: not marked(word)), f"3 s later there is still {marked(word)}"
        assert not (await client.call_tool("skills_ls", {})).is_error, "the connection holds"


@test(ways=WAYS)
async def other_calls_go_on_when_one_is_cancelled(world, way):
    word = endless(world)
    world.script("work", "short.sh", "sleep 2\necho done\n")
    async with connected(world, way, *LONG) as client, anyio.create_task_group() as group:
        scope = await begun(group, client, word)
        said = []

        async def other():
            said.append(await client.call_tool("skills_run", run("short.sh")))

        group.start_soon(other)
        await anyio.sleep(0.5)
        scope.cancel()
        assert await within(6, lambda: bool(said))
        assert said[0].content[0].text == "done", said


@test(ways=WAYS)
async def programs_end_with_the_connection(world, way):
    word = endless(world)
    async with anyio.create_task_group() as group:
        async with connected(world, way, *LONG) as client:
            scope = await begun(group, client, word)
            if way[0] == "http":
                # The library does not disconnect while a call is running.
                scope.cancel()
        assert await within(3, lambda: not marked(word)), f"3 s later there is still {marked(word)}"
        scope.cancel()


@test(ways=[way for way in WAYS if way[0] == "stdio"])
async def programs_end_with_a_client_that_dies(world, way):
    word = endless(world)
    with contextlib.suppress(Exception):
        async with connected(world, way, *LONG) as client, anyio.create_task_group() as group:
            await begun(group, client, word)
            servers = [pid for pid in marked(str(world.skills))]
            for pid in servers:
                os.kill(pid, signal.SIGKILL)
            assert await within(3, lambda: not marked(word)), f"3 s later there is still {marked(word)}"
            group.cancel_scope.cancel()
    assert not marked(word)


@test(ways=[way for way in WAYS if way[0] == "http"])
async def a_server_that_is_told_to_end_ends_its_calls(world, way):
    word = endless(world)
    with contextlib.suppress(Exception):
        async with connected(world, way, *LONG) as client, anyio.create_task_group() as group:
            await begun(group, client, word)
            process = world.servers[0].process
            process.terminate()
            assert await within(15, lambda: process.poll() is not None), "15 s later the server is still there"
            group.cancel_scope.cancel()
    assert process.poll() == 0, process.poll()
    assert not marked(word)


def started(world, word, *more):
    """Calls the script over pipes, and returns once it runs."""
    raw = Raw(world.pipes(*LONG, *more))
    raw.begin()
    raw.request("tools/call", {"name": "skills_run", "arguments": run("endless.sh")}, id=7)
    assert until(lambda: len(marked(word)) >= 2), "the script did not start"
    return raw


@test()
def programs_end_with_the_input(world):
    word = endless(world)
    raw = started(world, word)
    raw.process.stdin.close()
    assert until(lambda: not marked(word), 3), f"3 s later there is still {marked(word)}"
    assert until(lambda: raw.process.poll() == 0, 3)


@test()
def programs_end_when_the_client_stops_reading(world):
    word = endless(world)
    raw = started(world, word)
    raw.process.stdout.close()
    raw.process.stdin.close()
    assert until(lambda: not marked(word), 3), f"3 s later there is still {marked(word)}"
    assert until(lambda: raw.process.poll() == 0, 3)


@test()
def a_server_over_pipes_that_is_told_to_end_answers_first(world):
    word = endless(world)
    raw = started(world, word)
    raw.process.terminate()
    answer = raw.answer(7, 5)
    assert answer["result"]["isError"], answer
    assert until(lambda: raw.process.poll() == 0, 3) and not marked(word)


@test()
async def programs_end_with_their_session(world):
    word = endless(world)
    url = world.http(*LONG).url
    kinds = {"Accept": "application/json, text/event-stream"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    async with httpx2.AsyncClient(headers=kinds, timeout=20) as http, anyio.create_task_group() as group:
        begun = await http.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
        session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
        await http.post(url, headers=session, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        call = {"name": "skills_run", "arguments": run("endless.sh")}
        message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}

        async def post():
            await http.post(url, headers=session, json=message)

        group.start_soon(post)
        assert await within(10, lambda: len(marked(word)) >= 2), "the script did not start"
        ended = await http.delete(url, headers=session)
        assert ended.status_code in (200, 204), f"clients take {ended.status_code} for a failure"
        # Running calls have some seconds to finish.
        assert await within(8, lambda: not marked(word)), f"8 s later there is still {marked(word)}"
        group.cancel_scope.cancel()
