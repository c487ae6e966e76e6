//! Signatures of trusted keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use skills_install::{
    FetchLimits, Fetcher, InstallError, InstallErrorKind, KnownSources, LocalEdits, Plan,
    TrustChange, WebOptions, statement,
};
use skills_signature::TrustedSigners;

use crate::fixture::{Fixture, TarEntry, fetcher, skill_text, words};
use crate::minisign_signer::Signer;
use crate::web::archive;
use crate::web_server::{Pace, Reply, WebServer};

/// A change of a source.
type Change = fn(&Fixture);

fn trusting(signers: &[&Signer]) -> Fetcher {
    let trusted = TrustedSigners::default();
    let trusted = signers.iter().fold(trusted, |trusted, signer| {
        trusted.key(signer.public_key().parse().unwrap())
    });
    fetcher()
        .web(WebOptions::new().allow_loopback())
        .trust(trusted)
}

fn signer_of(fixture: &Fixture, name: &str) -> String {
    let store = fixture.store();
    store.lock_file().skills()[name].signer().to_owned()
}

/// Returns a skill with a signature beside it.
fn signed_skill(signer: &Signer) -> Fixture {
    let fixture = Fixture::new();
    fixture
        .skill("source/a", "")
        .executable("source/a/scripts/run.sh", "echo 1\n");
    sign(&fixture, signer);
    fixture
}

fn sign(fixture: &Fixture, signer: &Signer) {
    let text = statement(&fixture.path("source/a")).unwrap();
    fixture.file("source/a.minisig", signer.sign(text));
}

fn assert_refused(result: Result<(), InstallError>, fixture: &Fixture) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Signature, "{error}");
    assert!(fixture.states().is_empty());
}

#[test]
fn a_skill_with_a_signature_beside_it_is_locked_with_its_signer() {
    let signer = Signer::new(1);
    let fixture = signed_skill(&signer);
    let fetcher = trusting(&[&Signer::new(2), &signer]).require_signature();
    fixture.add_with(&fetcher, "./source").unwrap();
    assert_eq!(
        signer_of(&fixture, "a"),
        format!("minisign:{}", signer.public_key())
    );
    assert!(!fixture.path("skills/a.minisig").exists());
    assert_eq!(fixture.states(), ["a unchanged"]);
    // The same in an archive.
    let other = signed_skill(&signer);
    let text = skill_text("a", "");
    let run = TarEntry {
        mode: 0o755,
        ..TarEntry::file("repo/a/scripts/run.sh", "echo 1\n")
    };
    let signature = other.read("source/a.minisig");
    let beside = TarEntry::file("repo/a.minisig", &signature);
    other.tar_gz(
        "a.tgz",
        &[TarEntry::file("repo/a/SKILL.md", &text), run, beside],
    );
    other.add_with(&fetcher, "./a.tgz").unwrap();
    assert_eq!(
        signer_of(&other, "a"),
        format!("minisign:{}", signer.public_key())
    );
}

#[test]
fn a_skill_that_is_not_what_was_signed_is_refused() {
    let signer = Signer::new(1);
    let changes: &[(&str, Change)] = &[
        ("content", |f| {
            f.file("source/a/scripts/run.sh", "echo 2\n");
        }),
        ("new file", |f| {
            f.file("source/a/new.md", "");
        }),
        ("frontmatter", |f| {
            f.skill("source/a", "allowed-tools: Bash\n");
        }),
        ("executable", |f| {
            f.executable("source/a/notes.md", "");
        }),
        ("mode", |f| {
            let path = f.path("source/a/scripts/run.sh");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
            std::fs::set_permissions(path, mode).unwrap();
        }),
        ("signature of another skill", |f| {
            f.file("source/a.minisig", Signer::new(1).sign("skill 1\nname b\n"));
        }),
        ("signature of another key with the same id", |f| {
            sign(f, &Signer::new(2).with_id(1));
        }),
        ("endless signature", |f| {
            f.file("source/a.minisig", vec![b'a'; 1 << 20]);
        }),
    ];
    for (name, change) in changes {
        let fixture = signed_skill(&signer);
        change(&fixture);
        // An invalid signature is an error also where none is required.
        let result = fixture.add_with(&trusting(&[&signer]), "./source");
        let message = result.as_ref().unwrap_err().to_string();
        assert!(
            message.starts_with("cannot verify the signature of `a`: "),
            "{name}: {message}"
        );
        assert_refused(result, &fixture);
    }
}

