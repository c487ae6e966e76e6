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
fn the_problems_of_a_project_do_not_hide_other_messages() {
    let fixture = fixture();
    let keys: String = (0..50).map(|index| format!("k{index} = 1\n")).collect();
    fixture.file("project/.skills/config.toml", &keys);
    let page = fixture
        .run("project", &["list", "--root", "../skills"])
        .page();
    assert_eq!(page.matches("warning: ").count(), 11, "{page}");
    assert!(
        page.contains("warning: 40 more problems of the settings"),
        "{page}"
    );
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
    assert_snapshot!(run(&["memory-mib", "0"]), @"
    exit 2
    -- stderr
    error: invalid `memory-mib`: expected 1 or more MiB
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

/// A project may lower the memory to more than the policy allows, which stops no run.
#[test]
fn a_limit_of_a_project_above_that_of_the_policy_is_lowered() {
    let fixture = fixture();
    let policy = "[limits]\nmemory-mib = 512\ntime-seconds = 20\n";
    fixture
        .file("home/.config/skills/policy.toml", policy)
        .file(
            "project/.skills/config.toml",
            "memory-mib = 1024\ntimeout-seconds = 25\n",
        );
    let check = ["policy", "check", "one", "--root", "../skills"];
    for options in [&[][..], &["--trust-project"]] {
        let done = fixture.run("project", &[&check[..], options].concat());
        let row = done.stdout.lines().find(|line| line.starts_with("limits"));
        assert_eq!(
            row,
            Some("limits   20 s, 512 MiB memory"),
            "{}",
            done.page()
        );
    }
    let more = fixture.run("project", &[&check[..], &["--memory", "513"]].concat());
    assert_snapshot!(more.stderr, @"error: `--memory` has no effect: the policy allows at most 512 MiB");
    // Of the user, who can change the file.
    fixture
        .file("project/.skills/config.toml", "")
        .file("home/.config/skills/config.toml", "memory-mib = 1024\n");
    let more = fixture.run("project", &check);
    assert_snapshot!(more.stderr, @"error: `memory-mib` in `PLACE/home/.config/skills/config.toml` has no effect: the policy allows at most 512 MiB");
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
    error: cannot use `PLACE/home/.config/skills/config.toml`: `PLACE/home/.config/skills/config.toml` is writable by every user (mode 0666)
    help: run `chmod o-w PLACE/home/.config/skills/config.toml`
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
    warning: cannot use `PLACE/project/.env`: No such file or directory (os error 2)
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

#[test]
fn the_timeout_is_shown_in_seconds() {
    let fixture = fixture();
    fixture.run("project", &["config", "set", "timeout-seconds", "120"]);
    assert_snapshot!(fixture.run("project", &["config"]).page(), @"
    exit 0
    -- stdout
    timeout-seconds = 120  (PLACE/home/.config/skills/config.toml)
    ");
}

#[test]
fn a_tilde_means_the_home_directory_also_for_a_project() {
    let fixture = fixture();
    let set = [
        "config",
        "set",
        "--project",
        "workspace",
        "~/x",
        "--trust-project",
    ];
    fixture.run("project", &set);
    fixture.run("project", &["config", "set", "roots", "~/skills"]);
    let shown = fixture.run("project", &["config", "--trust-project"]);
    assert_snapshot!(shown.page(), @"
    exit 0
    -- stdout
    roots = PLACE/home/skills  (PLACE/home/.config/skills/config.toml)
    workspace = PLACE/home/x  (PLACE/project/.skills/config.toml)
    ");
}

#[test]
fn settings_of_a_skill_whose_name_has_a_dot() {
    let fixture = fixture();
    let run = |words: &[&str]| {
        fixture
            .run("project", &[&["config"], words].concat())
            .page()
    };
    run(&["set", "skills.a.b.enabled", "false"]);
    let path = fixture.path().join("home/.config/skills/config.toml");
    assert_snapshot!(std::fs::read_to_string(&path).unwrap(), @r#"
    [skills."a.b"]
    enabled = false
    "#);
    assert_snapshot!(run(&[]), @"
    exit 0
    -- stdout
    skills.a.b.enabled = false  (PLACE/home/.config/skills/config.toml)
    ");
    run(&["unset", "skills.a.b.enabled"]);
    assert_eq!(std::fs::read_to_string(path).unwrap(), "");
}

#[test]
fn a_problem_of_another_key_does_not_prevent_a_change() {
    let fixture = fixture();
    let config = "home/.config/skills/config.toml";
    fixture.file(
        config,
        "foo = 1\nmemory-mib = 0\ninterpreters = { deno = \"/d\" }\n[bar]\nbaz = 1\n",
    );
    let run = |words: &[&str]| {
        fixture
            .run("project", &[&["config"], words].concat())
            .page()
    };
    assert_snapshot!(run(&["set", "memory-mib", "0"]), @"
    exit 2
    -- stderr
    error: invalid `memory-mib`: expected 1 or more MiB
    ");
    for words in [
        &["set", "timeout-seconds", "5"][..],
        &["set", "memory-mib", "512"],
        &["set", "interpreters.python", "/p"],
        &["unset", "foo"],
        &["unset", "bar.baz"],
    ] {
        assert!(run(words).contains("changed"), "{}", run(words));
    }
    let text = std::fs::read_to_string(fixture.path().join(config)).unwrap();
    assert_snapshot!(text, @r#"
    memory-mib = 512
    interpreters = { deno = "/d" , python = "/p" }
    timeout-seconds = 5
    "#);
    // A table is not removed as a whole, and a name that is not in the file is a mistake.
    assert_snapshot!(run(&["unset", "interpreters"]), @"
    exit 2
    -- stderr
    error: `interpreters` is a table, not a value
    ");
    assert_snapshot!(run(&["unset", "memroy-mib"]), @"
    exit 2
    -- stderr
    error: unknown key `memroy-mib`; did you mean `memory-mib`?
    ");
}

#[cfg(unix)]
#[test]
fn a_changed_file_keeps_its_symlink_and_mode() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let fixture = fixture();
    fixture
        .file("dotfiles/config.toml", "memory-mib = 512\n")
        .file("home/.config/skills/readme", "");
    let mode = |path: &str| {
        let metadata = fixture.path().join(path).metadata().unwrap();
        metadata.permissions().mode() & 0o777
    };
    let dotfile = fixture.path().join("dotfiles/config.toml");
    std::fs::set_permissions(&dotfile, PermissionsExt::from_mode(0o640)).unwrap();
    let link = fixture.path().join("home/.config/skills/config.toml");
    symlink(&dotfile, &link).unwrap();
    fixture.run("project", &["config", "set", "memory-mib", "300"]);
    assert!(link.is_symlink());
    assert_eq!(
        std::fs::read_to_string(dotfile).unwrap(),
        "memory-mib = 300\n"
    );
    assert_eq!(mode("dotfiles/config.toml"), 0o640);
    // The file of a project is shared: no lock file next to it, and the mode of other files.
    let set = ["config", "set", "--project", "memory-mib", "300"];
    fixture.run("project", &set);
    assert_eq!(
        mode("project/.skills/config.toml"),
        mode("project/.git/HEAD")
    );
    let files = fixture.path().join("project/.skills").read_dir().unwrap();
    assert_eq!(files.count(), 1);
    // A project must not lead the change to another file.
    let project = fixture.path().join("project/.skills/config.toml");
    std::fs::remove_file(&project).unwrap();
    fixture.file("other", "memory-mib = 512\n");
    symlink(fixture.path().join("other"), project).unwrap();
    assert_snapshot!(fixture.run("project", &set).page(), @"
    exit 2
    -- stderr
    error: cannot read the settings file `PLACE/project/.skills/config.toml`: it is a symlink
    ");
    std::fs::remove_dir_all(fixture.path().join("project/.skills")).unwrap();
    symlink(
        fixture.path().join("home/.config/skills"),
        fixture.path().join("project/.skills"),
    )
    .unwrap();
    assert_snapshot!(fixture.run("project", &set).page(), @"
    exit 2
    -- stderr
    error: cannot change `PLACE/project/.skills/config.toml`: its directory is a symlink
    ");
}

/// The file of a project that is not trusted stops no command.
#[test]
fn a_broken_file_of_a_project_is_a_warning() {
    let fixture = fixture();
    fixture.file("project/.skills/config.toml", "interpreters = [\n");
    let done = fixture.run("project", &["config"]);
    assert_eq!(done.code, 0, "{}", done.page());
    let warning = "warning: PLACE/project/.skills/config.toml:";
    assert!(done.stderr.starts_with(warning), "{}", done.page());
    let done = fixture.run("project", &["config", "--trust-project"]);
    assert_eq!(done.code, 2, "{}", done.page());
    assert!(
        done.stderr
            .starts_with("error: PLACE/project/.skills/config.toml:")
    );
    let user = "home/.config/skills/config.toml";
    fixture.file(user, "interpreters = [\n");
    assert_eq!(fixture.run("project", &["config"]).code, 2);
}

#[test]
fn the_innermost_directory_of_a_project_takes_precedence() {
    let fixture = fixture();
    fixture
        .file("project/.skills/config.toml", "memory-mib = 100\n")
        .file("project/in/.skills/config.toml", "memory-mib = 90\n");
    let shown = fixture.run("project/in", &["--trust-project", "config", "show"]);
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert!(lines[1].starts_with("memory-mib = 90  "), "{lines:?}");
    // The settings of a project are at its root.
    let set = fixture.run(
        "project/in",
        &["config", "set", "--project", "hooks", "false"],
    );
    assert_eq!(set.stderr, "changed PLACE/project/.skills/config.toml\n");
}

#[test]
fn a_project_is_trusted_until_that_is_revoked() {
    let fixture = fixture();
    fixture
        .skill("project/.agents/skills/two", "two")
        .file("project/in/note.txt", "")
        .file(
            "project/.skills/config.toml",
            "trusted-projects = [\"..\"]\nskills.two.pin = true\n",
        );
    let list = || fixture.run("project/in", &["list"]);
    assert_eq!(list().stdout, "");
    assert!(
        list()
            .stderr
            .contains("`trusted-projects` of a project has no effect"),
        "{}",
        list().stderr
    );
    let asked = fixture.run("project/in", &["trust", "--project"]);
    assert_eq!(asked.code, 3, "{}", asked.page());
    assert!(
        asked.stderr.starts_with("warning")
            && asked
                .stderr
                .contains("Trust 1 skill, the settings and the policy of project PLACE/project?\n"),
        "{}",
        asked.stderr
    );
    let trusted = fixture.run("project/in", &["trust", "--project", "--yes"]);
    assert_eq!(trusted.code, 0, "{}", trusted.page());
    assert!(list().stdout.contains("two"), "{}", list().page());
    let approvals = fixture.run("", &["trust", "--list"]);
    assert!(
        approvals.stdout.contains("project  PLACE/project\n"),
        "{}",
        approvals.page()
    );
    // Another project, also one inside of it, is not trusted.
    fixture.file("project/vendor/.git/HEAD", "");
    fixture.skill("project/vendor/.agents/skills/three", "three");
    assert_eq!(fixture.run("project/vendor", &["list"]).stdout, "");
    fixture.run("project", &["trust", "--project", "--revoke"]);
    assert_eq!(list().stdout, "");
    // An entry in another spelling is removed, too.
    fixture.file(
        "home/.config/skills/config.toml",
        "trusted-projects = [\"../project/in/..\", \"~/other\"]\n",
    );
    assert!(list().stdout.contains("two"), "{}", list().page());
    let revoked = fixture.run("project/in", &["trust", "--project", "--revoke"]);
    assert_eq!(revoked.code, 0, "{}", revoked.page());
    assert_eq!(list().stdout, "");
    // The skills of the home directory are those of the user.
    let home = fixture.run("home", &["trust", "--project", "--yes"]);
    assert_eq!(home.code, 2, "{}", home.page());
}
