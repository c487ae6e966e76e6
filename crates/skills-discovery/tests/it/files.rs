//! The files of one skill: reading and listing.

use std::fs;

use skills_discovery::{
    DiscoveryErrorKind, Entry, FileStamp, ResourceListing, Root, ScanLimits, Scope, SkillFiles,
    discover,
};

use crate::tree::{Tree, is_denied, without_privileges};

fn only_entry(tree: &Tree) -> Entry {
    let catalog = discover(
        &[Root::new(tree.path("skills"), Scope::Repo)],
        &ScanLimits::default(),
    );
    let [entry] = catalog.entries() else {
        panic!("one skill, got {catalog:?}")
    };
    entry.clone()
}

#[test]
fn paths_outside_of_the_skill_are_rejected() {
    let tree = Tree::new();
    tree.file("secret.txt", "secret")
        .skill("skills/a", "a")
        .file("skills/a/references/r.md", "text");
    tree.symlink("../../secret.txt", "skills/a/leak.txt")
        .symlink("references/r.md", "skills/a/inner.md");
    let files = only_entry(&tree).open().unwrap();
    let kind = |path: &str| files.read(path, 100).map_err(|error| error.kind());
    assert_eq!(kind("references/r.md"), Ok(b"text".to_vec()));
    assert_eq!(kind("references/../inner.md"), Ok(b"text".to_vec()));
    let absolute = tree.path("secret.txt").display().to_string();
    for escape in [
        "../../secret.txt",
        "leak.txt",
        absolute.as_str(),
        "/etc/passwd",
        "references/../../../secret.txt",
    ] {
        assert_eq!(
            kind(escape),
            Err(DiscoveryErrorKind::OutsideSkill),
            "{escape}"
        );
    }
    assert_eq!(kind("references"), Err(DiscoveryErrorKind::NotRegular));
    assert_eq!(kind("absent"), Err(DiscoveryErrorKind::NotFound));
    assert_eq!(files.read("references/r.md", 4).unwrap(), b"text");
    assert_eq!(
        files
            .read("references/r.md", 3)
            .map_err(|error| error.kind()),
        Err(DiscoveryErrorKind::TooLarge)
    );
    assert!(files.contains("references/r.md") && files.contains("inner.md"));
    assert!(
        !files.contains("leak.txt") && !files.contains("references") && !files.contains("absent")
    );
}

#[test]
fn a_listing_has_regular_files_by_path() {
    let tree = Tree::new();
    tree.skill("skills/a", "a")
        .file("skills/a/scripts/run.py", "1")
        .file("skills/a/assets/x/y.txt", "12");
    tree.file("skills/a/.git/config", "no")
        .symlink("scripts", "skills/a/loop");
    let files = only_entry(&tree).open().unwrap();
    let listing = files.list("").unwrap();
    let paths: Vec<(&str, u64)> = listing
        .resources
        .iter()
        .map(|file| (file.path.as_str(), file.bytes))
        .collect();
    assert_eq!(paths, [("assets/x/y.txt", 2), ("scripts/run.py", 1)]);
    assert!(!listing.truncated);
    assert_eq!(files.list("absent").unwrap().resources, []);
    assert_eq!(
        files.list("..").map_err(|error| error.kind()),
        Err(DiscoveryErrorKind::OutsideSkill)
    );
}

fn paths(listing: &ResourceListing) -> Vec<&str> {
    listing
        .resources
        .iter()
        .map(|file| file.path.as_str())
        .collect()
}

