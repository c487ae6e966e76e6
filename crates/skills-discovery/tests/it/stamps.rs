//! Whether files that no catalogue is made of look as they did.

use std::fs;

use skills_discovery::Stamps;

use crate::tree::Tree;

/// Looks until the files are old enough for a look to be enough.
fn settled(tree: &Tree) -> Stamps {
    loop {
        let mut stamps = Stamps::default();
        for path in ["scripts", "scripts/a.py", "missing"] {
            stamps.add(tree.path(path));
        }
        if stamps.are_current() {
            return stamps;
        }
    }
}

#[test]
fn a_change_of_what_was_looked_at_is_noticed() {
    let tree = Tree::new();
    tree.file("scripts/a.py", "one");
    let write = |path: &str, content: &str| fs::write(tree.path(path), content).unwrap();
    let check = |change: &dyn Fn()| {
        let stamps = settled(&tree);
        assert!(stamps.are_current() && stamps == settled(&tree));
        change();
        assert!(!stamps.are_current());
        assert!(stamps != settled(&tree));
    };
    check(&|| write("scripts/a.py", "longer"));
    check(&|| write("scripts/b.py", ""));
    check(&|| fs::remove_file(tree.path("scripts/b.py")).unwrap());
    check(&|| write("missing", ""));
    check(&|| fs::remove_dir_all(tree.path("scripts")).unwrap());
}

#[test]
fn what_was_written_just_now_may_be_written_again() {
    let tree = Tree::new();
    tree.file("a", "one");
    let mut stamps = Stamps::default();
    assert_eq!(stamps.add(tree.path("a")).map(|stamp| stamp.bytes()), Some(3));
    assert_eq!(stamps.add(tree.path("b")), None);
    // A machine that is so slow that the file is old by now has seen what it is like.
    let is_current = stamps.are_current();
    tree.file("a", "two");
    assert!(!is_current || !stamps.are_current());
}
