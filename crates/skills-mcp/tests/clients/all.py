"""Runs the tests with the client of one library: `python all.py mcp|fastmcp [WORD...]`, with the path of the command in SKILLS_COMMAND."""

import sys

import harness

if sys.argv[1] == "fastmcp":
    import fastmcp_client  # noqa: F401
else:
    import approvals  # noqa: F401
    import calls  # noqa: F401
    import initialization  # noqa: F401
    import list_changes  # noqa: F401
    import progress  # noqa: F401
    import prompts  # noqa: F401
    import raw_messages  # noqa: F401
    import resources  # noqa: F401
    import termination  # noqa: F401
    import tokens  # noqa: F401

sys.exit(0 if harness.run(sys.argv[2:]) else 1)