#[test]
fn a_listing_omits_only_the_skills_own_skill_file() {
    let tree = Tree::new();
    tree.skill("skills/a", "a")
        .skill("skills/a/assets", "template")
        .file("skills/a/assets/x/SKILL.md", "deeper");
    tree.file("skills/a/b.md", "12")
        .file("skills/a/ev\u{200B}il.md", "")
        .file("skills/a/assets/.hidden", "");
    let files = only_entry(&tree).open().unwrap();
    assert_eq!(
        paths(&files.list("").unwrap()),
        ["assets/SKILL.md", "assets/x/SKILL.md", "b.md"]
    );
    assert_eq!(
        paths(&files.list("assets").unwrap()),
        ["assets/SKILL.md", "assets/x/SKILL.md"]
    );
    let direct = |directory: &str| {
        files
            .list_directory(directory)
            .unwrap()
            .into_iter()
            .map(|file| (file.path, file.bytes))
            .collect::<Vec<_>>()
    };
    assert_eq!(direct(""), [("b.md".to_owned(), 2)]);
    assert_eq!(direct("assets"), [("assets/SKILL.md".to_owned(), 57)]);
    assert_eq!(direct("absent"), []);
    assert_eq!(
        files.list_directory("..").map_err(|error| error.kind()),
        Err(DiscoveryErrorKind::OutsideSkill)
    );
}

#[test]
fn the_files_of_one_directory_are_sorted() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let names: Vec<String> = (10..40)
        .map(|index| format!("scripts/{index}.py"))
        .collect();
    for name in names.iter().rev() {
        tree.file(&format!("skills/a/{name}"), "");
    }
    let files = only_entry(&tree).open().unwrap();
    let listed: Vec<String> = files
        .list_directory("scripts")
        .unwrap()
        .into_iter()
        .map(|file| file.path)
        .collect();
    assert_eq!(listed, names);
}

#[test]
fn a_listing_with_too_many_files_is_truncated() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    for index in 0..1_000 {
        tree.file(&format!("skills/a/assets/{index}"), "");
    }
    let files = only_entry(&tree).open().unwrap();
    let length = || {
        let (listing, stamped) = (files.list("").unwrap(), files.list_with_stamps().unwrap());
        (
            (listing.resources.len(), listing.truncated),
            (stamped.files.len(), stamped.truncated),
        )
    };
    assert_eq!(
        length(),
        ((1_000, false), (1_000, true)),
        "a stamped listing has the skill file as well"
    );
    fs::remove_file(tree.path("skills/a/assets/0")).unwrap();
    assert_eq!(length(), ((999, false), (1_000, false)));
    tree.file("skills/a/b", "").file("skills/a/c", "");
    assert_eq!(length(), ((1_000, true), (1_000, true)));
}

#[test]
fn a_listing_that_is_too_deep_is_truncated() {
    let tree = Tree::new();
    tree.skill("skills/a", "a")
        .file("skills/a/1/2/3/4/5/6/7/8/deep", "");
    let files = only_entry(&tree).open().unwrap();
    let lists = || {
        let (listing, stamped) = (files.list("").unwrap(), files.list_with_stamps().unwrap());
        (
            paths(&listing).join(" "),
            listing.truncated,
            stamped.truncated,
        )
    };
    assert_eq!(lists(), ("1/2/3/4/5/6/7/8/deep".to_owned(), false, false));
    tree.file("skills/a/1/2/3/4/5/6/7/8/9/deeper", "");
    assert_eq!(lists(), ("1/2/3/4/5/6/7/8/deep".to_owned(), true, true));
}

#[test]
fn an_unreadable_directory_truncates_a_listing() {
    let tree = Tree::new();
    tree.skill("skills/a", "a")
        .file("skills/a/locked/x", "")
        .file("skills/a/names-only/y", "")
        .file("skills/a/open/z", "");
    tree.mode("skills/a/locked", 0o000);
    if !is_denied(&tree.path("skills/a/locked")) {
        eprintln!(
            "skipped an_unreadable_directory_truncates_a_listing: this user may read everything"
        );
        return;
    }
    let files = only_entry(&tree).open().unwrap();
    let list = |directory: &str| {
        without_privileges(|| files.list(directory).map_err(|error| error.kind()))
    };
    let locked = (list("").unwrap(), list("locked"));
    tree.mode("skills/a/locked", 0o755)
        .mode("skills/a/names-only", 0o444);
    let names_only = list("").unwrap();
    tree.mode("skills/a/names-only", 0o755);
    assert_eq!(
        (paths(&locked.0), locked.0.truncated),
        (vec!["names-only/y", "open/z"], true)
    );
    assert_eq!(locked.1, Err(DiscoveryErrorKind::Io));
    assert_eq!(
        (paths(&names_only), names_only.truncated),
        (vec!["locked/x", "open/z"], true)
    );
}

