//! Protected paths in a writable workspace, and attempts to change them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use skills_sandbox_linux::IsolationMode;
use skills_test_support::skip;

use crate::skill::{Skill, skip_without};

/// Creates files with the same content in the workspace.
fn create_files(workspace: &Path, names: &[&str]) {
    for name in names {
        fs::create_dir_all(workspace.join(name).parent().unwrap()).unwrap();
        fs::write(workspace.join(name), "unchanged").unwrap();
    }
}

/// Tries to write, then to replace each path; returns those that changed.
async fn changed_paths(skill: &Skill, names: &[&str]) -> Vec<String> {
    let workspace = skill.path("workspace");
    let list = names
        .iter()
        .map(|name| format!("{:?}", workspace.join(name).display().to_string()))
        .collect::<Vec<_>>()
        .join(", ");
    let script = format!(
        "import os\nfor path in [{list}]:\n    for attempt in (lambda: open(path, 'w').write('changed'), lambda: os.unlink(path), \
         lambda: open(path, 'w').write('changed')):\n        try: attempt()\n        except OSError: pass\n"
    );
    let output = skill.python(&script).await;
    assert!(
        output.termination.is_success(),
        "{:?} {}",
        output.termination,
        output.stderr.text()
    );
    let is_changed = |name: &&&str| {
        fs::read_to_string(workspace.join(name)).ok().as_deref() != Some("unchanged")
    };
    names
        .iter()
        .filter(is_changed)
        .map(|name| (*name).to_owned())
        .collect()
}

/// A directory in a writable workspace that is also granted for reading stays protected.
#[tokio::test]
async fn a_read_grant_does_not_unprotect_paths() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let skill = Skill::new(IsolationMode::Namespaces)
        .tool("Write")
        .tool("Read(.git/**)")
        .tool("Read(sub/**)")
        .tool("Read(.claude/**)");
    let names = [
        ".git/hooks/pre-commit",
        ".git/config",
        "sub/.git/hooks/pre-commit",
        ".claude/settings.json",
    ];
    create_files(&skill.path("workspace"), &names);
    create_files(&skill.path("workspace"), &["sub/ordinary"]);
    assert_eq!(changed_paths(&skill, &names).await, [""; 0]);
    assert_eq!(
        changed_paths(&skill, &["sub/ordinary"]).await,
        ["sub/ordinary"],
        "other files are writable"
    );
}

/// The symlink cannot be replaced, and its target is protected.
#[tokio::test]
async fn protected_symlinks_and_their_targets_are_read_only() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let skill = Skill::new(IsolationMode::Namespaces).tool("Write");
    let workspace = skill.path("workspace");
    create_files(
        &workspace,
        &[
            "dot/zshrc",
            "real-hook",
            "skills/x",
            "elsewhere/git/hooks/pre-commit",
            ".git/hooks/other",
            ".claude/other",
        ],
    );
    symlink("dot/zshrc", workspace.join(".zshrc")).unwrap();
    symlink("../../real-hook", workspace.join(".git/hooks/pre-commit")).unwrap();
    symlink("../skills", workspace.join(".claude/skills")).unwrap();
    fs::create_dir(workspace.join("worktree")).unwrap();
    fs::write(
        workspace.join("worktree/.git"),
        "gitdir: ../elsewhere/git\n",
    )
    .unwrap();
    let names = [
        ".zshrc",
        "dot/zshrc",
        "real-hook",
        "skills/x",
        "elsewhere/git/hooks/pre-commit",
        ".git/hooks/pre-commit",
    ];
    assert_eq!(changed_paths(&skill, &names).await, [""; 0]);
    assert!(workspace.join(".zshrc").is_symlink() && workspace.join(".claude/skills").is_symlink());
}

/// A directory that cannot be listed cannot be searched for protected paths, so all of it is
/// read-only.
#[tokio::test]
async fn a_directory_that_cannot_be_listed_is_not_written() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    if nix::unistd::geteuid().is_root() {
        return skip("root lists every directory");
    }
    let skill = Skill::new(IsolationMode::Namespaces).tool("Write");
    let workspace = skill.path("workspace");
    let names = ["sub/.git/hooks/pre-commit", ".claude/settings.json"];
    create_files(&workspace, &names);
    let set = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap()
    };
    set(&workspace.join("sub"), 0o300);
    assert_eq!(changed_paths(&skill, &names).await, [""; 0]);
    set(&workspace, 0o300);
    assert_eq!(changed_paths(&skill, &names).await, [""; 0]);
    set(&workspace, 0o700);
    set(&workspace.join("sub"), 0o700);
}
