//! Tests of the settings files and of `skills config`.

use insta::assert_snapshot;

use crate::fixture::Fixture;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .skill("skills/one", "one")
        .file("skills/one/scripts/main.sh", "echo ran\n")
        .file("project/.git/HEAD", "");
    fixture
}

#[test]
fn settings_are_set_shown_and_unset() {
    let fixture = fixture();
    let run = |words: &[&str]| {
        fixture
            .run("project", &[&["config"], words].concat())
            .page()
    };
    assert_snapshot!(run(&["path"]), @"
    exit 0
    -- stdout
    user     PLACE/home/.config/skills/config.toml  (missing)
    project  PLACE/project/.skills/config.toml  (missing)
    ");
    assert_snapshot!(run(&["set", "memory-mib", "512"]), @"
    exit 0
    -- stderr
    changed PLACE/home/.config/skills/config.toml
    ");
    run(&["set", "roots", "../skills"]);
    run(&["set", "skills.one.enabled", "false"]);
    assert_snapshot!(run(&[]), @"
    exit 0
    -- stdout
    memory-mib = 512  (PLACE/home/.config/skills/config.toml)
    roots = PLACE/project/../skills  (PLACE/home/.config/skills/config.toml)
    skills.one.enabled = false  (PLACE/home/.config/skills/config.toml)
    ");
    let listed = fixture.run("project", &["list"]);
    assert!(!listed.stdout.contains("one"), "{}", listed.page());
    run(&["set", "skills.one.enabled", "true"]);
    run(&["unset", "memory-mib"]);
    assert_snapshot!(run(&["show"]), @"
    exit 0
    -- stdout
    roots = PLACE/project/../skills  (PLACE/home/.config/skills/config.toml)
    skills.one.enabled = true  (PLACE/home/.config/skills/config.toml)
    ");
    let listed = fixture.run("project", &["list"]);
    assert!(listed.stdout.contains("one"), "{}", listed.page());
}

#[test]
fn invalid_settings_are_not_written() {
    let fixture = fixture();
    let run = |words: &[&str]| {
        fixture
            .run("project", &[&["config", "set"], words].concat())
            .page()
    };
    assert_snapshot!(run(&["memroy-mib", "512"]), @"
    exit 2
    -- stderr
    error: unknown key `memroy-mib`; did you mean `memory-mib`?
    ");
    assert_snapshot!(run(&["memory-mib", "4096"]), @"
    exit 2
    -- stderr
    error: PLACE/home/.config/skills/config.toml:1: invalid `memory-mib`: expected 1 to 2048 MiB
    ");
    assert_snapshot!(run(&["interpreters.pyhton", "/x"]), @"
    exit 2
    -- stderr
    error: unknown key `pyhton`; did you mean `python`?
    ");
    assert!(
        !fixture
            .path()
            .join("home/.config/skills/config.toml")
            .exists()
    );
}

#[test]
fn options_take_precedence_and_an_untrusted_project_restricts_only() {
    let fixture = fixture();
    fixture
        .file("home/.config/skills/config.toml", "memory-mib = 512\n")
        .file(
            "project/.skills/config.toml",
            "memory-mib = 128\nroots = [\"../skills\"]\n",
        );
    let limits = |options: &[&str]| {
        let arguments = ["policy", "check", "one", "--root", "../skills"];
        let done = fixture.run("project", &[&arguments[..], options].concat());
        let row = done.stdout.lines().find(|line| line.starts_with("limits"));
        row.unwrap_or_else(|| panic!("{}", done.page())).to_owned()
    };
    assert_snapshot!(limits(&[]), @"limits   30 s, 128 MiB memory");
    assert_snapshot!(limits(&["--memory", "300"]), @"limits   30 s, 300 MiB memory");
    let done = fixture.run("project", &["list"]);
    assert_snapshot!(done.stderr, @"
    warning: PLACE/project/.skills/config.toml: `roots` of a project has no effect without `--trust-project`
    no skills found
    help: pass `--root DIR`, or list the searched directories with `skills list --roots`
    ");
    let trusted = fixture.run("project", &["list", "--trust-project"]);
    assert!(trusted.stdout.contains("one"), "{}", trusted.page());
}

#[cfg(unix)]
#[test]
fn a_settings_file_that_others_can_write_is_rejected() {
    let fixture = fixture();
    fixture.file("home/.config/skills/config.toml", "memory-mib = 512\n");
    let path = fixture.path().join("home/.config/skills/config.toml");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    std::fs::set_permissions(path, mode).unwrap();
    assert_snapshot!(fixture.run("project", &["list"]).page(), @"
    exit 2
    -- stderr
    error: settings file `PLACE/home/.config/skills/config.toml` is world-writable
    help: run `chmod o-w` on it and its directory
    ");
}

#[test]
fn all_commands_have_the_variables_of_the_settings() {
    let fixture = fixture();
    fixture
        .file(
            "skills/one/SKILL.md",
            "---\nname: one\ndescription: d\nrequires: {env: [MY_KEY]}\n---\nBody\n",
        )
        .file("project/.env", "MY_KEY=k\n");
    let checks: [&[&str]; 5] = [
        &["list", "--long", "--root", "../skills"],
        &["doctor", "--root", "../skills"],
        &["prompt", "load", "one", "--root", "../skills"],
        &["policy", "check", "one", "--root", "../skills"],
        &["validate", "../skills/one"],
    ];
    for arguments in checks {
        let done = fixture.run("project", arguments);
        assert!(done.page().contains("MY_KEY"), "{}", done.page());
    }
    fixture.run("project", &["config", "set", "env-files", ".env"]);
    for arguments in checks {
        let done = fixture.run("project", arguments);
        let is_reported = |line: &str| line.contains("MY_KEY") && line.contains("missing");
        assert!(!done.page().lines().any(is_reported), "{}", done.page());
    }
    // Nothing runs without the file, and the other commands still work.
    std::fs::remove_file(fixture.path().join("project/.env")).unwrap();
    assert_snapshot!(fixture.run("project", &["validate", "../skills/one"]).page(), @"
    exit 0
    -- stdout
    Valid skill: ../skills/one
    -- stderr
    warning: cannot read `PLACE/project/.env`: No such file or directory (os error 2)
    ../skills/one/SKILL.md: warning: missing on this host: variable `MY_KEY`
    ");
    let done = fixture.run(
        "project",
        &["policy", "check", "one", "--root", "../skills"],
    );
    assert_eq!(done.code, 2, "{}", done.page());
}

#[cfg(unix)]
#[test]
fn all_commands_have_the_interpreters_of_the_settings_as_programs() {
    let fixture = fixture();
    fixture
        .file(
            "skills/one/SKILL.md",
            "---\nname: one\ndescription: d\nrequires: {bins: [deno]}\n---\nBody\n",
        )
        .file("bin/deno-1", "");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(fixture.path().join("bin/deno-1"), mode).unwrap();
    let checks: [&[&str]; 3] = [
        &["list", "--long", "--root", "../skills"],
        &["policy", "check", "one", "--root", "../skills"],
        &["validate", "../skills/one"],
    ];
    for key in ["interpreters.deno", "skills.one.interpreters.deno"] {
        fixture.run("project", &["config", "set", key, "../bin/deno-1"]);
        for arguments in checks {
            let done = fixture.run("project", arguments);
            assert!(!done.page().contains("missing"), "{key} {}", done.page());
        }
        fixture.run("project", &["config", "unset", key]);
    }
}
