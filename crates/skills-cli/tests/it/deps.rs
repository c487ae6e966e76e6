//! Tests of packages that skills declare, with an index on the loopback device.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use skills_test_support::{host, skip, skip_part, skip_without_sandbox};

use crate::fixture::Fixture;
use crate::package_index::{PackageIndex, text_of};
use crate::terminal::answered;

/// A user with a skill that requires packages, and an index that has them.
pub(crate) struct User {
    pub(crate) fixture: Fixture,
    pub(crate) index: PackageIndex,
    /// The directory of `uv`, if it is used.
    uv: Option<PathBuf>,
}

impl User {
    /// `None` if the host cannot make environments.
    pub(crate) fn new(packages: &[(&str, &str, &[&str])]) -> Option<Self> {
        if skip_without_sandbox() {
            return None;
        }
        let python = match host::program("python3") {
            Ok(python) => python,
            Err(reason) => {
                skip(reason);
                return None;
            }
        };
        let has_pip = Command::new(python)
            .args(["-c", "import ensurepip, venv"])
            .stderr(Stdio::null())
            .status();
        if !has_pip.is_ok_and(|status| status.success()) {
            skip("python3 has no module `ensurepip`".to_owned());
            return None;
        }
        let fixture = Fixture::new();
        fixture
            .skill("skills/demo", "demo")
            .file("skills/demo/scripts/requirements.txt", "demo-pkg>=1\n")
            .file(
                "skills/demo/scripts/show.py",
                "import demo_pkg, needed\nprint('demo', demo_pkg.VERSION, needed.VERSION)\n",
            );
        Some(Self {
            fixture,
            index: PackageIndex::start(packages),
            uv: None,
        })
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.index.command(&self.fixture, arguments);
        if let Some(directory) = &self.uv {
            command.env("PATH", directory);
        }
        command
    }

    /// Installs with `uv`, which takes a fraction of the time, if the host has it.
    pub(crate) fn with_uv(mut self) -> Self {
        let uv = std::env::var_os("PATH").and_then(|path| {
            let mut directories = std::env::split_paths(&path);
            directories.find(|directory| directory.join("uv").is_file())
        });
        match uv {
            Some(directory) => self.uv = Some(directory),
            None => skip_part("with uv", "`uv` is not installed"),
        }
        self
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> (i32, String) {
        text_of(&self.command(arguments).output().unwrap())
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.command(arguments).arg("--json").output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text_of(&output).1))
    }

    fn store(&self) -> PathBuf {
        self.fixture.path().join("home/data/skills/environments")
    }

    /// Returns the number of environments, finished or not.
    pub(crate) fn builds(&self) -> usize {
        fs::read_dir(self.store().join("builds")).map_or(0, Iterator::count)
    }
}

