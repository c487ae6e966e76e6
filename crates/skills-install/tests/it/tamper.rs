//! Changes of installed files and of the lock file: each is reported.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use skills_discovery::{Discovery, Root, Scope};
use skills_install::{Action, InstallErrorKind, LocalEdits, LockFile, Verification};

use crate::fixture::{Fixture, TarEntry, fetcher, skill_text, words};

fn installed() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .skill("source/a", "allowed-tools: Bash\n")
        .executable("source/a/scripts/run.sh", "echo 1\n")
        .file("source/a/references/guide.md", "Guide.\n")
        .file("source/a/.hidden", "x")
        .skill("source/b", "");
    fixture.symlink("references/guide.md", "source/a/guide.md");
    fixture.add("./source").unwrap();
    fixture
}

/// A change of an installed directory.
type Tamper = fn(&Fixture);
/// A change of a source, whose text it returns.
type Upstream = fn(&Fixture) -> String;

fn remove(fixture: &Fixture, path: &str) {
    fs::remove_file(fixture.path(path)).unwrap();
}

fn rename(fixture: &Fixture, from: &str, to: &str) {
    fs::rename(fixture.path(from), fixture.path(to)).unwrap();
}

fn edit_lock(fixture: &Fixture, from: &str, to: &str) {
    let text = fixture.read("skills/skills.lock");
    assert!(text.contains(from), "{text}");
    fixture.file("skills/skills.lock", text.replacen(from, to, 1));
}

