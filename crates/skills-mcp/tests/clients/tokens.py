"""Several clients of one server, each with its own token."""

from mcp_types import ElicitResult

from clients import PROGRAMS, code, holding, run, text
from harness import test

TOKENS = {"alice": "a" * 40, "bob": "b" * 40}
ERAS = [("modern",), ("legacy",)]


@test(ways=ERAS)
async def one_clients_answer_is_not_the_others(world, way):
    (lifecycle,) = way
    world.skill("work", PROGRAMS)
    world.script("work", "hello.sh", "echo hello\n")
    server = world.http(tokens=TOKENS)
    offers = []

    async def yes(context, params):
        choices = params.requested_schema["properties"]["decision"]["enum"]
        offers.append(choices)
        return ElicitResult(action="accept", content={"decision": "allow_session" if "allow_session" in choices else "allow_once"})

    async with holding(server.url, lifecycle, TOKENS["alice"], elicitation_callback=yes) as alice:
        async with holding(server.url, lifecycle, TOKENS["bob"]) as bob:
            assert text(await alice.call_tool("skills_run", run("hello.sh"))) == "hello"
            result = await bob.call_tool("skills_run", run("hello.sh"))
            assert code(result) == "approval_required", result
            assert text(await alice.call_tool("skills_run", run("hello.sh"))) == "hello"
    assert len(offers) == (2 if lifecycle == "modern" else 1), offers
    assert all("allow_always" not in choices for choices in offers), "one of several decides nothing for the others"


@test(ways=ERAS)
async def only_the_owner_of_the_one_token_allows_for_good(world, way):
    (lifecycle,) = way
    world.skill("work", PROGRAMS)
    world.script("work", "hello.sh", "echo hello\n")
    server = world.http(tokens={"alice": TOKENS["alice"]})

    async def always(context, params):
        return ElicitResult(action="accept", content={"decision": "allow_always"})

    async with holding(server.url, lifecycle, TOKENS["alice"], elicitation_callback=always) as client:
        assert text(await client.call_tool("skills_run", run("hello.sh"))) == "hello"
    async with holding(server.url, lifecycle, TOKENS["alice"]) as client:
        assert text(await client.call_tool("skills_run", run("hello.sh"))) == "hello"


@test(ways=ERAS)
async def a_wrong_token_opens_nothing(world, way):
    (lifecycle,) = way
    server = world.http(tokens=TOKENS)
    failed = None
    try:
        async with holding(server.url, lifecycle, "c" * 40):
            pass
    except Exception as error:
        failed = error
    assert failed is not None, "a stranger was let in"
