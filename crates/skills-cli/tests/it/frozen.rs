//! Tests of locked skills: what changed is not used, and `--frozen` accepts nothing else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::mcp::Server;
use crate::skills::{Done, command_with_state};

const SKILLS: &str = "project/.agents/skills";
const EVIL: &str = "EVIL RAN";

/// A project with the locked skills `notes` and `pdf`.
fn locked() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .file("project/.git/HEAD", "")
        .skill("source/notes", "notes")
        .file("source/notes/references/w.md", "# Words\nThe old words.\n")
        .skill("source/pdf", "pdf")
        .file("source/pdf/scripts/main.sh", "echo filled\n");
    let added = run(&fixture, &["add", "../source", "--yes"]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    assert_eq!(frozen(&fixture, &["list"]).code, 0);
    assert_eq!(run(&fixture, &["--frozen", "verify"]).code, 0);
    fixture
}

fn run(fixture: &Fixture, arguments: &[&str]) -> Done {
    fixture.run("project", arguments)
}

fn frozen(fixture: &Fixture, arguments: &[&str]) -> Done {
    run(
        fixture,
        &[&["--frozen", "--trust-project"], arguments].concat(),
    )
}

fn path(fixture: &Fixture, below: &str) -> PathBuf {
    fixture.path().join(SKILLS).join(below)
}

/// Puts a symlink to another skill in place of the locked skill `pdf`.
fn replace_by_link(fixture: &Fixture) {
    fs::rename(path(fixture, "pdf"), fixture.path().join("project/evil")).unwrap();
    fixture.file("project/evil/scripts/main.sh", &format!("echo '{EVIL}'\n"));
    symlink("../../evil", path(fixture, "pdf")).unwrap();
}

