"""The environment of a test: temporary home, skills and workspace, and the server command."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import uuid

COMMAND = os.environ.get("SKILLS_COMMAND", "skills")


class World:
    """Directories of one test."""

    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="skills-clients-")).resolve()
        self.skills, self.workspace = self.directory / "skills", self.directory / "workspace"
        for name in ("home", "skills", "workspace", "tmp"):
            (self.directory / name).mkdir()
        self.servers = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.end()
        shutil.rmtree(self.directory, ignore_errors=True)

    def skill(self, name, extra="", body="Do it well.", description=None):
        directory = self.skills / name
        (directory / "scripts").mkdir(parents=True, exist_ok=True)
        text = f"---\nname: {name}\ndescription: {description or f'About {name}.'}\n{extra}---\n# {name}\n\n{body}\n"
        (directory / "SKILL.md").write_text(text)
        return directory

    def script(self, skill, name, text):
        path = self.skills / skill / "scripts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def environment(self):
        return {"HOME": str(self.directory / "home"), "PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": str(self.directory / "tmp")}

    def arguments(self, *more):
        return ["mcp", "--root", str(self.skills), "--workspace", str(self.workspace), "--log", "error", *more]

    def pipes(self, *more):
        """Starts the server for a client that writes messages itself."""
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [COMMAND, *self.arguments(*more)], stdin=pipe, stdout=pipe, env=self.environment(), cwd=self.directory, bufsize=0
        )
        self.servers.append(Served(process, None))
        return process

    def http(self, *more, tokens=None):
        """Starts the server over HTTP, without tokens or with these."""
        if tokens is None:
            more = ("--no-token", *more)
        else:
            file = self.directory / "tokens"
            file.write_text("".join(f"{name}: {token}\n" for name, token in tokens.items()))
            file.chmod(0o600)
            more = ("--token-file", str(file), *more)
        command = [COMMAND, *self.arguments("--http", "127.0.0.1:0", "--json", *more)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=self.environment(), cwd=self.directory)
        served = Served(process, None)
        self.servers.append(served)
        document = ""
        while not served.url:
            line = process.stdout.readline().decode()
            assert line, "the server ended before it said where it is"
            document += line
            try:
                served.url = json.loads(document)["url"]
            except json.JSONDecodeError:
                pass
        return served


class Served:
    """A running server."""

    def __init__(self, process, url):
        self.process, self.url = process, url

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def mark():
    """Returns a unique word that identifies a program of a test."""
    return f"mark-{uuid.uuid4().hex}"


def marked(word):
    """Lists the processes with the word in their arguments."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                arguments = pathlib.Path("/proc", entry, "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in arguments:
                found.append(int(entry))
    return found


def until(condition, seconds=10.0):
    """Waits for a condition, blocking; returns whether it became true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())
