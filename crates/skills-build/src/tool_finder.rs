//! Finds the tools of a language.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::{BuildError, Repr};
use crate::execute::output;
use crate::files;
use crate::invocation::Invocation;
use crate::source::{Source, SourceAccess};
use crate::tool::Tool;
use crate::toolchain::{InstalledTool, RustToolchain, Toolchain};

/// The target that Rust skills are built for.
pub(crate) const RUST_TARGET: &str = "wasm32-wasip2";
/// The subdirectories of a tools directory that contain programs: npm and Python virtual
/// environments, on Windows too.
const PROGRAM_SUBDIRECTORIES: [&str; 7] = [
    "",
    "bin",
    "Scripts",
    "node_modules/.bin",
    "python/bin",
    "python/Scripts",
    ".venv/bin",
];
/// The directories with an author's own tools, next to the source.
const LOCAL_TOOL_DIRECTORIES: [&str; 3] = ["node_modules/.bin", ".venv/bin", ".venv/Scripts"];

/// Finds tools: first JavaScript and Python packages next to the source, if allowed, then in tools
/// directories, then in the search path, in this order.
///
/// ```
/// use skills_build::ToolFinder;
///
/// // Relative directories are ignored: they would depend on the working directory.
/// let finder = ToolFinder::new(["/usr/bin".into(), "bin".into()]).directory("/opt/skills-tools");
/// assert!(!format!("{finder:?}").contains("\"bin\""));
/// ```
#[derive(Debug, Clone, Default)]
pub struct ToolFinder {
    directories: Vec<PathBuf>,
    search_path: Vec<PathBuf>,
}

impl ToolFinder {
    /// Creates a finder for the directories of a search path; relative ones are ignored.
    #[must_use]
    pub fn new(search_path: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            directories: Vec::new(),
            search_path: search_path
                .into_iter()
                .filter(|path| path.is_absolute())
                .collect(),
        }
    }

    /// Adds a tools directory, which is searched before the search path: itself, its `bin`, its
    /// `node_modules/.bin` and its `python/bin`.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directories.push(directory.into());
        self
    }

    /// Finds all tools that a source needs. `progress` receives a line for each program whose
    /// version is queried.
    ///
    /// # Errors
    /// Fails if tools are missing, and names all of them.
    pub fn find(
        &self,
        source: &Source,
        access: SourceAccess,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Toolchain, BuildError> {
        let directories = self.search_directories();
        let mut toolchain = Toolchain {
            search_path: self.search_path(),
            ..Toolchain::default()
        };
        let mut probe = VersionProbe {
            directory: &source.directory,
            search_path: self.search_path(),
            progress,
        };
        let mut missing = Vec::new();
        // All are searched, so that an author sees everything that is missing.
        for tool in Tool::for_language(source.language) {
            let own = LOCAL_TOOL_DIRECTORIES
                .iter()
                .map(|directory| source.directory.join(directory));
            // A compiler next to a source is never used: a source must not choose what builds it.
            let own = own.filter(|_| access == SourceAccess::Full && tool.is_project_local());
            match find_installed(
                *tool,
                &own.chain(directories.iter().cloned()).collect::<Vec<_>>(),
                &mut probe,
            ) {
                Some(installed) => drop(toolchain.tools.insert(*tool, installed)),
                None => missing.push(*tool),
            }
        }
        // Without the compiler its targets are unknown.
        if missing.contains(&Tool::Rustc) {
            missing.retain(|tool| *tool != Tool::RustTarget);
        }
        if !missing.is_empty() {
            return Err(Repr::MissingTool { missing }.into());
        }
        if let (Some(rustc), Some(cargo)) = (
            toolchain.tools.get(&Tool::Rustc),
            toolchain.tools.get(&Tool::Cargo),
        ) {
            toolchain.rust = Some(RustToolchain::detect(rustc, cargo, &mut probe));
        }
        Ok(toolchain)
    }

    /// Finds a program by name, never one next to a source.
    pub(crate) fn find_program(&self, name: &str) -> Option<PathBuf> {
        find_first(&self.search_directories(), name)
    }

    /// Returns the `PATH` of started programs. It contains no directory of a source, so a source
    /// cannot choose what tools start by name.
    pub(crate) fn search_path(&self) -> OsString {
        let mut directories = self.search_directories();
        // A directory whose name contains the separator cannot be part of it.
        directories.retain(|directory| std::env::join_paths([directory]).is_ok());
        std::env::join_paths(directories).unwrap_or_default()
    }

    fn search_directories(&self) -> Vec<PathBuf> {
        let directories = self.directories.iter().flat_map(|directory| {
            PROGRAM_SUBDIRECTORIES
                .iter()
                .map(move |subdirectory| directory.join(subdirectory))
        });
        directories
            .filter(|directory| directory.is_dir())
            .chain(self.search_path.iter().cloned())
            .collect()
    }
}

