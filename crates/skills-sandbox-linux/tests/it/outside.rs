//! A made-up outside: names that lead to one public address, and a server of the test behind it.

use std::future::Future;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use skills_sandbox::egress::Connector;
use tokio::net::TcpStream;

/// The address that names have unless the test says otherwise; nothing is sent there.
pub(crate) const PUBLIC: Ipv4Addr = Ipv4Addr::new(93, 184, 215, 14);

/// Where a name leads; the number counts how many were resolved before.
type Leads = fn(&str, usize) -> IpAddr;

pub(crate) struct Made {
    server: SocketAddr,
    leads: Leads,
    resolved: AtomicUsize,
    dialled: AtomicUsize,
    private: AtomicUsize,
    reached: Arc<AtomicUsize>,
}

impl Made {
    /// Starts the server, which answers everything with one line for as long as the test runs.
    pub(crate) fn new(leads: Leads) -> Arc<Self> {
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
        let [resolved, dialled, private] = [const { AtomicUsize::new(0) }; 3];
        Arc::new(Self {
            server,
            leads,
            resolved,
            dialled,
            private,
            reached,
        })
    }

    pub(crate) fn server(&self) -> SocketAddr {
        self.server
    }

    /// Returns how many connections the server saw, through the proxy or around it.
    pub(crate) fn reached(&self) -> usize {
        self.reached.load(Ordering::Relaxed)
    }

    /// Returns how many connections were made.
    pub(crate) fn dialled(&self) -> usize {
        self.dialled.load(Ordering::Relaxed)
    }

    /// Returns how many of them were to another address than the public one.
    pub(crate) fn private(&self) -> usize {
        self.private.load(Ordering::Relaxed)
    }
}

impl Connector for Made {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>> {
        let address = (self.leads)(host, self.resolved.fetch_add(1, Ordering::Relaxed));
        Box::pin(async move { Ok(vec![SocketAddr::from((address, port))]) })
    }

    fn connect(
        &self,
        address: SocketAddr,
    ) -> Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send + '_>> {
        self.dialled.fetch_add(1, Ordering::Relaxed);
        self.private.fetch_add(
            usize::from(address.ip() != IpAddr::from(PUBLIC)),
            Ordering::Relaxed,
        );
        Box::pin(TcpStream::connect(self.server))
    }
}
