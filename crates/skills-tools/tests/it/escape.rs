//! Isolation of programs: files, variables, hosts, and the skill itself.

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use insta::assert_snapshot;
use serde_json::{Value, json};
use skills_runtime::policy::{Effect, Rule, RuleSource};
use skills_runtime::{Policy, Secrets};
use skills_test_support::skip_without_sandbox;

use crate::fixture::{Host, ToolOutputExt, Tools};
use crate::run::{SHOW, bash, kit, printed, run};

const ENVIRONMENT: &str = "import json, os\nprint(json.dumps(sorted(os.environ)))\n";

#[tokio::test]
async fn a_program_sees_only_the_documented_variables() {
    if skip_without_sandbox() {
        return;
    }
    let host = kit(&[("env.py", ENVIRONMENT)]);
    let tools = host.allowing(&["spawn:printenv"]);
    assert_snapshot!(printed(&run(&tools, "scripts/env.py").await), @r#"["CLAUDE_SKILL_DIR","DEBIAN_FRONTEND","GIT_PAGER","GIT_TERMINAL_PROMPT","HOME","LANG","LOGNAME","OMP_NUM_THREADS","OPENBLAS_NUM_THREADS","PAGER","PATH","PIP_DISABLE_PIP_VERSION_CHECK","PIP_NO_INPUT","PYTHONDONTWRITEBYTECODE","PYTHONNOUSERSITE","PYTHONUNBUFFERED","SHELL","SKILL_ASSETS_DIR","SKILL_DIR","SKILL_NAME","SKILL_WORKSPACE","TERM","TMPDIR","USER"]"#);
    let outcome = bash(&tools, "printenv", "").await;
    let names: Vec<&str> = outcome
        .answer()
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name)
        .collect();
    assert_snapshot!(names.join(" "), @"SKILL_WORKSPACE HOME PATH PYTHONDONTWRITEBYTECODE PYTHONNOUSERSITE TMPDIR LANG DEBIAN_FRONTEND GIT_PAGER GIT_TERMINAL_PROMPT LOGNAME PAGER PIP_DISABLE_PIP_VERSION_CHECK PIP_NO_INPUT PYTHONUNBUFFERED SHELL TERM USER OMP_NUM_THREADS OPENBLAS_NUM_THREADS");
    let outcome = bash(&tools, "printenv SKILL_WORKSPACE", "").await;
    assert_eq!(outcome.answer(), "/workspace");
}

