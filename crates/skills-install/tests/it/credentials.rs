//! Credentials of the user's git for servers of sources.

#[cfg(feature = "oci")]
mod registry;

use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use skills_install::{Fetcher, GitOptions, InstallError, InstallErrorKind, WebOptions};
use skills_test_support::skip;

use crate::fixture::{Fixture, git_program, skill_text};
#[cfg(feature = "mcp")]
use crate::mcp;
use crate::web::archive;
#[cfg(any(feature = "mcp", feature = "oci"))]
use crate::web::loopback;
use crate::web_server::{Reply, Request, WebServer};

const TOKEN: &str = "t0ken-of-ada";

/// Git with a helper that has a token for one host.
struct UserGit {
    fixture: Fixture,
}

impl UserGit {
    /// Returns nothing, after a note, if there is no git.
    fn new(host: &str) -> Option<Self> {
        let git = match git_program() {
            Ok(git) => git,
            Err(reason) => {
                skip(reason);
                return None;
            }
        };
        let fixture = Fixture::new();
        let path = |name: &str| fixture.path(name).display().to_string();
        let helper = format!(
            "#!/bin/sh\n\
             while read -r line && [ -n \"$line\" ]; do\n\
             case $line in host=*) host=${{line#host=}};; path=*) below=/${{line#path=}};; esac\n\
             done\n\
             echo \"$1 $host$below\" >> {log}\n\
             if [ \"$1 $host\" = 'get {host}' ]; then echo username=ada; echo password={TOKEN}; fi\n",
            log = path("log"),
        );
        let asked = format!("#!/bin/sh\necho asked >> {}\necho x\n", path("log"));
        let wrapper = format!(
            "#!/bin/sh\nexport GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL={}\nexec {} \"$@\"\n",
            path("config"),
            git.display()
        );
        fixture
            .file("log", "")
            .file(
                "config",
                format!(
                    "[credential]\n helper = {}\n[core]\n askPass = {}\n",
                    path("helper"),
                    path("ask")
                ),
            )
            .executable("helper", &helper)
            .executable("ask", &asked)
            .executable("git", &wrapper);
        Some(Self { fixture })
    }

    fn for_server(server: &WebServer) -> Option<Self> {
        Self::new(&format!("127.0.0.1:{}", server.port()))
    }

    fn fetcher(&self) -> Fetcher {
        Fetcher::new(GitOptions::new(self.fixture.path("git")))
            .web(WebOptions::new().allow_loopback())
            .use_git_credentials()
    }

    /// Returns what the helper was called for.
    fn calls(&self) -> Vec<String> {
        let log = self.fixture.read("log");
        log.lines().map(str::to_owned).collect()
    }

    fn assert_calls(&self, server: &WebServer, actions: &[&str]) {
        let host = format!("127.0.0.1:{}", server.port());
        let expected: Vec<String> = actions
            .iter()
            .map(|action| format!("{action} {host}"))
            .collect();
        assert_eq!(self.calls(), expected);
    }
}

fn basic() -> String {
    format!("Basic {}", STANDARD.encode(format!("ada:{TOKEN}")))
}

/// Answers 401 to requests without an authorization.
fn private(
    challenge: &'static str,
    authorization: String,
    answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> WebServer {
    WebServer::start(move |request| {
        if request.header("authorization") == Some(&authorization) {
            answer(request)
        } else {
            Reply::status(401).header("www-authenticate", challenge)
        }
    })
}

/// Asserts that the token is in no text.
fn assert_no_token(text: &str) {
    let encoded = STANDARD.encode(format!("ada:{TOKEN}"));
    assert!(!text.contains(TOKEN) && !text.contains(&encoded), "{text}");
}

/// Returns an error whose texts do not contain the token.
fn fetch_error(fetcher: &Fetcher, source: &str) -> InstallError {
    let fixture = Fixture::new();
    let error = fixture.add_with(fetcher, source).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Fetch, "{error}");
    assert!(fixture.states().is_empty());
    assert_no_token(&format!("{error} {error:?} {:?}", error.help()));
    error
}

