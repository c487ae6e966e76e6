//! Variables, secrets, descriptors, terminals: cases 68 to 74.

use std::fs::File;
use std::io::ErrorKind;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use skills_sandbox_conformance::AttemptResult;
use skills_sandbox_conformance::attempts::{
    DESCRIPTORS, DOCUMENTED_VARIABLES, HOST_VARIABLES, TERMINALS, attempts_of,
};
use skills_test_support::host_process::marked_lines;
use skills_test_support::scene::syscall_numbers;

use super::attempts::{node, python, shell};
use super::host;
use super::observations::Observations;
use super::scene::{create_scene, has_node};

pub(crate) async fn run(observations: &mut Observations) {
    host_variables(observations);
    skill_variables(observations).await;
    descriptors(observations).await;
    terminals(observations).await;
    sequences(observations).await;
    observations.finish_group("environment");
}

fn host_variables(observations: &mut Observations) {
    let mut command = host::command("environment", observations.mode);
    HOST_VARIABLES.iter().for_each(|name| {
        command.env(name, "/canary-value");
    });
    let lines = marked_lines(&String::from_utf8(command.output().unwrap().stdout).unwrap());
    assert!(
        lines.iter().any(|line| line.starts_with("HOME=")),
        "{lines:?}"
    );
    for line in &lines {
        let name = line
            .trim_start_matches("declare -x ")
            .trim_start_matches("export ")
            .split('=')
            .next()
            .unwrap_or_default();
        observations.check(
            68,
            line,
            AttemptResult::Denied,
            DOCUMENTED_VARIABLES.contains(&name) && !line.contains("canary"),
        );
    }
}

async fn skill_variables(observations: &mut Observations) {
    let skill = create_scene(observations.mode);
    observations.check_unsafe_variables(&skill.path("skill"));
    // Variables that the backend sets cannot be replaced.
    let job = skill.job("main.sh", "echo \"$PATH $HOME $TMPDIR $PYTHONNOUSERSITE\"");
    let job = ["PATH", "HOME", "TMPDIR", "PYTHONNOUSERSITE"]
        .iter()
        .fold(job, |job, name| job.env(*name, "/evil"));
    let stdout = skill.run(job).await.stdout.text();
    observations.check(
        69,
        &stdout,
        AttemptResult::Denied,
        stdout.contains("/usr/bin") && !stdout.contains("/evil"),
    );
}

async fn descriptors(observations: &mut Observations) {
    // A host process that leaks descriptors without close-on-exec.
    let secret = File::open("/etc/hosts").unwrap();
    let (reader, writer) = nix::unistd::pipe().unwrap();
    let leaked = nix::unistd::dup(&secret).unwrap();
    let skill = create_scene(observations.mode);
    let numbers = (3..1_024)
        .map(|number| (70, format!("os.fstat({number})")))
        .collect::<Vec<_>>();
    let (tried, _) = python(&skill, "", &numbers).await;
    observations.check_denied(&tried);
    // bash opens the script itself as descriptor 255.
    let numbers: Vec<(u8, String)> = (3..200)
        .map(|number| (70, format!(": <&{number} || : >&{number}")))
        .collect();
    observations.check_denied(&shell(&skill, &numbers).await);
    if has_node() {
        let found = secret.metadata().unwrap();
        let code = format!(
            "(() => {{ for (let fd = 3; fd < 1024; fd++) {{ let s; try {{ s = fs.fstatSync(fd); }} catch {{ continue; }} \
             if (s.isFile() && s.dev === {} && s.ino === {}) return fd; }} fs.statSync('/nowhere'); }})()",
            found.dev(),
            found.ino()
        );
        observations.check_denied(&node(&skill, &[(70, code)]).await);
    }
    drop((leaked, reader, writer));
}

async fn terminals(observations: &mut Observations) {
    let pty = nix::pty::openpty(None, None).unwrap();
    let skill = create_scene(observations.mode);
    let attempts = attempts_of(TERMINALS);
    let prelude = format!("{}{DESCRIPTORS}", syscall_numbers());
    let (tried, _) = python(&skill, &prelude, &attempts).await;
    observations.check_denied(&tried);
    observations.check_denied(
        &shell(
            &skill,
            &[
                (71, "[ -t 0 ]"),
                (71, "[ -t 1 ]"),
                (71, "{ echo x > /dev/tty; } 2> /dev/null"),
            ],
        )
        .await,
    );
    fcntl(&pty.master, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
    fcntl(&pty.slave, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
    for end in &mut [pty.master, pty.slave].map(File::from) {
        let received = end.read(&mut [0; 16]).map_err(|error| error.kind());
        observations.check(
            72,
            &format!("{received:?} was written to the terminal"),
            AttemptResult::Denied,
            received == Err(ErrorKind::WouldBlock),
        );
    }
}

async fn sequences(observations: &mut Observations) {
    let skill = create_scene(observations.mode);
    let bytes =
        "\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m\r\n\x1b]52;c;ZXZpbA==\x07\u{9b}31m\u{202e}";
    let script = format!("import sys\nsys.stdout.buffer.write({bytes:?}.encode())\nsys.stderr.buffer.write({bytes:?}.encode())")
        .replace("\\u{1b}", "\\x1b");
    let script = script
        .replace("\\u{7}", "\\x07")
        .replace("\\u{9b}", "\\x9b")
        .replace("\\u{202e}", "\\u202e");
    let output = skill.python(&script).await;
    let is_same =
        output.stdout.head() == bytes.as_bytes() && output.stderr.head() == bytes.as_bytes();
    observations.check(
        73,
        &format!("{:?}", output.stdout.text()),
        AttemptResult::Succeeded,
        is_same,
    );
}
