//! The exact limits of each client.

use insta::assert_snapshot;
use skills_manifest::Document;
use skills_ref_compat::{Client, Severity};

/// Returns the codes of a client's diagnostics for a skill in the directory `directory`.
fn codes(client: Client, frontmatter: &str, directory: &str) -> Vec<&'static str> {
    let document = Document::parse(format!("---\n{frontmatter}\n---\n").as_bytes()).unwrap();
    client
        .lint(&document, directory)
        .iter()
        .map(|diagnostic| diagnostic.code)
        .collect()
}

/// Returns the clients that report `code` for a skill.
fn clients_reporting(code: &str, frontmatter: &str, directory: &str) -> String {
    let clients = Client::ALL
        .into_iter()
        .filter(|client| codes(*client, frontmatter, directory).contains(&code));
    clients
        .map(|client| client.to_string())
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn name_length_and_hyphens_follow_each_client() {
    let name = |characters: usize| "a".repeat(characters);
    let long = |characters: usize| {
        clients_reporting(
            "name-long",
            &format!("name: {}\ndescription: d", name(characters)),
            &name(characters),
        )
    };
    assert_eq!(
        (long(64).as_str(), long(65).as_str()),
        ("", "agent-framework claude-api codex copilot spec")
    );
    for name in ["-a", "a-", "a--b"] {
        let found = clients_reporting(
            "name-hyphen",
            &format!("name: '{name}'\ndescription: d"),
            name,
        );
        assert_eq!(
            found, "agent-framework claude-api deepagents spec",
            "{name}"
        );
    }
    assert_eq!(
        clients_reporting("name-hyphen", "name: a-b\ndescription: d", "a-b"),
        ""
    );
    // Names are compared like in the reference validator: full-width letters are equal.
    assert_eq!(
        clients_reporting("name-directory", "name: a\ndescription: d", "ａ"),
        ""
    );
}

#[test]
fn description_limits_follow_each_client() {
    let long = |fields: &str, characters: usize| {
        clients_reporting(
            "description-long",
            &format!("name: a\ndescription: {}{fields}", "é".repeat(characters)),
            "a",
        )
    };
    assert_eq!(
        (long("", 1024).as_str(), long("", 1025).as_str()),
        (
            "",
            "agent-framework claude-api codex copilot deepagents spec"
        )
    );
    assert!(!long("", 1536).contains("claude ") && long("", 1537).contains("claude "));
    // The text that Claude Code appends to the description counts.
    let often = "\nwhen_to_use: often";
    assert!(!long(often, 1531).contains("claude ") && long(often, 1532).contains("claude "));
    let compatibility = |characters: usize| {
        clients_reporting(
            "compatibility-long",
            &format!(
                "name: a\ndescription: d\ncompatibility: {}",
                "c".repeat(characters)
            ),
            "a",
        )
    };
    assert_eq!(
        (compatibility(500).as_str(), compatibility(501).as_str()),
        ("", "claude-api spec")
    );
    assert_eq!(
        clients_reporting("description-brackets", "name: a\ndescription: a < b", "a"),
        "claude-api"
    );
}

#[test]
fn metadata_must_be_text_for_the_specification() {
    assert_eq!(
        clients_reporting(
            "metadata-type",
            "name: a\ndescription: d\nmetadata: {a: b, c: 1}",
            "a"
        ),
        "claude-api spec"
    );
    assert_eq!(
        clients_reporting(
            "metadata-type",
            "name: a\ndescription: d\nmetadata: {a: b, c: '1'}",
            "a"
        ),
        ""
    );
}

#[test]
fn a_missing_name_is_an_error_if_the_client_requires_it() {
    let document = Document::parse(b"---\ndescription: d\n---\n").unwrap();
    let rejects = |client: &Client| {
        let diagnostics = client.lint(&document, "a");
        diagnostics.iter().any(|diagnostic| {
            diagnostic.code == "name-missing" && diagnostic.severity == Severity::Error
        })
    };
    let rejecting: Vec<String> = Client::ALL
        .into_iter()
        .filter(rejects)
        .map(|client| client.to_string())
        .collect();
    assert_eq!(
        rejecting.join(" "),
        "agent-framework claude-api copilot deepagents gemini goose spec"
    );
}

#[test]
fn name_characters_follow_each_client() {
    for (name, clients) in [
        ("a_b", "agent-framework claude-api deepagents spec"),
        ("A.b", "agent-framework claude-api deepagents spec"),
        ("a b", "agent-framework claude-api deepagents spec"),
        ("\u{fc}1", "agent-framework claude-api copilot"),
        ("a!", "agent-framework claude-api copilot deepagents spec"),
        ("a-1", ""),
    ] {
        assert_eq!(
            clients_reporting(
                "name-characters",
                &format!("name: '{name}'\ndescription: d"),
                name
            ),
            clients,
            "{name}"
        );
    }
}

#[test]
fn clients_differ() {
    let text = format!(
        "---\nname: My_Skill\ndescription: Uses <b> {}\nversion: 1\ncontext: fork\n---\n",
        "x".repeat(1600)
    );
    let document = Document::parse(text.as_bytes()).unwrap();
    let mut out = String::new();
    for client in Client::ALL {
        out.push_str(&format!("{client}\n"));
        for diagnostic in client.lint(&document, "other") {
            out.push_str(&format!(
                "  {} {}: {diagnostic}\n",
                diagnostic.severity.as_str(),
                diagnostic.code
            ));
        }
    }
    assert_snapshot!(out);
    let good = Document::parse(b"---\nname: good\ndescription: Good.\n---\n").unwrap();
    for client in Client::ALL {
        assert_eq!(client.lint(&good, "good"), [], "{client}");
    }
}

/// YAML reads brackets without quotes as a list. Copilot CLI rejects the skill since 1.0.65; the others
/// show the list or ignore the field.
#[test]
fn an_argument_hint_that_is_not_text_is_rejected_by_copilot() {
    let reporting = |hint: &str| {
        let frontmatter = format!("name: a\ndescription: d\nargument-hint: {hint}");
        clients_reporting("argument-hint-type", &frontmatter, "a")
    };
    for hint in ["[file]", "[a, b]", "{a: b}", "7", "true"] {
        assert_eq!(reporting(hint), "copilot", "{hint}");
    }
    for hint in ["\"[file]\"", "file", "", "'7'"] {
        assert_eq!(reporting(hint), "", "{hint}");
    }
}