#[test]
fn a_private_archive_is_downloaded_with_the_credentials_of_git() {
    let server = private("Basic realm=\"acme\"", basic(), |request| {
        if request.path.ends_with(".tgz") {
            Reply::ok(archive())
        } else {
            Reply::status(404)
        }
    });
    let Some(git) = UserGit::for_server(&server) else {
        return;
    };
    let url = server.url("/skills.tgz");
    let help = |error: InstallError| error.help().unwrap();
    // By default none are sent, and git is not started.
    let default = Fetcher::new(GitOptions::new(git.fixture.path("git")));
    let default = default.web(WebOptions::new().allow_loopback());
    assert!(help(fetch_error(&default, &url)).contains("add them by path"));
    git.assert_calls(&server, &[]);

    let fixture = Fixture::new();
    fixture.add_with(&git.fetcher(), &url).unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);
    let requests = server.requests();
    assert_eq!(requests[1].header("authorization"), None);
    // Asked once, and sent with all requests after that.
    assert!(requests.len() > 2);
    for request in &requests[2..] {
        assert_eq!(request.header("authorization"), Some(basic().as_str()));
    }
    git.assert_calls(&server, &["get", "store"]);
    assert_no_token(&fixture.read("skills/skills.lock"));
}

#[test]
fn credentials_are_kept_unless_the_server_rejects_them_twice() {
    for (challenge, statuses, actions) in [
        ("Basic realm=\"x\"", [401, 401], &["get", "erase"][..]),
        // The password may be right where it is not sent as a token.
        ("Bearer", [401, 401], &["get"]),
        ("Basic", [401, 403], &["get"]),
        ("Basic", [403, 403], &["get"]),
        ("Basic", [403, 401], &["get"]),
        ("Basic", [401, 404], &["get"]),
    ] {
        let server = WebServer::start(move |request| {
            let status = statuses[usize::from(request.header("authorization").is_some())];
            Reply::status(status).header("www-authenticate", challenge)
        });
        let Some(git) = UserGit::for_server(&server) else {
            return;
        };
        let error = fetch_error(&git.fetcher(), &server.url("/skills.tgz"));
        let status = format!("status {}", statuses[1]);
        assert!(error.to_string().contains(&status), "{error}");
        if statuses[1] != 404 {
            let help = error.help().unwrap();
            assert!(help.contains("does not accept the credentials"), "{help}");
        }
        git.assert_calls(&server, actions);
    }
}

#[test]
fn without_credentials_no_person_is_asked_and_the_help_says_what_to_do() {
    let server = WebServer::start(|_| Reply::status(401));
    let Some(git) = UserGit::new("other.example") else {
        return;
    };
    let error = fetch_error(&git.fetcher(), &server.url("/skills.tgz"));
    assert!(error.to_string().contains("status 401"), "{error}");
    let help = error.help().unwrap();
    assert!(help.contains("`git credential approve`"), "{help}");
    git.assert_calls(&server, &["get"]);
    assert_eq!(server.paths().len(), 1);
    // A kind that is not supported.
    let server = WebServer::start(|_| {
        Reply::status(401).header("www-authenticate", "Negotiate, Digest realm=\"x\"")
    });
    let git = UserGit::for_server(&server).unwrap();
    fetch_error(&git.fetcher(), &server.url("/skills.tgz"));
    assert_eq!(server.paths().len(), 1);
}

/// The other server is another origin: it has another port.
#[test]
fn credentials_are_not_sent_after_a_redirect_to_another_origin() {
    let back = Arc::new(Mutex::new(String::new()));
    let target = Arc::clone(&back);
    let other = WebServer::start(move |request| {
        assert_eq!(request.header("authorization"), None);
        match request.path.as_str() {
            "/public.tgz" => Reply::ok(archive()),
            "/back.tgz" => Reply::redirect(target.lock().unwrap().clone()),
            "/denied.tgz" => Reply::status(401).header("www-authenticate", "Basic realm=\"acme\""),
            _ => Reply::status(404),
        }
    });
    let elsewhere = other.url("");
    let server = private(
        "Basic realm=\"acme\"",
        basic(),
        move |request| match request.path.as_str() {
            "/secret.tgz" => Reply::ok(archive()),
            path if path.ends_with(".minisig") => Reply::status(404),
            path => Reply::redirect(format!("{elsewhere}{path}")),
        },
    );
    *back.lock().unwrap() = server.url("/secret.tgz");
    let Some(git) = UserGit::for_server(&server) else {
        return;
    };
    Fixture::new()
        .add_with(&git.fetcher(), &server.url("/public.tgz"))
        .unwrap();
    // Another server asks for credentials, or chooses what is requested with them.
    for path in ["/denied.tgz", "/back.tgz"] {
        let error = fetch_error(&git.fetcher(), &server.url(path));
        assert!(error.to_string().contains("status 401"), "{error}");
        let help = error.help().unwrap();
        assert!(help.contains("add them by path"), "{help}");
    }
    let requests = server.requests();
    let secret = requests
        .iter()
        .rfind(|request| request.path == "/secret.tgz");
    assert_eq!(secret.unwrap().header("authorization"), None);
    assert!(
        git.calls()
            .iter()
            .all(|call| !call.contains(&other.port().to_string()))
    );
}

