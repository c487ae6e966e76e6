//! A fake network: names that resolve to one public address, and a server of the test at the end of
//! all connections.

use std::future::Future;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use skills_egress::Connector;
use tokio::net::TcpStream;

/// The address of all names unless the test resolves them otherwise. Nothing is sent there.
pub(crate) const PUBLIC: Ipv4Addr = Ipv4Addr::new(93, 184, 215, 14);

/// Resolves a name; the number counts the names that were resolved before.
type Resolve = fn(&str, usize) -> IpAddr;

pub(crate) struct FakeNetwork {
    server: SocketAddr,
    resolve: Resolve,
    resolved: AtomicUsize,
    connected: AtomicUsize,
    private: AtomicUsize,
    reached: Arc<AtomicUsize>,
}

impl FakeNetwork {
    /// Starts the server, which responds to every request with one line for as long as the test
    /// runs.
    pub(crate) fn new(resolve: Resolve) -> Arc<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let server = listener.local_addr().unwrap();
        let reached = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&reached);
        std::thread::spawn(move || {
            for mut connection in listener.incoming().flatten() {
                counter.fetch_add(1, Ordering::Relaxed);
                let _ = connection.read(&mut [0; 4_096]);
                let _ =
                    connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n");
            }
        });
        let [resolved, connected, private] = [const { AtomicUsize::new(0) }; 3];
        Arc::new(Self {
            server,
            resolve,
            resolved,
            connected,
            private,
            reached,
        })
    }

    pub(crate) fn server(&self) -> SocketAddr {
        self.server
    }

    /// Returns the number of connections that the server accepted, through the proxy or not.
    pub(crate) fn reached(&self) -> usize {
        self.reached.load(Ordering::Relaxed)
    }

    /// Returns the number of connections that the proxy made.
    pub(crate) fn connected(&self) -> usize {
        self.connected.load(Ordering::Relaxed)
    }

    /// Returns how many of them were to another address than the public one.
    pub(crate) fn private(&self) -> usize {
        self.private.load(Ordering::Relaxed)
    }
}

impl Connector for FakeNetwork {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>> {
        let address = (self.resolve)(host, self.resolved.fetch_add(1, Ordering::Relaxed));
        Box::pin(async move { Ok(vec![SocketAddr::from((address, port))]) })
    }

    fn connect(
        &self,
        address: SocketAddr,
    ) -> Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send + '_>> {
        self.connected.fetch_add(1, Ordering::Relaxed);
        self.private.fetch_add(
            usize::from(address.ip() != IpAddr::from(PUBLIC)),
            Ordering::Relaxed,
        );
        Box::pin(TcpStream::connect(self.server))
    }
}
