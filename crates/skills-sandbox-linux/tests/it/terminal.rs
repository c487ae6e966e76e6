//! Programs with a terminal of their own, and programs that open terminals themselves.

use std::time::Duration;

use skills_sandbox::{
    InputSink, Job, OutputStream, ProgramStreams, ProgramTerminal, RunEvent, RunOutput,
    TerminalSize, TerminalStreams, Termination, run_events,
};
use skills_sandbox_linux::IsolationMode;
use tokio::time::timeout;

use crate::lifetime_pipe::TEST_TIMEOUT;
use crate::skill::{Skill, supported_modes};

const SIZE: TerminalSize = TerminalSize {
    rows: 33,
    columns: 101,
};

/// A terminal for all three streams.
fn terminal() -> ProgramTerminal {
    ProgramTerminal::new(SIZE)
        .streams(TerminalStreams {
            input: true,
            errors: true,
        })
        .variables(|name| (name == "TERM").then(|| "xterm-256color".to_owned()))
}

fn streams_with(terminal: &ProgramTerminal) -> ProgramStreams {
    let mut streams = ProgramStreams::default();
    streams.terminal = Some(terminal.clone());
    streams
}

async fn run(skill: &Skill, job: Job) -> RunOutput {
    let job = job.streams(streams_with(&terminal()));
    timeout(TEST_TIMEOUT, skill.run(job)).await.unwrap()
}

/// Runs a job that prints `ready`, and calls `on_ready` then.
async fn run_until_ready(
    skill: &Skill,
    job: Job,
    mut streams: ProgramStreams,
    on_ready: impl AsyncFnOnce(),
) -> RunOutput {
    let (events, mut receiver) = run_events();
    streams.events = Some(events);
    let watch = async {
        let mut on_ready = Some(on_ready);
        let mut seen = Vec::new();
        while let Some(event) = receiver.next().await {
            if let RunEvent::Output { stream, bytes } = event {
                assert_eq!(stream, OutputStream::Stdout);
                seen.extend_from_slice(&bytes);
            }
            if seen.starts_with(b"ready")
                && let Some(on_ready) = on_ready.take()
            {
                on_ready().await;
            }
        }
    };
    let run = async { tokio::join!(skill.run(job.streams(streams)), watch) };
    timeout(TEST_TIMEOUT, run).await.unwrap().0
}

#[tokio::test]
async fn a_program_gets_a_terminal_of_its_own() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let script = "import os, sys\n\
            print([os.isatty(fd) for fd in range(3)], flush=True)\n\
            print('errors', file=sys.stderr, flush=True)\n\
            print(os.get_terminal_size(1), os.environ['TERM'], flush=True)\n\
            print(os.getsid(0) == os.getpid(), os.tcgetpgrp(0) == os.getpgrp(), flush=True)\n\
            open('/dev/tty', 'w').write('by its name\\n')\n\
            open('/dev/stdout', 'w').write('by its descriptor\\n')\n\
            import termios\n\
            with open('/dev/tty', 'rb', buffering=0) as tty: print(len(termios.tcgetattr(tty)))\n";
        let output = run(&skill, skill.job("main.py", script)).await;
        let expected = "[True, True, True]\n\
            errors\n\
            os.terminal_size(columns=101, lines=33) xterm-256color\n\
            True True\n\
            by its name\n\
            by its descriptor\n\
            7\n";
        assert_eq!(
            output.stdout.text().replace("\r\n", "\n"),
            expected,
            "{mode:?}"
        );
        assert_eq!(output.stderr.total_bytes(), 0);
        assert_eq!(output.termination, Termination::Exited { code: 0 });
    }
}

