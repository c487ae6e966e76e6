//! Credentials of git for registries.

use super::*;
use crate::oci::single_archive;

/// A registry that grants tokens to users only.
fn registry(realm: impl Fn(&Request) -> String + Send + Sync + 'static) -> WebServer {
    let (artifacts, _) = single_archive();
    WebServer::start(move |request| {
        let authorization = request.header("authorization");
        if request.path.starts_with("/token") {
            return match authorization {
                Some(value) if value == basic() => Reply::ok(r#"{"token": "personal"}"#),
                Some(_) => Reply::status(401),
                // A token that does not suffice.
                None => Reply::ok(r#"{"token": "anonymous"}"#),
            };
        }
        if authorization == Some("Bearer personal") {
            return artifacts.answer(&request.path);
        }
        let challenge = format!("Bearer realm=\"{}\",service=\"acme\"", realm(request));
        Reply::status(401).header("www-authenticate", challenge)
    })
}

fn own_realm(request: &Request) -> String {
    format!("http://{}/token", request.header("host").unwrap())
}

fn oci(server: &WebServer) -> String {
    format!("oci://127.0.0.1:{}/acme/skills:1.0", server.port())
}

#[test]
fn a_private_artifact_is_read_with_a_token_for_the_credentials_of_git() {
    let server = registry(own_realm);
    let Some(git) = UserGit::for_server(&server) else {
        return;
    };
    let fixture = Fixture::new();
    fixture.add_with(&git.fetcher(), &oci(&server)).unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);
    assert_no_token(&fixture.read("skills/skills.lock"));
    git.assert_calls(&server, &["get", "store"]);
    // The password is sent to the server for tokens only.
    for request in server.requests() {
        let is_basic = request.header("authorization") == Some(&basic());
        assert!(!is_basic || request.path.starts_with("/token"));
    }
    let error = fetch_error(&loopback(), &oci(&server));
    assert!(error.to_string().contains("wants credentials"), "{error}");

    // A registry without tokens.
    let (artifacts, _) = single_archive();
    let server = private("Basic realm=\"acme\"", basic(), move |request| {
        artifacts.answer(&request.path)
    });
    let git = UserGit::for_server(&server).unwrap();
    Fixture::new()
        .add_with(&git.fetcher(), &oci(&server))
        .unwrap();
    git.assert_calls(&server, &["get", "store"]);

    // Credentials that give no access are rejected if they are wrong.
    let denies = |path: &'static str| {
        WebServer::start(move |request| match request.header("authorization") {
            Some(_) if request.path.starts_with(path) => Reply::ok(r#"{"token": "t"}"#),
            _ => Reply::status(401).header(
                "www-authenticate",
                format!("Bearer realm=\"{}\"", own_realm(request)),
            ),
        })
    };
    for (path, actions) in [("/token", &["get", "store"]), ("/none", &["get", "erase"])] {
        let server = denies(path);
        let git = UserGit::for_server(&server).unwrap();
        let error = fetch_error(&git.fetcher(), &oci(&server));
        let text = error.to_string();
        assert!(text.contains("does not accept the credentials"), "{text}");
        git.assert_calls(&server, actions);
    }
}

#[test]
fn a_registry_leads_to_no_other_server_with_credentials() {
    let other = WebServer::start(|request| {
        assert_eq!(request.header("authorization"), None);
        Reply::ok(r#"{"token": "anonymous"}"#)
    });
    let realm = other.url("/token");
    let server = registry(move |_| realm.clone());
    let Some(git) = UserGit::for_server(&server) else {
        return;
    };
    // Without TLS nothing proves that the registry named it.
    let error = fetch_error(&git.fetcher(), &oci(&server));
    assert!(error.to_string().contains("wants credentials"), "{error}");
    assert_eq!(other.requests().len(), 1);
    git.assert_calls(&server, &[]);

    // Where blobs are stored, another server asks for a token.
    let (artifacts, _) = single_archive();
    let realm = other.url("/token");
    let storage = WebServer::start(move |_| {
        Reply::status(401).header("www-authenticate", format!("Bearer realm=\"{realm}\""))
    });
    let blobs = storage.url("");
    let server = WebServer::start(move |request| {
        if request.path.contains("/blobs/") {
            Reply::redirect(format!("{blobs}{}", request.path))
        } else {
            artifacts.answer(&request.path)
        }
    });
    let git = UserGit::for_server(&server).unwrap();
    let error = fetch_error(&git.fetcher(), &oci(&server));
    assert!(error.to_string().contains("status 401"), "{error}");
    assert_eq!(other.requests().len(), 1);
    git.assert_calls(&server, &[]);
}
