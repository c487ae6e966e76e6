"""The client of FastMCP, and its Skills extension."""

import contextlib
import hashlib

import anyio
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from fastmcp.skills.client import SkillsClientExtension
from mcp_types import ElicitResult

from harness import test
from world import COMMAND, mark, marked

WAYS = [("stdio", "modern"), ("stdio", "legacy"), ("http", "modern"), ("http", "legacy")]
MODERN = [way for way in WAYS if way[1] == "modern"]
PROGRAMS = "allowed-tools: Bash(sh:*) Bash(sleep:*)\n"


@contextlib.asynccontextmanager
async def connected(world, way, *more, **options):
    transport, lifecycle = way
    if transport == "http":
        target = world.http(*more).url
    else:
        target = StdioTransport(
            COMMAND, world.arguments(*more), env=world.environment(), cwd=str(world.directory), keep_alive=False
        )
    async with Client(target, mode={"modern": "auto", "legacy": "legacy"}[lifecycle], **options) as client:
        yield client


def run(script):
    return {"name": "work", "command": f"sh scripts/{script}"}


@test(ways=WAYS)
async def tools_are_listed_and_called(world, way):
    world.skill("work", PROGRAMS)
    world.script("work", "hello.sh", "echo hello\n")
    async with connected(world, way, "--allow", "spawn") as client:
        assert "skill__work__hello" in [tool.name for tool in await client.list_tools()]
        result = await client.call_tool("skills_run", run("hello.sh"))
        assert result.structured_content["stdout"] == "hello\n", result
        try:
            await client.call_tool("skills_read", {"path": "nowhere"})
        except ToolError as error:
            assert "not found" in str(error), error
        else:
            raise AssertionError("a file that is not there was read")
        assert "work" in [prompt.name for prompt in await client.list_prompts()]
        assert [str(resource.uri) for resource in await client.list_resources()] == ["skill://work/SKILL.md"]


@test(ways=MODERN)
async def skills_are_found_verified_and_read(world, way):
    directory = world.skill("work", "license: MIT\nmetadata:\n  author: Alice\n")
    (directory / "table.md").write_text("Table.\n")
    async with connected(world, way, extensions=[SkillsClientExtension()]) as client:
        (skill,) = await client.list_skills()
        assert skill.uri == "skill://work/SKILL.md"
        assert (skill.frontmatter.name, skill.frontmatter.metadata) == ("work", {"author": "Alice"})
        for resource in skill.resources:
            contents = (await client.read_resource(str(resource.uri)))[0]
            data = contents.text.encode()
            assert (f"sha256:{hashlib.sha256(data).hexdigest()}", len(data)) == (resource.digest, resource.size)
        assert sorted(str(resource.uri) for resource in skill.resources) == ["skill://work/SKILL.md", "skill://work/table.md"]
        again = await client.get_skill(skill.uri)
        assert again == skill, again
        assert not (await client.list_skills_mcp()).next_cursor


@test(ways=WAYS)
async def the_user_is_asked(world, way):
    world.skill("work", PROGRAMS)
    world.script("work", "hello.sh", "echo hello\n")
    answers = ["allow_once", "deny"]

    async def user(message, response_type, params, context):
        assert message.startswith("Allow `work` to run scripts/hello.sh"), message
        return ElicitResult(action="accept", content={"decision": answers.pop(0)})

    async with connected(world, way, elicitation_handler=user) as client:
        assert (await client.call_tool("skills_run", run("hello.sh"))).structured_content["stdout"] == "hello\n"
        refused = await client.call_tool("skills_run", run("hello.sh"), raise_on_error=False)
        assert refused.structured_content["error"]["code"] == "denied_by_policy"


@test(ways=WAYS)
async def progress_is_heard_and_a_call_can_be_given_up(world, way):
    word, heard = mark(), []
    world.skill("work", PROGRAMS)
    world.script("work", "long.sh", f"sh -c 'while :; do sleep 1; done' {word}\n")

    async def hear(progress, total, message):
        heard.append(progress)

    async with connected(world, way, "--allow", "spawn") as client:
        with anyio.move_on_after(3.5):
            await client.call_tool("skills_run", run("long.sh"), progress_handler=hear)
        assert len(heard) >= 2 and heard == sorted(set(heard)), heard
        with anyio.move_on_after(3):
            while marked(word):
                await anyio.sleep(0.05)
        assert not marked(word)
        assert (await client.call_tool("skills_ls", {})).structured_content is not None
