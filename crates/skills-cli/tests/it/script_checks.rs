//! What makes scripts fail, as `validate`, `show` and `add` say it.

use std::os::unix::fs::symlink;

use insta::assert_snapshot;

use crate::fixture::Fixture;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .skill("skills/one", "one")
        .file("skills/one/scripts/a.sh", "\u{feff}#!/bin/bash\r\necho\r\n")
        .file("skills/one/scripts/b.sh", "#!/bin/sh\necho\r\n")
        .file("skills/one/scripts/c.py", "#!/bin/sh\n")
        .file("skills/one/scripts/d.py", "#!/usr/bin/env -S $HOME/evil\n")
        .file("skills/one/scripts/e.R", "#!/usr/bin/env no-such-program\n")
        .file("skills/one/scripts/query", "#!/bin/sh\n")
        .file("skills/one/scripts/data.csv", "a\r\nb\r\n")
        .file("skills/one/scripts/fine.py", "print(1)\r\n");
    symlink(
        "../../../lib/x.py",
        fixture.path().join("skills/one/scripts/x.py"),
    )
    .unwrap();
    fixture
}

#[test]
fn scripts_are_validated_with_path_and_line() {
    let fixture = fixture();
    assert_snapshot!(fixture.run("", &["validate", "skills/one"]).page(), @r"
    exit 0
    -- stdout
    Valid skill: skills/one
    -- stderr
    skills/one/SKILL.md: warning: `scripts/x.py` is not used: it is a symlink
    skills/one/scripts/a.sh:1: warning: `scripts/a.sh` has line ends of Windows (CRLF), which are repaired for a run; other clients fail
    skills/one/scripts/a.sh:1: warning: `scripts/a.sh` begins with a byte order mark, which is removed for a run; other clients fail
    skills/one/scripts/c.py:1: warning: `scripts/c.py` has a first line that names `sh`, which decides before the extension
    skills/one/scripts/d.py:1: warning: `scripts/d.py` has a first line that names no program: expected an absolute path, without quotes that stay open, `$` and `\`
    skills/one/scripts/e.R:1: warning: `scripts/e.R` runs with `no-such-program`, which is not found on this host
    skills/one/scripts/query:1: warning: `scripts/query` has no extension and is not executable; other clients cannot start it
    skills/one/scripts/x.py:1: warning: `scripts/x.py` is a symlink that leads out of the skill, to `../../../lib/x.py`
    skills/one/scripts/b.sh:2: warning: `scripts/b.sh` has a line end of Windows (CRLF) among others, which a shell reads as a part of a word
    ");
    let document = fixture
        .run("", &["validate", "skills/one", "--json"])
        .json();
    let findings = document["results"][0]["warnings"]
        .as_array()
        .unwrap()
        .clone();
    let of_b = findings
        .iter()
        .find(|found| found["path"] == "scripts/b.sh")
        .unwrap();
    assert_eq!(
        (&of_b["code"], &of_b["line"]),
        (&"script-line-ends".into(), &2.into())
    );
}

#[test]
fn show_and_add_say_what_makes_scripts_fail() {
    let fixture = fixture();
    let shown = fixture.run("", &["show", "one", "--root", "skills"]).page();
    let link = "scripts/x.py:1: `scripts/x.py` is a symlink that leads out of the skill";
    assert!(shown.contains(link), "{shown}");
    // A source with such a link is refused.
    std::fs::remove_file(fixture.path().join("skills/one/scripts/x.py")).unwrap();
    let add = ["add", "./skills/one", "--to", "./out", "--dry-run"];
    for (page, program) in [(shown, true), (fixture.run("", &add).page(), false)] {
        for line in [
            "scripts/a.sh:1: `scripts/a.sh` has line ends of Windows",
            "scripts/b.sh:2: `scripts/b.sh` has a line end of Windows",
        ] {
            assert!(page.contains(line), "{line}: {page}");
        }
        assert!(!page.contains("scripts/fine.py:"), "{page}");
        // The programs of this host are not those where the skill is installed.
        assert_eq!(
            page.contains("runs with `no-such-program`"),
            program,
            "{page}"
        );
    }
}
