//! A proxy in front of the engine that observes requests, answers some of them itself, or acts before
//! it forwards them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_test_support::host;

/// What happens to a request.
pub(crate) enum Answer {
    /// The engine answers it.
    Forward,
    /// It fails with a status.
    Status(u16),
    /// It succeeds with a body.
    Json(String),
}

/// Decides about a request by its method and path.
type Decide = dyn Fn(&str) -> Answer + Send + Sync;

/// The proxy. It listens until the test program ends.
pub(crate) struct EngineProxy {
    socket: PathBuf,
}

impl EngineProxy {
    pub(crate) fn start(
        socket: &Path,
        decide: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = UnixListener::bind(socket).unwrap();
        let (engine, _) = host::container_engine().unwrap();
        let decide: Arc<Decide> = Arc::new(decide);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (engine, decide) = (engine.clone(), Arc::clone(&decide));
                // A client that disconnects ends its thread.
                std::thread::spawn(move || {
                    let _ = serve(&client, &engine, &*decide);
                    let _ = client.shutdown(Shutdown::Both);
                });
            }
        });
        Self {
            socket: socket.to_owned(),
        }
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }
}

/// Serves one request. Each has its own connection, so that the next one is decided about too.
fn serve(client: &UnixStream, engine: &Path, decide: &Decide) -> std::io::Result<()> {
    let mut reader = BufReader::new(client);
    let mut head = Vec::new();
    let (mut length, mut is_upgrade) = (0, false);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        is_upgrade |= lower.starts_with("upgrade:");
        if line.trim().is_empty() {
            break;
        }
        head.push(line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let request = head.first().map_or("", String::as_str);
    let request = request.rsplit_once(" HTTP").map_or("", |(line, _)| line);
    let mut client = client;
    match decide(request) {
        Answer::Status(status) => write!(
            client,
            "HTTP/1.1 {status} Failed\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{{\"message\":\"failed\"}}"
        ),
        Answer::Json(text) => write!(
            client,
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
            text.len()
        ),
        Answer::Forward => forward(client, engine, &head, &body, is_upgrade),
    }
}

fn forward(
    mut client: &UnixStream,
    engine: &Path,
    head: &[String],
    body: &[u8],
    is_upgrade: bool,
) -> std::io::Result<()> {
    let mut engine = UnixStream::connect(engine)?;
    for line in head {
        if is_upgrade || !line.to_lowercase().starts_with("connection:") {
            engine.write_all(line.as_bytes())?;
        }
    }
    if !is_upgrade {
        engine.write_all(b"Connection: close\r\n")?;
    }
    engine.write_all(b"\r\n")?;
    engine.write_all(body)?;
    if is_upgrade {
        let (mut input, mut output) = (client.try_clone()?, engine.try_clone()?);
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut input, &mut output);
            let _ = output.shutdown(Shutdown::Write);
        });
    }
    std::io::copy(&mut engine, &mut client)?;
    Ok(())
}
