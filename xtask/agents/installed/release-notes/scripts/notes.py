"""Writes release notes."""
import sys

changes, output, version = sys.argv[1:]
with open(changes) as source:
    lines = [line.strip() for line in source if line.strip()]
with open(output, "w") as target:
    target.write(f"# {version}\n" + "".join(f"- {line}\n" for line in lines))
print(f"wrote {len(lines)} changes")
