//! Tests of `skills mcp`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::skills::{EXAMPLES, command_with_state, skills, skills_with};

/// A server over standard input and output.
pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// What the client answers to `roots/list`.
    roots: Value,
    /// The methods of the requests of the server.
    requests: Vec<String>,
    _directories: Vec<tempfile::TempDir>,
}

impl Server {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let arguments = [&["mcp"], &EXAMPLES[..], arguments].concat();
        let command = command_with_state(&arguments, directories[0].path(), directories[1].path());
        Self::connect(command, directories.into())
    }

    /// Starts a server by this command. The directories exist until its end.
    pub(crate) fn connect(command: Command, directories: Vec<tempfile::TempDir>) -> Self {
        Self::connect_as(command, directories, json!({}), Value::Null)
    }

    /// Starts a server by this command, for a client with roots.
    pub(crate) fn connect_with_roots(command: Command, roots: Value) -> Self {
        Self::connect_as(command, Vec::new(), json!({"roots": {}}), roots)
    }

    fn connect_as(
        mut command: Command,
        directories: Vec<tempfile::TempDir>,
        capabilities: Value,
        roots: Value,
    ) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (
            child.stdin.take().unwrap(),
            BufReader::new(child.stdout.take().unwrap()),
        );
        let mut server = Self {
            child,
            input,
            output,
            roots,
            requests: Vec::new(),
            _directories: directories,
        };
        let client = json!({"name": "test", "version": "1"});
        server.request(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client}),
        );
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    /// Sends a request and returns the result.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert_ne!(
                self.output.read_line(&mut line).unwrap(),
                0,
                "the server has ended"
            );
            let message: Value =
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
            if let Some(asked) = message["method"]
                .as_str()
                .filter(|_| message["id"] != Value::Null)
            {
                self.requests.push(asked.to_owned());
                let result = json!({"roots": self.roots});
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
            } else if message["id"] == method {
                assert!(message.get("error").is_none(), "{message}");
                return message["result"].clone();
            }
        }
    }

    /// Waits for a notification.
    pub(crate) fn notification(&mut self, method: &str) {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "no {method}");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == method {
                return;
            }
        }
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Returns the methods of the requests that the server has sent.
    pub(crate) fn requests(&self) -> &[String] {
        &self.requests
    }

    /// Kills the server, so that it cleans nothing up.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes the input, waits for the server and returns its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        drop(self.input);
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
        self.child.wait().unwrap().code()
    }
}

/// A home directory is not a project, also if `HOME` leads there through a symlink.
#[cfg(unix)]
#[test]
fn the_working_directory_is_the_workspace_except_at_home() {
    let workspace = |home: &str, working_directory: &str| {
        let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [scratch, state] = directories.each_ref().map(tempfile::TempDir::path);
        for directory in ["homes/ada/project", "scratch"] {
            std::fs::create_dir_all(state.join(directory)).unwrap();
        }
        std::os::unix::fs::symlink("homes", state.join("link")).unwrap();
        std::fs::create_dir(state.join("skills")).unwrap();
        let root = state.join("skills").display().to_string();
        let arguments = ["mcp", "--root", &root];
        let mut command = command_with_state(&arguments, scratch, &state.join("state"));
        command
            .env("HOME", state.join(home))
            .current_dir(state.join(working_directory));
        let mut server = Server::connect(command, directories.into());
        let call = json!({"name": "skills_ls", "arguments": {}});
        let listed = server.request("tools/call", &call);
        listed["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("/workspace")
    };
    assert!(workspace("homes/ada", "homes/ada/project"));
    assert!(workspace("link/ada", "homes/ada/project"));
    for home in ["homes/ada", "link/ada"] {
        assert!(!workspace(home, "homes/ada"), "{home}");
        assert!(!workspace(home, "homes"), "{home}");
    }
}

#[test]
fn a_client_lists_tools_and_skills_and_calls_a_tool() {
    let workspace = tempfile::tempdir().unwrap();
    let mut server = Server::start(&["--workspace", workspace.path().to_str().unwrap()]);
    let tools = server.request("tools/list", &json!({}));
    assert!(
        tools["tools"]
            .as_array()
            .unwrap()
            .iter()
            .any(|tool| tool["name"] == "skills_run"),
        "{tools}"
    );
    let skills = server.request("skills/list", &json!({}));
    assert!(
        skills["skills"]
            .as_array()
            .unwrap()
            .iter()
            .any(|skill| skill["uri"] == "skill://code-review/SKILL.md"),
        "{skills}"
    );
    let written = server.call(
        "skills_write",
        &json!({"path": "/workspace/note.txt", "content": "hello"}),
    );
    assert_eq!(written["isError"], false, "{written}");
    assert_eq!(
        std::fs::read_to_string(workspace.path().join("note.txt")).unwrap(),
        "hello"
    );
    assert_eq!(server.end(), Some(0));
}

#[test]
fn requests_before_the_end_of_input_are_answered() {
    let client = json!({"name": "test", "version": "1"});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
               "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "skills_ls", "arguments": {"path": "/skills"}}}),
    ];
    let input: String = messages
        .iter()
        .map(|message| format!("{message}\n"))
        .collect();
    let done = skills_with(&["mcp", "--root", "examples/skills"], &input);
    assert_eq!(done.code, 0, "{}", done.page());
    let answers: Vec<Value> = done
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), 2, "{}", done.page());
    assert!(
        answers[1]["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("code-review/")
    );
}

