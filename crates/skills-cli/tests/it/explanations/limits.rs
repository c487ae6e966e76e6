//! Limits that a run reaches, and the options that raise them.

use skills_test_support::skip_without_sandbox;

use super::{explanation, run, skill};

#[test]
fn reached_limits_are_named() {
    if skip_without_sandbox() {
        return;
    }
    let text = "files = []\nwhile True:\n    files.append(open('/dev/null'))\n";
    let done = run(&skill("files.py", text), &[]);
    let text = explanation(&done);
    insta::assert_snapshot!(text, @"
    note: the program reached its limit of 1024 open files
    help: raise the limit with `--open-files 4096`
    ");
    let large = "with open('/tmp/big', 'wb') as file:\n    for _ in range(65):\n        file.write(b'x' * (1 << 20))\n";
    let fixture = skill("large.py", large);
    insta::assert_snapshot!(explanation(&run(&fixture, &[])), @"
    note: the program reached the limit of the size of a file, 64 MiB
    help: raise the limit with `--file-size 256`
    ");
    assert_eq!(run(&fixture, &["--file-size", "256"]).code, 0);
}

/// The user raises a limit for a run. A policy that sets one is the highest, and its text names no option
/// which changes nothing. Files of a project raise none.
#[test]
fn limits_of_files_and_processes_have_options() {
    if skip_without_sandbox() {
        return;
    }
    let text = "import os, resource\nprint(resource.getrlimit(resource.RLIMIT_NOFILE)[0], resource.getrlimit(resource.RLIMIT_FSIZE)[0])\n";
    let fixture = skill("limits.py", text);
    let options = ["--open-files", "2000", "--file-size", "100"];
    assert_eq!(
        run(&fixture, &options).stdout,
        format!("2000 {}\n", 100 << 20)
    );
    let work = ["--workspace", "work"];
    let in_workspace = run(&fixture, &[&options[..], &work].concat());
    assert_eq!(in_workspace.stdout, format!("2000 {}\n", 100 << 20));
    let shown = run(&fixture, &["--processes", "77", "--verbose"]);
    assert!(shown.stderr.contains("processes 77"), "{}", shown.page());
    fixture.file(".git/HEAD", "");
    fixture.file(
        ".skills/policy.toml",
        "[limits]\nopen-files = 900\nfile-mib = 50\nprocesses = 50\n",
    );
    assert_eq!(run(&fixture, &[]).stdout, format!("900 {}\n", 50 << 20));
    for (option, value) in [
        ("--open-files", "901"),
        ("--file-size", "51"),
        ("--processes", "51"),
    ] {
        let done = run(&fixture, &[option, value]);
        let error = format!("error: `{option}` has no effect: the policy allows at most ");
        assert!(
            done.code == 125 && done.stderr.starts_with(&error),
            "{}",
            done.page()
        );
    }
    let many = skill(
        "files.py",
        "files = []\nwhile True:\n    files.append(open('/dev/null'))\n",
    );
    many.file(".git/HEAD", "");
    many.file(".skills/policy.toml", "[limits]\nopen-files = 900\n");
    let text = explanation(&run(&many, &[]));
    assert_eq!(
        text,
        "note: the program reached its limit of 900 open files"
    );
}