#[tokio::test]
async fn only_declared_variables_are_accepted_from_a_model() {
    let host = Host::new();
    host.skill(
        "kit",
        "requires: {env: [API_KEY, LD_PRELOAD, PATH, PYTHONPATH]}\n",
    )
    .script("kit", "show.py", SHOW);
    host.script(
        "kit",
        "key.py",
        "import os\nkey = os.environ['API_KEY']\nprint(len(key), key[:3], key)\n",
    );
    let tools = host.tools();
    let with = |env: Value| json!({"name": "kit", "command": "scripts/key.py", "env": env});
    for name in [
        "OTHER",
        "SKILL_DIR",
        "HOME",
        "BASH_ENV",
        "api_key",
        "API_KEY ",
        "",
        "A=B",
    ] {
        let outcome = tools.call("skills_run", with(json!({ name: "x" }))).await;
        assert_eq!(
            outcome.code(),
            Some("invalid_arguments"),
            "{name:?}: {}",
            outcome.text()
        );
    }
    for name in ["LD_PRELOAD", "PATH", "PYTHONPATH"] {
        let outcome = tools
            .call(
                "skills_run",
                with(json!({"API_KEY": "given by the model", name: "/tmp/x"})),
            )
            .await;
        assert!(
            matches!(
                outcome.code(),
                Some("denied_by_policy" | "invalid_arguments")
            ),
            "{name}: {}",
            outcome.text()
        );
    }
    assert_snapshot!(tools.text("skills_run", with(json!({"OTHER": "x"}))).await, @r#"
    Error: undeclared environment variable `OTHER`
    Hint: declared variables: API_KEY, LD_PRELOAD, PATH, PYTHONPATH
    "#);
}

#[tokio::test]
async fn a_declared_variable_is_set() {
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    host.skill("kit", "requires: {env: [API_KEY]}\n");
    host.script(
        "kit",
        "key.py",
        "import os\nkey = os.environ['API_KEY']\nprint(len(key), key[:3])\n",
    );
    let arguments = json!({"name": "kit", "command": "scripts/key.py", "env": {"API_KEY": "given; $(by) model"}});
    assert_eq!(host.tools().answer("skills_run", arguments).await, "18 giv");
}

#[tokio::test]
async fn secrets_are_redacted_in_results() {
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    host.skill("kit", "requires: {env: [API_KEY]}\n")
        .skill("nosy", "");
    let source = "import os, sys\nkey = os.environ.get('API_KEY', 'none')\nprint(len(key), key)\nprint(key, file=sys.stderr)\n";
    host.script("kit", "key.py", source)
        .script("nosy", "key.py", source);
    let secrets = || {
        Secrets::default()
            .with("API_KEY", "hunter2hunter2")
            .with("OTHER_KEY", "swordfish-42")
    };
    let allow = Rule::parse(Effect::Allow, RuleSource::Invocation, "env:API_KEY").unwrap();
    let runtime = host
        .runtime()
        .secrets(secrets())
        .policy(Policy::default().rule(allow));
    let tools = host.wrap(host.builder(runtime).build().unwrap());
    let outcome = run(&tools, "scripts/key.py").await;
    assert_eq!(
        outcome.answer(),
        "14 [redacted API_KEY]\n[redacted API_KEY]"
    );
    assert!(
        !outcome.structured.to_string().contains("hunter2"),
        "{}",
        outcome.structured
    );
    let outcome = tools
        .call(
            "run_skill_script",
            json!({"skill_name": "kit", "script_name": "key"}),
        )
        .await;
    assert_eq!(outcome.answer(), "14 [redacted API_KEY]");
    // Also redacted if JSON escapes hide it in the output.
    host.script(
        "kit",
        "spell.py",
        "import os\nkey = os.environ['API_KEY']\nprint('[\"' + ''.join(f'\\\\u{ord(c):04x}' for c in key) + '\"]')\n",
    );
    let outcome = tools
        .call(
            "run_skill_script",
            json!({"skill_name": "kit", "script_name": "spell"}),
        )
        .await;
    assert_eq!(
        outcome.structured["result"],
        json!(["[redacted API_KEY]"]),
        "{}",
        outcome.structured
    );
    // Undeclared variables are not set, and without a rule neither are declared ones.
    assert_eq!(
        tools
            .answer(
                "skills_run",
                json!({"name": "nosy", "command": "scripts/key.py"})
            )
            .await,
        "4 none\nnone"
    );
    let tools = host.wrap(
        host.builder(host.runtime().secrets(secrets()))
            .build()
            .unwrap(),
    );
    assert_eq!(
        run(&tools, "scripts/key.py").await.code(),
        Some("approval_required")
    );
}

/// Attempts several actions, and reports which of them worked.
const ATTEMPTS: &str = "import os, socket, sys
def attempt(name, call):
    try:
        call()
        print(name, 'WORKS')
    except Exception:
        print(name, 'refused')
def read(path):
    return lambda: open(path, 'rb').read(1)
def write(path):
    return lambda: open(path, 'ab').write(b'x')
skill = os.environ.get('SKILL_DIR', '/skills/kit')
";

fn attempts(lines: &[String]) -> String {
    format!("{ATTEMPTS}{}\n", lines.join("\n"))
}

/// Fails if an attempt succeeded, or none was made.
fn all_refused(outcome: &skills_tools::ToolOutput, count: usize) {
    // The text also says what was refused.
    let data = &outcome.structured;
    let stdout = data["stdout"].as_str().or(data["raw"].as_str()).unwrap();
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), count, "{}", outcome.text());
    assert!(
        lines.iter().all(|line| line.ends_with(" refused")),
        "{}",
        outcome.text()
    );
}

/// Searches the environments of all processes for the variables that cargo sets for the tests.
const ENVIRONMENTS: &str = "def environments():
    found = b''
    for number in os.listdir('/proc'):
        try:
            found += open('/proc/' + number + '/environ', 'rb').read()
        except OSError:
            pass
    found.index(b'CARGO_')
attempt('environments', environments)";

