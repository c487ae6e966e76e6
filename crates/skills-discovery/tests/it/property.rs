//! Properties of scans over generated trees.

use std::fs;

use proptest::prelude::*;
use skills_discovery::{Root, ScanLimits, Scope, discover};

use crate::tree::Tree;

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// The order of creation does not change the catalog, and an invalid skill changes nothing
    /// about the others.
    #[test]
    fn the_catalog_depends_only_on_the_files(order in Just((0..12).collect::<Vec<u32>>()).prop_shuffle(), broken in proptest::collection::vec(any::<u8>(), 0..60)) {
        let tree = Tree::new();
        for index in &order {
            tree.skill(&format!("group-{}/skill-{index}", index % 3), &format!("skill-{index}"));
        }
        let plain = tree.scan(&ScanLimits::default());
        let sorted = Tree::new();
        for index in 0..12 {
            sorted.skill(&format!("group-{}/skill-{index}", index % 3), &format!("skill-{index}"));
        }
        prop_assert_eq!(&plain, &sorted.scan(&ScanLimits::default()));

        let mut bytes = b"not a skill ".to_vec();
        bytes.extend(broken);
        tree.file("group-0/aaa-broken/SKILL.md", bytes);
        let roots = [Root::new(tree.path(""), Scope::Repo)];
        let with_broken = discover(&roots, &ScanLimits::default());
        prop_assert_eq!(with_broken.skipped().len(), 1);
        fs::remove_dir_all(tree.path("group-0/aaa-broken")).unwrap();
        let names = |catalog: &skills_discovery::Catalog| catalog.entries().iter().map(|entry| entry.location()).collect::<Vec<_>>();
        prop_assert_eq!(names(&with_broken), names(&discover(&roots, &ScanLimits::default())));
    }
}
