"""Try what no skill may do, and print how each attempt ended."""

import json
import os
import socket
import subprocess


def attempt(action):
    try:
        action()
    except OSError:
        return "denied"
    return "ALLOWED"


def list_the_parent_directory():
    own = os.environ["SKILL_DIR"]
    if os.listdir(os.path.dirname(own)) == [os.path.basename(own)]:
        raise FileNotFoundError("nothing else is there")


def signal_the_host():
    host = os.getppid()
    if host == 0:
        raise ProcessLookupError("the host is not there")
    os.kill(host, 0)


ATTEMPTS = {
    "read what every program may": lambda: open("/proc/version", "rb").close(),
    "list the parent directory": list_the_parent_directory,
    "write to the system": lambda: open("/etc/planted", "wb").close(),
    "open a socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close(),
    "start a program": lambda: subprocess.run(["/bin/true"], check=True),
    "signal the host": signal_the_host,
}

if __name__ == "__main__":
    print(json.dumps({name: attempt(action) for name, action in ATTEMPTS.items()}, indent=1))
