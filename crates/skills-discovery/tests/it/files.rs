use skills_discovery::{Entry, ErrorKind, Limits, Root, Scope, Stamp, discover};

use crate::tree::Tree;

fn only(tree: &Tree) -> Entry {
    let catalog = discover(&[Root::new(tree.path("skills"), Scope::Repo)], &Limits::default());
    let [entry] = catalog.entries() else { panic!("one skill, got {catalog:?}") };
    entry.clone()
}

#[test]
fn reads_inside_and_nowhere_else() {
    let tree = Tree::new();
    tree.file("secret.txt", "secret").skill("skills/a", "a").file("skills/a/references/r.md", "text");
    tree.symlink("../../secret.txt", "skills/a/leak.txt").symlink("references/r.md", "skills/a/inner.md");
    let files = only(&tree).open().unwrap();
    let kind = |path: &str| files.read(path, 100).map_err(|error| error.kind());
    assert_eq!(kind("references/r.md"), Ok(b"text".to_vec()));
    assert_eq!(kind("references/../inner.md"), Ok(b"text".to_vec()));
    let absolute = tree.path("secret.txt").display().to_string();
    for escape in ["../../secret.txt", "leak.txt", absolute.as_str(), "/etc/passwd", "references/../../../secret.txt"] {
        assert_eq!(kind(escape), Err(ErrorKind::Outside), "{escape}");
    }
    assert_eq!(kind("references"), Err(ErrorKind::NotRegular));
    assert_eq!(kind("absent"), Err(ErrorKind::Missing));
    assert_eq!(files.read("references/r.md", 3).map_err(|error| error.kind()), Err(ErrorKind::TooLarge));
}

#[test]
fn lists_regular_files_in_order() {
    let tree = Tree::new();
    tree.skill("skills/a", "a").file("skills/a/scripts/run.py", "1").file("skills/a/assets/x/y.txt", "12");
    tree.file("skills/a/.git/config", "no").symlink("scripts", "skills/a/loop");
    let files = only(&tree).open().unwrap();
    let listing = files.list("").unwrap();
    let paths: Vec<(&str, u64)> = listing.resources.iter().map(|file| (file.path.as_str(), file.bytes)).collect();
    assert_eq!(paths, [("assets/x/y.txt", 2), ("scripts/run.py", 1)]);
    assert!(!listing.truncated);
    assert_eq!(files.list("absent").unwrap().resources, []);
    assert_eq!(files.list("..").map_err(|error| error.kind()), Err(ErrorKind::Outside));
}

#[test]
fn a_long_listing_says_that_there_is_more() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    for index in 0..1_001 {
        tree.file(&format!("skills/a/assets/{index}"), "");
    }
    let listing = only(&tree).open().unwrap().list("").unwrap();
    assert_eq!((listing.resources.len(), listing.truncated), (1_000, true));
}

#[test]
fn a_stamped_listing_has_the_skill_file_and_shows_changes() {
    let tree = Tree::new();
    tree.skill("skills/a", "a").file("skills/a/data/x", "1").file("skills/a/.hidden", "1").symlink("data/x", "skills/a/link");
    let files = only(&tree).open().unwrap();
    let listing = files.stamped().unwrap();
    let paths: Vec<(&str, u64)> = listing.files.iter().map(|file| (file.path.as_str(), file.stamp.bytes())).collect();
    assert_eq!((paths, listing.truncated), (vec![("SKILL.md", 43), ("data/x", 1)], false));
    let by_handle = |path: &str| Stamp::of_metadata(&files.directory().open(path).unwrap().metadata().unwrap());
    assert!(listing.files.iter().all(|file| file.stamp == by_handle(&file.path)));
    assert!(!by_handle("SKILL.md").is_still(Some(by_handle("SKILL.md"))), "nobody said when it was looked at");
    assert_eq!(files.stamped().unwrap(), listing);
    tree.file("skills/a/data/x", "12");
    assert_ne!(files.stamped().unwrap(), listing);

    // Files that are this young may change unseen, until they are old enough.
    let settled = std::iter::repeat_with(|| files.stamped().unwrap()).find(|listing| {
        let now = files.stamped().unwrap();
        listing.files.iter().zip(&now.files).all(|(before, now)| before.stamp.is_still(Some(now.stamp)))
    });
    tree.file("skills/a/data/x", "34");
    let (before, now) = (settled.unwrap(), files.stamped().unwrap());
    let still: Vec<bool> = before.files.iter().zip(&now.files).map(|(before, now)| before.stamp.is_still(Some(now.stamp))).collect();
    assert_eq!(still, [true, false]);
}

#[test]
fn a_document_is_read_when_asked_for() {
    let tree = Tree::new();
    tree.skill("skills/a", "a");
    let entry = only(&tree);
    tree.file("skills/a/SKILL.md", "---\nname: a\ndescription: changed\n---\nNew body\n");
    assert_eq!(entry.open().unwrap().document().unwrap().body(), "New body\n");
    tree.file("skills/a/SKILL.md", "broken");
    assert_eq!(entry.open().unwrap().document().map_err(|error| error.kind()).err(), Some(ErrorKind::Manifest));
}

/// Whoever can write above a skill may put something else in its place; what is opened is what was found, or nothing.
#[test]
fn a_parent_that_is_swapped_for_a_symlink_leads_nowhere() {
    let tree = Tree::new();
    tree.skill("skills/group/a", "a").file("secret/a/SKILL.md", "---\nname: a\ndescription: d\n---\nsecret\n");
    let entry = only(&tree);
    std::fs::rename(tree.path("skills/group"), tree.path("skills/away")).unwrap();
    tree.symlink(tree.path("secret"), "skills/group");
    assert_eq!(entry.open().map_err(|error| error.kind()).err(), Some(ErrorKind::Outside));
    assert!(entry.host_metadata().is_none());
}
