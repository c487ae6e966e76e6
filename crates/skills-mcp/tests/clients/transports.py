"""The transports and lifecycles with which the tests run."""

from typing import NamedTuple


class Transport(NamedTuple):
    """How a client connects: over `stdio` or `http`, with the `stateless` or `legacy` lifecycle."""

    kind: str
    lifecycle: str

    def __str__(self):
        return f"{self.kind} {self.lifecycle}"


LIFECYCLES = ["stateless", "legacy"]
TRANSPORTS = [Transport(kind, lifecycle) for kind in ("stdio", "http") for lifecycle in LIFECYCLES]
STDIO = [transport for transport in TRANSPORTS if transport.kind == "stdio"]
HTTP = [transport for transport in TRANSPORTS if transport.kind == "http"]
STATELESS = [transport for transport in TRANSPORTS if transport.lifecycle == "stateless"]
LEGACY = [transport for transport in TRANSPORTS if transport.lifecycle == "legacy"]
