//! Scans: which skills are found, and what is skipped for which reason.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use insta::assert_snapshot;
use skills_discovery::{
    DirSymlinks, Discovery, Lookup, Root, ScanLimits, Scope, SkillFileSymlinks, discover,
};

use crate::tree::{Tree, without_privileges};

#[test]
fn skills_are_sorted_and_skipped_entries_reported() {
    let tree = Tree::new();
    tree.skill("zeta", "zeta")
        .skill("group/alpha", "alpha")
        .skill("beta", "other-name")
        .skill(".hidden/x", "x");
    tree.skill("node_modules/y", "y")
        .skill("zeta/nested", "nested")
        .file("notes/readme.txt", "no skill");
    tree.file("broken/SKILL.md", "# No frontmatter\n")
        .file("tab/SKILL.md", "---\n\tname: a\n---\n");
    assert_snapshot!(tree.scan(&ScanLimits::default()), @r#"
    repo alpha group/alpha/SKILL.md
    repo other-name beta/SKILL.md
      warning name-differs: name does not match directory `beta`
    repo zeta zeta/SKILL.md
    skipped ".hidden" hidden: hidden directory
    skipped "broken/SKILL.md" frontmatter-missing: line 1: missing frontmatter: the first line must be `---`
    skipped "node_modules" vendored: package directory
    skipped "tab/SKILL.md" description-missing: line 2: missing field `description`: say what the skill does and when to use it
    "#);
}

#[test]
fn the_root_itself_may_be_a_skill() {
    let tree = Tree::new();
    tree.skill("pack", "pack").skill("pack/inner", "inner");
    let catalog = discover(
        &[Root::new(tree.path("pack"), Scope::Custom)],
        &ScanLimits::default(),
    );
    assert_snapshot!(tree.print(&catalog), @"
    custom inner pack/inner/SKILL.md
    custom pack pack/SKILL.md
    ");
}

#[test]
fn a_skill_file_is_found_in_any_case() {
    let tree = Tree::new();
    tree.file("a/skill.md", "---\nname: a\ndescription: lower\n---\n");
    tree.skill("b", "b").file(
        "b/skill.md",
        "---\nname: shadow\ndescription: never read\n---\n",
    );
    tree.file(
        "c/README.md",
        "---\nname: c\ndescription: not a skill\n---\n",
    );
    assert_snapshot!(tree.scan(&ScanLimits::default()), @"
    repo a a/skill.md
      warning file-name: file is named `skill.md`; other clients read only `SKILL.md`
    repo b b/SKILL.md
    ");
}

#[test]
fn an_invalid_lowercase_skill_file_hides_no_skills_below() {
    let tree = Tree::new();
    tree.file("group/skill.md", "# About this group\n")
        .skill("group/pdf", "pdf");
    assert_snapshot!(tree.scan(&ScanLimits::default()), @r#"
    repo pdf group/pdf/SKILL.md
    skipped "group/skill.md" frontmatter-missing: line 1: missing frontmatter: the first line must be `---`
    "#);
}

#[test]
fn chained_symlinks_within_the_root_are_followed() {
    let tree = Tree::new();
    tree.skill("root/store/pdf", "pdf")
        .file("root/links/readme", "");
    tree.symlink("../store/pdf", "root/links/pdf")
        .symlink("links", "root/a");
    let root = Root::new(tree.path("root"), Scope::Repo).dir_symlinks(DirSymlinks::WithinRoot);
    assert_snapshot!(tree.print(&discover(&[root], &ScanLimits::default())), @r#"
    repo pdf root/store/pdf/SKILL.md
    skipped "root/links" seen: already scanned through another root or symlink
    skipped "root/store/pdf" seen: already scanned through another root or symlink
    "#);
}

#[test]
fn a_missing_or_invalid_name_falls_back_to_the_directory_name() {
    let tree = Tree::new();
    tree.file("plain/SKILL.md", "---\ndescription: no name\n---\n");
    tree.file(
        "hostile/SKILL.md",
        "---\nname: ../../etc\ndescription: a path\n---\n",
    );
    tree.file(
        "tax_calculator/SKILL.md",
        "---\nname: tax_calculator\ndescription: breaks the rule\n---\n",
    );
    tree.file(
        "bad\u{202E}dir/SKILL.md",
        "---\ndescription: no usable name at all\n---\n",
    );
    assert_snapshot!(tree.scan(&ScanLimits::default()), @r#"
    repo hostile hostile/SKILL.md
      warning name-unusable: line 2: the name looks like a path; using the directory name
      warning name-from-directory: missing or invalid `name`; using the directory name
    repo plain plain/SKILL.md
      warning name-from-directory: missing or invalid `name`; using the directory name
    repo tax_calculator tax_calculator/SKILL.md
      warning name-rule: line 2: `name` contains `_`; the specification allows letters, digits and hyphens
    skipped "bad\u{202e}dir" unprintable: name is not UTF-8 or contains invisible characters
    "#);
}

#[test]
fn limits_omit_the_deepest_skills_and_are_reported() {
    let tree = Tree::new();
    tree.skill("a", "a")
        .skill("b/c/d/e/f/g", "depth-six")
        .skill("z/c/d/e/f/g/h", "depth-seven");
    assert_snapshot!(tree.scan(&ScanLimits::default()), @r#"
    repo a a/SKILL.md
    repo depth-six b/c/d/e/f/g/SKILL.md
      warning name-differs: name does not match directory `g`
    skipped "z/c/d/e/f/g/h" depth-limit: deeper than 6 directories below its root
    "#);
    let mut limits = ScanLimits::default();
    limits.max_directories = 3;
    assert_snapshot!(tree.scan(&limits), @r#"
    repo a a/SKILL.md
    skipped "" directory-limit: scan stopped after 3 directories; skills may be missing
    "#);
    tree.skill("aa/late", "late");
    let mut limits = ScanLimits::default();
    limits.max_entries = 4;
    assert_snapshot!(tree.scan(&limits), @r#"
    repo a a/SKILL.md
    skipped "" entry-limit: scan stopped after 4 directory entries; skills may be missing
    "#);
}

/// Scans with limits; returns the names of the skills and the codes of the skip reasons.
fn scan_within(tree: &Tree, max_directories: usize, max_entries: usize) -> (String, String) {
    let mut limits = ScanLimits::default();
    (limits.max_directories, limits.max_entries) = (max_directories, max_entries);
    let catalog = discover(&[Root::new(tree.path("skills"), Scope::User)], &limits);
    let names: Vec<&str> = catalog
        .entries()
        .iter()
        .map(|entry| entry.name().as_str())
        .collect();
    let reasons: Vec<&str> = catalog
        .skipped()
        .iter()
        .map(|skipped| skipped.reason().code())
        .collect();
    (names.join(" "), reasons.join(" "))
}

#[test]
fn a_limit_that_is_reached_exactly_omits_nothing() {
    let tree = Tree::new();
    // Seven directories with their root; the root has two entries, and both groups have two more.
    tree.skill("skills/one/a", "a")
        .skill("skills/one/b", "b")
        .skill("skills/two/c", "c")
        .skill("skills/two/d", "d");
    let all = "a b c d".to_owned();
    assert_eq!(scan_within(&tree, 7, 6), (all.clone(), String::new()));
    assert_eq!(
        scan_within(&tree, 6, 6),
        ("a b c".to_owned(), "directory-limit".to_owned())
    );
    assert_eq!(
        scan_within(&tree, 3, 6),
        (String::new(), "directory-limit".to_owned())
    );
    assert_eq!(
        scan_within(&tree, 0, 6),
        (String::new(), "directory-limit".to_owned())
    );
    // The directory that exceeds the limit is omitted, those before it are not.
    assert_eq!(
        scan_within(&tree, 7, 5),
        ("a b".to_owned(), "entry-limit".to_owned())
    );
    assert_eq!(
        scan_within(&tree, 7, 4),
        ("a b".to_owned(), "entry-limit".to_owned())
    );
    assert_eq!(
        scan_within(&tree, 7, 3),
        (String::new(), "entry-limit".to_owned())
    );
}

#[test]
fn directories_with_invisible_characters_are_skipped() {
    let tree = Tree::new();
    // Persian and some emoji need joiners.
    for name in [
        "na\u{EF}ve",
        "\u{645}\u{6CC}\u{200C}\u{62E}",
        "\u{65E5}\u{672C}",
        "ev\u{200B}il",
        "b\u{EF}d\u{202E}i",
        "tab\t",
    ] {
        tree.skill(&format!("skills/{name}"), "skill");
    }
    let catalog = discover(
        &[Root::new(tree.path("skills"), Scope::User)],
        &ScanLimits::default(),
    );
    let directories: Vec<&Path> = catalog
        .entries()
        .iter()
        .map(|entry| entry.directory())
        .collect();
    let expected = [
        "na\u{EF}ve",
        "\u{645}\u{6CC}\u{200C}\u{62E}",
        "\u{65E5}\u{672C}",
    ]
    .map(|name| tree.path("skills").join(name));
    assert_eq!(directories, expected);
    assert!(
        catalog
            .skipped()
            .iter()
            .all(|skipped| skipped.reason().code() == "unprintable")
    );
    assert_eq!(catalog.skipped().len(), 3);
}

/// A symlink to a file is a resource, not a directory that was skipped.
#[test]
fn skipped_symlinks_are_reported_only_for_directories() {
    let tree = Tree::new();
    tree.skill("skills/a", "a")
        .skill("store/b", "b")
        .skill("store/b/nested", "nested")
        .file("store/file", "");
    tree.symlink(tree.path("store"), "skills/.directory")
        .symlink(tree.path("store/file"), "skills/.file");
    tree.symlink(tree.path("store/file"), "skills/file")
        .symlink(tree.path("store/b"), "skills/linked");
    assert_snapshot!(tree.print(&discover(&[Root::new(tree.path("skills"), Scope::User)], &ScanLimits::default())), @r#"
    user a skills/a/SKILL.md
    user b store/b/SKILL.md
    skipped "skills/.directory" hidden: hidden directory
    "#);
}

#[test]
fn a_root_may_ignore_symlinks_to_directories() {
    let tree = Tree::new();
    tree.skill("skills/a", "a")
        .skill("store/b", "b")
        .symlink(tree.path("store/b"), "skills/b");
    let root = Root::new(tree.path("skills"), Scope::User).dir_symlinks(DirSymlinks::Ignore);
    assert_snapshot!(tree.print(&discover(&[root], &ScanLimits::default())), @r#"
    user a skills/a/SKILL.md
    skipped "skills/b" symlink-ignored: symlinks to directories are ignored in this root
    "#);
}

#[test]
fn a_symlinked_directory_has_the_depth_of_its_symlink() {
    let tree = Tree::new();
    tree.skill("store/one/two", "two")
        .skill("store/one/two-b/three", "three")
        .file("skills/readme", "");
    tree.symlink(tree.path("store"), "skills/linked");
    let mut limits = ScanLimits::default();
    limits.max_depth = 3;
    assert_snapshot!(tree.print(&discover(&[Root::new(tree.path("skills"), Scope::User)], &limits)), @r#"
    user two store/one/two/SKILL.md
    skipped "store/one/two-b/three" depth-limit: deeper than 3 directories below its root
    "#);
}

#[test]
fn symlinks_are_followed_once_and_cycles_end() {
    let tree = Tree::new();
    tree.skill("store/pdf", "pdf").skill("skills/own", "own");
    tree.symlink(tree.path("store/pdf"), "skills/linked")
        .symlink("..", "skills/up")
        .symlink("nowhere", "skills/gone");
    tree.symlink(tree.path("skills"), "skills/own-again");
    let root = Root::new(tree.path("skills"), Scope::User);
    assert_snapshot!(tree.print(&discover(std::slice::from_ref(&root), &ScanLimits::default())), @r#"
    user own skills/own/SKILL.md
    user pdf store/pdf/SKILL.md
    skipped "skills" seen: already scanned through another root or symlink
    skipped "skills/gone" broken-symlink: broken symlink
    skipped "store/pdf" seen: already scanned through another root or symlink
    "#);
    let within = [root.dir_symlinks(DirSymlinks::WithinRoot)];
    assert_snapshot!(tree.print(&discover(&within, &ScanLimits::default())), @r#"
    user own skills/own/SKILL.md
    skipped "skills" seen: already scanned through another root or symlink
    skipped "skills/gone" broken-symlink: broken symlink
    skipped "skills/linked" symlink-leaves-root: symlink leads outside of its root
    skipped "skills/up" symlink-leaves-root: symlink leads outside of its root
    "#);
}

#[test]
fn a_skill_file_must_be_a_regular_file_of_its_skill() {
    let tree = Tree::new();
    tree.file(
        "secret.md",
        "---\nname: secret\ndescription: outside\n---\n",
    );
    tree.skill("inside", "inside").file(
        "in/real.md",
        "---\nname: in\ndescription: linked inside\n---\n",
    );
    tree.symlink("real.md", "in/SKILL.md");
    for name in ["out", "dangling", "fifo", "directory"] {
        fs::create_dir(tree.path(name)).unwrap();
    }
    tree.symlink("../secret.md", "out/SKILL.md")
        .symlink("nowhere", "dangling/SKILL.md");
    nix::unistd::mkfifo(&tree.path("fifo/SKILL.md"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::create_dir(tree.path("directory/SKILL.md")).unwrap();
    fs::create_dir(tree.path("huge")).unwrap();
    fs::File::create(tree.path("huge/SKILL.md"))
        .unwrap()
        .set_len(2 << 30)
        .unwrap();
    assert_snapshot!(tree.scan(&ScanLimits::default()), @r#"
    repo in in/SKILL.md
    repo inside inside/SKILL.md
    skipped "dangling/SKILL.md" broken-symlink: broken symlink
    skipped "directory/SKILL.md" not-regular-file: not a regular file
    skipped "fifo/SKILL.md" not-regular-file: not a regular file
    skipped "huge/SKILL.md" too-large: file is 2147483648 bytes, limit 1048576
    skipped "out/SKILL.md" outside-skill: path leads outside of the skill directory
    "#);
}

/// Runs `scan` on another thread. If it blocks on the FIFO, the test fails.
fn scan_with_timeout(fifo: &Path, scan: impl FnOnce() -> String + Send) -> String {
    const TIMEOUT: Duration = Duration::from_secs(30);
    let (send, receive) = mpsc::channel();
    let mut writer = None;
    let text = thread::scope(|scope| {
        scope.spawn(move || send.send(scan()));
        let text = receive.recv_timeout(TIMEOUT);
        if text.is_err() {
            // Opening the FIFO for writing unblocks the thread, so that the test can end.
            writer = fs::File::options().write(true).open(fifo).ok();
        }
        text
    });
    drop(writer);
    let Ok(text) = text else {
        panic!("the scan blocks on the FIFO")
    };
    text
}

#[test]
fn a_skill_file_that_is_a_fifo_does_not_block_the_scan() {
    let tree = Tree::new();
    tree.skill("skills/plain", "plain")
        .file("skills/inside/readme", "")
        .file("skills/outside/readme", "");
    tree.symlink("pipe", "skills/inside/SKILL.md")
        .symlink(tree.path("pipe"), "skills/outside/SKILL.md");
    let fifos = [tree.path("skills/inside/pipe"), tree.path("pipe")];
    for fifo in &fifos {
        nix::unistd::mkfifo(fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    }
    let root = Root::new(tree.path("skills"), Scope::User);
    let within = scan_with_timeout(&fifos[0], || {
        tree.print(&discover(
            std::slice::from_ref(&root),
            &ScanLimits::default(),
        ))
    });
    assert_snapshot!(within, @r#"
    user plain skills/plain/SKILL.md
    skipped "skills/inside/SKILL.md" not-regular-file: not a regular file
    skipped "skills/outside/SKILL.md" outside-skill: path leads outside of the skill directory
    "#);
    let follow = [root.clone().skill_file_symlinks(SkillFileSymlinks::Follow)];
    let followed = scan_with_timeout(&fifos[1], || {
        tree.print(&discover(&follow, &ScanLimits::default()))
    });
    assert_snapshot!(followed, @r#"
    user plain skills/plain/SKILL.md
    skipped "skills/inside/SKILL.md" not-regular-file: not a regular file
    skipped "skills/outside/SKILL.md" not-regular-file: not a regular file
    "#);
}

#[test]
fn long_frontmatter_is_read_up_to_the_limit() {
    let tree = Tree::new();
    let tail = "x".repeat(20_000);
    tree.file(
        "long/SKILL.md",
        format!("---\nname: long\ndescription: b\nnote: {tail}\n---\nBody\n"),
    );
    tree.file(
        "longer/SKILL.md",
        format!(
            "---\nname: longer\ndescription: b\nnote: {}\n---\n",
            tail.repeat(4)
        ),
    );
    assert_snapshot!(tree.scan(&ScanLimits::default()), @r#"
    repo long long/SKILL.md
    skipped "longer/SKILL.md" frontmatter-unclosed: line 1: missing closing `---` in the first 65536 bytes
    "#);
}

/// The number of calls of `read` that this thread has made; `None` if the kernel does not count them.
#[cfg(target_os = "linux")]
fn read_calls() -> Option<u64> {
    let counts = fs::read_to_string("/proc/thread-self/io").ok()?;
    let count = counts
        .lines()
        .find_map(|line| line.strip_prefix("syscr: "))?;
    count.parse().ok()
}

#[cfg(target_os = "linux")]
#[test]
fn a_frontmatter_of_up_to_a_page_is_read_in_one_call() {
    let tree = Tree::new();
    for (name, frontmatter, body) in [("short", 10, 10), ("long", 3_900, 10), ("body", 10, 90_000)]
    {
        let text = format!(
            "---\nname: {name}\ndescription: {}\n---\n{}",
            "d".repeat(frontmatter),
            "b".repeat(body)
        );
        tree.file(&format!("{name}/SKILL.md"), text);
    }
    let discovery = Discovery::new([Root::new(tree.path(""), Scope::Repo)]).threads(1);
    // To read the counts takes calls itself.
    let counts = [read_calls(), read_calls(), {
        assert_eq!(discovery.scan().entries().len(), 3);
        read_calls()
    }];
    let [Some(first), Some(second), Some(third)] = counts else {
        return skills_test_support::skip("the kernel does not count calls of `read`");
    };
    assert_eq!((third - second) - (second - first), 3);
}

#[test]
fn an_unreadable_directory_hides_no_other() {
    let tree = Tree::new();
    tree.skill("locked", "locked").skill("open", "open");
    let locked = tree.path("locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&locked).is_ok() {
        return skills_test_support::skip("this user may read everything");
    }
    let text = without_privileges(|| tree.scan(&ScanLimits::default()));
    tree.mode("locked", 0o755);
    assert_snapshot!(text, @r#"
    repo open open/SKILL.md
    skipped "locked/SKILL.md" io: I/O error: Permission denied (os error 13)
    "#);
}

#[test]
fn overlapping_roots_and_equal_names_are_kept_apart() {
    let tree = Tree::new();
    tree.skill("one/pdf", "pdf")
        .skill("two/pdf", "pdf")
        .skill("two/docx", "docx");
    let roots = [
        Root::new(tree.path("two"), Scope::User),
        Root::new(tree.path("one"), Scope::Repo),
        Root::new(tree.path("two/docx"), Scope::Repo),
        Root::new(tree.path("absent"), Scope::Admin),
    ];
    let catalog = discover(&roots, &ScanLimits::default());
    assert_snapshot!(tree.print(&catalog), @r#"
    repo pdf one/pdf/SKILL.md
      warning same-name: duplicate name, also in `two/pdf`; refer to it by path
    user docx two/docx/SKILL.md
    user pdf two/pdf/SKILL.md
      warning same-name: duplicate name, also in `one/pdf`; refer to it by path
    skipped "absent" root-missing: root does not exist
    skipped "two/docx" seen: already scanned through another root or symlink
    "#);
    assert!(matches!(catalog.find("pdf"), Lookup::Ambiguous(both) if both.len() == 2));
    let directory = tree.path("two/pdf").display().to_string();
    assert!(
        matches!(catalog.find(&directory), Lookup::Found(entry) if entry.scope() == Scope::User)
    );
    assert!(matches!(catalog.find("dcox"), Lookup::Unknown(near) if near == ["docx"]));
    assert!(matches!(catalog.find("zzzzzz"), Lookup::Unknown(near) if near.is_empty()));
}

#[test]
fn symlinks_to_top_level_directories_are_not_followed() {
    let tree = Tree::new();
    tree.skill("skills/a", "a")
        .symlink("/", "skills/slash")
        .symlink("/proc", "skills/proc");
    let catalog = discover(
        &[Root::new(tree.path("skills"), Scope::User)],
        &ScanLimits::default(),
    );
    assert_snapshot!(tree.print(&catalog), @r#"
    user a skills/a/SKILL.md
    skipped "skills/proc" symlink-too-broad: symlink to / or a top-level directory
    skipped "skills/slash" symlink-too-broad: symlink to / or a top-level directory
    "#);
}

#[test]
fn a_symlink_to_an_unprintable_name_is_skipped() {
    let tree = Tree::new();
    tree.skill("store/ev\nskipped forged", "a")
        .file("skills/readme", "");
    tree.symlink(tree.path("store/ev\nskipped forged"), "skills/ok");
    let catalog = discover(
        &[Root::new(tree.path("skills"), Scope::User)],
        &ScanLimits::default(),
    );
    assert_snapshot!(tree.print(&catalog), @r#"skipped "skills/ok" unprintable: name is not UTF-8 or contains invisible characters"#);
}

/// The result must not depend on the order of the file system.
#[test]
fn a_directory_beyond_the_limit_keeps_its_first_entries_by_name() {
    let tree = Tree::new();
    for index in 0..30 {
        tree.skill(&format!("skills/s{index:02}"), &format!("s{index:02}"));
    }
    let mut limits = ScanLimits::default();
    limits.max_entries = 10;
    let catalog = discover(&[Root::new(tree.path("skills"), Scope::User)], &limits);
    let names: Vec<&str> = catalog
        .entries()
        .iter()
        .map(|entry| entry.name().as_str())
        .collect();
    assert_eq!(
        names,
        [
            "s00", "s01", "s02", "s03", "s04", "s05", "s06", "s07", "s08", "s09"
        ]
    );
    assert_eq!(catalog.skipped()[0].reason().code(), "entry-limit");
}

#[test]
fn an_absolute_symlink_within_a_skill_is_followed() {
    let tree = Tree::new();
    tree.file(
        "skills/a/real.md",
        "---\nname: a\ndescription: d\n---\nBody\n",
    );
    tree.symlink(tree.path("skills/a/real.md"), "skills/a/SKILL.md");
    let catalog = discover(
        &[Root::new(tree.path("skills"), Scope::User)],
        &ScanLimits::default(),
    );
    assert_snapshot!(tree.print(&catalog), @"user a skills/a/SKILL.md");
    assert_eq!(
        catalog.entries()[0]
            .open()
            .unwrap()
            .document()
            .unwrap()
            .body(),
        "Body\n"
    );
}

#[test]
fn a_root_has_its_configured_and_its_canonical_path() {
    let tree = Tree::new();
    tree.skill("real/a", "a")
        .skill("other/b", "b")
        .file("empty/readme", "")
        .symlink(tree.path("real"), "link");
    let roots = ["empty", "link", "other"].map(|path| Root::new(tree.path(path), Scope::Repo));
    let catalog = discover(&roots, &ScanLimits::default());
    assert_eq!(
        catalog.used_roots(),
        [tree.path("real"), tree.path("other")]
    );
    assert_eq!(catalog.symlinks(), [(tree.path("link"), tree.path("real"))]);
    let entry = &catalog.entries()[0];
    assert_eq!(
        (entry.root(), catalog.root_of(entry)),
        (tree.path("link").as_path(), tree.path("real").as_path())
    );
}
