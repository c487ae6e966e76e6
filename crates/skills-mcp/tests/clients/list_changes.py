"""Notifications of list changes."""

import os
import signal

import anyio
from mcp_types import PromptListChangedNotification, ResourceListChangedNotification, ToolListChangedNotification

from clients import connect
from environment import find_processes
from harness import test
from transports import LEGACY, STATELESS

KINDS = {
    ToolListChangedNotification: "tools",
    PromptListChangedNotification: "prompts",
    ResourceListChangedNotification: "resources",
}
ALL_KINDS = {"tools", "prompts", "resources"}


async def request_all_lists(client):
    """Requests every list once, since changes are reported for served lists only."""
    await client.list_tools(cache_mode="refresh")
    await client.list_prompts(cache_mode="refresh")
    await client.list_resources(cache_mode="refresh")


async def within(seconds, condition):
    with anyio.move_on_after(seconds):
        while not condition():
            await anyio.sleep(0.05)
    return condition()


def add_skill(env):
    env.skill("second", "user-invocable: true\n")
    env.script("second", "hello.sh", "echo hello\n")


async def check_notifications(env, client, received):
    await request_all_lists(client)
    await anyio.sleep(1)
    received.clear()
    # The lists are unchanged.
    os.utime(env.skills / "first" / "SKILL.md")
    (env.workspace / "file").write_text("x")
    await anyio.sleep(2)
    assert received == [], received
    add_skill(env)
    assert await within(8, lambda: set(received) == ALL_KINDS), received
    await request_all_lists(client)
    names = [tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools]
    assert "skill__second__hello" in names, names


@test(cases=LEGACY)
async def legacy_clients_are_notified(env, transport):
    env.skill("first")
    received = []

    async def on_message(message):
        if type(message) in KINDS:
            received.append(KINDS[type(message)])

    async with connect(env, transport, message_handler=on_message) as client:
        await check_notifications(env, client, received)


@test(cases=STATELESS)
async def stateless_clients_receive_the_notifications_of_their_subscriptions(env, transport):
    env.skill("first")
    received, tools = [], []

    async with connect(env, transport) as client, anyio.create_task_group() as group:

        async def listen(into, **wanted):
            async with client.listen(**wanted) as events:
                async for event in events:
                    into.append(type(event).__name__.removesuffix("ListChanged").lower())

        everything = {"tools_list_changed": True, "prompts_list_changed": True, "resources_list_changed": True}
        group.start_soon(lambda: listen(received, **everything))
        group.start_soon(lambda: listen(tools, tools_list_changed=True))
        await check_notifications(env, client, received)
        assert set(tools) == {"tools"}, tools
        group.cancel_scope.cancel()


@test(cases=STATELESS)
async def subscriptions_end_gracefully_on_shutdown(env, transport):
    env.skill("first")
    ends = []
    async with connect(env, transport) as client, anyio.create_task_group() as group:

        async def listen():
            try:
                async with client.listen(tools_list_changed=True) as events:
                    ready.set()
                    async for _ in events:
                        pass
                ends.append("graceful")
            except Exception as error:
                ends.append(type(error).__name__)

        ready = anyio.Event()
        group.start_soon(listen)
        await ready.wait()
        for pid in find_processes(str(env.skills)):
            os.kill(pid, signal.SIGTERM)
        await within(8, lambda: bool(ends))
        group.cancel_scope.cancel()
    assert ends == ["graceful"], ends
