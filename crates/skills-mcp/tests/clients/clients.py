"""Connects the client of `mcp` with each transport."""

import contextlib

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from environment import COMMAND

MODE = {"stateless": "auto", "legacy": "legacy"}
# Programs that scripts of the tests start.
PROGRAMS = "allowed-tools: Bash(sh:*) Bash(sleep:*)\n"


@contextlib.asynccontextmanager
async def connect(env, transport, *more, **options):
    """Starts a server and connects a client to it."""
    if transport.kind == "http":
        target = env.start_http(*more).url
    else:
        target = StdioServerParameters(
            command=COMMAND, args=env.arguments(*more), env=env.variables(), cwd=str(env.directory)
        )
    async with Client(target, mode=MODE[transport.lifecycle], **options) as client:
        yield client


@contextlib.asynccontextmanager
async def connect_with_token(url, lifecycle, token, **options):
    """Connects a client with a token."""
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=MODE[lifecycle], **options) as client:
            yield client


def run(script, skill="work", **more):
    """Returns the arguments of `skills_run` for a shell script."""
    return {"name": skill, "command": f"sh scripts/{script}", **more}


def text(result):
    """Returns the text of a result, without the line before the output of a program that ran well."""
    return result.content[0].text.removeprefix("Program output:\n")


def code(result):
    """Returns the error code of a tool result, or None."""
    if not result.is_error:
        return None
    data = result.structured_content or result.meta["skills/report"]
    return data["error"]["code"]