#[test]
fn a_signature_that_does_not_count_is_as_good_as_none() {
    let signer = Signer::new(1);
    let changes: &[Change] = &[
        |f| std::fs::remove_file(f.path("source/a.minisig")).unwrap(),
        |f| {
            std::fs::remove_file(f.path("source/a.minisig")).unwrap();
            f.file(
                "elsewhere",
                Signer::new(1).sign(statement(&f.path("source/a")).unwrap()),
            );
            f.symlink("../elsewhere", "source/a.minisig");
        },
        |f| {
            // In the skill it would sign itself.
            let text = f.read("source/a.minisig");
            std::fs::remove_file(f.path("source/a.minisig")).unwrap();
            f.file("source/a/a.minisig", text);
        },
    ];
    for change in changes {
        let fixture = signed_skill(&signer);
        change(&fixture);
        let required = trusting(&[&signer]).require_signature();
        assert_refused(fixture.add_with(&required, "./source"), &fixture);
        fixture.add_with(&trusting(&[&signer]), "./source").unwrap();
        assert_eq!(signer_of(&fixture, "a"), "unsigned");
    }
    // A file that is not a signature is an error only if a signature is expected.
    let fixture = signed_skill(&signer);
    fixture.file("source/a.minisig", vec![b'<'; 1 << 20]);
    fixture.add_with(&fetcher(), "./source").unwrap();
    assert_eq!(signer_of(&fixture, "a"), "unsigned");
}

/// The signer in the lock file if the key has this number.
fn unverified(number: u8) -> String {
    format!("unverified:minisign:{}", format!("{number:02X}").repeat(8))
}

#[test]
fn the_signer_of_an_unknown_key_is_remembered_and_satisfies_no_rule() {
    let (first, second) = (Signer::new(1), Signer::new(2));
    let fixture = signed_skill(&first);
    for keys in [&[][..], &[&second]] {
        let required = trusting(keys).require_signature();
        assert_refused(fixture.add_with(&required, "./source"), &fixture);
    }
    fixture.add_with(&fetcher(), "./source").unwrap();
    assert_eq!(signer_of(&fixture, "a"), unverified(1));
    let locked = fixture.store().lock_file().skills()["a"].clone();
    assert!(!locked.is_signed());

    let trust_changes = |fetcher: &Fetcher| {
        let mut store = fixture.store();
        let plan = store
            .plan_update_all(fetcher, &[], LocalEdits::Refuse, &words)
            .unwrap();
        plan.changes()[0].trust_changes().to_vec()
    };
    let changed_to = |signer: &str| {
        vec![TrustChange::Signer {
            from: unverified(1),
            to: signer.to_owned(),
        }]
    };
    // A new version of the same signer.
    fixture.file("source/a/references/new.md", "x");
    sign(&fixture, &first);
    assert_eq!(trust_changes(&fetcher()), []);
    // The key becomes trusted.
    assert_eq!(trust_changes(&trusting(&[&first])), []);
    sign(&fixture, &second);
    assert_eq!(trust_changes(&fetcher()), changed_to(&unverified(2)));
    let verified = format!("minisign:{}", second.public_key());
    assert_eq!(trust_changes(&trusting(&[&second])), changed_to(&verified));
    std::fs::remove_file(fixture.path("source/a.minisig")).unwrap();
    assert_eq!(trust_changes(&fetcher()), changed_to("unsigned"));
}

#[test]
fn the_signer_of_a_download_is_remembered_without_a_trusted_key() {
    let content = archive();
    let signature = Signer::new(7).sign(&content);
    let served = content.clone();
    let server = WebServer::start(move |request| match request.path.as_str() {
        "/signed.tgz" | "/unsigned.tgz" | "/denied.tgz" | "/page.tgz" => Reply::ok(served.clone()),
        "/signed.tgz.minisig" => Reply::ok(signature.clone()),
        // Storage that says so of a missing file.
        "/denied.tgz.minisig" => Reply::status(403),
        "/page.tgz.minisig" => Reply::ok("<html>".repeat(10_000)),
        _ => Reply::status(404),
    });
    let unsigned = "unsigned".to_owned();
    for (path, signer) in [
        ("/signed.tgz", unverified(7)),
        ("/unsigned.tgz", unsigned.clone()),
        ("/denied.tgz", unsigned.clone()),
        ("/page.tgz", unsigned),
    ] {
        let fixture = Fixture::new();
        fixture.add_with(&trusting(&[]), &server.url(path)).unwrap();
        assert_eq!(signer_of(&fixture, "pdf"), signer, "{path}");
    }
}

