"""Notifications of list changes."""

import os
import signal

import anyio
from mcp_types import PromptListChangedNotification, ResourceListChangedNotification, ToolListChangedNotification

from clients import connected
from harness import test
from world import marked

KINDS = {
    ToolListChangedNotification: "tools",
    PromptListChangedNotification: "prompts",
    ResourceListChangedNotification: "resources",
}
ALL = {"tools", "prompts", "resources"}


async def told(client):
    """Requests every list once, since changes are reported for served lists only."""
    await client.list_tools(cache_mode="refresh")
    await client.list_prompts(cache_mode="refresh")
    await client.list_resources(cache_mode="refresh")


async def within(seconds, condition):
    with anyio.move_on_after(seconds):
        while not condition():
            await anyio.sleep(0.05)
    return condition()


def add(world):
    world.skill("second", "user-invocable: true\n")
    world.script("second", "hello.sh", "echo hello\n")


async def heard_of_changes(world, client, heard):
    await told(client)
    await anyio.sleep(1)
    heard.clear()
    # The lists are unchanged.
    os.utime(world.skills / "first" / "SKILL.md")
    (world.workspace / "file").write_text("x")
    await anyio.sleep(2)
    assert heard == [], heard
    add(world)
    assert await within(8, lambda: set(heard) == ALL), heard
    await told(client)
    names = [tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools]
    assert "skill__second__hello" in names, names


@test(ways=[("stdio", "legacy"), ("http", "legacy")])
async def older_clients_are_notified(world, way):
    world.skill("first")
    heard = []

    async def hear(message):
        if type(message) in KINDS:
            heard.append(KINDS[type(message)])

    async with connected(world, way, message_handler=hear) as client:
        await heard_of_changes(world, client, heard)


@test(ways=[("stdio", "modern"), ("http", "modern")])
async def newer_clients_hear_what_they_listen_to(world, way):
    world.skill("first")
    heard, tools = [], []

    async with connected(world, way) as client, anyio.create_task_group() as group:

        async def listen(into, **wanted):
            async with client.listen(**wanted) as events:
                async for event in events:
                    into.append(type(event).__name__.removesuffix("ListChanged").lower())

        everything = {"tools_list_changed": True, "prompts_list_changed": True, "resources_list_changed": True}
        group.start_soon(lambda: listen(heard, **everything))
        group.start_soon(lambda: listen(tools, tools_list_changed=True))
        await heard_of_changes(world, client, heard)
        assert set(tools) == {"tools"}, tools
        group.cancel_scope.cancel()


@test(ways=[("stdio", "modern"), ("http", "modern")])
async def a_subscription_ends_as_the_protocol_says_when_the_server_ends(world, way):
    world.skill("first")
    ends = []
    async with connected(world, way) as client, anyio.create_task_group() as group:

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
        for pid in marked(str(world.skills)):
            os.kill(pid, signal.SIGTERM)
        await within(8, lambda: bool(ends))
        group.cancel_scope.cancel()
    assert ends == ["graceful"], ends
