//! Output of programs while they run, and programs that are asked to end.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Stdio};

use nix::sys::signal::Signal;
use skills_test_support::{SkillTree, skip_part, skip_without_sandbox};

use crate::skills::command;
use skills_test_support::host::is_ignored;

/// Starts a skill with one script, with pipes for all streams.
fn start(tree: &SkillTree, script: &str) -> Child {
    start_with(tree, script, &[])
}

fn start_with(tree: &SkillTree, script: &str, options: &[&str]) -> Child {
    tree.skill("one", "").script("one", "main.py", script);
    let root = tree.path("skills").display().to_string();
    let scratch = tree.path("scratch");
    std::fs::create_dir_all(&scratch).unwrap();
    command(
        &[&["run", "one", "--root", &root], options].concat(),
        &scratch,
    )
    .stdin(Stdio::piped())
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap()
}

fn text(mut reader: impl Read) -> String {
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    text
}

/// The program waits for an answer to what it printed, which it gets only if that was shown.
#[test]
fn output_comes_while_the_program_runs() {
    if skip_without_sandbox() {
        return;
    }
    let tree = SkillTree::new("skills/");
    let mut child = start(
        &tree,
        "import sys\n\
         print('name?', flush=True)\n\
         print('still here', file=sys.stderr, flush=True)\n\
         print('hello', sys.stdin.readline().strip())\n",
    );
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    stderr.read_line(&mut line).unwrap();
    assert_eq!(line, "name?\nstill here\n");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"Ada\n").unwrap();
    assert_eq!(text(stdout), "hello Ada\n");
    assert_eq!(text(stderr), "--- end of program output ---\n");
    assert!(child.wait().unwrap().success());
}

/// As in `skills run one | head -1`. Without the signal the program would write for ever.
#[test]
fn a_closed_pipe_ends_the_program_that_writes_to_it() {
    if skip_without_sandbox() {
        return;
    }
    let tree = SkillTree::new("skills/");
    let mut child = start(
        &tree,
        "import signal, sys\n\
         signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n\
         while True: sys.stdout.write('line\\n')\n",
    );
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    drop(stdout);
    assert!(text(child.stderr.take().unwrap()).contains("killed by signal 13"));
    assert!(!child.wait().unwrap().success());
}

#[test]
fn an_interrupted_program_can_clean_up() {
    if skip_without_sandbox() {
        return;
    }
    let tree = SkillTree::new("skills/");
    let mut child = start(
        &tree,
        "import signal, sys, time\n\
         def clean(*_):\n    print('cleaned', flush=True)\n    sys.exit(0)\n\
         signal.signal(signal.SIGTERM, clean)\n\
         print('ready', flush=True)\n\
         while True: time.sleep(1)\n",
    );
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let pid = i32::try_from(child.id()).unwrap();
    // A shell in the background makes its children ignore SIGINT.
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(pid),
        nix::sys::signal::Signal::SIGTERM,
    )
    .unwrap();
    assert_eq!(text(stdout), "cleaned\n");
    assert!(text(child.stderr.take().unwrap()).contains("`one` was interrupted"));
    assert!(!child.wait().unwrap().success());
}

/// A full disk below standard output loses neither the output files nor the end of the report.
#[test]
fn output_files_are_saved_although_the_output_cannot_be_printed() {
    if skip_without_sandbox() {
        return;
    }
    let tree = SkillTree::new("skills/");
    tree.skill("one", "").script(
        "one",
        "main.py",
        "print('shown')\nopen('kept.txt', 'w').write('kept')\n",
    );
    let (root, saved) = (tree.path("skills"), tree.path("saved"));
    let scratch = tree.path("scratch");
    std::fs::create_dir_all(&scratch).unwrap();
    let arguments = [
        "run",
        "one",
        "--root",
        root.to_str().unwrap(),
        "--output",
        saved.to_str().unwrap(),
    ];
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = command(&arguments, &scratch)
        .stdin(Stdio::null())
        .stdout(full)
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(stderr.contains("cannot print all output"), "{stderr}");
    assert_eq!(
        std::fs::read_to_string(saved.join("kept.txt")).unwrap(),
        "kept"
    );
}

