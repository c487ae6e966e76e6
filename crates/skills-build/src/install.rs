//! Installs missing tools, at the author's request.

use std::path::{Path, PathBuf};

use crate::error::{BuildError, Repr};
use crate::execute::run_command;
use crate::files;
use crate::invocation::Invocation;
use crate::tool::Tool;
use crate::tool_finder::{RUST_TARGET, ToolFinder};

/// Versions that are known to work.
const ESBUILD_VERSION: &str = "esbuild@0.28.2";
const COMPONENTIZE_QJS_VERSION: &str = "componentize-qjs@0.4.5";
const ZIGLANG_VERSION: &str = "ziglang==0.17.1";
const COMPONENTIZE_PY_VERSION: &str = "componentize-py==0.25.1";

/// Installs missing tools: those of npm and PyPI into a tools directory, the Rust target with
/// rustup into the toolchain used in `source`. `progress` receives each command before it is
/// started.
///
/// # Errors
/// Fails if a tool cannot be installed this way (a compiler, node), if npm, python3 or rustup are
/// missing, or if they fail.
pub fn install(
    missing: &[Tool],
    tools: &ToolFinder,
    source: &Path,
    into: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<(), BuildError> {
    let commands = plan_installs(missing, tools, source, into)?;
    // rustup installs into its toolchain and needs no directory.
    if commands.iter().any(|command| command.current_dir == into) {
        files::make_directory(into)?;
    }
    commands
        .iter()
        .try_for_each(|command| run_command(command, progress))
}

/// Lists the commands to run.
fn plan_installs(
    missing: &[Tool],
    tools: &ToolFinder,
    source: &Path,
    into: &Path,
) -> Result<Vec<Invocation>, BuildError> {
    let mut commands = Vec::new();
    let mut npm = Vec::new();
    let mut pip = Vec::new();
    for tool in missing {
        match tool {
            Tool::RustTarget => {
                let rustup = tools
                    .find_program("rustup")
                    .ok_or_else(|| not_installable(*tool))?;
                // In the source, where `rust-toolchain.toml` can select the toolchain.
                commands.push(Invocation::new(rustup, source).args(["target", "add", RUST_TARGET]));
            }
            Tool::Esbuild => npm.push(ESBUILD_VERSION),
            Tool::ComponentizeQjs => npm.push(COMPONENTIZE_QJS_VERSION),
            Tool::Zig => pip.push(ZIGLANG_VERSION),
            Tool::ComponentizePy => pip.push(COMPONENTIZE_PY_VERSION),
            Tool::Cargo | Tool::Rustc | Tool::Node => return Err(not_installable(*tool)),
        }
    }
    if !npm.is_empty() {
        let program = find_installer(tools, missing, "npm")?;
        commands.push(npm_install(program, into, npm));
    }
    if !pip.is_empty() {
        let program = find_installer(tools, missing, "python3")?;
        commands.extend(pip_install(program, into, pip));
    }
    // The `PATH` of builds, which contains no directory of a source.
    let search_path = tools.search_path();
    Ok(commands
        .into_iter()
        .map(|command| command.env("PATH", &search_path))
        .collect())
}

/// Finds the program that installs tools. Without it, the first missing tool is reported.
fn find_installer(tools: &ToolFinder, missing: &[Tool], name: &str) -> Result<PathBuf, BuildError> {
    tools.find_program(name).ok_or_else(|| {
        let first = missing.iter().take(1);
        Repr::MissingTool {
            missing: first.copied().collect(),
        }
        .into()
    })
}

fn npm_install(npm: PathBuf, into: &Path, packages: Vec<&'static str>) -> Invocation {
    // Install scripts of packages need not run: both packages contain everything as files.
    let install = Invocation::new(npm, into).args([
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--prefix",
    ]);
    install.arg(into).args(packages)
}

/// Returns the commands that create a virtual environment and install packages into it.
fn pip_install(python3: PathBuf, into: &Path, packages: Vec<&'static str>) -> [Invocation; 2] {
    let environment = into.join("python");
    let create = Invocation::new(python3, into)
        .args(["-m", "venv"])
        .arg(&environment);
    // Virtual environments are laid out differently on Windows.
    let python = environment.join(if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python3"
    });
    let install = Invocation::new(python, into).args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    // Otherwise pip would run the build code of packages.
    let install = install.args(["--only-binary", ":all:"]).args(packages);
    [create, install]
}

fn not_installable(tool: Tool) -> BuildError {
    Repr::MissingTool {
        missing: vec![tool],
    }
    .into()
}
