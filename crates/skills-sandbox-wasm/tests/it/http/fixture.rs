//! A sandbox, a simulated network, and servers.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use skills_egress::{Connector, UpstreamProxies};
use skills_policy::{
    Authorization, Effect, Grants, Policy, Request, ResourceLimits, Rule, RuleSource,
};
use skills_sandbox::{Job, Program, RunOutput, Sandbox, SandboxError};
use skills_sandbox_wasm::{HttpLimits, WasmSandbox};
use skills_test_support::source_tree;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The address of `a.example`.
pub(crate) const PUBLIC: &str = "93.184.216.34";
pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
/// Much longer than any step takes.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// An untrusted authority and its certificates for `a.example`, created with `openssl ca`: valid
/// until 2999, and until 2021.
const AUTHORITY: &[u8] = include_bytes!("certificates/authority.der");
const SERVER: &[u8] = include_bytes!("certificates/server.der");
const EXPIRED: &[u8] = include_bytes!("certificates/expired.der");
const KEY: &[u8] = include_bytes!("certificates/server.key.der");

/// One engine for all tests, so that each guest is compiled once.
static SANDBOX: LazyLock<(WasmSandbox, TempDir)> = LazyLock::new(|| {
    let directory = tempfile::tempdir_in(std::env::temp_dir().canonicalize().unwrap()).unwrap();
    std::fs::create_dir(directory.path().join("skill")).unwrap();
    (WasmSandbox::new(directory.path()), directory)
});

/// The WASI version of a guest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Generation {
    Two,
    #[cfg(feature = "wasi-p3")]
    Three,
}

impl Generation {
    pub(crate) const ALL: &[Self] = &[
        Self::Two,
        #[cfg(feature = "wasi-p3")]
        Self::Three,
    ];

    fn guest(self) -> &'static [u8] {
        match self {
            Self::Two => include_bytes!("../../guest-http/fetch.wasm"),
            #[cfg(feature = "wasi-p3")]
            Self::Three => include_bytes!("../../guest-http-p3/fetch3.wasm"),
        }
    }
}

/// What a server does with each connection.
#[derive(Clone)]
pub(crate) enum ServerBehavior {
    /// Responds to a complete request, and closes.
    Respond(String),
    /// Responds as soon as a client connects, and keeps the connection.
    RespondEarly(String),
    /// Sends first, and keeps the connection.
    SendFirst(String),
    /// Reads, and sends nothing.
    Silent,
}

/// How a server secures its connections.
#[derive(Clone, Copy)]
pub(crate) enum Security {
    Plain,
    Tls,
    ExpiredTls,
}

/// Names, the servers at their addresses, and a record of events.
#[derive(Default)]
struct SimulatedNetwork {
    /// What each name resolves to, one response after the other; the last one repeats.
    names: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    servers: Mutex<HashMap<SocketAddr, SocketAddr>>,
    resolved: Mutex<Vec<String>>,
    connected: Mutex<Vec<String>>,
    requests: Mutex<Vec<String>>,
    upstream: UpstreamProxies,
    /// How many connections servers had, and how many of them are closed.
    counts: watch::Sender<(usize, usize)>,
}

impl Connector for SimulatedNetwork {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>> {
        self.resolved.lock().unwrap().push(host.to_owned());
        let answer = match self.names.lock().unwrap().get_mut(host) {
            Some(answers) if answers.len() > 1 => Some(answers.remove(0)),
            Some(answers) => answers.first().cloned(),
            None => Some(Vec::new()),
        };
        Box::pin(async move {
            // A name without a response is one whose resolver does not respond.
            let Some(answer) = answer else {
                std::future::pending().await
            };
            Ok(answer
                .into_iter()
                .map(|ip| SocketAddr::new(ip, port ^ 1))
                .collect())
        })
    }

    fn connect(
        &self,
        address: SocketAddr,
    ) -> Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send + '_>> {
        self.connected.lock().unwrap().push(address.to_string());
        let server = self.servers.lock().unwrap().get(&address).copied();
        Box::pin(async move {
            TcpStream::connect(server.ok_or(io::ErrorKind::ConnectionRefused)?).await
        })
    }

    fn upstream(&self) -> Option<&UpstreamProxies> {
        Some(&self.upstream)
    }
}