fn find_installed(
    tool: Tool,
    places: &[PathBuf],
    probe: &mut VersionProbe<'_>,
) -> Option<InstalledTool> {
    let program = tool
        .programs()
        .iter()
        .find_map(|name| find_first(places, name))?;
    let version = match tool {
        Tool::RustTarget => {
            let library = probe.output(
                &program,
                &["--print", "target-libdir", "--target", RUST_TARGET],
            )?;
            // The path is printed for every target, but contains files only if it is installed.
            return (!files::file_names(Path::new(library.trim()))
                .ok()?
                .is_empty())
            .then_some(InstalledTool {
                program,
                version: RUST_TARGET.to_owned(),
            });
        }
        // It has no version option, but npm records the version.
        Tool::ComponentizeQjs => npm_version(&program),
        Tool::Zig => probe.output(&program, &["version"]),
        _ => probe.output(&program, &["--version"]),
    };
    let line = version
        .as_deref()
        .and_then(|version| version.lines().next())
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let line = line.unwrap_or("unknown");
    // Some tools print their name before the version.
    let bare = line.strip_prefix(tool.as_str()).unwrap_or(line).trim();
    Some(InstalledTool {
        program,
        version: bare.to_owned(),
    })
}

impl RustToolchain {
    fn detect(rustc: &InstalledTool, cargo: &InstalledTool, probe: &mut VersionProbe<'_>) -> Self {
        // The standard library is compiled with paths that contain this commit.
        let version = probe
            .output(&rustc.program, &["--version", "--verbose"])
            .unwrap_or_default();
        let commit = version
            .lines()
            .find_map(|line| line.strip_prefix("commit-hash: "))
            .unwrap_or("unknown")
            .to_owned();
        let sysroot = probe
            .output(&rustc.program, &["--print", "sysroot"])
            .unwrap_or_default();
        let manifest = probe.output(
            &cargo.program,
            &["locate-project", "--workspace", "--message-format", "plain"],
        );
        let workspace =
            manifest.and_then(|manifest| Some(Path::new(manifest.trim()).parent()?.to_owned()));
        Self {
            sysroot: PathBuf::from(sysroot.trim()),
            commit,
            workspace,
        }
    }
}

fn find_first(places: &[PathBuf], name: &str) -> Option<PathBuf> {
    // npm installs programs as `.cmd` files on Windows.
    let suffixes: &[&str] = if cfg!(windows) {
        &[".exe", ".cmd", ""]
    } else {
        &[""]
    };
    let named = places.iter().flat_map(|directory| {
        suffixes
            .iter()
            .map(move |suffix| directory.join(format!("{name}{suffix}")))
    });
    named.into_iter().find(|path| is_program(path))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// Queries programs, and reports it.
struct VersionProbe<'a> {
    directory: &'a Path,
    search_path: OsString,
    progress: &'a mut dyn FnMut(&str),
}

impl VersionProbe<'_> {
    /// Returns the output of a program if it succeeds.
    fn output(&mut self, program: &Path, arguments: &[&str]) -> Option<String> {
        // The toolchain can depend on the directory, so it is queried where it builds.
        let query = Invocation::new(program, self.directory).args(arguments);
        let output = output(&query.env("PATH", &self.search_path), self.progress).ok()?;
        let output = Some(output).filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok()
    }
}

/// Reads the version in the `package.json` of a program that npm links to.
fn npm_version(program: &Path) -> Option<String> {
    let real = program.canonicalize().ok()?;
    let package = real
        .ancestors()
        // A program is at most two directories below its package.
        .skip(1)
        .take(3)
        .map(|directory| directory.join("package.json"))
        .find(|path| path.is_file())?;
    let parsed: serde_json::Value = serde_json::from_slice(&files::read(&package).ok()?).ok()?;
    parsed["version"].as_str().map(str::to_owned)
}