#[test]
fn a_symlink_in_place_of_a_locked_skill_is_not_used() {
    let fixture = locked();
    replace_by_link(&fixture);
    for root in [vec![], vec!["--root", ".agents/skills"]] {
        let arguments = |rest: &[&'static str]| [root.as_slice(), rest].concat();
        let listed = run(&fixture, &arguments(&["--trust-project", "list"]));
        assert_eq!(listed.stdout, "notes  About notes.\n");
        for command in [
            vec!["run", "pdf", "--yes"],
            vec!["prompt", "load", "pdf"],
            vec!["show", "pdf"],
            vec!["list"],
        ] {
            let done = run(
                &fixture,
                &arguments(&[&["--trust-project"], command.as_slice()].concat()),
            );
            assert!(!done.stdout.contains(EVIL), "{command:?}: {}", done.stdout);
            assert!(
                command == ["list"] || done.code != 0,
                "{command:?}: {}",
                done.stdout
            );
            let done = frozen(&fixture, &arguments(&command));
            let code = if command[0] == "run" { 125 } else { 3 };
            assert_eq!(done.code, code, "{command:?}: {}", done.stdout);
            assert!(done.stderr.contains("`pdf` is changed"), "{}", done.stderr);
        }
    }
    // A root that is the symlink itself.
    let done = run(
        &fixture,
        &["--root", ".agents/skills/pdf", "run", "pdf", "--yes"],
    );
    assert!(
        done.code != 0 && !done.stdout.contains(EVIL),
        "{}",
        done.stdout
    );
}

#[test]
fn frozen_commands_accept_only_skills_that_the_lock_file_of_their_root_lists() {
    type Tamper = fn(&Fixture);
    let tampers: [(&str, Tamper, &str); 8] = [
        (
            "nested",
            |f| {
                f.skill(&format!("{SKILLS}/group/evil"), "evil");
            },
            "`group/evil` is not in the lock file",
        ),
        (
            "linked",
            |f| {
                f.skill("ext/sl", "sl");
                symlink("../../../ext/sl", path(f, "sl")).unwrap();
            },
            "`sl` is not in the lock file",
        ),
        (
            "no lock file",
            |f| {
                f.file(&format!("{SKILLS}/pdf/scripts/main.sh"), "echo evil\n");
                fs::remove_file(path(f, "skills.lock")).unwrap();
            },
            "`notes` is not in the lock file, `pdf` is not in the lock file",
        ),
        (
            "skill file linked out of the skill",
            |f| {
                fs::rename(path(f, "pdf/SKILL.md"), f.path().join("SKILL.md")).unwrap();
                symlink(f.path().join("SKILL.md"), path(f, "pdf/SKILL.md")).unwrap();
            },
            "`pdf` is changed",
        ),
        (
            "executable file",
            |f| {
                let script = path(f, "pdf/scripts/main.sh");
                fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
            },
            "`pdf` is changed",
        ),
        (
            "skill file removed",
            |f| fs::remove_file(path(f, "pdf/SKILL.md")).unwrap(),
            "`pdf` is changed",
        ),
        (
            "missing",
            |f| fs::remove_dir_all(path(f, "pdf")).unwrap(),
            "`pdf` is missing",
        ),
        (
            "other skill with the name",
            |f| fs::rename(path(f, "pdf"), path(f, "other")).unwrap(),
            "`other` is not in the lock file, `pdf` is changed, `pdf` is missing",
        ),
    ];
    for (name, tamper, expected) in tampers {
        let fixture = locked();
        tamper(&fixture);
        for root in [vec![], vec!["--root", ".agents/skills"]] {
            let arguments = [root.as_slice(), &["list"]].concat();
            let listed = frozen(&fixture, &arguments);
            assert_eq!(listed.code, 3, "{name}: {}", listed.stdout);
            assert!(
                listed.stderr.contains(expected),
                "{name}: {}",
                listed.stderr
            );
        }
        let verified = run(&fixture, &["--frozen", "verify"]);
        assert_eq!(verified.code, 1, "{name}: {}", verified.stdout);
        // Also without trust, although no skill is used then.
        assert_eq!(run(&fixture, &["--frozen", "list"]).code, 3, "{name}");
    }
}

/// Skills of the user are not those of the project that a frozen command is started for.
#[test]
fn frozen_commands_need_no_lock_file_of_the_user() {
    let fixture = locked();
    fixture.skill("home/.agents/skills/mine", "mine");
    let listed = frozen(&fixture, &["list"]);
    assert!(listed.stdout.contains("mine"), "{}", listed.stderr);
    fixture.file("home/.agents/skills/skills.lock", "version = 1\n");
    assert_eq!(frozen(&fixture, &["list"]).code, 3);
}

#[test]
fn a_locked_skill_with_another_executable_file_is_not_used() {
    let fixture = locked();
    let reference = path(&fixture, "notes/references/w.md");
    fs::set_permissions(reference, fs::Permissions::from_mode(0o755)).unwrap();
    let listed = run(&fixture, &["--trust-project", "list"]);
    assert_eq!(listed.stdout, "pdf  About pdf.\n");
    let verified = run(&fixture, &["verify"]);
    assert!(
        verified.stdout.starts_with("modes-changed"),
        "{}",
        verified.stdout
    );
}

/// Neither a tool nor a resource returns a changed file of a locked skill, and the skill is not
/// offered any more.
#[test]
fn a_running_server_uses_no_locked_skill_that_changed() {
    let fixture = locked();
    let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let root = fixture.path().join(SKILLS);
    let arguments = [
        "mcp",
        "--log",
        "off",
        "--tools",
        "workspace",
        "--tools",
        "catalog",
        "--root",
        root.to_str().unwrap(),
    ];
    let command = command_with_state(&arguments, directories[0].path(), directories[1].path());
    let mut server = Server::connect(command, directories.into());
    let reads = [
        (
            "skills_read",
            json!({"path": "/skills/notes/references/w.md"}),
        ),
        (
            "read_skill_resource",
            json!({"name": "notes", "path": "references/w.md"}),
        ),
        (
            "search_references",
            json!({"query": "words", "name": "notes"}),
        ),
        ("search_references", json!({"query": "words"})),
        ("load_skill", json!({"name": "notes"})),
        ("search_skills", json!({"query": "notes"})),
    ];
    let results = |server: &mut Server| -> Vec<String> {
        let calls = reads.iter();
        let mut results: Vec<String> = calls
            .map(|(tool, arguments)| server.call(tool, arguments).to_string())
            .collect();
        let listed = server.request("resources/list", &json!({}));
        let uris = listed["resources"].as_array().unwrap().iter();
        let uris: Vec<Value> = uris.map(|resource| resource["uri"].clone()).collect();
        for uri in uris.iter().filter(|uri| uri.to_string().contains("notes")) {
            results.push(
                server
                    .request("resources/read", &json!({"uri": uri}))
                    .to_string(),
            );
        }
        results
    };
    let before = results(&mut server);
    assert!(before.len() > reads.len(), "{before:?}");
    assert!(
        before[..4].iter().all(|text| text.contains("old words")),
        "{before:?}"
    );
    assert!(
        before[4..].iter().all(|text| text.contains("notes")),
        "{before:?}"
    );

    fixture.file(
        &format!("{SKILLS}/notes/references/w.md"),
        "# Words\nThe old words, and evil words.\n",
    );
    let after = results(&mut server);
    assert_eq!(
        after.len(),
        reads.len(),
        "no resource of the skill: {after:?}"
    );
    assert!(
        after[..4].iter().all(|text| !text.contains("evil words")),
        "{after:?}"
    );
    assert!(after[4].contains("\"isError\":true"), "{}", after[4]);
    assert!(!after[5].contains("About notes"), "{}", after[5]);
    server.kill();
}
