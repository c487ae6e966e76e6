//! The grammar of sources.

use std::path::Path;

use proptest::prelude::*;
use skills_install::{SourceRule, SourceSpec};

#[test]
fn a_relative_directory_is_resolved_against_a_given_one() {
    let spec: SourceSpec = "../skills//pdf".parse().unwrap();
    let resolved = spec.resolved_at(Path::new("/work/project"));
    assert_eq!(resolved.to_string(), "/work/skills//pdf");
    let git: SourceSpec = "acme/skills".parse().unwrap();
    assert_eq!(git.clone().resolved_at(Path::new("/work")), git);
}

#[test]
fn a_rule_of_sources_matches_whole_identities_only() {
    let allows = |rule: &str, text: &str| SourceRule::new(rule).allows(&text.parse().unwrap());
    assert!(allows(
        "https://skills.acme.example",
        "https://skills.acme.example"
    ));
    assert!(!allows(
        "https://skills.acme.example",
        "https://skills.acme.example.evil.example"
    ));
    assert!(!allows(
        "git:github.com/acme/*",
        "http://github.com/acme/skills.git"
    ));
    assert!(!allows(
        "git:github.com/acme/*",
        "git://github.com/acme/skills"
    ));
    assert!(!allows("github.com/acme/*", "acme/skills"));
    assert!(allows("dir:/srv/*", "/srv/skills"));
    // A question mark would match any character.
    assert!(!allows("git:github.com/acm?/*", "acme/skills"));
}

proptest! {
    /// Text that parses is written as text that parses as the same value.
    #[test]
    fn the_text_of_a_parsed_source_parses_as_the_same_source(
        text in r"(\./|/|git\+|npm:|oci:|oci://|clawhub:|clawhub\+https://|https://|git@|file:///)?[a-zA-Z0-9./:@#-]{0,30}(#[a-z0-9.]{1,8})?(//[a-z./]{1,8}(\.zip)?)?"
    ) {
        if let Ok(spec) = text.parse::<SourceSpec>() {
            let again = spec.to_string().parse::<SourceSpec>();
            prop_assert_eq!(again.as_ref(), Ok(&spec), "{}", spec);
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        let _ = text.parse::<SourceSpec>().map_err(|error| error.help());
    }
}

#[test]
fn a_directory_below_the_root_of_the_file_system_is_one() {
    for text in ["/.//.zip", "/.//skills/pdf", "/././/a.tar.gz"] {
        let spec: SourceSpec = text.parse().unwrap();
        assert_eq!(spec.kind(), "directory", "{text}");
        assert!(spec.to_string().starts_with("/.//"), "{spec}");
        assert_eq!(spec.to_string().parse(), Ok(spec));
    }
    let root: SourceSpec = "/".parse().unwrap();
    assert_eq!(root.to_string(), "/");
    let below = root.with_path(skills_discovery::TreePath::new("pdf").unwrap());
    assert_eq!(below.to_string().parse(), Ok(below));
}

#[test]
fn the_query_of_a_url_is_part_of_the_identity() {
    let identity = |text: &str| text.parse::<SourceSpec>().unwrap().identity();
    let url = "archive+https://clawhub.ai/api/v1/download";
    assert_eq!(
        identity(&format!("{url}?slug=good")),
        "https:clawhub.ai/api/v1/download?slug=good"
    );
    let any = SourceRule::new("https://clawhub.ai/*");
    assert!(any.allows(&format!("{url}?slug=good").parse().unwrap()));
    let one = SourceRule::new("https://clawhub.ai/api/v1/download");
    assert!(!one.allows(&format!("{url}?slug=evil").parse().unwrap()));
}

#[test]
fn a_repository_on_disk_is_never_one_of_a_host() {
    for (text, identity) in [
        ("git+./github.com:acme/skills", "dir:github.com:acme/skills"),
        (
            "git+../github.com:acme/skills.git",
            "dir:../github.com:acme/skills",
        ),
    ] {
        let spec: SourceSpec = text.parse().unwrap();
        assert_eq!(
            spec.resolved_at(Path::new("")).identity(),
            identity,
            "{text}"
        );
    }
}

#[test]
fn a_source_of_the_scheme_file_is_a_path() {
    for (text, path) in [
        ("file:acme/skills", "./acme/skills"),
        ("file://acme/skills", "./acme/skills"),
        ("file:git@host:x", "./git@host:x"),
        ("file:/srv/skills", "/srv/skills"),
        ("file:///srv/skills", "/srv/skills"),
        ("file:../a.zip", "../a.zip"),
        ("file:acme/skills//pdf", "./acme/skills//pdf"),
    ] {
        let spec: SourceSpec = text.parse().unwrap();
        assert_eq!(spec.to_string(), path, "{text}");
    }
    assert!("file:".parse::<SourceSpec>().is_err());
}
