//! Runs of programs.

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use skills_sandbox::{CancellationToken, Quota, Sandbox, SandboxErrorKind, Termination};
use skills_sandbox_container::ContainerSandbox;

use crate::skill::Skill;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_runs_with_input_arguments_and_variables() {
    let skill = Skill::new();
    let Some(sandbox) = skill.sandbox() else {
        return;
    };
    let script = "import os, sys\nprint(sys.stdin.read(), sys.argv[1:], os.environ['SKILL_ID'], os.getcwd() == os.path.dirname(__file__))\nprint('to stderr', file=sys.stderr)\nsys.exit(3)\n";
    let job = skill
        .job("main.py", script)
        .arg("a b")
        .arg("$(c)")
        .env("SKILL_ID", "pdf")
        .stdin(b"input".to_vec());
    let output = skill.run(&sandbox, job).await;
    eprintln!(
        "{:?} {}",
        output.duration,
        output.enforcement.to_lines().join("\n")
    );
    assert_eq!(output.stdout.text(), "input ['a b', '$(c)'] pdf True\n");
    assert_eq!(output.stderr.text(), "to stderr\n");
    assert_eq!(output.termination.to_string(), "exit code 3");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_limit_has_its_own_end() {
    let mut skill = Skill::new();
    skill.limits.wall_time = Duration::from_secs(3);
    skill.limits.memory_bytes = 64 << 20;
    skill.limits.output_limit_bytes = 1 << 20;
    skill.limits.scratch_bytes = 1 << 20;
    let Some(sandbox) = skill.sandbox() else {
        return;
    };
    for (script, expected) in [
        ("import time; time.sleep(60)", "timed out after 3 s"),
        // Its child keeps the output open.
        (
            "import os, time\nif os.fork(): time.sleep(60)\ntime.sleep(60)",
            "timed out after 3 s",
        ),
        (
            "x = bytearray(200 << 20); print(len(x))",
            "exceeded its memory limit of 67108864 bytes",
        ),
        (
            "while True: print('x' * 10000)",
            "exceeded its output limit of 1048576 bytes",
        ),
        ("import os; os.kill(os.getpid(), 11)", "exit code 139"),
        (
            "import os, sys\nif os.fork(): sys.exit(4)\nimport time; time.sleep(60)",
            "exit code 4",
        ),
    ] {
        let output = skill.run(&sandbox, skill.job("main.py", script)).await;
        assert_eq!(output.termination.to_string(), expected, "{script}");
    }
    let script = "import errno\ntry: open('/tmp/x', 'wb').write(bytes(2 << 20))\nexcept OSError as e: print(errno.errorcode[e.errno])\n";
    let output = skill.run(&sandbox, skill.job("main.py", script)).await;
    assert_eq!(output.stdout.text(), "ENOSPC\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_granted_files_exist_and_only_the_workspace_is_writable() {
    let skill = Skill::new().workspace();
    let Some(sandbox) = skill.sandbox() else {
        return;
    };
    skill.write("workspace/.git/hooks/pre-commit", "hook");
    skill.write("workspace/secret/key", "key");
    skill.write("workspace/token", "token");
    skill.write("outside/file", "outside");
    let script = "import os, sys\nworkspace, outside = sys.argv[1:3]\ndef attempt(name, action):\n    try: print(name, action())\n    except OSError as e: print(name, type(e).__name__)\n\
attempt('write', lambda: open(workspace + '/new', 'w').write('x'))\n\
attempt('git', lambda: open(workspace + '/.git/hooks/pre-commit', 'w'))\n\
attempt('move', lambda: os.rename(workspace + '/.git', workspace + '/x'))\n\
attempt('skill', lambda: open(os.path.dirname(__file__) + '/new', 'w'))\n\
attempt('root', lambda: open('/new', 'w'))\n\
attempt('outside', lambda: open(outside + '/file'))\n\
attempt('hidden', lambda: os.listdir(workspace + '/secret'))\n\
attempt('token', lambda: open(workspace + '/token').read())\n\
attempt('alias', lambda: sorted(os.listdir('/workspace')))\n\
attempt('hidden by alias', lambda: os.listdir('/workspace/secret'))\n\
attempt('git by alias', lambda: open('/workspace/.git/hooks/pre-commit', 'w'))\n\
attempt('engine', lambda: os.listdir('/run/podman'))\n";
    let job = skill
        .job("main.py", script)
        .arg(skill.path("workspace").display().to_string())
        .arg(skill.path("outside").display().to_string())
        .path_alias("/workspace", skill.path("workspace"))
        .hide(skill.path("workspace/secret"))
        .hide(skill.path("workspace/token"));
    let output = skill.run(&sandbox, job).await;
    insta::assert_snapshot!(output.stdout.text() + &output.stderr.text(), @r#"
    write 1
    git OSError
    move OSError
    skill OSError
    root OSError
    outside FileNotFoundError
    hidden []
    token 
    alias ['.git', 'new', 'secret', 'token']
    hidden by alias []
    git by alias OSError
    engine FileNotFoundError
    "#);
    assert_eq!(output.notes.len(), 0, "{:?}", output.notes);
    let metadata = std::fs::metadata(skill.path("workspace/new")).unwrap();
    assert_eq!(metadata.uid(), nix::unistd::geteuid().as_raw());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_is_as_restricted_as_its_report_says() {
    let skill = Skill::new();
    let Some(sandbox) = skill.sandbox() else {
        return;
    };
    let script = "import os, socket\nstatus = dict(line.split(':\\t') for line in open('/proc/self/status').read().splitlines() if ':\\t' in line)\nprint({name: status[name].strip() for name in ('CapEff', 'CapBnd', 'NoNewPrivs', 'Seccomp')})\nprint(sorted(os.listdir('/sys/class/net')), os.environ['HOME'], socket.gethostname())\nprint(os.path.exists('/run/podman/podman.sock'), [k for k, v in os.environ.items() if 'proxy' in k.lower() and v])\n";
    let output = skill.run(&sandbox, skill.job("main.py", script)).await;
    insta::assert_snapshot!(output.stdout.text() + &output.stderr.text(), @r#"
    {'CapEff': '0000000000000000', 'CapBnd': '0000000000000000', 'NoNewPrivs': '1', 'Seccomp': '2'}
    ['lo'] /tmp sandbox
    False []
    "#);
    let report = output.enforcement.to_lines().join("\n");
    let fields = ["engine ", "runtime ", "image "];
    let stable: Vec<&str> = report
        .lines()
        .filter(|line| !fields.iter().any(|field| line.starts_with(field)))
        .collect();
    insta::assert_snapshot!(stable.join("\n"), @r#"
    files enforced: the image, read-only, and granted paths
    network enforced: separate network namespace with nothing but a loopback device
    processes partial: programs of the image can be started without a grant; at most 1025 processes and threads
    privileges enforced: no capabilities, and programs cannot get any
    system-calls enforced: 86 denied (seccomp), and the engine's seccomp profile
    signals enforced: other processes are not visible
    cpu enforced: one processor
    memory enforced: 256 MiB for all processes together
    time enforced: 60000 ms, then all processes are killed
    scratch enforced: 256 MiB in memory
    host-death partial: if the host process dies, the container ends after 70 s
    termination partial: the end by a signal is reported as exit code 128 plus its number
    "#);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_program_is_named() {
    let skill = Skill::new();
    let Some(sandbox) = skill.sandbox() else {
        return;
    };
    let error = sandbox.run(skill.job("main.rb", "")).await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::ProgramNotFound);
    assert!(error.to_string().contains("/usr/bin"), "{error}");
    let missing = format!("sha256:{}", "0".repeat(64)).parse().unwrap();
    let (socket, _) = skills_test_support::host::container_engine().unwrap();
    let other = ContainerSandbox::new(socket, missing, skill.path("scratch"));
    let error = other.run(skill.job("main.py", "")).await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::Unavailable);
    assert!(
        error.to_string().contains("the engine has no image"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn granted_hosts_are_reached_through_the_proxy_only() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let skill = Skill::new().allow(&format!("network:localhost:{port}"));
    let Some(sandbox) = skill.sandbox() else {
        return;
    };
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut stream, b"hello from the host").unwrap();
    });
    let script = format!(
        "import os, socket\nprint(socket.create_connection(('127.0.0.1', {port})).recv(100))\nprint(os.environ['HTTP_PROXY'])\ntry: socket.create_connection(('203.0.113.1', 80), 2)\nexcept OSError as e: print(type(e).__name__)\n"
    );
    let output = skill.run(&sandbox, skill.job("main.py", &script)).await;
    let text = output.stdout.text() + &output.stderr.text();
    assert_eq!(
        text,
        "b'hello from the host'\nhttp://127.0.0.1:3128\nOSError\n"
    );
    assert_eq!(output.connections.len(), 1);
    server.join().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_container_serves_the_same_caller_and_grants_only() {
    let skill = Skill::new();
    let Some(sandbox) = skill.sandbox() else {
        return;
    };
    let sandbox = sandbox.keep_warm(Duration::from_secs(30));
    let script =
        "import os, socket\nprint(os.path.exists('/tmp/known'))\nopen('/tmp/known', 'w')\n";
    let mut results = Vec::new();
    for caller in ["a", "a", "b"] {
        let job = skill.job("main.py", script).caller(caller);
        results.push(skill.run(&sandbox, job).await.stdout.text());
    }
    assert_eq!(results, ["False\n", "True\n", "False\n"]);
    // A process that is left ends with its container.
    let leaving =
        "import os, time\nif os.fork() == 0:\n    os.close(1); os.close(2); time.sleep(60)\n";
    let job = skill.job("main.py", leaving).caller("a");
    assert!(skill.run(&sandbox, job).await.termination.is_success());
    let job = skill.job("main.py", script).caller("a");
    assert_eq!(skill.run(&sandbox, job).await.stdout.text(), "False\n");
}

/// A program that writes until it is killed, and the file that it writes.
fn endless(skill: &Skill) -> (String, std::path::PathBuf) {
    let path = skill.path("workspace/beat");
    let script = format!(
        "import time\nwhile True:\n    open({:?}, 'a').write('x')\n    time.sleep(0.05)\n",
        path.display().to_string()
    );
    (script, path)
}

/// Returns the number of bytes that were written; 0 without a file.
fn written_bytes(path: &std::path::Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Checks that nothing writes the file any more.
fn assert_ended(path: &std::path::Path) {
    let before = written_bytes(path);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!((before > 0, written_bytes(path)), (true, before));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_run_leaves_no_container() {
    let skill = Skill::new().workspace();
    let Some(sandbox) = skill.sandbox() else {
        return;
    };
    let (script, path) = endless(&skill);
    let token = CancellationToken::new();
    let job = skill.job("main.py", &script).cancellation(token.clone());
    let (_, written) = (token.clone(), path.clone());
    let canceller = tokio::spawn(async move {
        while !written.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        token.cancel();
    });
    let output = skill.run(&sandbox, job).await;
    assert_eq!(output.termination, Termination::Cancelled);
    canceller.await.unwrap();
    assert_ended(&path);
    // Nothing is started for a token that is cancelled already.
    std::fs::remove_file(&path).unwrap();
    let token = CancellationToken::new();
    token.cancel();
    let job = skill.job("main.py", &script).cancellation(token);
    let output = skill.run(&sandbox, job).await;
    assert_eq!(output.termination, Termination::Cancelled);
    assert!(!path.exists());
}

/// In both kinds of runtimes, of which one ends with the future.
#[test]
fn a_dropped_run_leaves_no_container() {
    let skill = Skill::new().workspace();
    let Some(sandbox) = skill.sandbox() else {
        return;
    };
    let (script, path) = endless(&skill);
    for mut builder in [
        tokio::runtime::Builder::new_current_thread(),
        tokio::runtime::Builder::new_multi_thread(),
    ] {
        let runtime = builder.enable_all().build().unwrap();
        runtime.block_on(async {
            let run = sandbox.run(skill.job("main.py", &script));
            let written = async {
                while written_bytes(&path) == 0 {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            tokio::select! {
                output = run => panic!("{output:?}"),
                () = written => {}
            }
        });
        runtime.shutdown_background();
        assert_ended(&path);
        std::fs::remove_file(&path).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_container_is_not_used_for_a_directory_that_was_replaced() {
    let skill = Skill::new().workspace();
    let Some(sandbox) = skill.sandbox() else {
        return;
    };
    let sandbox = sandbox.keep_warm(Duration::from_secs(30));
    let workspace = skill.path("workspace");
    let script = format!(
        "import os\nprint(os.listdir({:?}))\n",
        workspace.display().to_string()
    );
    skill.write("workspace/old", "");
    let mut results = Vec::new();
    for _ in 0..2 {
        let job = skill.job("main.py", &script).caller("a");
        results.push(skill.run(&sandbox, job).await.stdout.text());
        if results.len() == 1 {
            std::fs::rename(&workspace, skill.path("moved")).unwrap();
            skill.write("workspace/new", "");
        }
    }
    assert_eq!(results, ["['old']\n", "['new']\n"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleted_files_that_are_open_count_against_a_quota() {
    let mut skill = Skill::new().workspace();
    skill.limits.file_bytes = 8 << 20;
    let Some(sandbox) = skill.sandbox() else {
        return;
    };
    let workspace = skill.path("workspace");
    let script = format!(
        "import os, time\nfiles = []\nfor index in range(40):\n    file = open({:?} + str(index), 'wb')\n    files.append(file)\n    os.unlink(file.name)\n    file.write(bytes(1 << 20))\n    file.flush()\n    time.sleep(0.05)\n",
        format!("{}/f", workspace.display())
    );
    let job = skill
        .job("main.py", &script)
        .quota(Quota::new(&workspace, 4 << 20));
    let output = skill.run(&sandbox, job).await;
    assert!(
        matches!(output.termination, Termination::DiskLimit(_)),
        "{:?} {}",
        output.termination,
        output.stderr.text()
    );
}
