//! Archives on web servers: what is reached, and what is not.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use skills_install::{FetchLimits, Fetcher, InstallError, InstallErrorKind, WebOptions};

use crate::fixture::{Fixture, TarEntry, fetcher, skill_text};
use crate::web_server::{Pace, Reply, TunnelProxy, WebServer, authority};

/// Returns the bytes of an archive with the skill `pdf`.
pub(crate) fn archive() -> Vec<u8> {
    let fixture = Fixture::new();
    let text = skill_text("pdf", "");
    let run = TarEntry::file("pdf/scripts/run.sh", "echo 1\n");
    fixture.tar_gz("a.tar.gz", &[TarEntry::file("pdf/SKILL.md", &text), run]);
    std::fs::read(fixture.path("a.tar.gz")).unwrap()
}

pub(crate) fn loopback() -> Fetcher {
    fetcher().web(WebOptions::new().allow_loopback())
}

fn limited(change: impl FnOnce(&mut FetchLimits)) -> Fetcher {
    let mut limits = FetchLimits::default();
    change(&mut limits);
    loopback().limits(limits)
}

/// Options with a resolver that knows one address for all names, and counts how often it is asked.
fn resolving_to(address: &str) -> (WebOptions, Arc<AtomicUsize>) {
    let address: IpAddr = address.parse().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let options = WebOptions::new().lookup(Arc::new(move |_, port| {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(vec![SocketAddr::new(address, port)])
    }));
    (options, count)
}

fn fetch_error(fetcher: &Fetcher, url: &str) -> InstallError {
    let fixture = Fixture::new();
    let error = fixture.add_with(fetcher, url).unwrap_err();
    assert!(fixture.states().is_empty());
    error
}

#[test]
fn an_archive_is_downloaded_checked_and_locked_by_its_digest() {
    let server = WebServer::start(|request| match request.path.as_str() {
        "/skills.tar.gz?v=1" => Reply::ok(archive()),
        _ => Reply::status(404),
    });
    let fixture = Fixture::new();
    let url = server.url("/skills.tar.gz?v=1");
    fixture.add_with(&loopback(), &url).unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);
    let store = fixture.store();
    let locked = &store.lock_file().skills()["pdf"];
    let revision = locked.revision().unwrap().to_owned();
    assert!(revision.starts_with("sha256:"));
    assert_eq!(locked.source().to_string(), format!("{url}//pdf"));
    drop(store);

    let request = &server.requests()[0];
    let agent = request.header("user-agent").unwrap();
    assert_eq!(agent, concat!("skills/", env!("CARGO_PKG_VERSION")));
    for name in ["cookie", "authorization", "referer", "accept-encoding"] {
        assert_eq!(request.header(name), None, "{name}");
    }

    fixture
        .add_with(&loopback(), &format!("{url}#{revision}"))
        .unwrap();
    let wrong = format!("{url}#sha256:{}", "0".repeat(64));
    let error = fetch_error(&loopback(), &wrong);
    assert!(error.to_string().contains("has the digest"), "{error}");
    let error = fetch_error(&loopback(), &server.url("/missing.zip"));
    assert!(error.to_string().contains("status 404"), "{error}");
}

#[test]
fn an_archive_is_downloaded_over_tls_from_a_server_with_a_valid_certificate_only() {
    let server = WebServer::start_tls(|_| Reply::ok(archive()));
    let options = WebOptions::new().allow_loopback();
    let trusting = fetcher().web(options.clone().root_certificates(vec![authority()]));
    let fixture = Fixture::new();
    fixture
        .add_with(&trusting, &server.url("/skills.tgz"))
        .unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);

    // An authority that is not trusted, and another name than that of the certificate.
    let error = fetch_error(&fetcher().web(options), &server.url("/skills.tgz"));
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
    let other = format!("https://127.0.0.1:{}/skills.tgz", server.port());
    let error = fetch_error(&trusting, &other);
    assert!(error.to_string().contains("not valid for name"), "{error}");
    assert_eq!(server.paths(), ["/skills.tgz"]);
}

#[test]
fn addresses_that_are_not_public_are_never_connected() {
    let server = WebServer::start(|_| Reply::ok(archive()));
    let port = server.port();
    for host in [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "2130706433",
    ] {
        let url = format!("https://{host}:{port}/a.zip");
        let error = fetch_error(&fetcher(), &url);
        assert_eq!(error.kind(), InstallErrorKind::Fetch);
        assert!(
            error.to_string().contains("not a public address"),
            "{error}"
        );
    }
    for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1"] {
        let (options, count) = resolving_to(address);
        for options in [options.clone(), options.allow_loopback()] {
            let url = format!("https://skills.acme.example:{port}/a.zip");
            let error = fetch_error(&fetcher().web(options), &url);
            assert!(
                error.to_string().contains("not a public address"),
                "{error}"
            );
        }
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }
    assert!(server.paths().is_empty());
}

