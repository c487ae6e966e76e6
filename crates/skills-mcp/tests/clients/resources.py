"""Skill files and tool files as resources."""

import base64
import hashlib

from mcp import MCPError

from clients import WAYS, connected
from harness import test


def skills(world):
    directory = world.skill("work")
    (directory / "references").mkdir()
    (directory / "references" / "a b#.md").write_text("Table.\n")
    (directory / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\xff")
    for number in range(150):
        world.skill(f"many-{number:03}")


async def refused(awaitable):
    try:
        result = await awaitable
    except MCPError as error:
        return error.code
    raise AssertionError(f"it was served: {result}")


@test(ways=WAYS)
async def skills_are_listed_page_by_page_and_read(world, way):
    skills(world)
    async with connected(world, way) as client:
        first = await client.list_resources()
        assert len(first.resources) == 100 and first.next_cursor
        second = await client.list_resources(cursor=first.next_cursor)
        uris = [resource.uri for resource in first.resources + second.resources]
        assert len(uris) == len(set(uris)) == 151 and second.next_cursor is None
        assert "skill://work/SKILL.md" in uris
        for resource in second.resources[-3:]:
            contents = (await client.read_resource(resource.uri)).contents[0]
            assert len(contents.text.encode()) == resource.size
        assert await refused(client.list_resources(cursor="nonsense")) == -32602


@test(ways=WAYS)
async def all_files_of_a_skill_can_be_read(world, way):
    skills(world)
    async with connected(world, way) as client:
        templates = (await client.list_resource_templates()).resource_templates
        assert "skill://{name}/{+path}" in [template.uri_template for template in templates]
        table = (await client.read_resource("skill://work/references/a%20b%23.md")).contents[0]
        assert (table.text, table.mime_type) == ("Table.\n", "text/markdown")
        logo = (await client.read_resource("skill://work/logo.png")).contents[0]
        assert base64.b64decode(logo.blob) == (world.skills / "work" / "logo.png").read_bytes()
        assert logo.mime_type == "image/png"


@test(ways=WAYS)
async def nothing_else_is_a_resource(world, way):
    skills(world)
    (world.directory / "secret").write_text("secret")
    (world.workspace / "link").symlink_to(world.directory / "secret")
    missing = -32602 if way[1] == "modern" else -32002
    async with connected(world, way) as client:
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
            assert await refused(client.read_resource(uri)) in (missing, -32602), uri


@test(ways=WAYS)
async def a_digest_is_that_of_what_is_read(world, way):
    skills(world)
    async with connected(world, way) as client:
        text = (await client.read_resource("skill://work/SKILL.md")).contents[0].text
        assert hashlib.sha256(text.encode()).digest() == hashlib.sha256((world.skills / "work" / "SKILL.md").read_bytes()).digest()
