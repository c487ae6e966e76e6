"""Several clients of one server, each with its own token."""

from mcp_types import ElicitResult

from clients import PROGRAMS, code, connect_with_token, run, text
from harness import test
from transports import LIFECYCLES

TOKENS = {"alice": "a" * 40, "bob": "b" * 40}


@test(cases=LIFECYCLES)
async def approvals_are_separate_per_client(env, lifecycle):
    env.skill("work", PROGRAMS)
    env.script("work", "hello.sh", "echo hello\n")
    server = env.start_http(tokens=TOKENS)
    offers = []

    async def approve(context, params):
        choices = params.requested_schema["properties"]["decision"]["enum"]
        offers.append(choices)
        return ElicitResult(action="accept", content={"decision": "allow_session" if "allow_session" in choices else "allow_once"})

    async with connect_with_token(server.url, lifecycle, TOKENS["alice"], elicitation_callback=approve) as alice:
        async with connect_with_token(server.url, lifecycle, TOKENS["bob"]) as bob:
            assert text(await alice.call_tool("skills_run", run("hello.sh"))) == "hello"
            result = await bob.call_tool("skills_run", run("hello.sh"))
            assert code(result) == "approval_required", result
            assert text(await alice.call_tool("skills_run", run("hello.sh"))) == "hello"
    assert len(offers) == (2 if lifecycle == "stateless" else 1), offers
    assert all("allow_always" not in choices for choices in offers), "with several tokens, no client can approve permanently"


@test(cases=LIFECYCLES)
async def the_holder_of_the_only_token_can_approve_permanently(env, lifecycle):
    env.skill("work", PROGRAMS)
    env.script("work", "hello.sh", "echo hello\n")
    server = env.start_http(tokens={"alice": TOKENS["alice"]})

    async def approve(context, params):
        return ElicitResult(action="accept", content={"decision": "allow_always"})

    async with connect_with_token(server.url, lifecycle, TOKENS["alice"], elicitation_callback=approve) as client:
        assert text(await client.call_tool("skills_run", run("hello.sh"))) == "hello"
    async with connect_with_token(server.url, lifecycle, TOKENS["alice"]) as client:
        assert text(await client.call_tool("skills_run", run("hello.sh"))) == "hello"


@test(cases=LIFECYCLES)
async def an_unknown_token_is_rejected(env, lifecycle):
    server = env.start_http(tokens=TOKENS)
    failed = None
    try:
        async with connect_with_token(server.url, lifecycle, "c" * 40):
            pass
    except Exception as error:
        failed = error
    assert failed is not None, "an unknown token was accepted"
