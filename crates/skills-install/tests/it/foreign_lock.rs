//! Lock files of other installers.

use skills_install::{InstallErrorKind, parse_foreign_lock};

/// Returns the source of each skill, or the error.
fn sources(skills: &str) -> Vec<String> {
    let text = format!(r#"{{"version": 1, "skills": {{{skills}}}}}"#);
    let skills = parse_foreign_lock(&text, "lock.json").unwrap().into_iter();
    let sources = skills.map(|skill| match skill.source {
        Ok(source) => format!("{} {source}", skill.name),
        Err(error) => format!("{} {error}", skill.name),
    });
    sources.collect()
}

#[cfg(feature = "clawhub")]
#[test]
fn an_entry_is_of_the_installer_whose_fields_it_has() {
    assert_eq!(
        sources(
            r#""a": {"source": "acme/skills", "sourceType": "github"},
               "b": {"version": "1.2", "installedAt": 1},
               "c": {}"#
        ),
        [
            "a https://github.com/acme/skills.git",
            "b clawhub:b@1.2",
            "c clawhub:c",
        ]
    );
}

#[test]
fn an_entry_of_another_form_is_never_taken_from_a_registry() {
    for entry in [
        r#"{"repo": "acme/skills", "version": "1"}"#,
        "1",
        "null",
        "[]",
    ] {
        assert_eq!(
            sources(&format!(r#""a": {entry}"#)),
            ["a cannot parse source `a`: its entry has no `source`, and is not one of ClawHub"]
        );
    }
    let error = parse_foreign_lock("[]", "lock.json").unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Lock);
}
