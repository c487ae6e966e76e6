//! What only the user decides: variables of a call, and runs without a record.

use std::fs;

use insta::assert_snapshot;

use super::Fixture;

/// What the user types is the approval of this call. It does not last, rules still decide, and nothing but
/// the user types it.
#[test]
fn a_variable_of_the_call_is_approved_by_its_option() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new("", "echo \"<$OTHER>\"\n");
    let given = ["run", "one", "--env", "OTHER=x"];
    let code = |options: &[&str]| {
        let mut command = fixture.command(&[&given[..], options].concat());
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    assert_eq!(code(&[]), (Some(0), "<x>\n".to_owned()));
    assert_eq!(fixture.call(&["run", "one"]).stdout, "<>\n");
    // `ask` of the user is answered by the option; `deny` of each source decides.
    fixture.configure("policy.toml", "ask = [\"env\"]\n");
    assert_eq!(code(&[]).0, Some(0));
    fixture.configure("policy.toml", "deny = [\"env:OTHER\"]\n");
    assert_eq!(code(&["--yes"]), (Some(125), String::new()));
    assert_eq!(code(&["--allow", "env:OTHER"]).0, Some(125));
    fixture.configure("policy.toml", "");
    // Neither a variable that changes what runs, nor one of this command.
    for name in ["LD_PRELOAD", "PATH", "SKILLS_MCP_TOKEN", "HTTPS_PROXY"] {
        let value = format!("{name}=abcdefghijkl");
        let done = fixture.call(&["run", "one", "--env", &value, "--yes"]);
        assert_eq!(done.code, 125, "{}", done.page());
    }
    // An approval that lasts is asked about the variable.
    let trusted = fixture.call(&["trust", "one", "--env", "OTHER=x"]);
    assert!(
        trusted.stderr.contains("read variable `OTHER`"),
        "{}",
        trusted.page()
    );
}

/// A variable that is set is named once, with the option that passes it.
#[test]
fn a_variable_that_is_set_and_not_passed_is_named_with_its_option() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new(
        "requires: {env: [ACME_API_KEY, ACME_TOKEN]}\n",
        "echo ran\n",
    );
    let stderr = || {
        let mut command = fixture.command(&["run", "one"]);
        let output = command
            .env("ACME_API_KEY", "abcdefghijkl")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        let is_ours = |line: &&str| line.starts_with("note: ") || line.starts_with("help: ");
        text.lines().filter(is_ours).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(stderr(), @"
    note: missing requirement: variable `ACME_API_KEY`
    help: `ACME_API_KEY` is set; pass it with `--env ACME_API_KEY`
    note: missing requirement: variable `ACME_TOKEN`
    ");
    fs::write(
        fixture.path("skills/one/scripts/main.sh"),
        "set -u\necho \"$ACME_API_KEY\"\n",
    )
    .unwrap();
    assert_snapshot!(stderr(), @"
    note: the variable `ACME_API_KEY` is not passed to this run
    help: pass it with `--env ACME_API_KEY`
    note: missing requirement: variable `ACME_TOKEN`
    ");
}

/// A run of the user without a state directory.
#[test]
fn only_user_and_administrator_make_records_optional() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new("record: optional\n", "echo hi\n");
    fs::remove_dir(fixture.path("state")).unwrap();
    fs::write(fixture.path("state"), "a file").unwrap();
    fs::create_dir_all(fixture.path("project/.git")).unwrap();
    fs::create_dir_all(fixture.path("project/.skills")).unwrap();
    let project = |file: &str, text: &str| {
        fs::write(fixture.path("project/.skills").join(file), text).unwrap();
    };
    let run = |options: &[&str]| {
        let mut command = fixture.command(&[&["run", "one"], options].concat());
        let command = command.current_dir(fixture.path("project"));
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let assert_refused = |options: &[&str], how: &str| {
        let (code, stdout, stderr) = run(options);
        assert_eq!((code, stdout.as_str()), (Some(125), ""), "{stderr}");
        let lines: Vec<&str> = stderr.lines().collect();
        let [error, help] = lines[..] else {
            panic!("{stderr}");
        };
        assert!(
            error.starts_with("error: cannot run programs: no audit record can be written: ")
                && help.starts_with("help: set `HOME` or `XDG_STATE_HOME` to ")
                && help.ends_with(how),
            "{stderr}"
        );
    };
    let user = "/config/skills/policy.toml`";
    assert_refused(&[], user);
    assert_refused(&["--yes"], user);
    project("policy.toml", "record = \"optional\"\n");
    assert_refused(&[], user);
    assert_refused(&["--trust-project"], user);
    project("policy.toml", "");
    fixture.configure("policy.toml", "record = \"optional\"\n");
    let (code, stdout, stderr) = run(&[]);
    assert_eq!((code, stdout.as_str()), (Some(0), "hi\n"), "{stderr}");
    assert!(
        stderr.starts_with("note: no audit record is written, and no answer is kept: ")
            && stderr.contains("set `HOME` or `XDG_STATE_HOME`"),
        "{stderr}"
    );
    // A project can require records. The line of the user is there already.
    project("policy.toml", "record = \"required\"\n");
    let how = format!(
        "; records are required by `{}`",
        fixture.path("project/.skills/policy.toml").display()
    );
    assert_refused(&[], &how);
}