#[test]
fn plain_http_is_refused_unless_it_was_allowed() {
    let (options, count) = resolving_to("10.0.0.1");
    let url = "http://skills.acme.example/a.zip";
    let error = fetch_error(&fetcher().web(options.clone()), url);
    assert!(
        error.to_string().contains("`http:` is not allowed"),
        "{error}"
    );
    assert_eq!(count.load(Ordering::SeqCst), 0);
    let error = fetch_error(&fetcher().web(options.allow_http()), url);
    assert!(
        error.to_string().contains("not a public address"),
        "{error}"
    );
}

/// Addresses that a redirect must not lead to, with the reason.
const REFUSED_REDIRECTS: &[(&str, &str)] = &[
    ("http://10.0.0.1/a", "`http:` is not allowed"),
    ("https://10.0.0.1/a", "not a public address"),
    ("https://[fd00::1]/a", "not a public address"),
    ("https://169.254.169.254/a", "not a public address"),
    ("//192.168.0.1/a", "`http:` is not allowed"),
    ("file:///etc/passwd", "it has no host"),
    ("ftp://127.0.0.1/a", "`ftp:` is not allowed"),
    ("https://user:secret@1.1.1.1/a", "contains a password"),
    ("https://", "an address that is not valid"),
];

#[test]
fn a_redirect_is_checked_like_the_first_address() {
    let server = WebServer::start(|request| match request.path.as_str() {
        "/good.zip" => Reply::redirect("/down/../skills.tar.gz"),
        "/skills.tar.gz" => Reply::ok(archive()),
        "/loop.zip" => Reply::redirect("/loop.zip"),
        "/none.zip" => Reply::status(302),
        path if path.contains(".minisig") || path.contains(".sigstore") => Reply::status(404),
        path => {
            let index = path.trim_matches(|c: char| !c.is_ascii_digit());
            Reply::redirect(REFUSED_REDIRECTS[index.parse::<usize>().unwrap()].0)
        }
    });
    let fixture = Fixture::new();
    fixture
        .add_with(&loopback(), &server.url("/good.zip"))
        .unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);
    for (index, (target, message)) in REFUSED_REDIRECTS.iter().enumerate() {
        let error = fetch_error(&loopback(), &server.url(&format!("/{index}.zip")));
        assert!(error.to_string().contains(message), "{target}: {error}");
    }
    let error = fetch_error(&loopback(), &server.url("/loop.zip"));
    assert!(
        error.to_string().contains("more than 5 redirects"),
        "{error}"
    );
    let error = fetch_error(&loopback(), &server.url("/none.zip"));
    assert!(error.to_string().contains("not valid"), "{error}");
}

#[test]
fn a_redirect_from_https_to_plain_http_is_refused() {
    let plain = WebServer::start(|_| Reply::ok(archive()));
    let target = plain.url("/skills.tgz");
    let server = WebServer::start_tls(move |_| Reply::redirect(target.clone()));
    let options = WebOptions::new().allow_loopback().allow_http();
    let fetcher = fetcher().web(options.root_certificates(vec![authority()]));
    let error = fetch_error(&fetcher, &server.url("/skills.tgz"));
    assert!(error.to_string().contains("without TLS"), "{error}");
    assert!(plain.paths().is_empty());
}

#[test]
fn an_index_over_https_leads_to_no_plain_http() {
    let index = r#"{"skills": [{"name": "one", "type": "skill-md", "description": "d",
        "url": "http://skills.acme.example/one.md",
        "digest": "sha256:0000000000000000000000000000000000000000000000000000000000000000"}]}"#;
    let server = WebServer::start_tls(move |_| Reply::ok(index));
    let options = WebOptions::new().allow_loopback().allow_http();
    let lookup = |host: &str, port| {
        let is_own = host == "localhost";
        let own = [SocketAddr::from(([127, 0, 0, 1], port))];
        is_own
            .then(|| own.to_vec())
            .ok_or_else(|| std::io::Error::other("looked up"))
    };
    let options = options.root_certificates(vec![authority()]);
    let fetcher = fetcher().web(options.lookup(Arc::new(lookup)));
    let url = server.url("/.well-known/agent-skills/index.json");
    let error = fetch_error(&fetcher, &url);
    assert!(
        error.to_string().contains("`http:` is not allowed"),
        "{error}"
    );
}

