//! The text of each kind of source.

use insta::assert_snapshot;
use skills_install::SourceSpec;

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

#[cfg(all(feature = "clawhub", feature = "mcp", feature = "npm", feature = "oci"))]
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
        "./a::b",
        "git+./a::b",
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

#[cfg(all(feature = "clawhub", feature = "mcp", feature = "npm", feature = "oci"))]
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
