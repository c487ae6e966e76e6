//! The world beyond the proxy.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;

use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// A future in a box.
type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// How many names are resolved at once in this process. The system's resolver cannot be stopped: it
/// goes on after nobody waits for it any more.
static LOOKUP_PERMITS: Semaphore = Semaphore::const_new(16);

/// What is outside: names lead to addresses, addresses to connections.
pub trait Connector: Send + Sync {
    /// Resolves a name. It is lower-case ASCII without a final dot, and never an address. Of the
    /// answer the proxy uses the addresses only, with `port`, and drops those that are not public.
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, Vec<SocketAddr>>;

    /// Connects to an address that the proxy has checked.
    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, TcpStream>;
}

/// The Internet as this machine sees it: its resolver, its routes. Addresses of this machine itself
/// are not reached, public as they may be.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemConnector;

impl Connector for SystemConnector {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, Vec<SocketAddr>> {
        Box::pin(async move {
            // With its final dot a name is complete; without it the resolver might complete it with
            // this machine's own domain.
            let name = (format!("{host}."), port);
            run_blocking(&LOOKUP_PERMITS, move || {
                Ok(name.to_socket_addrs()?.collect())
            })
            .await
        })
    }

    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, TcpStream> {
        Box::pin(async move {
            if is_local_address(address).await? {
                return Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    "an address of this machine",
                ));
            }
            TcpStream::connect(address).await
        })
    }
}

/// Does work that blocks, once there is a permit for it. The permit is free again when the work has
/// ended, not when its caller has gone.
async fn run_blocking<T: Send + 'static>(
    permits: &'static Semaphore,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let permit = permits.acquire().await.map_err(io::Error::other)?;
    let work = move || {
        let _permit = permit;
        work()
    };
    spawn_blocking(work).await.map_err(io::Error::other)?
}

/// Says whether an address is one of this machine: then the kernel would answer from that same
/// address. Connecting a UDP socket asks the kernel's routes and sends nothing.
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
    async fn work_that_nobody_waits_for_keeps_its_permit_until_it_ends() {
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
