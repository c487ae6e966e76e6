//! Programs of skills in containers, with an engine of this host.

use std::fs;
use std::process::Command;

use serde_json::json;
use skills_test_support::{host, skip};

use crate::fixture::Fixture;
use crate::mcp::Server;
use crate::package_index::{PackageIndex, text_of};

/// A user with a skill, whose settings name an engine and an image.
struct User {
    fixture: Fixture,
    index: PackageIndex,
}

const SCRIPT: &str = "import os, sys\nprint('in', os.uname().nodename, sys.argv[1:])\nopen('made.txt', 'w').write('x')\n";

impl User {
    /// `None` without an engine.
    #[track_caller]
    fn new() -> Option<Self> {
        let (socket, image) = match host::container_engine() {
            Ok(engine) => engine,
            Err(reason) => {
                skip(reason);
                return None;
            }
        };
        let fixture = Fixture::new();
        fixture
            .skill("skills/demo", "demo")
            .file("skills/demo/scripts/main.py", SCRIPT)
            .file("work/in.txt", "input");
        let user = Self {
            fixture,
            index: PackageIndex::start(&[("needed", "3.1", &[])]),
        };
        user.set("container-socket", socket.to_str().unwrap());
        user.set("container-image", &image);
        Some(user)
    }

    fn set(&self, key: &str, value: &str) {
        let (code, text) = self.run(&["config", "set", key, value]);
        assert_eq!(code, 0, "{text}");
    }

    fn command(&self, arguments: &[&str]) -> Command {
        self.index.command(&self.fixture, arguments)
    }

    fn run(&self, arguments: &[&str]) -> (i32, String) {
        text_of(&self.command(arguments).output().unwrap())
    }
}

#[test]
fn a_skill_runs_in_a_container_by_option_setting_or_policy() {
    let Some(user) = User::new() else { return };
    let run = [
        "run",
        "demo",
        "--workspace",
        "work",
        "--allow",
        "write",
        "--json",
    ];
    let backend = |arguments: &[&str]| {
        let output = user.command(&[&run[..], arguments].concat()).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", text_of(&output).1);
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        document["sandbox"]["backend"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        backend(&["--sandbox", "container", "--", "a b"]),
        "container"
    );
    let made = user.fixture.path().join("work/made.txt");
    assert_eq!(fs::read_to_string(&made).unwrap(), "x");

    user.set("skills.demo.sandbox", "container");
    assert_eq!(backend(&[]), "container");
    assert_ne!(backend(&["--sandbox", "native"]), "container");
    let (code, text) = user.run(&["run", "demo", "--sandbox", "wasm"]);
    assert_eq!(code, 125, "{text}");
    assert!(text.contains("it runs WebAssembly modules"), "{text}");

    // A project selects no sandbox, also if it is trusted.
    let project = user.fixture.path().join(".skills/config.toml");
    fs::create_dir_all(project.parent().unwrap()).unwrap();
    fs::write(
        &project,
        "sandbox = \"native\"\n[skills.demo]\nsandbox = \"native\"\n",
    )
    .unwrap();
    assert_eq!(backend(&["--trust-project"]), "container");
    fs::remove_file(project).unwrap();

    // A policy is not overridden by an option.
    let policy = user.fixture.path().join("home/.config/skills/policy.toml");
    fs::write(&policy, "require-sandbox = \"container\"\n").unwrap();
    assert_eq!(backend(&[]), "container");
    let (code, text) = user.run(&["run", "demo", "--sandbox", "native"]);
    assert_eq!(code, 125, "{text}");
    assert!(
        text.contains("the policy requires sandbox container"),
        "{text}"
    );

    // Its directory can be spelled with a symlink.
    let link = user.fixture.path().join("link");
    std::os::unix::fs::symlink(user.fixture.path().join("skills"), &link).unwrap();
    let within = format!(
        "[[within]]\ndirectory = {:?}\nrequire-sandbox = \"container\"\n",
        link.display().to_string()
    );
    fs::write(&policy, within).unwrap();
    let (code, text) = user.run(&["run", "demo", "--sandbox", "native"]);
    assert_eq!(code, 125, "{text}");
}

#[test]
fn without_an_engine_or_an_image_nothing_runs() {
    let Some(user) = User::new() else { return };
    let run = ["run", "demo", "--sandbox", "container"];
    user.set("container-image", &format!("sha256:{}", "0".repeat(64)));
    let (code, text) = user.run(&run);
    assert_eq!(code, 125, "{text}");
    assert!(text.contains("the engine has no image"), "{text}");
    user.set("container-socket", "/nowhere/engine.sock");
    let (code, text) = user.run(&run);
    assert_eq!(code, 125, "{text}");
    assert!(
        text.contains("the container engine is unavailable"),
        "{text}"
    );
    let (_, text) = user.run(&["doctor"]);
    assert!(text.contains("containers"), "{text}");
    let (code, text) = user.run(&["config", "unset", "container-image"]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = user.run(&run);
    assert_eq!(code, 125, "{text}");
    assert!(text.contains("set `container-image`"), "{text}");
    let (code, text) = user.run(&["config", "set", "container-image", "python:3.13"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("NAME@sha256:DIGEST"), "{text}");
}

#[test]
fn a_server_runs_skills_in_containers_that_it_keeps() {
    let Some(user) = User::new() else { return };
    user.set("sandbox", "container");
    user.set("container-keep-seconds", "60");
    let arguments = ["mcp", "--workspace", "work"];
    let mut server = Server::connect(user.command(&arguments), Vec::new());
    let call = json!({"name": "demo", "command": "python scripts/main.py one"});
    for _ in 0..2 {
        let result = server.call("skills_run", &call);
        assert_eq!(result["isError"], false, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("in sandbox ['one']"), "{text}");
    }
    assert_eq!(server.end(), Some(0));
}

#[test]
fn packages_are_installed_for_the_python_of_the_image() {
    let Some(user) = User::new() else { return };
    user.fixture
        .file("skills/demo/scripts/requirements.txt", "needed\n")
        .file(
            "skills/demo/scripts/main.py",
            "import needed, sys\nprint('needed', needed.VERSION, sys.prefix)\n",
        );
    let run = ["run", "demo", "--sandbox", "container"];
    let (code, text) = user.run(&[&run[..], &["--allow", "packages"]].concat());
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("needed 3.1 "), "{text}");
    let requests = user.index.count("");
    let (code, text) = user.run(&run);
    assert_eq!(code, 0, "{text}");
    assert_eq!(user.index.count(""), requests);
    // The environment of the image does not count for the host.
    let (_, text) = user.run(&["deps", "status", "demo", "--sandbox", "native"]);
    assert!(text.contains("missing"), "{text}");
}
