//! Builds the WebAssembly guests, whose small `.wasm` are committed as real skills ship theirs.
//!
//! Beside each guest lies `artifact.lock` with the hashes of its sources and of its artifact. A guest is built only when its sources
//! changed; with `--check` always, and then the bytes must be the committed ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::command::{cargo, output, run, workspace};

const TARGET: &str = "wasm32-wasip2";
const LOCK: &str = "artifact.lock";
/// The largest artifact that is committed, in bytes.
const MAX_BYTES: usize = 200_000;

/// What to do about committed artifacts.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mode {
    /// Build what changed and put it in place.
    Update,
    /// Build everything and compare.
    Check,
}

struct Guest {
    name: String,
    directory: PathBuf,
    artifact: PathBuf,
}

#[derive(PartialEq)]
struct Lock {
    sources: String,
    artifact: String,
}

pub(crate) fn guests(mode: Mode) -> Result<()> {
    let can_build = has_target();
    for guest in find()? {
        let committed = Lock::read(&guest)?;
        let sources = guest.sources_hash()?;
        let fresh =
            committed.as_ref().is_some_and(|lock| lock.sources == sources && Some(&lock.artifact) == guest.artifact_hash().as_ref());
        match (fresh, can_build) {
            (true, _) if mode == Mode::Update => {}
            (_, true) => guest.build(mode, sources)?,
            (true, false) => eprintln!("kept {}: the target {TARGET} is not installed (rustup target add {TARGET})", guest.name),
            (false, false) => {
                bail!("{}: its sources changed, and the target {TARGET} is not installed (rustup target add {TARGET})", guest.name)
            }
        }
    }
    Ok(())
}

/// Finds the guests of the example skills and of the tests.
fn find() -> Result<Vec<Guest>> {
    let root = workspace();
    let tests = root.join("crates/skills-sandbox-wasm/tests/guest");
    let mut guests = vec![Guest { name: "probe".to_owned(), artifact: tests.join("probe.wasm"), directory: tests }];
    guests.extend([("fetch", "guest-http"), ("fetch3", "guest-http-p3"), ("probe3", "guest-p3")].map(|(name, below)| {
        let directory = root.join("crates/skills-sandbox-wasm/tests").join(below);
        Guest { name: name.to_owned(), artifact: directory.join(format!("{name}.wasm")), directory }
    }));
    for skill in fs::read_dir(root.join("examples/skills"))? {
        let skill = skill?.path();
        let directory = skill.join("guest");
        if directory.join("Cargo.toml").is_file() {
            let name = skill.file_name().context("a skill has a name")?.to_string_lossy().into_owned();
            guests.push(Guest { name, directory, artifact: skill.join("wasm/skill.wasm") });
        }
    }
    guests.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(guests)
}

/// Says whether the target's standard library is there, adding it with rustup when that is possible.
fn has_target() -> bool {
    let installed = || {
        let library = rustc(&["--print", "target-libdir", "--target", TARGET]);
        library.is_ok_and(|path| fs::read_dir(path.trim()).is_ok_and(|mut files| files.next().is_some()))
    };
    installed() || {
        eprintln!("adding the target {TARGET} with rustup");
        let added = Command::new("rustup").current_dir(workspace()).args(["target", "add", TARGET]).status();
        added.is_ok_and(|status| status.success()) && installed()
    }
}

impl Guest {
    fn build(&self, mode: Mode, sources: String) -> Result<()> {
        let target_directory = target_directory()?.join("guests");
        let mut command = cargo(&["build", "--release", "--quiet", "--locked", "--target", TARGET]);
        command.current_dir(&self.directory).env("CARGO_TARGET_DIR", &target_directory).env("CARGO_ENCODED_RUSTFLAGS", self.flags()?);
        run(&mut command)?;
        let built = fs::read(target_directory.join(TARGET).join("release").join(format!("{}.wasm", self.name)))?;
        if built.len() > MAX_BYTES {
            bail!("{} has {} bytes, at most {MAX_BYTES} are committed", self.name, built.len());
        }
        let lock = Lock { sources, artifact: hash(&built) };
        if mode == Mode::Check {
            if Lock::read(self)?.as_ref() != Some(&lock) || fs::read(&self.artifact)? != built {
                bail!("{}: the committed artifact is not what its sources build to; run `cargo xtask skills` and commit", self.name);
            }
            eprintln!("same bytes: {}", self.name);
            return Ok(());
        }
        fs::create_dir_all(self.artifact.parent().context("an artifact has a directory")?)?;
        fs::write(&self.artifact, &built)?;
        lock.write(self)?;
        eprintln!("built {} ({} bytes)", self.name, built.len());
        Ok(())
    }

    /// Takes this machine's paths out of the artifact, so that it is the same everywhere.
    fn flags(&self) -> Result<String> {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
        let home = home.unwrap_or_default();
        let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
        // Where the library's sources are installed, the compiler would name them instead of the place it was built in.
        let library = rustc(&["--print", "sysroot"])?.trim().to_owned() + "/lib/rustlib/src/rust";
        let version = rustc(&["--version", "--verbose"])?;
        let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: ")).context("rustc names its commit")?;
        Ok([remap(&home, "/cargo"), remap(&self.directory, "/guest"), remap(library.as_ref(), &format!("/rustc/{commit}"))].join("\u{1f}"))
    }

    fn sources_hash(&self) -> Result<String> {
        let mut files = Vec::new();
        collect(&self.directory, &self.directory, &mut files)?;
        files.sort();
        let mut hasher = Sha256::new();
        for (path, content) in files {
            hasher.update(format!("{path}\0{}\0", content.len()));
            hasher.update(content);
        }
        Ok(hex(&hasher.finalize()))
    }

    fn artifact_hash(&self) -> Option<String> {
        fs::read(&self.artifact).ok().map(|bytes| hash(&bytes))
    }
}

impl Lock {
    fn read(guest: &Guest) -> Result<Option<Self>> {
        let Ok(text) = fs::read_to_string(guest.directory.join(LOCK)) else { return Ok(None) };
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim().to_owned()).with_context(|| format!("{}: no `{name}` in {LOCK}", guest.name))
        };
        Ok(Some(Self { sources: field("sources")?, artifact: field("artifact")? }))
    }

    fn write(&self, guest: &Guest) -> Result<()> {
        let text = format!("sources {}\nartifact {}\n", self.sources, self.artifact);
        Ok(fs::write(guest.directory.join(LOCK), text)?)
    }
}

/// Reads the sources of a guest: everything but build output and the artifact.
fn collect(root: &Path, directory: &Path, files: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        if path.is_dir() {
            if name != "target" {
                collect(root, &path, files)?;
            }
        } else if name != LOCK && !name.ends_with(".wasm") {
            files.push((name, fs::read(&path)?));
        }
    }
    Ok(())
}

fn rustc(arguments: &[&str]) -> Result<String> {
    output(Command::new("rustc").current_dir(workspace()).args(arguments))
}

fn target_directory() -> Result<PathBuf> {
    let metadata: serde_json::Value = serde_json::from_str(&output(&mut cargo(&["metadata", "--format-version=1", "--no-deps"]))?)?;
    Ok(metadata["target_directory"].as_str().context("cargo names a target directory")?.into())
}

fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
