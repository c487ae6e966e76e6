//! Protected paths in a writable directory cannot be modified through any path.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cases::fixture::{Fixture, Generation};

/// A workspace with protected names in it, a directory that is granted for reading only, and
/// symlinks to them.
fn fixture(generation: Generation) -> Fixture {
    let fixture = Fixture::new(generation)
        .writable()
        .read_only("workspace/fixed");
    let directories = [
        ".git/hooks",
        ".vscode",
        ".config/git",
        "fixed/sub",
        "plain",
        "above/below",
    ];
    directories
        .iter()
        .for_each(|name| std::fs::create_dir_all(fixture.path("workspace").join(name)).unwrap());
    let files = [
        ".git/config",
        ".git/hooks/pre-commit",
        ".vscode/settings.json",
        ".config/git/config",
        ".bashrc",
        "fixed/data.txt",
    ];
    files.iter().for_each(|name| {
        std::fs::write(fixture.path("workspace").join(name), "as it was").unwrap()
    });
    std::fs::write(fixture.path("workspace/mine.txt"), "mine").unwrap();
    for (name, target) in [
        ("to-git", ".git"),
        ("to-config", ".git/config"),
        ("to-fixed", "fixed"),
        ("to-nothing", ".claude"),
        ("here", "."),
    ] {
        symlink(target, fixture.path("workspace").join(name)).unwrap();
    }
    fixture
}

/// Paths that must be unchanged afterwards.
const PROTECTED: [&str; 6] = [
    ".git",
    ".vscode",
    ".config/git",
    ".bashrc",
    "fixed",
    ".config",
];
/// Paths that must not exist afterwards.
const MISSING: [&str; 8] = [
    ".claude",
    ".ssh",
    ".mcp.json",
    ".GIT",
    ".Claude",
    ".config/fish",
    "stolen",
    ".git/stolen",
];

/// Makes the attempts in sequence; each must be rejected, and change nothing that is protected.
async fn rejects(attempts: &[&[&str]]) {
    for &generation in Generation::ALL {
        let fixture = fixture(generation);
        let seen = || PROTECTED.map(|name| fixture.tree(&format!("workspace/{name}")));
        let before = seen();
        for attempt in attempts {
            let output = fixture.attempt(attempt).await;
            assert!(
                output.starts_with("refused: "),
                "{generation:?}: {attempt:?}: {output}"
            );
            assert_eq!(before, seen(), "{generation:?}: {attempt:?}: {output}");
            let made = MISSING.iter().find(|name| {
                fixture
                    .path("workspace")
                    .join(name)
                    .symlink_metadata()
                    .is_ok()
            });
            assert_eq!(made, None, "{generation:?}: {attempt:?}: {output}");
        }
    }
}

#[tokio::test]
async fn protected_paths_are_not_modified_directly() {
    rejects(&[
        &["create", "/workspace/.git/config"],
        &["write", "/workspace/.git/config"],
        &["write", "/workspace/.git/new"],
        &["truncate", "/workspace/.git/config"],
        &["set-size", "/workspace/.git/config"],
        &["resize", "/workspace/.git/config", "1"],
        &["pour", "/workspace/.bashrc", "1"],
        &["set-times", "/workspace/.git/config"],
        &["set-times", "/workspace/.git"],
        &["set-times-through", "/workspace/.git/config"],
        &["unlink", "/workspace/.git/config"],
        &["unlink", "/workspace/.bashrc"],
        &["remove-directory", "/workspace/.git/hooks"],
        &["make-directory", "/workspace/.git/stolen"],
        &["symlink", "config", "/workspace/.git/stolen"],
        &["rename", "/workspace/.git/config", "/workspace/stolen"],
        &["rename", "/workspace/.git/config", "/workspace/.git/stolen"],
        &["rename", "/workspace/mine.txt", "/workspace/.git/config"],
        &["rename", "/workspace/mine.txt", "/workspace/.bashrc"],
        &["write", "/workspace/.vscode/settings.json"],
        &["write", "/workspace/.config/git/config"],
        &["truncate", "/workspace/.bashrc"],
        &["make-directory", "/workspace/plain/.git"],
        &["write", "/workspace/plain/.envrc"],
        &["make-directory", "/workspace/above/below/.KIRO"],
    ])
    .await;
}

