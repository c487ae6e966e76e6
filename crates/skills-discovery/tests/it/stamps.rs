//! Stamps of files that a catalog is not built from.

use std::fs;

use skills_discovery::StampSet;

use crate::tree::Tree;

/// Adds stamps until all of them are settled.
fn settled(tree: &Tree) -> StampSet {
    loop {
        let mut stamps = StampSet::default();
        for path in ["scripts", "scripts/a.py", "missing"] {
            stamps.add(tree.path(path));
        }
        if stamps.is_current() {
            return stamps;
        }
    }
}

#[test]
fn a_change_of_a_file_or_directory_is_noticed() {
    let tree = Tree::new();
    tree.file("scripts/a.py", "one");
    let write = |path: &str, content: &str| fs::write(tree.path(path), content).unwrap();
    let check = |change: &dyn Fn()| {
        let stamps = settled(&tree);
        assert!(stamps.is_current() && stamps == settled(&tree));
        change();
        assert!(!stamps.is_current());
        assert!(stamps != settled(&tree));
    };
    check(&|| write("scripts/a.py", "longer"));
    check(&|| write("scripts/b.py", ""));
    check(&|| fs::remove_file(tree.path("scripts/b.py")).unwrap());
    check(&|| write("missing", ""));
    check(&|| fs::remove_dir_all(tree.path("scripts")).unwrap());
}
