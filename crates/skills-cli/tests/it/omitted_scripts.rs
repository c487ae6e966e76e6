//! Files in `scripts/` that no run can start.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use nix::sys::stat::Mode;

use crate::fixture::Fixture;

#[test]
fn scripts_that_no_run_can_start_are_reported() {
    let fixture = Fixture::new();
    fixture
        .skill("skills/one", "one")
        .file("skills/one/scripts/ok.sh", "echo hi\n");
    let scripts = fixture.path().join("skills/one/scripts");
    symlink("/etc/passwd", scripts.join("link.sh")).unwrap();
    nix::unistd::mkfifo(&scripts.join("pipe.sh"), Mode::S_IRWXU).unwrap();
    let expected = [
        "`scripts/link.sh` is not used: it is a symlink",
        "`scripts/pipe.sh` is not used: it is not a regular file",
        "is not used: its name is not UTF-8 or contains invisible characters",
    ];
    // Some file systems reject such a name.
    let has_name = std::fs::write(scripts.join(OsStr::from_bytes(b"a\xff.sh")), "").is_ok();
    let count = if has_name { 3 } else { 2 };
    for command in ["show one", "doctor", "tools", "validate skills/one"] {
        let mut words: Vec<&str> = command.split(' ').collect();
        if !command.starts_with("validate") {
            words.extend(["--root", "skills"]);
        }
        let page = fixture.run("", &words).page();
        for line in &expected[..count] {
            assert!(page.contains(line), "{command}: {page}");
        }
        assert!(!page.contains("ok.sh` is not used"), "{command}: {page}");
    }
    let shown = fixture.run("", &["show", "one", "--root", "skills", "--json"]);
    let omitted = &shown.json()["resources_omitted"];
    assert_eq!(omitted.as_array().unwrap().len(), count);
    assert_eq!(omitted[count - 2]["reason"], "symlink");
}
