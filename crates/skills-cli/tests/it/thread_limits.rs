//! Commands of a user that may not start threads.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use skills_test_support::{host, skip};

use crate::skills::binary;

/// How long a command may take, which waits for nothing.
const PATIENCE: Duration = Duration::from_secs(60);
/// The limits of processes that are tried, with the command itself.
const LIMITS: std::ops::RangeInclusive<u32> = 1..=12;

/// A user that has no other process, so that its limit is that of one command.
struct LimitedUser {
    setpriv: PathBuf,
    prlimit: PathBuf,
    user: u32,
    home: tempfile::TempDir,
}

impl LimitedUser {
    /// Prepares a user with the command and a skill; `None` if this user starts no process of
    /// another one.
    #[track_caller]
    fn new(user: u32) -> Option<Self> {
        let (setpriv, prlimit) = match (host::program("setpriv"), host::program("prlimit")) {
            (Ok(setpriv), Ok(prlimit)) => (setpriv, prlimit),
            (Err(reason), _) | (_, Err(reason)) => {
                skip(reason);
                return None;
            }
        };
        let home = tempfile::tempdir().unwrap();
        let limited = Self {
            setpriv,
            prlimit,
            user,
            home,
        };
        std::fs::copy(binary(), limited.home().join("skills")).unwrap();
        let scripts = limited.home().join("source/notes/scripts");
        std::fs::create_dir_all(&scripts).unwrap();
        let text = "---\nname: notes\ndescription: Writes notes.\n---\nWrite.\n";
        std::fs::write(scripts.with_file_name("SKILL.md"), text).unwrap();
        std::fs::write(scripts.join("run.sh"), "echo written\n").unwrap();
        let output = limited.command("100", &["true"]).output().unwrap();
        if String::from_utf8_lossy(&output.stderr).starts_with("setpriv: ") {
            skip("only root starts processes of another user");
            return None;
        }
        // Files of another user are not trusted.
        let status = Command::new("chown")
            .arg("--recursive")
            .arg(format!("{user}:{user}"))
            .arg(limited.home())
            .status();
        assert!(status.unwrap().success());
        Some(limited)
    }

    fn home(&self) -> &Path {
        self.home.path()
    }

    /// Prepares a program that runs as the user, with at most this number of processes.
    fn command(&self, limit: &str, program: &[&str]) -> Command {
        let mut command = Command::new(&self.setpriv);
        let user = self.user.to_string();
        command
            .args(["--reuid", &user, "--regid", &user, "--clear-groups"])
            .arg(&self.prlimit)
            .arg(format!("--nproc={limit}"))
            .args(program)
            .current_dir(self.home())
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the command with each of the limits, and checks that it ends without a panic. Returns
    /// its exit codes.
    #[track_caller]
    fn run_with_limits(&self, arguments: &[&str]) -> Vec<i32> {
        let run = |limit: u32| {
            let command = [&["./skills"], arguments].concat();
            let mut command = self.command(&limit.to_string(), &command);
            let output = wait(command.spawn().unwrap());
            let code = output.status.code();
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(!text.contains("panicked"), "{limit}: {text}");
            let code = code.filter(|code| *code != 101);
            let code = code.unwrap_or_else(|| panic!("{limit}: {}: {text}", output.status));
            if code != 0 {
                assert!(text.starts_with("error: "), "{limit}: {text}");
                let expected = if arguments[0] == "run" { 125 } else { 1 };
                assert_eq!(code, expected, "{limit}: {text}");
                // Git starts processes of its own, and says itself that it cannot.
                let is_refused = text.contains("cannot start ") || text.contains("sandbox");
                let help = "\nhelp: raise the limit of processes";
                assert_eq!(text.contains(help), is_refused, "{limit}: {text}");
                assert!(limit > 1 || is_refused, "{limit}: {text}");
            }
            code
        };
        LIMITS.map(run).collect()
    }
}

/// Waits until a process has ended, and kills it if it does not.
#[track_caller]
fn wait(mut child: Child) -> Output {
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("it does not end: {:?}", child.wait_with_output().unwrap());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn a_server_that_cannot_start_threads_ends_with_one_line() {
    let Some(user) = LimitedUser::new(64_917) else {
        return;
    };
    let codes = user.run_with_limits(&["mcp"]);
    assert_eq!(codes[..2], [1, 1], "a server needs more than two threads");
    assert_eq!(codes.last(), Some(&0));
}

#[test]
fn commands_that_cannot_start_threads_do_not_panic() {
    let Some(user) = LimitedUser::new(64_918) else {
        return;
    };
    let listed = user.run_with_limits(&["list", "--root", "source"]);
    assert!(listed.iter().all(|code| *code == 0), "{listed:?}");
    let validated = user.run_with_limits(&["validate", "source/notes"]);
    assert!(validated.iter().all(|code| *code == 0), "{validated:?}");
    let ran = user.run_with_limits(&["run", "notes", "--root", "source", "--yes"]);
    assert_eq!(ran[0], 125, "a run needs a thread");
}

#[test]
fn an_installation_that_cannot_start_threads_does_not_panic() {
    let Some(user) = LimitedUser::new(64_919) else {
        return;
    };
    if let Err(reason) = host::program("git") {
        return skip(reason);
    }
    let script = "cd source && git init --quiet . && git add . && \
        git -c user.name=a -c user.email=a@a.example commit --quiet --message=a";
    let made = user.command("100", &["sh", "-c", script]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let source = format!("git+{}/source", user.home().display());
    let added = user.run_with_limits(&["add", &source, "--to", "user", "--yes"]);
    assert_eq!(added[0], 1, "an installation needs a thread");
}

#[test]
fn a_server_whose_limit_is_reached_later_answers_and_ends() {
    let Some(user) = LimitedUser::new(64_920) else {
        return;
    };
    let mut child = user
        .command("100", &["./skills", "mcp", "--root", "source"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = channel();
    std::thread::spawn(move || output.lines().try_for_each(|line| sender.send(line)));
    let mut ask = |child: &mut Child, id: u32, method: &str, params: Value| {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(input, "{message}").unwrap();
        loop {
            let Ok(line) = lines.recv_timeout(PATIENCE) else {
                child.kill().unwrap();
                panic!("no answer to {method}");
            };
            let answer: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if answer["id"] == json!(id) {
                return answer;
            }
        }
    };
    let client = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a", "version": "1"},
    });
    assert!(ask(&mut child, 1, "initialize", client)["result"].is_object());
    // By the user itself: root of a container may not change it.
    let (prlimit, server) = (user.prlimit.to_str().unwrap(), child.id().to_string());
    let lower = [prlimit, "--pid", &server, "--nproc=1"];
    let lowered = user.command("100", &lower).output().unwrap();
    assert!(lowered.status.success(), "{lowered:?}");
    let load = json!({"name": "load_skill", "arguments": {"name": "notes"}});
    let loaded = ask(&mut child, 2, "tools/call", load);
    assert!(loaded.to_string().contains("Write."), "{loaded}");
    let run = json!({"name": "run_skill", "arguments": {"name": "notes"}});
    let ran = ask(&mut child, 3, "tools/call", run);
    assert!(ran.get("result").or(ran.get("error")).is_some(), "{ran}");
    assert!(ask(&mut child, 4, "ping", json!({}))["result"].is_object());
    drop(input);
    let output = wait(child);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!text.contains("panicked"), "{text}");
    assert_eq!(output.status.code(), Some(0), "{text}");
}
