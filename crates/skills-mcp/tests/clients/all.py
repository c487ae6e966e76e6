"""Runs the tests of the clients of one library: `python all.py mcp|fastmcp [WORD...]`, with the path of the command in SKILLS_COMMAND."""

import sys

import harness
import raw
import world


def lacks_walls():
    """Says why no script can run here; nothing when scripts can."""
    with world.World() as here:
        client = raw.Raw(here.pipes("--allow", "spawn"))
        client.begin()
        error = client.tool("skills_bash", {"command": "true"})["structuredContent"].get("error") or {}
        return error.get("message") if error.get("code") == "sandbox_unavailable" else None


if reason := lacks_walls():
    print(f"skipped the clients of {sys.argv[1]}: {reason}", file=sys.stderr)
    sys.exit(0)
if sys.argv[1] == "fastmcp":
    import fast  # noqa: F401
else:
    import calls  # noqa: F401
    import changes  # noqa: F401
    import ends  # noqa: F401
    import hostile  # noqa: F401
    import leave  # noqa: F401
    import meeting  # noqa: F401
    import progress  # noqa: F401
    import prompts  # noqa: F401
    import resources  # noqa: F401
    import tokens  # noqa: F401

sys.exit(0 if harness.run(sys.argv[2:]) else 1)
