//! Skills of a project that is not trusted, which its user trusts one by one.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use skills_test_support::skip_without_sandbox;

use crate::fixture::Fixture;
use crate::skills::{Done, command_with_state};
#[cfg(target_os = "linux")]
use crate::terminal;

/// A project with a skill of its own and settings that loosen, a source, and a state directory.
struct Project {
    fixture: Fixture,
    state: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let fixture = Fixture::new();
        fixture
            .file("project/.git/HEAD", "")
            .file("project/.skills/config.toml", "skills.pdf.pin = true\n")
            .file("project/.skills/policy.toml", "allow = [\"spawn:git\"]\n")
            .skill("project/.agents/skills/own", "own")
            .skill("source/pdf", "pdf")
            .file("source/pdf/scripts/fill.py", "print('filled')\n");
        Self {
            fixture,
            state: tempfile::tempdir().unwrap(),
        }
    }

    fn run(&self, arguments: &[&str]) -> Done {
        let state = self.state.path();
        self.fixture.run_with_state("project", arguments, state)
    }

    fn installed(&self, file: &str) -> PathBuf {
        self.fixture
            .path()
            .join("project/.agents/skills")
            .join(file)
    }

    fn listed(&self) -> String {
        self.run(&["list"]).stdout
    }
}

#[test]
fn an_installed_skill_is_used_without_trust_in_its_project() {
    let project = Project::new();
    let added = project.run(&["add", "../source", "--yes"]);
    assert_eq!(added.code, 0, "{}", added.page());
    assert!(
        added
            .stderr
            .contains("trusted this content of `pdf` in the project"),
        "{}",
        added.page()
    );
    assert!(!added.stderr.contains("skills trust --project"));
    // Nothing else of the project is.
    let listed = project.run(&["list"]);
    let page = listed.page();
    assert!(listed.stdout.contains("pdf"), "{page}");
    assert!(!listed.stdout.contains("own"), "{page}");
    assert!(
        page.contains("`skills.pdf.pin` of a project has no effect"),
        "{page}"
    );

    // A file of the skill changes, with and without the lock file.
    std::fs::write(project.installed("pdf/scripts/fill.py"), "print('evil')\n").unwrap();
    assert!(!project.listed().contains("pdf"));
    std::fs::remove_file(project.installed("skills.lock")).unwrap();
    assert!(!project.listed().contains("pdf"));
    std::fs::write(
        project.installed("pdf/scripts/fill.py"),
        "print('filled')\n",
    )
    .unwrap();
    assert!(project.listed().contains("pdf"));
}

#[test]
fn what_was_not_installed_now_is_not_trusted() {
    let project = Project::new();
    // The project has the skill and its lock file already: it was not shown to a user.
    project.run(&["add", "../source", "--yes"]);
    let other = Project {
        state: tempfile::tempdir().unwrap(),
        fixture: project.fixture,
    };
    let added = other.run(&["add", "../source", "--yes"]);
    assert_eq!(added.code, 0, "{}", added.page());
    assert!(
        added.stderr.contains("skills trust --project"),
        "{}",
        added.page()
    );
    assert!(!other.listed().contains("pdf"));
}

#[test]
fn trust_ends_with_that_of_the_project_and_needs_a_private_file() {
    let project = Project::new();
    project.run(&["add", "../source", "--yes"]);
    let file = project.state.path().join("skills/trusted-skills.json");
    let text = std::fs::read_to_string(&file).unwrap();

    // A second user could have written it, or a later version.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    let listed = project.run(&["list"]);
    assert!(!listed.stdout.contains("pdf"), "{}", listed.page());
    assert!(
        listed
            .stderr
            .contains("warning: no skill of the project is trusted")
    );
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    for changed in [
        text.replace("\"digest\"", "\"only_if\": \"x\", \"digest\""),
        text.replace("sha256:", "md5:"),
        text.replace("/project\"", "/other\""),
    ] {
        assert_ne!(changed, text);
        std::fs::write(&file, changed).unwrap();
        assert!(!project.listed().contains("pdf"));
    }
    std::fs::write(&file, &text).unwrap();
    assert!(project.listed().contains("pdf"));

    let listed = project.run(&["trust", "--list"]).stdout;
    let skill = "skill  PLACE/project/.agents/skills/pdf (sha256:";
    assert!(listed.contains(skill), "{listed}");
    let revoked = project.run(&["trust", "--project", "--revoke"]);
    assert_eq!(revoked.code, 0, "{}", revoked.page());
    assert!(!project.listed().contains("pdf"));
}

/// Runs the skill of the project at a terminal, with this answer.
#[cfg(target_os = "linux")]
fn run_own(project: &Project, answer: &str, meanwhile: impl FnOnce()) -> (i32, String) {
    let scratch = tempfile::tempdir().unwrap();
    let arguments = ["run", "own"];
    let mut command = command_with_state(&arguments, scratch.path(), project.state.path());
    command
        .current_dir(project.fixture.path().join("project"))
        .env("HOME", project.fixture.path().join("home"));
    terminal::answered(command, "[y/N]", answer, meanwhile)
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_at_a_terminal_asks_about_its_skill_alone() {
    if skip_without_sandbox() {
        return;
    }
    let project = Project::new();
    let script = "project/.agents/skills/own/scripts/main.sh";
    project.fixture.file(script, "echo 1\n");
    project
        .fixture
        .skill("project/.agents/skills/other", "other");
    let unasked = project.run(&["run", "own", "--yes"]);
    assert_ne!(unasked.code, 0, "{}", unasked.page());
    for answer in ["n", ""] {
        let (code, shown) = run_own(&project, answer, || {});
        assert_ne!(code, 0, "{shown}");
        assert!(shown.contains("Trust skill `own` of project "), "{shown}");
        assert!(!project.listed().contains("own"));
    }
    // Other content than was shown is not used.
    let change = || {
        project.fixture.file(script, "echo evil\n");
    };
    let (code, shown) = run_own(&project, "y", change);
    assert_ne!(code, 0, "{shown}");
    assert!(!project.listed().contains("own"));
    project.fixture.file(script, "echo 1\n");
    let listed = project.listed();
    assert!(
        listed.contains("own") && !listed.contains("other"),
        "{listed}"
    );
    assert_eq!(project.run(&["run", "own"]).stdout, "1\n");
}
