//! Tests of the selection of script interpreters.

#[cfg(target_os = "linux")]
use std::path::Path;

use insta::assert_snapshot;
#[cfg(target_os = "linux")]
use skills_test_support::{skip, skip_without_sandbox};

#[cfg(target_os = "linux")]
use crate::fixture::Fixture;
#[cfg(target_os = "linux")]
use crate::skills::command;
use crate::skills::examples;

/// Runs the command in a directory, with a `PATH`. Returns the exit code and both outputs.
#[cfg(target_os = "linux")]
fn run_in(directory: &Path, path: &str, arguments: &[&str]) -> (i32, String, String) {
    let scratch = directory.join("scratch");
    std::fs::create_dir_all(&scratch).unwrap();
    let mut command = command(
        &[&["run", "one", "--root", "skills"], arguments].concat(),
        &scratch,
    );
    let output = command
        .current_dir(directory)
        .env("PATH", path)
        .output()
        .unwrap();
    let text = |bytes| {
        String::from_utf8(bytes)
            .unwrap()
            .replace(&directory.display().to_string(), "TOP")
    };
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Creates a skill with one script.
#[cfg(target_os = "linux")]
fn skill_in(directory: &Path, name: &str, text: &str) {
    let skill = directory.join("skills/one");
    std::fs::create_dir_all(skill.join("scripts")).unwrap();
    std::fs::write(
        skill.join("SKILL.md"),
        "---\nname: one\ndescription: d\n---\n",
    )
    .unwrap();
    std::fs::write(skill.join("scripts").join(name), text).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn scripts_run_with_the_given_interpreter() {
    if skip_without_sandbox() {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let top = temporary.path().canonicalize().unwrap();
    skill_in(&top, "main.py", "import sys\nprint(sys.prefix)\n");
    std::fs::create_dir_all(top.join(".venv/bin")).unwrap();
    std::fs::write(top.join(".venv/pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    std::os::unix::fs::symlink("/usr/bin/python3", top.join(".venv/bin/python3")).unwrap();
    let named = run_in(&top, "", &["--interpreter", "python=.venv/bin/python3"]);
    assert_eq!(named, (0, "TOP/.venv\n".to_owned(), String::new()));
    assert_eq!(run_in(&top, "", &[]).1, "/usr\n");
}

#[cfg(unix)]
#[test]
fn an_interpreter_must_be_an_executable_file() {
    let rejected = |interpreter: &str| {
        examples(&["run", "weather", "--interpreter", interpreter, "--dry-run"]).page()
    };
    assert_snapshot!(rejected("python=.venv/bin/gone"), @"
    exit 2
    -- stderr
    error: cannot use interpreter `.venv/bin/gone`: not found
    help: pass the path of an executable file, such as `--interpreter python=/usr/bin/python3`; `PATH` is not searched
    ");
    // An interpreter of another type than that of the script is checked, too.
    assert_snapshot!(rejected("ruby=ruby"), @"
    exit 2
    -- stderr
    error: cannot use interpreter `ruby`: not found
    help: pass the path of an executable file, such as `--interpreter ruby=/usr/bin/ruby`; `PATH` is not searched
    ");
    assert_snapshot!(rejected("shell=examples/skills/weather/SKILL.md"), @"
    exit 2
    -- stderr
    error: cannot use interpreter `examples/skills/weather/SKILL.md`: not executable
    help: pass the path of an executable file, such as `--interpreter shell=/usr/bin/bash`; `PATH` is not searched
    ");
    assert_snapshot!(rejected("node=/"), @"
    exit 2
    -- stderr
    error: cannot use interpreter `/`: not a regular file
    help: pass the path of an executable file, such as `--interpreter node=/usr/bin/node`; `PATH` is not searched
    ");
    assert_snapshot!(rejected("deno=examples/skills/weather/SKILL.md/deno"), @"
    exit 2
    -- stderr
    error: cannot use interpreter `examples/skills/weather/SKILL.md/deno`: Not a directory (os error 20)
    help: pass the path of an executable file, such as `--interpreter deno=/usr/bin/deno`; `PATH` is not searched
    ");
}

#[cfg(target_os = "linux")]
#[test]
fn trusted_path_directories_provide_other_interpreters() {
    if skip_without_sandbox() {
        return;
    }
    let is_missing = |name: &&&str| {
        ["/usr/local/bin", "/usr/bin", "/bin"]
            .iter()
            .all(|directory| !Path::new(directory).join(name).exists())
    };
    let Some(name) = ["ruby", "deno", "perl"].iter().find(is_missing) else {
        return skip("this host has every interpreter");
    };
    let extension = [("ruby", "rb"), ("deno", "ts"), ("perl", "pl")]
        .iter()
        .find(|(known, _)| known == name)
        .unwrap()
        .1;
    let temporary = tempfile::tempdir().unwrap();
    let top = temporary.path().canonicalize().unwrap();
    let project = top.join("project");
    skill_in(&project, &format!("main.{extension}"), "echo \"$PATH\"\n");
    // A shell under the name of the interpreter, since a script cannot be an interpreter. It does
    // not understand Deno's arguments.
    let put = |directory: &Path| {
        std::fs::create_dir_all(directory).unwrap();
        std::fs::copy("/bin/sh", directory.join(name)).unwrap();
        directory.display().to_string()
    };
    let (ours, projects, world_writable) = (
        put(&top.join("tools")),
        put(&project.join("tools")),
        put(&top.join("open")),
    );
    std::fs::set_permissions(
        &world_writable,
        std::os::unix::fs::PermissionsExt::from_mode(0o777),
    )
    .unwrap();
    let (code, _, message) = run_in(
        &project,
        &format!("tools::{projects}:{world_writable}"),
        &[],
    );
    assert_eq!(code, 127, "{message}");
    assert!(message.contains("interpreter is unavailable"), "{message}");
    if *name == "ruby" {
        let found = run_in(&project, &format!("relative:/nowhere:{ours}"), &[]);
        assert_eq!(
            found,
            (
                0,
                format!("/usr/local/bin:/usr/bin:/bin:{ours}\n"),
                String::new()
            )
        );
    }
}

/// As a program of a script, with any program or by its name, and as a command.
#[cfg(target_os = "linux")]
#[test]
fn programs_of_trusted_path_directories_are_found() {
    if skip_without_sandbox() {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let top = temporary.path().canonicalize().unwrap();
    let project = top.join("project");
    skill_in(&project, "main.sh", "greeter hi\n");
    let tools = top.join("bin");
    std::fs::create_dir_all(&tools).unwrap();
    std::fs::copy("/bin/echo", tools.join("greeter")).unwrap();
    let path = tools.display().to_string();
    for allowed in ["spawn", "spawn:greeter"] {
        let (code, output, message) = run_in(&project, &path, &["--allow", allowed]);
        assert_eq!((code, output.as_str()), (0, "hi\n"), "{allowed}: {message}");
    }
}

#[test]
fn an_interpreter_of_an_unknown_type_is_invalid_usage() {
    assert_snapshot!(examples(&["run", "weather", "--interpreter", "pyhton3=/usr/bin/python3"]).page(), @"
    exit 125
    -- stderr
    error: invalid value 'pyhton3=/usr/bin/python3' for '--interpreter <[SKILL:]KIND=PATH>': unknown script type `pyhton3`; did you mean `python`?

    For more information, try '--help'.
    ");
    assert_snapshot!(examples(&["run", "weather", "--interpreter", "python", "--json"]).page(), @r#"
    exit 125
    -- stdout
    {
      "error": {
        "code": "usage",
        "message": "invalid value 'python' for '--interpreter <[SKILL:]KIND=PATH>': expected KIND=PATH or SKILL:KIND=PATH",
        "candidates": [],
        "hint": null
      },
      "exit": {
        "code": 125,
        "from": "skills",
        "reason": "failed"
      }
    }
    "#);
}

/// The error names the setting, since another program than the configured one is not searched.
#[cfg(target_os = "linux")]
#[test]
fn an_interpreter_of_the_settings_that_does_not_exist_is_named() {
    if skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new();
    fixture
        .skill("skills/one", "one")
        .file("skills/one/scripts/main.py", "print(1)\n");
    let set = ["config", "set", "interpreters.python", "/gone/python3"];
    assert_snapshot!(fixture.run("", &set).page(), @"
    exit 0
    -- stderr
    warning: cannot use interpreter `/gone/python3`: not found
    changed PLACE/home/.config/skills/config.toml
    ");
    assert_snapshot!(fixture.run("", &["run", "one", "--root", "skills"]).page(), @"
    exit 127
    -- stderr
    error: cannot run in a sandbox: interpreter is unavailable: no program at `/gone/python3`
    help: the setting `interpreters.python` names this path; `skills config show` says in which file, and `skills config set interpreters.python PATH` sets another one for the user
    ");
}

#[cfg(target_os = "linux")]
#[test]
fn the_hint_about_containers_is_for_users() {
    if skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new();
    fixture
        .skill("skills/one", "one")
        .file("skills/one/scripts/main.sh", "echo 1\n");
    let run = ["run", "one", "--root", "skills", "--sandbox", "container"];
    assert_snapshot!(fixture.run("", &run).page(), @"
    exit 125
    -- stderr
    error: cannot run in a sandbox: the container backend is unavailable: no engine and image are configured
    help: set `container-image` to the image of the containers, or select another sandbox
    ");
}

/// A project with a file that names a version, and a home directory with versions of a manager:
/// each is a program that prints where it is.
#[cfg(target_os = "linux")]
struct Versions {
    directory: tempfile::TempDir,
}

#[cfg(target_os = "linux")]
impl Versions {
    fn new() -> Self {
        let versions = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        skill_in(
            &versions.path("project"),
            "main.py",
            "import sys\nprint(sys.executable)\n",
        );
        for version in ["3.9.18", "3.11.7", "3.12.1"] {
            versions.install(&format!("home/.pyenv/versions/{version}"));
        }
        versions.file("home/.pyenv/version", "3.9.18\n");
        versions.script("home/.pyenv/shims/python3", "#!/bin/sh\nexec pyenv exec\n");
        versions
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn script(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        self.file(name, text);
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.path(name), executable).unwrap();
    }

    /// Installs the Python of the system as a version.
    fn install(&self, prefix: &str) {
        let bin = self.path(prefix).join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::copy("/usr/bin/python3", bin.join("python3")).unwrap();
    }

    /// Runs the script, and returns the interpreter without the directory, and what the command
    /// says.
    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> (String, String) {
        let directory = self.path("project");
        let scratch = self.path("scratch");
        std::fs::create_dir_all(&scratch).unwrap();
        let arguments = [&["run", "one", "--root", "skills"], arguments].concat();
        let output = command(&arguments, &scratch)
            .current_dir(directory)
            .env("HOME", self.path("home"))
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let text = |bytes| {
            let text = String::from_utf8(bytes).unwrap();
            text.replace(&self.path("").display().to_string(), "")
        };
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        (stdout.trim().to_owned(), stderr)
    }
}

#[cfg(target_os = "linux")]
fn of_pyenv(version: &str) -> (String, String) {
    let path = format!("home/.pyenv/versions/{version}/bin/python3");
    (path, String::new())
}

#[cfg(target_os = "linux")]
#[test]
fn a_project_chooses_among_the_versions_of_the_user() {
    if skip_without_sandbox() {
        return;
    }
    let versions = Versions::new();
    let shim = versions
        .path("home/.pyenv/shims/python3")
        .display()
        .to_string();
    let shim = format!("python={shim}");
    let system = versions.run(&[], &[]);
    assert!(system.0.starts_with("/usr/bin/python3"), "{system:?}");
    assert_eq!(
        versions.run(&["--interpreter", &shim], &[]),
        of_pyenv("3.9.18")
    );
    for (name, text, version) in [
        (".tool-versions", "python 3.12\n", "3.12.1"),
        (".python-version", "3.11\n", "3.11.7"),
    ] {
        versions.file(&format!("project/{name}"), text);
        assert_eq!(versions.run(&[], &[]), of_pyenv(version));
        assert_eq!(
            versions.run(&["--interpreter", &shim], &[]),
            of_pyenv(version)
        );
    }
    // What the user says comes first, and a setting or an option before it.
    let of_user = [("PYENV_VERSION", "3.12.1")];
    assert_eq!(versions.run(&[], &of_user), of_pyenv("3.12.1"));
    let named = versions.run(&["--interpreter", "python=/usr/bin/python3"], &of_user);
    assert_eq!(named, system);
    versions.file("project/.python-version", "system\n");
    assert_eq!(versions.run(&[], &[]), system);
}

#[cfg(target_os = "linux")]
#[test]
fn a_version_that_is_not_installed_or_not_a_version_changes_nothing() {
    if skip_without_sandbox() {
        return;
    }
    let versions = Versions::new();
    let system = versions.run(&[], &[]).0;
    // Versions where others could put one, and a virtual environment, which has code of its own.
    versions.install("project/versions/3.13.0");
    versions.install("home/.pyenv/versions/own");
    versions.file("home/.pyenv/versions/own/pyvenv.cfg", "home = /usr/bin\n");
    versions.install("elsewhere/9.9");
    let elsewhere = versions.path("elsewhere/9.9").display().to_string();
    let large = "1".repeat(1 << 20);
    for (text, cause) in [
        ("3.13.0", "python 3.13.0 is not installed"),
        ("own", "python own is not installed"),
        ("9.9", "python 9.9 is not installed"),
        ("../../../elsewhere/9.9", "it does not name a version"),
        (&elsewhere, "it does not name a version"),
        ("lts/*", "it does not name a version"),
        ("\u{1b}[2J", "it does not name a version"),
        (&large, "it is not a text file of at most 64 KiB"),
    ] {
        versions.file("project/.python-version", text);
        let (python, note) = versions.run(&[], &[]);
        assert_eq!(python, system, "{text}");
        let expected = format!("note: the version of `.python-version` is not used: {cause}");
        assert!(
            note.starts_with(&expected) && note.lines().count() == 1,
            "{note}"
        );
    }
    std::fs::remove_file(versions.path("project/.python-version")).unwrap();
    versions.file("secret", "3.11.7\n");
    let link = versions.path("project/.python-version");
    std::os::unix::fs::symlink(versions.path("secret"), link).unwrap();
    let (python, note) = versions.run(&[], &[]);
    assert!(
        python == system && note.contains("it is not a text file"),
        "{note}"
    );
    // A directory that others can write, and one in the project.
    std::fs::remove_file(versions.path("project/.python-version")).unwrap();
    versions.file("project/.python-version", "3.11.7\n");
    use std::os::unix::fs::PermissionsExt;
    let open = versions.path("home/.pyenv/versions");
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(versions.run(&[], &[]).0, system);
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
    let root = versions.path("project").display().to_string();
    versions.file("project/.python-version", "3.13.0\n");
    assert_eq!(versions.run(&[], &[("PYENV_ROOT", &root)]).0, system);
    assert_eq!(
        versions.run(&[], &[("PYENV_ROOT", "versions/..")]).0,
        system
    );
}