#[test]
fn links_without_a_target_are_broken() {
    let tree = Tree::new();
    let body = "[a](b.md) [b](a%20b.md) [c](100%.md) [d](100%zz.md) [e](assets/) [f](absent.md) [g](a%20c.md) [h](%41.md)";
    tree.file(
        "skills/a/SKILL.md",
        format!("---\nname: a\ndescription: d\n---\n{body}\n"),
    );
    for name in ["b.md", "a b.md", "100%.md", "100%zz.md", "assets/x", "A.md"] {
        tree.file(&format!("skills/a/{name}"), "");
    }
    let files = only_entry(&tree).open().unwrap();
    let broken = files.broken_links(&files.document().unwrap().outline());
    let targets: Vec<&str> = broken.iter().map(|link| link.target.as_str()).collect();
    assert_eq!(targets, ["absent.md", "a%20c.md"]);
}

/// Clients replace the placeholders by the directory of the skill.
#[test]
fn links_may_start_with_the_skill_directory_and_end_with_a_section() {
    let tree = Tree::new();
    let body = "[a]({baseDir}/b.md) [b](${CLAUDE_SKILL_DIR}/b.md#part) [c](b.md#part) \
                `{baseDir}/scripts/x.sh` `references/r.md#part` `${CLAUDE_SKILL_DIR}/scripts/none.sh` [d]({baseDir}/none.md)";
    tree.file(
        "skills/a/SKILL.md",
        format!("---\nname: a\ndescription: d\n---\n{body}\n"),
    );
    for name in ["b.md", "scripts/x.sh", "references/r.md"] {
        tree.file(&format!("skills/a/{name}"), "");
    }
    let files = only_entry(&tree).open().unwrap();
    let outline = files.document().unwrap().outline();
    let broken = files.broken_links(&outline);
    let targets: Vec<&str> = broken.iter().map(|link| link.target.as_str()).collect();
    assert_eq!(
        (outline.links().len(), targets),
        (7, vec!["scripts/none.sh", "none.md"])
    );
}

#[test]
fn skill_files_are_found_in_any_case() {
    let tree = Tree::new();
    tree.file("lower/skill.md", "lower")
        .file("mixed/Skill.md", "mixed")
        .file("none/readme.md", "");
    tree.file("both/skill.md", "lower")
        .file("both/SKILL.md", "upper")
        .file("out.md", "out");
    tree.file("linked/readme.md", "")
        .symlink("../out.md", "linked/SKILL.md");
    let check =
        |open: fn(&std::path::Path) -> Result<SkillFiles, skills_discovery::DiscoveryError>,
         directory: &str| {
            let files = open(&tree.path(directory)).map_err(|error| error.kind())?;
            let text =
                String::from_utf8(files.read_skill_file().map_err(|error| error.kind())?).unwrap();
            Ok(format!("{} {text}", files.file_name()))
        };
    let at = |directory: &str| check(SkillFiles::open_directory, directory);
    assert_eq!(at("lower"), Ok("skill.md lower".to_owned()));
    assert_eq!(at("mixed"), Ok("Skill.md mixed".to_owned()));
    assert_eq!(at("both"), Ok("SKILL.md upper".to_owned()));
    assert_eq!(at("linked"), Err(DiscoveryErrorKind::OutsideSkill));
    assert_eq!(at("none"), Err(DiscoveryErrorKind::NotFound));
    let as_reference_tool = |directory: &str| check(SkillFiles::open_like_skills_ref, directory);
    assert_eq!(as_reference_tool("lower"), Ok("skill.md lower".to_owned()));
    assert_eq!(as_reference_tool("both"), Ok("SKILL.md upper".to_owned()));
    assert_eq!(as_reference_tool("linked"), Ok("SKILL.md out".to_owned()));
    assert_eq!(
        as_reference_tool("mixed"),
        Err(DiscoveryErrorKind::NotFound)
    );
    assert_eq!(as_reference_tool("none"), Err(DiscoveryErrorKind::NotFound));
}