/// The name has a public address at first, and that of this machine when it is asked for again.
#[test]
fn a_name_whose_address_changes_is_not_connected() {
    let inner = WebServer::start(|_| Reply::ok(archive()));
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let options = WebOptions::new().lookup(Arc::new(move |_, port| {
        // Nothing listens at the first; it is in a network for documentation of IPv6 no host has.
        let first = counter.fetch_add(1, Ordering::SeqCst) == 0;
        let address = if first { "2001:db8::1" } else { "127.0.0.1" };
        Ok(vec![SocketAddr::new(address.parse().unwrap(), port)])
    }));
    let url = format!("https://skills.acme.example:{}/skills.tgz", inner.port());
    let fetcher = fetcher().web(options);
    for asked in 1..=2 {
        let error = fetch_error(&fetcher, &url);
        assert!(
            error.to_string().contains("not a public address"),
            "{error}"
        );
        // Once for each connection: what was checked is what would be connected.
        assert_eq!(count.load(Ordering::SeqCst), asked);
    }
    assert!(inner.paths().is_empty());
}

#[test]
fn a_download_that_is_too_large_is_stopped() {
    let server = WebServer::start(|request| match request.path.as_str() {
        "/declared.zip" => Reply {
            declared_length: Some(1 << 40),
            ..Reply::ok("PK")
        },
        "/endless.zip" => Reply::ok(vec![b'x'; 8_192]).pace(Pace::Endless),
        _ => Reply::ok(vec![b'x'; 2_000]),
    });
    let fetcher = limited(|limits| limits.max_archive_bytes = 1_000);
    for path in ["/declared.zip", "/endless.zip", "/large.zip"] {
        let error = fetch_error(&fetcher, &server.url(path));
        assert_eq!(error.kind(), InstallErrorKind::Limit, "{path}: {error}");
        assert!(error.to_string().contains("1000 bytes"), "{error}");
    }
}

#[test]
fn a_server_that_stalls_or_drips_is_given_up() {
    let server = WebServer::start(|request| match request.path.as_str() {
        "/silent.zip" => Reply::ok("").pace(Pace::Never),
        _ => Reply::ok(vec![b'x'; 100_000]).pace(Pace::ByteByByte),
    });
    let fetcher = limited(|limits| limits.timeout = Duration::from_millis(300));
    for path in ["/silent.zip", "/dripping.zip"] {
        let error = fetch_error(&fetcher, &server.url(path));
        assert_eq!(error.kind(), InstallErrorKind::Limit, "{path}: {error}");
        assert!(
            error.to_string().contains("seconds of a download"),
            "{error}"
        );
    }
}

#[test]
fn a_download_that_is_cut_or_not_an_archive_installs_nothing() {
    let server = WebServer::start(|request| match request.path.as_str() {
        "/cut.tar.gz" => {
            let archive = archive();
            Reply {
                declared_length: Some(archive.len() as u64),
                ..Reply::ok(&archive[..archive.len() - 10])
            }
        }
        "/short.tar.gz" => {
            let archive = archive();
            Reply::ok(&archive[..archive.len() - 10])
        }
        _ => Reply::ok("<html>Sign in</html>"),
    });
    for path in ["/cut.tar.gz", "/short.tar.gz", "/page.tar.gz"] {
        let error = fetch_error(&loopback(), &server.url(path));
        assert_eq!(error.kind(), InstallErrorKind::Fetch, "{path}: {error}");
    }
    // Neither are signatures of it requested.
    let requests = server.requests();
    assert_eq!(requests.len(), 3, "{requests:?}");
}

