//! Entries that skills require: what is added, and what a file has already.

use super::*;

/// Entries that a skill requires: a URL, and a command.
fn required_entries() -> [ServerEntry; 2] {
    let required = |name: &str, transport| ServerEntry {
        name: name.to_owned(),
        transport,
        origin: EntryOrigin::Requirement,
    };
    let http = Transport::Http {
        url: "https://docs.example/mcp".to_owned(),
        token_variable: None,
    };
    let stdio = Transport::Stdio {
        command: "local-mcp".to_owned(),
        arguments: Vec::new(),
    };
    [required("docs", http), required("local", stdio)]
}

/// An entry that was added is known by its key, under any name, in the file of each client.
#[test]
fn no_server_is_added_twice() {
    for client in ServerClient::all() {
        let keep = |elsewhere| OnExisting::Keep { elsewhere };
        let none = keep(BTreeSet::new());
        let skip = usize::from(!client.supports_urls());
        let mut entries = required_entries()[skip..].to_vec();
        let planned = plan_edits(client, None, &entries, &none).unwrap();
        let changed = |change| vec![change; entries.len()];
        assert_eq!(planned.changes, changed(EntryChange::Added), "{client:?}");
        let unchanged = changed(EntryChange::Unchanged);
        for entry in &mut entries {
            entry.name.push_str("-alias");
        }
        let again = plan_edits(client, Some(&planned.text), &entries, &none).unwrap();
        assert_eq!((&again.text, &again.changes), (&planned.text, &unchanged));
        // Those of another scope count too.
        let elsewhere = keep(servers(client, Some(&planned.text)).unwrap().keys());
        let known = plan_edits(client, Some(""), &entries, &elsewhere).unwrap();
        assert_eq!(known.changes, unchanged, "{client:?}");
    }
}

#[test]
fn servers_of_both_tables_and_foreign_entries_are_read() {
    let file = "\u{feff}{ // mine\n\"mcp\": {\"a\": {\"type\": \"local\", \"command\": [\"local-mcp\", \"-v\"]}, \"odd\": 1, \"servers\": {\"b\": {\"url\": \"https://docs.example/mcp\"}}}}";
    let found = servers(named("opencode"), Some(file)).unwrap();
    assert!(["a", "b", "odd"].iter().all(|name| found.has_name(name)));
    let keys = found.keys();
    assert!(
        required_entries()
            .iter()
            .all(|entry| keys.contains(&entry.key()))
    );
    for wrong in ["[]", "{\"mcp\": []}", "{"] {
        assert!(servers(named("opencode"), Some(wrong)).is_err(), "{wrong}");
    }
    for empty in [None, Some(""), Some("{}"), Some("{\"mcp\": null}")] {
        assert!(!servers(named("opencode"), empty).unwrap().has_name("a"));
    }
}

/// A server of a skill gets nothing that only the server of this program needs.
#[test]
fn entries_of_skills_have_no_timeout_and_no_token() {
    let [http, stdio] = required_entries();
    insta::assert_snapshot!(new_files(&http) + &new_files(&stdio));
}
