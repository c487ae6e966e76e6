//! Decisions for particular layouts: nested grants, environments, launcher stubs and hosts.

use std::path::Path;

use skills_sandbox_seatbelt::{Executable, ExecutableSet, ProxyAccess};

use super::{CONNECT, CREATE, EXEC, PORT, READ, STAT, UNLINK, WRITE};
use crate::evaluator::Subject;
use crate::{PROJECT, SCRATCH, SKILL, evaluator, grants, profile_of};

#[test]
fn a_skill_in_a_temporary_directory_is_read_only() {
    let (directory, data) = (Path::new("/private/tmp/skills/pdf"), "/private/tmp/data");
    let granted = grants(directory, data, &[("Read", None)]);
    let profile = profile_of(
        &granted,
        &ExecutableSet::new("/bin/sh"),
        &directory.join("run.sh"),
        ProxyAccess::None,
    )
    .unwrap();
    let evaluator = evaluator(&profile);
    let allows = |operation: &str, path: &str| evaluator.allows(operation, &Subject::path(path));
    assert!(
        allows(READ, "/private/tmp/skills/pdf/SKILL.md")
            && allows(READ, "/private/tmp/data/a")
            && allows(CREATE, "/private/tmp/new")
    );
    assert!(
        !allows(WRITE, "/private/tmp/skills/pdf/SKILL.md")
            && !allows(UNLINK, "/private/tmp/skills")
    );
    assert!(!allows(WRITE, "/private/tmp/data/a") && !allows(UNLINK, "/private/tmp/data"));
    // The system's `sh` becomes one of three shells, and nothing else.
    assert!(allows(EXEC, "/bin/bash") && allows(EXEC, "/bin/zsh") && !allows(EXEC, "/bin/ls"));
}

#[test]
fn a_nested_writable_grant_is_writable() {
    let granted = grants(
        Path::new("/skills/pdf"),
        "/skills/pdf/out",
        &[("Write", None)],
    );
    let profile = profile_of(
        &granted,
        &ExecutableSet::new("/bin/sh"),
        Path::new("/skills/pdf/run.sh"),
        ProxyAccess::None,
    )
    .unwrap();
    let evaluator = evaluator(&profile);
    let allows = |operation: &str, path: &str| evaluator.allows(operation, &Subject::path(path));
    assert!(
        allows(CREATE, "/skills/pdf/out/new")
            && !allows(CREATE, "/skills/pdf/new")
            && !allows(WRITE, "/skills/pdf/SKILL.md")
    );
}

#[test]
fn a_granted_directory_with_a_protected_name_is_writable() {
    let granted = grants(
        Path::new("/skills/pdf"),
        "/Users/me/.claude/work",
        &[("Write", None)],
    );
    let profile = profile_of(
        &granted,
        &ExecutableSet::new("/bin/sh"),
        Path::new("/skills/pdf/run.sh"),
        ProxyAccess::None,
    )
    .unwrap();
    let evaluator = evaluator(&profile);
    let allows = |path: &str| evaluator.allows(CREATE, &Subject::path(path));
    assert!(allows("/Users/me/.claude/work/out") && !allows("/Users/me/.claude/settings.json"));
    assert!(
        !allows("/Users/me/.claude/work/.claude/settings.json")
            && !allows("/Users/me/.claude/work/.git/config")
    );
}

#[test]
fn the_python_stub_becomes_the_developer_tool() {
    let granted = grants(Path::new("/skills/pdf"), SCRATCH, &[]);
    let exec = |interpreter: &str, program: &str| {
        let executable = Executable::new(interpreter)
            .exec_target("/Library/Frameworks/Python.framework/Versions/3.12/Resources/Python.app/Contents/MacOS/Python");
        let executables = ExecutableSet::new(executable);
        let profile = profile_of(
            &granted,
            &executables,
            Path::new("/skills/pdf/run.py"),
            ProxyAccess::None,
        )
        .unwrap();
        evaluator(&profile).allows(EXEC, &Subject::path(program))
    };
    let framework =
        "/Library/Developer/CommandLineTools/Library/Frameworks/Python3.framework/Versions/3.9";
    assert!(exec(
        "/usr/bin/python3",
        &format!("{framework}/bin/python3.9")
    ));
    let application = "/Library/Frameworks/Python.framework/Versions/3.12/Resources/Python.app/Contents/MacOS/Python";
    assert!(exec(
        "/Library/Frameworks/Python.framework/Versions/3.12/bin/python3.12",
        application
    ));
    assert!(
        !exec(
            "/usr/bin/python3",
            "/Library/Developer/CommandLineTools/usr/bin/git"
        ) && !exec("/usr/bin/python3", "/bin/sh")
    );
}