#[test]
fn a_proxy_of_the_caller_is_used_for_hosts_that_are_not_excepted() {
    // It is asked for a tunnel, and refuses.
    let proxy = WebServer::start(|_| Reply::status(403));
    let options = WebOptions::new().proxy(format!("http://user:secret@127.0.0.1:{}", proxy.port()));
    assert!(!format!("{options:?}").contains("secret"));
    let error = fetch_error(
        &fetcher().web(options.clone()),
        "https://skills.acme.example/a.zip",
    );
    assert!(!error.to_string().contains("secret"), "{error}");
    let requests = proxy.requests();
    assert_eq!(requests.len(), 1, "{error}");
    assert_eq!(requests[0].method, "CONNECT");
    assert_eq!(requests[0].path, "skills.acme.example:443");
    assert!(requests[0].header("proxy-authorization").is_some());

    // Numbers are checked here, since the proxy would connect them.
    for host in ["10.0.0.1", "localhost", "[::1]"] {
        let error = fetch_error(
            &fetcher().web(options.clone()),
            &format!("https://{host}/a.zip"),
        );
        assert!(
            error.to_string().contains("not a public address"),
            "{error}"
        );
    }
    let (excepted, count) = resolving_to("10.0.0.1");
    let excepted = excepted
        .proxy("http://127.0.0.1:9")
        .no_proxy([".acme.example"]);
    let error = fetch_error(
        &fetcher().web(excepted),
        "https://skills.acme.example/a.zip",
    );
    assert!(
        error.to_string().contains("not a public address"),
        "{error}"
    );
    assert_eq!(count.load(Ordering::SeqCst), 1);
    for invalid in ["socks5://127.0.0.1:1", "http://user:secret@", ""] {
        let options = WebOptions::new().proxy(invalid);
        let error = fetch_error(&fetcher().web(options), "https://skills.acme.example/a.zip");
        assert!(error.to_string().contains("proxy is not valid"), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    assert_eq!(proxy.requests().len(), 1);
}

#[test]
fn an_archive_is_downloaded_through_a_tunnel_of_a_proxy() {
    let server = WebServer::start_tls(|_| Reply::ok(archive()));
    let proxy = TunnelProxy::start();
    let options = WebOptions::new()
        .allow_loopback()
        .root_certificates(vec![authority()])
        .proxy(format!("http://{}", proxy.address))
        .lookup(Arc::new(|name, port| {
            // The proxy is the only one that is resolved here.
            assert_eq!(name, "127.0.0.1");
            Ok(vec![SocketAddr::new(name.parse().unwrap(), port)])
        }));
    let fixture = Fixture::new();
    let url = server.url("/skills.tgz");
    fixture.add_with(&fetcher().web(options), &url).unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);
    // Another one for a signature, with the feature `signatures`.
    assert_eq!(proxy.targets()[0], format!("localhost:{}", server.port()));
}

/// Proxies are arguments: a variable of the environment leads nowhere.
#[test]
fn the_environment_names_no_proxy() {
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "web::a_redirect_is_checked_like_the_first_address",
        ])
        .envs(["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY"].map(|name| (name, "http://127.0.0.1:9")))
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(output.contains("1 passed"), "{output}");
}

/// Only a source on a listed host leads to a private network.
#[test]
fn a_server_that_is_not_listed_leads_to_no_private_host() {
    let server = WebServer::start(|_| Reply::redirect("http://10.0.0.7/skills.tgz"));
    let listed = ["10.0.0.7".parse().unwrap()];
    let options = WebOptions::new().allow_loopback().allow_http();
    let fetcher = fetcher().web(options.private_hosts(listed));
    let error = fetch_error(&fetcher, &server.url("/skills.tgz"));
    assert!(
        error.to_string().contains("not a public address"),
        "{error}"
    );
}

/// Its network is behind a proxy, since this machine has no private address that is known.
#[test]
fn a_listed_host_is_reached_on_a_private_network() {
    let port = Arc::new(AtomicUsize::new(0));
    let own_port = Arc::clone(&port);
    let server = WebServer::start_tls(move |request| {
        let target = match request.path.as_str() {
            "/sibling.tgz" => format!("git.acme.example:{}", own_port.load(Ordering::SeqCst)),
            "/other.tgz" => "10.0.0.8".to_owned(),
            "/metadata.tgz" => "169.254.169.254".to_owned(),
            _ => return Reply::ok(archive()),
        };
        Reply::redirect(format!("https://{target}/skills.tgz"))
    });
    port.store(server.port().into(), Ordering::SeqCst);
    let proxy = TunnelProxy::start_in_front_of(&server);
    let options = WebOptions::new()
        .root_certificates(vec![authority()])
        .proxy(format!("http://{}", proxy.address));
    let host = format!("10.0.0.7:{}", server.port());
    let url = |path: &str| format!("https://{host}{path}");
    let error = fetch_error(&fetcher().web(options.clone()), &url("/skills.tgz"));
    assert!(
        error.to_string().contains("not a public address"),
        "{error}"
    );
    assert!(error.help().unwrap().contains("`private-sources`"));
    assert!(proxy.targets().is_empty());

    let listed = [host.parse().unwrap(), "169.254.169.254".parse().unwrap()];
    let fetcher = fetcher().web(options.private_hosts(listed));
    for path in ["/skills.tgz", "/sibling.tgz"] {
        let fixture = Fixture::new();
        fixture.add_with(&fetcher, &url(path)).unwrap();
        assert_eq!(fixture.states(), ["pdf unchanged"]);
    }
    // A listed host leads to no other private one, and to no metadata service at all.
    for path in ["/other.tgz", "/metadata.tgz"] {
        let error = fetch_error(&fetcher, &url(path));
        assert!(
            error.to_string().contains("not a public address"),
            "{error}"
        );
    }
}
