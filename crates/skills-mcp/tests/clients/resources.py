"""Skill files and tool files as resources."""

import base64
import hashlib
import json

from mcp import MCPError

from clients import connect
from harness import test
from transports import TRANSPORTS


def create_skills(env):
    directory = env.skill("work")
    (directory / "references").mkdir()
    (directory / "references" / "a b#.md").write_text("Table.\n")
    (directory / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\xff")
    for number in range(150):
        env.skill(f"many-{number:03}")


async def error_code(awaitable):
    try:
        result = await awaitable
    except MCPError as error:
        return error.code
    raise AssertionError(f"expected an error, received {result}")


@test(cases=TRANSPORTS)
async def skills_are_paged_and_readable(env, transport):
    create_skills(env)
    async with connect(env, transport) as client:
        first = await client.list_resources()
        assert len(first.resources) == 100 and first.next_cursor
        second = await client.list_resources(cursor=first.next_cursor)
        uris = [resource.uri for resource in first.resources + second.resources]
        assert len(uris) == len(set(uris)) == 152 and second.next_cursor is None
        assert "skill://work/SKILL.md" in uris
        for resource in second.resources[-3:]:
            contents = (await client.read_resource(resource.uri)).contents[0]
            assert len(contents.text.encode()) == resource.size
        assert await error_code(client.list_resources(cursor="nonsense")) == -32602


@test(cases=TRANSPORTS)
async def all_files_of_a_skill_can_be_read(env, transport):
    create_skills(env)
    async with connect(env, transport) as client:
        templates = (await client.list_resource_templates()).resource_templates
        assert "skill://{name}/{+path}" in [template.uri_template for template in templates]
        table = (await client.read_resource("skill://work/references/a%20b%23.md")).contents[0]
        assert (table.text, table.mime_type) == ("Table.\n", "text/markdown")
        logo = (await client.read_resource("skill://work/logo.png")).contents[0]
        assert base64.b64decode(logo.blob) == (env.skills / "work" / "logo.png").read_bytes()
        assert logo.mime_type == "image/png"


@test(cases=TRANSPORTS)
async def the_index_has_all_skills(env, transport):
    create_skills(env)
    async with connect(env, transport) as client:
        content = (await client.read_resource("skill://index.json")).contents[0]
        assert content.mime_type == "application/json"
        skills = json.loads(content.text)["skills"]
        assert len(skills) == 151
        assert skills[-1] == {
            "name": "work",
            "type": "skill-md",
            "description": "About work.",
            "url": "skill://work/SKILL.md",
        }


@test(cases=TRANSPORTS)
async def other_paths_are_not_resources(env, transport):
    create_skills(env)
    (env.directory / "secret").write_text("secret")
    (env.workspace / "link").symlink_to(env.directory / "secret")
    missing = -32602 if transport.lifecycle == "stateless" else -32002
    async with connect(env, transport) as client:
        for uri in [
            "skill://work/nothing",
            "skill://missing/SKILL.md",
            "skill://work/../many-001/SKILL.md",
            "skill://work/%2e%2e/many-001/SKILL.md",
            "skill://work/..%2fmany-001/SKILL.md",
            "skills-files:///workspace/../secret",
            "skills-files:///workspace/link",
            "skills-files:///etc/passwd",
            "file:///etc/passwd",
            # Newer clients repeat it in a header.
            "skill://work/" + "a" * 8_000,
        ]:
            assert await error_code(client.read_resource(uri)) in (missing, -32602), uri


@test(cases=TRANSPORTS)
async def the_content_of_a_resource_matches_the_file(env, transport):
    create_skills(env)
    async with connect(env, transport) as client:
        text = (await client.read_resource("skill://work/SKILL.md")).contents[0].text
        assert hashlib.sha256(text.encode()).digest() == hashlib.sha256((env.skills / "work" / "SKILL.md").read_bytes()).digest()
