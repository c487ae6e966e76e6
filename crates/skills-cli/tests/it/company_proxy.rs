//! Runs on a machine with the proxy of a company as the only way out, with a certificate authority of
//! it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use skills_test_support::{SkillTree, skip_without_sandbox};

use crate::skills::{Done, command_with_state};

const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
const KEY: &str = "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n";

/// Requests a host, and prints what the program knows of its network.
const SCRIPT: &str = "import os, sys, urllib.request\n\
    for name in sorted(os.environ):\n    \
        if 'PROXY' in name.upper() or os.environ[name].endswith('.pem'): print(name, os.environ[name])\n\
    certificates = os.environ.get('SSL_CERT_FILE')\n\
    if certificates: print(open(certificates).read().count('BEGIN'), open(certificates).readline())\n\
    try: print(urllib.request.urlopen(sys.argv[1], timeout=20).read())\n\
    except Exception as error: print(error)\n";

/// A machine, and the proxy of its company, which answers each request for itself.
struct Company {
    tree: SkillTree,
    proxy: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Company {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = format!("http://ada:secret@{}", listener.local_addr().unwrap());
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&heads);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut got = Vec::new();
                let mut byte = [0];
                while !got.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                    got.push(byte[0]);
                }
                log.lock().unwrap().push(String::from_utf8(got).unwrap());
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ncorp");
            }
        });
        let tree = SkillTree::new("skills/");
        tree.skill("one", "").script("one", "main.py", SCRIPT);
        fs::create_dir_all(tree.path("scratch")).unwrap();
        Self { tree, proxy, heads }
    }

    fn run(&self, url: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Done {
        let root = self.tree.path("skills").display().to_string();
        let run = [
            "run",
            "one",
            "--root",
            &root,
            "--allow",
            "network:name.example",
        ];
        let arguments = [&run, arguments, &["--", url]].concat();
        let (scratch, state) = (self.tree.path("scratch"), self.tree.path("state"));
        let mut command = command_with_state(&arguments, &scratch, &state);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Done {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.tree.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn heads(&self) -> Vec<String> {
        std::mem::take(&mut self.heads.lock().unwrap())
    }

    /// Asserts that credentials and address of the proxy are nowhere.
    #[track_caller]
    fn assert_hidden(&self, done: &Done) {
        let log = fs::read_to_string(self.tree.path("state/skills/audit.jsonl")).unwrap();
        let address = self.proxy.rsplit_once('@').unwrap().1;
        for text in [&done.stdout, &done.stderr, &log] {
            let is_hidden = ["secret", "ada:", "YWRh", address]
                .iter()
                .all(|part| !text.contains(part));
            assert!(is_hidden, "{text}");
        }
    }
}

#[test]
fn a_run_reaches_a_named_host_through_the_proxy_of_a_company() {
    if skip_without_sandbox() {
        return;
    }
    let company = Company::new();
    for variable in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        let proxy = [(variable, company.proxy.as_str())];
        let done = company.run("https://name.example/", &[], &proxy);
        let heads = company.heads();
        assert!(
            heads.len() == 1 && heads[0].starts_with("CONNECT name.example:443 HTTP/1.1\r\n"),
            "{heads:?} {}",
            done.page()
        );
        company.assert_hidden(&done);
    }
    let proxy = [("http_proxy", company.proxy.as_str())];
    let done = company.run("http://name.example/x", &[], &proxy);
    assert!(done.stdout.contains("b'corp'"), "{}", done.page());
    assert!(company.heads()[0].starts_with("GET http://name.example/x HTTP/1.1\r\n"));
    company.assert_hidden(&done);
    // What is not granted, and what needs no proxy, does not go there.
    for (url, exception) in [
        ("https://other.example/", ""),
        ("https://name.example/", "name.example"),
        ("https://169.254.169.254/", ""),
    ] {
        let variables = [
            ("ALL_PROXY", company.proxy.as_str()),
            ("NO_PROXY", exception),
        ];
        let done = company.run(url, &[], &variables);
        assert_eq!(company.heads(), [""; 0], "{url}");
        company.assert_hidden(&done);
    }
    // Another kind of proxy is named without its value.
    let other = [("HTTPS_PROXY", "socks5://ada:secret@127.0.0.1:1")];
    let done = company.run("https://other.example/", &[], &other);
    assert!(
        done.stderr
            .contains("warning: cannot use the proxy of `HTTPS_PROXY`"),
        "{}",
        done.page()
    );
    company.assert_hidden(&done);
}

/// Files of the project are text of others: a variable that they could set is one of the user only.
#[test]
fn a_project_names_no_certificate_authority() {
    let company = Company::new();
    let file = company.file("corp.pem", CERTIFICATE);
    let project = company.tree.path("project");
    fs::create_dir_all(project.join(".skills")).unwrap();
    fs::create_dir_all(project.join(".git")).unwrap();
    let settings = format!("ca-file = \"{}\"\n", file.display());
    fs::write(project.join(".skills/config.toml"), settings).unwrap();
    let (scratch, state) = (company.tree.path("scratch"), company.tree.path("state"));
    for more in [&[][..], &["--trust-project"]] {
        let mut command = command_with_state(&[&["config"], more].concat(), &scratch, &state);
        let output = command.current_dir(&project).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            stderr.contains("`ca-file` of a project has no effect"),
            "{stderr}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_finds_the_certificate_authorities_of_the_user() {
    if skip_without_sandbox() {
        return;
    }
    let company = Company::new();
    let proxy = ("ALL_PROXY", company.proxy.as_str());
    let file = company.file("corp.pem", CERTIFICATE).display().to_string();
    let url = "https://name.example/";
    let given = company.run(url, &["--ca-file", &file], &[proxy]);
    let named = company.run(url, &[], &[proxy, ("SSL_CERT_FILE", &file)]);
    for done in [&given, &named] {
        for name in [
            "SSL_CERT_FILE",
            "REQUESTS_CA_BUNDLE",
            "NODE_EXTRA_CA_CERTS",
            "GIT_SSL_CAINFO",
        ] {
            assert!(
                done.stdout.contains(&format!("{name} {file}\n")),
                "{}",
                done.page()
            );
        }
        assert!(
            done.stdout.contains("1 -----BEGIN CERTIFICATE-----"),
            "{}",
            done.page()
        );
    }
    // A file with a key is not given to programs, also if the user names it.
    let with_key = company.file("both.pem", &format!("{CERTIFICATE}{KEY}"));
    let with_key = with_key.display().to_string();
    let done = company.run(url, &["--ca-file", &with_key], &[proxy]);
    assert!(
        done.code == 125 && done.stderr.contains("has a private key"),
        "{}",
        done.page()
    );
    let done = company.run(url, &[], &[proxy, ("SSL_CERT_FILE", &with_key)]);
    assert!(
        done.stderr
            .contains("warning: programs do not get `SSL_CERT_FILE`")
            && !done.stdout.contains("SSL_CERT_FILE"),
        "{}",
        done.page()
    );
    let missing = company.tree.path("missing.pem").display().to_string();
    assert_eq!(
        company.run(url, &["--ca-file", &missing], &[proxy]).code,
        125
    );
    let empty = company.file("empty.pem", "").display().to_string();
    assert_eq!(company.run(url, &["--ca-file", &empty], &[proxy]).code, 125);
}
