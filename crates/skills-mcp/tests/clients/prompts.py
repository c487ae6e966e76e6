"""Prompts and completion."""

from mcp import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from clients import WAYS, connected
from harness import test


@test(ways=WAYS)
async def each_skill_that_users_may_call_is_a_prompt(world, way):
    world.skill("work", body="Work on $ARGUMENTS now.")
    world.skill("quiet", "user-invocable: false\n")
    async with connected(world, way) as client:
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


@test(ways=WAYS)
async def names_and_paths_are_completed(world, way):
    world.skill("work")
    world.skill("worship")
    (world.skills / "work" / "table.md").write_text("x")
    template = ResourceTemplateReference(uri="skill://{name}/{+path}")
    async with connected(world, way) as client:
        names = await client.complete(template, {"name": "name", "value": "wor"})
        assert sorted(names.completion.values) == ["work", "worship"]
        paths = await client.complete(template, {"name": "path", "value": "ta"}, context_arguments={"name": "work"})
        assert paths.completion.values == ["table.md"]
        for name, value in [("name", "../"), ("path", "../"), ("other", ""), ("name", "x" * 100_000)]:
            assert (await client.complete(template, {"name": name, "value": value})).completion.values == []
        assert (await client.complete(PromptReference(name="work"), {"name": "arguments", "value": ""})).completion.values == []
