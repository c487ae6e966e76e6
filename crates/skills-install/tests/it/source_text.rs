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

/// The addresses that browsers and other programs have for a directory of a repository.
#[test]
fn addresses_of_pages_and_short_forms_are_directories_of_repositories() {
    assert_snapshot!(describe_all(&[
        "https://github.com/acme/skills/tree/main/skills/pdf",
        "https://github.com/acme/skills/blob/main/skills/pdf/SKILL.md",
        "https://github.com/acme/skills/blob/main/SKILL.md?plain=1",
        "https://github.com/acme/skills/tree/v1.0/",
        "https://github.com/acme/skills/tree/main/my%20skills",
        "https://github.com/acme/skills/tree/feature/x//skills",
        "https://github.com/acme/skills/tree/main/skills#v2",
        "https://gitlab.com/group/sub/skills/-/tree/main/skills?ref_type=heads",
        "https://gitlab.acme.example:8443/o/r/-/blob/main/pdf/SKILL.md",
        "https://gitlab.com/o/r/-/tree/main/src/branch/x",
        "https://codeberg.org/acme/skills/src/branch/main/skills",
        "https://git.acme.example/gitea/acme/skills/src/tag/v1.0/skills/-/tree/x",
        "https://codeberg.org/acme/skills/src/commit/0123456789012345678901234567890123456789/a",
        "https://bitbucket.org/acme/skills/src/main/skills/",
        "github.com/acme/skills",
        "GitHub.com/acme/skills/tree/main/pdf",
        "gitlab.com/o/r/-/tree/main/skills",
        "codeberg.org/acme/skills.git#v1//pdf",
        "acme/skills/skills/pdf",
        "acme/skills/.claude/skills#v1",
    ]));
}

/// A hostile address, or the address of something else, is an error and never another repository.
#[test]
fn an_address_of_a_page_names_no_other_repository_directory_or_option() {
    assert_snapshot!(describe_all(&[
        "https://github.com/acme/skills/tree/main/../../other",
        "https://github.com/acme/skills/tree/main/%2e%2e/other",
        "https://github.com/acme/skills/tree/main/a%2f..%2fb",
        "https://gitlab.com/o/r/-/tree/main/a%00b",
        "https://gitlab.com/o/r/-/tree/main/a%e2%80%aeb",
        "https://gitlab.com/o/r/-/tree/main/%ff",
        "https://gitlab.com/o/r/-/tree/--upload-pack=id/x",
        "https://gitlab.com/o/r/-/tree/0123abc/x",
        "https://token@gitlab.com/o/r/-/tree/main/x",
        "https://user:secret@codeberg.org/o/r/src/branch/main/x",
        "https://github.com@evil.example/o/r/-/tree/main/x",
        "https://github.com.evil.example/acme/skills/tree/main/x",
        "http://gitlab.com/o/r/-/tree/main/x",
        "https://evil.example/x?u=/a/b/-/tree/main",
        "https://gitlab.com/-/tree/main/x",
        "https://evil.example/a/b/-/tree/",
        "site+https://evil.example/a/b/-/tree/main/x",
        "github.com/acme",
        "evil.example/acme/skills",
        "evil.example/skills",
        "acme/skills/../other",
        "acme/skills/pdf//docx",
        "acme/skills/",
        "skills/pdf/",
        "dist/skills/a.zip",
        "dist/a.zip",
        "./acme/skills/pdf",
        "acme/-x/y",
        "acme/skills@pdf",
    ]));
}
