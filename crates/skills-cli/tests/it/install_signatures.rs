//! Signatures of Sigstore, through the commands that install skills.

use crate::fixture::Fixture;

const POLICY: &str = "home/.config/skills/policy.toml";
/// A build without the feature notes a bundle without its identity.
const BUNDLE: &str = r#"{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json"}"#;
const IDENTITY: &str = "https://ci.example https://git.example/acme/release.yml@refs/tags/*";
const EMPTY_ROOT: &str =
    r#"{"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1"}"#;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .file("project/.git/HEAD", "")
        .skill("source/notes", "notes")
        .file("source/notes.sigstore.json", BUNDLE);
    fixture
}

#[test]
fn a_bundle_without_trust_is_shown_as_unverified_and_satisfies_no_rule() {
    let fixture = fixture();
    let shown = fixture.run("project", &["add", "../source", "--dry-run"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(
        shown.stdout.contains(", unverified:sigstore\n"),
        "{}",
        shown.stdout
    );
    fixture.file(POLICY, "require-signature = true\n");
    let refused = fixture.run("project", &["add", "../source", "--yes"]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(!fixture.path().join("project/.agents/skills/notes").exists());
    let reason = if cfg!(feature = "sigstore") {
        "no signature of a trusted key or identity"
    } else {
        "this build cannot verify Sigstore bundles\nhelp: build with `--features sigstore`"
    };
    assert!(refused.stderr.contains(reason), "{}", refused.stderr);
}

#[test]
fn identities_and_trusted_roots_of_policy_files_are_shown() {
    let fixture = fixture();
    let root = fixture.path().join("root.json");
    fixture.file("root.json", EMPTY_ROOT);
    let identities = format!("signature-identities = [\"{IDENTITY}\"]\n");
    fixture.file(POLICY, &identities);
    let shown = fixture.run("project", &["policy", "show"]).stdout;
    let expected = format!("signature identity {IDENTITY} without a trusted root\n");
    assert!(shown.contains(&expected), "{shown}");
    let policy = format!(
        "{identities}sigstore-trusted-root = \"{}\"\n",
        root.display()
    );
    fixture.file(POLICY, &policy);
    let shown = fixture.run("project", &["policy", "show"]).stdout;
    let expected = format!("signature identity {IDENTITY} by PLACE/root.json\n");
    assert!(shown.contains(&expected), "{shown}");
}

#[cfg(feature = "sigstore")]
#[test]
fn a_trusted_root_that_cannot_be_used_stops_the_commands() {
    let fixture = fixture();
    let root = fixture.path().join("root.json");
    let policy = format!(
        "signature-identities = [\"{IDENTITY}\"]\nsigstore-trusted-root = \"{}\"\n",
        root.display()
    );
    fixture.file(POLICY, &policy);
    let stderr = || {
        let done = fixture.run("project", &["add", "../source", "--yes"]);
        assert_ne!(done.code, 0);
        assert!(!fixture.path().join("project/.agents/skills/notes").exists());
        done.stderr
    };
    let expected = "cannot use the trusted root `PLACE/root.json`: ".to_owned();
    assert!(stderr().contains(&(expected.clone() + "it does not exist")));
    fixture.file("root.json", "{}");
    assert!(stderr().contains(&expected));
    // With a valid one, the bundle has to be valid too.
    fixture.file("root.json", EMPTY_ROOT);
    assert!(stderr().contains("cannot verify the signature of `notes`"));
    fixture.file(POLICY, "signature-identities = [\"*\"]\n");
    assert!(stderr().contains("`*` is not an identity of Sigstore"));
}