#[test]
fn a_document_and_its_source_match() {
    let tree = Tree::new();
    let text = "---\nname: a\ndescription: d\n---\nBody\n";
    tree.file("skills/a/SKILL.md", format!("\u{FEFF}{text}"));
    let (document, read) = only_entry(&tree)
        .open()
        .unwrap()
        .document_with_source()
        .unwrap();
    assert_eq!((document.body(), read.as_str()), ("Body\n", text));
}

#[test]
fn openai_metadata_is_read_with_warnings() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let files = only_entry(&tree).open().unwrap();
    assert_eq!(files.openai_metadata(), Default::default());
    tree.file(
        "skills/a/agents/openai.yaml",
        "interface:\n  display_name: 7\npolicy:\n  allow_implicit_invocation: false\n",
    );
    let (metadata, warnings) = files.openai_metadata();
    assert!(!metadata.policy.allows_implicit_invocation());
    assert_eq!(
        warnings
            .iter()
            .map(|warning| warning.field.as_str())
            .collect::<Vec<_>>(),
        ["interface.display_name"]
    );
}

#[test]
fn a_stamped_listing_includes_the_skill_file_and_changes() {
    let tree = Tree::new();
    tree.skill("skills/a", "a")
        .file("skills/a/data/x", "1")
        .file("skills/a/.hidden", "1")
        .symlink("data/x", "skills/a/link");
    let files = only_entry(&tree).open().unwrap();
    let listing = files.list_with_stamps().unwrap();
    let paths: Vec<(&str, u64)> = listing
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.stamp.bytes()))
        .collect();
    assert_eq!(
        (paths, listing.truncated),
        (vec![("SKILL.md", 43), ("data/x", 1)], false)
    );
    let by_handle = |path: &str| {
        FileStamp::from_metadata(&files.directory().open(path).unwrap().metadata().unwrap())
    };
    assert!(
        listing
            .files
            .iter()
            .all(|file| file.stamp == by_handle(&file.path))
    );
    assert!(
        !by_handle("SKILL.md").is_unchanged(Some(by_handle("SKILL.md"))),
        "a stamp without the time of its scan never counts as unchanged"
    );
    assert_eq!(files.list_with_stamps().unwrap(), listing);
    tree.file("skills/a/data/x", "12");
    assert_ne!(files.list_with_stamps().unwrap(), listing);
}

#[test]
fn a_document_is_read_on_each_call() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let entry = only_entry(&tree);
    tree.file(
        "skills/a/SKILL.md",
        "---\nname: a\ndescription: changed\n---\nNew body\n",
    );
    assert_eq!(
        entry.open().unwrap().document().unwrap().body(),
        "New body\n"
    );
    tree.file("skills/a/SKILL.md", "broken");
    assert_eq!(
        entry
            .open()
            .unwrap()
            .document()
            .map_err(|error| error.kind())
            .err(),
        Some(DiscoveryErrorKind::Manifest)
    );
}

/// A program that can write to a parent may replace it. Only the directory that was found is
/// opened.
#[test]
fn a_parent_that_becomes_a_symlink_is_not_followed() {
    let tree = Tree::new();
    tree.skill("skills/group/a", "a").file(
        "secret/a/SKILL.md",
        "---\nname: a\ndescription: d\n---\nsecret\n",
    );
    let entry = only_entry(&tree);
    std::fs::rename(tree.path("skills/group"), tree.path("skills/away")).unwrap();
    tree.symlink(tree.path("secret"), "skills/group");
    assert_eq!(
        entry.open().map_err(|error| error.kind()).err(),
        Some(DiscoveryErrorKind::OutsideSkill)
    );
    assert!(entry.openai_metadata().is_none());
}