pub(crate) struct HttpFixture {
    network: Arc<SimulatedNetwork>,
    sandbox: WasmSandbox,
    grants: Grants,
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct FetchResult {
    /// The output of the guest.
    pub(crate) text: String,
    /// The network restriction in the report.
    pub(crate) network: String,
}

/// Decides as the policy does: these patterns are allowed, those after a `!` denied.
fn grants(patterns: &[&str], limits: ResourceLimits) -> Grants {
    let rule = |pattern: &&str| match pattern.strip_prefix('!') {
        Some(pattern) => Rule::parse(
            Effect::Deny,
            RuleSource::Admin,
            &format!("network:{pattern}"),
        )
        .unwrap(),
        None => Rule::parse(
            Effect::Allow,
            RuleSource::User,
            &format!("network:{pattern}"),
        )
        .unwrap(),
    };
    let rules = Policy::default().with_rules(patterns.iter().map(rule));
    let request = Request::new(SANDBOX.1.path().join("skill")).limits(limits);
    let request = if patterns.is_empty() {
        request
    } else {
        request.allowed_tool("WebSearch", None)
    };
    let Authorization::Granted(grants) = rules.authorize(&request) else {
        panic!("granted")
    };
    grants
}

impl HttpFixture {
    /// Creates a sandbox that trusts our authority; `a.example` resolves to [`PUBLIC`].
    pub(crate) fn new(patterns: &[&str]) -> Self {
        Self::with_limits(patterns, HttpLimits::default())
    }

    pub(crate) fn with_limits(patterns: &[&str], limits: HttpLimits) -> Self {
        let network = Arc::new(SimulatedNetwork::default());
        let sandbox = SANDBOX
            .0
            .clone()
            .connector(network.clone())
            .root_certificates([AUTHORITY.to_vec()])
            .http_limits(limits);
        let fixture = Self {
            network,
            sandbox,
            grants: grants(patterns, ResourceLimits::default()),
        };
        fixture.name("a.example", &[&[PUBLIC]]);
        fixture
    }

    /// Reaches hosts through a proxy of the user, and trusts the authority of a file.
    pub(crate) fn behind(patterns: &[&str], proxy: &str, certificates: &str) -> Self {
        let (upstream, invalid) =
            UpstreamProxies::from_variables(|name| (name == "ALL_PROXY").then(|| proxy.to_owned()));
        assert_eq!(invalid, []);
        let network = Arc::new(SimulatedNetwork {
            upstream,
            ..SimulatedNetwork::default()
        });
        let sandbox = SANDBOX.0.clone().connector(network.clone());
        Self {
            network,
            sandbox: sandbox.certificate_file(source_tree().join(certificates)),
            grants: grants(patterns, ResourceLimits::default()),
        }
    }

    /// Trusts the public authorities only.
    pub(crate) fn public(patterns: &[&str]) -> Self {
        let fixture = Self::new(patterns);
        Self {
            sandbox: SANDBOX.0.clone().connector(fixture.network.clone()),
            ..fixture
        }
    }

    pub(crate) fn sandbox(&self) -> WasmSandbox {
        self.sandbox.clone()
    }

    /// Sets the deadline of runs.
    pub(crate) fn wall_time(self, wall_time: Duration) -> Self {
        let mut limits = ResourceLimits::default();
        limits.wall_time = wall_time;
        Self {
            grants: grants(&["a.example"], limits),
            ..self
        }
    }

    /// Makes a name resolve to each of the answers, one after the other.
    pub(crate) fn name(&self, name: &str, answers: &[&[&str]]) {
        let answers = answers
            .iter()
            .map(|ips| ips.iter().map(|ip| ip.parse().unwrap()).collect())
            .collect();
        self.network
            .names
            .lock()
            .unwrap()
            .insert(name.to_owned(), answers);
    }

