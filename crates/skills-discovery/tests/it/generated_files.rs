//! Generated files are not content: they are in no list, digest or copy.

use std::fs;

use skills_discovery::{DigestCache, DiscoveryErrorKind, SkillFiles};

use crate::tree::Tree;

/// A skill with a script, a package and assets.
fn tree() -> Tree {
    let tree = Tree::new();
    tree.skill("a", "a")
        .file("a/scripts/run.py", "print(1)\n")
        .file("a/node_modules/tool/index.js", "1\n")
        .file("a/assets/x", "x");
    tree
}

/// Adds every kind of generated file.
fn generate(tree: &Tree) {
    tree.file("a/__pycache__/run.cpython-312.pyc", "1")
        .file("a/scripts/__pycache__/run.cpython-312.pyc", "1")
        .file("a/scripts/__pycache__/deep/evil.py", "1")
        .file("a/node_modules/.cache/tool/x.js", "1")
        .file("a/node_modules/tool/node_modules/.cache/x.js", "1")
        .file("a/.DS_Store", "1")
        .file("a/assets/.DS_Store", "1");
}

fn files(tree: &Tree) -> SkillFiles {
    SkillFiles::open_directory(&tree.path("a")).unwrap()
}

fn digest(tree: &Tree) -> String {
    let digest = files(tree).digest(&mut DigestCache::default());
    digest.unwrap().to_string()
}

#[test]
fn generated_files_do_not_change_digest_and_lists() {
    let tree = tree();
    let lists = || {
        let files = files(&tree);
        let mut listed: Vec<String> = ["", "scripts", "assets"]
            .into_iter()
            .flat_map(|directory| files.list(directory).unwrap().resources)
            .chain(files.list_directory("scripts").unwrap())
            .map(|resource| resource.path)
            .collect();
        let stamped = files.list_with_stamps().unwrap();
        assert!(!stamped.truncated);
        listed.extend(stamped.files.into_iter().map(|file| file.path));
        listed
    };
    let before = (digest(&tree), lists());
    generate(&tree);
    assert_eq!((digest(&tree), lists()), before);
    let mut cache = DigestCache::default();
    let content = files(&tree).digested_content(&mut cache).unwrap();
    assert_eq!(content.digest.to_string(), before.0);
    let directories: Vec<&str> = content
        .generated_directories
        .iter()
        .map(|path| path.to_str().unwrap())
        .collect();
    assert_eq!(
        directories,
        [
            "__pycache__",
            "node_modules/.cache",
            "node_modules/tool/node_modules/.cache",
            "scripts/__pycache__"
        ]
    );
    for directory in ["__pycache__", "scripts/__pycache__/deep"] {
        assert_eq!(files(&tree).list(directory).unwrap().resources, []);
        assert_eq!(files(&tree).list_directory(directory).unwrap(), []);
    }
    assert!(!files(&tree).contains("scripts/__pycache__/deep/evil.py"));
    assert!(files(&tree).contains("scripts/run.py"));
}

#[test]
fn a_copy_has_no_generated_files() {
    let tree = tree();
    let before = digest(&tree);
    generate(&tree);
    let target = tempfile::tempdir().unwrap();
    let (digest, bytes) = files(&tree)
        .copy_to(target.path(), u64::MAX, &mut DigestCache::default())
        .unwrap();
    let copy = SkillFiles::open_directory(target.path()).unwrap();
    let content = copy.digested_content(&mut DigestCache::default()).unwrap();
    assert_eq!((digest.to_string(), content.digest), (before, digest));
    assert!(content.generated_directories.is_empty());
    assert!(!target.path().join(".DS_Store").exists());
    assert!(!target.path().join("assets/.DS_Store").exists());
    let skill_file = fs::metadata(tree.path("a/SKILL.md")).unwrap().len();
    assert_eq!(bytes, skill_file + 9 + 2 + 1);
}

/// What is named similarly, or has another type, can be code that no program generated.
#[test]
fn everything_else_is_content() {
    for (path, what) in [
        (
            "a/scripts/helper.pyc",
            "byte code that runs without a source",
        ),
        (
            "a/scripts/__pycache__",
            "a file with the name of a directory",
        ),
        ("a/scripts/__PYCACHE__/x.pyc", "another spelling"),
        ("a/.cache/x.js", "a cache that is not of packages"),
        ("a/node_modules/tool/.cache/x.js", "the same in a package"),
        ("a/node_modules/.bin/tool", "another hidden directory"),
        ("a/.DS_Store/x.py", "a directory with the name of a file"),
    ] {
        let tree = tree();
        let before = digest(&tree);
        tree.file(path, "x");
        assert_ne!(digest(&tree), before, "{what}");
    }
    for (target, link) in [
        ("../assets", "a/scripts/__pycache__"),
        ("../assets", "a/node_modules/.cache"),
        ("assets/x", "a/.DS_Store"),
    ] {
        let tree = tree();
        let before = digest(&tree);
        tree.symlink(target, link);
        assert_ne!(digest(&tree), before, "the symlink {link}");
    }
}

/// A model follows the text, and it says what the skill requests.
#[test]
fn a_skill_file_in_a_generated_directory_is_content() {
    let tree = Tree::new();
    let text = |body: &str| {
        let text = format!("---\nname: a\ndescription: d\n---\n{body}\n");
        tree.file("a/__pycache__/TEXT.md", text);
    };
    text("Be kind.");
    tree.symlink("__pycache__/TEXT.md", "a/SKILL.md");
    let before = digest(&tree);
    assert_eq!(digest(&tree), before);
    text("Be cruel.");
    assert_ne!(digest(&tree), before);
}

#[test]
fn generated_files_do_not_count_for_limits() {
    let tree = tree();
    fs::create_dir(tree.path("a/__pycache__")).unwrap();
    for index in 0..10_001 {
        fs::File::create(tree.path("a/__pycache__").join(index.to_string())).unwrap();
    }
    let large = fs::File::create(tree.path("a/.DS_Store")).unwrap();
    large.set_len((256 << 20) + 1).unwrap();
    nix::unistd::mkfifo(
        &tree.path("a/__pycache__/fifo"),
        nix::sys::stat::Mode::S_IRWXU,
    )
    .unwrap();
    digest(&tree);
    assert!(!files(&tree).list("").unwrap().truncated);
    tree.file("a/data/.keep", "");
    for index in 0..10_000 {
        fs::File::create(tree.path("a/data").join(index.to_string())).unwrap();
    }
    let error = files(&tree).digest(&mut DigestCache::default());
    assert_eq!(error.unwrap_err().kind(), DiscoveryErrorKind::TooLarge);
}
