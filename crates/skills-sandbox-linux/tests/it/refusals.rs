//! What a run was refused is in its result, with the narrowest rule that allows it.

use skills_sandbox::{Evidence, RefusedOperation, RunOutput};

use skills_sandbox_linux::IsolationMode;

use super::skill::{Skill, skip_without, supported_modes};

/// Returns one line for each refusal: what was refused, how often, and the rule that allows it.
fn lines(output: &RunOutput) -> Vec<String> {
    output
        .refusals
        .list()
        .iter()
        // The C library opens local sockets for each lookup.
        .filter(|refusal| !refusal.operation.is_probed())
        .map(|refusal| {
            assert!(refusal.evidence.is_observed());
            let rule = refusal.operation.target();
            let rule = rule.map_or("-".to_owned(), |target| target.to_string());
            format!("{} ({}): {rule}", refusal.operation, refusal.count)
        })
        .collect()
}

#[tokio::test]
async fn a_refused_process_is_reported() {
    for mode in supported_modes() {
        let output = Skill::new(mode).run_shell("echo $(ls)").await;
        assert_eq!(lines(&output), ["spawn another program (1): spawn"]);
        let script = "import subprocess\ntry:\n    subprocess.run(['git', 'status'])\nexcept OSError as e:\n    print(e.errno)";
        let output = Skill::new(mode).python(script).await;
        assert_eq!(output.stdout.text(), "1\n", "{}", output.stderr.text());
        // Python tries `vfork`, then `clone`.
        let [line] = lines(&output).try_into().unwrap();
        assert!(line.starts_with("spawn another program"), "{line}");
    }
}

#[tokio::test]
async fn a_refused_program_is_reported_by_its_name() {
    for mode in supported_modes() {
        let skill = Skill::new(mode).tool("Bash(ls:*)");
        let output = skill
            .run_shell("ls / >/dev/null; od /dev/null; od /dev/null; no-such-program-here; true")
            .await;
        assert_eq!(lines(&output), ["spawn `od` (2): spawn:od"]);
    }
}

#[tokio::test]
async fn a_refused_socket_is_reported() {
    for mode in supported_modes() {
        if mode == IsolationMode::Namespaces {
            continue;
        }
        let script = "import socket\nfor family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):\n    try:\n        socket.socket(family)\n    except OSError as e:\n        print(e.errno)";
        let output = Skill::new(mode).python(script).await;
        assert_eq!(output.stdout.text(), "1\n1\n1\n");
        assert_eq!(lines(&output), ["open a network connection (2): -"]);
    }
}

/// In a network of its own a run can create sockets, and what it tries to reach is known.
#[tokio::test]
async fn a_connection_that_leads_nowhere_is_reported_with_its_address() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let script = "import socket
def connect(*address):
    try:
        socket.create_connection(address, 5)
    except OSError as e:
        print(type(e).__name__)
connect('93.184.215.14', 443)
connect('93.184.215.14', 8443)
connect('10.0.0.1', 80)
connect('127.0.0.1', 8080)
connect('localhost', 8080)
connect('localhost', 80)
server = socket.create_server(('127.0.0.1', 8081))
connect('127.0.0.1', 8081)
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
except OSError as e:
    print(type(e).__name__)";
    let output = Skill::new(IsolationMode::Namespaces).python(script).await;
    assert_eq!(output.stderr.text(), "");
    insta::assert_snapshot!(output.stdout.text(), @r"
    OSError
    OSError
    OSError
    ConnectionRefusedError
    ConnectionRefusedError
    ConnectionRefusedError
    PermissionError
    ");
    insta::assert_snapshot!(lines(&output).join("\n"), @r"
    connect to `93.184.215.14` (1): network:93.184.215.14
    connect to `93.184.215.14:8443` (1): network:93.184.215.14:8443
    connect to `10.0.0.1:80` (1): network:10.0.0.1:80
    open a network connection (1): -
    connect to `127.0.0.1:80` (1): network:127.0.0.1:80
    connect to `127.0.0.1:8080` (2): network:127.0.0.1:8080
    ");
}

#[tokio::test]
async fn what_a_program_says_is_not_observed() {
    for mode in supported_modes() {
        let script = "echo 'main.sh: fork: Operation not permitted' >&2; exit 254";
        let output = Skill::new(mode).run_shell(script).await;
        assert_eq!(lines(&output), Vec::<String>::new());
    }
}

/// Without a grant, by a relative path, and by a descriptor.
#[tokio::test]
async fn a_refused_program_is_reported_however_it_is_started() {
    for mode in supported_modes() {
        let script = "import ctypes, os
def start(work):
    try:
        work()
    except OSError as e:
        print(e.errno)
start(lambda: os.execv('/usr/bin/od', ['od']))
start(lambda: os.execv('/usr/bin/no-such-program', ['x']))
os.chdir('/usr/bin')
start(lambda: os.execv('./head', ['head']))
start(lambda: os.execv('../bin/tail', ['tail']))
start(lambda: os.execve(os.open('/usr/bin/wc', os.O_RDONLY), ['wc'], {}))
libc = ctypes.CDLL(None, use_errno=True)
arguments = (ctypes.c_char_p * 2)(b'sort', None)
libc.syscall(322 if os.uname().machine == 'x86_64' else 281, os.open('/usr/bin', os.O_PATH), b'sort', arguments, arguments, 0)
print(ctypes.get_errno())";
        let output = Skill::new(mode).python(script).await;
        assert_eq!(
            output.stdout.text(),
            "13\n2\n13\n13\n13\n13\n",
            "{}",
            output.stderr.text()
        );
        let expected = ["od", "head", "tail", "wc", "sort"]
            .map(|name| format!("spawn `{name}` (1): spawn:{name}"));
        assert_eq!(lines(&output), expected);
    }
}

#[tokio::test]
async fn threads_that_are_refused_a_thousand_processes_get_a_thousand_errors() {
    for mode in supported_modes() {
        let script = "import os, threading
errors = []
def work():
    for _ in range(125):
        try:
            os.fork()
        except OSError as e:
            errors.append(e.errno)
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(errors), set(errors))";
        let output = Skill::new(mode).python(script).await;
        assert_eq!(
            output.stdout.text(),
            "1000 {1}\n",
            "{}",
            output.stderr.text()
        );
        assert_eq!(lines(&output), ["spawn another program (1000): spawn"]);
    }
}

