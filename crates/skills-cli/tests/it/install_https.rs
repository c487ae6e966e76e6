//! Installing over HTTPS: which certificate authorities are trusted, which addresses reached, and
//! which credentials sent.

use std::path::Path;
use std::process::Command;

use skills_test_support::{host, skip, source_tree};

use crate::fixture::Fixture;
use crate::skills::{Done, command_with_state};
use crate::web_server::{Reply, TunnelProxy, WebServer};

/// The certificate of the authority that signed the one of the server.
const AUTHORITY: &str = "crates/skills-install/tests/it/tls/ca.pem";

/// A project, and a site with the skill `notes`.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .file("project/.git/HEAD", "")
        .skill("source/notes", "notes");
    let publish = ["--root", "../source", "publish", "--well-known", "../site"];
    let done = fixture.run("project", &publish);
    assert_eq!(done.code, 0, "{}", done.stderr);
    fixture
}

/// Serves the site of a fixture by HTTPS.
fn serve(fixture: &Fixture) -> WebServer {
    let site = fixture.path().join("site");
    WebServer::start_tls(move |request| {
        match std::fs::read(site.join(request.path.trim_start_matches('/'))) {
            Ok(content) => Reply::ok(content),
            Err(_) => Reply::status(404),
        }
    })
}

/// Runs a command in the project, with variables.
fn run(fixture: &Fixture, arguments: &[&str], variables: &[(&str, &Path)]) -> Done {
    let scratch = tempfile::tempdir().unwrap();
    let (scratch, state) = (scratch.path(), &fixture.path().join("state"));
    let mut command: Command = command_with_state(arguments, scratch, state);
    let output = command
        .current_dir(fixture.path().join("project"))
        .env("HOME", fixture.path().join("home"))
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    Done {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn the_authority_of_an_organization_is_trusted_once_it_is_named() {
    let fixture = fixture();
    let server = serve(&fixture);
    let site = server.url("");
    let add = ["add", &site, "--yes", "--insecure"];
    let authority = source_tree().join(AUTHORITY);

    let unknown = run(&fixture, &add, &[]);
    assert_eq!(unknown.code, 1, "{}", unknown.stderr);
    assert!(
        unknown.stderr.contains("UnknownIssuer"),
        "{}",
        unknown.stderr
    );
    assert!(
        unknown
            .stderr
            .contains("help: if the server is one of your organization"),
        "{}",
        unknown.stderr
    );

    // A variable that leads to no certificate is not replaced by other authorities.
    let missing = fixture.path().join("missing.pem");
    let wrong = run(&fixture, &add, &[("SSL_CERT_FILE", &missing)]);
    assert_eq!(wrong.code, 1, "{}", wrong.stderr);
    assert!(
        wrong.stderr.contains("no certificate authority found")
            && wrong.stderr.contains("missing.pem"),
        "{}",
        wrong.stderr
    );
    assert!(server.paths().is_empty());

    let directory = fixture.path().join("authorities");
    std::fs::create_dir(&directory).unwrap();
    std::fs::copy(&authority, directory.join("acme.pem")).unwrap();
    for variable in [
        ("SSL_CERT_FILE", authority.as_path()),
        ("SSL_CERT_DIR", directory.as_path()),
    ] {
        let added = run(&fixture, &add, &[variable]);
        assert_eq!(added.code, 0, "{}", added.stderr);
        // The next one installs it again.
        std::fs::remove_dir_all(fixture.path().join("project/.agents")).unwrap();
    }
}

/// The server is behind a proxy, so that its address is a private one for the command only.
#[test]
fn a_source_on_a_private_address_is_installed_if_the_setting_lists_it() {
    let fixture = fixture();
    let server = serve(&fixture);
    let proxy = TunnelProxy::start_in_front_of(&server);
    let proxy_url = format!("http://{}", proxy.address);
    let authority = source_tree().join(AUTHORITY);
    let variables = [
        ("HTTPS_PROXY", Path::new(&proxy_url)),
        ("SSL_CERT_FILE", &authority),
    ];
    let host = format!("10.0.0.7:{}", server.port());
    let site = format!("https://{host}");
    let add = ["add", &site, "--yes"];
    let settings = "home/.config/skills/config.toml";
    for other in ["10.0.0.7:1", "10.0.0.8", "git.acme.example"] {
        fixture.file(settings, &format!("private-sources = ['{other}']\n"));
        let refused = run(&fixture, &add, &variables);
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        assert!(
            refused
                .stderr
                .contains("10.0.0.7, which is not a public address")
                && refused
                    .stderr
                    .contains("list its host in the setting `private-sources`"),
            "{}",
            refused.stderr
        );
    }
    assert!(proxy.targets().is_empty());

    fixture.file(settings, &format!("private-sources = ['{host}']\n"));
    let added = run(&fixture, &add, &variables);
    assert_eq!(added.code, 0, "{}", added.stderr);
    assert_eq!(run(&fixture, &["verify"], &[]).code, 0);
    assert!(proxy.targets().iter().all(|target| *target == host));
    let lock = fixture.path().join("project/.agents/skills/skills.lock");
    let lock = std::fs::read_to_string(lock).unwrap();
    assert!(
        lock.contains(&format!("source = \"{site}///notes\"")),
        "{lock}"
    );
}

/// Returns the content of all files below a directory, as far as it is text.
fn texts_below(directory: &Path) -> String {
    let entries = std::fs::read_dir(directory).unwrap();
    let text = entries.map(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts_below(&path)
        } else {
            String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
        }
    });
    text.collect()
}

