use std::fs;
use std::time::{Duration, Instant};

use skills_runtime::{Root, Scope};
use tempfile::TempDir;

use super::*;
use crate::mount::MountTable;

#[test]
fn names_are_those_that_every_client_takes() {
    for name in ["a", "9", "pdf-tools", "a-b-c", &"a".repeat(64)] {
        assert!(is_publishable_name(name), "{name}");
    }
    for name in [
        "",
        "-a",
        "a-",
        "a--b",
        "A",
        "tax_calculator",
        "a b",
        "plugin:a",
        "日本",
        "a.b",
        &"a".repeat(65),
    ] {
        assert!(!is_publishable_name(name), "{name}");
    }
}

/// Skills in a directory, and what is published of them.
struct Shelf {
    directory: TempDir,
    library: Publisher,
}

impl Shelf {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let runtime = SkillRuntime::builder()
            .root(Root::new(directory.path(), Scope::Custom))
            .build();
        let files = Arc::new(FileTools::new(runtime.clone(), MountTable::default()));
        Self {
            library: Publisher::new(runtime, files),
            directory,
        }
    }

    #[expect(clippy::disallowed_methods, reason = "tests make their own files")]
    fn skill(&self, name: &str) -> &Self {
        fs::create_dir_all(self.directory.path().join(name)).unwrap();
        fs::write(
            self.directory.path().join(name).join("SKILL.md"),
            format!("---\nname: {name}\ndescription: d\n---\n"),
        )
        .unwrap();
        self
    }

    fn without(&self, name: &str) -> &Self {
        fs::remove_dir_all(self.directory.path().join(name)).unwrap();
        self
    }

    fn catalog(&self) -> Arc<Catalog> {
        self.library.runtime.discover_skills();
        self.library.runtime.catalog()
    }
}

#[test]
fn nothing_is_kept_of_skills_that_are_gone() {
    let shelf = Shelf::new();
    shelf.skill("a").skill("b");
    assert_eq!(shelf.library.publish_all(&shelf.catalog()).skills.len(), 2);
    assert_eq!(shelf.library.captures().len(), 2);
    shelf.without("a").without("b").skill("c");
    assert!(shelf.library.publish_one(&shelf.catalog(), "c").is_ok());
    assert_eq!(
        shelf.library.captures().len(),
        1,
        "more than there are is too many"
    );
    shelf.without("c");
    assert_eq!(shelf.library.publish_all(&shelf.catalog()).skills, []);
    assert!(shelf.library.captures().is_empty());
}

#[test]
fn a_publication_that_is_known_is_not_trusted_beyond_its_digests() {
    let shelf = Shelf::new();
    shelf.skill("a");
    let catalog = shelf.catalog();
    let known = shelf.library.publish_one(&catalog, "a").unwrap();
    // As when two looks at the same time end in the wrong order.
    shelf.skill("b");
    let of_b = shelf
        .library
        .refresh(
            shelf
                .catalog()
                .entries()
                .iter()
                .find(|entry| entry.name().as_str() == "b")
                .unwrap(),
        )
        .unwrap();
    let directory = catalog.entries()[0].directory().to_owned();
    shelf
        .library
        .captures()
        .insert(directory, CachedCapture::Published(of_b));
    let given = shelf.library.read_file(&catalog, "a", "SKILL.md").unwrap();
    assert_eq!(
        (given.skill().name(), given.file()),
        ("a", &known.files()[0])
    );
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
fn what_cannot_be_published_is_not_read_again() {
    let shelf = Shelf::new();
    shelf.skill("a");
    let path = shelf.directory.path().join("a/SKILL.md");
    fs::write(&path, "---\nname: a\ndescription: d\nodd: !tag 1\n---\n").unwrap();
    let catalog = shelf.catalog();
    let refusal = || shelf.library.refresh(&catalog.entries()[0]).unwrap_err();
    // What was written in this very moment may have been written again, so it is read again.
    let end = Instant::now() + Duration::from_secs(30);
    while !Arc::ptr_eq(&refusal(), &refusal()) {
        assert!(Instant::now() < end, "it is read for each look");
    }
    let known = refusal();
    assert_eq!(shelf.library.publish_all(&catalog).warnings.len(), 1);
    assert!(
        Arc::ptr_eq(&known, &refusal()),
        "a look at all skills keeps it"
    );
    fs::write(&path, "---\nname: a\ndescription: d\n---\n").unwrap();
    assert!(shelf.library.refresh(&catalog.entries()[0]).is_ok());
}