/// Code in the process that prints or reads does not use the streams of the protocol.
#[cfg(target_os = "linux")]
#[test]
fn the_streams_of_the_protocol_are_isolated() {
    let mut server = Server::start(&[]);
    server.request("ping", &json!({}));
    let stream = |number: u32| {
        std::fs::read_link(format!("/proc/{}/fd/{number}", server.child.id())).unwrap()
    };
    assert_eq!(stream(0), Path::new("/dev/null"));
    assert_eq!(stream(1), stream(2));
    use std::os::fd::AsRawFd;
    let ours = [
        server.input.as_raw_fd(),
        server.output.get_ref().as_raw_fd(),
    ];
    let pipes = ours.map(|number| std::fs::read_link(format!("/proc/self/fd/{number}")).unwrap());
    let mut kept = 0;
    for entry in std::fs::read_dir(format!("/proc/{}/fdinfo", server.child.id())).unwrap() {
        let entry = entry.unwrap();
        let number = entry.file_name().to_str().unwrap().parse::<u32>().unwrap();
        let Ok(info) = std::fs::read_to_string(entry.path()) else {
            continue;
        };
        if pipes.contains(&stream(number)) {
            let flags = info
                .lines()
                .find_map(|line| line.strip_prefix("flags:"))
                .unwrap()
                .trim()
                .to_owned();
            assert_ne!(
                u32::from_str_radix(&flags, 8).unwrap() & 0o2_000_000,
                0,
                "programs would inherit {number}"
            );
            kept += 1;
        }
    }
    assert!(kept >= 2, "the server has no streams?");
    assert_eq!(server.end(), Some(0));
}

/// A server over HTTP.
struct HttpServer {
    child: Child,
    address: String,
    state: tempfile::TempDir,
    _scratch: tempfile::TempDir,
}

