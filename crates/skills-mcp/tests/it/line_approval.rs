//! Approvals of lines of commands with parts that run one by one.

use serde_json::{Value, json};
use skills_test_support::skip_without_sandbox;

use crate::client::{Client, Lifecycle};
use crate::fixture::Host;

/// A client that is asked by the result calls again, which must not repeat what was written.
#[tokio::test]
async fn a_line_that_wrote_a_file_is_not_called_again() {
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    std::fs::write(host.path("workspace/a"), "b\na\n").unwrap();
    let server = host.server(&["write"]);
    let forms = json!({"elicitation": {"form": {}}});
    let mut client = Client::connect(&server, Lifecycle::Stateless, forms).await;
    for (command, is_asked) in [
        ("sort a >> log && ln a x", false),
        ("mkdir made && ln a x", false),
        ("sort a | tee -i x", true),
        ("ln a x", true),
        ("false || echo fallback > f", false),
    ] {
        let call = json!({"name": "skills_bash", "arguments": {"command": command}});
        let result: Value = client.ok("tools/call", call).await;
        let is_prompt = result["resultType"] == "input_required";
        assert_eq!(is_prompt, is_asked, "{command}: {result}");
        if command.contains("log") {
            let text = result["content"].to_string();
            assert!(text.contains("commands of the line that ran: 1"), "{text}");
        }
    }
    let log = std::fs::read_to_string(host.path("workspace/log"));
    assert_eq!(log.unwrap(), "a\nb\n");
    let written = std::fs::read_to_string(host.path("workspace/f"));
    assert_eq!(written.unwrap(), "fallback\n");
}
