//! The roots of each client profile.

use std::path::PathBuf;

use insta::assert_snapshot;
use skills_discovery::{ClientProfile, ProfileContext, Scope, Trust, project_directories};

use crate::tree::Tree;

fn context() -> ProfileContext {
    let mut context = ProfileContext::default();
    context.project_directories = ["/work/repo", "/work/repo/sub"].map(PathBuf::from).to_vec();
    context.home = Some(PathBuf::from("/home/me"));
    context.project_trust = Trust::Trusted;
    context
}

#[test]
fn every_profile_has_its_roots() {
    let mut text = String::new();
    for profile in ClientProfile::ALL {
        text.push_str(&format!("{profile}\n"));
        for root in profile.roots(&context()) {
            text.push_str(&format!("  {} {}\n", root.scope(), root.path().display()));
        }
        assert_eq!(ClientProfile::from_name(profile.as_str()), Some(profile));
    }
    assert_snapshot!(text);
}

#[test]
fn variables_replace_default_directories() {
    let mut moved = context();
    moved.claude_config = Some(PathBuf::from("/c"));
    moved.openclaw_state = Some(PathBuf::from("/o"));
    moved.xdg_config_home = Some(PathBuf::from("/x"));
    moved.copilot_directories = ["/p", "/q"].map(PathBuf::from).to_vec();
    let has = |profile: ClientProfile, path: &str| {
        profile
            .roots(&moved)
            .iter()
            .any(|root| root.path() == std::path::Path::new(path))
    };
    assert!(
        has(ClientProfile::Claude, "/c/skills")
            && !has(ClientProfile::Claude, "/home/me/.claude/skills")
    );
    assert!(has(ClientProfile::OpenClaw, "/o/skills"));
    assert!(has(ClientProfile::Goose, "/x/goose/skills"));
    assert!(has(ClientProfile::Copilot, "/q"));
}

#[test]
fn project_trust_applies_in_every_profile() {
    let mut untrusted = context();
    untrusted.project_trust = Trust::Untrusted;
    for profile in ClientProfile::ALL {
        for root in profile.roots(&untrusted) {
            assert_eq!(
                root.is_trusted(),
                root.scope() != Scope::Repo,
                "{profile} {}",
                root.path().display()
            );
        }
    }
}

#[test]
fn claude_and_gemini_search_one_level_with_different_precedence() {
    let tree = Tree::new();
    tree.skill("repo/.claude/skills/pdf", "pdf")
        .skill("home/.claude/skills/pdf", "pdf")
        .skill("repo/.claude/skills/group/deep", "deep");
    tree.skill("repo/.gemini/skills/pdf", "pdf")
        .skill("home/.gemini/skills/pdf", "pdf");
    let mut context = ProfileContext::default();
    context.project_directories = vec![tree.path("repo")];
    context.home = Some(tree.path("home"));
    context.project_trust = Trust::Trusted;
    let used = |profile: ClientProfile| {
        tree.print(&profile.discovery(&context).scan())
            .lines()
            .take_while(|line| !line.starts_with("skipped"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_snapshot!(used(ClientProfile::Claude), @"
    user pdf home/.claude/skills/pdf/SKILL.md
    repo pdf repo/.claude/skills/pdf/SKILL.md shadowed: hidden by the skill of the same name in home/.claude/skills/pdf
    ");
    assert_snapshot!(used(ClientProfile::Gemini), @"
    repo pdf repo/.gemini/skills/pdf/SKILL.md
    user pdf home/.gemini/skills/pdf/SKILL.md shadowed: hidden by the skill of the same name in repo/.gemini/skills/pdf
    ");
}

#[test]
fn a_marker_is_the_root_of_a_project() {
    let tree = Tree::new();
    tree.file("repo/.git", "gitdir: elsewhere")
        .file("repo/a/b/c.txt", "")
        .file("repo/a/.hg/x", "");
    let below = |paths: Vec<PathBuf>| {
        paths
            .iter()
            .map(|path| {
                path.strip_prefix(tree.path(""))
                    .unwrap()
                    .display()
                    .to_string()
            })
            .collect::<Vec<_>>()
    };
    let directory = tree.path("repo/a/b");
    assert_eq!(
        below(project_directories(&directory, &[".git"])),
        ["repo", "repo/a", "repo/a/b"],
        "in a worktree the marker is a file"
    );
    assert_eq!(
        below(project_directories(&directory, &[".git", ".hg"])),
        ["repo/a", "repo/a/b"],
        "the nearest marker counts"
    );
    assert_eq!(below(project_directories(&directory, &[])), ["repo/a/b"]);
    assert_eq!(
        below(project_directories(&tree.path("repo/a/b/c.txt"), &[".hg"])),
        ["repo/a", "repo/a/b"]
    );
}