impl HttpServer {
    fn start(arguments: &[&str]) -> Self {
        let (scratch, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let arguments = [
            &["mcp", "--http", "127.0.0.1:0", "--json"],
            &EXAMPLES[..],
            arguments,
        ]
        .concat();
        let mut command = command_with_state(&arguments, scratch.path(), state.path());
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut document = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        while !document.ends_with("}\n") {
            assert_ne!(
                output.read_line(&mut document).unwrap(),
                0,
                "the server has ended"
            );
        }
        let url = serde_json::from_str::<Value>(&document).unwrap()["url"]
            .as_str()
            .unwrap()
            .to_owned();
        let address = url
            .strip_prefix("http://")
            .unwrap()
            .strip_suffix("/mcp")
            .unwrap()
            .to_owned();
        Self {
            child,
            address,
            state,
            _scratch: scratch,
        }
    }

    fn send(&self, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        write!(stream, "{head}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Lists the skills with protocol version 2026-07-28.
    fn list(&self, token: Option<&str>) -> String {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
                          "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}});
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": "skills/list", "params": {"_meta": meta}});
        let token = token.map_or_else(String::new, |token| {
            format!("\r\nauthorization: Bearer {token}")
        });
        let head = format!(
            "POST /mcp HTTP/1.1\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             mcp-protocol-version: 2026-07-28\r\nmcp-method: skills/list{token}"
        );
        self.send(&head, &body.to_string())
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn http_clients_need_the_token_of_the_user() {
    let server = HttpServer::start(&[]);
    let path = server.state.path().join("skills/mcp-token");
    let text = std::fs::read_to_string(&path).unwrap();
    let token = text.trim().strip_prefix("owner: ").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(
        server
            .send("GET /healthz HTTP/1.1", "")
            .ends_with("\r\n\r\nok")
    );
    assert!(server.list(None).starts_with("HTTP/1.1 401 "));
    assert!(server.list(Some("wrong")).starts_with("HTTP/1.1 401 "));
    let listed = server.list(Some(token));
    assert!(
        listed.starts_with("HTTP/1.1 200 ") && listed.contains("skill://code-review/SKILL.md"),
        "{listed}"
    );
}

#[test]
fn a_terminated_server_exits_successfully() {
    if !Path::new("/bin/kill").exists() {
        return skills_test_support::skip("no /bin/kill (package procps or util-linux)");
    }
    let mut server = HttpServer::start(&["--no-token"]);
    assert!(server.list(None).starts_with("HTTP/1.1 200 "));
    assert!(
        Command::new("/bin/kill")
            .args(["-TERM", &server.child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}

#[test]
fn insecure_http_options_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let token = directory.path().join("token");
    std::fs::write(&token, format!("{}\n", "a".repeat(43))).unwrap();
    let readable = token.to_str().unwrap().to_owned();
    for (arguments, expected) in [
        (vec!["--http", "0.0.0.0:0"], "remote access is not enabled"),
        (
            vec!["--http", "0.0.0.0:0", "--allow-remote"],
            "no host name is configured",
        ),
        (
            vec!["--http", "127.0.0.1:0", "--token-file", &readable],
            "accessible by other users",
        ),
        (
            vec!["--http", "127.0.0.1:0", "--key-file", &readable],
            "accessible by other users",
        ),
        (vec!["--http", "localhost"], "invalid socket address"),
        (vec!["--no-token"], "--http"),
        (
            vec!["--allow-remote", "--http", "127.0.0.1:0", "--no-token"],
            "cannot be used with",
        ),
    ] {
        let done = skills(&[&["mcp"], &arguments[..]].concat());
        assert_eq!(done.code, 2, "{arguments:?}: {}", done.page());
        assert!(
            done.stderr.contains(expected),
            "{arguments:?}: {}",
            done.page()
        );
        assert!(!done.stderr.contains(&"a".repeat(43)), "{}", done.page());
    }
}

#[test]
fn options_for_remote_clients_have_a_hint() {
    let serve = |arguments: &[&str]| {
        let done = skills(&[&["mcp", "--http", "127.0.0.1:0", "--no-token"], arguments].concat());
        done.page()
    };
    assert_snapshot!(serve(&["--allow-host", "https://tools.example/"]), @"
    exit 2
    -- stderr
    error: invalid host `https://tools.example/`: expected NAME or NAME:PORT
    help: pass a host without scheme and path: `--allow-host tools.example` for any port, `--allow-host tools.example:8443` for one
    ");
    assert_snapshot!(serve(&["--allow-host", "tools.example:99999"]), @"
    exit 2
    -- stderr
    error: invalid host `tools.example:99999`: expected NAME or NAME:PORT
    help: pass a host without scheme and path: `--allow-host tools.example` for any port, `--allow-host tools.example:8443` for one
    ");
    assert_snapshot!(serve(&["--allow-origin", "tools.example"]), @"
    exit 2
    -- stderr
    error: invalid origin `tools.example`: expected SCHEME://HOST, optionally with :PORT or :*
    help: pass a scheme and a host without path, for example `--allow-origin https://tools.example`
    ");
    let remote = |arguments: &[&str]| {
        let done = skills(&[&["mcp", "--http", "0.0.0.0:0"], arguments].concat());
        // The first line names the token file in a temporary directory.
        let (_, error) = done.stderr.split_once('\n').unwrap();
        format!("exit {}\n{error}", done.code)
    };
    assert_snapshot!(remote(&[]), @"
    exit 2
    error: cannot listen on 0.0.0.0:0: remote access is not enabled
    help: listen on 127.0.0.1, or pass `--allow-remote` and `--allow-host HOST`
    ");
    assert_snapshot!(remote(&["--allow-remote"]), @"
    exit 2
    error: cannot listen on 0.0.0.0:0: no host name is configured
    help: pass the name that clients connect to, for example `--allow-host tools.example`
    ");
    assert_snapshot!(remote(&["--allow-remote", "--allow-host", "*"]), @"
    exit 2
    error: invalid host `*`: expected NAME or NAME:PORT
    help: pass a host without scheme and path: `--allow-host tools.example` for any port, `--allow-host tools.example:8443` for one
    ");
}
