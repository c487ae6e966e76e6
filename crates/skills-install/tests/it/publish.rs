//! Skills as the files of a web site.

use skills_discovery::SkillFiles;
use skills_install::WellKnownSite;

use crate::fixture::Fixture;

#[test]
fn a_symlink_that_an_installation_refuses_is_not_published() {
    for (target, is_published) in [
        ("b/file", true),
        ("../a/b/file", false),
        // It stays inside by its text, but not if `b` is a symlink.
        ("b/../b/file", false),
        ("/etc/passwd", false),
    ] {
        let fixture = Fixture::new();
        fixture.skill("a", "").file("a/b/file", "");
        fixture.symlink(target, "a/link");
        let skill = SkillFiles::open_directory(&fixture.path("a")).unwrap();
        let added = WellKnownSite::default().add(&skill);
        assert_eq!(added.is_ok(), is_published, "{target}: {added:?}");
    }
}

#[test]
fn generated_files_are_not_published() {
    let fixture = Fixture::new();
    let site = |fixture: &Fixture| {
        let skill = SkillFiles::open_directory(&fixture.path("a")).unwrap();
        let mut site = WellKnownSite::default();
        site.add(&skill).unwrap();
        site.write(&fixture.path("site")).unwrap();
        fixture.read("site/.well-known/agent-skills/index.json")
    };
    fixture.skill("a", "").file("a/run.py", "");
    let before = site(&fixture);
    fixture
        .file("a/__pycache__/run.pyc", "")
        .file("a/.DS_Store", "");
    assert_eq!(site(&fixture), before);
}