#[tokio::test]
async fn other_files_are_not_readable() {
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    let secret = [
        "skills/other/SKILL.md",
        "drafts/fresh/SKILL.md",
        "neighbour/key",
        "state/approvals.json",
        "workspace-2/x",
        "home/.ssh/id_rsa",
    ];
    for path in secret {
        host.file(path, "---\nname: other\ndescription: secret\n---\nsecret\n");
    }
    host.skill("kit", "").file("workspace/in.txt", "in");
    let own = |path: &str| host.path(path).display().to_string();
    let mut paths: Vec<String> = secret.iter().map(|path| own(path)).collect();
    let system = [
        "/etc/shadow",
        "/root/.bashrc",
        "/proc/1/root/etc/shadow",
        "/dev/mem",
        "/dev/sda",
        "/run/docker.sock",
    ];
    paths.extend(system.map(str::to_owned));
    paths.push(format!("/proc/{}/environ", std::process::id()));
    paths.extend(
        [
            "/skills/other/SKILL.md",
            "/skills/fresh/SKILL.md",
            "/workspace/../neighbour/key",
        ]
        .map(str::to_owned),
    );
    let mut lines: Vec<String> = paths
        .iter()
        .enumerate()
        .map(|(index, path)| format!("attempt('{index}', read({}))", python(path)))
        .collect();
    lines.push("attempt('up', read(skill + '/../other/SKILL.md'))".to_owned());
    // Process 1 inside is another one and does not have the variables of the host.
    lines.push(ENVIRONMENTS.to_owned());
    lines.push("attempt('proc', read('/proc/self/root/etc/shadow'))".to_owned());
    let source = attempts(&lines);
    host.script("kit", "read.py", &source)
        .file("workspace/read.py", &source);
    let tools = host.allowing(&["spawn:python3"]);
    all_refused(&run(&tools, "scripts/read.py").await, lines.len());
    all_refused(&bash(&tools, "python3 read.py", "").await, lines.len());
    all_refused(
        &bash(&tools, "python3 /workspace/read.py", "skills/kit").await,
        lines.len(),
    );
}

/// Formats a text as a Python literal.
fn python(text: &str) -> String {
    json!(text).to_string()
}

#[tokio::test]
async fn nothing_is_writable_outside_of_the_workspace() {
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    host.skill("kit", "")
        .file("neighbour/file", "old")
        .file("workspace/in.txt", "in");
    std::os::unix::fs::symlink(host.path("neighbour/file"), host.path("workspace/link")).unwrap();
    std::os::unix::fs::symlink(host.path("neighbour"), host.path("workspace/place")).unwrap();
    let own = |path: &str| python(&host.path(path).display().to_string());
    let work = own("workspace");
    let lines = [
        format!("attempt('a', write({}))", own("neighbour/file")),
        format!("attempt('b', write({}))", own("neighbour/new")),
        format!("attempt('c', write({work} + '/link'))"),
        format!("attempt('d', write({work} + '/place/new'))"),
        format!("attempt('e', write({work} + '/../neighbour/new'))"),
        format!(
            "attempt('f', lambda: os.link({}, {work} + '/hard'))",
            own("neighbour/file")
        ),
        format!(
            "attempt('g', lambda: os.rename({work} + '/in.txt', {}))",
            own("neighbour/in.txt")
        ),
        "attempt('h', write('/etc/cron.d/x'))".to_owned(),
        "attempt('i', write('/usr/bin/x'))".to_owned(),
        "attempt('j', write('/proc/sys/kernel/core_pattern'))".to_owned(),
        "attempt('k', lambda: os.chroot('/'))".to_owned(),
        "attempt('l', lambda: os.mknod('/tmp/dev', 0o20666, os.makedev(1, 1)))".to_owned(),
    ];
    host.script("kit", "write.py", &attempts(&lines))
        .file("workspace/write.py", attempts(&lines));
    let tools = host.allowing(&["spawn", &host.write_rule()]);
    all_refused(&run(&tools, "scripts/write.py").await, lines.len());
    all_refused(&bash(&tools, "python3 write.py", "").await, lines.len());
    assert_eq!(
        tree(&host.path("neighbour")),
        BTreeMap::from([("file".to_owned(), b"old".to_vec())])
    );
}

