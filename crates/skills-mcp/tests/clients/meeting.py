"""Initialization and the list of tools."""

import jsonschema

from clients import WAYS, connected
from harness import test


@test(ways=WAYS)
async def they_agree_on_a_revision(world, way):
    async with connected(world, way) as client:
        assert client.protocol_version == {"modern": "2026-07-28", "legacy": "2025-11-25"}[way[1]], client.protocol_version
        assert client.server_info.name == "skills"
        assert "search_skills" in client.instructions
        capabilities = client.server_capabilities
        assert capabilities.tools and capabilities.prompts and capabilities.resources
        assert capabilities.extensions["io.modelcontextprotocol/skills"] == {"directoryRead": True}
        if way[1] == "legacy":
            await client.send_ping()


@test(ways=WAYS)
async def tools_have_schemas_and_come_in_one_order(world, way):
    world.skill("work")
    world.script("work", "hello.sh", "echo hello\n")
    async with connected(world, way) as client:
        listed = (await client.list_tools()).tools
        names = [tool.name for tool in listed]
        assert {"skills_ls", "skills_read", "skills_run", "run_skill_script", "skill__work__hello"} <= set(names), names
        for tool in listed:
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)
            assert tool.title and tool.description and tool.annotations
        again = (await client.list_tools(cache_mode="refresh")).tools
        assert again == listed


@test(ways=WAYS)
async def no_path_of_the_machine_is_listed(world, way):
    world.skill("work", "user-invocable: true\n")
    async with connected(world, way) as client:
        for listed in (client.list_tools(), client.list_prompts(), client.list_resources(), client.list_resource_templates()):
            shown = (await listed).model_dump_json()
            assert str(world.directory) not in shown, shown
