//! The audit log: its verification, and what a full disk leaves of it.

use std::fs;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::process::Command;

use serde_json::json;
#[cfg(target_os = "linux")]
use skills_test_support::{skip, skip_without_sandbox};

#[cfg(target_os = "linux")]
use crate::fixture::Fixture;
#[cfg(target_os = "linux")]
use crate::skills::binary;
use crate::skills::{Done, skills_in};

/// Leaves one record of a run that failed.
fn record(state: &Path) {
    assert_eq!(skills_in(&["run", "absent"], "", state).code, 127);
}

fn verify(state: &Path) -> Done {
    skills_in(&["audit", "verify"], "", state)
}

#[test]
fn an_incomplete_record_is_not_a_broken_chain() {
    let state = tempfile::tempdir().unwrap();
    let state = state.path();
    record(state);
    record(state);
    let log = state.join("skills/audit.jsonl");
    let whole = fs::read_to_string(&log).unwrap();
    fs::write(&log, format!("{whole}{{\"sequence\":3,\"ti")).unwrap();

    let verified = verify(state);
    assert_eq!(verified.code, 5, "{}", verified.page());
    assert!(
        verified
            .stdout
            .starts_with("2 records, the hash chain is incomplete\n"),
        "{}",
        verified.stdout
    );
    let document = skills_in(&["audit", "verify", "--json"], "", state).json();
    assert_eq!(document["status"], json!("incomplete"));

    record(state);
    let verified = verify(state);
    assert_eq!(verified.code, 0, "{}", verified.page());
    assert!(
        verified
            .stdout
            .starts_with("3 records, the hash chain is intact\n1 incomplete record removed"),
        "{}",
        verified.stdout
    );
}

#[test]
fn a_log_without_its_first_records_or_with_an_empty_line_is_broken() {
    let state = tempfile::tempdir().unwrap();
    let state = state.path();
    (0..3).for_each(|_| record(state));
    let log = state.join("skills/audit.jsonl");
    let whole = fs::read_to_string(&log).unwrap();
    assert_eq!(verify(state).code, 0);
    let (first, rest) = whole.split_once('\n').unwrap();
    for text in [
        rest.to_owned(),
        format!("{first}\n\n{rest}"),
        format!("{whole}\n"),
        format!("{whole}{whole}"),
    ] {
        fs::write(&log, text).unwrap();
        let verified = verify(state);
        assert_eq!(verified.code, 1, "{}", verified.page());
        assert!(verified.stdout.contains("the hash chain is broken"));
        let document = skills_in(&["audit", "verify", "--json"], "", state).json();
        assert_eq!(document["status"], json!("broken"));
    }
}

/// The program and the log share a small disk, which the program fills.
#[cfg(target_os = "linux")]
#[test]
fn a_run_that_fills_the_disk_still_ends_with_its_record() {
    if skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new();
    fixture.skill("skills/filler", "filler").file(
        "skills/filler/scripts/run.sh",
        "head -c 8000000 /dev/zero > \"$1/fill\"; echo more >> \"$1/more\" || echo full\n",
    );
    fixture.file("small/.keep", "");
    let small = fixture.path().join("small");
    let script = "mount -t tmpfs -o size=4m,mode=700 none \"$1\" || exit 99
mkdir \"$1/data\"
export XDG_STATE_HOME=\"$1/state\" XDG_CACHE_HOME=\"$3/cache\" HOME=\"$3/home\" TMPDIR=\"$3\"
fill() {
    \"$2\" run filler --root \"$3/skills\" --workspace \"$1/data\" --write \"$1/data\" \\
        --allow spawn -- \"$1/data\"
    echo \"run $?\"
}
fill \"$@\"
head -c 8000000 /dev/zero > \"$1/rest\"; echo filled
fill \"$@\"
\"$2\" audit verify; echo \"verify $?\"
\"$2\" audit tail; echo \"tail $?\"";
    let output = Command::new("unshare")
        .args(["-rm", "sh", "-c", script, "sh"])
        .arg(small)
        .arg(binary())
        .arg(fixture.path())
        .output();
    let output = match output {
        Ok(output) if output.status.code() != Some(99) => output,
        _ => return skip("no small file system can be mounted"),
    };
    let stdout = String::from_utf8(output.stdout).unwrap();
    let page = format!("{stdout}{}", String::from_utf8_lossy(&output.stderr));
    // Nothing starts without the space for the record of its end.
    let (started, refused) = stdout
        .split_once("filled\n")
        .unwrap_or_else(|| panic!("{page}"));
    // It can be faster than the disk is measured, or end while it is stopped.
    let is_stopped = ["run 137\n", "full\nrun 137\n"].contains(&started)
        && page.contains("the disk of a writable directory");
    assert!(is_stopped || started == "full\nrun 0\n", "{page}");
    assert!(refused.starts_with("run 125\n"), "{page}");
    assert!(page.contains("No space left on device"), "{page}");
    assert!(
        refused.contains(" records, the hash chain is intact\nlast hash "),
        "{page}"
    );
    assert!(refused.contains("\nverify 0\n"), "{page}");
    let end = if is_stopped {
        "stopped: the disk"
    } else {
        "exit code 0\n"
    };
    assert!(
        refused.contains(&format!("scripts/run.sh  {end}")),
        "{page}"
    );
}
