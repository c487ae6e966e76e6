//! A web server on loopback, made for one test.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The authority that signed the certificate of the server, for `localhost`.
const AUTHORITY: &[u8] = include_bytes!("tls/ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("tls/server.pem");
const KEY: &[u8] = include_bytes!("tls/server-key.pem");

/// What a client sent.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in lowercase.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(other, _)| other == name)?;
        Some(value)
    }
}

/// What the server answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// The length in the header; that of the body if it is `None`.
    pub(crate) declared_length: Option<u64>,
    pub(crate) pace: Pace,
}

/// How fast a reply is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum Pace {
    #[default]
    AtOnce,
    /// Nothing, until the client gives up.
    Never,
    /// The body byte by byte, for as long as the client waits.
    ByteByByte,
    /// The body again and again, without a length, for as long as the client reads.
    Endless,
}

impl Reply {
    pub(crate) fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            body: body.into(),
            ..Self::default()
        }
    }

    pub(crate) fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    pub(crate) fn redirect(target: impl Into<String>) -> Self {
        Self::status(302).header("location", target)
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }
}

type Handler = dyn Fn(&Request) -> Reply + Send + Sync;

/// A server that ends when it is dropped.
pub(crate) struct WebServer {
    address: SocketAddr,
    scheme: &'static str,
    requests: Arc<Mutex<Vec<Request>>>,
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl WebServer {
    /// Starts a server for plain HTTP.
    pub(crate) fn start(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::listen(Arc::new(handler), None)
    }

    /// Starts a server for HTTPS.
    pub(crate) fn start_tls(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from_pem_slice(CERTIFICATE).unwrap()],
                PrivateKeyDer::from_pem_slice(KEY).unwrap(),
            )
            .unwrap();
        Self::listen(Arc::new(handler), Some(Arc::new(config)))
    }

    fn listen(handler: Arc<Handler>, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let requests = Arc::new(Mutex::new(Vec::new()));
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (log, stopped) = (Arc::clone(&requests), Arc::clone(&is_stopped));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (handler, log, tls) = (Arc::clone(&handler), Arc::clone(&log), tls.clone());
                let stream = stream.unwrap();
                thread::spawn(move || {
                    // A client that gives up is not an error of the server.
                    let _ = match tls {
                        None => serve(&stream, &stream, handler.as_ref(), &log),
                        Some(config) => {
                            let session = ServerConnection::new(config).unwrap();
                            let copy = stream.try_clone().unwrap();
                            serve(
                                StreamOwned::new(session, stream),
                                &copy,
                                handler.as_ref(),
                                &log,
                            )
                        }
                    };
                });
            }
        });
        Self {
            address,
            scheme,
            requests,
            is_stopped,
            thread: Some(thread),
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        // The certificate has this name.
        let host = if self.scheme == "https" {
            "localhost"
        } else {
            "127.0.0.1"
        };
        format!("{}://{host}:{}{path}", self.scheme, self.port())
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns the paths that were requested, in order, without those of signatures, which the feature
    /// `signatures` adds.
    pub(crate) fn paths(&self) -> Vec<String> {
        let requests = self.requests();
        let paths = requests.into_iter().map(|request| request.path);
        let is_signature = |path: &String| path.contains(".minisig") || path.contains(".sigstore");
        paths.filter(|path| !is_signature(path)).collect()
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        // Ends the wait for a connection.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Returns the authority to trust, as DER.
pub(crate) fn authority() -> Vec<u8> {
    CertificateDer::from_pem_slice(AUTHORITY).unwrap().to_vec()
}

/// Serves one request of a connection.
fn serve(
    stream: impl Read + Write,
    socket: &TcpStream,
    handler: &Handler,
    log: &Mutex<Vec<Request>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let Some(request) = read_request(&mut reader)? else {
        return Ok(());
    };
    log.lock().unwrap().push(request.clone());
    let reply = handler(&request);
    let mut stream = reader.into_inner();
    if reply.pace == Pace::Never {
        wait_for_end(&mut stream);
        return Ok(());
    }
    let mut head = format!("HTTP/1.1 {} Test\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    if reply.pace != Pace::Endless {
        let length = reply.declared_length.unwrap_or(reply.body.len() as u64);
        head += &format!("content-length: {length}\r\n");
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    match reply.pace {
        Pace::ByteByByte => {
            // The wait for input of the client, which sends none, is the pause.
            socket.set_read_timeout(Some(Duration::from_millis(20)))?;
            for byte in &reply.body {
                stream.write_all(&[*byte])?;
                stream.flush()?;
                match stream.read(&mut [0; 1]) {
                    Err(error)
                        if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                    _ => return Ok(()),
                }
            }
        }
        Pace::Endless => loop {
            stream.write_all(&reply.body)?;
        },
        Pace::AtOnce | Pace::Never => stream.write_all(&reply.body)?,
    }
    stream.flush()
}

fn wait_for_end(stream: &mut impl Read) {
    while let Ok(1..) = stream.read(&mut [0; 64]) {}
}

fn read_request(reader: &mut impl BufRead) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut parts = line.split(' ');
    let (method, path) = (parts.next().unwrap(), parts.next().unwrap_or_default());
    let (method, path) = (method.to_owned(), path.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
            None => break,
        }
    }
    let mut request = Request {
        method,
        path,
        headers,
        body: Vec::new(),
    };
    let length = request
        .header("content-length")
        .unwrap_or("0")
        .parse()
        .unwrap();
    reader.take(length).read_to_end(&mut request.body)?;
    Ok(Some(request))
}

/// A proxy that makes tunnels, and records to where.
pub(crate) struct TunnelProxy {
    pub(crate) address: SocketAddr,
    targets: Arc<Mutex<Vec<String>>>,
}

impl TunnelProxy {
    /// Starts a proxy that serves connections until the test ends.
    pub(crate) fn start() -> Self {
        Self::listen(None)
    }

    /// Starts a proxy in a network in which all addresses lead to one server of this machine.
    pub(crate) fn start_in_front_of(server: &WebServer) -> Self {
        Self::listen(Some(server.address))
    }

    fn listen(server: Option<SocketAddr>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let targets = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&targets);
        thread::spawn(move || {
            for client in listener.incoming() {
                let log = Arc::clone(&log);
                thread::spawn(move || tunnel(&client.unwrap(), server, &log));
            }
        });
        Self { address, targets }
    }

    pub(crate) fn targets(&self) -> Vec<String> {
        self.targets.lock().unwrap().clone()
    }
}

fn tunnel(client: &TcpStream, server: Option<SocketAddr>, log: &Mutex<Vec<String>>) {
    // Without a buffer, which would take what follows the request.
    let mut reader = BufReader::with_capacity(1, client);
    let request = read_request(&mut reader).unwrap().unwrap();
    assert_eq!(request.method, "CONNECT");
    log.lock().unwrap().push(request.path.clone());
    let server = server.map_or_else(|| TcpStream::connect(request.path), TcpStream::connect);
    let server = server.unwrap();
    let mut writer = client;
    writer.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
    let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    // Each ends with its side of the connection.
    thread::spawn(move || std::io::copy(&mut &from, &mut &to));
    let _ = std::io::copy(&mut &server, &mut writer);
    let _ = client.shutdown(std::net::Shutdown::Both);
}
