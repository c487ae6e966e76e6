"""The client of FastMCP, and its Skills extension."""

import contextlib
import hashlib

import anyio
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from fastmcp.skills.client import SkillsClientExtension
from mcp_types import ElicitResult

from environment import COMMAND, find_processes, new_marker
from harness import test
from transports import STATELESS, TRANSPORTS

PROGRAMS = "allowed-tools: Bash(sh:*) Bash(sleep:*)\n"


@contextlib.asynccontextmanager
async def connect(env, transport, *more, **options):
    if transport.kind == "http":
        target = env.start_http(*more).url
    else:
        target = StdioTransport(
            COMMAND, env.arguments(*more), env=env.variables(), cwd=str(env.directory), keep_alive=False
        )
    async with Client(target, mode={"stateless": "auto", "legacy": "legacy"}[transport.lifecycle], **options) as client:
        yield client


def run(script):
    return {"name": "work", "command": f"sh scripts/{script}"}


@test(cases=TRANSPORTS)
async def tools_are_listed_and_called(env, transport):
    env.skill("work", PROGRAMS)
    env.script("work", "hello.sh", "echo hello\n")
    async with connect(env, transport, "--allow", "spawn") as client:
        assert "skill__work__hello" in [tool.name for tool in await client.list_tools()]
        result = await client.call_tool("skills_run", run("hello.sh"))
        assert "hello" in result.content[0].text, result
        try:
            await client.call_tool("skills_read", {"path": "nowhere"})
        except ToolError as error:
            assert "not found" in str(error), error
        else:
            raise AssertionError("a missing file was read")
        assert "work" in [prompt.name for prompt in await client.list_prompts()]
        assert [str(resource.uri) for resource in await client.list_resources()] == ["skill://index.json", "skill://work/SKILL.md"]
        assert [str(resource.uri) for resource in await client.list_skill_resources()] == ["skill://work/SKILL.md"]


@test(cases=STATELESS)
async def skills_are_listed_with_matching_digests(env, transport):
    directory = env.skill("work", "license: MIT\nmetadata:\n  author: Alice\n")
    (directory / "table.md").write_text("Table.\n")
    async with connect(env, transport, extensions=[SkillsClientExtension()]) as client:
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


@test(cases=STATELESS)
async def a_skill_that_the_client_would_reject_does_not_break_the_list(env, transport):
    env.skill("work", description="d" * 1024)
    env.skill("long", description="d" * 1025)
    env.skill("compatible", "compatibility: " + "c" * 501 + "\n")
    env.skill("licensed", "license: [MIT]\n")
    env.skill("counted", "metadata: 7\n")
    async with connect(env, transport, extensions=[SkillsClientExtension()]) as client:
        assert [skill.frontmatter.name for skill in await client.list_skills()] == ["work"]
        resources = await client.list_resources()
        assert ["d" * 1024] == [item.description for item in resources if str(item.uri).endswith("/SKILL.md")]
        assert "long" in [prompt.name for prompt in await client.list_prompts()]


@test(cases=TRANSPORTS)
async def the_user_is_prompted_for_approval(env, transport):
    env.skill("work", PROGRAMS)
    env.script("work", "hello.sh", "echo hello\n")
    answers = ["allow_once", "deny"]

    async def user(message, response_type, params, context):
        assert message.startswith("Allow skill `work` to run scripts/hello.sh"), message
        return ElicitResult(action="accept", content={"decision": answers.pop(0)})

    async with connect(env, transport, elicitation_handler=user) as client:
        assert "hello" in (await client.call_tool("skills_run", run("hello.sh"))).content[0].text
        refused = await client.call_tool("skills_run", run("hello.sh"), raise_on_error=False)
        assert refused.meta["skills/report"]["error"]["code"] == "denied_by_policy"


@test(cases=TRANSPORTS)
async def progress_is_reported_and_a_call_can_be_cancelled(env, transport):
    marker, received = new_marker(), []
    env.skill("work", PROGRAMS)
    env.script("work", "long.sh", f"sh -c 'while :; do sleep 1; done' {marker}\n")

    async def on_progress(progress, total, message):
        received.append(progress)

    async with connect(env, transport, "--allow", "spawn") as client:
        with anyio.move_on_after(3.5):
            await client.call_tool("skills_run", run("long.sh"), progress_handler=on_progress)
        assert len(received) >= 2 and received == sorted(set(received)), received
        with anyio.move_on_after(3):
            while find_processes(marker):
                await anyio.sleep(0.05)
        assert not find_processes(marker)
        assert not (await client.call_tool("skills_ls", {})).is_error
