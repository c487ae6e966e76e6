//! Hosts of a list, through the proxy. The stand-in confines nothing: that nothing but the proxy is
//! reached is shown on the profile.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use skills_policy::{Capability, Decision, HostPattern, Layer, Request, Rules};
use skills_sandbox::egress::Connector;
use skills_sandbox::{Job, Program, RunOutput, Sandbox, ScriptType, Termination};
use tokio::net::TcpStream;

use super::{Bench, EXECUTE};

/// The address that names are said to have; nothing is sent there.
const PUBLIC: Ipv4Addr = Ipv4Addr::new(93, 184, 215, 14);

const FETCH: &str = "\
import os, urllib.error, urllib.request
for host in ['listed.test', 'other.test', 'inside.test', 'listed.test.other.test', '127.0.0.1']:
    try: print(host, urllib.request.urlopen('http://' + host + '/').read().decode())
    except urllib.error.HTTPError as error: print(host, error.code)
print(os.environ['HTTPS_PROXY'])
";

/// An outside in which names have one public address, behind which there is a server of this test.
struct Made {
    server: SocketAddr,
}

impl Connector for Made {
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

/// A server on loopback that answers everything with one word.
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

/// Runs a script that may reach two hosts.
async fn run(bench: &Bench, name: &str, script: &str) -> RunOutput {
    let path = bench.path("skill/scripts").join(name);
    std::fs::write(&path, script).unwrap();
    let request = Request::new(bench.path("skill"))
        .tool("WebFetch", Some("domain:listed.test"))
        .tool("WebFetch", Some("domain:inside.test"));
    let rules = Rules::default()
        .allow(Layer::Session, Capability::Network)
        .allow(Layer::Session, HostPattern::ANY);
    let Decision::Granted(grants) = rules.decide(&request) else {
        panic!("granted")
    };
    let job = Job::new(
        grants,
        Program::script(ScriptType::from_path(&path).unwrap(), path),
    )
    .env("http_proxy", "http://127.0.0.1:9");
    let sandbox = bench
        .sandbox()
        .connector(Arc::new(Made { server: server() }));
    assert!(sandbox.check_grants(job.grants()).is_ok());
    tokio::time::timeout(Duration::from_secs(120), sandbox.run(job))
        .await
        .unwrap()
        .unwrap()
}

/// Takes the port out of what was written, so that it can be compared.
fn without_port(bench: &Bench, text: &str) -> (String, u16) {
    let profile = bench.record("profile");
    let (_, rest) = profile
        .split_once("(allow network-outbound (remote tcp \"localhost:")
        .unwrap();
    let port: u16 = rest.split_once('"').unwrap().0.parse().unwrap();
    (text.replace(&port.to_string(), "[port]"), port)
}

#[tokio::test]
async fn listed_hosts_are_reached_through_the_proxy_and_others_are_refused() {
    if !Path::new("/usr/bin/python3").is_file() {
        return skills_test_support::skip("no /usr/bin/python3");
    }
    let bench = Bench::new("", EXECUTE);
    let outcome = run(&bench, "run.py", FETCH).await;
    assert_eq!(
        (outcome.termination, outcome.stderr.text().as_str()),
        (Termination::Exited { code: 0 }, "")
    );
    let (text, port) = without_port(&bench, &outcome.stdout.text());
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
    assert_snapshot!(without_port(&bench, &network.to_string()).0, @"network enforced: nothing but a proxy at port [port] of this machine; reached listed.test (1); refused other.test: the host is not on the list (1); refused inside.test: the host has no public address (1); refused listed.test.other.test: the host is not on the list (1); refused 127.0.0.1: the host is not on the list (1)");
    assert!(
        TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .is_err(),
        "nobody listens any more"
    );
    bench.assert_clean(1);
}

/// What was reached or refused is said, whatever the script says of its run.
#[tokio::test]
async fn who_used_the_proxy_has_run() {
    if !Path::new("/usr/bin/python3").is_file() {
        return skills_test_support::skip("no /usr/bin/python3");
    }
    let script = "\
import urllib.error, urllib.request, sys
try: urllib.request.urlopen('http://other.test/')
except urllib.error.HTTPError: sys.exit('sandbox-exec: sandbox_apply: Operation not permitted')
";
    let outcome = run(&Bench::new("", EXECUTE), "run.py", script).await;
    assert_eq!(outcome.termination, Termination::Exited { code: 1 });
    let network = outcome
        .enforcement
        .restrictions()
        .iter()
        .find(|layer| layer.name() == "network")
        .unwrap();
    assert!(
        network.to_string().contains("refused other.test"),
        "{network}"
    );
}

#[tokio::test]
async fn what_nobody_asked_for_is_said_too() {
    let bench = Bench::new("", EXECUTE);
    let outcome = run(&bench, "run.sh", "echo \"$http_proxy $HTTP_PROXY\"").await;
    let (text, _) = without_port(&bench, &outcome.stdout.text());
    assert_snapshot!(text.trim_end(), @"http://127.0.0.1:[port] http://127.0.0.1:[port]");
    let network = outcome
        .enforcement
        .restrictions()
        .iter()
        .find(|layer| layer.name() == "network")
        .unwrap();
    assert_snapshot!(without_port(&bench, &network.to_string()).0, @"network enforced: nothing but a proxy at port [port] of this machine; nothing was asked for");
    bench.assert_clean(1);
}

#[tokio::test]
async fn a_cancelled_run_closes_the_port() {
    let bench = Bench::new("", "echo . >> \"$base/record/pulse\"; sleep 600");
    let begun = async {
        while bench.record("pulse").is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let (_, port) = without_port(&bench, "");
        assert!(
            TcpStream::connect((Ipv4Addr::LOCALHOST, port))
                .await
                .is_ok()
        );
        port
    };
    let port = tokio::select! {
        outcome = run(&bench, "run.sh", "") => panic!("{:?}", outcome.termination),
        port = begun => port,
    };
    assert!(
        TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .is_err(),
        "nobody listens any more"
    );
    bench.assert_clean(1);
}
