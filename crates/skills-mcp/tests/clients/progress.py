"""Progress notifications of long calls."""

from clients import PROGRAMS, WAYS, connected, run, text
from harness import test


@test(ways=WAYS)
async def progress_comes_and_rises(world, way):
    world.skill("work", PROGRAMS)
    world.script("work", "long.sh", "sleep 3.5\necho done\n")
    heard = []

    async def hear(progress, total, message):
        heard.append((progress, total, message))

    async with connected(world, way, "--allow", "spawn") as client:
        result = await client.call_tool("skills_run", run("long.sh"), progress_callback=hear)
        assert text(result) == "done", result
        steps = [progress for progress, _, _ in heard]
        assert len(steps) >= 2 and steps == sorted(set(steps)), heard
        assert all(message.startswith("running, ") for _, _, message in heard), heard
