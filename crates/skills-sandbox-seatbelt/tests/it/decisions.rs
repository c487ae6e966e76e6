//! The escape attempts that every backend must answer, as decisions of profiles.

use std::collections::BTreeMap;
use std::path::Path;

use skills_sandbox::conformance::{
    AttemptResult, BackendVariant, CASES, Case, Skipped, assert_conforms,
};
use skills_sandbox_seatbelt::{Executable, ExecutableSet, ProxyAccess};

use crate::evaluator::{Evaluator, Subject};
use crate::{PROJECT, SCRATCH, SKILL, evaluator, grants, profile_of};

/// The grants of the columns: none; reading the project, in which the skill lies; writing it; all
/// programs; `git` alone; hosts behind a port.
const COLUMNS: [&[(&str, Option<&str>)]; 6] = [
    &[],
    &[("Read", None)],
    &[("Write", None)],
    &[("Bash", None)],
    &[("Bash", Some("git:*"))],
    &[("WebFetch", None)],
];
const PORT: u16 = 3128;

const READ: &str = "file-read-data";
const STAT: &str = "file-read-metadata";
const WRITE: &str = "file-write-data";
const CREATE: &str = "file-write-create";
const UNLINK: &str = "file-write-unlink";
const EXEC: &str = "process-exec";
const CONNECT: &str = "network-outbound";

