//! Content digests of skills.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use skills_discovery::{
    ContentDigest, DigestCache, Discovery, DiscoveryErrorKind, Root, Scope, SkillFileSymlinks,
    SkillFiles,
};

use crate::tree::Tree;

/// The maximum total size and number of files of a skill with a digest.
const MAX_BYTES: u64 = 256 << 20;
const MAX_FILES: usize = 10_000;
/// The maximum number of directory levels.
const MAX_DEPTH: usize = 32;

fn digest(tree: &Tree, skill: &str, cache: &mut DigestCache) -> ContentDigest {
    let catalog = Discovery::new([Root::new(tree.path(skill), Scope::Repo)]).scan();
    catalog.entries()[0].open().unwrap().digest(cache).unwrap()
}

fn skill(tree: &Tree, directory: &str) {
    tree.skill(directory, "a")
        .file(&format!("{directory}/scripts/run.py"), "print(1)\n")
        .file(&format!("{directory}/.env"), "X=1\n");
}

/// Returns the error of each of the three functions that compute a digest.
fn failures(files: &SkillFiles) -> [Option<DiscoveryErrorKind>; 3] {
    let mut cache = DigestCache::default();
    let target = tempfile::tempdir().unwrap();
    let cached = files.cached_digest(&mut cache).err();
    let digest = files.digest(&mut cache).err();
    let copy = files.copy_to(target.path(), u64::MAX, &mut cache).err();
    [cached, digest, copy].map(|error| error.map(|error| error.kind()))
}

#[test]
fn the_location_of_a_skill_does_not_change_its_digest() {
    let tree = Tree::new();
    skill(&tree, "one/a");
    skill(&tree, "two/deeper/a");
    let mut cache = DigestCache::default();
    let one = digest(&tree, "one", &mut cache);
    assert_eq!(one, digest(&tree, "two", &mut cache));
    assert!(one.to_string().starts_with("sha256:") && one.to_string().len() == 71);
}

/// Approvals and trust are stored with a digest, so another version must compute the same one.
#[test]
fn the_digest_format_is_stable() {
    let tree = Tree::new();
    skill(&tree, "s/a");
    tree.symlink("scripts/run.py", "s/a/link");
    let digest = digest(&tree, "s", &mut DigestCache::default());
    insta::assert_snapshot!(digest, @"sha256:3e66265f5da908fd580c7ff29ba3c4826247ae145bceb86c97becdecd9503fd8");
    let bytes: String = digest
        .as_bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(digest.to_string(), format!("sha256:{bytes}"));
}

#[test]
fn every_change_of_a_file_changes_the_digest() {
    let tree = Tree::new();
    skill(&tree, "s/a");
    let mut seen = vec![digest(&tree, "s", &mut DigestCache::default())];
    let mut changed = |what: &str| {
        let digest = digest(&tree, "s", &mut DigestCache::default());
        assert!(!seen.contains(&digest), "{what}");
        seen.push(digest);
    };
    tree.file("s/a/scripts/run.py", "print(2)\n");
    changed("content");
    std::fs::rename(
        tree.path("s/a/scripts/run.py"),
        tree.path("s/a/scripts/go.py"),
    )
    .unwrap();
    changed("name");
    tree.file("s/a/.env", "X=2\n");
    changed("a hidden file");
    tree.symlink("go.py", "s/a/scripts/link");
    changed("a symlink");
    std::fs::remove_file(tree.path("s/a/scripts/link")).unwrap();
    tree.symlink("/etc/passwd", "s/a/scripts/link");
    changed("the target of a symlink");
    std::fs::remove_file(tree.path("s/a/scripts/link")).unwrap();
    tree.file("s/a/scripts/link", "/etc/passwd");
    changed("a file with the text of the link");
    tree.file("s/a/ab", "c");
    changed("a file");
    std::fs::remove_file(tree.path("s/a/ab")).unwrap();
    tree.file("s/a/a", "bc");
    changed("the boundary between name and content");
}

/// A model reads the linked file, so it is content although it is outside of the skill.
#[test]
fn the_content_of_a_linked_skill_file_is_part_of_the_digest() {
    let tree = Tree::new();
    let write = |body: &str| {
        tree.file(
            "dotfiles/note.md",
            format!("---\nname: note\ndescription: linked\n---\n{body}\n"),
        );
    };
    write("Be kind.");
    tree.file("skills/note/data.txt", "x")
        .symlink(tree.path("dotfiles/note.md"), "skills/note/SKILL.md");
    let root =
        Root::new(tree.path("skills"), Scope::User).skill_file_symlinks(SkillFileSymlinks::Follow);
    let catalog = Discovery::new([root]).scan();
    let files = catalog.entries()[0].open().unwrap();
    let as_reference_tool = SkillFiles::open_like_skills_ref(&tree.path("skills/note")).unwrap();
    let digests = || {
        let target = tempfile::tempdir().unwrap();
        let digest = files.digest(&mut DigestCache::default()).unwrap();
        assert_eq!(
            files
                .copy_to(target.path(), u64::MAX, &mut DigestCache::default())
                .unwrap()
                .0,
            digest
        );
        assert_eq!(
            as_reference_tool
                .digest(&mut DigestCache::default())
                .unwrap(),
            digest
        );
        digest
    };
    let before = digests();
    assert_eq!(digests(), before);
    write("Be cruel.");
    assert_ne!(digests(), before);
}

