"""Prompts and completion."""

from mcp import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from clients import connect
from harness import test
from transports import TRANSPORTS


@test(cases=TRANSPORTS)
async def user_invocable_skills_are_prompts(env, transport):
    env.skill("work", body="Work on $ARGUMENTS now.")
    env.skill("quiet", "user-invocable: false\n")
    async with connect(env, transport) as client:
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert "skill_guide" in names and "work" in names and "quiet" not in names, names
        guide = await client.get_prompt("skill_guide")
        assert "work" in guide.messages[0].content.text
        given = await client.get_prompt("work", {"arguments": "the <b>report</b>"})
        assert any("the <b>report</b>" in message.content.text for message in given.messages), given
        long = await client.get_prompt("work", {"arguments": "x" * (1 << 19)})
        assert sum(len(message.content.text) for message in long.messages) >= 1 << 19
        for name, arguments in [("missing", None), ("quiet", None), ("work", {"other": "x"}), ("skill_guide", {"arguments": "x"})]:
            try:
                await client.get_prompt(name, arguments)
            except MCPError as error:
                assert error.code == -32602, error
            else:
                raise AssertionError(f"{name} {arguments}")


@test(cases=TRANSPORTS)
async def names_and_paths_are_completed(env, transport):
    env.skill("work")
    env.skill("worship")
    (env.skills / "work" / "table.md").write_text("x")
    template = ResourceTemplateReference(uri="skill://{name}/{+path}")
    async with connect(env, transport) as client:
        names = await client.complete(template, {"name": "name", "value": "wor"})
        assert sorted(names.completion.values) == ["work", "worship"]
        paths = await client.complete(template, {"name": "path", "value": "ta"}, context_arguments={"name": "work"})
        assert paths.completion.values == ["table.md"]
        for name, value in [("name", "../"), ("path", "../"), ("other", ""), ("name", "x" * 100_000)]:
            assert (await client.complete(template, {"name": name, "value": value})).completion.values == []
        assert (await client.complete(PromptReference(name="work"), {"name": "arguments", "value": ""})).completion.values == []
