//! The digest of a skill's content.

use skills_discovery::{Digest, DigestCache, Discovery, Root, Scope};

use crate::tree::Tree;

fn digest(tree: &Tree, skill: &str, cache: &mut DigestCache) -> Digest {
    let catalog = Discovery::new([Root::new(tree.path(skill), Scope::Repo)]).scan();
    catalog.entries()[0].open().unwrap().digest(cache).unwrap()
}

fn skill(tree: &Tree, directory: &str) {
    tree.skill(directory, "a").file(&format!("{directory}/scripts/run.py"), "print(1)\n").file(&format!("{directory}/.env"), "X=1\n");
}

#[test]
fn equal_files_have_equal_digests_wherever_they_lie() {
    let tree = Tree::new();
    skill(&tree, "one/a");
    skill(&tree, "two/deeper/a");
    let mut cache = DigestCache::default();
    let (one, two) = (digest(&tree, "one", &mut cache), digest(&tree, "two", &mut cache));
    assert_eq!(one, two);
    assert!(one.to_string().starts_with("sha256:") && one.to_string().len() == 71);
}

#[test]
fn every_change_of_a_file_shows() {
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
    std::fs::rename(tree.path("s/a/scripts/run.py"), tree.path("s/a/scripts/go.py")).unwrap();
    changed("name");
    tree.file("s/a/.env", "X=2\n");
    changed("a hidden file");
    tree.symlink("go.py", "s/a/scripts/link");
    changed("a symlink");
    std::fs::remove_file(tree.path("s/a/scripts/link")).unwrap();
    tree.symlink("/etc/passwd", "s/a/scripts/link");
    changed("where a symlink leads");
    std::fs::remove_file(tree.path("s/a/scripts/link")).unwrap();
    tree.file("s/a/scripts/link", "/etc/passwd");
    changed("a file with the text of the link");
    tree.file("s/a/ab", "c");
    changed("a file");
    std::fs::remove_file(tree.path("s/a/ab")).unwrap();
    tree.file("s/a/a", "bc");
    changed("the border between name and content");
}

#[test]
fn files_that_look_the_same_are_not_read_again() {
    let tree = Tree::new();
    skill(&tree, "s/a");
    let mut cache = DigestCache::default();
    let first = digest(&tree, "s", &mut cache);
    assert_eq!(cache.hits(), 0);
    // Files that are this young are read again, until they are old enough.
    let mut before = 0;
    while cache.hits() < before + 3 {
        before = cache.hits();
        assert_eq!(digest(&tree, "s", &mut cache), first);
    }
    let before = cache.hits();
    tree.file("s/a/scripts/run.py", "print(12)\n");
    assert_ne!(digest(&tree, "s", &mut cache), first);
    assert_eq!(cache.hits(), before + 2);
}

#[test]
fn what_is_no_file_has_no_digest() {
    let tree = Tree::new();
    skill(&tree, "s/a");
    nix::unistd::mkfifo(&tree.path("s/a/fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let catalog = Discovery::new([Root::new(tree.path("s"), Scope::Repo)]).scan();
    let error = catalog.entries()[0].open().unwrap().digest(&mut DigestCache::default()).unwrap_err();
    assert_eq!(error.kind(), skills_discovery::ErrorKind::NotRegular);
}
