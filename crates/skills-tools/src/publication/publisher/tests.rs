use std::fs;
use std::time::{Duration, Instant};

use skills_runtime::{Root, Scope, SkillRuntime};
use tempfile::TempDir;

use super::*;
use crate::mount::MountTable;
use crate::publication::PublishedSkill;

#[test]
fn publishable_names_are_accepted_by_every_client() {
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

/// A skill directory, and its publisher.
struct Fixture {
    directory: TempDir,
    publisher: Publisher,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let runtime = SkillRuntime::builder()
            .root(Root::new(directory.path(), Scope::Custom))
            .build();
        let files = Arc::new(VirtualFiles::new(runtime, MountTable::default()));
        Self {
            publisher: Publisher::new(files),
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
        self.publisher.files.runtime.library().discover_skills();
        self.publisher.files.runtime.library().catalog()
    }
}

#[test]
fn removed_skills_are_evicted() {
    let fixture = Fixture::new();
    fixture.skill("a").skill("b");
    assert_eq!(
        fixture
            .publisher
            .publish_where(&fixture.catalog(), |_| true, usize::MAX)
            .skills
            .len(),
        2
    );
    assert_eq!(fixture.publisher.captures().len(), 2);
    fixture.without("a").without("b").skill("c");
    assert!(
        fixture
            .publisher
            .publish_one(&fixture.catalog(), "c")
            .is_ok()
    );
    assert_eq!(
        fixture.publisher.captures().len(),
        1,
        "the cache is not larger than the catalog"
    );
    fixture.without("c");
    assert_eq!(
        fixture
            .publisher
            .publish_where(&fixture.catalog(), |_| true, usize::MAX)
            .skills,
        []
    );
    assert!(fixture.publisher.captures().is_empty());
}

#[test]
fn cached_digests_are_verified_when_a_file_is_read() {
    let fixture = Fixture::new();
    fixture.skill("a");
    let catalog = fixture.catalog();
    let known = fixture.publisher.publish_one(&catalog, "a").unwrap();
    // Simulates two captures that end in the wrong order.
    fixture.skill("b");
    let catalog_of_b = fixture.catalog();
    let is_b = |entry: &&Entry| entry.name().as_str() == "b";
    let b = catalog_of_b.entries().iter().find(is_b).unwrap();
    fixture.publisher.refresh(b).unwrap();
    let of_b = Arc::clone(&fixture.publisher.captures()[b.directory()]);
    let directory = catalog.entries()[0].directory().to_owned();
    fixture.publisher.captures().insert(directory, of_b);
    let given = fixture
        .publisher
        .read_file(&catalog, "a", "SKILL.md")
        .unwrap();
    assert_eq!(
        (given.skill.name.as_str(), &given.file),
        ("a", &known.files[0])
    );
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
fn rejected_skills_are_not_read_again() {
    let fixture = Fixture::new();
    fixture.skill("a");
    let path = fixture.directory.path().join("a/SKILL.md");
    fs::write(&path, "---\nname: a\ndescription: d\nodd: !tag 1\n---\n").unwrap();
    let catalog = fixture.catalog();
    let refusal = || {
        fixture
            .publisher
            .refresh(&catalog.entries()[0])
            .unwrap_err()
    };
    // Files that were just written are read again, since their stamps are unreliable.
    let end = Instant::now() + Duration::from_secs(30);
    while !Arc::ptr_eq(&refusal(), &refusal()) {
        assert!(Instant::now() < end, "it is read for each capture");
    }
    let known = refusal();
    assert_eq!(
        fixture
            .publisher
            .publish_where(&catalog, |_| true, usize::MAX)
            .unpublished
            .len(),
        1
    );
    assert!(
        Arc::ptr_eq(&known, &refusal()),
        "publishing all skills keeps it"
    );
    fs::write(&path, "---\nname: a\ndescription: d\n---\n").unwrap();
    assert!(fixture.publisher.refresh(&catalog.entries()[0]).is_ok());
}

#[test]
fn a_page_reads_its_skills_and_the_next_one() {
    let fixture = Fixture::new();
    fixture
        .skill("a")
        .skill("b")
        .skill("c")
        .skill("d")
        .skill("UPPER");
    let catalog = fixture.catalog();
    let page = |after: &str, limit| {
        let page = fixture
            .publisher
            .publish_where(&catalog, |name| name > after, limit);
        let names = |skills: &[Arc<PublishedSkill>]| {
            skills
                .iter()
                .map(|skill| skill.name.clone())
                .collect::<String>()
        };
        let unpublished = page.unpublished.iter().map(|skill| skill.name.clone());
        (
            names(&page.skills),
            unpublished.collect::<String>(),
            page.unread.concat(),
            page.has_more,
        )
    };
    let expected = |skills: &str, unpublished: &str, unread: &str, has_more| {
        (
            skills.to_owned(),
            unpublished.to_owned(),
            unread.to_owned(),
            has_more,
        )
    };
    assert_eq!(page("", 2), expected("ab", "UPPER", "cd", true));
    assert_eq!(fixture.publisher.captures().len(), 3);
    assert_eq!(page("b", 2), expected("cd", "", "UPPERab", false));
}
