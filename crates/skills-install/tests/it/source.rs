//! The grammar of sources.

use std::path::Path;

use insta::assert_snapshot;
use proptest::prelude::*;
use skills_install::{SourceRule, SourceSpec};

/// Returns the kind, parts and identity of a source on one line.
fn describe(text: &str) -> String {
    match text.parse::<SourceSpec>() {
        Ok(spec) => {
            let again: SourceSpec = spec.to_string().parse().unwrap();
            assert_eq!(again, spec, "{text}");
            let reference = spec.reference().unwrap_or("-");
            format!(
                "{} | {reference} | {} | {spec} | {}",
                spec.kind(),
                spec.path(),
                spec.identity()
            )
        }
        Err(error) => format!("{error}; help: {}", error.help()),
    }
}

fn describe_all(texts: &[&str]) -> String {
    let lines = texts
        .iter()
        .map(|text| format!("{text} => {}\n", describe(text)));
    lines.collect()
}

#[test]
fn each_form_of_a_source_is_recognized_by_its_text() {
    assert_snapshot!(describe_all(&[
        ".",
        "./skills",
        "../skills//pdf",
        "/srv/skills",
        "C:\\skills\\pdf",
        "C:/skills",
        "\\\\server\\share",
        "file:///srv/skills",
        "./dir#1",
        "./a.tar.gz",
        "./a.zip#sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "acme/skills",
        "acme/skills.git#v1.0//skills/pdf",
        "https://github.com/acme/skills",
        "https://github.com/acme/skills/tree/main/skills/pdf",
        "https://gitlab.com/group/sub/skills.git#0123456789012345678901234567890123456789",
        "git+https://git.acme.example/skills//a/b",
        "git@github.com:acme/skills.git#feature/x",
        "ssh://git@git.acme.example:2222/acme/skills",
        "git://127.0.0.1:9418/skills",
        "https://acme.example/skills.tgz//pdf",
        "archive+https://acme.example/download?id=7",
        "https://skills.acme.example",
        "https://acme.example/docs///pdf",
        "https://acme.example/.well-known/agent-skills/index.json",
        "npm:./node_modules",
        "mcp+https://acme.example/mcp//acme/refunds",
        "oci:./layout#1.0//pdf",
        "oci://ghcr.io/acme/skills:1.0//pdf",
        "oci://GHCR.io:443/acme/skills",
        "oci://ghcr.io/acme/skills:1.0@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "oci://[::1]:5000/skills#1.0",
        "https://[2606:4700::1111]/skills.zip",
        "git+/srv/repository.git#main",
        "clawhub:pdf",
        "clawhub:pdf@1.2.0",
        "clawhub:pdf#1.2.0//docs",
        "clawhub+https://clawhub.ai/pdf",
        "clawhub+https://skills.acme.example:8443/hub/pdf@1.2.0",
    ]));
}

#[test]
fn a_text_that_is_not_a_source_has_an_error_that_says_what_to_write() {
    assert_snapshot!(describe_all(&[
        "",
        "pdf",
        "a/b/c",
        "ext::sh -c id",
        "git+ext::sh -c id",
        "ftp://acme.example/a.zip",
        "mcp:server",
        "mcp+./server",
        "mcp+https://acme.example/mcp#1",
        "https://user:secret@acme.example/a.zip",
        "https://token@github.com/acme/skills.git",
        "git@github.com:acme/../evil/skills",
        "https://github.com/acme/%2e%2e%2fevil/skills",
        "mcp+https://acme.example/a/\\/b",
        "ssh://-oProxyCommand=id/x",
        "git@-oProxyCommand=id:x",
        "acme/skills#--upload-pack=id",
        "acme/skills#a..b",
        "acme/skills#0123abc",
        "acme/skills//../other",
        "https://acme.example/a.zip#v1",
        "https://skills.acme.example#v1",
        "npm:.#1",
        "oci:",
        "oci://ghcr.io",
        "oci://ghcr.io/Acme/skills",
        "oci://ghcr.io/../acme",
        "oci://user:secret@ghcr.io/acme",
        "oci://ghcr.io/acme:-x",
        "oci://ghcr.io/acme@sha512:00",
        "acme/\u{202e}skills",
        "-x/skills",
        "clawhub:",
        "clawhub:../x",
        "clawhub:acme/pdf",
        "clawhub:pdf@",
        "clawhub:pdf@1/../2",
        "clawhub+https://user:secret@acme.example/pdf",
        "clawhub+https://user:secret@acme.example",
        "https://user:secret@acme.example:99999/a.zip",
    ]));
}

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
        text in r"(\./|/|git\+|npm:|oci:|oci://|clawhub:|clawhub\+https://|https://|git@|file:///)?[a-zA-Z0-9./:@#-]{0,30}(#[a-z0-9.]{1,8})?(//[a-z./]{1,8})?"
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