/// Returns the error of a plan, or of the only source of an update.
fn failure(plan: Result<Plan, InstallError>) -> (InstallErrorKind, String, String) {
    let plan = plan.as_ref();
    let error = plan.map_or_else(|error| error, |plan| plan.failures()[0].error());
    (error.kind(), error.to_string(), error.help().unwrap())
}

#[test]
fn a_signature_that_cannot_be_downloaded_makes_no_skill_unsigned() {
    let content = archive();
    let server = WebServer::start(move |request| match request.path.as_str() {
        "/503.tgz.minisig" => Reply::status(503),
        "/401.tgz.minisig" => Reply::status(401),
        "/cut.tgz.minisig" => Reply {
            declared_length: Some(1_000),
            ..Reply::ok("untrusted comment: ")
        },
        "/stalled.tgz.minisig" => Reply::ok("").pace(Pace::Never),
        "/elsewhere.tgz.minisig" => Reply::redirect("http://10.0.0.1/a"),
        _ => Reply::ok(content.clone()),
    });
    let mut limits = FetchLimits::default();
    limits.timeout = Duration::from_millis(500);
    for (path, kind, message) in [
        ("/503.tgz", InstallErrorKind::Fetch, "status 503"),
        ("/401.tgz", InstallErrorKind::Fetch, "status 401"),
        ("/cut.tgz", InstallErrorKind::Fetch, "cut.tgz.minisig"),
        ("/stalled.tgz", InstallErrorKind::Limit, "seconds"),
        ("/elsewhere.tgz", InstallErrorKind::Fetch, "is not allowed"),
    ] {
        let fixture = Fixture::new();
        let fetcher = trusting(&[]).limits(limits.clone());
        let mut store = fixture.store();
        let spec = fixture.spec(&server.url(path));
        let plan = store.plan_add(&fetcher, &spec, &[], LocalEdits::Refuse, &words);
        let (actual, text, help) = failure(plan);
        assert_eq!(actual, kind, "{path}: {text}");
        assert!(text.contains("cannot tell whether"), "{path}: {text}");
        assert!(text.contains(message), "{path}: {text}");
        let expected = match path {
            "/401.tgz" => "git credential approve",
            _ => "try again later",
        };
        assert!(help.contains(expected), "{path}: {help}");
    }
}

/// The server denies access to missing files, and to a signature from the second version on.
#[test]
fn a_denied_signature_is_none_only_if_no_signature_is_expected() {
    let content = archive();
    let signature = Signer::new(7).sign(&content);
    let is_denied = Arc::new(AtomicBool::new(false));
    let denied = Arc::clone(&is_denied);
    let server = WebServer::start(move |request| match request.path.as_str() {
        "/a.tgz.minisig" if denied.load(Ordering::SeqCst) => Reply::status(403),
        "/a.tgz.minisig" => Reply::ok(signature.clone()),
        "/a.tgz" => Reply::ok(content.clone()),
        _ => Reply::status(403),
    });
    let url = server.url("/a.tgz");
    let fixture = Fixture::new();
    fixture.add_with(&trusting(&[]), &url).unwrap();
    assert_eq!(signer_of(&fixture, "pdf"), unverified(7));
    is_denied.store(true, Ordering::SeqCst);

    let assert_denied = |plan: Result<Plan, InstallError>| {
        let (kind, text, help) = failure(plan);
        assert_eq!(kind, InstallErrorKind::Fetch, "{text}");
        assert!(text.contains("status 403"), "{text}");
        assert!(help.contains("a signature is expected"), "{help}");
    };
    let edits = LocalEdits::Refuse;
    let mut store = fixture.store();
    assert_denied(store.plan_update_all(&trusting(&[]), &[], edits, &words));
    assert_denied(store.plan_add(&trusting(&[]), &fixture.spec(&url), &[], edits, &words));
    // The same after the skill was removed, by the memory of the user.
    let mut known = KnownSources::default();
    store.remember_locked(&["pdf".to_owned()], &mut known);
    let other = Fixture::new();
    let mut store = other.store().known_sources(known);
    assert_denied(store.plan_add(&trusting(&[]), &other.spec(&url), &[], edits, &words));
    for fetcher in [
        trusting(&[&Signer::new(1)]),
        trusting(&[]).require_signature(),
    ] {
        let new = Fixture::new();
        let mut store = new.store();
        assert_denied(store.plan_add(&fetcher, &other.spec(&url), &[], edits, &words));
    }
    let new = Fixture::new();
    new.add_with(&trusting(&[]), &url).unwrap();
    assert_eq!(signer_of(&new, "pdf"), "unsigned");
}

