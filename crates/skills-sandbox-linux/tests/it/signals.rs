//! Signals of a program to itself, and processes that lost their parent: as on a system without a
//! sandbox.

use skills_sandbox::Termination;
use skills_sandbox_linux::IsolationMode;

use crate::skill::{Skill, skip_without, supported_modes};

#[tokio::test]
async fn a_signal_to_itself_ends_a_program() {
    for mode in supported_modes() {
        let output = Skill::new(mode)
            .run_shell("echo a; kill -TERM $$; echo b")
            .await;
        assert_eq!(
            (output.stdout.text().as_str(), &output.termination),
            ("a\n", &Termination::Signaled { signal: 15 })
        );
        for (code, signal) in [
            ("os.abort()", 6),
            ("os.kill(os.getpid(), signal.SIGSEGV)", 11),
            ("signal.alarm(1); signal.pause()", 14),
            ("os.killpg(0, signal.SIGTERM)", 15),
            ("os.kill(os.getpid(), signal.SIGKILL)", 9),
        ] {
            let output = Skill::new(mode)
                .python(&format!("import os, signal\n{code}\nprint('survived')"))
                .await;
            assert_eq!(output.stdout.text(), "", "{mode:?} {code}");
            assert_eq!(
                output.termination,
                Termination::Signaled { signal },
                "{mode:?} {code}"
            );
        }
    }
}

#[tokio::test]
async fn exit_codes_that_look_like_signals_are_exit_codes() {
    for mode in supported_modes() {
        for code in [0, 1, 126, 127, 128 + 9, 255] {
            let output = Skill::new(mode).run_shell(&format!("exit {code}")).await;
            assert_eq!(output.termination, Termination::Exited { code });
        }
    }
}

/// The first process of the namespace reaps orphans, and ends with the program.
#[tokio::test]
async fn orphans_are_reaped_at_once() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let script = "import os
print(os.getppid(), os.getpgrp() == os.getpid() == os.getsid(0))
for _ in range(50):
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            os.setsid()
        os._exit(0)
    os.waitpid(child, 0)
while sorted(name for name in os.listdir('/proc') if name.isdigit()) != ['1', '2']:
    os.sched_yield()
print('reaped')";
    let output = Skill::new(IsolationMode::Namespaces)
        .tool("Bash")
        .python(script)
        .await;
    assert_eq!(output.stderr.text(), "");
    assert_eq!(output.stdout.text(), "1 True\nreaped\n");
}

/// The first process was created with the memory of the host process. The program starts when it
/// has its own, which the program cannot read either.
#[tokio::test]
async fn the_first_process_cannot_be_inspected_or_stopped() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let attempts = Skill::new(IsolationMode::Namespaces)
        .attempts(
            "",
            &[
                "os.open('/proc/1/mem', os.O_RDONLY)",
                "os.open('/proc/1/fd/0', os.O_WRONLY)",
                "os.readlink('/proc/1/fd/0')",
                "os.open('/proc/1/root/etc', os.O_RDONLY)",
                "open('/proc/1/environ', 'rb').read()",
                "os.readlink('/proc/1/exe')",
            ],
        )
        .await;
    insta::assert_snapshot!(attempts, @r"
    os.open('/proc/1/mem', os.O_RDONLY) EACCES
    os.open('/proc/1/fd/0', os.O_WRONLY) EACCES
    os.readlink('/proc/1/fd/0') EACCES
    os.open('/proc/1/root/etc', os.O_RDONLY) EACCES
    open('/proc/1/environ', 'rb').read() EACCES
    os.readlink('/proc/1/exe') EACCES
    ");
    let script = "import os, signal
for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP):
    try: os.kill(1, number)
    except OSError: pass
print('here')";
    let output = Skill::new(IsolationMode::Namespaces).python(script).await;
    assert_eq!(
        (output.stdout.text().as_str(), &output.termination),
        ("here\n", &Termination::Exited { code: 0 })
    );
}