#[test]
fn an_index_leads_to_no_other_server_with_credentials() {
    let text = skill_text("a", "");
    let digest = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(&text));
    let own = text.clone();
    let other = private("Basic realm=\"acme\"", basic(), move |_| {
        Reply::ok(text.clone())
    });
    let elsewhere = other.url("/a");
    let server = private("Basic realm=\"acme\"", basic(), move |request| {
        let url = match request.path.as_str() {
            "/own/.well-known/agent-skills/index.json" => "/a",
            "/other/.well-known/agent-skills/index.json" => &elsewhere,
            "/a" => return Reply::ok(own.clone()),
            _ => return Reply::status(404),
        };
        Reply::ok(format!(
            r#"{{"skills": [{{"name": "a", "type": "skill-md", "url": "{url}", "digest": "sha256:{digest}"}}]}}"#
        ))
    });
    let Some(git) = UserGit::for_server(&server) else {
        return;
    };
    Fixture::new()
        .add_with(&git.fetcher(), &server.url("/own"))
        .unwrap();
    let error = fetch_error(&git.fetcher(), &server.url("/other"));
    assert!(error.to_string().contains("status 401"), "{error}");
    assert_eq!(other.requests()[0].header("authorization"), None);
    assert_eq!(other.requests().len(), 1);
}

#[cfg(feature = "mcp")]
#[test]
fn a_server_that_wants_a_token_gets_the_password_as_one() {
    let files = vec![mcp::File::new("skill://a/SKILL.md", skill_text("a", ""))];
    let entries = vec![mcp::entry("a", &files)];
    let bearer = format!("Bearer {TOKEN}");
    let challenge = "Bearer resource_metadata=\"https://acme.example/x\"";
    let server = private(challenge, bearer.clone(), move |request| {
        mcp::respond(request, &entries, &files)
    });
    let Some(git) = UserGit::for_server(&server) else {
        return;
    };
    let fixture = Fixture::new();
    let source = format!("mcp+{}", server.url("/mcp"));
    fixture.add_with(&git.fetcher(), &source).unwrap();
    assert_eq!(fixture.states(), ["a unchanged"]);
    assert_no_token(&fixture.read("skills/skills.lock"));
    // The path is that of the source, which git uses if it is configured so.
    git.assert_calls(&server, &["get", "store"]);

    // A server that repeats the token in its error.
    let server = private(challenge, bearer, |request| {
        let id = &serde_json::from_slice::<serde_json::Value>(&request.body).unwrap()["id"];
        let token = request.header("authorization").unwrap();
        let error = serde_json::json!({"code": 1, "message": format!("{token} has expired")});
        let answer = serde_json::json!({"jsonrpc": "2.0", "id": id, "error": error});
        Reply::ok(answer.to_string()).header("content-type", "application/json")
    });
    let git = UserGit::for_server(&server).unwrap();
    let error = fetch_error(&git.fetcher(), &format!("mcp+{}", server.url("/mcp")));
    assert!(
        error.to_string().contains("Bearer [REDACTED] has expired"),
        "{error}"
    );
    // Without credentials.
    let error = fetch_error(&loopback(), &format!("mcp+{}", server.url("/mcp")));
    assert!(error.to_string().contains("status 401"), "{error}");
}

#[test]
fn git_can_have_credentials_for_each_path() {
    let server = private("Basic realm=\"acme\"", basic(), |_| Reply::ok(archive()));
    let Some(git) = UserGit::for_server(&server) else {
        return;
    };
    let config = git.fixture.read("config");
    let config = config.replace("[core]", " useHttpPath = true\n[core]");
    git.fixture.file("config", config);
    Fixture::new()
        .add_with(&git.fetcher(), &server.url("/team/skills.tgz?v=1"))
        .unwrap();
    let at = format!("127.0.0.1:{}/team/skills.tgz", server.port());
    assert_eq!(git.calls(), [format!("get {at}"), format!("store {at}")]);
}

/// The git of a user who has none.
#[test]
fn without_git_the_answer_of_the_server_is_the_error() {
    let server = WebServer::start(|_| Reply::status(401));
    let git = Fetcher::new(GitOptions::new("/nonexistent/git"));
    let fetcher = git
        .web(WebOptions::new().allow_loopback())
        .use_git_credentials();
    let error = fetch_error(&fetcher, &server.url("/skills.tgz"));
    assert!(error.to_string().contains("status 401"), "{error}");
}
