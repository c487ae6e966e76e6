"""Progress notifications of long calls."""

from clients import PROGRAMS, connect, run, text
from harness import test
from transports import TRANSPORTS


@test(cases=TRANSPORTS)
async def progress_increases_during_a_call(env, transport):
    env.skill("work", PROGRAMS)
    env.script("work", "long.sh", "sleep 3.5\necho done\n")
    received = []

    async def on_progress(progress, total, message):
        received.append((progress, total, message))

    async with connect(env, transport, "--allow", "spawn") as client:
        result = await client.call_tool("skills_run", run("long.sh"), progress_callback=on_progress)
        assert text(result) == "done", result
        steps = [progress for progress, _, _ in received]
        assert len(steps) >= 2 and steps == sorted(set(steps)), received
        assert all(message.startswith("running (") for _, _, message in received), received
