//! An index of Python packages on the loopback device, with wheels that the test makes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Cursor, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread;

use sha2::{Digest, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::fixture::Fixture;
use crate::skills::command_with_state;

/// A server with packages. It serves until the process ends.
pub(crate) struct PackageIndex {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl PackageIndex {
    /// Returns a command for the skills of a fixture that installs packages of this index, with all
    /// other files in the fixture.
    pub(crate) fn command(&self, fixture: &Fixture, arguments: &[&str]) -> Command {
        let [scratch, state, home] =
            ["scratch", "state", "home"].map(|name| fixture.path().join(name));
        for directory in [&scratch, &state, &home] {
            fs::create_dir_all(directory).unwrap();
        }
        let arguments = [&["--root", "skills"], arguments].concat();
        let mut command = command_with_state(&arguments, &scratch, &state);
        command
            .current_dir(fixture.path())
            .env("HOME", &home)
            .env("XDG_DATA_HOME", home.join("data"))
            .env("PIP_INDEX_URL", self.url());
        command
    }

    /// Serves packages, each with its version and the packages that it requires. The module of each
    /// prints nothing and has `VERSION`.
    pub(crate) fn start(packages: &[(&str, &str, &[&str])]) -> Self {
        Self::start_with_modules(packages, |name| name.replace('-', "_"))
    }

    /// Serves packages like [`start`](Self::start), with the module of each.
    pub(crate) fn start_with_modules(
        packages: &[(&str, &str, &[&str])],
        module_of: impl Fn(&str) -> String,
    ) -> Self {
        let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (name, version, required) in packages {
            let distribution = name.replace('-', "_");
            let wheel = format!("{distribution}-{version}-py3-none-any.whl");
            let page = files.entry(format!("/simple/{name}/")).or_default();
            let bytes = build_wheel(&distribution, &module_of(name), version, required);
            let digest: String = Sha256::digest(&bytes)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            let link = format!("<a href=\"/files/{wheel}#sha256={digest}\">{wheel}</a>\n");
            page.extend(link.bytes());
            files.insert(format!("/files/{wheel}"), bytes);
            // What an index answers can have any types.
            let owners = r#"{"ownership": {"organization": ["x"], "roles": [
                "odd", {"role": 1}, {"role": "Owner", "user": "\ud800"},
                {"role": "Owner", "user": "ada"}]}}"#;
            files.insert(format!("/pypi/{name}/json"), owners.into());
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let (files, recorded) = (Arc::new(files), Arc::clone(&requests));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (files, recorded) = (Arc::clone(&files), Arc::clone(&recorded));
                thread::spawn(move || serve(stream, &files, &recorded));
            }
        });
        Self { address, requests }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/simple", self.address)
    }

    /// Returns how often a file was requested whose path contains a text.
    pub(crate) fn count(&self, text: &str) -> usize {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|path| path.contains(text)).count()
    }
}

fn serve(stream: TcpStream, files: &BTreeMap<String, Vec<u8>>, requests: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    if reader.read_line(&mut first).is_err() {
        return;
    }
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        line.clear();
    }
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let found = files.get(&path);
    requests.lock().unwrap().push(path.clone());
    let (status, body) = match found {
        Some(body) => ("200 OK", body.as_slice()),
        None => ("404 Not Found", &b""[..]),
    };
    let kind = if path.ends_with(".whl") {
        "application/octet-stream"
    } else {
        "text/html"
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = reader.into_inner();
    let _ = stream.write_all(head.as_bytes());
    if !first.starts_with("HEAD") {
        let _ = stream.write_all(body);
    }
}

fn build_wheel(name: &str, module: &str, version: &str, required: &[&str]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let required: String = required
        .iter()
        .map(|name| format!("Requires-Dist: {name}\n"))
        .collect();
    let info = format!("{name}-{version}.dist-info");
    let files = [
        (
            format!("{module}/__init__.py"),
            format!("VERSION = '{version}'\n"),
        ),
        (
            format!("{info}/METADATA"),
            format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}"),
        ),
        (
            format!("{info}/WHEEL"),
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
                .to_owned(),
        ),
    ];
    let mut record = String::new();
    for (path, text) in &files {
        archive
            .start_file(path, SimpleFileOptions::default())
            .unwrap();
        archive.write_all(text.as_bytes()).unwrap();
        record.push_str(&format!("{path},,\n"));
    }
    archive
        .start_file(format!("{info}/RECORD"), SimpleFileOptions::default())
        .unwrap();
    record.push_str(&format!("{info}/RECORD,,\n"));
    archive.write_all(record.as_bytes()).unwrap();
    archive.finish().unwrap().into_inner()
}

/// Returns the exit code of a command, and what it wrote.
pub(crate) fn text_of(output: &Output) -> (i32, String) {
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    (output.status.code().unwrap_or(-1), text.concat())
}
