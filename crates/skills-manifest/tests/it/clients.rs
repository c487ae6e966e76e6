//! The limits of clients, where they begin.

use skills_manifest::{Client, Document, Draft, Severity};

/// The codes of what a client finds in a skill in the directory `directory`.
fn codes(client: Client, frontmatter: &str, directory: &str) -> Vec<&'static str> {
    let document = Document::parse(format!("---\n{frontmatter}\n---\n").as_bytes()).unwrap();
    client
        .lint(&document, directory)
        .iter()
        .map(|finding| finding.code)
        .collect()
}

/// The clients that find `code` in a skill.
fn finders(code: &str, frontmatter: &str, directory: &str) -> String {
    let finders = Client::ALL
        .into_iter()
        .filter(|client| codes(*client, frontmatter, directory).contains(&code));
    finders
        .map(|client| client.to_string())
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn names_are_limited_where_the_client_says() {
    let name = |characters: usize| "a".repeat(characters);
    let long = |characters: usize| {
        finders(
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
        let found = finders(
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
        finders("name-hyphen", "name: a-b\ndescription: d", "a-b"),
        ""
    );
    // Names are compared as the reference tool does: full-width letters are the same.
    assert_eq!(
        finders("name-directory", "name: a\ndescription: d", "ａ"),
        ""
    );
}

#[test]
fn descriptions_are_limited_where_the_client_says() {
    let long = |fields: &str, characters: usize| {
        finders(
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
    // What Claude Code shows behind the description counts.
    let often = "\nwhen_to_use: often";
    assert!(!long(often, 1531).contains("claude ") && long(often, 1532).contains("claude "));
    let compatibility = |characters: usize| {
        finders(
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
        finders("description-brackets", "name: a\ndescription: a < b", "a"),
        "claude-api"
    );
}

#[test]
fn metadata_that_is_not_text_is_found_by_the_specification() {
    assert_eq!(
        finders(
            "metadata-type",
            "name: a\ndescription: d\nmetadata: {a: b, c: 1}",
            "a"
        ),
        "claude-api spec"
    );
    assert_eq!(
        finders(
            "metadata-type",
            "name: a\ndescription: d\nmetadata: {a: b, c: '1'}",
            "a"
        ),
        ""
    );
}

#[test]
fn a_missing_name_is_an_error_where_the_client_needs_one() {
    let document = Document::parse(b"---\ndescription: d\n---\n").unwrap();
    let refuse = Client::ALL.into_iter().filter(|client| {
        let findings = client.lint(&document, "a");
        findings
            .iter()
            .any(|finding| finding.code == "name-missing" && finding.severity == Severity::Error)
    });
    let refuse: Vec<String> = refuse.map(|client| client.to_string()).collect();
    assert_eq!(
        refuse.join(" "),
        "agent-framework claude-api copilot deepagents gemini goose spec"
    );
}

#[test]
fn letters_of_names_are_limited_where_the_client_says() {
    for (name, clients) in [
        ("a_b", "agent-framework claude-api deepagents spec"),
        ("A.b", "agent-framework claude-api deepagents spec"),
        ("a b", "agent-framework claude-api deepagents spec"),
        ("\u{fc}1", "agent-framework claude-api copilot"),
        ("a!", "agent-framework claude-api copilot deepagents spec"),
        ("a-1", ""),
    ] {
        assert_eq!(
            finders(
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
fn a_draft_suggests_a_name_where_one_is_plain() {
    let longest = "a_".repeat(64);
    let most = format!("{}{}", "a".repeat(64), "_".repeat(64));
    for (name, suggestion) in [
        ("Code-Reviewer", Some("code-reviewer")),
        ("dataAnalyzer", Some("data-analyzer")),
        ("My Tool v1.2", Some("my-tool-v1-2")),
        ("..", None),
        ("a/b", None),
        ("\u{e9}", None),
        (longest.as_str(), None),
        (most.as_str(), Some(&most[..64])),
        (&format!("{most}_"), None),
    ] {
        assert_eq!(
            Draft::new(name, "d").unwrap_err().suggestion(),
            suggestion,
            "{name}"
        );
    }
    assert_eq!(Draft::new("a", "").unwrap_err().suggestion(), None);
}
