"""Try what no skill may do, and print how each attempt ended."""

import errno
import json
import os
import socket
import subprocess


def attempt(action):
    try:
        action()
    except OSError as error:
        return "denied: " + errno.errorcode.get(error.errno, str(error.errno))
    return "ALLOWED"


ATTEMPTS = {
    "read /etc/shadow": lambda: open("/etc/shadow", "rb").close(),
    "list the parent directory": lambda: os.listdir(os.path.join(os.environ["SKILL_DIR"], "..")),
    "write into the skill": lambda: open(os.path.join(os.environ["SKILL_DIR"], "planted"), "wb").close(),
    "open a socket": lambda: socket.create_connection(("127.0.0.1", 9), timeout=1).close(),
    "start a program": lambda: subprocess.run(["/bin/true"], check=True),
    "signal the host": lambda: os.kill(os.getppid(), 0),
}

if __name__ == "__main__":
    print(json.dumps({name: attempt(action) for name, action in ATTEMPTS.items()}, indent=1))