    /// Starts a server at a port of [`PUBLIC`].
    pub(crate) async fn serve(&self, port: u16, security: Security, behavior: ServerBehavior) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = SocketAddr::new(PUBLIC.parse().unwrap(), port);
        self.network
            .servers
            .lock()
            .unwrap()
            .insert(address, listener.local_addr().unwrap());
        let network = Arc::clone(&self.network);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                network.counts.send_modify(|counts| counts.0 += 1);
                let (network, behavior) = (Arc::clone(&network), behavior.clone());
                tokio::spawn(async move {
                    match acceptor(security) {
                        None => respond(stream, behavior, &network).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                respond(stream, behavior, &network).await;
                            }
                        }
                    }
                    network.counts.send_modify(|counts| counts.1 += 1);
                });
            }
        });
    }

    /// Starts an HTTP server without TLS at [`PUBLIC`] with a constant response.
    pub(crate) async fn respond_with(&self, answer: impl Into<String>) {
        self.serve(80, Security::Plain, ServerBehavior::Respond(answer.into()))
            .await;
    }

    pub(crate) fn job(&self, generation: Generation, arguments: &[&str]) -> Job {
        self.job_of(generation.guest().into(), arguments)
    }

    /// Creates a job of another program.
    pub(crate) fn job_of(&self, program: Arc<[u8]>, arguments: &[&str]) -> Job {
        let job = Job::new(self.grants.clone(), Program::Wasm(program));
        arguments
            .iter()
            .fold(job, |job, argument| job.arg(*argument))
    }

    pub(crate) async fn run(&self, job: Job) -> Result<RunOutput, SandboxError> {
        timeout(TIMEOUT, self.sandbox.run(job))
            .await
            .expect("the run does not end")
    }

    /// Runs the guest: scheme, authority, path, and more.
    pub(crate) async fn fetch(&self, generation: Generation, arguments: &[&str]) -> FetchResult {
        let outcome = self.run(self.job(generation, arguments)).await.unwrap();
        let stderr = outcome.stderr.text();
        assert!(
            stderr.is_empty(),
            "{arguments:?}: {stderr} {:?}",
            outcome.termination
        );
        let layer = outcome
            .enforcement
            .restrictions()
            .iter()
            .find(|layer| layer.name() == "network")
            .unwrap();
        let (_, network) = layer.detail().split_once("; ").unwrap();
        FetchResult {
            text: outcome.stdout.text().trim().to_owned(),
            network: network.to_owned(),
        }
    }

    /// Returns the names that were resolved and the addresses that were connected to, and clears
    /// them.
    pub(crate) fn take_connections(&self) -> (Vec<String>, Vec<String>) {
        (
            std::mem::take(&mut *self.network.resolved.lock().unwrap()),
            std::mem::take(&mut *self.network.connected.lock().unwrap()),
        )
    }

    /// Returns the requests that servers received so far, and clears them.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut *self.network.requests.lock().unwrap())
    }

    /// Waits until servers had `opened` connections, of which `closed` are closed.
    pub(crate) async fn wait_for_connections(&self, opened: usize, closed: usize) {
        let mut counts = self.network.counts.subscribe();
        let wait = counts.wait_for(|counts| *counts == (opened, closed));
        timeout(TIMEOUT, wait)
            .await
            .expect("connections stay open")
            .unwrap();
    }
}

pub(crate) fn acceptor(security: Security) -> Option<TlsAcceptor> {
    let certificate = match security {
        Security::Plain => return None,
        Security::Tls => SERVER,
        Security::ExpiredTls => EXPIRED,
    };
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap();
    let key = PrivateKeyDer::try_from(KEY).unwrap();
    let config = builder
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(certificate)], key)
        .unwrap();
    Some(TlsAcceptor::from(Arc::new(config)))
}

async fn respond(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    behavior: ServerBehavior,
    network: &SimulatedNetwork,
) {
    let mut got = Vec::new();
    if !matches!(
        behavior,
        ServerBehavior::Silent | ServerBehavior::SendFirst(_)
    ) {
        let is_enough = |got: &[u8]| {
            if matches!(behavior, ServerBehavior::RespondEarly(_)) {
                has_head(got)
            } else {
                is_whole(got)
            }
        };
        while !is_enough(&got) {
            if stream.read_buf(&mut got).await.unwrap_or(0) == 0 {
                return;
            }
        }
    }
    network
        .requests
        .lock()
        .unwrap()
        .push(String::from_utf8_lossy(&got).into_owned());
    match behavior {
        ServerBehavior::Respond(answer) => {
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
        ServerBehavior::RespondEarly(answer) | ServerBehavior::SendFirst(answer) => {
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.flush().await;
        }
        ServerBehavior::Silent => {}
    }
    while stream.read_buf(&mut got).await.unwrap_or(0) > 0 {
        got.clear();
    }
}

fn has_head(got: &[u8]) -> bool {
    String::from_utf8_lossy(got).contains("\r\n\r\n")
}

/// Returns true if a request is complete with its body.
fn is_whole(got: &[u8]) -> bool {
    let text = String::from_utf8_lossy(got);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let head = head.to_lowercase();
    match head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
    {
        Some(length) => body.len() >= length.parse().unwrap(),
        None => !head.contains("transfer-encoding") || body.ends_with("0\r\n\r\n"),
    }
}
