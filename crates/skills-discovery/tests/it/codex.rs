//! The Codex profile: roots, scan, parsing, `agents/openai.yaml`, namespaces.

use std::path::PathBuf;

use insta::assert_snapshot;
use skills_discovery::{
    ClientProfile, Discovery, Entry, Namespace, NestedSkills, ProfileContext, Root, ScanLimits,
    Scope, SearchDepth, SkillFileSymlinks, Trust, discover,
};

use crate::tree::Tree;

/// Returns the configuration of Codex for a working directory below the tree.
fn codex(tree: &Tree, working: &str) -> Discovery {
    let mut context = ProfileContext::default();
    context.project_directories =
        skills_discovery::project_directories(&tree.path(working), &[".git"]);
    context.home = Some(tree.path("home"));
    context.project_trust = Trust::Trusted;
    ClientProfile::Codex.discovery(&context)
}

fn names(tree: &Tree, discovery: &Discovery) -> String {
    let catalog = discovery.scan();
    let line = |entry: &skills_discovery::Entry| {
        let path = entry.location();
        format!(
            "{} {} {}",
            entry.scope(),
            entry.name(),
            path.strip_prefix(tree.path("")).unwrap().display()
        )
    };
    catalog
        .entries()
        .iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

fn project() -> Tree {
    let tree = Tree::new();
    tree.file("repo/.git/HEAD", "")
        .file("repo/a/b/file.txt", "");
    tree
}

#[test]
fn roots_are_in_the_order_of_codex() {
    let mut context = ProfileContext::default();
    context.project_directories = ["/repo", "/repo/a"].map(PathBuf::from).to_vec();
    context.home = Some(PathBuf::from("/home/me"));
    let root = |root: &Root| format!("{} {}", root.scope(), root.path().display());
    assert_snapshot!(ClientProfile::Codex.roots(&context).iter().map(root).collect::<Vec<_>>().join("\n"), @"
    repo /repo/a/.codex/skills
    repo /repo/.codex/skills
    user /home/me/.codex/skills
    user /home/me/.agents/skills
    system /home/me/.codex/skills/.system
    admin /etc/codex/skills
    repo /repo/.agents/skills
    repo /repo/a/.agents/skills
    ");
    context.codex_home = Some(PathBuf::from("/codex"));
    assert!(
        ClientProfile::Codex
            .roots(&context)
            .iter()
            .any(|root| root.path() == "/codex/skills/.system")
    );
}

#[test]
fn skills_of_all_roots_are_found() {
    let tree = project();
    tree.skill("home/.codex/skills/legacy", "legacy")
        .skill("home/.agents/skills/home", "home");
    tree.skill("home/.codex/skills/.system/system", "system");
    tree.skill("repo/.codex/skills/top", "top")
        .skill("repo/a/b/.codex/skills/near", "near")
        .skill("repo/a/.agents/skills/agents", "agents");
    assert_snapshot!(names(&tree, &codex(&tree, "repo/a/b")), @"
    repo agents repo/a/.agents/skills/agents/SKILL.md
    repo near repo/a/b/.codex/skills/near/SKILL.md
    repo top repo/.codex/skills/top/SKILL.md
    user home home/.agents/skills/home/SKILL.md
    user legacy home/.codex/skills/legacy/SKILL.md
    system system home/.codex/skills/.system/system/SKILL.md
    ");
}

#[test]
fn directories_above_the_project_are_not_searched() {
    let tree = project();
    tree.skill(".agents/skills/above", "above")
        .skill("repo/.agents/skills/in", "in")
        .skill("plain/.agents/skills/out", "out");
    tree.file("plain/sub/file.txt", "");
    assert_eq!(
        names(&tree, &codex(&tree, "repo/a/b")),
        "repo in repo/.agents/skills/in/SKILL.md"
    );
    // For a file its parent directory is used.
    assert_eq!(
        names(&tree, &codex(&tree, "repo/a/b/file.txt")),
        "repo in repo/.agents/skills/in/SKILL.md"
    );
    // Outside of a project nothing above is searched.
    assert_eq!(names(&tree, &codex(&tree, "plain/sub")), "");
}

#[test]
fn a_skill_belongs_to_the_first_root_and_equal_names_are_kept() {
    let tree = Tree::new();
    tree.skill("admin/a", "a")
        .skill("user/a", "a")
        .skill("repo/x/a", "a")
        .skill("repo/y/a", "a")
        .symlink(tree.path("user"), "again");
    let roots = [
        Root::new(tree.path("admin"), Scope::Admin),
        Root::new(tree.path("user"), Scope::User),
        Root::new(tree.path("again"), Scope::Repo),
        Root::new(tree.path("repo"), Scope::Repo),
    ];
    assert_snapshot!(names(&tree, &Discovery::new(roots)), @"
    repo a repo/x/a/SKILL.md
    repo a repo/y/a/SKILL.md
    user a user/a/SKILL.md
    admin a admin/a/SKILL.md
    ");
}

#[test]
fn symlinks_are_followed_except_in_system_roots() {
    let tree = Tree::new();
    tree.skill("elsewhere/linked", "linked")
        .skill(".store/hidden", "hidden")
        .file("file/real.md", "---\nname: file\ndescription: d\n---\n");
    for scope in ["user", "admin", "repo", "system"] {
        tree.file(&format!("{scope}/own/readme"), "")
            .symlink(tree.path("elsewhere"), &format!("{scope}/link"));
        tree.symlink("..", &format!("{scope}/own/up"))
            .symlink(tree.path(".store/hidden"), &format!("{scope}/visible"));
    }
    let found =
        |name: &str, scope| names(&tree, &Discovery::new([Root::new(tree.path(name), scope)]));
    for (name, scope) in [
        ("user", Scope::User),
        ("admin", Scope::Admin),
        ("repo", Scope::Repo),
    ] {
        let expected = format!(
            "{scope} hidden .store/hidden/SKILL.md\n{scope} linked elsewhere/linked/SKILL.md"
        );
        assert_eq!(found(name, scope), expected);
    }
    assert_eq!(found("system", Scope::System), "");
    let system = discover(
        &[Root::new(tree.path("system"), Scope::System)],
        &ScanLimits::default(),
    );
    assert_eq!(
        system
            .skipped()
            .iter()
            .filter(|skipped| skipped.reason().code() == "symlink-ignored")
            .count(),
        3
    );
}

/// Codex ignores such a file silently; here it is an option, and always reported.
#[test]
fn a_skill_file_outside_of_the_skill_is_read_only_if_the_root_allows_it() {
    let tree = Tree::new();
    tree.file(
        "dotfiles/note.md",
        "---\nname: note\ndescription: linked\n---\nBody\n",
    )
    .file("skills/note/data.txt", "x");
    tree.symlink(tree.path("dotfiles/note.md"), "skills/note/SKILL.md");
    let root = Root::new(tree.path("skills"), Scope::User);
    assert_snapshot!(tree.print(&discover(std::slice::from_ref(&root), &ScanLimits::default())), @r#"skipped "skills/note/SKILL.md" outside-skill: path leads outside of the skill directory"#);
    let catalog = discover(
        &[root.skill_file_symlinks(SkillFileSymlinks::Follow)],
        &ScanLimits::default(),
    );
    assert_snapshot!(tree.print(&catalog), @r#"
    user note skills/note/SKILL.md
      warning linked-file: `SKILL.md` is a symlink to "dotfiles/note.md"; other clients ignore it
    "#);
    let files = catalog.entries()[0].open().unwrap();
    assert_eq!(files.document().unwrap().body(), "Body\n");
    assert!(
        files.contains("data.txt"),
        "all other files are still read from the skill directory"
    );
}

#[test]
fn deep_and_hidden_directories_are_skipped() {
    let tree = Tree::new();
    tree.skill("1/2/3/4/5/6", "six")
        .skill("a/2/3/4/5/6/7", "seven")
        .skill(".hidden/x", "x")
        .file("bad/SKILL.md", "no");
    let catalog = discover(
        &[Root::new(tree.path(""), Scope::User)],
        &ScanLimits::default(),
    );
    assert_eq!(
        catalog
            .entries()
            .iter()
            .map(|entry| entry.name().as_str())
            .collect::<Vec<_>>(),
        ["six"]
    );
    let codes: Vec<&str> = catalog
        .skipped()
        .iter()
        .map(|skipped| skipped.reason().code())
        .collect();
    assert_eq!(codes, ["hidden", "depth-limit", "frontmatter-missing"]);
}

#[test]
fn many_assets_do_not_hide_nested_skills() {
    let tree = Tree::new();
    tree.skill("pack", "pack").skill("pack/nested", "nested");
    for index in 0..2_000 {
        tree.file(
            &format!("pack/assets/a-file-with-a-very-long-name-{index:060}.png"),
            "",
        );
    }
    let root = Root::new(tree.path(""), Scope::User).nested(NestedSkills::Search);
    let catalog = discover(&[root], &ScanLimits::default());
    assert_eq!(catalog.entries().len(), 2);
    assert!(catalog.skipped().is_empty(), "{}", tree.print(&catalog));
}

#[test]
fn depth_children_finds_only_direct_children() {
    let tree = Tree::new();
    tree.skill("root", "root")
        .skill("root/child", "child")
        .skill("root/group/deep", "deep");
    let root = Root::new(tree.path("root"), Scope::User).depth(SearchDepth::Children);
    assert_eq!(
        names(&tree, &Discovery::new([root])),
        "user child root/child/SKILL.md"
    );
}

#[test]
fn nested_skills_are_found_if_the_root_allows_it() {
    let tree = Tree::new();
    tree.skill("outer", "outer").skill("outer/inner", "inner");
    let root = Root::new(tree.path(""), Scope::User);
    assert_eq!(
        names(&tree, &Discovery::new([root.clone()])),
        "user outer outer/SKILL.md"
    );
    assert_eq!(
        names(&tree, &Discovery::new([root.nested(NestedSkills::Search)])),
        "user inner outer/inner/SKILL.md\nuser outer outer/SKILL.md"
    );
}

#[test]
fn frontmatter_is_parsed_like_in_codex() {
    let tree = Tree::new();
    tree.file(
        "p1/SKILL.md",
        "---\nname: p1\ndescription: >\n  folded\n  lines\n---\n",
    );
    tree.file("p2/SKILL.md", "---\ndescription: no name\n---\n");
    tree.file(
        "p3/SKILL.md",
        "---\nname: p3\ndescription: d\nmetadata:\n  short-description: short\n---\n",
    );
    tree.file(
        "p4/SKILL.md",
        "---\nname: p4\ndescription: Use when: x\n---\n",
    );
    tree.file(
        "p6/SKILL.md",
        "---\nname: p6\ndescription: d\nargument-hint: [x] [y]\ntags: [next, @supabase/ssr]\n---\n",
    );
    tree.file(
        "p8/SKILL.md",
        format!("---\nname: p8\ndescription: {}\n---\n", "x".repeat(1_500)),
    );
    tree.file("p11/SKILL.md", "---\nname: p11\n---\n");
    let catalog = discover(
        &[Root::new(tree.path(""), Scope::User)],
        &ScanLimits::default(),
    );
    let entry = |name: &str| {
        catalog
            .entries()
            .iter()
            .find(|entry| entry.name().as_str() == name)
            .unwrap()
    };
    assert_eq!(entry("p1").manifest().description(), "folded lines\n");
    assert_eq!(entry("p2").manifest().description(), "no name");
    assert_eq!(
        entry("p3")
            .manifest()
            .extensions()
            .short_description
            .as_deref(),
        Some("short")
    );
    assert_eq!(entry("p4").manifest().description(), "Use when: x");
    assert_eq!(
        entry("p6").manifest().extensions().argument_hint.as_deref(),
        Some("[x] [y]")
    );
    assert_eq!(entry("p8").manifest().description().len(), 1_500);
    assert_eq!(catalog.skipped().len(), 1);
    assert_eq!(catalog.skipped()[0].reason().code(), "description-missing");
}

/// Some of the lengths end a prefix of 2 KiB in the middle of a character.
#[test]
fn long_frontmatter_is_read_completely() {
    let tree = Tree::new();
    for length in [100, 2_000, 2_010, 2_011, 2_012, 2_013, 4_000, 60_000] {
        let text = "é".repeat(length / 2);
        tree.file(
            &format!("s{length}/SKILL.md"),
            format!(
                "---\nname: s{length}\ndescription: d\nnote: a{text}\n---\n{}",
                "b".repeat(5_000)
            ),
        );
    }
    let catalog = discover(
        &[Root::new(tree.path(""), Scope::User)],
        &ScanLimits::default(),
    );
    assert_eq!(catalog.entries().len(), 8, "{}", tree.print(&catalog));
    for entry in catalog.entries() {
        let length: usize = entry.name().as_str()[1..].parse().unwrap();
        assert_eq!(
            entry.manifest().extra()["note"]
                .as_str()
                .unwrap()
                .chars()
                .count(),
            length / 2 + 1
        );
    }
}

#[test]
fn names_with_namespace_have_at_most_128_characters() {
    let tree = Tree::new();
    for length in [121, 122] {
        let name = "a".repeat(length);
        tree.skill(&format!("skills/{length}"), &name);
    }
    let namespace = Namespace::Plugin {
        name: "plugin".to_owned(),
        directory: tree.path(""),
    };
    let catalog = discover(
        &[Root::new(tree.path("skills"), Scope::User).namespace(namespace)],
        &ScanLimits::default(),
    );
    let names: Vec<usize> = catalog
        .entries()
        .iter()
        .map(|entry| entry.name().as_str().len())
        .collect();
    assert_eq!(names, [128]);
    assert_eq!(catalog.skipped()[0].reason().code(), "no-name");
}

#[test]
fn openai_yaml_controls_invocation() {
    let tree = Tree::new();
    tree.skill("plain", "plain")
        .skill("quiet", "quiet")
        .skill("broken", "broken")
        .skill("huge", "huge")
        .skill("icons", "icons");
    tree.file(
        "quiet/agents/openai.yaml",
        "policy:\n  allow_implicit_invocation: false\n",
    );
    tree.file("broken/agents/openai.yaml", "interface: [\n")
        .file(
            "icons/agents/openai.yaml",
            "interface:\n  icon_small: ../x.png\n",
        );
    tree.file("huge/agents/openai.yaml", "x".repeat(100_000))
        .file("file/agents", "")
        .skill("file", "file");
    let catalog = discover(
        &[Root::new(tree.path(""), Scope::User)],
        &ScanLimits::default(),
    );
    let invocable: Vec<&str> = catalog
        .entries()
        .iter()
        .filter(|entry| entry.is_model_invocable())
        .map(|entry| entry.name().as_str())
        .collect();
    // The huge file is not read, so it counts as forbidding everything.
    assert_eq!(invocable, ["broken", "file", "icons", "plain"]);
    assert_snapshot!(tree.print(&catalog), @"
    user broken broken/SKILL.md
      warning host-metadata: cannot read `agents/openai.yaml`: line 2: invalid YAML: did not find expected node content, while parsing a flow node
    user file file/SKILL.md
    user huge huge/SKILL.md
      warning host-metadata: cannot read `agents/openai.yaml`: file is 100000 bytes, limit 65536
    user icons icons/SKILL.md
      warning host-metadata: `agents/openai.yaml`: `interface.icon_small` ignored: expected a path below `assets/`
    user plain plain/SKILL.md
    user quiet quiet/SKILL.md
    ");
    let has_scan_warnings = |entry: &Entry| entry.has_scan_warnings();
    assert!(!catalog.entries().iter().any(has_scan_warnings));
}

#[test]
fn skills_of_other_products_are_inactive() {
    let tree = Tree::new();
    tree.skill("all", "all")
        .skill("atlas", "atlas")
        .skill("empty", "empty");
    tree.file("atlas/agents/openai.yaml", "policy:\n  products: [Atlas]\n")
        .file("empty/agents/openai.yaml", "policy:\n  products: []\n");
    let discovery = Discovery::new([Root::new(tree.path(""), Scope::User)]);
    assert_eq!(discovery.scan().entries().len(), 3);
    assert_snapshot!(tree.print(&discovery.product("codex").scan()), @"
    user all all/SKILL.md
    user empty empty/SKILL.md
    user atlas atlas/SKILL.md other-product: only for atlas
    ");
}

#[test]
fn the_nearest_valid_plugin_manifest_gives_the_namespace() {
    let tree = Tree::new();
    tree.file("outer/.claude-plugin/plugin.json", r#"{"name": "outer"}"#)
        .skill("outer/skills/a", "a");
    tree.file(
        "outer/skills/in/.codex-plugin/plugin.json",
        r#"{"name": "inner"}"#,
    )
    .skill("outer/skills/in/b", "b");
    tree.file("outer/skills/bad/.codex-plugin/plugin.json", "{")
        .skill("outer/skills/bad/c", "c")
        .skill("outer/plain/d", "d");
    let root =
        Root::new(tree.path("outer/skills"), Scope::User).namespace(Namespace::FromManifests);
    assert_snapshot!(names(&tree, &Discovery::new([root])), @"
    user inner:b outer/skills/in/b/SKILL.md
    user outer:a outer/skills/a/SKILL.md
    user outer:c outer/skills/bad/c/SKILL.md
    ");
}

#[test]
fn a_symlinked_root_has_the_namespace_of_its_plugin() {
    let tree = Tree::new();
    tree.file("plugin/.codex-plugin/plugin.json", r#"{"name": "ns"}"#)
        .skill("store/a", "a")
        .skill("plain/b", "b");
    tree.symlink(tree.path("store"), "plugin/skills");
    tree.symlink(tree.path("plain"), "store/link");
    let root =
        Root::new(tree.path("plugin/skills"), Scope::User).namespace(Namespace::FromManifests);
    assert_snapshot!(names(&tree, &Discovery::new([root])), @"
    user b plain/b/SKILL.md
    user ns:a store/a/SKILL.md
    ");
    let tree = Tree::new();
    tree.file("plugin/.codex-plugin/plugin.json", r#"{"name": "ns"}"#)
        .skill("plugin/more/a", "a");
    tree.file("plugin/skills/readme", "")
        .symlink(tree.path("plugin"), "plugin/skills/up");
    let root =
        Root::new(tree.path("plugin/skills"), Scope::User).namespace(Namespace::FromManifests);
    assert_eq!(
        names(&tree, &Discovery::new([root])),
        "user ns:a plugin/more/a/SKILL.md"
    );
}

#[test]
fn a_blank_plugin_name_becomes_that_of_the_directory() {
    let tree = Tree::new();
    tree.file("blank/.codex-plugin/plugin.json", r#"{"name": " "}"#)
        .skill("blank/skills/a", "a");
    tree.file("both/.codex-plugin/plugin.json", "{")
        .file("both/.claude-plugin/plugin.json", r#"{"name": "second"}"#);
    tree.skill("both/skills/b", "b");
    let root =
        |path: &str| Root::new(tree.path(path), Scope::User).namespace(Namespace::FromManifests);
    assert_eq!(
        names(&tree, &Discovery::new([root("blank/skills")])),
        "user blank:a blank/skills/a/SKILL.md"
    );
    assert_eq!(
        names(&tree, &Discovery::new([root("both/skills")])),
        "user b both/skills/b/SKILL.md"
    );
}

#[test]
fn icons_may_be_in_the_plugin_but_not_outside() {
    let tree = Tree::new();
    tree.file("plugin/.codex-plugin/plugin.json", r#"{"name": "ns"}"#)
        .skill("plugin/skills/a", "a");
    tree.file(
        "plugin/skills/a/agents/openai.yaml",
        "interface:\n  icon_small: ../../assets/i.png\n  icon_large: ../../../i.png\n",
    );
    let root =
        Root::new(tree.path("plugin/skills"), Scope::User).namespace(Namespace::FromManifests);
    let catalog = discover(&[root], &ScanLimits::default());
    let interface = &catalog.entries()[0].openai_metadata().unwrap().interface;
    assert_eq!(
        (
            interface.icon_small.as_deref(),
            interface.icon_large.as_deref()
        ),
        (Some("../../assets/i.png"), None)
    );
}
