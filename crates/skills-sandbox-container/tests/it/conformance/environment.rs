//! Variables, secrets, descriptors, terminals: cases 68 to 74.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use skills_sandbox_conformance::attempts::{
    DESCRIPTORS, DOCUMENTED_VARIABLES, HOST_VARIABLES, TERMINALS, attempts_of,
};
use skills_sandbox_conformance::{AttemptResult, Observations};
use skills_sandbox_container::ContainerSandbox;
use skills_test_support::host_process::marked_lines;
use skills_test_support::scene::syscall_numbers;
use skills_test_support::{host, skip_part};

use super::attempts::{create_scene, python, sandbox, script, split_off};
use super::host as host_process;
use crate::skill::Skill;

pub(crate) async fn observe(observations: &mut Observations) {
    host_variables(observations);
    engine_variables(observations).await;
    skill_variables(observations).await;
    descriptors_and_terminals(observations).await;
    sequences(observations).await;
}

/// Prints the variables of the script, and those of the first process if they are readable.
pub(crate) const PRINT_VARIABLES: &str = "import os
for name in os.environ: print(name + '=' + os.environ[name])
try: print('FIRST=' + repr(open('/proc/1/environ').read()))
except OSError: pass
";

/// Variables that engines add to those of the sandbox: of the image, and of containers.
const OF_ENGINES: [&str; 3] = ["HOSTNAME", "container", "LC_CTYPE"];

fn check_variables(observations: &mut Observations, lines: &[String]) {
    assert!(
        lines.iter().any(|line| line.starts_with("HOME=")),
        "{lines:?}"
    );
    for line in lines {
        let (name, value) = line.split_once('=').unwrap_or_default();
        let is_known = DOCUMENTED_VARIABLES.contains(&name) || OF_ENGINES.contains(&name);
        // Engines would set their own proxy.
        let is_emptied = name.to_lowercase().ends_with("_proxy") && value.is_empty();
        let is_so = (is_known || is_emptied) && !line.contains("canary");
        observations.check(68, line, AttemptResult::Denied, is_so);
    }
}

fn host_variables(observations: &mut Observations) {
    let mut command = host_process::command("environment");
    for name in HOST_VARIABLES {
        command.env(name, "/canary-value");
    }
    let output = command.output().unwrap();
    let lines = marked_lines(&String::from_utf8(output.stdout).unwrap());
    check_variables(observations, &lines);
}

/// An engine of this test, whose environment has a proxy with a password.
struct OwnEngine {
    service: Child,
    socket: PathBuf,
}

impl OwnEngine {
    fn start(skill: &Skill) -> Result<Self, String> {
        let podman = host::program("podman")?;
        let socket = skill.path("outside/engine.sock");
        let mut command = Command::new(podman);
        command.args(["--runtime", "runc", "system", "service", "--time", "0"]);
        command.arg(format!("unix://{}", socket.display()));
        for name in [
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "http_proxy",
            "https_proxy",
            "ALL_PROXY",
        ] {
            command.env(name, "http://user:canary@192.0.2.1:3128");
        }
        command.env("SECRET_OF_ENGINE", "canary");
        let service = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let engine = Self { service, socket };
        for _ in 0..100 {
            if std::os::unix::net::UnixStream::connect(&engine.socket).is_ok() {
                return Ok(engine);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err("podman does not listen".to_owned())
    }
}

impl Drop for OwnEngine {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

async fn engine_variables(observations: &mut Observations) {
    let skill = create_scene();
    let engine = match OwnEngine::start(&skill) {
        Ok(engine) => engine,
        Err(reason) => return skip_part("the environment of an engine", reason),
    };
    let (_, image) = host::container_engine().unwrap();
    let scratch = skill.path("scratch");
    let sandbox = ContainerSandbox::new(&engine.socket, image.parse().unwrap(), scratch);
    let output = skill
        .run(&sandbox, skill.job("main.py", PRINT_VARIABLES))
        .await;
    let lines: Vec<String> = output.stdout.text().lines().map(str::to_owned).collect();
    check_variables(observations, &lines);
}

async fn skill_variables(observations: &mut Observations) {
    let skill = create_scene();
    observations.check_unsafe_variables(&skill.path("skill"));
    // Variables that the backend sets cannot be replaced.
    let job = skill.job("main.sh", "echo \"$PATH $HOME $TMPDIR $PYTHONNOUSERSITE\"");
    let job = ["PATH", "HOME", "TMPDIR", "PYTHONNOUSERSITE"]
        .iter()
        .fold(job, |job, name| job.env(*name, "/evil"));
    let stdout = skill.run(&sandbox(&skill), job).await.stdout.text();
    let is_kept = stdout.contains("/usr/bin") && !stdout.contains("/evil");
    observations.check(69, &stdout, AttemptResult::Denied, is_kept);
}

async fn descriptors_and_terminals(observations: &mut Observations) {
    // A host process that leaks descriptors without close-on-exec.
    let secret = File::open("/etc/hosts").unwrap();
    let (reader, writer) = nix::unistd::pipe().unwrap();
    let leaked = nix::unistd::dup(&secret).unwrap();
    let pty = nix::pty::openpty(None, None).unwrap();
    let skill = create_scene();
    let mut attempts: Vec<(u8, String)> = (3..1_024)
        .map(|number| (70, format!("os.fstat({number})")))
        .collect();
    attempts.extend(
        attempts_of(TERMINALS)
            .into_iter()
            .map(|(case, code)| (case, code.to_owned())),
    );
    let prelude = format!("{}{DESCRIPTORS}", syscall_numbers());
    let (tried, _) = python(&skill, &prelude, &attempts).await;
    // The engine mounts the null device over the list of keys.
    let (keys, tried) = split_off(tried, &["open('/proc/keys')"]);
    let has_keys = keys[0].result.as_ref().is_ok_and(|text| text != "''");
    observations.check(74, &format!("{keys:?}"), AttemptResult::Denied, !has_keys);
    observations.check_denied(&tried);
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
    drop((leaked, reader, writer));
}

async fn sequences(observations: &mut Observations) {
    let skill = create_scene();
    let bytes = b"\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m\r\n\x1b]52;c;ZXZpbA==\x07\xc2\x9b31m";
    let text = format!(
        "import sys\nfor stream in [sys.stdout, sys.stderr]: stream.buffer.write(bytes({bytes:?}))"
    );
    let output = script(&skill, &text).await;
    observations.check(
        73,
        &format!("{:?}", output.stdout.text()),
        AttemptResult::Succeeded,
        output.stdout.head() == bytes && output.stderr.head() == bytes,
    );
}