/// Otherwise the next run would read what they lead to.
#[tokio::test]
async fn symlinks_to_keys_are_neither_removed_nor_moved() {
    for &generation in Generation::ALL {
        let fixture = fixture(generation);
        let workspace = fixture.path("workspace");
        std::fs::create_dir(workspace.join("store")).unwrap();
        std::fs::create_dir(workspace.join("keep")).unwrap();
        std::fs::write(workspace.join("store/real"), "canary").unwrap();
        symlink("../current/real", workspace.join("keep/.env")).unwrap();
        symlink("store", workspace.join("current")).unwrap();
        let attempts: &[&[&str]] = &[
            &["unlink", "/workspace/keep/.env"],
            &["rename", "/workspace/keep/.env", "/workspace/keep/z"],
            &["rename", "/workspace/keep", "/workspace/moved"],
            &["unlink", "/workspace/current"],
            &["rename", "/workspace/current", "/workspace/now"],
            &["rename", "/workspace/mine.txt", "/workspace/current"],
        ];
        for attempt in attempts {
            let output = fixture.attempt(attempt).await;
            assert!(
                output.starts_with("refused: "),
                "{generation:?}: {attempt:?}: {output}"
            );
        }
        let text = std::fs::read_to_string(workspace.join("keep/.env")).unwrap();
        assert_eq!(text, "canary", "{generation:?}");
    }
}

#[tokio::test]
async fn existing_symlinks_do_not_bypass_protection() {
    rejects(&[
        &["create", "/workspace/to-config"],
        &["write", "/workspace/to-config"],
        &["truncate", "/workspace/to-config"],
        &["resize", "/workspace/to-config", "1"],
        &["set-times-through", "/workspace/to-config"],
        &["set-times-through", "/workspace/to-git"],
        &["set-times-through", "/workspace/to-fixed/data.txt"],
        &["set-times", "/workspace/to-git/"],
        &["set-times", "/workspace/to-git/."],
        &["set-times-through", "/workspace/to-git/"],
        &["write", "/workspace/to-git/config"],
        &["write", "/workspace/to-git/stolen"],
        &["unlink", "/workspace/to-git/config"],
        &["rename", "/workspace/to-git/config", "/workspace/stolen"],
        &["rename", "/workspace/mine.txt", "/workspace/to-git/config"],
        &["rename", "/workspace/to-git/", "/workspace/stolen"],
        &["rename", "/workspace/plain", "/workspace/to-git/"],
        &["remove-directory", "/workspace/to-git/hooks/"],
        &["write", "/workspace/to-nothing"],
        &["make-directory", "/workspace/to-nothing/"],
        &["rename", "/workspace/plain", "/workspace/to-nothing/"],
        &["write", "/workspace/here/.git/config"],
        &["write", "/workspace/here/here/.mcp.json"],
    ])
    .await;
}

#[tokio::test]
async fn created_symlinks_do_not_bypass_protection() {
    for &generation in Generation::ALL {
        let fixture = fixture(generation);
        let before = PROTECTED.map(|name| fixture.tree(&format!("workspace/{name}")));
        for (target, name) in [
            (".git", "one"),
            (".git/config", "two"),
            ("../.git/hooks", "plain/three"),
            ("fixed", "four"),
            (".ssh", "five"),
        ] {
            assert_eq!(
                fixture
                    .attempt(&["symlink", target, &format!("/workspace/{name}")])
                    .await,
                "ok: symlink",
                "{generation:?}: {name}"
            );
        }
        let attempts: &[&[&str]] = &[
            &["write", "/workspace/one/config"],
            &["write", "/workspace/two"],
            &["truncate", "/workspace/two"],
            &["set-times-through", "/workspace/two"],
            &["set-times-through", "/workspace/plain/three/pre-commit"],
            &["write", "/workspace/plain/three/pre-commit"],
            &["write", "/workspace/plain/three/post-commit"],
            &["unlink", "/workspace/four/data.txt"],
            &["make-directory", "/workspace/four/new"],
            &["write", "/workspace/five"],
            &["make-directory", "/workspace/five"],
        ];
        for attempt in attempts {
            let output = fixture.attempt(attempt).await;
            assert!(
                output.starts_with("refused: "),
                "{generation:?}: {attempt:?}: {output}"
            );
        }
        assert_eq!(
            before,
            PROTECTED.map(|name| fixture.tree(&format!("workspace/{name}"))),
            "{generation:?}"
        );
        assert!(!fixture.path("workspace/.ssh").exists());
    }
}