/// The virtual environment of a writable project, created from the Python of a version manager.
#[test]
fn a_virtual_environment_is_readable_and_never_writable() {
    let (skill, base) = (
        Path::new("/Users/me/skills/pdf"),
        "/Users/me/.pyenv/versions/3.12.4",
    );
    let python = Executable::new(format!("{base}/bin/python3.12"))
        .with_argv0("/Users/me/project/.venv/bin/python3");
    let python = ExecutableSet::new(python.readable(base).readable("/Users/me/project/.venv"));
    let granted = grants(skill, PROJECT, &[("Write", None)]);
    let evaluator = evaluator(
        &profile_of(&granted, &python, &skill.join("run.py"), ProxyAccess::None).unwrap(),
    );
    let allows = |operation: &str, path: &str| evaluator.allows(operation, &Subject::path(path));
    for path in [
        "bin/python3",
        "pyvenv.cfg",
        "lib/python3.12/site-packages/numpy/core.so",
    ] {
        let path = format!("{PROJECT}/.venv/{path}");
        assert!(
            allows(READ, &path)
                && allows("file-map-executable", &path)
                && !allows(WRITE, &path)
                && !allows(UNLINK, &path),
            "{path}"
        );
    }
    assert!(
        allows(EXEC, &format!("{base}/bin/python3.12"))
            && allows(
                "file-map-executable",
                &format!("{base}/lib/libpython3.12.dylib")
            )
    );
    assert!(
        !allows(EXEC, &format!("{base}/bin/pip")) && !allows(CREATE, &format!("{base}/lib/new.py"))
    );
    assert!(
        !allows(UNLINK, &format!("{PROJECT}/.venv"))
            && !allows(CREATE, &format!("{PROJECT}/.venv"))
            && !allows(UNLINK, PROJECT)
    );
    assert!(
        allows(STAT, "/Users/me/.pyenv")
            && !allows(READ, "/Users/me/.pyenv/version")
            && allows(CREATE, &format!("{PROJECT}/out"))
    );
}

#[test]
fn names_that_lead_to_programs_are_readable_only() {
    let homebrew =
        Executable::new("/opt/homebrew/Cellar/git/2.50/bin/git").readable("/opt/homebrew/Cellar");
    let python = Executable::new("/opt/py/bin/python3.12").with_argv0("/Users/me/bin/python3");
    let executables = ExecutableSet::new(python)
        .program("git", homebrew)
        .search_path(["/usr/bin", "/opt/homebrew/bin", "../evil"]);
    let granted = grants(
        Path::new("/skills/pdf"),
        SCRATCH,
        &[("Bash", Some("git:*"))],
    );
    let evaluator = evaluator(
        &profile_of(
            &granted,
            &executables,
            Path::new("/skills/pdf/run.py"),
            ProxyAccess::None,
        )
        .unwrap(),
    );
    let allows = |operation: &str, path: &str| evaluator.allows(operation, &Subject::path(path));
    for name in [
        "/Users/me/bin/python3",
        "/opt/homebrew/bin/git",
        "/opt/homebrew/bin",
    ] {
        assert!(
            allows(STAT, name) && !allows(READ, name) && !allows(EXEC, name),
            "{name}"
        );
    }
    assert!(
        allows(EXEC, "/opt/homebrew/Cellar/git/2.50/bin/git")
            && allows(READ, "/opt/homebrew/Cellar/git/2.50/libexec/x")
    );
    assert!(
        !allows(STAT, "/opt/homebrew/bin/brew")
            && !allows(EXEC, "/opt/homebrew/Cellar/git/2.50/bin/scalar")
    );
}

/// All but one port of the host stays closed, for every protocol; with it come certificates, and no
/// keys.
#[test]
fn granted_hosts_allow_only_the_proxy_port() {
    let granted = grants(Path::new(SKILL), PROJECT, &[("WebFetch", None)]);
    let script = Path::new(SKILL).join("run.py");
    let evaluator = evaluator(
        &profile_of(
            &granted,
            &ExecutableSet::new("/usr/bin/python3"),
            &script,
            ProxyAccess::LocalPort(PORT),
        )
        .unwrap(),
    );
    let reached =
        |address: &str, port: u16| evaluator.allows(CONNECT, &Subject::remote(address, port));
    let ports: Vec<u16> = (0..=u16::MAX)
        .filter(|port| reached("127.0.0.1", *port))
        .collect();
    assert_eq!(ports, [PORT]);
    assert!(
        [53, PORT]
            .iter()
            .all(|port| !evaluator.allows(CONNECT, &Subject::datagram("127.0.0.1", *port)))
    );
    for address in [
        "0.0.0.0",
        "10.0.0.1",
        "93.184.215.14",
        "169.254.169.254",
        "::2",
        "fe80::1",
        "2001:db8::1",
    ] {
        assert!(
            ![22, 53, 80, 443, PORT]
                .iter()
                .any(|port| reached(address, *port)),
            "{address}"
        );
    }
    for operation in ["network-bind", "network-inbound", "system-socket"] {
        assert!(
            !evaluator.allows(operation, &Subject::Nothing)
                && !evaluator.allows(operation, &Subject::remote("127.0.0.1", PORT))
        );
    }
    assert!(!evaluator.allows(CONNECT, &Subject::path("/private/var/run/mDNSResponder")));
    let reads = |path: &str| evaluator.allows(READ, &Subject::path(path));
    assert!(reads("/private/etc/ssl/cert.pem") && !reads("/private/etc/ssl/private/key.pem"));
}