#[tokio::test]
async fn no_host_is_reachable_without_a_grant() {
    if skip_without_sandbox() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let own_port = TcpListener::bind("127.0.0.1:0")
        .and_then(|free| free.local_addr())
        .unwrap()
        .port();
    let host_client = ConnectingThread::start(own_port);
    let lines = [
        format!("attempt('loopback', lambda: socket.create_connection(('127.0.0.1', {port}), 2))"),
        format!("attempt('name', lambda: socket.create_connection(('localhost', {port}), 2))"),
        "attempt('metadata', lambda: socket.create_connection(('169.254.169.254', 80), 2))".to_owned(),
        "attempt('dns', lambda: socket.getaddrinfo('example.com', 80))".to_owned(),
        "attempt('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 53)))".to_owned(),
        "attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))".to_owned(),
        // In its own network a program can listen, where no process of the host can connect.
        format!("attempt('listen', lambda: (lambda server: (server.settimeout(0.5), server.accept()))(socket.create_server(('127.0.0.1', {own_port}))))"),
        "attempt('unix', lambda: socket.socket(socket.AF_UNIX).connect('/run/systemd/private'))".to_owned(),
        "attempt('abstract', lambda: socket.socket(socket.AF_UNIX).connect('\\0x'))".to_owned(),
    ];
    let host = kit(&[("reach.py", &attempts(&lines))]);
    host.file("workspace/reach.py", attempts(&lines));
    let tools = host.allowing(&["spawn"]);
    all_refused(&run(&tools, "scripts/reach.py").await, lines.len());
    all_refused(&bash(&tools, "python3 reach.py", "").await, lines.len());
    assert_eq!(
        listener.accept().unwrap_err().kind(),
        std::io::ErrorKind::WouldBlock
    );
    host_client.stop();
}

/// Connects to a port of the host again and again.
struct ConnectingThread {
    is_stopped: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<()>,
}

impl ConnectingThread {
    fn start(port: u16) -> Self {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_stopped);
        let thread = std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let _ = TcpStream::connect(("127.0.0.1", port));
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        });
        Self { is_stopped, thread }
    }

    fn stop(self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

#[tokio::test]
async fn a_run_does_not_change_its_skill() {
    if skip_without_sandbox() {
        return;
    }
    let lines = [
        "try:\n    os.mkdir(skill + '/../more')\nexcept OSError:\n    pass",
        "sys.dont_write_bytecode = False\nsys.path.insert(0, skill + '/scripts')\nimport helper",
        "attempt('compile', lambda: __import__('py_compile').compile(skill + '/scripts/helper.py', doraise=True))",
        "attempt('write', write(skill + '/SKILL.md'))",
        "attempt('new', write(skill + '/new'))",
        // The working directory is that of the skill, or the workspace.
        "os.chdir(skill)",
        "attempt('here', write('new'))",
        "attempt('script', write(__file__))",
        "attempt('remove', lambda: os.unlink(skill + '/SKILL.md'))",
        "attempt('rename', lambda: os.rename(skill + '/SKILL.md', skill + '/x'))",
        "attempt('directory', lambda: os.mkdir(skill + '/.venv'))",
        "attempt('mode', lambda: os.chmod(skill + '/SKILL.md', 0o777))",
        "attempt('link', lambda: os.symlink('/etc', skill + '/etc'))",
        "attempt('alias', write('/skills/kit/new'))",
    ];
    let host = Host::new();
    let source = attempts(&lines.map(str::to_owned));
    host.skill("kit", "")
        .script("kit", "change.py", &source)
        .script("kit", "helper.py", "x = 1\n");
    let before = tree(&host.path("skills"));
    // Even a grant to write everywhere does not include the skill.
    for tools in [host.tools(), host.allowing(&["spawn", &host.write_rule()])] {
        // With namespaces the attempts change a layer, which ends with the run.
        for _ in 0..2 {
            for output in [
                run(&tools, "scripts/change.py").await,
                run_engine(&tools, "change").await,
            ] {
                assert!(output.text().contains("alias "), "{}", output.text());
                assert_eq!(tree(&host.path("skills")), before);
            }
        }
    }
    let tools = host.allowing(&["spawn", &host.write_rule()]);
    for command in [
        "touch new",
        "rm SKILL.md",
        "sh -c 'echo x > SKILL.md'",
        "python3 -c 'import sys; sys.path.insert(0, \"scripts\"); import helper'",
    ] {
        let _ = run(&tools, command).await;
        let _ = bash(&tools, command, "skills/kit").await;
        assert_eq!(tree(&host.path("skills")), before, "{command}");
    }
}

async fn run_engine(tools: &Tools, script: &str) -> skills_tools::ToolOutput {
    tools
        .call(
            "run_skill_script",
            json!({"skill_name": "kit", "script_name": script}),
        )
        .await
}

/// Returns all files below a directory with their content.
fn tree(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().unwrap().is_dir() {
            let below = tree(&entry.path());
            found.insert(format!("{name}/"), Vec::new());
            found.extend(
                below
                    .into_iter()
                    .map(|(path, content)| (format!("{name}/{path}"), content)),
            );
        } else {
            found.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
    found
}