#[test]
fn an_update_by_another_signer_or_without_one_needs_a_person() {
    let (first, second) = (Signer::new(1), Signer::new(2));
    let fixture = signed_skill(&first);
    let fetcher = trusting(&[&first, &second]);
    fixture.add_with(&fetcher, "./source").unwrap();
    let needs_person = || {
        let mut store = fixture.store();
        let plan = store
            .plan_update_all(&fetcher, &[], LocalEdits::Refuse, &words)
            .unwrap();
        plan.changes()[0].needs_person()
    };
    fixture.file("source/a/references/new.md", "x");
    sign(&fixture, &first);
    assert!(!needs_person());
    sign(&fixture, &second);
    assert!(needs_person());
    std::fs::remove_file(fixture.path("source/a.minisig")).unwrap();
    assert!(needs_person());
}

#[test]
fn an_archive_is_verified_by_the_signature_beside_it() {
    let signer = Signer::new(1);
    let required = trusting(&[&signer]).require_signature();
    let content = archive();
    let fixture = Fixture::new();
    fixture
        .file("a.tgz", &content)
        .file("a.tgz.minisig", signer.sign(&content));
    fixture.add_with(&required, "./a.tgz").unwrap();
    assert_eq!(
        signer_of(&fixture, "pdf"),
        format!("minisign:{}", signer.public_key())
    );

    let signature = signer.sign(&content);
    let served = content.clone();
    let server = WebServer::start(move |request| match request.path.as_str() {
        "/good.tgz?v=1" | "/changed.tgz" | "/unsigned.tgz" | "/broken.tgz" => {
            Reply::ok(served.clone())
        }
        "/good.tgz.minisig?v=1" => Reply::ok(signature.clone()),
        "/changed.tgz.minisig" => Reply::ok(Signer::new(1).sign("other")),
        "/broken.tgz.minisig" => Reply::status(500),
        _ => Reply::status(404),
    });
    let fixture = Fixture::new();
    fixture
        .add_with(&required, &server.url("/good.tgz?v=1"))
        .unwrap();
    for (path, kind) in [
        ("/changed.tgz", InstallErrorKind::Signature),
        ("/unsigned.tgz", InstallErrorKind::Signature),
        ("/broken.tgz", InstallErrorKind::Fetch),
    ] {
        let fixture = Fixture::new();
        let error = fixture.add_with(&required, &server.url(path)).unwrap_err();
        assert_eq!(error.kind(), kind, "{path}: {error}");
        assert!(fixture.states().is_empty());
    }
    Fixture::new()
        .add_with(&trusting(&[&signer]), &server.url("/unsigned.tgz"))
        .unwrap();
}

#[test]
fn an_artifact_of_a_site_is_verified_by_the_signature_beside_it() {
    let signer = Signer::new(1);
    let text = skill_text("a", "");
    let digest = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(&text));
    let index = format!(
        r#"{{"skills": [{{"name": "a", "type": "skill-md", "url": "/a", "digest": "sha256:{digest}"}}]}}"#
    );
    for (signature, is_valid) in [
        (signer.sign(&text), true),
        (signer.sign("other"), false),
        (Signer::new(2).sign(&text), false),
    ] {
        let (text, index) = (text.clone(), index.clone());
        let server = WebServer::start(move |request| match request.path.as_str() {
            "/.well-known/agent-skills/index.json" => Reply::ok(index.clone()),
            "/a" => Reply::ok(text.clone()),
            "/a.minisig" => Reply::ok(signature.clone()),
            _ => Reply::status(404),
        });
        let fixture = Fixture::new();
        let required = trusting(&[&signer]).require_signature();
        let result = fixture.add_with(&required, &server.url("/"));
        assert_eq!(result.is_ok(), is_valid, "{result:?}");
    }
}
