//! Signatures, and which sources are allowed.

use skills_install::{Fetcher, InstallErrorKind, LocalEdits, SourceRule, TrustChange, statement};

use crate::fixture::{Fixture, fetcher, words};

#[cfg(feature = "sigstore")]
mod sigstore;
mod trusted;

#[test]
fn without_a_trusted_key_a_required_signature_refuses_every_skill() {
    let fixture = Fixture::new();
    fixture
        .skill("source/a", "")
        .file("source/a.minisig", "untrusted comment: x\n");
    let error = fixture
        .add_with(&fetcher().require_signature(), "./source")
        .unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Signature, "{error}");
    assert_eq!(
        error.to_string(),
        "skill `a` has no signature of a trusted key or identity"
    );
    assert!(fixture.states().is_empty());
    // Text that is not a signature is ignored.
    fixture.add("./source").unwrap();
    let signer = fixture.store().lock_file().skills()["a"]
        .signer()
        .to_owned();
    assert_eq!(signer, "unsigned");
}

#[cfg(not(feature = "sigstore"))]
#[test]
fn a_bundle_that_this_build_cannot_verify_is_noted_and_satisfies_no_rule() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "").file(
        "source/a.sigstore.json",
        r#"{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json"}"#,
    );
    let error = fixture
        .add_with(&fetcher().require_signature(), "./source")
        .unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Signature);
    assert_eq!(
        error.to_string(),
        "skill `a` has no signature of a trusted key, and this build cannot verify Sigstore bundles"
    );
    assert_eq!(
        error.help().as_deref(),
        Some("build with `--features sigstore`")
    );
    assert!(fixture.states().is_empty());
    fixture.add("./source").unwrap();
    let locked = fixture.store().lock_file().skills()["a"].clone();
    assert_eq!(locked.signer(), "unverified:sigstore");
    assert!(!locked.is_signed());
    // The bundle disappears.
    std::fs::remove_file(fixture.path("source/a.sigstore.json")).unwrap();
    let (_, plan) = fixture.plan("./source").unwrap();
    assert!(plan.changes()[0].needs_person());
}

#[test]
fn a_statement_has_the_name_content_and_executable_files() {
    let fixture = Fixture::new();
    fixture
        .skill("a", "")
        .file("a/readme.md", "")
        .executable("a/scripts/run.sh", "echo 1\n")
        .executable("a/build", "");
    let text = statement(&fixture.path("a")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..2], ["skill 1", "name a"]);
    assert!(lines[2].starts_with("content sha256:"));
    assert_eq!(
        lines[3..],
        ["executable build", "executable scripts/run.sh"]
    );
    fixture.executable("a/x\nexecutable y", "");
    let error = statement(&fixture.path("a")).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Unsafe);
}

#[test]
fn a_source_that_no_rule_allows_is_neither_added_nor_updated() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "").skill("other/b", "");
    let allowed = format!("dir:{}", fixture.path("source").display());
    let restricted = |rules: &[&str]| -> Fetcher {
        fetcher().allowed_sources(rules.iter().map(|rule| SourceRule::new(rule)))
    };
    fixture
        .add_with(
            &restricted(&["git:github.com/acme/*", &allowed]),
            "./source",
        )
        .unwrap();
    for rules in [&["git:github.com/acme/*"][..], &[], &["dir:"], &["*?"]] {
        let error = fixture.add_with(&restricted(rules), "./other").unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::NotAllowed, "{error}");
        let mut store = fixture.store();
        let edits = LocalEdits::Refuse;
        let plan = store
            .plan_update_all(&restricted(rules), &[], edits, &words)
            .unwrap();
        assert_eq!(plan.failures().len(), 1);
        let error = plan.failures()[0].error();
        assert_eq!(error.kind(), InstallErrorKind::NotAllowed, "{error}");
    }
    // The network is not reached for a source that is not allowed.
    let error = fixture
        .add_with(
            &restricted(&[&allowed]),
            "https://skills.acme.example/a.zip",
        )
        .unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::NotAllowed);
    assert_eq!(fixture.states(), ["a unchanged"]);
}

#[test]
fn a_changed_signer_needs_a_person() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "");
    fixture.add("./source").unwrap();
    let lock = fixture.read("skills/skills.lock");
    fixture.file(
        "skills/skills.lock",
        lock.replace("unsigned", "minisign:RWQ"),
    );
    let (_, plan) = fixture.plan("./source").unwrap();
    let change = &plan.changes()[0];
    assert!(change.needs_person());
    let expected = TrustChange::Signer {
        from: "minisign:RWQ".to_owned(),
        to: "unsigned".to_owned(),
    };
    assert_eq!(change.trust_changes(), [expected]);
}
