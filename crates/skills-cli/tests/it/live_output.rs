//! Output of programs while they run, and programs that are asked to end.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};

use skills_test_support::{SkillTree, skip_without_sandbox};

use crate::skills::command;

/// Starts a skill with one script, with pipes for all streams.
fn start(tree: &SkillTree, script: &str) -> Child {
    tree.skill("one", "").script("one", "main.py", script);
    let root = tree.path("skills").display().to_string();
    let scratch = tree.path("scratch");
    std::fs::create_dir_all(&scratch).unwrap();
    command(&["run", "one", "--root", &root], &scratch)
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
fn a_program_is_told_that_the_reader_of_its_output_went_away() {
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
