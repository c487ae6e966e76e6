"""Messages that client libraries never send."""

import os
import pathlib
import time

from clients import PROGRAMS
from harness import test
from raw import META, Raw
from world import mark, marked, until


def client(world, *more, capabilities=None):
    raw = Raw(world.pipes(*more))
    raw.begin(capabilities)
    return raw


@test()
def what_is_no_message_ends_nothing(world):
    raw = client(world)
    for line in [b"", b"{", b"\xff\xfe", b"null", b"[]", b'{"jsonrpc":"2.0","id":1}', b"Content-Length: 3\r\n\r", b"[" * 100_000]:
        raw.write(line + b"\n")
    assert raw.call("ping")["result"] == {}


@test()
def answers_to_nothing_count_for_nothing(world):
    raw = client(world, capabilities={"elicitation": {}})
    for id in (0, 1, "0", -1, 99):
        raw.send({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {"decision": "allow_always"}}})
        raw.send({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": "no"}})
    assert raw.call("ping")["result"] == {}


@test()
def cancelling_what_is_not_there_changes_nothing(world):
    raw = client(world)
    for id in (0, 99, "raw-99", "raw-1"):
        raw.notify("notifications/cancelled", {"requestId": id})
    assert raw.call("ping")["result"] == {}


@test()
def the_end_of_input_ends_the_server(world):
    raw = client(world)
    raw.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"skills_')
    raw.process.stdin.close()
    assert until(lambda: raw.process.poll() == 0, 5)


@test()
def requests_stand_for_themselves_before_any_handshake(world):
    raw = Raw(world.pipes())
    assert raw.call("tools/list")["error"]["code"] == -32602, "it names no revision"
    unknown = {**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    assert raw.call("tools/list", {"_meta": unknown})["error"]["code"] == -32022
    assert "tools" in raw.modern("tools/list")["result"]


@test(seconds=60)
def a_thousand_lists_at_once_are_all_answered(world):
    for number in range(20):
        world.skill(f"skill-{number}")
    raw = client(world)
    begun = time.monotonic()
    ids = {raw.request("tools/list") for _ in range(1_000)}
    while ids:
        message = raw.receive(20)
        assert message and "result" in message, message
        ids.discard(message["id"])
    assert time.monotonic() - begun < 50


@test(seconds=60)
def whoever_asks_gets_an_answer(world):
    raw = client(world)
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
def wrong_parameters_are_not_an_unknown_method(world):
    raw = client(world)
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
        assert raw.modern(method, parameters)["error"]["code"] == -32602, method
    assert raw.call("nothing/like/it")["error"]["code"] == -32601


@test()
def one_id_for_two_requests_loses_neither(world):
    word = mark()
    world.skill("work", PROGRAMS)
    world.script("work", "long.sh", f"sh -c 'while :; do sleep 1; done' {word}\n")
    raw = client(world, "--allow", "spawn")
    call = {"name": "skills_run", "arguments": {"name": "work", "command": "sh scripts/long.sh"}}
    raw.request("tools/call", call, id=7)
    assert until(lambda: marked(word))
    raw.request("ping", id=7)
    # Without an id, since the id belongs to the other request.
    assert "id" not in raw.receive(5)
    raw.notify("notifications/cancelled", {"requestId": 7})
    assert until(lambda: not marked(word), 3), "the call cannot be cancelled any more"


@test()
def a_message_before_the_handshake_ends_nothing(world):
    for message in [
        {"method": "notifications/cancelled", "params": {"requestId": 1}},
        {"method": "notifications/initialized"},
        {"id": 1, "result": {}},
    ]:
        raw = Raw(world.pipes())
        raw.send({"jsonrpc": "2.0", **message})
        assert raw.begin()["result"]["serverInfo"]["name"] == "skills", message


@test()
def a_handshake_that_is_repeated_repeats_no_news(world):
    world.skill("work")
    raw = client(world)
    for _ in range(100):
        raw.notify("notifications/initialized")
    raw.call("tools/list")
    world.skill("other")
    heard = []
    while message := raw.receive(3):
        heard.append(message["method"])
    assert heard == ["notifications/tools/list_changed"], len(heard)


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
def a_client_that_never_reads_costs_no_end_of_memory(world):
    for number in range(20):
        world.skill(f"skill-{number}")
    for method in (b"ping", b"tools/list", b"resources/list", b"server/discover"):
        raw = client(world)
        flood(raw, [b'{"jsonrpc":"2.0","id":1,"method":"%s","params":{}}\n' % method], 4)
        assert megabytes(raw.process) < 300, f"{method}: {megabytes(raw.process)} MiB"
        raw.process.kill()


@test()
def what_a_client_sends_is_not_sent_back_at_length(world):
    raw = client(world)
    long = "x" * (1 << 20)
    for method, parameters in [
        ("tools/call", {"name": long}),
        ("resources/read", {"uri": f"skill://{long}/SKILL.md"}),
        ("skills/get", {"uri": f"skill://{long}/SKILL.md"}),
        ("prompts/get", {"name": long}),
        ("resources/directory/read", {"uri": f"skill://{long}"}),
    ]:
        answer = raw.call(method, parameters)
        assert len(str(answer["error"])) < 10_000, f"{method}: {len(str(answer['error']))}"