/// Returns all files below a directory with their content.
fn snapshot(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(snapshot(&path));
        } else {
            files.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

pub(crate) const PACKAGES: [(&str, &str, &[&str]); 3] = [
    ("demo-pkg", "1.0", &["needed"]),
    ("demo-pkg", "1.2", &["needed"]),
    ("needed", "3.1", &[]),
];

#[test]
fn missing_packages_are_planned_allowed_and_installed_once() {
    let Some(user) = User::new(&PACKAGES) else {
        return;
    };
    let before = snapshot(&user.fixture.path().join("skills"));

    // No approver is available, so the script runs without its packages, and the index is not
    // contacted.
    let (code, text) = user.run(&["run", "demo"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("missing packages: demo-pkg>=1"), "{text}");
    assert!(text.contains("skills deps install"), "{text}");
    assert_eq!(user.index.count(""), 0);

    // Nor for an installation without `--yes`.
    let error = user.json(&["deps", "install", "demo"]);
    assert_eq!(error["error"]["code"], "confirmation-required", "{error}");

    let plan = user.json(&["deps", "plan", "demo"]);
    let planned: Vec<String> = plan["plan"]["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| {
            format!(
                "{} {} {}",
                package["name"], package["version"], package["declared"]
            )
        })
        .collect();
    assert_eq!(
        planned,
        [
            r#""pypi:demo-pkg" "1.2" true"#,
            r#""pypi:needed" "3.1" false"#
        ]
    );
    assert_eq!(user.builds(), 0);

    let (code, text) = user.run(&["run", "demo", "--allow", "packages:pypi:demo-pkg"]);
    assert_eq!((code, text.as_str()), (0, "demo 1.2 3.1\n"));
    // Installed packages need no further permission.
    let requests = user.index.count("");
    let (code, text) = user.run(&["run", "demo"]);
    assert_eq!((code, text.as_str()), (0, "demo 1.2 3.1\n"));
    assert_eq!(user.index.count(""), requests);
    assert_eq!(user.builds(), 1);

    let status = user.json(&["deps", "status"]);
    assert_eq!(
        status["skills"],
        json!([{"skill": "demo", "packages": "installed", "missing": [], "mentioned": []}])
    );
    assert_eq!(status["environments"].as_array().unwrap().len(), 1);
    assert_eq!(snapshot(&user.fixture.path().join("skills")), before);

    let collected = user.json(&["deps", "gc", "--all"]);
    assert_eq!(collected["removed"].as_array().unwrap().len(), 1);
    assert_eq!(user.builds(), 0);
    let (code, _) = user.run(&["run", "demo"]);
    assert_eq!(code, 1);
}

#[test]
fn a_rule_denies_a_package_that_another_one_needs() {
    let Some(user) = User::new(&PACKAGES) else {
        return;
    };
    user.fixture.file(
        "home/.config/skills/policy.toml",
        "deny = [\"packages:pypi:needed\"]\n",
    );
    let (code, text) = user.run(&["deps", "install", "demo", "--yes"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("`deny packages:pypi:needed"), "{text}");
    let (code, text) = user.run(&["run", "demo", "--allow", "packages"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("denies pypi:needed"), "{text}");
    assert_eq!(user.builds(), 0);
}

#[test]
fn packages_that_the_interpreter_has_are_used() {
    let Some(user) = User::new(&PACKAGES) else {
        return;
    };
    let environment = user.fixture.path().join("venv");
    let made = Command::new(host::program("python3").unwrap())
        .args(["-m", "venv", "--without-pip"])
        .arg(&environment)
        .status();
    assert!(made.unwrap().success());
    let lib = fs::read_dir(environment.join("lib"))
        .unwrap()
        .flatten()
        .next()
        .unwrap();
    let site = lib.path().join("site-packages");
    for (name, version) in [("demo_pkg", "1.1"), ("needed", "2")] {
        fs::create_dir_all(site.join(format!("{name}-{version}.dist-info"))).unwrap();
        fs::create_dir_all(site.join(name)).unwrap();
        fs::write(
            site.join(name).join("__init__.py"),
            format!("VERSION = '{version}'\n"),
        )
        .unwrap();
    }
    let python = format!("python={}", environment.join("bin/python").display());
    let (code, text) = user.run(&["run", "demo", "--interpreter", &python]);
    assert_eq!((code, text.as_str()), (0, "demo 1.1 2\n"));
    assert_eq!(user.index.count(""), 0);
}

#[test]
fn other_files_than_the_lock_file_lists_are_rejected() {
    let Some(user) = User::new(&PACKAGES).map(User::with_uv) else {
        return;
    };
    fs::remove_file(
        user.fixture
            .path()
            .join("skills/demo/scripts/requirements.txt"),
    )
    .unwrap();
    user.fixture
        .file(
            "skills/demo/scripts/pyproject.toml",
            "[project]\nname = 'demo'\nversion = '0'\ndependencies = ['demo-pkg']\n",
        )
        .file(
            "skills/demo/scripts/uv.lock",
            "version = 1\n[[package]]\nname = 'demo-pkg'\nversion = '1.0'\nsource = { registry = 'https://x.example/simple' }\n\
             wheels = [{ url = 'https://x.example/demo.whl', hash = 'sha256:00' }]\n",
        );
    let (code, text) = user.run(&["deps", "plan", "demo"]);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("other files of `demo-pkg` 1.0 than the lock file lists"),
        "{text}"
    );
}

/// Declarations with which the library for requirements panics.
const PANICKING: [(&str, &str); 2] = [
    ("dots", "typer.==1\n"),
    ("letters", "b; python_version<\"3\"é\n"),
];

#[test]
fn a_declaration_that_cannot_be_parsed_is_a_problem_of_its_skill_alone() {
    let Some(user) = User::new(&PACKAGES) else {
        return;
    };
    for (skill, text) in PANICKING {
        let new = format!("new-{skill}");
        user.fixture
            .skill(&format!("source/{new}"), &new)
            .file(&format!("source/{new}/requirements.txt"), text)
            .skill(&format!("skills/{skill}"), skill)
            .file(&format!("skills/{skill}/scripts/requirements.txt"), text)
            .file(&format!("skills/{skill}/scripts/ok.py"), "print('ran')\n")
            .file(&format!("skills/{skill}/scripts/show.py"), "import typer\n");
    }
    let (code, text) = user.run(&["deps", "status"]);
    assert_eq!(code, 0, "{text}");
    insta::assert_snapshot!(text, @r#"
    demo  missing  demo-pkg>=1
    dots  invalid  scripts/requirements.txt:1: cannot parse `typer.==1`: expected a name with versions, such as `pypdf>=4`
    letters  invalid  scripts/requirements.txt:1: cannot parse `b; python_version<\"3\"é`: it has characters that are not ASCII
    "#);
    let status = user.json(&["deps", "status", "dots"]);
    assert_eq!(
        status["skills"][0]["problems"][0],
        "scripts/requirements.txt:1: cannot parse `typer.==1`: expected a name with versions, such as \
         `pypdf>=4`"
    );
    for (skill, _) in PANICKING {
        for command in ["plan", "install"] {
            let (code, text) = user.run(&["deps", command, skill]);
            assert_eq!(code, 1, "{text}");
            assert!(
                text.contains("cannot plan packages: scripts/requirements.txt:1: cannot parse `"),
                "{text}"
            );
            assert!(text.contains("help: correct the declaration"), "{text}");
            assert!(!text.contains("panicked"), "{text}");
        }
        let (code, text) = user.run(&["run", skill, "--script", "scripts/ok.py"]);
        assert_eq!((code, text.as_str()), (0, "ran\n"));
        let (code, text) = user.run(&["run", skill, "--script", "scripts/show.py"]);
        assert_eq!(code, 1, "{text}");
        assert!(
            text.contains("cannot be installed: scripts/requirements.txt:1: cannot parse"),
            "{text}"
        );
        let arguments = json!({"name": skill, "command": "python scripts/ok.py"}).to_string();
        let (code, text) = user.run(&["call", "skills_run", &arguments, "--allow", "spawn"]);
        assert_eq!(code, 0, "{text}");
        assert!(text.contains("ran"), "{text}");
        let source = format!("./source/new-{skill}");
        let (code, text) = user.run(&["add", &source, "--dry-run"]);
        assert_eq!(code, 0, "{text}");
        assert!(text.contains("cannot parse `"), "{text}");
    }
    // The other skill of the root.
    let plan = user.json(&["deps", "plan", "demo"]);
    assert_eq!(
        plan["plan"]["packages"].as_array().unwrap().len(),
        2,
        "{plan}"
    );
}

#[test]
fn an_index_that_cannot_be_reached_is_an_error_with_a_way_out() {
    let Some(user) = User::new(&PACKAGES) else {
        return;
    };
    let mut command = user.command(&["run", "demo", "--allow", "packages"]);
    // A port on which nothing listens.
    let unused = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    command.env("PIP_INDEX_URL", format!("http://{unused}/simple"));
    let (code, text) = text_of(&command.output().unwrap());
    assert_eq!(code, 125, "{text}");
    assert!(
        text.contains("cannot plan packages: the index cannot be reached"),
        "{text}"
    );
    assert!(text.contains("help:"), "{text}");
}

#[test]
fn concurrent_setups_make_one_environment() {
    let Some(user) = User::new(&PACKAGES) else {
        return;
    };
    let plan = user.run(&["deps", "plan", "demo"]);
    assert_eq!(plan.0, 0, "{}", plan.1);
    let children: Vec<_> = (0..4)
        .map(|_| {
            let mut command = user.command(&["run", "demo", "--allow", "packages"]);
            command
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        let (code, text) = text_of(&child.wait_with_output().unwrap());
        assert_eq!((code, text.as_str()), (0, "demo 1.2 3.1\n"));
    }
    assert_eq!(user.builds(), 1);
}

#[test]
fn a_killed_setup_leaves_nothing_that_is_used() {
    const POINTS: u32 = 20;
    let Some(user) = User::new(&PACKAGES).map(User::with_uv) else {
        return;
    };
    let install = ["deps", "install", "demo", "--yes"];
    let started = Instant::now();
    let (code, text) = user.run(&install);
    assert_eq!(code, 0, "{text}");
    let duration = started.elapsed().max(Duration::from_millis(100));
    assert_eq!(user.run(&["deps", "gc", "--all"]).0, 0);
    for point in 0..POINTS {
        let mut child = user
            .command(&install)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(duration * point / POINTS);
        // SIGKILL: nothing is cleaned up.
        child.kill().unwrap();
        child.wait().unwrap();
        let status = user.json(&["deps", "status"]);
        for environment in status["environments"].as_array().unwrap() {
            assert_eq!(environment["packages"].as_array().unwrap().len(), 2);
        }
        if !status["environments"].as_array().unwrap().is_empty() {
            // It was finished just before, so it works.
            assert_eq!(user.run(&["run", "demo"]).1, "demo 1.2 3.1\n");
            assert_eq!(user.run(&["deps", "gc", "--all"]).0, 0);
        }
    }
    let (code, text) = user.run(&install);
    assert_eq!(code, 0, "{text}");
    assert_eq!(user.run(&["run", "demo"]).1, "demo 1.2 3.1\n");
    assert_eq!(
        user.builds(),
        1,
        "{:?}",
        fs::read_dir(user.store().join("builds"))
            .unwrap()
            .collect::<Vec<_>>()
    );
    let collected = user.json(&["deps", "gc"]);
    assert_eq!(collected["kept"], 1);
    assert_eq!(
        fs::read_dir(user.store().join("work")).map_or(0, Iterator::count),
        0
    );
}

#[test]
fn tools_run_skills_with_their_packages() {
    let Some(user) = User::new(&PACKAGES).map(User::with_uv) else {
        return;
    };
    let (code, text) = user.run(&["deps", "install", "demo", "--yes"]);
    assert_eq!(code, 0, "{text}");
    let arguments = json!({"name": "demo", "command": "python scripts/show.py"}).to_string();
    let (code, text) = user.run(&["call", "skills_run", &arguments, "--allow", "spawn"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("demo 1.2 3.1"), "{text}");
}

#[test]
fn settings_add_packages_for_a_skill_that_declares_none() {
    let Some(user) = User::new(&PACKAGES).map(User::with_uv) else {
        return;
    };
    let demo = user.fixture.path().join("skills/demo");
    fs::remove_file(demo.join("scripts/requirements.txt")).unwrap();
    let status = user.json(&["deps", "status", "demo"]);
    assert_eq!(
        status["skills"][0]["mentioned"],
        json!(["demo_pkg", "needed"])
    );

    // A project that is not trusted adds none.
    let project = ".skills/config.toml";
    user.fixture
        .file(project, "[skills.demo]\npackages = [\"needed\"]\n");
    let (_, text) = user.run(&["deps", "plan", "demo"]);
    assert!(
        text.contains("`skills.demo.packages` of a project has no effect"),
        "{text}"
    );
    fs::remove_file(user.fixture.path().join(project)).unwrap();

    let set = ["config", "set", "skills.demo.packages"];
    let (code, text) = user.run(&[&set[..], &["demo-pkg>=1", "npm:../x"]].concat());
    assert_eq!(code, 2, "{text}");
    assert!(
        text.contains("invalid package `../x`: expected a name"),
        "{text}"
    );
    let (code, text) = user.run(&[&set[..], &["demo-pkg<1.2"]].concat());
    assert_eq!(code, 0, "{text}");
    let (code, text) = user.run(&["run", "demo"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("missing packages: demo-pkg<1.2"), "{text}");
    assert!(
        text.contains("help: install its packages with `skills deps install demo --root "),
        "{text}"
    );
    let (code, text) = user.run(&["run", "demo", "--allow", "packages"]);
    assert_eq!((code, text.as_str()), (0, "demo 1.0 3.1\n"));

    // What the skill declares counts in addition.
    user.fixture
        .file("skills/demo/scripts/requirements.txt", "other-pkg\n");
    let status = user.json(&["deps", "status", "demo"]);
    assert_eq!(
        status["skills"][0]["missing"],
        json!(["other-pkg", "demo-pkg<1.2"])
    );
}

#[test]
fn packages_that_instructions_name_are_offered_and_not_installed() {
    let Some(user) = User::new(&PACKAGES).map(User::with_uv) else {
        return;
    };
    let demo = user.fixture.path().join("skills/demo");
    fs::remove_file(demo.join("scripts/requirements.txt")).unwrap();
    user.fixture.file(
        "skills/demo/SKILL.md",
        "---\nname: demo\ndescription: Shows versions.\n---\nFirst `pip install \"demo-pkg>=1\"`.\n",
    );
    let accept = "skills config set skills.demo.packages \"demo-pkg>=1\" needed";
    let (code, text) = user.run(&["deps", "plan", "demo"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(
        text,
        format!(
            "skill `demo` declares no packages; its instructions and scripts name demo-pkg>=1, needed\nhelp: accept them with `{accept}`\n"
        )
    );
    assert_eq!(
        user.json(&["deps", "plan", "demo"]),
        json!({"skill": "demo", "plan": null, "mentioned": ["demo-pkg>=1", "needed"], "accept": accept})
    );
    let status = user.json(&["deps", "status"]);
    assert_eq!(
        status["skills"],
        json!([{"skill": "demo", "packages": "mentioned", "missing": [], "mentioned": ["demo-pkg>=1", "needed"]}])
    );
    let (code, text) = user.run(&["deps", "install", "demo", "--yes"]);
    assert!(code == 3 && text.contains(accept), "{text}");

    // A rule for all packages does not cover what no one declared; the failure names the rule that does.
    let (code, text) = user.run(&["run", "demo", "--allow", "packages"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("No module named 'demo_pkg'"), "{text}");
    let help = "help: allow exactly the package `demo_pkg` with `--allow packages:pypi:demo-pkg`\n";
    assert!(text.contains(help), "{text}");
    assert_eq!(user.index.count(""), 0);

    let set = ["config", "set", "skills.demo.packages", "demo-pkg>=1"];
    assert_eq!(user.run(&set).0, 0);
    let (code, text) = user.run(&["run", "demo", "--allow", "packages"]);
    assert_eq!((code, text.as_str()), (0, "demo 1.2 3.1\n"));
}

#[test]
fn a_user_accepts_mentioned_packages_with_one_answer() {
    let Some(user) = User::new(&PACKAGES).map(User::with_uv) else {
        return;
    };
    let demo = user.fixture.path().join("skills/demo");
    fs::remove_file(demo.join("scripts/requirements.txt")).unwrap();
    let install = |answer| {
        let command = user.command(&["deps", "install", "demo"]);
        answered(command, "as packages of `demo`? [y/N]", answer, || {})
    };
    let (code, text) = install("n");
    assert_eq!(code, 3, "{text}");
    assert!(
        text.contains("its instructions and scripts name demo_pkg, needed"),
        "{text}"
    );
    assert_eq!(user.builds(), 0);
    let settings = user.fixture.path().join("home/.config/skills/config.toml");
    assert!(!settings.exists());

    let (code, text) = install("y");
    assert_eq!(code, 0, "{text}");
    assert_eq!(
        fs::read_to_string(settings).unwrap(),
        "[skills.demo]\npackages = [\"demo_pkg\", \"needed\"]\n"
    );
    let (code, text) = user.run(&["run", "demo"]);
    assert_eq!((code, text.as_str()), (0, "demo 1.2 3.1\n"));
}

#[test]
fn packages_of_a_script_are_installed_by_the_command_that_the_help_names() {
    let Some(user) = User::new(&PACKAGES).map(User::with_uv) else {
        return;
    };
    user.fixture
        .file("skills/demo/scripts/requirements.txt", "needed\n")
        .file(
            "skills/demo/scripts/show.py",
            "# /// script\n# dependencies = [\"demo-pkg\"]\n# ///\n\
             import demo_pkg, needed\nprint('demo', demo_pkg.VERSION, needed.VERSION)\n",
        );
    let command = "skills deps install demo --script scripts/show.py --root skills";
    let (code, text) = user.run(&["run", "demo"]);
    assert_eq!(code, 1, "{text}");
    for line in [
        "note: missing packages: demo-pkg: install them with",
        "help: install its packages with",
    ] {
        assert!(text.contains(&format!("{line} `{command}`")), "{text}");
    }

    // The skill is installed without its script, which is said.
    let (code, text) = user.run(&["deps", "install", "demo", "--yes"]);
    assert_eq!(code, 0, "{text}");
    let help =
        format!("help: install the packages that `scripts/show.py` declares with `{command}`");
    assert!(text.contains(&help), "{text}");
    let (_, text) = user.run(&["deps", "plan", "demo", "--script", "scripts/show.py"]);
    assert!(
        text.contains(&format!("help: install them with `{command}`")),
        "{text}"
    );

    let install = [
        "deps",
        "install",
        "demo",
        "--script",
        "scripts/show.py",
        "--yes",
    ];
    let (code, text) = user.run(&install);
    assert_eq!(code, 0, "{text}");
    let (code, text) = user.run(&["run", "demo"]);
    assert_eq!((code, text.as_str()), (0, "demo 1.2 3.1\n"));
    let (_, text) = user.run(&["deps", "install", "demo", "--yes"]);
    assert!(!text.contains("help:"), "{text}");
}

/// A program can print the name of a package that its author controls.
#[test]
fn a_package_that_only_a_program_names_is_in_no_command() {
    let Some(user) = User::new(&PACKAGES).map(User::with_uv) else {
        return;
    };
    for (file, script, reported) in [
        (
            "show.py",
            "import sys\nsys.exit(\"ModuleNotFoundError: No module named 'chosen'\")\n",
            "chosen",
        ),
        (
            "show.py",
            "import sys\nsys.exit('try: pip install demo-pkg==9 chosen')\n",
            "demo-pkg",
        ),
        (
            "show.sh",
            "echo \"ModuleNotFoundError: No module named 'chosen'\"\nexit 1\n",
            "chosen",
        ),
    ] {
        fs::remove_dir_all(user.fixture.path().join("skills/demo")).unwrap();
        user.fixture
            .file(
                "skills/demo/SKILL.md",
                "---\nname: demo\ndescription: Shows versions.\n---\nText.\n",
            )
            .file(&format!("skills/demo/scripts/{file}"), script);
        let (code, text) = user.run(&["run", "demo"]);
        assert_eq!(code, 1, "{text}");
        let help = format!("help: only the program names `{reported}`: before you install it");
        assert!(text.contains(&help), "{text}");
        assert!(!text.contains("config set"), "{text}");
        assert!(!text.contains("deps install"), "{text}");
    }
}

/// What the interpreter has is found after what was installed, unless a lock file fixes all packages.
#[test]
fn installed_packages_do_not_hide_those_of_the_interpreter() {
    let Some(user) = User::new(&PACKAGES) else {
        return;
    };
    let script = "import demo_pkg, site, sys\n\
        print('demo', demo_pkg.VERSION, sys.base_prefix in site.PREFIXES)\n\
        if sys.base_prefix not in site.PREFIXES:\n    \
            import yaml\n";
    user.fixture.file("skills/demo/scripts/show.py", script);
    let run = ["run", "demo", "--allow", "packages"];
    let (code, text) = user.run(&run);
    assert_eq!((code, text.as_str()), (0, "demo 1.2 True\n"));

    user.fixture
        .file(
            "skills/demo/scripts/pyproject.toml",
            "[project]\nname = 'demo'\nversion = '0'\ndependencies = ['demo-pkg']\n",
        )
        .file(
            "skills/demo/scripts/uv.lock",
            "version = 1\n[[package]]\nname = 'demo-pkg'\nversion = '1.0'\nsource = { registry = 'https://x.example/simple' }\n",
        );
    let (code, text) = user.run(&run);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("demo 1.0 False"), "{text}");
    let help = "help: allow exactly the package `pyyaml` with `--allow packages:pypi:pyyaml`";
    assert!(text.contains(help), "{text}");
}
