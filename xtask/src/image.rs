//! Prepares a container engine for tests: an image of programs of this host, and Podman behind a
//! socket.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::command::{output, run, target_dir};

/// The name of the image, for people; tests use its digest.
const IMAGE: &str = "localhost/skills-test:latest";
/// Programs of the image.
const PROGRAMS: [&str; 10] = [
    "/usr/bin/bash",
    "/usr/bin/cat",
    "/usr/bin/env",
    "/usr/bin/id",
    "/usr/bin/ls",
    "/usr/bin/mkdir",
    "/usr/bin/python3",
    "/usr/bin/rm",
    "/usr/bin/sleep",
    "/usr/bin/touch",
];
/// The directory of Debian with the wheels that `python -m venv` installs.
const WHEELS: &str = "/usr/share/python-wheels";
/// The certificates with which pip checks indexes.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// How often and how long to wait for the socket.
const SOCKET_INTERVAL: Duration = Duration::from_millis(100);
const SOCKET_ATTEMPTS: u32 = 100;

/// A running Podman, which ends with this value.
pub(crate) struct Engine {
    service: Child,
    socket: PathBuf,
    image: String,
}

impl Engine {
    /// Creates the image and starts Podman with runc, which also works on hosts with both versions of
    /// cgroups.
    ///
    /// # Errors
    /// With the reason why there can be no engine: not root, or a missing program.
    pub(crate) fn start() -> Result<Self> {
        let image = create_image()?;
        let directory = target_dir()?.join("image");
        let socket = directory.join("podman.sock");
        if socket.exists() {
            fs::remove_file(&socket)?;
        }
        let service = podman()
            .args(["system", "service", "--time", "0"])
            .arg(format!("unix://{}", socket.display()))
            // Where memory is exhausted, conmon writes a file `oom` into its working directory.
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let engine = Self {
            service,
            socket,
            image,
        };
        for _ in 0..SOCKET_ATTEMPTS {
            if UnixStream::connect(&engine.socket).is_ok() {
                return Ok(engine);
            }
            std::thread::sleep(SOCKET_INTERVAL);
        }
        bail!("podman does not listen on {}", engine.socket.display())
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns the digest of the image.
    pub(crate) fn image(&self) -> &str {
        &self.image
    }

    /// Returns the variables by which tests find the engine.
    pub(crate) fn variables(&self) -> [(&'static str, String); 2] {
        [
            (
                "SKILLS_TEST_CONTAINER_SOCKET",
                self.socket().display().to_string(),
            ),
            ("SKILLS_TEST_CONTAINER_IMAGE", self.image().to_owned()),
        ]
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

/// Creates the image, and prints how to use it.
pub(crate) fn image() -> Result<()> {
    let image = create_image()?;
    println!("{image}");
    println!();
    println!("podman --runtime runc system service --time 0 unix:///run/podman/podman.sock &");
    println!("skills config set container-socket /run/podman/podman.sock");
    println!("skills config set container-image {image}");
    println!("skills run NAME --sandbox container");
    Ok(())
}

fn podman() -> Command {
    let mut command = Command::new("podman");
    command.args(["--runtime", "runc"]);
    command
}

/// Imports a small root file system, and returns the digest of the image.
fn create_image() -> Result<String> {
    ensure!(
        output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0"),
        "only root can run Podman with runc here"
    );
    for program in ["podman", "runc"] {
        output(Command::new(program).arg("--version"))
            .with_context(|| format!("`{program}` is not installed (package {program})"))?;
    }
    let directory = target_dir()?.join("image");
    let root = directory.join("root");
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    create_root(&root)?;
    let archive = directory.join("image.tar");
    run(Command::new("tar")
        .arg("-C")
        .arg(&root)
        .arg("-cf")
        .arg(&archive)
        .arg("."))?;
    let image = output(
        podman()
            .args(["import", "--quiet", "--change", "ENV PATH=/usr/bin:/bin"])
            .arg(&archive)
            .arg(IMAGE),
    )?;
    fs::remove_file(archive)?;
    let digits = image.trim().trim_start_matches("sha256:");
    Ok(format!("sha256:{digits}"))
}

/// Copies programs of this host with their libraries, and the library of Python.
fn create_root(root: &Path) -> Result<()> {
    for directory in [
        "dev",
        "etc",
        "proc",
        "run",
        "sys",
        "tmp",
        "usr/bin",
        "usr/lib",
        "usr/lib64",
    ] {
        fs::create_dir_all(root.join(directory))?;
    }
    for (link, target) in [
        ("bin", "usr/bin"),
        ("lib", "usr/lib"),
        ("lib64", "usr/lib64"),
        ("usr/bin/sh", "bash"),
    ] {
        symlink(target, root.join(link))?;
    }
    fs::write(root.join("etc/passwd"), "root:x:0:0::/:/bin/sh\n")?;
    if Path::new(CERTIFICATES).exists() {
        copy_file(Path::new(CERTIFICATES), root)?;
    }
    let mut libraries = BTreeSet::new();
    for program in PROGRAMS {
        copy_file(Path::new(program), root)?;
        libraries.extend(libraries_of(Path::new(program))?);
    }
    let python = fs::canonicalize("/usr/bin/python3")?;
    let name = python.file_name().context("the name of Python")?;
    let modules = Path::new("/usr/lib").join(name);
    for directory in [&modules, Path::new(WHEELS)] {
        if directory.exists() {
            copy_directory(directory, root)?;
        }
    }
    for module in fs::read_dir(modules.join("lib-dynload"))? {
        libraries.extend(libraries_of(&module?.path())?);
    }
    libraries
        .iter()
        .try_for_each(|library| copy_file(library, root))
}

/// Returns the libraries that the loader finds for a program or module.
fn libraries_of(file: &Path) -> Result<BTreeSet<PathBuf>> {
    let listed = output(Command::new("ldd").arg(file))?;
    let paths = listed
        .split_whitespace()
        .filter(|word| word.starts_with('/'))
        .map(|word| PathBuf::from(word.trim_end_matches(':')));
    Ok(paths.collect())
}

/// Copies a file to the same path, through symlinks such as `/lib64`.
fn copy_file(file: &Path, root: &Path) -> Result<()> {
    let path = root.join(file.strip_prefix("/")?);
    let parent = path.parent().context("a file has a directory")?;
    fs::create_dir_all(parent)?;
    fs::copy(file, &path).with_context(|| file.display().to_string())?;
    Ok(())
}

fn copy_directory(directory: &Path, root: &Path) -> Result<()> {
    let target = root.join(directory.strip_prefix("/")?);
    fs::create_dir_all(target.parent().context("a directory has a parent")?)?;
    run(Command::new("cp").arg("-r").arg(directory).arg(target))
}
