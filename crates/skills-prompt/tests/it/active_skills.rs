use std::path::Path;

use skills_discovery::{ContentDigest, DigestCache, SkillFiles};
use skills_prompt::{Activation, ActiveSkills};

use crate::skill_tree::SkillTree;

fn digest(tree: &SkillTree, path: &str) -> ContentDigest {
    SkillFiles::open_directory(&tree.path(path))
        .unwrap()
        .digest(&mut DigestCache::default())
        .unwrap()
}

#[test]
fn a_skill_is_injected_once_until_it_changes() {
    let tree = SkillTree::new();
    tree.skill("a", "a").skill("b", "b");
    let (a, b) = (Path::new("/skills/a"), Path::new("/skills/b"));
    let mut active = ActiveSkills::default();
    assert_eq!(active.activate(b, digest(&tree, "b")), Activation::New);
    assert_eq!(active.activate(a, digest(&tree, "a")), Activation::New);
    assert_eq!(
        active.activate(b, digest(&tree, "b")),
        Activation::AlreadyActive
    );
    assert_eq!(active.skills(), [b, a], "in the order of injection");
    tree.file("b/references/new.md", "more");
    assert_eq!(active.activate(b, digest(&tree, "b")), Activation::Changed);
    assert_eq!(active.skills(), [a, b]);
    active.remove(a);
    assert_eq!(active.activate(a, digest(&tree, "a")), Activation::New);
}