fn chmod(fixture: &Fixture, path: &str, mode: u32) {
    fs::set_permissions(fixture.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

/// Changes of files that change the content.
const CONTENT: &[(&str, Tamper)] = &[
    ("one byte", |f| {
        f.file("skills/a/scripts/run.sh", "echo 2\n");
    }),
    ("one more byte", |f| {
        f.file("skills/a/scripts/run.sh", "echo 1\n\n");
    }),
    ("empty file", |f| {
        f.file("skills/a/scripts/run.sh", "");
    }),
    ("hidden file", |f| {
        f.file("skills/a/.hidden", "y");
    }),
    ("frontmatter", |f| {
        f.skill("skills/a", "allowed-tools: Bash WebFetch\n");
    }),
    ("new file", |f| {
        f.file("skills/a/scripts/new.sh", "");
    }),
    ("new hidden file", |f| {
        f.file("skills/a/.env", "");
    }),
    ("new deep file", |f| {
        f.file("skills/a/x/y/z", "");
    }),
    ("removed file", |f| {
        remove(f, "skills/a/references/guide.md")
    }),
    ("removed hidden file", |f| remove(f, "skills/a/.hidden")),
    ("removed link", |f| remove(f, "skills/a/guide.md")),
    ("renamed file", |f| {
        rename(f, "skills/a/scripts/run.sh", "skills/a/scripts/go.sh")
    }),
    ("moved file", |f| {
        rename(f, "skills/a/scripts/run.sh", "skills/a/run.sh")
    }),
    ("renamed directory", |f| {
        rename(f, "skills/a/scripts", "skills/a/bin")
    }),
    ("other case", |f| {
        rename(f, "skills/a/scripts/run.sh", "skills/a/scripts/Run.sh")
    }),
    ("other case of the skill file", |f| {
        rename(f, "skills/a/SKILL.md", "skills/a/skill.md")
    }),
    ("swapped files", |f| {
        rename(f, "skills/a/.hidden", "skills/a/x");
        rename(f, "skills/a/references/guide.md", "skills/a/.hidden");
        rename(f, "skills/a/x", "skills/a/references/guide.md");
    }),
    ("joined files", |f| {
        remove(f, "skills/a/references/guide.md");
        f.file("skills/a/.hidden", "xGuide.\n");
    }),
    ("link to another file", |f| {
        remove(f, "skills/a/guide.md");
        f.symlink("scripts/run.sh", "skills/a/guide.md");
    }),
    ("link out of the skill", |f| {
        remove(f, "skills/a/guide.md");
        f.symlink("/etc/passwd", "skills/a/guide.md");
    }),
    ("link in place of a file", |f| {
        rename(f, "skills/a/scripts/run.sh", "run.sh");
        f.symlink(f.path("run.sh"), "skills/a/scripts/run.sh");
    }),
    ("file in place of a link", |f| {
        remove(f, "skills/a/guide.md");
        f.file("skills/a/guide.md", "Guide.\n");
    }),
    ("link in place of a directory", |f| {
        rename(f, "skills/a/scripts", "scripts");
        f.symlink(f.path("scripts"), "skills/a/scripts");
    }),
    ("directory in place of a file", |f| {
        remove(f, "skills/a/.hidden");
        f.file("skills/a/.hidden/x", "x");
    }),
    ("link in place of the skill file", |f| {
        rename(f, "skills/a/SKILL.md", "skills/a/real.md");
        f.symlink("real.md", "skills/a/SKILL.md");
    }),
    ("pipe", |f| {
        let path = f.path("skills/a/pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    }),
    ("content of another skill", |f| {
        fs::copy(f.path("skills/b/SKILL.md"), f.path("skills/a/SKILL.md")).unwrap();
    }),
    ("two skills swapped", |f| {
        rename(f, "skills/a", "x");
        rename(f, "skills/b", "skills/a");
        rename(f, "x", "skills/b");
    }),
    ("digest of another skill", |f| {
        let lock = LockFile::parse(&f.read("skills/skills.lock"), "".as_ref()).unwrap();
        let (a, b) = (&lock.skills()["a"], &lock.skills()["b"]);
        edit_lock(f, &a.content().to_string(), &b.content().to_string());
    }),
    ("one digit of the digest", |f| {
        let text = f.read("skills/skills.lock");
        let at = text.find("sha256:").unwrap() + 7;
        let digit = if text.as_bytes()[at] == b'0' {
            "1"
        } else {
            "0"
        };
        let edited = format!("{}{digit}{}", &text[..at], &text[at + 1..]);
        f.file("skills/skills.lock", edited);
    }),
];

/// Changes that a content digest does not see.
const OTHER: &[(&str, Tamper)] = &[
    ("executable file", |f| {
        chmod(f, "skills/a/references/guide.md", 0o755)
    }),
    ("file not executable", |f| {
        chmod(f, "skills/a/scripts/run.sh", 0o644)
    }),
    ("mode in the lock file", |f| {
        edit_lock(f, "scripts/run.sh", "scripts/go.sh")
    }),
    ("missing skill", |f| {
        fs::remove_dir_all(f.path("skills/a")).unwrap()
    }),
    ("renamed skill", |f| rename(f, "skills/a", "skills/c")),
    ("moved skill", |f| {
        f.file("skills/x/y", "");
        rename(f, "skills/a", "skills/x/a");
    }),
    ("link in place of the skill", |f| {
        rename(f, "skills/a", "elsewhere");
        f.symlink(f.path("elsewhere"), "skills/a");
    }),
    ("link in place of the skill, to another one", |f| {
        rename(f, "skills/a", "elsewhere");
        f.file("elsewhere/scripts/run.sh", "echo evil\n");
        f.symlink("../elsewhere", "skills/a");
    }),
    ("link in place of the skill, to a group", |f| {
        f.file("elsewhere/x", "");
        rename(f, "skills/a", "elsewhere/a");
        f.symlink("../elsewhere", "skills/a");
    }),
    ("skill below a locked directory", |f| {
        f.file("skills/a/b/SKILL.md", f.read("skills/a/SKILL.md"));
        remove(f, "skills/a/SKILL.md");
    }),
    ("link in place of the skill file, out of the skill", |f| {
        rename(f, "skills/a/SKILL.md", "SKILL.md");
        f.symlink("../../SKILL.md", "skills/a/SKILL.md");
    }),
];

/// Changes that add a skill which the lock file does not name.
const UNLOCKED: &[(&str, Tamper)] = &[
    ("new skill", |f| {
        f.skill("skills/c", "");
    }),
    ("copied skill", |f| {
        f.file("skills/c/SKILL.md", f.read("skills/b/SKILL.md"));
    }),
    ("skill below a group", |f| {
        f.skill("skills/group/c", "");
    }),
    ("linked skill", |f| {
        f.skill("elsewhere/c", "");
        f.symlink("../elsewhere/c", "skills/sl");
    }),
    ("linked group", |f| {
        f.skill("elsewhere/c", "");
        f.symlink("../elsewhere", "skills/group");
    }),
    ("skill with a lock file of its own", |f| {
        f.skill("skills/group/c", "");
        f.file(
            "skills/group/skills.lock",
            f.read("skills/skills.lock").replace("\"b\"", "\"c\""),
        );
    }),
    ("removed entry", |f| {
        let lock = f.read("skills/skills.lock");
        let start = lock.rfind("[[skill]]").unwrap();
        f.file("skills/skills.lock", &lock[..start]);
    }),
    ("removed lock file", |f| remove(f, "skills/skills.lock")),
];

/// What a plan for a changed source is.
enum Expected {
    Person,
    Error(InstallErrorKind),
}

/// Changes of a source after the skill `a` was installed from it, at `SOURCE`, and the new text of
/// the source. Each is an error or needs a person.
const UPSTREAM: &[(&str, Expected, Upstream)] = &[
    ("older commit", Expected::Person, |f| {
        f.skill("repository/a", "");
        crate::git::commit_at(f, "2000");
        let add = "git+./repository#main";
        f.add(add).unwrap();
        f.file("repository/a/x", "");
        crate::git::commit_at(f, "1000");
        add.to_owned()
    }),
    ("moved tag", Expected::Person, |f| {
        f.skill("repository/a", "");
        crate::git::commit_at(f, "1000");
        crate::git::git(&f.path("repository"), &["tag", "v1.0"]);
        let add = "git+./repository#v1.0";
        f.add(add).unwrap();
        f.file("repository/a/x", "");
        crate::git::commit_at(f, "2000");
        crate::git::git(&f.path("repository"), &["tag", "--force", "v1.0"]);
        add.to_owned()
    }),
    (
        "rewritten commit",
        Expected::Error(InstallErrorKind::Fetch),
        |f| {
            f.skill("repository/a", "");
            let commit = crate::git::commit_at(f, "1000");
            let add = format!("git+./repository#{commit}");
            f.add(&add).unwrap();
            fs::remove_dir_all(f.path("repository/.git")).unwrap();
            f.file("repository/a/x", "");
            crate::git::commit_at(f, "1000");
            add
        },
    ),
    (
        "archive with a digest",
        Expected::Error(InstallErrorKind::Fetch),
        |f| {
            f.tar_gz(
                "a.tgz",
                &[TarEntry::file("a/SKILL.md", &skill_text("a", ""))],
            );
            f.add("./a.tgz").unwrap();
            let store = f.store();
            let digest = store.lock_file().skills()["a"]
                .revision()
                .unwrap()
                .to_owned();
            f.tar_gz(
                "a.tgz",
                &[TarEntry::file(
                    "a/SKILL.md",
                    &skill_text("a", "license: X\n"),
                )],
            );
            format!("./a.tgz#{digest}")
        },
    ),
    ("archive", Expected::Person, |f| {
        for extra in ["", "license: X\n"] {
            let text = skill_text("a", extra);
            f.tar_gz("a.tgz", &[TarEntry::file("a/SKILL.md", &text)]);
            if extra.is_empty() {
                f.add("./a.tgz").unwrap();
            }
        }
        "./a.tgz".to_owned()
    }),
    ("other source", Expected::Person, |f| {
        f.skill("one/a", "").skill("two/a", "");
        f.add("./one").unwrap();
        "./two".to_owned()
    }),
    (
        "directory in place of a repository",
        Expected::Person,
        |f| {
            f.skill("repository/a", "");
            crate::git::commit_at(f, "1000");
            f.add("git+./repository").unwrap();
            f.skill("two/a", "");
            "./two".to_owned()
        },
    ),
    ("more permissions", Expected::Person, |f| {
        f.skill("source/a", "");
        f.add("./source").unwrap();
        f.skill("source/a", "allowed-tools: Bash(curl:*)\n");
        "./source".to_owned()
    }),
    ("new script", Expected::Person, |f| {
        f.skill("source/a", "");
        f.add("./source").unwrap();
        f.file("source/a/scripts/new.py", "");
        "./source".to_owned()
    }),
    ("executable file", Expected::Person, |f| {
        f.skill("source/a", "").file("source/a/notes", "");
        f.add("./source").unwrap();
        f.executable("source/a/notes", "x");
        "./source".to_owned()
    }),
    (
        "link out of the skill",
        Expected::Error(InstallErrorKind::Unsafe),
        |f| {
            f.skill("source/a", "");
            f.add("./source").unwrap();
            f.symlink("/etc/passwd", "source/a/link");
            "./source".to_owned()
        },
    ),
    (
        "other case of the skill file",
        Expected::Error(InstallErrorKind::Unsafe),
        |f| {
            f.skill("source/a", "");
            f.add("./source").unwrap();
            f.file("source/a/skill.md", "");
            let text = skill_text("a", "");
            let archive = [
                TarEntry::file("a/SKILL.md", &text),
                TarEntry::file("a/skill.md", ""),
            ];
            f.tar_gz("b.tgz", &archive);
            "./b.tgz".to_owned()
        },
    ),
    ("name of another installed skill", Expected::Person, |f| {
        f.skill("source/a", "").skill("other/b", "");
        f.add("./source").unwrap();
        f.add("./other").unwrap();
        f.file("other/b/SKILL.md", skill_text("a", ""));
        "./other".to_owned()
    }),
];

/// Changes after which the lock file is refused.
const LOCK: &[(&str, Tamper)] = &[
    ("newer version", |f| {
        edit_lock(f, "version = 1", "version = 2")
    }),
    ("no version", |f| edit_lock(f, "version = 1", "")),
    ("older version", |f| {
        edit_lock(f, "version = 1", "version = 0")
    }),
    ("cut", |f| {
        edit_lock(f, "content = \"sha256:", "content = \"")
    }),
    ("entry twice", |f| {
        edit_lock(f, "name = \"b\"", "name = \"a\"")
    }),
    ("unknown field", |f| {
        edit_lock(f, "signer =", "skip = true\nsigner =")
    }),
    ("not TOML", |f| {
        f.file("skills/skills.lock", "{}");
    }),
];

/// Returns the names of active skills.
fn active(fixture: &Fixture) -> Vec<String> {
    let root = Root::new(fixture.path("skills"), Scope::User);
    let catalog = Discovery::new([root]).scan();
    let entries = catalog.entries().iter();
    entries.map(|entry| entry.name().to_string()).collect()
}

#[test]
fn files_that_were_not_changed_are_verified_and_active() {
    let fixture = installed();
    assert_eq!(fixture.states(), ["a unchanged", "b unchanged"]);
    assert_eq!(active(&fixture), ["a", "b"]);
}

/// A run makes such files; they are not part of the content, and no run gets them.
#[test]
fn generated_files_do_not_change_a_skill() {
    let fixture = installed();
    fixture.file("skills/a/scripts/__pycache__/run.cpython-313.pyc", "x");
    assert_eq!(fixture.states(), ["a unchanged", "b unchanged"]);
    assert_eq!(active(&fixture), ["a", "b"]);
}

#[test]
fn changed_content_is_refused_by_verification_and_by_the_next_scan() {
    for (name, tamper) in CONTENT {
        let fixture = installed();
        tamper(&fixture);
        let states = fixture.states();
        assert!(
            states.contains(&"a changed".to_owned()),
            "{name}: {states:?}"
        );
        let active = active(&fixture);
        assert!(!active.contains(&"a".to_owned()), "{name}: {active:?}");
    }
}

#[test]
fn changed_modes_and_directories_are_refused_by_verification_and_by_the_next_scan() {
    for (name, tamper) in OTHER {
        let fixture = installed();
        tamper(&fixture);
        let verification = Verification::new(&fixture.path("skills")).unwrap();
        assert!(!verification.is_unchanged(), "{name}: {verification:?}");
        assert_eq!(active(&fixture), ["b"], "{name}");
    }
}

#[test]
fn a_skill_that_is_locked_by_another_name_is_missing_and_unlocked() {
    let fixture = installed();
    edit_lock(&fixture, "name = \"b\"", "name = \"c\"");
    assert_eq!(fixture.states(), ["a unchanged", "b unlocked", "c missing"]);
}

#[test]
fn a_changed_lock_file_is_refused_and_never_replaced() {
    for (name, tamper) in LOCK {
        let fixture = installed();
        tamper(&fixture);
        let text = fixture.read("skills/skills.lock");
        assert!(
            Verification::new(&fixture.path("skills")).is_err(),
            "{name}"
        );
        assert!(
            skills_install::Store::open(&fixture.path("skills")).is_err(),
            "{name}"
        );
        assert_eq!(fixture.read("skills/skills.lock"), text, "{name}");
    }
}

#[test]
fn a_skill_that_is_not_locked_is_reported_by_the_strictest_check() {
    let fixture = installed();
    assert!(
        Verification::new(&fixture.path("skills"))
            .unwrap()
            .is_complete()
    );
    for (name, tamper) in UNLOCKED {
        let fixture = installed();
        tamper(&fixture);
        let verification = Verification::new(&fixture.path("skills")).unwrap();
        assert!(!verification.is_complete(), "{name}: {verification:?}");
    }
}

#[test]
fn a_changed_source_is_refused_or_needs_a_person() {
    if let Err(reason) = crate::fixture::git_program() {
        return skills_test_support::skip(reason);
    }
    for (name, expected, tamper) in UPSTREAM {
        let fixture = Fixture::new();
        let source = tamper(&fixture);
        let before = fixture.read("skills/skills.lock");
        match (fixture.plan(&source), expected) {
            (Err(error), Expected::Error(kind)) => {
                assert_eq!(error.kind(), *kind, "{name}: {error}");
            }
            (Ok((_, plan)), Expected::Person) => {
                assert!(plan.changes()[0].needs_person(), "{name}: {plan:?}");
            }
            (result, _) => panic!("{name}: {result:?}", result = result.map(|(_, plan)| plan)),
        }
        // An update of what is locked does no more without a person.
        let mut store = fixture.store();
        let plan = store
            .plan_update_all(&fetcher(), &[], LocalEdits::Refuse, &words)
            .unwrap();
        for change in plan.changes() {
            assert!(
                change.needs_person() || change.action() == Action::Keep,
                "{name}: {change:?}"
            );
        }
        drop(store);
        assert_eq!(fixture.read("skills/skills.lock"), before, "{name}");
    }
}