#[tokio::test]
async fn a_terminal_that_was_closed_can_be_opened_again() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let script = "import os, time\n\
            null = os.open('/dev/null', os.O_RDWR)\n\
            for fd in range(3): os.dup2(null, fd)\n\
            time.sleep(0.3)\n\
            terminal = os.open('/dev/tty', os.O_WRONLY)\n\
            for _ in range(3000): os.write(terminal, b'later\\n')\n";
        let output = run(&skill, skill.job("main.py", script)).await;
        assert_eq!(output.termination, Termination::Exited { code: 0 });
        let printed = output.stdout.text().replace("\r\n", "\n");
        assert_eq!(printed, "later\n".repeat(3000), "{mode:?}");
    }
}

/// Standard input stays a pipe, and standard error too if the caller wants it.
#[tokio::test]
async fn streams_that_are_not_the_terminal_are_pipes() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let script = "import os, sys\n\
            print([os.isatty(fd) for fd in range(3)], sys.stdin.read(), flush=True)\n\
            print('errors', file=sys.stderr)\n";
        let terminal = terminal().streams(TerminalStreams {
            input: false,
            errors: false,
        });
        let job = skill.job("main.py", script).stdin(b"piped".to_vec());
        let output = skill.run(job.streams(streams_with(&terminal))).await;
        assert_eq!(output.stdout.text(), "[False, True, False] piped\r\n");
        assert_eq!(output.stderr.text(), "errors\n");
    }
}

#[tokio::test]
async fn keys_reach_the_program_and_end_its_input() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let script = "import sys\nprint('ready', flush=True)\nprint([sys.stdin.read()])\n";
        let (sink, input) = InputSink::new();
        let mut streams = streams_with(&terminal());
        streams.input = Some(input);
        // A backspace removes a whole character.
        let keys = "first \u{e9}\x7fline\rsecond\r\x04";
        let output = run_until_ready(&skill, skill.job("main.py", script), streams, async || {
            sink.send(keys.as_bytes().to_vec()).await.unwrap();
        })
        .await;
        let text = output.stdout.text();
        assert!(
            text.ends_with("['first line\\nsecond\\n']\r\n"),
            "{mode:?} {text:?}"
        );
        assert!(output.termination.is_success());
    }
}

#[tokio::test]
async fn a_changed_size_reaches_the_program() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let script = "import os, signal\n\
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\n\
            print('ready', flush=True)\n\
            signal.sigwait([signal.SIGWINCH])\n\
            print(os.get_terminal_size(1).columns)\n";
        let terminal = terminal();
        let job = skill.job("main.py", script);
        let streams = streams_with(&terminal);
        let output = run_until_ready(&skill, job, streams, async || {
            terminal.resize(TerminalSize {
                rows: 10,
                columns: 44,
            });
        })
        .await;
        assert_eq!(output.stdout.text(), "ready\r\n44\r\n", "{mode:?}");
    }
}

/// A program can use its terminal, but type into no terminal, and change the line discipline, the
/// console and the terminal of a session of none.
#[tokio::test]
async fn commands_that_control_other_terminals_are_refused() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let script = "import errno, fcntl, os, struct, termios, tty\n\
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 5, 6, 0, 0))\n\
            os.tcsetpgrp(0, os.tcgetpgrp(0))\n\
            tty.setraw(0)\n\
            print(os.get_terminal_size(0))\n\
            def attempt(name, command, data):\n    \
                try: fcntl.ioctl(0, command, data); print(name, 'worked')\n    \
                except OSError as error: print(name, errno.errorcode[error.errno])\n\
            attempt('TIOCSTI', 0x5412, b'x')\n\
            attempt('TIOCLINUX', 0x541c, b'\\x02')\n\
            attempt('TIOCSETD', 0x5423, b'\\x01\\0\\0\\0')\n\
            attempt('TIOCCONS', 0x541d, 0)\n\
            attempt('TIOCSCTTY', 0x540e, 1)\n";
        let output = run(&skill, skill.job("main.py", script)).await;
        let text = output.stdout.text().replace("\r\n", "\n");
        let expected = "os.terminal_size(columns=6, lines=5)\n\
            TIOCSTI EPERM\n\
            TIOCLINUX EPERM\n\
            TIOCSETD EPERM\n\
            TIOCCONS EPERM\n\
            TIOCSCTTY EPERM\n";
        assert_eq!(text, expected, "{mode:?}");
    }
}

