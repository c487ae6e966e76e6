//! Allowed hosts through the proxy. The stub restricts nothing; the tests of the profile show that
//! only the proxy is reachable.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use skills_egress::Connector;
use skills_policy::{ApprovalMode, Authorization, Policy, Request};
use skills_sandbox::{Job, Program, RunOutput, Sandbox, ScriptType, Termination};
use tokio::net::TcpStream;

use super::{EXECUTE, Fixture};

/// The address that names resolve to; nothing is sent there.
const PUBLIC: Ipv4Addr = Ipv4Addr::new(93, 184, 215, 14);

const FETCH: &str = "\
import os, urllib.error, urllib.request
for host in ['listed.test', 'other.test', 'inside.test', 'listed.test.other.test', '127.0.0.1']:
    try: print(host, urllib.request.urlopen('http://' + host + '/').read().decode())
    except urllib.error.HTTPError as error: print(host, error.code)
print(os.environ['HTTPS_PROXY'])
";

/// A connector in which names have one public address, whose server is in this test.
struct FixedConnector {
    server: SocketAddr,
}

impl Connector for FixedConnector {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>> {
        let address = if host == "inside.test" {
            Ipv4Addr::LOCALHOST
        } else {
            PUBLIC
        };
        Box::pin(async move { Ok(vec![SocketAddr::from((address, port))]) })
    }

    fn connect(
        &self,
        address: SocketAddr,
    ) -> Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send + '_>> {
        assert_eq!(address.ip(), PUBLIC);
        Box::pin(TcpStream::connect(self.server))
    }
}

/// A server on loopback that responds to everything with one word.
fn server() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let _ = connection.read(&mut [0; 4_096]);
            let _ = connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        }
    });
    address
}

/// Runs a script that may connect to two hosts.
async fn run(fixture: &Fixture, name: &str, script: &str) -> RunOutput {
    let path = fixture.path("skill/scripts").join(name);
    std::fs::write(&path, script).unwrap();
    let request = Request::new(fixture.path("skill"))
        .allowed_tool("WebFetch", Some("domain:listed.test"))
        .allowed_tool("WebFetch", Some("domain:inside.test"));
    let rules = Policy::default().with_mode(ApprovalMode::Trusted);
    let Authorization::Granted(grants) = rules.authorize(&request) else {
        panic!("granted")
    };
    let job = Job::new(
        grants,
        Program::script(ScriptType::from_path(&path).unwrap(), path),
    )
    .env("http_proxy", "http://127.0.0.1:9");
    let sandbox = fixture
        .sandbox()
        .connector(Arc::new(FixedConnector { server: server() }));
    assert!(sandbox.check_grants(job.grants()).is_ok());
    tokio::time::timeout(Duration::from_secs(120), sandbox.run(job))
        .await
        .unwrap()
        .unwrap()
}

/// Removes the port from text, so that it can be compared.
fn without_port(fixture: &Fixture, text: &str) -> (String, u16) {
    let profile = fixture.record("profile");
    let (_, rest) = profile
        .split_once("(allow network-outbound (remote tcp \"localhost:")
        .unwrap();
    let port: u16 = rest.split_once('"').unwrap().0.parse().unwrap();
    (text.replace(&port.to_string(), "[port]"), port)
}

/// Waits until no process listens at the port. A process that another test of this program starts
/// at the same time has the listener too until it executes its program.
async fn wait_until_closed(port: u16) {
    let address = (Ipv4Addr::LOCALHOST, port);
    for _ in 0..1_000 {
        if TcpStream::connect(address).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("a process still listens at {port}");
}

#[tokio::test]
async fn allowed_hosts_are_reached_through_the_proxy_and_others_are_rejected() {
    if !Path::new("/usr/bin/python3").is_file() {
        return skills_test_support::skip("no /usr/bin/python3");
    }
    let fixture = Fixture::new("", EXECUTE);
    let outcome = run(&fixture, "run.py", FETCH).await;
    assert_eq!(
        (outcome.termination, outcome.stderr.text().as_str()),
        (Termination::Exited { code: 0 }, "")
    );
    let (text, port) = without_port(&fixture, &outcome.stdout.text());
    assert_snapshot!(text, @"
    listed.test hello
    other.test 403
    inside.test 403
    listed.test.other.test 403
    127.0.0.1 403
    http://127.0.0.1:[port]
    ");
    let network = outcome
        .enforcement
        .restrictions()
        .iter()
        .find(|layer| layer.name() == "network")
        .unwrap();
    assert_snapshot!(without_port(&fixture, &network.to_string()).0, @"network enforced: only a proxy at local port [port]; reached listed.test (1); rejected other.test: host is not granted (1); rejected inside.test: host has no public address (1); rejected listed.test.other.test: host is not granted (1); rejected 127.0.0.1:80: host is not granted (1)");
    wait_until_closed(port).await;
    fixture.assert_clean(1);
}

/// Connections and rejections are reported, even if the script imitates a failed launcher.
#[tokio::test]
async fn a_program_that_used_the_proxy_has_run() {
    if !Path::new("/usr/bin/python3").is_file() {
        return skills_test_support::skip("no /usr/bin/python3");
    }
    let script = "\
import urllib.error, urllib.request, sys
try: urllib.request.urlopen('http://other.test/')
except urllib.error.HTTPError: sys.exit('sandbox-exec: sandbox_apply: Operation not permitted')
";
    let outcome = run(&Fixture::new("", EXECUTE), "run.py", script).await;
    assert_eq!(outcome.termination, Termination::Exited { code: 1 });
    let network = outcome
        .enforcement
        .restrictions()
        .iter()
        .find(|layer| layer.name() == "network")
        .unwrap();
    assert!(
        network.to_string().contains("rejected other.test"),
        "{network}"
    );
}

#[tokio::test]
async fn unused_network_access_is_reported() {
    let fixture = Fixture::new("", EXECUTE);
    let outcome = run(&fixture, "run.sh", "echo \"$http_proxy $HTTP_PROXY\"").await;
    let (text, _) = without_port(&fixture, &outcome.stdout.text());
    assert_snapshot!(text.trim_end(), @"http://127.0.0.1:[port] http://127.0.0.1:[port]");
    let network = outcome
        .enforcement
        .restrictions()
        .iter()
        .find(|layer| layer.name() == "network")
        .unwrap();
    assert_snapshot!(without_port(&fixture, &network.to_string()).0, @"network enforced: only a proxy at local port [port]; no requests");
    fixture.assert_clean(1);
}

#[tokio::test]
async fn a_cancelled_run_closes_the_port() {
    let fixture = Fixture::new("", "echo . >> \"$base/record/pulse\"; sleep 600");
    let begun = async {
        while fixture.record("pulse").is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let (_, port) = without_port(&fixture, "");
        assert!(
            TcpStream::connect((Ipv4Addr::LOCALHOST, port))
                .await
                .is_ok()
        );
        port
    };
    let port = tokio::select! {
        outcome = run(&fixture, "run.sh", "") => panic!("{:?}", outcome.termination),
        port = begun => port,
    };
    wait_until_closed(port).await;
    fixture.assert_clean(1);
}
