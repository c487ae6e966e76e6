"""Results of tool calls."""

import base64

import anyio
import jsonschema
from mcp import MCPError

from clients import PROGRAMS, WAYS, code, connected, run, text
from harness import test


def work(world):
    world.skill("work", PROGRAMS)


async def checked(client, name, arguments):
    """Calls a tool and validates its result against the output schema."""
    schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
    result = await client.call_tool(name, arguments)
    jsonschema.validate(result.structured_content, schemas[name])
    return result


@test(ways=WAYS)
async def all_tools_answer_as_their_schemas_say(world, way):
    work(world)
    world.script("work", "hello.sh", "echo hello\n")
    world.script("work", "object.py", "import json, sys\nprint(json.dumps({'got': json.loads(sys.argv[1])}))\n")
    good = [
        ("skills_ls", {}),
        ("skills_ls", {"path": "skills"}),
        ("skills_write", {"path": "a.txt", "content": "one\n"}),
        ("skills_read", {"path": "a.txt"}),
        ("skills_run", run("hello.sh")),
        ("run_skill_script", {"skill_name": "work", "script_name": "hello"}),
        ("skill__work__hello", {}),
        ("search_skills", {"query": "work"}),
        ("load_skill", {"name": "work"}),
        ("read_skill_resource", {"name": "work", "path": "scripts/hello.sh"}),
        ("skills_create", {"name": "made", "description": "Made.", "instructions": "Do."}),
    ]
    bad = [
        ("skills_ls", {"path": "nowhere"}, "not_found"),
        ("skills_ls", {"path": "../x"}, "invalid_path"),
        ("skills_read", {"path": "/etc/passwd"}, "path_outside_mounts"),
        ("skills_run", run("hello.sh", skill="missing"), "skill_not_found"),
        ("skills_read", {}, "invalid_arguments"),
        ("skills_read", {"path": 7}, "invalid_arguments"),
    ]
    async with connected(world, way, "--allow", "spawn") as client:
        for name, arguments in good:
            result = await checked(client, name, arguments)
            assert not result.is_error, f"{name}: {text(result)}"
            assert str(world.directory) not in result.model_dump_json(), result
        for name, arguments, expected in bad:
            result = await checked(client, name, arguments)
            assert code(result) == expected, f"{name} {arguments}: {result}"
            assert text(result).startswith("Error: "), text(result)
            assert str(world.directory) not in result.model_dump_json(), result
        try:
            await client.call_tool("nothing_like_it", {})
        except MCPError as error:
            assert error.code == -32602, error
        else:
            raise AssertionError("a tool that is none was called")


@test(ways=WAYS)
async def files_that_a_program_wrote_are_linked_and_can_be_read(world, way):
    async with connected(world, way, "--allow", "spawn") as client:
        result = await client.call_tool("skills_bash", {"command": "echo 1,2 > out.csv; printf 'a\\377' > out.bin"})
        assert not result.is_error, text(result)
        links = {block.name: block.uri for block in result.content if block.type == "resource_link"}
        assert sorted(links) == ["out.bin", "out.csv"], result.content
        assert (await client.read_resource(links["out.csv"])).contents[0].text == "1,2\n"
        assert base64.b64decode((await client.read_resource(links["out.bin"])).contents[0].blob) == b"a\xff"


@test(ways=WAYS, seconds=60)
async def fifty_calls_at_once_get_their_own_answers(world, way):
    work(world)
    world.script("work", "say.sh", 'echo "said $1"\n')
    answers = {}
    async with connected(world, way, "--allow", "spawn") as client:

        async def call(number):
            command = f"sh scripts/say.sh {number}"
            answers[number] = text(await client.call_tool("skills_run", {"name": "work", "command": command}))

        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(call, number)
    assert answers == {number: f"said {number}" for number in range(50)}, answers


@test(ways=WAYS)
async def what_a_script_prints_disturbs_no_message(world, way):
    work(world)
    forged = '{"jsonrpc":"2.0","id":1,"result":{}}'
    world.script("work", "noise.sh", f"printf '%s\\n' '{forged}'\nprintf '\\377\\000\\033[31m\\r\\n'\necho '{forged}' >&2\n")
    world.script("work", "reads.sh", 'while read -r line; do echo "took $line"; done\necho "end of input"\n')
    async with connected(world, way, "--allow", "spawn") as client:
        for _ in range(3):
            result = await client.call_tool("skills_run", run("noise.sh"))
            assert forged in text(result), text(result)
            assert text(await client.call_tool("skills_run", run("reads.sh"))) == "end of input"
        given = await client.call_tool("skills_run", run("reads.sh", stdin="a\nb\n"))
        assert text(given) == "took a\ntook b\nend of input"


@test(ways=WAYS)
async def an_argument_of_five_megabytes_is_answered(world, way):
    async with connected(world, way) as client:
        try:
            result = await client.call_tool("skills_write", {"path": "a.txt", "content": "y" * (5 << 20)})
            assert code(result) == "too_large", result
        except MCPError as error:
            assert way[0] == "http", f"only bodies have a smaller bound: {error}"
        assert not (await client.call_tool("skills_ls", {})).is_error
    assert not (world.workspace / "a.txt").exists()
