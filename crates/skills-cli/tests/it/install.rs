//! Tests of the commands that install skills.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};
use skills_test_support::skip_without_file_events;

use crate::fixture::Fixture;
use crate::mcp::Server;
use crate::skills::{Done, command_with_state};
#[cfg(target_os = "linux")]
use crate::terminal;

/// A project with a directory of skills to install.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .file("project/.git/HEAD", "")
        .skill("source/notes", "notes")
        .file(
            "source/pdf/SKILL.md",
            "---\nname: pdf\ndescription: Fills forms.\nlicense: MIT\nallowed-tools: Bash(qpdf:*) WebFetch(domain:a.example) Read\n---\nUse qpdf.\n",
        )
        .file("source/pdf/scripts/fill.py", "print('filled')\n");
    fixture
}

fn run(fixture: &Fixture, arguments: &[&str]) -> Done {
    fixture.run("project", arguments)
}

/// Runs a command that succeeds.
fn succeed(fixture: &Fixture, arguments: &[&str]) -> Done {
    let done = run(fixture, arguments);
    assert_eq!(
        done.code, 0,
        "{arguments:?}: {}{}",
        done.stdout, done.stderr
    );
    done
}

fn add_all(fixture: &Fixture) {
    succeed(fixture, &["add", "../source", "--yes"]);
}