#[tokio::test]
async fn a_process_that_keeps_the_terminal_does_not_extend_the_run() {
    for mode in supported_modes() {
        let skill = Skill::new(mode).tool("Bash");
        let script = "import os, signal, time\n\
            signal.signal(signal.SIGHUP, signal.SIG_IGN)\n\
            if os.fork() == 0:\n    \
                try: os.setsid()\n    \
                except OSError: pass\n    \
                time.sleep(600)\n\
            print('done', flush=True)\n";
        let output = run(&skill, skill.job("main.py", script)).await;
        assert_eq!(output.stdout.text(), "done\r\n", "{mode:?}");
        assert_eq!(output.termination, Termination::Exited { code: 0 });
    }
}

/// Nobody reads the events, so the program waits: neither memory nor time is without a limit.
#[tokio::test]
async fn endless_output_waits_for_its_reader_until_the_deadline() {
    for mode in supported_modes() {
        let mut skill = Skill::new(mode);
        skill.limits.wall_time = Duration::from_secs(3);
        skill.limits.output_limit_bytes = u64::MAX;
        let job = skill.job("main.py", "while True: print('x' * 1000)\n");
        let (events, receiver) = run_events();
        let mut streams = streams_with(&terminal());
        streams.events = Some(events);
        let output = timeout(TEST_TIMEOUT, skill.run(job.streams(streams)))
            .await
            .unwrap();
        drop(receiver);
        assert_eq!(
            output.termination,
            Termination::TimedOut { limit_ms: 3_000 }
        );
        assert!(output.stdout.total_bytes() < 8 << 20, "{mode:?}");
    }
}

/// All output arrives, also if the program ends before it was read.
#[tokio::test]
async fn output_before_the_end_is_complete() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let script = "import sys\nfor _ in range(3000): sys.stdout.write('x' * 99 + '\\n')\n";
        let (events, mut receiver) = run_events();
        let mut streams = streams_with(&terminal());
        streams.events = Some(events);
        let job = skill.job("main.py", script).streams(streams);
        let read = async {
            let mut bytes = 0;
            while let Some(event) = receiver.next().await {
                if let RunEvent::Output { bytes: piece, .. } = event {
                    bytes += piece.len();
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
            bytes
        };
        let (output, bytes) = tokio::join!(skill.run(job), read);
        assert!(output.termination.is_success());
        assert_eq!(bytes, 3_000 * 101, "{mode:?}");
    }
}

/// With namespaces they are of the run alone; without, they would be on the host, beside those of
/// its users.
#[tokio::test]
async fn programs_open_terminals_that_no_other_program_sees() {
    for mode in supported_modes() {
        let skill = Skill::new(mode).tool("Bash");
        let script = "import os, pty, sys\n\
            try: master, slave = pty.openpty()\n\
            except OSError as error: sys.exit(str(error))\n\
            print(os.ttyname(slave), sorted(os.listdir('/dev/pts')))\n\
            os.write(slave, b'echo')\n\
            print(os.read(master, 10))\n\
            sys.stdout.flush()\n\
            pty.spawn(['/bin/sh', '-c', 'test -t 0 && echo child'])\n\
            opened = []\n\
            try:\n    \
                while True: opened.append(os.open('/dev/ptmx', os.O_RDWR))\n\
            except OSError: print(len(opened) < 64)\n";
        let output = skill.run(skill.job("main.py", script)).await;
        if mode == IsolationMode::Namespaces {
            let expected = "/dev/pts/0 ['0', 'ptmx']\nb'echo'\nchild\r\nTrue\n";
            assert_eq!(output.stdout.text(), expected, "{}", output.stderr.text());
        } else {
            assert_eq!(output.stderr.text(), "out of pty devices\n");
        }
    }
}
