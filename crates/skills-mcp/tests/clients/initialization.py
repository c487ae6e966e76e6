"""Initialization and the list of tools."""

import jsonschema

from clients import connect
from harness import test
from transports import TRANSPORTS


@test(cases=TRANSPORTS)
async def the_protocol_version_is_negotiated(env, transport):
    async with connect(env, transport) as client:
        assert client.protocol_version == {"stateless": "2026-07-28", "legacy": "2025-11-25"}[transport.lifecycle], client.protocol_version
        assert client.server_info.name == "skills"
        assert "search_skills" in client.instructions
        capabilities = client.server_capabilities
        assert capabilities.tools and capabilities.prompts and capabilities.resources
        assert capabilities.extensions["io.modelcontextprotocol/skills"] == {"directoryRead": True}
        if transport.lifecycle == "legacy":
            await client.send_ping()


@test(cases=TRANSPORTS)
async def tools_have_schemas_and_a_stable_order(env, transport):
    env.skill("work")
    env.script("work", "hello.sh", "echo hello\n")
    async with connect(env, transport) as client:
        listed = (await client.list_tools()).tools
        names = [tool.name for tool in listed]
        assert {"skills_ls", "skills_read", "skills_run", "run_skill_script", "skill__work__hello"} <= set(names), names
        for tool in listed:
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            assert tool.output_schema is None
            assert tool.title and tool.description and tool.annotations
        again = (await client.list_tools(cache_mode="refresh")).tools
        assert again == listed


@test(cases=TRANSPORTS)
async def lists_contain_no_host_paths(env, transport):
    env.skill("work", "user-invocable: true\n")
    async with connect(env, transport) as client:
        for listed in (client.list_tools(), client.list_prompts(), client.list_resources(), client.list_resource_templates()):
            shown = (await listed).model_dump_json()
            assert str(env.directory) not in shown, shown
