use std::path::Path;
use std::time::{Duration, Instant};

use skills_runtime::{Root, Scope, SkillRuntime};

use super::*;

/// Fails a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A runtime with one root, and the scanner of its scripts.
struct Fixture {
    directory: tempfile::TempDir,
    runtime: SkillRuntime,
    scanner: ScriptScanner,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let runtime = SkillRuntime::builder()
            .root(Root::new(directory.path(), Scope::Custom))
            .build();
        Self {
            directory,
            scanner: ScriptScanner::new(runtime.library().clone()),
            runtime,
        }
    }

    /// Writes a file, and the directories that it needs.
    #[expect(clippy::disallowed_methods, reason = "tests make their own files")]
    fn file(&self, path: &str, content: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn skill(&self, name: &str) {
        let text = format!("---\nname: {name}\ndescription: d\n---\n");
        self.file(&format!("{name}/SKILL.md"), &text);
    }

    fn path(&self, path: impl AsRef<Path>) -> std::path::PathBuf {
        self.directory.path().join(path)
    }

    fn index(&self) -> Arc<ScriptIndex> {
        self.scanner
            .index(&self.runtime.library().current_catalog())
    }

    /// Scans until the result is stable: files that were just written count as changed.
    fn settled_index(&self) -> Arc<ScriptIndex> {
        let end = Instant::now() + TIMEOUT;
        loop {
            let (first, second) = (self.index(), self.index());
            if Arc::ptr_eq(&first, &second) {
                return second;
            }
            assert!(Instant::now() < end, "the scripts are scanned on each call");
        }
    }
}

/// The generation ends with each event, and after a second.
#[test]
fn scripts_are_compared_once_in_a_generation() {
    let fixture = Fixture::new();
    fixture.skill("a");
    fixture.file("a/scripts/a.py", "print(1)\n");
    let _watcher = fixture.runtime.library().generations().register_watcher();
    let before = fixture.runtime.library().generations().current();
    assert_eq!(fixture.index().scripts.len(), 1);
    fixture.file("a/scripts/b.py", "");
    let scripts = fixture.index().scripts.len();
    // A slow machine may have needed a second, and then the next generation sees the file.
    let is_same = fixture.runtime.library().generations().current() == before;
    assert!(scripts == 1 || !is_same && scripts == 2, "{scripts}");
    fixture.runtime.library().generations().record_change();
    assert_eq!(fixture.index().scripts.len(), 2);
}

#[test]
fn a_script_that_is_added_to_a_subdirectory_is_noticed() {
    let fixture = Fixture::new();
    fixture.skill("a");
    fixture.file("a/scripts/deep/a.py", "print(1)\n");
    assert_eq!(fixture.settled_index().scripts.len(), 1);
    fixture.file("a/scripts/deep/b.py", "print(1)\n");
    assert_eq!(fixture.index().scripts.len(), 2);
}

#[test]
fn a_module_is_a_tool_only_if_it_is_declared() {
    let fixture = Fixture::new();
    fixture.skill("a");
    fixture.file("a/scripts/lib.py", "def f():\n    pass\n");
    assert_eq!(fixture.index().scripts.len(), 0);
    fixture.file(
        "a/SKILL.md",
        "---\nname: a\ndescription: d\nscripts: {lib: Says.}\n---\n",
    );
    assert_eq!(fixture.index().scripts.len(), 1);
}

#[test]
fn a_skill_whose_scripts_cannot_be_listed_does_not_affect_others() {
    let fixture = Fixture::new();
    fixture.skill("a");
    fixture.file("a/scripts/a.py", "print(1)\n");
    fixture.skill("b");
    fixture.file("b/scripts", "a file");
    let known = fixture.settled_index();
    assert_eq!(
        (known.scripts.len(), known.uncacheable.len()),
        (1, 1),
        "{:?}",
        known.warnings
    );
    assert!(
        known
            .warnings
            .iter()
            .any(|note| note.contains("skill `b`: cannot list its scripts")),
        "{:?}",
        known.warnings
    );
    assert!(Arc::ptr_eq(&known, &fixture.index()));
    std::fs::remove_file(fixture.path("b/scripts")).unwrap();
    fixture.file("b/scripts/x.py", "");
    assert_eq!(fixture.index().scripts.len(), 2);
}
