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


class Environment:
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
            server.kill()
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

    def variables(self):
        return {"HOME": str(self.directory / "home"), "PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": str(self.directory / "tmp")}

    def arguments(self, *more):
        return ["mcp", "--root", str(self.skills), "--workspace", str(self.workspace), "--tools", "all", "--log", "error", *more]

    def start_stdio(self, *more):
        """Starts the server for a client that writes messages itself."""
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [COMMAND, *self.arguments(*more)], stdin=pipe, stdout=pipe, env=self.variables(), cwd=self.directory, bufsize=0
        )
        self.servers.append(ServerProcess(process, None))
        return process

    def start_http(self, *more, tokens=None):
        """Starts the server over HTTP, without tokens or with these."""
        if tokens is None:
            more = ("--no-token", *more)
        else:
            file = self.directory / "tokens"
            file.write_text("".join(f"{name}: {token}\n" for name, token in tokens.items()))
            file.chmod(0o600)
            more = ("--token-file", str(file), *more)
        command = [COMMAND, *self.arguments("--http", "127.0.0.1:0", "--json", *more)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=self.variables(), cwd=self.directory)
        server = ServerProcess(process, None)
        self.servers.append(server)
        document = ""
        while not server.url:
            line = process.stdout.readline().decode()
            assert line, "the server exited before it printed its URL"
            document += line
            try:
                server.url = json.loads(document)["url"]
            except json.JSONDecodeError:
                pass
        return server


class ServerProcess:
    """A running server."""

    def __init__(self, process, url):
        self.process, self.url = process, url

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def new_marker():
    """Returns a unique argument that identifies the programs of a test."""
    return f"marker-{uuid.uuid4().hex}"


def find_processes(marker):
    """Lists the processes with the marker in their arguments."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                arguments = pathlib.Path("/proc", entry, "cmdline").read_bytes()
            except OSError:
                continue
            if marker.encode() in arguments:
                found.append(int(entry))
    return found


def wait_until(condition, seconds=10.0):
    """Waits for a condition, blocking; returns whether it became true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())