/// A signal restarts a call that waits for its answer, unless the kernel lets only a fatal one
/// interrupt it.
#[tokio::test]
async fn a_timer_does_not_keep_a_call_from_its_answer() {
    for mode in supported_modes() {
        let script = "import os, signal
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
count = 0
for _ in range(200):
    try:
        os.fork()
    except OSError:
        count += 1
print(count)";
        let output = Skill::new(mode).python(script).await;
        assert_eq!(output.stdout.text(), "200\n", "{}", output.stderr.text());
    }
}

/// A program that is killed while it waits for an answer ends the run like any other.
#[tokio::test]
async fn a_process_that_dies_while_it_waits_ends_its_run() {
    for mode in supported_modes() {
        let skill = Skill::new(mode).tool("Bash(sleep:*)").tool("Bash(sh:*)");
        let script = "for i in 1 2 3 4 5 6 7 8; do (while :; do sh -c 'od'; done) 2>/dev/null & done; sleep 0.2; kill -9 $(jobs -p) 2>/dev/null; exit 7";
        let output = skill.run_shell(script).await;
        assert_eq!(output.termination.to_string(), "exit code 7");
        assert_eq!(output.refusals.list().len(), 1);
    }
}

/// Programs report these in many words or none. A rule for them does not exist, and nothing else of
/// the run changes.
#[tokio::test]
async fn what_no_rule_allows_is_reported_by_its_family() {
    let script = "import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def tried(result):
    print(result, ctypes.get_errno())
tried(libc.setpriority(2, 0, 5))
tried(libc.memfd_create(b'x', 0x10))
tried(libc.unshare(0x10000000))
tried(libc.shmget(0, 4096, 0o1600))
tried(libc.adjtimex(ctypes.create_string_buffer(512)))
tried(libc.inotify_init1(0))
try:
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
except OSError as error:
    print('socket', error.errno)
";
    for mode in supported_modes() {
        let output = Skill::new(mode).python(script).await;
        let stdout = output.stdout.text();
        assert!(
            stdout.starts_with(&"-1 1\n".repeat(6)),
            "{stdout}{}",
            output.stderr.text()
        );
        let mut families: Vec<&str> = Vec::new();
        for refusal in output.refusals.list() {
            assert_eq!(refusal.evidence, Evidence::Kernel);
            assert!(refusal.operation.target().is_none(), "{refusal:?}");
            families.extend(refusal.operation.object());
        }
        let expected = [
            "priorities",
            "memory-files",
            "namespaces",
            "system-ipc",
            "clock",
            "watch-files",
            "local-datagrams",
        ];
        assert_eq!(families, expected, "{mode:?}");
    }
}

/// An operation without a rule does not displace one that a rule allows.
#[tokio::test]
async fn a_program_is_named_after_many_operations_without_a_rule() {
    let script = "import ctypes, subprocess
libc = ctypes.CDLL(None)
libc.setpriority(2, 0, 5)
libc.memfd_create(b'x', 0x10)
libc.unshare(0x10000000)
libc.shmget(0, 4096, 0o1600)
libc.adjtimex(ctypes.create_string_buffer(512))
libc.inotify_init1(0)
libc.ptrace(0, 0, 0, 0)
libc.sethostname(b'x', 1)
libc.vmsplice(0, 0, 0, 0)
try:
    subprocess.run(['true'])
except OSError:
    pass
";
    for mode in supported_modes() {
        let output = Skill::new(mode).python(script).await;
        let last = lines(&output).pop().unwrap_or_default();
        assert!(last.starts_with("spawn another program"), "{last}");
    }
}

/// Its name is granted with all others, so without this nothing would say why it does not start.
#[tokio::test]
async fn a_program_that_the_run_created_is_refused_by_name() {
    for mode in supported_modes() {
        let skill = Skill::new(mode).tool("Bash");
        let script = "cp /bin/true \"$TMPDIR/made\"; \"$TMPDIR/made\" || /bin/true";
        let output = skill.run_shell(script).await;
        let families = output.refusals.list().iter().filter_map(|refusal| {
            let RefusedOperation::NeverAllowed(never) = &refusal.operation else {
                return None;
            };
            Some(never.family)
        });
        assert_eq!(families.collect::<Vec<_>>(), ["own-programs"], "{mode:?}");
    }
}

/// A question about a name must allow the file that was tried, and no other one.
#[tokio::test]
async fn a_file_is_named_only_if_a_grant_of_the_name_starts_it() {
    for mode in supported_modes() {
        let skill = Skill::new(mode).tool("Bash(sh:*)").tool("Bash(cp:*)");
        let script = "cp /bin/true \"$TMPDIR/git\"; \"$TMPDIR/git\"; /bin/true; exit 3";
        let output = skill.run_shell(script).await;
        let operations: Vec<_> = output
            .refusals
            .list()
            .iter()
            .map(|refusal| refusal.operation.to_string())
            .collect();
        assert_eq!(
            operations,
            [
                "start a file outside of the directories of programs, such as one that the run created",
                "spawn `true`"
            ],
            "{mode:?}"
        );
    }
}
