//! Hosts of a list, through the proxy, from a network with nothing else in it.

use std::future::Future;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use skills_sandbox::Sandbox;
use skills_sandbox::egress::Outside;
use skills_sandbox_linux::Isolation;
use tokio::net::TcpStream;

use crate::skill::{Skill, lacks};

/// The address that every name is said to have; nothing is sent there.
const PUBLIC: Ipv4Addr = Ipv4Addr::new(93, 184, 215, 14);

/// An outside in which all names have one public address, behind which there is a server of this test.
struct Made {
    server: SocketAddr,
    dialled: AtomicUsize,
}

impl Outside for Made {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>> {
        let address = if host == "inside.test" { Ipv4Addr::LOCALHOST } else { PUBLIC };
        Box::pin(async move { Ok(vec![SocketAddr::from((address, port))]) })
    }

    fn connect(&self, address: SocketAddr) -> Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send + '_>> {
        assert_eq!(address.ip(), PUBLIC);
        self.dialled.fetch_add(1, Ordering::Relaxed);
        Box::pin(TcpStream::connect(self.server))
    }
}

/// A server on loopback that answers everything with one line; returns how often it was reached.
fn server() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (address, count) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counter = Arc::clone(&count);
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let Ok(mut connection) = connection else { continue };
            counter.fetch_add(1, Ordering::Relaxed);
            let _ = connection.read(&mut [0; 4_096]);
            let _ = connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n");
        }
    });
    (address, count)
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_hosts_are_reached_through_the_proxy_and_nothing_else_is() {
    if lacks(Isolation::Isolated) {
        return;
    }
    let (server, reached) = server();
    let skill = Skill::new(Isolation::Isolated).tool("WebFetch(domain:allowed.test)").tool("WebFetch(domain:inside.test)");
    let outside = Arc::new(Made { server, dialled: AtomicUsize::new(0) });
    let script = format!(
        "import socket, urllib.request, urllib.error\n\
         print(urllib.request.urlopen('http://allowed.test/').read())\n\
         for host in ['other.test', 'inside.test', '127.0.0.1:{port}', 'allowed.test.other.test']:\n    \
             try: print(host, urllib.request.urlopen('http://' + host + '/').read())\n    \
             except urllib.error.HTTPError as e: print(host.split(':')[0], e.code)\n\
         for address in [('{host}', {port}), ('93.184.215.14', 80), ('::1', {port})]:\n    \
             try: print(socket.create_connection(address, 2))\n    \
             except OSError as e: print(type(e).__name__)\n\
         for kind in [(socket.AF_INET, socket.SOCK_DGRAM), (socket.AF_UNIX, socket.SOCK_STREAM), (socket.AF_NETLINK, socket.SOCK_RAW)]:\n    \
             try: print(socket.socket(*kind))\n    \
             except OSError as e: print(type(e).__name__)\n",
        host = server.ip(),
        port = server.port()
    );
    let sandbox = skill.sandbox().outside(Arc::clone(&outside) as Arc<dyn Outside>);
    let outcome = sandbox.run(skill.job("main.py", &script)).await.unwrap();
    assert_eq!(outcome.stderr.text(), "");
    insta::assert_snapshot!(outcome.stdout.text(), @r"
    b'hello\n'
    other.test 403
    inside.test 403
    127.0.0.1 403
    allowed.test.other.test 403
    PermissionError
    PermissionError
    PermissionError
    PermissionError
    PermissionError
    PermissionError
    ");
    assert_eq!((outside.dialled.load(Ordering::Relaxed), reached.load(Ordering::Relaxed)), (1, 1));
    let network = outcome.report.layers().iter().find(|layer| layer.name() == "network").unwrap();
    insta::assert_snapshot!(network.to_string().replace(&server.port().to_string(), "PORT"), @"network enforced: a network of its own with nothing but a proxy at port 3128; reached allowed.test (1); refused other.test: the host is not on the list (1); refused inside.test: the host has no public address (1); refused 127.0.0.1: port PORT is closed (1); refused allowed.test.other.test: the host is not on the list (1)");
}