/// The program leads a session of its own, and so can its children. A signal of the program itself to
/// the first process has no effect.
#[test]
fn all_processes_of_an_interrupted_run_can_clean_up() {
    if skip_without_sandbox() {
        return;
    }
    let tree = SkillTree::new("skills/");
    let mut child = start_with(
        &tree,
        "import os, signal, sys, time\n\
         try: os.kill(os.getppid(), signal.SIGTERM) if os.getppid() == 1 else None\n\
         except PermissionError: pass\n\
         def clean(*_):\n    \
             os.write(1, (name + ' cleaned\\n').encode())\n    \
             if name == 'program': os.wait()\n    \
             os._exit(0)\n\
         name = 'program'\n\
         signal.signal(signal.SIGTERM, clean)\n\
         reader, writer = os.pipe()\n\
         if os.fork() == 0:\n    \
             try: os.setsid()\n    \
             except PermissionError: pass\n    \
             name = 'child'\n    \
             os.write(writer, b'x')\n    \
             time.sleep(60)\n\
         os.read(reader, 1)\n\
         print('ready', flush=True)\n\
         os.wait()\n\
         time.sleep(60)\n",
        &["--allow", "spawn"],
    );
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n", "{}", text(child.stderr.take().unwrap()));
    let pid = i32::try_from(child.id()).unwrap();
    let signal = nix::sys::signal::Signal::SIGTERM;
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).unwrap();
    let rest = text(stdout);
    let mut lines: Vec<&str> = rest.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["child cleaned", "program cleaned"]);
    child.wait().unwrap();
}

/// Starts a skill and waits for the first line of its program.
fn start_ready(
    tree: &SkillTree,
    script: &str,
    options: &[&str],
) -> (Child, BufReader<ChildStdout>) {
    let mut child = start_with(tree, script, options);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n", "{}", text(child.stderr.take().unwrap()));
    (child, stdout)
}

fn send(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).unwrap();
}

/// The program gets the signal of the command. That it exits with success, or with the code of a
/// deadline, changes neither the code nor the line of the command.
#[test]
fn a_program_gets_the_signal_of_the_command() {
    if skip_without_sandbox() {
        return;
    }
    for (signal, code) in [
        (Signal::SIGINT, 130),
        (Signal::SIGTERM, 143),
        (Signal::SIGHUP, 129),
    ] {
        if is_ignored(signal as u32) {
            skip_part(signal, "the process that started the tests ignores it");
            continue;
        }
        for of_program in [0, 124] {
            let tree = SkillTree::new("skills/");
            let script = format!(
                "import signal, sys, time\n\
                 def clean(number, _):\n    \
                     print(signal.Signals(number).name, flush=True)\n    \
                     sys.exit({of_program})\n\
                 for number in signal.SIGHUP, signal.SIGINT, signal.SIGTERM:\n    \
                     signal.signal(number, clean)\n\
                 print('ready', flush=True)\n\
                 while True: time.sleep(0.01)\n"
            );
            let (mut child, stdout) = start_ready(&tree, &script, &["--grace", "30"]);
            send(&child, signal);
            assert_eq!(text(stdout), format!("{signal}\n"));
            let errors = text(child.stderr.take().unwrap());
            assert!(
                errors.contains("error: `one` was interrupted\n"),
                "{errors}"
            );
            assert_eq!(child.wait().unwrap().code(), Some(code), "{errors}");
        }
    }
}

/// A program that ignores the first signal, which starts processes and prints meanwhile.
const UNWILLING: &str = "import os, signal, sys, time\n\
    for number in signal.SIGHUP, signal.SIGINT, signal.SIGTERM:\n    \
        signal.signal(number, signal.SIG_IGN)\n\
    print('ready', flush=True)\n\
    while True:\n    \
        try:\n        \
            if os.fork() == 0: os._exit(0)\n        \
            os.wait()\n    \
        except OSError: pass\n    \
        print('more')\n";

#[test]
fn a_second_signal_ends_a_program_at_once() {
    if skip_without_sandbox() {
        return;
    }
    let tree = SkillTree::new("skills/");
    let options = ["--allow", "spawn", "--grace", "60", "--timeout", "600"];
    let (mut child, stdout) = start_ready(&tree, UNWILLING, &options);
    let reader = std::thread::spawn(move || text(stdout));
    let started = std::time::Instant::now();
    send(&child, Signal::SIGTERM);
    // Equal signals that are pending become one.
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none());
    send(&child, Signal::SIGTERM);
    let errors = text(child.stderr.take().unwrap());
    assert_eq!(child.wait().unwrap().code(), Some(143), "{errors}");
    assert!(started.elapsed() < std::time::Duration::from_secs(20));
    assert!(
        errors.contains("error: `one` was interrupted\n"),
        "{errors}"
    );
    reader.join().unwrap();
}

#[test]
fn a_program_that_ignores_signals_is_killed_after_the_grace() {
    if skip_without_sandbox() {
        return;
    }
    for options in [
        &["--allow", "spawn", "--grace", "0.3"][..],
        &["--allow", "spawn", "--grace", "0"],
        // The default.
        &["--allow", "spawn"],
    ] {
        let tree = SkillTree::new("skills/");
        let options = [options, &["--timeout", "600"]].concat();
        let (mut child, stdout) = start_ready(&tree, UNWILLING, &options);
        let reader = std::thread::spawn(move || text(stdout));
        let started = std::time::Instant::now();
        send(&child, Signal::SIGTERM);
        assert_eq!(child.wait().unwrap().code(), Some(143));
        assert!(started.elapsed() < std::time::Duration::from_secs(20));
        reader.join().unwrap();
    }
}
