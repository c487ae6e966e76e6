"""Results of tool calls."""

import base64

import anyio
import jsonschema
from mcp import MCPError

from clients import PROGRAMS, code, connect, run, text
from harness import test
from transports import TRANSPORTS


def create_skill(env):
    env.skill("work", PROGRAMS)


async def call_and_validate(client, name, arguments):
    """Calls a tool and validates its result against the output schema."""
    schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
    result = await client.call_tool(name, arguments)
    jsonschema.validate(result.structured_content, schemas[name])
    return result


@test(cases=TRANSPORTS)
async def results_match_the_output_schemas(env, transport):
    create_skill(env)
    env.script("work", "hello.sh", "echo hello\n")
    env.script("work", "object.py", "import json, sys\nprint(json.dumps({'got': json.loads(sys.argv[1])}))\n")
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
        ("skills_read", {"path": [7]}, "invalid_arguments"),
    ]
    async with connect(env, transport, "--allow", "spawn", "--structured-results") as client:
        for name, arguments in good:
            result = await call_and_validate(client, name, arguments)
            assert not result.is_error, f"{name}: {text(result)}"
            assert str(env.directory) not in result.model_dump_json(), result
        for name, arguments, expected in bad:
            result = await call_and_validate(client, name, arguments)
            assert code(result) == expected, f"{name} {arguments}: {result}"
            assert text(result).startswith("Error: "), text(result)
            assert str(env.directory) not in result.model_dump_json(), result
        for name in ["nothing_like_it", "run_skill_script"]:
            result = await client.call_tool(name, {})
            assert code(result) == "not_found", f"{name}: {result}"


@test(cases=TRANSPORTS)
async def output_files_are_linked_and_readable(env, transport):
    async with connect(env, transport, "--allow", "spawn") as client:
        result = await client.call_tool("skills_bash", {"command": "echo 1,2 > out.csv; printf 'a\\377' > out.bin"})
        assert not result.is_error, text(result)
        links = {block.name: block.uri for block in result.content if block.type == "resource_link"}
        assert sorted(links) == ["out.bin", "out.csv"], result.content
        assert (await client.read_resource(links["out.csv"])).contents[0].text == "1,2\n"
        assert base64.b64decode((await client.read_resource(links["out.bin"])).contents[0].blob) == b"a\xff"


@test(cases=TRANSPORTS, seconds=60)
async def concurrent_calls_get_their_own_results(env, transport):
    create_skill(env)
    env.script("work", "say.sh", 'echo "said $1"\n')
    answers = {}
    async with connect(env, transport, "--allow", "spawn") as client:

        async def call(number):
            command = f"sh scripts/say.sh {number}"
            answers[number] = text(await client.call_tool("skills_run", {"name": "work", "command": command}))

        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(call, number)
    assert answers == {number: f"said {number}" for number in range(50)}, answers


@test(cases=TRANSPORTS)
async def script_output_does_not_corrupt_messages(env, transport):
    create_skill(env)
    forged = '{"jsonrpc":"2.0","id":1,"result":{}}'
    env.script("work", "noise.sh", f"printf '%s\\n' '{forged}'\nprintf '\\377\\000\\033[31m\\r\\n'\necho '{forged}' >&2\n")
    env.script("work", "reads.sh", 'while read -r line; do echo "took $line"; done\necho "end of input"\n')
    async with connect(env, transport, "--allow", "spawn") as client:
        for _ in range(3):
            result = await client.call_tool("skills_run", run("noise.sh"))
            assert forged in text(result), text(result)
            assert text(await client.call_tool("skills_run", run("reads.sh"))) == "end of input"
        given = await client.call_tool("skills_run", run("reads.sh", stdin="a\nb\n"))
        assert text(given) == "took a\ntook b\nend of input"


@test(cases=TRANSPORTS)
async def an_argument_of_5_mib_is_rejected(env, transport):
    async with connect(env, transport) as client:
        try:
            result = await client.call_tool("skills_write", {"path": "a.txt", "content": "y" * (5 << 20)})
            assert code(result) == "too_large", result
        except MCPError as error:
            assert transport.kind == "http", f"only HTTP bodies have a lower limit: {error}"
        assert not (await client.call_tool("skills_ls", {})).is_error
    assert not (env.workspace / "a.txt").exists()