#[test]
fn a_skill_with_a_fifo_has_no_digest() {
    let tree = Tree::new();
    skill(&tree, "s/a");
    nix::unistd::mkfifo(&tree.path("s/a/fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(
        failures(&SkillFiles::open_directory(&tree.path("s/a")).unwrap()),
        [Some(DiscoveryErrorKind::NotRegular); 3]
    );
}

/// The file is sparse, and `cached_digest` reads none of it.
#[test]
fn a_skill_of_more_than_256_mib_has_no_digest() {
    let tree = Tree::new();
    skill(&tree, "a");
    let files = SkillFiles::open_directory(&tree.path("a")).unwrap();
    let others: u64 = ["SKILL.md", ".env", "scripts/run.py"]
        .iter()
        .map(|path| fs::metadata(tree.path("a").join(path)).unwrap().len())
        .sum();
    let data = fs::File::create(tree.path("a/zeros")).unwrap();
    data.set_len(MAX_BYTES - others).unwrap();
    assert_eq!(
        files.cached_digest(&mut DigestCache::default()).unwrap(),
        None
    );
    data.set_len(MAX_BYTES - others + 1).unwrap();
    assert_eq!(failures(&files), [Some(DiscoveryErrorKind::TooLarge); 3]);
}

#[test]
fn a_skill_of_more_than_10_000_files_has_no_digest() {
    let tree = Tree::new();
    tree.skill("a", "a");
    // Directories count as well.
    fs::create_dir(tree.path("a/data")).unwrap();
    for index in 0..MAX_FILES - 2 {
        fs::File::create(tree.path("a/data").join(index.to_string())).unwrap();
    }
    let files = SkillFiles::open_directory(&tree.path("a")).unwrap();
    assert!(files.digest(&mut DigestCache::default()).is_ok());
    tree.file("a/one-more", "");
    let error = files.digest(&mut DigestCache::default()).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (
            DiscoveryErrorKind::TooLarge,
            "skill has more than 10000 files"
        )
    );
    assert_eq!(failures(&files), [Some(DiscoveryErrorKind::TooLarge); 3]);
}

#[test]
fn a_skill_that_nests_deeper_than_32_directories_has_no_digest() {
    let tree = Tree::new();
    tree.skill("a", "a");
    let deepest = (0..MAX_DEPTH).fold(tree.path("a"), |path, _| path.join("d"));
    fs::create_dir_all(&deepest).unwrap();
    let files = SkillFiles::open_directory(&tree.path("a")).unwrap();
    assert!(files.digest(&mut DigestCache::default()).is_ok());
    fs::create_dir(deepest.join("d")).unwrap();
    assert_eq!(failures(&files), [Some(DiscoveryErrorKind::TooLarge); 3]);
}

#[test]
fn a_copy_has_the_same_files_read_only() {
    let tree = Tree::new();
    skill(&tree, "a");
    tree.symlink("/etc/passwd", "a/link");
    fs::create_dir(tree.path("a/empty")).unwrap();
    fs::set_permissions(tree.path("a/scripts/run.py"), Permissions::from_mode(0o766)).unwrap();
    fs::set_permissions(tree.path("a/.env"), Permissions::from_mode(0o666)).unwrap();
    let written = SystemTime::UNIX_EPOCH + Duration::new(1_234_567_890, 987_000_000);
    fs::File::options()
        .append(true)
        .open(tree.path("a/.env"))
        .unwrap()
        .set_modified(written)
        .unwrap();

    let files = SkillFiles::open_directory(&tree.path("a")).unwrap();
    let target = tempfile::tempdir().unwrap();
    let (digest, bytes) = files
        .copy_to(target.path(), u64::MAX, &mut DigestCache::default())
        .unwrap();
    let copy = |path: &str| target.path().join(path);
    assert_eq!(digest, files.digest(&mut DigestCache::default()).unwrap());
    assert_eq!(
        digest,
        SkillFiles::open_directory(target.path())
            .unwrap()
            .digest(&mut DigestCache::default())
            .unwrap()
    );
    let of_copy =
        ["SKILL.md", ".env", "scripts/run.py"].map(|path| fs::metadata(copy(path)).unwrap());
    assert_eq!(
        of_copy.each_ref().map(|metadata| metadata.mode() & 0o7777),
        [0o644, 0o644, 0o755]
    );
    assert_eq!(of_copy.iter().map(fs::Metadata::len).sum::<u64>(), bytes);
    assert_eq!(of_copy[1].modified().unwrap(), written);
    assert_eq!(
        fs::read_link(copy("link")).unwrap().to_str(),
        Some("/etc/passwd")
    );
    assert!(copy("empty").is_dir());
}

/// An existing file may be a symlink out of the copy.
#[test]
fn a_copy_overwrites_nothing() {
    let tree = Tree::new();
    skill(&tree, "a");
    tree.file("precious", "old");
    let files = SkillFiles::open_directory(&tree.path("a")).unwrap();
    let target = tempfile::tempdir().unwrap();
    symlink(tree.path("precious"), target.path().join("SKILL.md")).unwrap();
    assert!(
        files
            .copy_to(target.path(), u64::MAX, &mut DigestCache::default())
            .is_err()
    );
    assert_eq!(fs::read_to_string(tree.path("precious")).unwrap(), "old");
}
