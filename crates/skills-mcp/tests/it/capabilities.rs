//! Capabilities are claimed if, and only if, they are served.

use serde_json::{Value, json};

use crate::client::{Client, Lifecycle};
use crate::fixture::Host;

/// A capability, and a request that exists only with it.
fn probes() -> Vec<(&'static str, &'static str, Value)> {
    let template = json!({"type": "ref/resource", "uri": "skill://{name}/{+path}"});
    let argument = json!({"name": "name", "value": "gr"});
    let uri = json!({"uri": "skill://greet/SKILL.md"});
    vec![
        ("/tools", "tools/list", json!({})),
        (
            "/tools",
            "tools/call",
            json!({"name": "skills_ls", "arguments": {}}),
        ),
        ("/prompts", "prompts/list", json!({})),
        ("/prompts", "prompts/get", json!({"name": "skill_guide"})),
        ("/resources", "resources/list", json!({})),
        ("/resources", "resources/templates/list", json!({})),
        ("/resources", "resources/read", uri.clone()),
        ("/resources/subscribe", "resources/subscribe", uri.clone()),
        ("/resources/subscribe", "resources/unsubscribe", uri.clone()),
        ("/logging", "logging/setLevel", json!({"level": "info"})),
        (
            "/completions",
            "completion/complete",
            json!({"ref": template, "argument": argument}),
        ),
        (
            "/extensions/io.modelcontextprotocol~1skills",
            "skills/list",
            json!({}),
        ),
        (
            "/extensions/io.modelcontextprotocol~1skills",
            "skills/get",
            uri,
        ),
        (
            "/extensions/io.modelcontextprotocol~1skills/directoryRead",
            "resources/directory/read",
            json!({"uri": "skill://greet"}),
        ),
        (
            "/extensions/io.modelcontextprotocol~1tasks",
            "tasks/get",
            json!({"taskId": "1"}),
        ),
    ]
}

/// Connects a client, and returns the capabilities of the server.
async fn connect(host: &Host, lifecycle: Lifecycle) -> (Client, Value) {
    let server = host.server(&[]);
    let mut client = Client::connect(&server, lifecycle, json!({})).await;
    let described = match lifecycle {
        Lifecycle::Stateless => client.ok("server/discover", json!({})).await,
        Lifecycle::Legacy => client.initialized.clone(),
    };
    (client, described["capabilities"].clone())
}

#[tokio::test]
async fn claimed_capabilities_are_served_and_others_are_not_in_both_lifecycles() {
    let host = Host::new();
    host.skill("greet", "");
    for lifecycle in [Lifecycle::Legacy, Lifecycle::Stateless] {
        let (mut client, capabilities) = connect(&host, lifecycle).await;
        assert!(capabilities["tools"].is_object(), "{capabilities}");
        for (capability, method, params) in probes() {
            let claimed = capabilities.pointer(capability);
            let is_claimed = claimed.is_some_and(|claimed| *claimed != false);
            let answer = client.call(method, params).await;
            let expected = if is_claimed {
                Value::Null
            } else {
                json!(-32601)
            };
            assert_eq!(
                answer["error"]["code"], expected,
                "{lifecycle:?}, {method}: {answer}"
            );
        }
    }
}

/// Whether changes are really notified is the subject of the tests of lists.
#[tokio::test]
async fn subscriptions_are_accepted_for_claimed_capabilities_only() {
    let host = Host::new();
    let (mut client, capabilities) = connect(&host, Lifecycle::Stateless).await;
    let requested = json!({
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourcesListChanged": true,
        "resourceSubscriptions": ["skill://greet/SKILL.md"],
    });
    client
        .send("subscriptions/listen", json!({"notifications": requested}))
        .await;
    let method = "notifications/subscriptions/acknowledged";
    let accepted = client.notification(method).await["params"]["notifications"].clone();
    for (capability, filter) in [
        ("/tools/listChanged", "toolsListChanged"),
        ("/prompts/listChanged", "promptsListChanged"),
        ("/resources/listChanged", "resourcesListChanged"),
        ("/resources/subscribe", "resourceSubscriptions"),
    ] {
        let is_claimed = capabilities.pointer(capability) == Some(&json!(true));
        assert_eq!(
            !accepted[filter].is_null(),
            is_claimed,
            "{filter}: {accepted}"
        );
    }
}
