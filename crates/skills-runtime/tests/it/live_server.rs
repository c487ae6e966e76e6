//! A skill of a live MCP server: untrusted until its digest is agreed to, then run as any other.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use skills_audit::ContentHash;
use skills_install::{Fetcher, GitOptions, WebOptions};
use skills_runtime::discovery::SourceRoot;
use skills_runtime::{ErrorKind, ExecutionOptions, Scope, SkillRuntime};
use skills_test_support::skip_without_sandbox;

use crate::fixture::{Fixture, OptionsExt};

const TEXT: &str = "---\nname: greet\ndescription: Greets.\n---\nRun `greet.py`.\n";

/// The files of the only skill of a server.
type Files = Arc<Mutex<Vec<(&'static str, String)>>>;

/// Serves the skill until the test ends, and returns the source.
fn serve(files: &Files) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let files = Arc::clone(files);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            answer(client.unwrap(), &files.lock().unwrap());
        }
    });
    format!("mcp+http://{address}/mcp")
}

fn answer(mut client: TcpStream, files: &[(&str, String)]) {
    let mut reader = BufReader::new(&client);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let request: Value = serde_json::from_slice(&body).unwrap();
    let result = result(&request, files);
    let body = json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    let length = body.len();
    write!(client, "{head}\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
}

fn result(request: &Value, files: &[(&str, String)]) -> Value {
    let uri = |path: &str| format!("skill://greet/{path}");
    match request["method"].as_str().unwrap() {
        "server/discover" => {
            json!({"capabilities": {"extensions": {"io.modelcontextprotocol/skills": {}}}})
        }
        "skills/list" => {
            let resource = |(path, text): &(&str, String)| {
                let digest = format!("sha256:{}", ContentHash::new(text.as_bytes()).sha256);
                json!({"uri": uri(path), "digest": digest, "size": text.len()})
            };
            let resources: Vec<Value> = files.iter().map(resource).collect();
            let frontmatter = json!({"name": "greet", "description": "Greets."});
            json!({"skills": [{"uri": uri("SKILL.md"), "frontmatter": frontmatter, "resources": resources}]})
        }
        _ => {
            let wanted = request["params"]["uri"].as_str().unwrap();
            let (_, text) = files.iter().find(|(path, _)| uri(path) == wanted).unwrap();
            json!({"contents": [{"uri": wanted, "text": text}]})
        }
    }
}

fn script(text: &str) -> Vec<(&'static str, String)> {
    vec![
        ("SKILL.md", TEXT.to_owned()),
        ("scripts/greet.py", format!("print('{text}')")),
    ]
}

#[tokio::test]
async fn a_skill_of_a_server_is_listed_loaded_and_run_once_its_digest_is_agreed_to() {
    let fixture = Fixture::new();
    let files: Files = Arc::new(Mutex::new(script("hello")));
    let fetcher = Fetcher::new(GitOptions::new("/usr/bin/git"));
    let fetcher = fetcher.web(WebOptions::new().allow_loopback());
    let spec = serve(&files).parse().unwrap();
    let runtime = || {
        let source = fetcher.live_source(&spec).unwrap();
        let root = SourceRoot::new(Arc::new(source), Scope::User, fixture.path(""));
        SkillRuntime::builder()
            .source(root.lock_directory(fixture.path("")))
            .scratch_directory(fixture.path(""))
            .build()
    };
    let options = || ExecutionOptions::default().script("greet.py");

    let untrusted = runtime();
    assert!(untrusted.discover_skills().is_empty());
    let error = untrusted
        .execute_skill("greet", options())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InactiveSkill);
    let catalog = untrusted.library().catalog();
    let digest = catalog.inactive()[0].entry().locked_digest().unwrap();
    let lock = format!(
        "version = 1\n[[skill]]\nname = \"greet\"\nsource = \"mcp+https://host/mcp\"\ncontent = \"{digest}\"\nfiles = 2\nbytes = 1\nsigner = \"unsigned\"\n"
    );
    fixture.file("skills.lock", lock);

    // The lock file is read again; the server is not asked.
    assert_eq!(untrusted.discover_skills()[0].id, "greet");
    let trusted = runtime();
    assert_eq!(trusted.discover_skills()[0].description, "Greets.");
    let skill = trusted.get_skill("greet").unwrap();
    assert_eq!(skill.instructions, "Run `greet.py`.\n");
    if skip_without_sandbox() {
        return;
    }
    let artifacts = trusted.execute_skill("greet", options()).await.unwrap();
    assert_eq!(artifacts.stdout.text(), "hello\n", "{artifacts:?}");

    // What the server has now is not what was agreed to.
    *files.lock().unwrap() = script("changed");
    let artifacts = trusted.execute_skill("greet", options()).await.unwrap();
    assert_eq!(artifacts.stdout.text(), "hello\n", "it was read before");
    assert!(untrusted.execute_skill("greet", options()).await.is_err());
    let changed = runtime();
    assert!(changed.discover_skills().is_empty());
    let error = changed.execute_skill("greet", options()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InactiveSkill);
    assert_eq!(
        changed.library().catalog().inactive()[0].reason().code(),
        "changed"
    );
}
