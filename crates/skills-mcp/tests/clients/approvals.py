"""Approvals by the user of the client."""

import anyio
from mcp_types import ElicitResult

from clients import PROGRAMS, code, connect, run, text
from environment import find_processes, new_marker
from harness import test
from transports import HTTP, STDIO, TRANSPORTS


class User:
    """Responds in the given order, and records the prompts."""

    def __init__(self, *responses):
        self.responses, self.prompts = list(responses), []

    async def __call__(self, context, params):
        self.prompts.append(params)
        response = self.responses.pop(0)
        if response in ("decline", "cancel"):
            return ElicitResult(action=response)
        return ElicitResult(action="accept", content={"decision": response})


def create_hello_script(env):
    env.skill("work", PROGRAMS)
    env.script("work", "hello.sh", "echo hello > /dev/null\necho hello\n")


@test(cases=TRANSPORTS)
async def allow_once_applies_to_one_call(env, transport):
    create_hello_script(env)
    user = User("allow_once", "allow_once", "deny")
    async with connect(env, transport, elicitation_callback=user) as client:
        for _ in range(2):
            assert text(await client.call_tool("skills_run", run("hello.sh"))) == "hello"
        assert code(await client.call_tool("skills_run", run("hello.sh"))) == "denied_by_policy"
    assert len(user.prompts) == 3
    assert user.prompts[0].message.startswith("Allow skill `work` to run scripts/hello.sh"), user.prompts[0].message
    assert user.prompts[0].requested_schema["properties"]["decision"]["default"] == "deny"


@test(cases=TRANSPORTS)
async def allow_session_requires_a_session(env, transport):
    create_hello_script(env)
    user = User("allow_session", "deny")
    async with connect(env, transport, elicitation_callback=user) as client:
        first = await client.call_tool("skills_run", run("hello.sh"))
        second = await client.call_tool("skills_run", run("hello.sh"))
    choices = user.prompts[0].requested_schema["properties"]["decision"]["enum"]
    if transport == ("http", "stateless"):
        assert "allow_session" not in choices, choices
        assert (code(first), code(second)) == ("denied_by_policy", "denied_by_policy"), "a choice that was not offered is a denial"
    else:
        assert "allow_session" in choices, choices
        assert (text(first), text(second), len(user.prompts)) == ("hello", "hello", 1)


@test(cases=HTTP)
async def unauthenticated_users_cannot_approve_permanently(env, transport):
    create_hello_script(env)
    user = User("allow_always")
    async with connect(env, transport, elicitation_callback=user) as client:
        assert code(await client.call_tool("skills_run", run("hello.sh"))) == "denied_by_policy"
    assert "allow_always" not in user.prompts[0].requested_schema["properties"]["decision"]["enum"]


@test(cases=STDIO)
async def allow_always_applies_to_later_connections(env, transport):
    create_hello_script(env)
    user = User("allow_always")
    async with connect(env, transport, elicitation_callback=user) as client:
        assert text(await client.call_tool("skills_run", run("hello.sh"))) == "hello"
    async with connect(env, transport) as client:
        assert text(await client.call_tool("skills_run", run("hello.sh"))) == "hello"
    env.script("work", "hello.sh", "echo other\n")
    async with connect(env, transport) as client:
        assert code(await client.call_tool("skills_run", run("hello.sh"))) == "approval_required", "the script has changed"


@test(cases=TRANSPORTS)
async def declined_cancelled_and_invalid_responses_prevent_the_run(env, transport):
    create_hello_script(env)
    user = User("decline", "cancel", "allow_everything")
    async with connect(env, transport, elicitation_callback=user) as client:
        codes = [code(await client.call_tool("skills_run", run("hello.sh"))) for _ in range(3)]
    assert codes == ["denied_by_policy", "approval_required", "denied_by_policy"], codes


@test(cases=TRANSPORTS)
async def a_client_without_elicitation_gets_a_hint(env, transport):
    create_hello_script(env)
    async with connect(env, transport) as client:
        result = await client.call_tool("skills_run", run("hello.sh"))
    assert code(result) == "approval_required"
    assert "skills trust work" in text(result) and "--allow" in text(result), text(result)
    assert str(env.directory) not in result.model_dump_json(), result


@test(cases=TRANSPORTS)
async def a_call_can_be_cancelled_during_its_prompt(env, transport):
    marker = new_marker()
    env.skill("work", PROGRAMS)
    env.script("work", "long.sh", f"sh -c 'while :; do sleep 1; done' {marker}\n")

    async def never_respond(context, params):
        await anyio.sleep_forever()

    async with connect(env, transport, elicitation_callback=never_respond) as client:
        with anyio.move_on_after(1) as scope:
            await client.call_tool("skills_run", run("long.sh"))
        assert scope.cancelled_caught
        # Other calls are not delayed, and nothing was started.
        assert not (await client.call_tool("skills_ls", {})).is_error
        assert not find_processes(marker)


@test(cases=[transport for transport in TRANSPORTS if transport != ("http", "legacy")])
async def concurrent_prompts_are_matched_to_their_calls(env, transport):
    env.skill("work", PROGRAMS)
    env.script("work", "say.sh", 'echo "said $1"\n')

    async def user(context, params):
        is_even = int(params.message.splitlines()[0].removesuffix("?").split()[-1]) % 2 == 0
        return ElicitResult(action="accept", content={"decision": "allow_once" if is_even else "deny"})

    said = {}
    async with connect(env, transport, elicitation_callback=user) as client:

        async def call(number):
            result = await client.call_tool("skills_run", {"name": "work", "command": f"sh scripts/say.sh {number}"})
            said[number] = code(result) or text(result)

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(call, number)
    assert said == {n: f"said {n}" if n % 2 == 0 else "denied_by_policy" for n in range(20)}, said


@test(cases=TRANSPORTS)
async def an_approval_applies_only_to_the_displayed_content(env, transport):
    create_hello_script(env)
    prompts = []

    async def swap(context, params):
        prompts.append(params)
        if len(prompts) == 1:
            env.script("work", "hello.sh", "echo other > /dev/null\necho other\n")
            return ElicitResult(action="accept", content={"decision": "allow_once"})
        return ElicitResult(action="decline")

    async with connect(env, transport, elicitation_callback=swap) as client:
        result = await client.call_tool("skills_run", run("hello.sh"))
    # Stateless clients are prompted again, legacy ones may retry.
    assert code(result) == ("denied_by_policy" if transport.lifecycle == "stateless" else "conflict"), result