/// Case, operation, path, and what each column says: `a`llowed or `d`enied.
type Row = (u8, &'static str, &'static str, &'static str);

const FILES: &[Row] = &[
    (1, READ, "/private/etc/master.passwd", "dddddd"),
    (1, READ, "/Users/me/.ssh/id_rsa", "dddddd"),
    (
        1,
        READ,
        "/System/Volumes/Data/Users/me/.ssh/id_rsa",
        "dddddd",
    ),
    (2, READ, "/opt/secret", "dddddd"),
    (2, READ, "/private/var/log/system.log", "dddddd"),
    (2, READ, "/Users/me/another/file", "dddddd"),
    (2, READ, "/Users/me/projectile", "dddddd"),
    // The linker reads the top directory: its names are seen, and nothing in it.
    (3, READ, "/", "aaaaaa"),
    (3, READ, "/Users", "dddddd"),
    (3, READ, "/Users/me", "dddddd"),
    (3, READ, "/Users/me/project/.claude/skills", "daaddd"),
    (4, READ, "/Users/me/.claude/skills/other/SKILL.md", "dddddd"),
    (
        4,
        READ,
        "/Users/me/project/.claude/skills/other/SKILL.md",
        "daaddd",
    ),
    (
        4,
        READ,
        "/Users/me/project/.claude/skills/pdf2/SKILL.md",
        "daaddd",
    ),
    (
        5,
        WRITE,
        "/Users/me/project/.claude/skills/pdf/SKILL.md",
        "dddddd",
    ),
    (
        5,
        CREATE,
        "/Users/me/project/.claude/skills/pdf/new",
        "dddddd",
    ),
    (5, UNLINK, "/Users/me/project/.claude/skills/pdf", "dddddd"),
    (
        5,
        "file-write-mode",
        "/Users/me/project/.claude/skills/pdf/scripts/run.py",
        "dddddd",
    ),
    (6, CREATE, "/usr/bin/new", "dddddd"),
    (6, WRITE, "/private/etc/hosts", "dddddd"),
    (6, CREATE, "/Users/me/new", "dddddd"),
    (6, CREATE, "/Library/LaunchAgents/new.plist", "dddddd"),
    (7, WRITE, "/Users/me/another/file", "dddddd"),
    (8, "file-write-mode", "/Users/me/another/file", "dddddd"),
    (8, "file-write-owner", "/Users/me/another/file", "dddddd"),
    (8, "file-write-times", "/Users/me/another/file", "dddddd"),
    (8, "file-write-xattr", "/Users/me/another/file", "dddddd"),
    (8, "file-write-flags", "/usr/bin/python3", "dddddd"),
    (9, STAT, "/Users/me/.ssh/id_rsa", "dddddd"),
    (9, "file-test-existence", "/Users/me/.ssh/id_rsa", "dddddd"),
    (9, "file-read-xattr", "/Users/me", "dddddd"),
    // Resolving a path looks at every directory above.
    (9, STAT, "/Users/me", "aaaaaa"),
    (10, CREATE, "/Users/me/project/src/new", "ddaddd"),
    (10, WRITE, "/Users/me/project/README.md", "ddaddd"),
    (10, UNLINK, "/Users/me/project/README.md", "ddaddd"),
    (11, READ, "/Users/me/project/README.md", "daaddd"),
    (
        11,
        CREATE,
        "/private/var/folders/ab/T/skill-x1/out",
        "aaaaaa",
    ),
    (11, READ, "/private/var/folders/ab/T/skill-x1/out", "aaaaaa"),
    (
        11,
        CREATE,
        "/private/var/folders/ab/T/skill-x2/out",
        "dddddd",
    ),
    (
        11,
        READ,
        "/Users/me/project/.claude/skills/pdf/SKILL.md",
        "aaaaaa",
    ),
    (12, "file-mknod", "/Users/me/project/device", "dddddd"),
    (
        12,
        "file-mknod",
        "/private/var/folders/ab/T/skill-x1/device",
        "dddddd",
    ),
    (13, READ, "/dev/disk0", "dddddd"),
    (13, READ, "/dev/mem", "dddddd"),
    (13, WRITE, "/dev/tty", "dddddd"),
    (13, "file-ioctl", "/dev/tty", "dddddd"),
    // No file, but a device of the name, is let through.
    (13, WRITE, "/dev/null", "dddddd"),
    // The kernel resolves `..` and links before it asks.
    (14, READ, "/Users/me/another/secret", "dddddd"),
    (15, CREATE, "/private/tmp/shared", "aaaaaa"),
    (15, READ, "/private/tmp/skills-run-other/secret", "dddddd"),
    (
        15,
        CREATE,
        "/private/tmp/skills-run-other/planted",
        "dddddd",
    ),
    (15, READ, "/private/tmp/SKILLS-RUN-other/secret", "dddddd"),
    (
        15,
        CREATE,
        "/Private/TMP/Skills-Run-other/planted",
        "dddddd",
    ),
    (16, READ, "/private/etc/passwd", "dddddd"),
    (
        17,
        READ,
        "/Users/me/Library/Keychains/login.keychain-db",
        "dddddd",
    ),
    (18, READ, "/Users/me/project-swapped/secret", "dddddd"),
    (19, "file-link", "/Users/me/another/file", "dddddd"),
    (19, "file-link", "/Users/me/project/.git/config", "dddddd"),
    (20, UNLINK, "/Users/me/another/file", "dddddd"),
    (20, CREATE, "/Users/me/another/new", "dddddd"),
    (21, WRITE, "/Users/me/project/.git/config", "dddddd"),
    (
        21,
        CREATE,
        "/Users/me/project/.git/hooks/pre-commit",
        "dddddd",
    ),
    (
        21,
        CREATE,
        "/Users/me/project/deep/below/.GIT/Hooks/pre-commit",
        "dddddd",
    ),
    (21, CREATE, "/Users/me/project/.git/commondir", "dddddd"),
    (21, CREATE, "/Users/me/project/.git/objects/ab/cd", "dddddd"),
    (21, UNLINK, "/Users/me/project/.git", "dddddd"),
    (21, CREATE, "/Users/me/project/.git", "dddddd"),
    (21, UNLINK, "/Users/me/project/.claude", "dddddd"),
    (21, UNLINK, "/Users/me/project/.claude/skills", "dddddd"),
    (21, UNLINK, "/Users/me/project", "dddddd"),
    (
        21,
        WRITE,
        "/Users/me/project/.claude/settings.json",
        "dddddd",
    ),
    (21, CREATE, "/Users/me/project/.mcp.json", "dddddd"),
    (21, CREATE, "/Users/me/project/.vscode/tasks.json", "dddddd"),
    (21, CREATE, "/Users/me/project/.bashrc", "dddddd"),
    (
        21,
        CREATE,
        "/Users/me/project/.config/fish/config.fish",
        "dddddd",
    ),
    (
        21,
        CREATE,
        "/Users/me/project/.config/app/settings",
        "ddaddd",
    ),
    (21, CREATE, "/Users/me/project/.gitignore", "ddaddd"),
    (21, CREATE, "/Users/me/project/.mcp.json.example", "ddaddd"),
    (21, UNLINK, "/Users/me/project/src", "ddaddd"),
    (
        22,
        READ,
        "/Users/me/project/.claude/skills/pdf/scripts/run.py",
        "aaaaaa",
    ),
    (22, READ, "/Users/me/link-to-pdf/scripts/run.py", "dddddd"),
    (23, "file-write-setugid", "/Users/me/project/tool", "dddddd"),
    (
        23,
        "file-write-setugid",
        "/private/var/folders/ab/T/skill-x1/tool",
        "dddddd",
    ),
    (
        24,
        CREATE,
        "/private/tmp/openskills-seatbelt-9-1.sb",
        "dddddd",
    ),
    (
        24,
        WRITE,
        "/private/tmp/openskills-seatbelt-9-1.sb",
        "dddddd",
    ),
    (
        24,
        CREATE,
        "/private/tmp/OpenSkills-Seatbelt-9-1.SB",
        "dddddd",
    ),
    (24, READ, "/tmp/openskills-seatbelt-9-1.sb", "dddddd"),
    (
        25,
        READ,
        "/Users/me/project\") (allow default) (\"",
        "dddddd",
    ),
    (35, CONNECT, "/private/var/run/mDNSResponder", "dddddd"),
    (46, CONNECT, "/abstract", "dddddd"),
    (47, CONNECT, "/private/var/run/docker.sock", "dddddd"),
    (
        47,
        CONNECT,
        "/private/tmp/com.apple.launchd.x/Listeners",
        "dddddd",
    ),
    (47, CONNECT, "/Users/me/project/socket", "dddddd"),
    (48, "network-bind", "/Users/me/project/socket", "dddddd"),
    (58, EXEC, "/opt/python/bin/python3.12", "aaaaaa"),
    (58, EXEC, "/opt/python/bin/pip", "dddddd"),
    (58, EXEC, "/bin/sh", "dddadd"),
    (58, EXEC, "/usr/bin/git", "dddaad"),
    (
        58,
        EXEC,
        "/Library/Developer/CommandLineTools/usr/bin/git",
        "dddaad",
    ),
    (58, EXEC, "/usr/bin/osascript", "dddadd"),
    (
        58,
        EXEC,
        "/Users/me/project/.claude/skills/pdf/tool",
        "dddadd",
    ),
    (58, EXEC, "/Users/me/project/dropped", "dddddd"),
    (
        58,
        EXEC,
        "/private/var/folders/ab/T/skill-x1/dropped",
        "dddddd",
    ),
    (58, EXEC, "/private/tmp/dropped", "dddddd"),
    (
        58,
        "file-map-executable",
        "/private/tmp/dropped.dylib",
        "dddddd",
    ),
    (
        58,
        "file-map-executable",
        "/Users/me/project/dropped.dylib",
        "dddddd",
    ),
    (
        58,
        "file-map-executable",
        "/Users/me/project/.claude/skills/pdf/scripts/native.so",
        "aaaaaa",
    ),
    (
        58,
        "file-map-executable",
        "/opt/python/lib/python3.12/lib-dynload/math.so",
        "aaaaaa",
    ),
];

/// Case, address, port, and what each column says of a connection.
const CONNECTIONS: &[(u8, &str, u16, &str)] = &[
    (32, "127.0.0.1", 8080, "dddddd"),
    (32, "127.0.0.1", PORT, "ddddda"),
    (32, "192.168.1.2", PORT, "dddddd"),
    (33, "8.8.8.8", 443, "dddddd"),
    (35, "8.8.8.8", 53, "dddddd"),
    (35, "127.0.0.1", 53, "dddddd"),
    (36, "::1", 8080, "dddddd"),
    (36, "::ffff:127.0.0.1", 8080, "dddddd"),
    (37, "169.254.169.254", 80, "dddddd"),
    (37, "fd00:ec2::254", 80, "dddddd"),
];

/// Case, operation, name of what it is done to, and what each column says; no name stands for
/// nothing in particular.
const OTHERS: &[Row] = &[
    (33, "system-socket", "", "dddddd"),
    (34, "network-bind", "", "dddddd"),
    (34, "network-inbound", "", "dddddd"),
    (35, "mach-lookup", "com.apple.dnssd.service", "dddddd"),
    (35, "mach-lookup", "com.apple.trustd.agent", "dddddd"),
    (48, "system-socket", "", "dddddd"),
    (58, "process-fork", "", "dddaad"),
    (
        58,
        "mach-lookup",
        "com.apple.coreservices.launchservicesd",
        "dddddd",
    ),
    (
        58,
        "mach-lookup",
        "com.apple.system.opendirectoryd.libinfo",
        "aaaaaa",
    ),
    (58, "mach-register", "com.example.service", "dddddd"),
    (58, "sysctl-read", "kern.ostype", "aaaaaa"),
    (58, "sysctl-read", "kern.procargs2.1", "dddddd"),
    (58, "sysctl-write", "kern.ostype", "dddddd"),
    (58, "iokit-open", "", "dddddd"),
    (58, "ipc-posix-shm", "", "dddddd"),
    (58, "ipc-posix-sem", "", "aaaaaa"),
];

fn columns() -> Vec<Evaluator> {
    let python = Executable::new("/opt/python/bin/python3.12").readable("/opt/python");
    let executables = ExecutableSet::new(python).program("git", "/usr/bin/git");
    let script = Path::new(SKILL).join("scripts/run.py");
    let column = |tools: &&[(&str, Option<&str>)]| {
        let network = if tools.iter().any(|(tool, _)| *tool == "WebFetch") {
            ProxyAccess::LocalPort(PORT)
        } else {
            ProxyAccess::None
        };
        let profile = profile_of(
            &grants(Path::new(SKILL), PROJECT, tools),
            &executables,
            &script,
            network,
        )
        .unwrap();
        evaluator(&profile)
    };
    COLUMNS.iter().map(column).collect()
}

/// What each column says: `a`llowed or `d`enied.
fn decided(columns: &[Evaluator], operation: &str, subject: &Subject) -> String {
    columns
        .iter()
        .map(|column| {
            if column.allows(operation, subject) {
                'a'
            } else {
                'd'
            }
        })
        .collect()
}

fn check<'a>(rows: impl IntoIterator<Item = (u8, &'a str, Subject, &'a str)>) {
    let columns = columns();
    let mut wrong = Vec::new();
    for (case, operation, subject, expected) in rows {
        let found = decided(&columns, operation, &subject);
        if found != expected {
            wrong.push(format!(
                "case {case}: {operation} {subject:?}: {found}, not {expected}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_rows() {
    check(rows());
}

#[test]
fn devices_and_processes() {
    check([
        (13, WRITE, Subject::device("/dev/null"), "aaaaaa"),
        (13, READ, Subject::device("/dev/urandom"), "aaaaaa"),
        (13, WRITE, Subject::device("/dev/urandom"), "dddddd"),
        (13, READ, Subject::device("/dev/disk0"), "dddddd"),
    ]);
    for operation in ["signal", "process-info-pidinfo"] {
        check([(
            58,
            operation,
            Subject::Process {
                is_in_same_sandbox: true,
            },
            "aaaaaa",
        )]);
        check([(
            58,
            operation,
            Subject::Process {
                is_in_same_sandbox: false,
            },
            "dddddd",
        )]);
    }
}

/// All rows, with what they are about.
fn rows() -> Vec<(u8, &'static str, Subject, &'static str)> {
    let subject = |name: &str| {
        if name.is_empty() {
            Subject::Nothing
        } else {
            Subject::name(name)
        }
    };
    let files = FILES.iter().map(|(case, operation, path, expected)| {
        (*case, *operation, Subject::path(*path), *expected)
    });
    let connections = CONNECTIONS.iter().map(|(case, address, port, expected)| {
        (*case, CONNECT, Subject::remote(address, *port), *expected)
    });
    let others = OTHERS
        .iter()
        .map(|(case, operation, name, expected)| (*case, *operation, subject(name), *expected));
    files.chain(connections).chain(others).collect()
}

/// What the rows of a case come to, when the profiles decide as they say; else what is wrong.
fn answer(case: &Case, columns: &[Evaluator]) -> Result<AttemptResult, Skipped> {
    if case.expected(BackendVariant::Seatbelt) == [AttemptResult::NotApplicable] {
        return Ok(AttemptResult::NotApplicable);
    }
    let own: Vec<_> = rows()
        .into_iter()
        .filter(|row| row.0 == case.number)
        .collect();
    let (right, wrong, verdicts) = match case.number {
        11 | 22 => (AttemptResult::Succeeded, AttemptResult::Denied, "a"),
        3 | 15 => (AttemptResult::Reported, AttemptResult::Succeeded, "ad"),
        24 | 25 => (AttemptResult::NoEffect, AttemptResult::Succeeded, "d"),
        // What is left for the host is not the profile's to say.
        23 => {
            return Err(Skipped {
                reason: "macOS".to_owned(),
            });
        }
        _ if own.is_empty() => {
            return Err(Skipped {
                reason: "macOS".to_owned(),
            });
        }
        _ => (AttemptResult::Denied, AttemptResult::Succeeded, "d"),
    };
    let is_decided = verdicts
        .chars()
        .all(|verdict| own.iter().any(|row| row.3.contains(verdict)));
    let is_right = own
        .iter()
        .all(|(_, operation, subject, expected)| decided(columns, operation, subject) == *expected);
    Ok(if is_decided && is_right { right } else { wrong })
}

/// The column of the table that all backends share, as far as profiles decide it; the rest waits
/// for a Mac.
#[test]
fn the_profile_conforms() {
    let columns = columns();
    let mut answers: BTreeMap<u8, Result<AttemptResult, Skipped>> = CASES
        .iter()
        .map(|case| (case.number, answer(case, &columns)))
        .collect();
    let is_right = |case: &&Case| !matches!(&answers[&case.number], Ok(answer) if !case.expected(BackendVariant::Seatbelt).contains(answer));
    let decides = CASES
        .iter()
        .filter(|case| case.name != "profile-decides")
        .all(|case| is_right(&case));
    answers.insert(
        100,
        Ok(if decides {
            AttemptResult::Succeeded
        } else {
            AttemptResult::Denied
        }),
    );
    let skipped = answers.values().filter(|answer| answer.is_err()).count();
    skills_test_support::skip_part(format!("{skipped} cases of the table"), "they need macOS");
    assert_conforms(BackendVariant::Seatbelt, &answers);
}

#[test]
fn a_skill_in_a_temporary_directory_is_read_only_all_the_same() {
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
fn what_is_granted_further_down_may_be_written() {
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
fn a_directory_that_is_called_like_something_protected_may_be_written() {
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
fn a_python_of_the_system_becomes_the_one_behind_it() {
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

/// The virtual environment of a project that may be written, made from a Python of a version
/// manager.
#[test]
fn a_virtual_environment_is_read_and_never_written() {
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
fn names_that_lead_to_programs_are_looked_at_and_no_more() {
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

/// All but one port of this machine stays closed, to every protocol; with it come certificates, and
/// no keys.
#[test]
fn hosts_open_one_port_and_nothing_else() {
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