#[test]
fn skills_are_shown_and_installed_with_a_lock_file() {
    let fixture = fixture();
    let shown = succeed(&fixture, &["add", "../source", "--dry-run"]);
    assert_snapshot!(shown.stdout, @"
    add `notes` from PLACE/source//notes
      1 file, 51 B, license: none stated, unsigned
      + SKILL.md
    add `pdf` from PLACE/source//pdf
      2 files, 143 B, license: MIT, unsigned
      + network:a.example
      + read
      + spawn:qpdf
      + scripts/fill.py
      + SKILL.md
    ");
    assert!(!fixture.path().join("project/.agents").exists());

    let asked = run(&fixture, &["add", "../source"]);
    assert_eq!(asked.code, 3, "{}", asked.stderr);
    assert!(
        asked.stderr.contains("help: pass `--yes`"),
        "{}",
        asked.stderr
    );
    assert!(!fixture.path().join("project/.agents/skills/pdf").exists());

    let added = succeed(&fixture, &["add", "../source", "--skill", "pdf", "--yes"]);
    assert_snapshot!(added.stdout, @"added `pdf` to PLACE/project/.agents/skills");
    let listed = succeed(&fixture, &["--trust-project", "list"]);
    assert_eq!(listed.stdout, "pdf  Fills forms.\n");
    let lock =
        fs::read_to_string(fixture.path().join("project/.agents/skills/skills.lock")).unwrap();
    assert!(
        lock.contains(
            "asks = [\n    \"network:a.example\",\n    \"read\",\n    \"spawn:qpdf\",\n]"
        ),
        "{lock}"
    );
    let verified = succeed(&fixture, &["verify", "--json"]);
    let verified: Value = serde_json::from_str(&verified.stdout).unwrap();
    assert_eq!(verified["skills"][0]["state"], "unchanged");
    let again = succeed(&fixture, &["add", "../source", "--skill", "pdf"]);
    assert_eq!(
        again.stdout,
        "`pdf` is up to date in PLACE/project/.agents/skills\n"
    );
}

#[test]
fn skills_of_a_project_are_installed_at_its_root_and_those_of_a_user_in_the_home_directory() {
    let fixture = fixture();
    fs::create_dir_all(fixture.path().join("project/src/deep")).unwrap();
    let from_below = |arguments: &[&str]| {
        let done = fixture.run("project/src/deep", arguments);
        assert_eq!(done.code, 0, "{}", done.stderr);
    };
    from_below(&["add", "../../../source/notes", "--yes"]);
    assert!(
        fixture
            .path()
            .join("project/.agents/skills/notes/SKILL.md")
            .exists()
    );
    from_below(&["add", "../../../source/notes", "--yes", "--to", "user"]);
    assert!(
        fixture
            .path()
            .join("home/.agents/skills/notes/SKILL.md")
            .exists()
    );
    from_below(&["add", "../../../source/notes", "--yes", "--to", "./skills"]);
    assert!(
        fixture
            .path()
            .join("project/src/deep/skills/notes/SKILL.md")
            .exists()
    );
    // The directory of `--root` goes before the project.
    fs::create_dir(fixture.path().join("mine")).unwrap();
    succeed(
        &fixture,
        &["--root", "../mine", "add", "../source/notes", "--yes"],
    );
    assert!(fixture.path().join("mine/notes/SKILL.md").exists());
}

/// A cloned project must not lead an installation to the skills of the user, which are used in all
/// directories.
#[cfg(unix)]
#[test]
fn a_project_does_not_lead_an_installation_out_of_it() {
    let fixture = fixture();
    fs::create_dir_all(fixture.path().join("home/.agents/skills")).unwrap();
    let link = fixture.path().join("project/.agents");
    std::os::unix::fs::symlink("../home/.agents", link).unwrap();
    let refused = run(&fixture, &["add", "../source/notes", "--yes"]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(!fixture.path().join("home/.agents/skills/notes").exists());
    succeed(
        &fixture,
        &["add", "../source/notes", "--yes", "--to", "user"],
    );
}

#[test]
fn a_changed_skill_is_not_used_and_the_lock_file_restores_it() {
    let fixture = fixture();
    add_all(&fixture);
    fixture.file("project/.agents/skills/pdf/scripts/fill.py", "import os\n");
    let verified = run(&fixture, &["verify"]);
    assert_eq!(verified.code, 1);
    assert!(
        verified
            .stdout
            .starts_with("changed  PLACE/project/.agents/skills/pdf  (now sha256:")
    );
    let listed = succeed(&fixture, &["--trust-project", "list"]);
    assert_eq!(listed.stdout, "notes  About notes.\n");
    let ran = run(&fixture, &["--trust-project", "run", "pdf"]);
    assert_eq!(ran.code, 125, "{}", ran.stderr);
    let frozen = run(&fixture, &["--frozen", "--trust-project", "list"]);
    assert_eq!(frozen.code, 3);
    assert_snapshot!(frozen.stderr, @"
    error: skills differ from their lock file: `pdf` is changed
    help: `skills verify --frozen --trust-project` lists them, and `skills add --frozen --theirs --trust-project` restores what the lock file lists, without your edits
    ");

    let published = run(
        &fixture,
        &["--trust-project", "publish", "--well-known", "site"],
    );
    assert_eq!(published.code, 1);
    assert!(
        published
            .stderr
            .starts_with("not published: `pdf` is inactive: changed: "),
        "{}",
        published.stderr
    );
    assert!(published.stderr.ends_with("published 1 skill in site\n"));

    let kept = run(&fixture, &["add"]);
    assert_eq!(kept.code, 1);
    assert_snapshot!(kept.stderr, @"
    error: pdf: cannot change `pdf`: it was edited since it was installed
    help: pass `--theirs` to lose the edits, or `--ours` to keep them
    ");
    // The content of the lock file was agreed to, so the user is not asked.
    let restored = succeed(&fixture, &["add", "--theirs"]);
    assert_eq!(
        restored.stdout,
        "restored `pdf` in PLACE/project/.agents/skills\n"
    );
    succeed(&fixture, &["--frozen", "--trust-project", "list"]);

    fs::remove_dir_all(fixture.path().join("project/.agents/skills/notes")).unwrap();
    let missing = run(&fixture, &["--frozen", "--trust-project", "list"]);
    assert!(
        missing.stderr.contains("`notes` is missing"),
        "{}",
        missing.stderr
    );
    succeed(&fixture, &["--frozen", "add"]);
    // The source has another version, so the locked one cannot be restored.
    fixture.file(
        "source/notes/SKILL.md",
        "---\nname: notes\ndescription: Other.\n---\n",
    );
    fs::remove_dir_all(fixture.path().join("project/.agents/skills/notes")).unwrap();
    let gone = run(&fixture, &["add"]);
    assert_eq!(gone.code, 1);
    assert_snapshot!(gone.stderr, @"
    error: notes: the source of `notes` no longer has the content of the lock file
    help: review the difference with `skills update --check`
    ");
}

#[test]
fn frozen_commands_accept_no_skill_beside_the_lock_file_and_add_none() {
    let fixture = fixture();
    succeed(&fixture, &["add", "../source/pdf", "--yes"]);
    succeed(&fixture, &["--frozen", "add", "../source/pdf"]);
    let more = run(&fixture, &["--frozen", "add", "../source/notes", "--yes"]);
    assert_eq!(more.code, 3);
    assert!(
        more.stderr
            .contains("skill `notes` is not in the lock file"),
        "{}",
        more.stderr
    );
    for arguments in [
        vec!["--frozen", "update", "--yes"],
        vec!["--frozen", "remove", "pdf"],
        vec!["--frozen", "lock", "--from", "skills-lock.json"],
    ] {
        let refused = run(&fixture, &arguments);
        assert_eq!(refused.code, 3, "{arguments:?}: {}", refused.stderr);
    }
    succeed(&fixture, &["--frozen", "update", "--check"]);
    fixture.skill("project/.agents/skills/other", "other");
    succeed(&fixture, &["verify"]);
    for arguments in [["--frozen", "verify"], ["--frozen", "list"]] {
        let done = run(&fixture, &arguments);
        assert_ne!(done.code, 0, "{arguments:?}");
    }
}

#[test]
fn an_update_that_may_do_more_needs_a_person() {
    let fixture = fixture();
    add_all(&fixture);
    assert_eq!(succeed(&fixture, &["outdated"]).stdout, "");
    succeed(&fixture, &["update", "--check"]);

    fixture.file(
        "source/notes/SKILL.md",
        "---\nname: notes\ndescription: About notes.\n---\nBetter body\n",
    );
    fixture.file("source/pdf/scripts/new.py", "print('new')\n");
    let outdated = succeed(&fixture, &["outdated"]);
    let lines: Vec<&str> = outdated.stdout.lines().collect();
    assert!(
        lines[0].starts_with("notes  ") && !lines[0].contains("review"),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("pdf  ") && lines[1].ends_with("(needs review)"),
        "{lines:?}"
    );
    let check = run(&fixture, &["update", "--check"]);
    assert_eq!(check.code, 1);
    assert_snapshot!(check.stdout, @"
    update `notes` to PLACE/source//notes
      ~ SKILL.md
      ~ body +1 -1
    update `pdf` to PLACE/source//pdf
      + scripts/new.py
    ");

    let refused = run(&fixture, &["update", "--yes"]);
    assert_eq!(refused.code, 3);
    assert!(
        refused
            .stderr
            .contains("a person must review what changes in pdf"),
        "{}",
        refused.stderr
    );
    assert!(
        !fixture
            .path()
            .join("project/.agents/skills/pdf/scripts/new.py")
            .exists()
    );
    let updated = succeed(&fixture, &["update", "notes", "--yes"]);
    assert_eq!(
        updated.stdout,
        "updated `notes` in PLACE/project/.agents/skills\n"
    );
    succeed(&fixture, &["verify"]);
}

/// Runs a command at a terminal, where the question is answered after `meanwhile`.
#[cfg(target_os = "linux")]
fn answered(
    fixture: &Fixture,
    arguments: &[&str],
    answer: &str,
    meanwhile: impl FnOnce(),
) -> (i32, String) {
    let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mut command = command_with_state(arguments, directories[0].path(), directories[1].path());
    command
        .current_dir(fixture.path().join("project"))
        .env("HOME", fixture.path().join("home"));
    terminal::answered(command, "[y/N]", answer, meanwhile)
}

#[cfg(target_os = "linux")]
#[test]
fn a_person_agrees_at_the_terminal_to_an_update_that_may_do_more() {
    let fixture = fixture();
    add_all(&fixture);
    fixture.file("source/pdf/scripts/new.py", "print('new')\n");
    let script = fixture
        .path()
        .join("project/.agents/skills/pdf/scripts/new.py");
    let update = ["update", "--yes"];
    let (code, shown) = answered(&fixture, &update, "n", || {});
    assert!(
        code == 3 && shown.contains("+ scripts/new.py"),
        "{code}\n{shown}"
    );
    assert!(!script.exists());
    // What the user writes while the question is open is not lost.
    let (code, shown) = answered(&fixture, &update, "y", || {
        fixture.file("project/.agents/skills/pdf/mine.md", "mine\n");
    });
    assert!(code == 3 && shown.contains("changed"), "{code}\n{shown}");
    assert!(!script.exists());
    fs::remove_file(fixture.path().join("project/.agents/skills/pdf/mine.md")).unwrap();
    let (code, shown) = answered(&fixture, &update, "y", || {});
    assert_eq!(code, 0, "{shown}");
    assert!(script.exists());
    succeed(&fixture, &["verify"]);
}

#[test]
fn installed_skills_are_removed_with_their_entries() {
    let fixture = fixture();
    add_all(&fixture);
    succeed(&fixture, &["add", "../source/pdf", "--yes", "--to", "user"]);
    let unknown = run(&fixture, &["remove", "note"]);
    assert_eq!(unknown.code, 1);
    assert_snapshot!(unknown.stderr, @"
    error: no lock file lists the skill `note`
    help: did you mean `notes`?
    ");
    let several = run(&fixture, &["remove", "pdf"]);
    assert_eq!(several.code, 2, "{}", several.stderr);
    fixture.file("project/.agents/skills/pdf/more.md", "mine\n");
    let edited = run(&fixture, &["remove", "pdf", "--in", "project"]);
    assert_eq!(edited.code, 3, "{}", edited.stderr);
    succeed(&fixture, &["remove", "pdf", "--in", "project", "--theirs"]);
    let removed = succeed(&fixture, &["remove", "pdf", "notes", "--json"]);
    let removed: Value = serde_json::from_str(&removed.stdout).unwrap();
    assert_eq!(removed["removed"].as_array().unwrap().len(), 2);
    assert!(!fixture.path().join("project/.agents/skills/notes").exists());
}

#[test]
fn policy_files_restrict_sources_and_require_signatures() {
    let fixture = fixture();
    fixture.file(
        "home/.config/skills/policy.toml",
        "sources = [\"git:github.com/acme/*\"]\n",
    );
    let denied = run(&fixture, &["add", "../source", "--yes"]);
    assert_eq!(denied.code, 3);
    assert_snapshot!(denied.stderr, @"
    error: the source `dir:PLACE/source` is not allowed
    help: `skills policy show` lists the allowed sources
    ");
    // A project can restrict further, but not widen.
    fixture.file("project/.skills/policy.toml", "sources = [\"dir:*\"]\n");
    assert_eq!(run(&fixture, &["add", "../source", "--yes"]).code, 3);
    let shown = succeed(&fixture, &["policy", "show"]);
    assert!(
        shown
            .stdout
            .contains("install from git:github.com/acme/*\ninstall from dir:*\n"),
        "{}",
        shown.stdout
    );
    let allowed = format!("sources = [\"dir:{}/source\"]\n", fixture.path().display());
    fixture.file("home/.config/skills/policy.toml", &allowed);
    succeed(&fixture, &["add", "../source", "--yes"]);
    fixture.file(
        "home/.config/skills/policy.toml",
        "require-signature = true\n",
    );
    for arguments in [
        vec!["add", "../source/pdf", "--yes"],
        vec!["update", "--yes"],
    ] {
        let unsigned = run(&fixture, &arguments);
        assert_ne!(unsigned.code, 0, "{arguments:?}");
        assert!(
            unsigned.stderr.contains("no signature of a trusted key"),
            "{}",
            unsigned.stderr
        );
    }
}

#[test]
fn skills_of_another_installer_are_locked_as_they_are() {
    let fixture = fixture();
    fixture.file(
        "project/skills-lock.json",
        r#"{"version": 1, "skills": {
            "notes": {"source": "../source", "sourceType": "local", "skillPath": "notes/SKILL.md", "computedHash": "00"},
            "pdf": {"source": "../source", "sourceType": "local", "skillPath": "pdf/SKILL.md", "computedHash": "00"},
            "odd": {"source": "ext::sh -c x", "sourceType": "git", "computedHash": "00"}
        }}"#,
    );
    // `notes` is installed as its source has it, `pdf` was edited.
    fixture.skill("project/.agents/skills/notes", "notes");
    fixture.skill("project/.agents/skills/pdf", "pdf");
    let locked = run(&fixture, &["lock", "--from", "skills-lock.json", "--yes"]);
    assert_eq!(locked.code, 1);
    assert_snapshot!(format!("{}{}", locked.stdout, locked.stderr), @"
    `notes` is up to date in PLACE/project/.agents/skills
    error: `odd`: cannot parse source `ext::sh -c x`: `ext` runs a program
    error: pdf: cannot change `pdf`: something that is not in the lock file has this name, with other content
    help: pass `--theirs` to replace it, or `--ours` to keep it
    ");
    let kept = run(&fixture, &["lock", "--from", "skills-lock.json", "--ours"]);
    assert!(kept.stdout.contains("kept `pdf`"), "{}", kept.stdout);
}

#[test]
fn skills_are_published_as_files_of_a_web_site() {
    let fixture = fixture();
    let root = ["--root", "../source"];
    let published = run(
        &fixture,
        &[&root[..], &["publish", "--well-known", "../site"]].concat(),
    );
    assert_eq!(published.code, 0, "{}", published.stderr);
    let top = fixture.path().join("site/.well-known/agent-skills");
    let index: Value = serde_json::from_slice(&fs::read(top.join("index.json")).unwrap()).unwrap();
    assert_eq!(
        index["$schema"],
        "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
    );
    let kinds: Vec<&str> = index["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| skill["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["skill-md", "archive"]);
    // The archive has the same content, but is another source.
    let archive = "../site/.well-known/agent-skills/pdf.tar.gz";
    succeed(&fixture, &["add", archive, "--yes"]);
    let other = run(&fixture, &["add", "../source", "--yes"]);
    assert_eq!(other.code, 3);
    assert!(
        other.stdout.is_empty() && other.stderr.contains("! source changed from"),
        "{}",
        other.stderr
    );
    // The files of a skill that is no longer published are removed.
    succeed(
        &fixture,
        &[&root[..], &["publish", "notes", "--well-known", "../site"]].concat(),
    );
    assert!(!top.join("pdf.tar.gz").exists());
    assert!(top.join("notes/SKILL.md").exists());
}

/// Serves the files of a directory at an address, which is returned.
fn serve(directory: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = String::new();
            BufReader::new(&stream).read_line(&mut request).unwrap();
            let path = request.split(' ').nth(1).unwrap().trim_start_matches('/');
            let (status, body) = match fs::read(directory.join(path)) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            )
            .unwrap();
            stream.write_all(&body).unwrap();
        }
    });
    address
}

#[test]
fn the_statement_that_a_publisher_signs_is_printed() {
    let fixture = fixture();
    let publish = ["--root", "../source", "publish"];
    let printed = run(&fixture, &[&publish[..], &["pdf", "--statement"]].concat());
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    assert_snapshot!(printed.stdout, @r#"
    skill 1
    name pdf
    content sha256:53599967b08fb54e9683d9efe1ecfbd4c9135bd2c1b064c4ad7e0f8a7961fbe8
    "#);
    let both = run(
        &fixture,
        &[&publish[..], &["pdf", "notes", "--statement"]].concat(),
    );
    assert_eq!(both.code, 2);
    let without = run(&fixture, &publish);
    assert_eq!(without.code, 2);
}

#[test]
fn skills_of_a_published_site_are_installed() {
    let fixture = fixture();
    let publish = ["--root", "../source", "publish", "--well-known", "../site"];
    succeed(&fixture, &publish);
    let site = serve(fixture.path().join("site"));
    let secure = run(&fixture, &["add", &site, "--yes"]);
    assert_eq!(secure.code, 1, "{}", secure.stderr);
    succeed(&fixture, &["add", &site, "--yes", "--insecure"]);
    succeed(&fixture, &["verify"]);
    let script = "project/.agents/skills/pdf/scripts/fill.py";
    let content = fs::read_to_string(fixture.path().join(script)).unwrap();
    assert_eq!(content, "print('filled')\n");
    // A file that is not the one of the index is refused.
    fixture.file(
        "site/.well-known/agent-skills/notes/SKILL.md",
        "---\nname: notes\ndescription: Evil.\n---\n",
    );
    let changed = run(&fixture, &["update", "--yes", "--insecure"]);
    assert_eq!(changed.code, 1, "{}", changed.stderr);
    assert!(changed.stderr.contains("digest"), "{}", changed.stderr);
}

#[test]
fn a_running_server_has_an_installed_skill_at_once() {
    if skip_without_file_events() {
        return;
    }
    let fixture = fixture();
    let root = fixture.path().join("skills");
    fs::create_dir(&root).unwrap();
    let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let arguments = ["mcp", "--log", "off", "--root", root.to_str().unwrap()];
    let command = command_with_state(&arguments, directories[0].path(), directories[1].path());
    let mut server = Server::connect(command, directories.into());
    // Changes are of the lists that a client has read.
    server.request("resources/list", &json!({}));
    succeed(
        &fixture,
        &["--root", "../skills", "add", "../source/notes", "--yes"],
    );
    server.notification("notifications/resources/list_changed");
    let loaded = server.call("load_skill", &json!({"name": "notes"}));
    let text = loaded["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Body"), "{text}");
    // Edited, it is not offered any more.
    server.request("resources/list", &json!({}));
    fixture.file(
        "skills/notes/SKILL.md",
        "---\nname: notes\ndescription: Other.\n---\nEvil\n",
    );
    server.notification("notifications/resources/list_changed");
    let loaded = server.call("load_skill", &json!({"name": "notes"}));
    assert!(!loaded.to_string().contains("Evil"), "{loaded}");
    assert_eq!(server.end(), Some(0));
}

/// The whole chain: an override of a tool applies to a skill that is installed while a server runs.
#[cfg(unix)]
#[test]
fn a_running_server_has_the_tools_of_an_installed_skill_with_their_overrides() {
    if skip_without_file_events() {
        return;
    }
    let fixture = fixture();
    fixture.file("source/pdf/scripts/check.py", "print('checked')\n");
    let root = fixture.path().join("skills");
    fs::create_dir(&root).unwrap();
    let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let state = directories[1].path().to_owned();
    let succeed = |arguments: &[&str]| {
        let all = [&["--root", "../skills"], arguments].concat();
        let done = fixture.run_with_state("project", &all, &state);
        assert_eq!(done.code, 0, "{arguments:?}: {}", done.stderr);
    };
    let add = ["add", "../source/pdf", "--yes"];
    succeed(&add);
    succeed(&["tools", "change", "skill__pdf__fill", "--off"]);
    succeed(&["remove", "pdf"]);

    let root = root.to_str().unwrap();
    let arguments = ["mcp", "--log", "off", "--root", root, "--tools", "scripts"];
    let command = command_with_state(&arguments, directories[0].path(), &state);
    let mut server = Server::connect(command, directories.into());
    let has_tool = |server: &mut Server, name: &str| {
        let listed = server.request("tools/list", &json!({})).to_string();
        listed.contains(&format!("\"{name}\""))
    };
    assert!(!has_tool(&mut server, "skill__pdf__check"));
    succeed(&add);
    server.notification("notifications/tools/list_changed");
    assert!(has_tool(&mut server, "skill__pdf__check"));
    assert!(!has_tool(&mut server, "skill__pdf__fill"));
    succeed(&["--frozen", "verify"]);
    assert_eq!(server.end(), Some(0));
}

/// A repository of the user's git with one skill and a tag, or the reason why there is none.
fn repository(fixture: &Fixture) -> Result<(), String> {
    skills_test_support::host::program("git")?;
    fixture.skill("repository/skills/notes", "notes");
    git(fixture, &["init", "--quiet", "--initial-branch=main", "."]);
    commit(fixture, 1);
    git(fixture, &["tag", "v1.0"]);
    Ok(())
}

/// Commits all files at a day of January.
fn commit(fixture: &Fixture, day: u8) {
    git(fixture, &["add", "."]);
    let date = format!("2026-01-{day:02}T00:00:00Z");
    let message = format!("day {day}");
    git_at(fixture, &["commit", "--quiet", "-m", &message], &date);
}

fn git(fixture: &Fixture, arguments: &[&str]) {
    git_at(fixture, arguments, "2026-01-01T00:00:00Z");
}

fn git_at(fixture: &Fixture, arguments: &[&str], date: &str) {
    let status = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@a.example"])
        .args(arguments)
        .current_dir(fixture.path().join("repository"))
        .env("HOME", fixture.path())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_COMMITTER_DATE", date)
        .status()
        .unwrap();
    assert!(status.success(), "{arguments:?}");
}

#[test]
fn a_repository_is_installed_at_a_commit_that_the_lock_file_records() {
    let fixture = Fixture::new();
    fixture.file("project/.git/HEAD", "");
    if let Err(reason) = repository(&fixture) {
        skills_test_support::skip(reason);
        return;
    }
    let source = "git+../repository";
    succeed(&fixture, &["add", source, "--yes"]);
    fixture.file(
        "repository/skills/notes/SKILL.md",
        "---\nname: notes\ndescription: About notes.\n---\nNew\n",
    );
    commit(&fixture, 2);
    let outdated = succeed(&fixture, &["outdated", "--json"]);
    let outdated: Value = serde_json::from_str(&outdated.stdout).unwrap();
    let revision = |key: &str| {
        outdated["outdated"][0][key]["revision"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(revision("installed").starts_with("git:"));
    assert_ne!(revision("installed"), revision("available"));
    // A missing skill is restored at the locked commit, not at the newest one.
    fs::remove_dir_all(fixture.path().join("project/.agents/skills/notes")).unwrap();
    succeed(&fixture, &["add"]);
    succeed(&fixture, &["verify"]);
    assert_eq!(run(&fixture, &["update", "--check"]).code, 1);
    succeed(&fixture, &["update", "--yes"]);
    succeed(&fixture, &["update", "--check"]);
    // The same content from another source is a change of trust.
    fixture.file(
        "copy/notes/SKILL.md",
        "---\nname: notes\ndescription: About notes.\n---\nNew\n",
    );
    let moved = run(&fixture, &["add", "../copy", "--yes"]);
    assert_eq!(moved.code, 3, "{}", moved.stderr);
    // An older version takes a person.
    let older = run(&fixture, &["add", "git+../repository#v1.0", "--yes"]);
    assert_eq!(older.code, 3, "{}", older.stderr);
    assert!(
        older.stderr.contains("older than the installed one"),
        "{}",
        older.stderr
    );
}

/// The user may mean either, so that the repository of a stranger is not asked for.
#[test]
fn a_directory_like_the_short_form_of_a_repository_is_ambiguous() {
    let fixture = fixture();
    fixture.skill("project/acme/tools/notes", "notes");
    for source in ["acme/tools", "acme/tools#main", "acme/tools//notes"] {
        let done = run(&fixture, &["add", source, "--dry-run"]);
        assert_eq!(done.code, 2, "{source}: {}", done.stderr);
        let expected = "error: `acme/tools` is a directory and the short form of a repository of GitHub\nhelp: write `./acme/tools` for the directory, or `https://github.com/acme/tools`\n";
        assert_eq!(done.stderr, expected);
    }
    // A directory that was mistyped is not one of a repository.
    for source in ["acme/tools/nots", "acme/tools/notes@pdf#v1"] {
        let done = run(&fixture, &["add", source, "--dry-run"]);
        assert_eq!(done.code, 2, "{source}: {}", done.stderr);
        let expected = "`acme/tools` is a directory and the short form of a repository of GitHub";
        assert!(done.stderr.contains(expected), "{}", done.stderr);
    }
    succeed(&fixture, &["add", "./acme/tools", "--dry-run"]);
}

/// A skill of the public registry with the same name could be another one.
#[test]
fn entries_of_clawhub_are_looked_for_in_the_chosen_registry() {
    let fixture = fixture();
    fixture
        .file(
            "project/.clawhub/lock.json",
            r#"{"version": 1, "skills": {"pdf": {"version": "1.0.0", "installedAt": 1}}}"#,
        )
        .file(
            "home/.config/skills/config.toml",
            "clawhub-registry = \"https://127.0.0.1:1/hub\"\n",
        );
    let done = run(&fixture, &["lock", "--from", ".clawhub/lock.json", "--yes"]);
    assert_eq!(done.code, 1, "{}", done.stderr);
    let expected = "https://127.0.0.1:1/hub/";
    assert!(done.stderr.contains(expected), "{}", done.stderr);
    assert!(!done.stderr.contains("clawhub.ai"), "{}", done.stderr);
}

/// Without anything to do, a command says why, and does not claim more than it found.
#[test]
fn nothing_to_do_is_reported_as_it_is() {
    let fixture = Fixture::new();
    fixture.skill("source/a", "a");
    std::fs::create_dir_all(fixture.path().join("project/installed")).unwrap();
    let run = |arguments: &[&str]| {
        let done = fixture.run("project", &[arguments, &["--root", "installed"]].concat());
        format!("{}{}", done.stdout, done.stderr)
    };
    let nothing_locked = "no lock file lists a skill\nhelp: `skills add SOURCE --root installed` installs skills and lists them in a lock file\n";
    for arguments in [&["outdated"][..], &["update"], &["update", "--check"]] {
        assert_eq!(run(arguments), nothing_locked);
    }
    assert_snapshot!(run(&["add"]), @"
    no skill is locked in PLACE/project/installed
    help: pass a source to install skills: `skills add SOURCE --root installed`
    ");
    run(&["add", "../source/a", "--yes"]);
    let up_to_date = "all skills are up to date\n";
    assert_eq!(run(&["outdated"]), up_to_date);
    assert_eq!(run(&["update", "--check"]), up_to_date);
    assert_snapshot!(run(&["add"]), @"nothing to install in PLACE/project/installed: no locked skill is missing");
    assert_snapshot!(run(&["add", "../source/a", "--dry-run"]), @"`a` is up to date in PLACE/project/installed");
}

/// One bad skill of a source is left out, with the reason and the place, and the command fails.
#[test]
fn a_bad_skill_of_a_source_is_reported_and_the_others_are_installed() {
    let fixture = fixture();
    fixture
        .file("source/bad/SKILL.md", "# notes\n")
        .file("source/colon/a:b.txt", "x")
        .skill("source/colon", "colon");
    let done = run(&fixture, &["add", "../source", "--yes"]);
    assert_eq!(done.code, 1, "{}", done.stderr);
    assert_snapshot!(done.stdout, @"
    added `notes` to PLACE/project/.agents/skills
    added `pdf` to PLACE/project/.agents/skills
    ");
    let errors = done
        .stderr
        .lines()
        .filter(|line| line.starts_with("error:"));
    assert_snapshot!(errors.collect::<Vec<_>>().join("\n"), @"
    error: bad: the skill in `bad` is not valid: missing frontmatter: the first line must be `---`
    error: colon: cannot use `colon/a:b.txt` of the source: path contains ':'
    error: 2 of 4 skills not installed for the reasons above: `bad`, `colon`
    ");
    // One that is named is an error, and nothing is installed.
    let named = [
        "add",
        "../source",
        "--skill",
        "bad",
        "--to",
        "./out",
        "--yes",
    ];
    let named = run(&fixture, &named);
    assert_eq!(named.code, 1, "{}", named.stderr);
    assert!(!fixture.path().join("project/out/bad").exists());
    let shown = run(&fixture, &["add", "../source", "--yes", "--json"]);
    let document: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(document["failures"].as_array().unwrap().len(), 2);
}

/// A list shows the text of the source and writes nothing.
#[test]
fn the_skills_of_a_source_are_listed_without_being_installed() {
    let fixture = fixture();
    fixture.file(
        "source/deep/odd/SKILL.md",
        "---\nname: odd\ndescription: \"Shows \\e[31mred\\nadded `x`\"\n---\n",
    );
    let listed = succeed(&fixture, &["add", "../source", "--list"]);
    assert_snapshot!(listed.stdout, @r"
    notes  //notes     About notes.
    odd    //deep/odd  Shows \u{1b}[31mred\nadded `x`
    pdf    //pdf       Fills forms.
    ");
    assert!(!fixture.path().join("project/.agents").exists());
    let named = ["add", "../source", "--list", "--skill", "pdf", "--json"];
    let document: Value = serde_json::from_str(&succeed(&fixture, &named).stdout).unwrap();
    assert_eq!(document["skills"][0]["directory"], "pdf");
    // An edit of what is installed does not stop it.
    add_all(&fixture);
    fixture.file("project/.agents/skills/pdf/scripts/fill.py", "edited");
    succeed(&fixture, &["add", "../source", "--list"]);
}

#[cfg(target_os = "linux")]
#[test]
fn the_question_names_the_place() {
    let fixture = fixture();
    let (code, shown) = answered(&fixture, &["add", "../source"], "n", || {});
    assert_eq!(code, 3, "{shown}");
    let place = fixture.path().join("project/.agents/skills");
    let question = format!("Install them in {}? [y/N]", place.display());
    assert!(shown.contains(&question), "{shown}");
}
