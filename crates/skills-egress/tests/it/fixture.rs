//! A proxy, a simulated network, and a client.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use skills_egress::{
    Connector, EgressLimits, HostConnector, Proxy, ProxyLog, ProxySummary, UpstreamProxies,
};
use skills_policy::{
    Authorization, Effect, HostFilter, NetworkGrant, Policy, Request, Rule, RuleSource,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The address of `a.example`.
pub(crate) const PUBLIC: &str = "93.184.216.34";
/// Much longer than any step takes.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);

/// Names with their addresses, and addresses with their servers.
#[derive(Default)]
struct SimulatedNetwork {
    /// What each name resolves to, one response after the other; the last one repeats.
    names: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    servers: Mutex<HashMap<SocketAddr, SocketAddr>>,
    resolved: Mutex<Vec<String>>,
    connected: Mutex<Vec<String>>,
    upstream: UpstreamProxies,
}

impl Connector for SimulatedNetwork {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>> {
        self.resolved.lock().unwrap().push(host.to_owned());
        let answer = match self.names.lock().unwrap().get_mut(host) {
            Some(answers) if answers.len() > 1 => Ok(answers.remove(0)),
            Some(answers) => Ok(answers[0].clone()),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        // The resolver does not choose the port.
        Box::pin(async move {
            answer.map(|ips| {
                ips.into_iter()
                    .map(|ip| SocketAddr::new(ip, port ^ 1))
                    .collect()
            })
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

pub(crate) struct ProxyFixture {
    network: Arc<SimulatedNetwork>,
    log: ProxyLog,
    address: SocketAddr,
    serving: JoinHandle<()>,
}

/// Decides as the policy does: these patterns are allowed, those after a `!` denied.
pub(crate) fn list(patterns: &[&str]) -> HostFilter {
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
    let Authorization::Granted(grants) =
        rules.authorize(&Request::new("/s").allowed_tool("WebSearch", None))
    else {
        panic!("granted")
    };
    let NetworkGrant::Hosts(list) = grants.network() else {
        panic!("some hosts")
    };
    list.clone()
}

impl ProxyFixture {
    /// Starts a proxy for these hosts; `a.example` resolves to [`PUBLIC`].
    pub(crate) async fn new(patterns: &[&str]) -> Self {
        Self::limited(patterns, EgressLimits::default()).await
    }

    pub(crate) async fn limited(patterns: &[&str], limits: EgressLimits) -> Self {
        Self::behind(patterns, limits, UpstreamProxies::default()).await
    }

    /// Starts a proxy that reaches hosts through these proxies of the user.
    pub(crate) async fn behind(
        patterns: &[&str],
        limits: EgressLimits,
        upstream: UpstreamProxies,
    ) -> Self {
        let network = Arc::new(SimulatedNetwork {
            upstream,
            ..SimulatedNetwork::default()
        });
        let outside: Arc<dyn Connector> = network.clone();
        let connector = HostConnector::new(list(patterns), outside).limits(limits);
        let log = connector.log();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let proxy = Proxy::new(connector);
        let serving = tokio::spawn(async move { match proxy.serve(listener).await {} });
        let fixture = Self {
            network,
            log,
            address,
            serving,
        };
        fixture.name("a.example", &[&[PUBLIC]]);
        fixture
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

    /// Starts a server at an address, for one connection: it reads until the input ends with
    /// `until`, sends `answer`, and closes its side. Returns everything that it received.
    pub(crate) async fn server(
        &self,
        address: &str,
        until: &'static str,
        answer: &'static str,
    ) -> JoinHandle<String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        self.network
            .servers
            .lock()
            .unwrap()
            .insert(address.parse().unwrap(), listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = timeout(STEP_TIMEOUT, listener.accept())
                .await
                .expect("no connection")
                .unwrap();
            let mut got = Vec::new();
            while !got.ends_with(until.as_bytes())
                && stream.read_buf(&mut got).await.unwrap_or(0) > 0
            {}
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
            while stream.read_buf(&mut got).await.unwrap_or(0) > 0 {}
            String::from_utf8_lossy(&got).into_owned()
        })
    }

    pub(crate) async fn connect(&self) -> Client {
        Client(TcpStream::connect(self.address).await.unwrap())
    }

    /// Sends bytes on a new connection and returns the whole response.
    pub(crate) async fn exchange(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut client = self.connect().await;
        client.send(bytes).await;
        client.rest().await
    }

    pub(crate) async fn get(&self, url: &str, host: &str) -> String {
        self.exchange(format!("GET {url} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
            .await
    }

    /// Returns the names that were resolved and the addresses that were connected to.
    pub(crate) fn connections(&self) -> (Vec<String>, Vec<String>) {
        (
            self.network.resolved.lock().unwrap().clone(),
            self.network.connected.lock().unwrap().clone(),
        )
    }

    pub(crate) fn assert_no_connections(&self, what: impl std::fmt::Debug) {
        assert_eq!(self.connections(), (vec![], vec![]), "{what:?}");
    }

    pub(crate) fn summary(&self) -> ProxySummary {
        self.log.summary()
    }

    /// Stops the proxy, as dropping its future does.
    pub(crate) async fn stop(&mut self) {
        self.serving.abort();
        let _ = (&mut self.serving).await;
    }
}

impl Drop for ProxyFixture {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

pub(crate) struct Client(TcpStream);

impl Client {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // The proxy may have closed the connection already.
        let _ = self.0.write_all(bytes.as_ref()).await;
    }

    /// Returns the next `N` bytes.
    pub(crate) async fn receive<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        timeout(STEP_TIMEOUT, self.0.read_exact(&mut bytes))
            .await
            .expect("no answer")
            .expect("closed");
        bytes
    }

    /// Returns the head of a response.
    pub(crate) async fn head(&mut self) -> String {
        let mut got = Vec::new();
        while !got.ends_with(b"\r\n\r\n") {
            got.extend(self.receive::<1>().await);
        }
        String::from_utf8(got).unwrap()
    }

    /// Returns all bytes until the other side closes.
    pub(crate) async fn rest(mut self) -> String {
        let mut got = Vec::new();
        let mut chunk = [0; 4096];
        while let Ok(length @ 1..) = timeout(STEP_TIMEOUT, self.0.read(&mut chunk))
            .await
            .expect("not closed")
        {
            got.extend_from_slice(&chunk[..length]);
        }
        String::from_utf8_lossy(&got).into_owned()
    }
}

/// A SOCKS 5 request with its greeting.
pub(crate) fn socks(host: &[u8], port: u16) -> Vec<u8> {
    let length = u8::try_from(host.len()).unwrap();
    [&[5, 1, 0, 5, 1, 0, 3, length], host, &port.to_be_bytes()].concat()
}

/// The SOCKS response to a tunnel to a host that is not granted, after that to the greeting.
pub(crate) const SOCKS_REJECTED: &str = "\u{5}\0\u{5}\u{2}\0\u{1}\0\0\0\0\0\0";
pub(crate) const SOCKS_GRANTED: &str = "\u{5}\0\u{5}\0\0\u{1}\0\0\0\0\0\0";

/// A `ClientHello` for a host, in records of `size` bytes.
pub(crate) fn client_hello(name: Option<&str>, size: usize) -> Vec<u8> {
    let length = |length: usize| u16::try_from(length).unwrap().to_be_bytes();
    let name = name.map_or(Vec::new(), |name| {
        let name = name.as_bytes();
        [
            &[0, 0],
            length(name.len() + 5).as_slice(),
            &length(name.len() + 3),
            &[0],
            &length(name.len()),
            name,
        ]
        .concat()
    });
    // The signature algorithms, which are required, and a meaningless extension with which the
    // server detects the end.
    let algorithms: &[u8] = &[0, 13, 0, 4, 0, 2, 4, 3];
    let extensions = [&name, algorithms, &[0xab, 0xcd, 0, 5], b"hello"].concat();
    let body = [
        &[3, 3],
        [7; 32].as_slice(),
        &[0, 0, 2, 0x13, 1, 1, 0],
        &length(extensions.len()),
        &extensions,
    ]
    .concat();
    let message = [&[1, 0], length(body.len()).as_slice(), &body].concat();
    // The marker is not split.
    let (rest, mark) = message.split_at(message.len() - 5);
    rest.chunks(size)
        .chain([mark])
        .flat_map(|part| [&[22, 3, 1], length(part.len()).as_slice(), part].concat())
        .collect()
}
