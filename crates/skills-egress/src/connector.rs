//! Name resolution and connections outside of the proxy.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;

use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::Semaphore;

use crate::upstream::UpstreamProxies;

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// How many names are resolved concurrently in this process. The system resolver cannot be
/// cancelled: it keeps running after its caller is gone.
static LOOKUP_PERMITS: Semaphore = Semaphore::const_new(16);

/// Resolves names and connects to addresses, for a [`HostConnector`](crate::HostConnector). Tests
/// replace the network with their own implementation; [`SystemConnector`] is the one for
/// production.
pub trait Connector: Send + Sync {
    /// Resolves a name, which is lowercase ASCII without a final dot, and never an address. The
    /// proxy uses only the addresses of the result, with `port`, and drops those that are not
    /// public.
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, Vec<SocketAddr>>;

    /// Connects to an address that the proxy has checked.
    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, TcpStream>;

    /// Returns the proxies of the user, by which hosts are reached. Default: none.
    fn upstream(&self) -> Option<&UpstreamProxies> {
        None
    }

    /// Connects to an address that is granted itself, with a port. It may belong to this host.
    fn connect_granted(&self, address: SocketAddr) -> BoxFuture<'_, TcpStream> {
        Box::pin(TcpStream::connect(address))
    }
}

/// Resolves and connects with the host's resolver and routes. Never connects to the host's own
/// addresses, even if they are public, unless the address itself is granted. Default: without
/// proxies of the user.
#[derive(Debug, Clone, Default)]
pub struct SystemConnector {
    upstream: UpstreamProxies,
}

impl SystemConnector {
    /// Reaches hosts through proxies of the user.
    #[must_use]
    pub fn through(upstream: UpstreamProxies) -> Self {
        Self { upstream }
    }
}

impl Connector for SystemConnector {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, Vec<SocketAddr>> {
        Box::pin(async move {
            // With its final dot a name is fully qualified; otherwise the resolver might append the
            // search domain of the host.
            let name = (format!("{host}."), port);
            run_blocking(&LOOKUP_PERMITS, move || {
                Ok(name.to_socket_addrs()?.collect())
            })
            .await
        })
    }

    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, TcpStream> {
        Box::pin(async move {
            // A public address can belong to this host, whose services may trust local connections.
            if is_local_address(address).await? {
                return Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    "address of the host itself",
                ));
            }
            TcpStream::connect(address).await
        })
    }

    fn upstream(&self) -> Option<&UpstreamProxies> {
        Some(&self.upstream)
    }
}

/// Resolves a name as other programs of the user do, also in the search domain of the machine, and
/// connects to the first address that responds.
pub(crate) async fn connect_to_name(host: &str, port: u16) -> io::Result<TcpStream> {
    let name = (host.trim_matches(['[', ']']).to_owned(), port);
    let resolve = move || Ok(name.to_socket_addrs()?.collect::<Vec<_>>());
    let addresses = run_blocking(&LOOKUP_PERMITS, resolve).await?;
    TcpStream::connect(addresses.as_slice()).await
}

/// Runs blocking work once a permit is available. The permit is released when the work ends, not
/// when its caller is dropped.
async fn run_blocking<T: Send + 'static>(
    permits: &'static Semaphore,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let permit = permits.acquire().await.map_err(io::Error::other)?;
    let work = move || {
        // Moved into the work: the resolver continues if its caller is dropped, and must count
        // until then.
        let _permit = permit;
        work()
    };
    skills_threads::run_blocking(work).await?
}

/// Returns true if the address belongs to this host: then the kernel would select it as the source
/// address, too. Connecting a UDP socket only consults the routing table and sends nothing.
async fn is_local_address(address: SocketAddr) -> io::Result<bool> {
    let any: IpAddr = if address.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(address).await?;
    Ok(socket.local_addr()?.ip() == address.ip())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn abandoned_work_keeps_its_permit_until_it_ends() {
        static ONE: Semaphore = Semaphore::const_new(1);
        let (begun, begins) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let stuck = run_blocking(&ONE, move || {
            begun.send(()).unwrap();
            ends.recv().map_err(io::Error::other)
        });
        assert!(timeout(Duration::from_millis(50), stuck).await.is_err());
        begins.recv().unwrap();
        assert_eq!(ONE.available_permits(), 0);
        assert!(
            timeout(Duration::from_millis(50), run_blocking(&ONE, || Ok(1)))
                .await
                .is_err()
        );
        end.send(()).unwrap();
        assert_eq!(run_blocking(&ONE, || Ok(2)).await.unwrap(), 2);
    }
}