#[tokio::test]
async fn parents_of_protected_paths_do_not_move() {
    rejects(&[
        &["rename", "/workspace/.git", "/workspace/stolen"],
        &["rename", "/workspace/.git/hooks", "/workspace/stolen"],
        &["rename", "/workspace/.config", "/workspace/stolen"],
        &["rename", "/workspace/plain", "/workspace/.git/hooks"],
        &["rename", "/workspace/plain", "/workspace/.claude"],
        &["rename", "/workspace/plain", "/workspace/.config/fish"],
        &["rename", "/workspace/above/below", "/workspace/.ssh"],
        &["hold", "/workspace/.git", "/workspace/stolen"],
        &["hold", "/workspace/.config/git", "/workspace/stolen"],
        &["hold", "/workspace/to-git/hooks", "/workspace/stolen"],
        &["hold", "/workspace/plain", "/workspace/.claude"],
        &["hold", "/workspace/fixed/sub", "/workspace/stolen"],
    ])
    .await;
}

#[tokio::test]
async fn no_hard_link_is_created() {
    rejects(&[
        &["link", "/workspace/.git/config", "/workspace/stolen"],
        &["link", "/workspace/to-git/config", "/workspace/stolen"],
        &["link", "/workspace/.bashrc", "/work/stolen"],
        &["link", "/workspace/fixed/data.txt", "/workspace/stolen"],
        &["link", "/workspace/mine.txt", "/workspace/.git/stolen"],
        &["link", "/workspace/mine.txt", "/workspace/.mcp.json"],
        &["link", "/workspace/mine.txt", "/workspace/fixed/new.txt"],
    ])
    .await;
}

#[tokio::test]
async fn names_that_are_free_stay_free_in_any_letter_case() {
    rejects(&[
        &["create", "/workspace/.mcp.json"],
        &["write", "/workspace/.mcp.json"],
        &["make-directory", "/workspace/.claude"],
        &["make-directory", "/workspace/.Claude"],
        &["make-directory", "/workspace/.claude/"],
        &["make-directory", "/workspace/.GIT"],
        &["make-directory", "/workspace/.config/fish"],
        &["symlink", "plain", "/workspace/.ssh"],
        &["rename", "/workspace/mine.txt", "/workspace/.MCP.json"],
        &["write", "/workspace/.BashRC"],
    ])
    .await;
}

#[tokio::test]
async fn unusual_paths_resolve_to_the_same_names() {
    rejects(&[
        &["create", "/workspace/plain/../.git/config"],
        &["truncate", "/workspace/plain/../.git/config"],
        &["truncate", "/workspace/.git/../.git/config"],
        &["truncate", "/workspace/./.git/./config"],
        &["truncate", "/workspace//.git//config"],
        &["write", "/workspace/above/below/../../.mcp.json"],
        &["rename", "/workspace/.git/.", "/workspace/stolen"],
        &["rename", "/workspace/.git/hooks/..", "/workspace/stolen"],
        &["rename", "/workspace/.git/", "/workspace/stolen"],
        &["set-times", "/workspace/.git/."],
        &["set-times", "/workspace/.git/hooks/.."],
        &["set-times", "/workspace/plain/../.git/"],
        &["make-directory", "/workspace/.claude/."],
        &["remove-directory", "/workspace/.git/hooks/"],
    ])
    .await;
}

#[tokio::test]
async fn read_only_grants_hold_in_a_writable_directory() {
    rejects(&[
        &["create", "/workspace/fixed/data.txt"],
        &["write", "/workspace/fixed/data.txt"],
        &["write", "/workspace/fixed/new.txt"],
        &["truncate", "/workspace/to-fixed/data.txt"],
        &["set-times", "/workspace/fixed"],
        &["set-times", "/workspace/fixed/sub"],
        &["unlink", "/workspace/fixed/data.txt"],
        &["remove-directory", "/workspace/fixed/sub"],
        &["make-directory", "/workspace/fixed/sub/new"],
        &["rename", "/workspace/fixed", "/workspace/stolen"],
        &["rename", "/workspace/fixed/data.txt", "/workspace/stolen"],
        &["rename", "/workspace/mine.txt", "/workspace/fixed/data.txt"],
    ])
    .await;
}

