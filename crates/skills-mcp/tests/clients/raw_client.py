"""A client that writes messages itself, including invalid ones."""

import json
import os
import select
import time

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
}


class RawClient:
    """Messages over the pipes of a process."""

    def __init__(self, process):
        self.process, self.buffer, self.seen, self.last = process, b"", [], 0

    def write(self, data):
        descriptor, view = self.process.stdin.fileno(), memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]

    def send(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def request(self, method, params=None, id=None):
        """Sends a request and returns its id."""
        self.last += 1
        id = f"raw-{self.last}" if id is None else id
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})
        return id

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def receive(self, seconds=10.0):
        """Returns the next message, or None at the end or after a timeout."""
        end, descriptor = time.monotonic() + seconds, self.process.stdout.fileno()
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([descriptor], [], [], max(0, end - time.monotonic()))
            data = os.read(descriptor, 1 << 16) if ready else b""
            if not data:
                return None
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def response(self, id, seconds=10.0):
        """Returns the response to a request, and stores other messages in `seen`."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            message = self.receive(end - time.monotonic())
            if message is None:
                break
            if message.get("id") == id and "method" not in message:
                return message
            self.seen.append(message)
        raise AssertionError(f"no response to {id!r}; last messages: {self.seen[-3:]}")

    def call(self, method, params=None, seconds=10.0):
        return self.response(self.request(method, params), seconds)

    def tool(self, name, arguments=None, seconds=10.0):
        return self.call("tools/call", {"name": name, "arguments": arguments or {}}, seconds)["result"]

    def stateless_call(self, method, params=None, seconds=10.0):
        return self.call(method, {**(params or {}), "_meta": META}, seconds)

    def initialize(self, capabilities=None, version="2025-11-25"):
        """Initializes the connection like a legacy client."""
        parameters = {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": {"name": "raw", "version": "1"}}
        response = self.call("initialize", parameters)
        self.notify("notifications/initialized")
        return response
