"""Messages that client libraries never send."""

import os
import pathlib
import time

from clients import PROGRAMS
from environment import find_processes, new_marker, wait_until
from harness import test
from raw_client import META, RawClient


def client(env, *more, capabilities=None):
    raw = RawClient(env.start_stdio(*more))
    raw.initialize(capabilities)
    return raw


@test()
def invalid_lines_do_not_close_the_connection(env):
    raw = client(env)
    for line in [b"", b"{", b"\xff\xfe", b"null", b"[]", b'{"jsonrpc":"2.0","id":1}', b"Content-Length: 3\r\n\r", b"[" * 100_000]:
        raw.write(line + b"\n")
    assert raw.call("ping")["result"] == {}


@test()
def unsolicited_responses_are_ignored(env):
    raw = client(env, capabilities={"elicitation": {}})
    for id in (0, 1, "0", -1, 99):
        raw.send({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {"decision": "allow_always"}}})
        raw.send({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": "no"}})
    assert raw.call("ping")["result"] == {}


@test()
def cancellations_of_unknown_requests_are_ignored(env):
    raw = client(env)
    for id in (0, 99, "raw-99", "raw-1"):
        raw.notify("notifications/cancelled", {"requestId": id})
    assert raw.call("ping")["result"] == {}


@test()
def the_server_exits_at_the_end_of_input(env):
    raw = client(env)
    raw.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"skills_')
    raw.process.stdin.close()
    assert wait_until(lambda: raw.process.poll() == 0, 5)


@test()
def stateless_requests_need_no_initialization(env):
    raw = RawClient(env.start_stdio())
    assert raw.call("tools/list")["error"]["code"] == -32602, "the request names no protocol version"
    unknown = {**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    assert raw.call("tools/list", {"_meta": unknown})["error"]["code"] == -32022
    assert "tools" in raw.stateless_call("tools/list")["result"]


@test(seconds=60)
def a_thousand_pipelined_requests_are_all_answered(env):
    for number in range(20):
        env.skill(f"skill-{number}")
    raw = client(env)
    begun = time.monotonic()
    ids = {raw.request("tools/list") for _ in range(1_000)}
    while ids:
        message = raw.receive(20)
        assert message and "result" in message, message
        ids.discard(message["id"])
    assert time.monotonic() - begun < 50


@test(seconds=60)
def invalid_requests_get_error_responses(env):
    raw = client(env)
    call = b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"skills_ls","arguments":{"path":%s}}}'
    deep, half, long = b"[" * 200 + b"]" * 200, rb'"\ud800"', b'"' + b"x" * (17 << 20) + b'"'
    unanswered = []
    ping = b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"_meta":7}}'
    for line in [b"{", b"\xff\xfe", call % deep, call % half, call % long, ping]:
        raw.write(line + b"\n")
        message = raw.receive(3)
        if not message or "error" not in message or (line == ping and message.get("id") != 5):
            unanswered.append((line[:60], message))
    assert raw.call("ping")["result"] == {}
    assert not unanswered, unanswered


@test()
def invalid_parameters_are_reported_as_such(env):
    raw = client(env)
    for method, parameters in [
        ("tools/call", {}),
        ("tools/call", {"name": 7}),
        ("tools/call", {"name": "skills_ls", "arguments": []}),
        ("prompts/get", {}),
        ("resources/read", {"uri": 7}),
        ("completion/complete", {}),
        ("skills/get", {}),
    ]:
        assert raw.call(method, parameters)["error"]["code"] == -32602, method
        assert raw.stateless_call(method, parameters)["error"]["code"] == -32602, method
    assert raw.call("nothing/like/it")["error"]["code"] == -32601


@test()
def a_duplicate_id_does_not_affect_the_first_request(env):
    marker = new_marker()
    env.skill("work", PROGRAMS)
    env.script("work", "long.sh", f"sh -c 'while :; do sleep 1; done' {marker}\n")
    raw = client(env, "--allow", "spawn")
    call = {"name": "skills_run", "arguments": {"name": "work", "command": "sh scripts/long.sh"}}
    raw.request("tools/call", call, id=7)
    assert wait_until(lambda: find_processes(marker))
    raw.request("ping", id=7)
    # Without an id, since the id belongs to the other request.
    assert "id" not in raw.receive(5)
    raw.notify("notifications/cancelled", {"requestId": 7})
    assert wait_until(lambda: not find_processes(marker), 3), "the call cannot be cancelled any more"


@test()
def messages_before_initialization_are_ignored(env):
    for message in [
        {"method": "notifications/cancelled", "params": {"requestId": 1}},
        {"method": "notifications/initialized"},
        {"id": 1, "result": {}},
    ]:
        raw = RawClient(env.start_stdio())
        raw.send({"jsonrpc": "2.0", **message})
        assert raw.initialize()["result"]["serverInfo"]["name"] == "skills", message


@test()
def repeated_initialized_notifications_do_not_repeat_list_changes(env):
    env.skill("work")
    raw = client(env)
    for _ in range(100):
        raw.notify("notifications/initialized")
    raw.call("tools/list")
    env.skill("other")
    received = []
    while message := raw.receive(3):
        received.append(message["method"])
    assert received == ["notifications/tools/list_changed"], len(received)


def megabytes(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) // 1024


def flood(raw, messages, seconds):
    """Sends messages repeatedly as long as the server reads them."""
    blob, end = b"".join(messages), time.monotonic() + seconds
    os.set_blocking(raw.process.stdin.fileno(), False)
    while time.monotonic() < end:
        try:
            rest = os.write(raw.process.stdin.fileno(), blob)
            blob = blob[rest:] + blob[:rest]
        except BlockingIOError:
            time.sleep(0.01)


@test()
def memory_is_bounded_for_a_client_that_never_reads(env):
    for number in range(20):
        env.skill(f"skill-{number}")
    for method in (b"ping", b"tools/list", b"resources/list", b"server/discover"):
        raw = client(env)
        flood(raw, [b'{"jsonrpc":"2.0","id":1,"method":"%s","params":{}}\n' % method], 4)
        assert megabytes(raw.process) < 300, f"{method}: {megabytes(raw.process)} MiB"
        raw.process.kill()


@test()
def error_messages_truncate_long_input(env):
    raw = client(env)
    long = "x" * (1 << 20)
    for method, parameters in [
        ("tools/call", {"name": long}),
        ("resources/read", {"uri": f"skill://{long}/SKILL.md"}),
        ("skills/get", {"uri": f"skill://{long}/SKILL.md"}),
        ("prompts/get", {"name": long}),
        ("resources/directory/read", {"uri": f"skill://{long}"}),
    ]:
        response = raw.call(method, parameters)
        assert len(str(response["error"])) < 10_000, f"{method}: {len(str(response['error']))}"