/// The same calls next to protected paths, so that the rejections are known to have the right
/// reason.
#[tokio::test]
async fn unprotected_neighbors_can_be_modified() {
    for &generation in Generation::ALL {
        let fixture = fixture(generation);
        let attempts: &[&[&str]] = &[
            &["write", "/workspace/.gitignore"],
            &["write", "/workspace/.config/other"],
            &["make-directory", "/workspace/.hub"],
            &["write", "/workspace/plain/../.hub/new"],
            &["write", "/workspace/to-git.txt"],
            &["set-times", "/workspace/mine.txt"],
            &["set-times-through", "/workspace/mine.txt"],
            &["set-times", "/workspace/to-git"],
            &["set-times-through", "/workspace/here"],
            &["resize", "/workspace/mine.txt", "9"],
            &["pour", "/workspace/mine.txt", "9"],
            &["hold", "/workspace/plain", "/workspace/moved"],
            &["rename", "/workspace/above", "/workspace/higher"],
            &["unlink", "/workspace/to-git"],
            &["make-directory", "/work/.git"],
            &["raw-read", "/workspace/.git/hooks/pre-commit"],
        ];
        for attempt in attempts {
            let output = fixture.attempt(attempt).await;
            assert!(
                output.starts_with("ok: "),
                "{generation:?}: {attempt:?}: {output}"
            );
        }
        assert!(
            fixture.path("workspace/moved/config").exists()
                && fixture.path("workspace/.hub/new").exists(),
            "{generation:?}"
        );
    }
}

/// As dotfile managers create them.
#[tokio::test]
async fn the_target_of_a_protected_symlink_is_protected() {
    for &generation in Generation::ALL {
        let fixture = fixture(generation);
        std::fs::create_dir_all(fixture.path("workspace/dots/cursor")).unwrap();
        std::fs::write(fixture.path("workspace/dots/cursor/rules"), "as it was").unwrap();
        symlink("dots/cursor", fixture.path("workspace/.cursor")).unwrap();
        for attempt in [
            &["write", "/workspace/.cursor/rules"][..],
            &["write", "/workspace/dots/cursor/rules"],
            &["write", "/workspace/dots/cursor/new"],
            &["rename", "/workspace/dots", "/workspace/moved"],
            &["rename", "/workspace/dots/cursor", "/workspace/moved"],
        ] {
            let output = fixture.attempt(attempt).await;
            assert!(
                output.starts_with("refused: "),
                "{generation:?}: {attempt:?}: {output}"
            );
        }
        assert_eq!(
            std::fs::read_to_string(fixture.path("workspace/.cursor/rules")).unwrap(),
            "as it was"
        );
        assert_eq!(
            fixture.attempt(&["write", "/workspace/dots/mine"]).await,
            "ok: written"
        );
    }
}

#[tokio::test]
async fn what_the_configuration_of_git_names_is_protected() {
    for &generation in Generation::ALL {
        let fixture = fixture(generation);
        let config = "[core]\nhooksPath = tools\nfsmonitor = ./bin/watch\n";
        std::fs::write(fixture.path("workspace/.git/config"), config).unwrap();
        std::fs::create_dir_all(fixture.path("workspace/tools")).unwrap();
        std::fs::write(fixture.path("workspace/tools/pre-commit"), "as it was").unwrap();
        for attempt in [
            &["write", "/workspace/tools/pre-commit"][..],
            &["write", "/workspace/tools/post-commit"],
            &["rename", "/workspace/tools", "/workspace/moved"],
            &["write", "/workspace/bin/watch"],
        ] {
            let output = fixture.attempt(attempt).await;
            assert!(
                !output.starts_with("ok"),
                "{generation:?}: {attempt:?}: {output}"
            );
        }
        let hook = fixture.path("workspace/tools/pre-commit");
        assert_eq!(std::fs::read_to_string(hook).unwrap(), "as it was");
        let other = fixture.attempt(&["write", "/workspace/other"]).await;
        assert_eq!(other, "ok: written");
    }
}

/// Another process with write access redirects a path between the check and the call.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_path_redirected_after_the_check_modifies_nothing() {
    for &generation in Generation::ALL {
        let fixture = fixture(generation);
        let (place, aside) = (fixture.path("workspace/place"), fixture.path("aside"));
        std::fs::create_dir(&place).unwrap();
        symlink(".git", fixture.path("link")).unwrap();
        let before = fixture.tree("workspace/.git");
        let (link, is_over) = (fixture.path("link"), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::fs::rename(&place, &aside).unwrap();
                    std::fs::rename(&link, &place).unwrap();
                    std::fs::rename(&place, &link).unwrap();
                    std::fs::rename(&aside, &place).unwrap();
                }
            });
            let executor = tokio::runtime::Handle::current();
            tokio::task::block_in_place(|| {
                executor.block_on(async {
                    for _ in 0..150 {
                        fixture
                            .attempt(&["unlink", "/workspace/place/config"])
                            .await;
                        fixture
                            .attempt(&["rename", "/workspace/mine.txt", "/workspace/place/config"])
                            .await;
                        fixture.attempt(&["create", "/workspace/place/new"]).await;
                        fixture.attempt(&["unlink", "/workspace/place/new"]).await;
                    }
                });
            });
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(before, fixture.tree("workspace/.git"), "{generation:?}");
    }
}