#[test]
fn a_token_of_git_is_sent_and_is_in_no_output_and_no_file() {
    const TOKEN: &str = "t0ken-of-ada";
    // `ada:t0ken-of-ada`
    const BASIC: &str = "Basic YWRhOnQwa2VuLW9mLWFkYQ==";
    let git = match host::program("git") {
        Ok(git) => git,
        Err(reason) => return skip(reason),
    };
    let fixture = fixture();
    let site = fixture.path().join("site");
    let server = WebServer::start_tls(move |request| {
        let path = request.path.trim_start_matches('/');
        match request.header("authorization") {
            Some(BASIC) if path.starts_with("denied") => Reply::status(403),
            Some(BASIC) => match std::fs::read(site.join(path)) {
                Ok(content) => Reply::ok(content),
                Err(_) => Reply::status(404),
            },
            _ => Reply::status(401).header("www-authenticate", "Basic realm=\"acme\""),
        }
    });
    let config = format!(
        "[credential \"https://localhost:{}\"]\n helper = \"!f() {{ test $1 = get && echo username=ada && echo password={TOKEN}; }}; f\"\n",
        server.port()
    );
    fixture.file("gitconfig", &config);
    let authority = source_tree().join(AUTHORITY);
    let search_path = format!("{}:/usr/bin:/bin", git.parent().unwrap().display());
    let variables = [
        ("SSL_CERT_FILE", authority.as_path()),
        ("GIT_CONFIG_GLOBAL", &fixture.path().join("gitconfig")),
        ("GIT_CONFIG_NOSYSTEM", Path::new("1")),
        ("PATH", Path::new(&search_path)),
    ];
    let denied = format!("archive+{}", server.url("/denied.tgz"));
    for (source, code) in [(server.url(""), 0), (denied, 1)] {
        for format in [&[][..], &["--json"]] {
            let add = ["add", &source, "--yes", "--insecure"];
            let done = run(&fixture, &[&add[..], format].concat(), &variables);
            assert_eq!(done.code, code, "{}{}", done.stdout, done.stderr);
            for text in [&done.stdout, &done.stderr] {
                assert!(
                    !text.contains(TOKEN) && !text.contains(&BASIC[6..]),
                    "{text}"
                );
            }
        }
    }
    let sent = server.requests();
    assert!(
        sent.iter()
            .any(|request| request.header("authorization") == Some(BASIC))
    );
    for directory in ["project", "home", "state"] {
        let texts = texts_below(&fixture.path().join(directory));
        assert!(!texts.contains(TOKEN) && !texts.contains(&BASIC[6..]));
    }

    let without = [variables[0]];
    let refused = run(&fixture, &["update", "--check", "--insecure"], &without);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(
        refused
            .stderr
            .contains("store a token for the server in git"),
        "{}",
        refused.stderr
    );
}
