"""Approvals by the user of the client."""

import anyio
from mcp_types import ElicitResult

from clients import PROGRAMS, WAYS, code, connected, run, text
from harness import test
from world import mark, marked


class User:
    """Responds in the given order, and records the prompts."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    async def __call__(self, context, params):
        self.asked.append(params)
        answer = self.answers.pop(0)
        if answer in ("decline", "cancel"):
            return ElicitResult(action=answer)
        return ElicitResult(action="accept", content={"decision": answer})


def greet(world):
    world.skill("work", PROGRAMS)
    world.script("work", "hello.sh", "echo hello > /dev/null\necho hello\n")


@test(ways=WAYS)
async def once_is_for_one_call(world, way):
    greet(world)
    user = User("allow_once", "allow_once", "deny")
    async with connected(world, way, elicitation_callback=user) as client:
        for _ in range(2):
            assert text(await client.call_tool("skills_run", run("hello.sh"))) == "hello"
        assert code(await client.call_tool("skills_run", run("hello.sh"))) == "denied_by_policy"
    assert len(user.asked) == 3
    assert user.asked[0].message.startswith("Allow `work` to run scripts/hello.sh"), user.asked[0].message
    assert user.asked[0].requested_schema["properties"]["decision"]["default"] == "deny"


@test(ways=WAYS)
async def a_session_is_where_calls_belong_together(world, way):
    greet(world)
    user = User("allow_session", "deny")
    async with connected(world, way, elicitation_callback=user) as client:
        first = await client.call_tool("skills_run", run("hello.sh"))
        second = await client.call_tool("skills_run", run("hello.sh"))
    offered = user.asked[0].requested_schema["properties"]["decision"]["enum"]
    if way == ("http", "modern"):
        assert "allow_session" not in offered, offered
        assert (code(first), code(second)) == ("denied_by_policy", "denied_by_policy"), "what was not offered is no"
    else:
        assert "allow_session" in offered, offered
        assert (text(first), text(second), len(user.asked)) == ("hello", "hello", 1)


@test(ways=[way for way in WAYS if way[0] == "http"])
async def unauthenticated_users_cannot_approve_permanently(world, way):
    greet(world)
    user = User("allow_always")
    async with connected(world, way, elicitation_callback=user) as client:
        assert code(await client.call_tool("skills_run", run("hello.sh"))) == "denied_by_policy"
    assert "allow_always" not in user.asked[0].requested_schema["properties"]["decision"]["enum"]


@test(ways=[way for way in WAYS if way[0] == "stdio"])
async def always_holds_for_the_next_connection(world, way):
    greet(world)
    user = User("allow_always")
    async with connected(world, way, elicitation_callback=user) as client:
        assert text(await client.call_tool("skills_run", run("hello.sh"))) == "hello"
    async with connected(world, way) as client:
        assert text(await client.call_tool("skills_run", run("hello.sh"))) == "hello"
    world.script("work", "hello.sh", "echo other\n")
    async with connected(world, way) as client:
        assert code(await client.call_tool("skills_run", run("hello.sh"))) == "approval_required", "it is another script now"


@test(ways=WAYS)
async def no_is_an_answer_and_silence_is_none(world, way):
    greet(world)
    user = User("decline", "cancel", "allow_everything")
    async with connected(world, way, elicitation_callback=user) as client:
        said = [code(await client.call_tool("skills_run", run("hello.sh"))) for _ in range(3)]
    assert said == ["denied_by_policy", "approval_required", "denied_by_policy"], said


@test(ways=WAYS)
async def a_client_that_cannot_ask_is_told_what_allows_it(world, way):
    greet(world)
    async with connected(world, way) as client:
        result = await client.call_tool("skills_run", run("hello.sh"))
    assert code(result) == "approval_required"
    assert "skills trust work" in text(result) and "--allow" in text(result), text(result)
    assert str(world.directory) not in result.model_dump_json(), result


@test(ways=WAYS)
async def whoever_never_answers_can_still_take_the_call_back(world, way):
    word = mark()
    world.skill("work", PROGRAMS)
    world.script("work", "long.sh", f"sh -c 'while :; do sleep 1; done' {word}\n")

    async def asleep(context, params):
        await anyio.sleep_forever()

    async with connected(world, way, elicitation_callback=asleep) as client:
        with anyio.move_on_after(1) as scope:
            await client.call_tool("skills_run", run("long.sh"))
        assert scope.cancelled_caught
        # Other calls are not delayed, and nothing was started.
        assert not (await client.call_tool("skills_ls", {})).is_error
        assert not marked(word)


@test(ways=[way for way in WAYS if way != ("http", "legacy")])
async def many_questions_at_once_find_their_calls(world, way):
    world.skill("work", PROGRAMS)
    world.script("work", "say.sh", 'echo "said $1"\n')

    async def user(context, params):
        is_even = int(params.message.splitlines()[0].split()[-1]) % 2 == 0
        return ElicitResult(action="accept", content={"decision": "allow_once" if is_even else "deny"})

    said = {}
    async with connected(world, way, elicitation_callback=user) as client:

        async def call(number):
            result = await client.call_tool("skills_run", {"name": "work", "command": f"sh scripts/say.sh {number}"})
            said[number] = code(result) or text(result)

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(call, number)
    assert said == {n: f"said {n}" if n % 2 == 0 else "denied_by_policy" for n in range(20)}, said


@test(ways=WAYS)
async def leave_is_for_what_was_shown(world, way):
    greet(world)
    asked = []

    async def swap(context, params):
        asked.append(params)
        if len(asked) == 1:
            world.script("work", "hello.sh", "echo other > /dev/null\necho other\n")
            return ElicitResult(action="accept", content={"decision": "allow_once"})
        return ElicitResult(action="decline")

    async with connected(world, way, elicitation_callback=swap) as client:
        result = await client.call_tool("skills_run", run("hello.sh"))
    # Stateless clients are prompted again, legacy ones may retry.
    assert code(result) == ("denied_by_policy" if way[1] == "modern" else "conflict"), result
