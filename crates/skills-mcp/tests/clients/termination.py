"""Calls that end early: their programs are stopped."""

import contextlib
import os
import signal

import anyio
import httpx2

from clients import PROGRAMS, connect, run
from environment import find_processes, new_marker, wait_until
from harness import test
from raw_client import RawClient
from transports import HTTP, STDIO, TRANSPORTS

ALLOW_SPAWN = "--allow", "spawn"


def create_endless_script(env):
    """Creates a script that starts a child and a grandchild and never exits; returns the marker in their arguments."""
    marker = new_marker()
    env.skill("work", PROGRAMS)
    env.script("work", "child.sh", f"sh scripts/grandchild.sh {marker} &\nwhile :; do sleep 1; done\n")
    env.script("work", "grandchild.sh", "trap '' TERM HUP INT\nwhile :; do sleep 1; done\n")
    env.script("work", "endless.sh", f"sh scripts/child.sh {marker} & \nwait\n")
    return marker


async def within(seconds, condition):
    with anyio.move_on_after(seconds):
        while not condition():
            await anyio.sleep(0.05)
    return condition()


async def start_call(group, client, marker):
    """Calls the script, waits until the script runs, and returns the scope that cancels the call."""
    scope = anyio.CancelScope()

    async def call():
        # Other tests check how the call ends for the client.
        with scope, contextlib.suppress(Exception):
            await client.call_tool("skills_run", run("endless.sh"))

    group.start_soon(call)
    assert await within(10, lambda: len(find_processes(marker)) >= 2), "the script did not start"
    return scope


@test(cases=TRANSPORTS)
async def cancelling_a_call_stops_its_programs(env, transport):
    marker = create_endless_script(env)
    async with connect(env, transport, *ALLOW_SPAWN) as client, anyio.create_task_group() as group:
        scope = await start_call(group, client, marker)
        scope.cancel()
        assert await within(3, lambda: not find_processes(marker)), f"still running after 3 s: {find_processes(marker)}"
        assert not (await client.call_tool("skills_ls", {})).is_error, "the connection stays open"


@test(cases=TRANSPORTS)
async def cancelling_a_call_does_not_affect_other_calls(env, transport):
    marker = create_endless_script(env)
    env.script("work", "short.sh", "sleep 2\necho done\n")
    async with connect(env, transport, *ALLOW_SPAWN) as client, anyio.create_task_group() as group:
        scope = await start_call(group, client, marker)
        results = []

        async def other():
            results.append(await client.call_tool("skills_run", run("short.sh")))

        group.start_soon(other)
        await anyio.sleep(0.5)
        scope.cancel()
        assert await within(6, lambda: bool(results))
        assert results[0].content[0].text == "Program output:\ndone", results


@test(cases=TRANSPORTS)
async def programs_stop_when_the_connection_closes(env, transport):
    marker = create_endless_script(env)
    async with anyio.create_task_group() as group:
        async with connect(env, transport, *ALLOW_SPAWN) as client:
            scope = await start_call(group, client, marker)
            if transport.kind == "http":
                # The library does not disconnect while a call is running.
                scope.cancel()
        assert await within(3, lambda: not find_processes(marker)), f"still running after 3 s: {find_processes(marker)}"
        scope.cancel()


@test(cases=STDIO)
async def programs_stop_when_the_server_is_killed(env, transport):
    marker = create_endless_script(env)
    with contextlib.suppress(Exception):
        async with connect(env, transport, *ALLOW_SPAWN) as client, anyio.create_task_group() as group:
            await start_call(group, client, marker)
            servers = [pid for pid in find_processes(str(env.skills))]
            for pid in servers:
                os.kill(pid, signal.SIGKILL)
            assert await within(3, lambda: not find_processes(marker)), f"still running after 3 s: {find_processes(marker)}"
            group.cancel_scope.cancel()
    assert not find_processes(marker)


@test(cases=HTTP)
async def a_terminated_http_server_cancels_its_calls(env, transport):
    marker = create_endless_script(env)
    with contextlib.suppress(Exception):
        async with connect(env, transport, *ALLOW_SPAWN) as client, anyio.create_task_group() as group:
            await start_call(group, client, marker)
            process = env.servers[0].process
            process.terminate()
            assert await within(15, lambda: process.poll() is not None), "the server is still running after 15 s"
            group.cancel_scope.cancel()
    assert process.poll() == 0, process.poll()
    assert not find_processes(marker)


def start_raw_call(env, marker, *more):
    """Calls the script over pipes, and returns once it runs."""
    raw = RawClient(env.start_stdio(*ALLOW_SPAWN, *more))
    raw.initialize()
    raw.request("tools/call", {"name": "skills_run", "arguments": run("endless.sh")}, id=7)
    assert wait_until(lambda: len(find_processes(marker)) >= 2), "the script did not start"
    return raw


@test()
def programs_stop_at_the_end_of_input(env):
    marker = create_endless_script(env)
    raw = start_raw_call(env, marker)
    raw.process.stdin.close()
    assert wait_until(lambda: not find_processes(marker), 3), f"still running after 3 s: {find_processes(marker)}"
    assert wait_until(lambda: raw.process.poll() == 0, 3)


@test()
def programs_stop_when_the_client_closes_its_pipes(env):
    marker = create_endless_script(env)
    raw = start_raw_call(env, marker)
    raw.process.stdout.close()
    raw.process.stdin.close()
    assert wait_until(lambda: not find_processes(marker), 3), f"still running after 3 s: {find_processes(marker)}"
    assert wait_until(lambda: raw.process.poll() == 0, 3)


@test()
def a_terminated_stdio_server_responds_before_it_exits(env):
    marker = create_endless_script(env)
    raw = start_raw_call(env, marker)
    raw.process.terminate()
    response = raw.response(7, 5)
    assert response["result"]["isError"], response
    assert wait_until(lambda: raw.process.poll() == 0, 3) and not find_processes(marker)


@test()
async def programs_stop_when_their_session_is_deleted(env):
    marker = create_endless_script(env)
    url = env.start_http(*ALLOW_SPAWN).url
    headers = {"Accept": "application/json, text/event-stream"}
    parameters = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    async with httpx2.AsyncClient(headers=headers, timeout=20) as http, anyio.create_task_group() as group:
        response = await http.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters})
        session = {"Mcp-Session-Id": response.headers["mcp-session-id"]}
        await http.post(url, headers=session, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        call = {"name": "skills_run", "arguments": run("endless.sh")}
        message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}

        async def post():
            await http.post(url, headers=session, json=message)

        group.start_soon(post)
        assert await within(10, lambda: len(find_processes(marker)) >= 2), "the script did not start"
        response = await http.delete(url, headers=session)
        assert response.status_code in (200, 204), f"clients treat {response.status_code} as a failure"
        # Running calls have some seconds to finish.
        assert await within(8, lambda: not find_processes(marker)), f"still running after 8 s: {find_processes(marker)}"
        group.cancel_scope.cancel()
