//! Installs missing tools, at the author's request.

use std::path::Path;

use crate::error::{BuildError, Repr};
use crate::execute::run_command;
use crate::files;
use crate::invocation::Invocation;
use crate::tool::{MissingTool, Tool};
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
    missing: &[MissingTool],
    tools: &ToolFinder,
    source: &Path,
    into: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<(), BuildError> {
    let commands = plan_installs(missing, tools, source, into)?;
    if commands.iter().any(|command| command.current_dir == into) {
        files::make_directory(into)?;
    }
    commands
        .iter()
        .try_for_each(|command| run_command(command, progress))
}

/// Lists the commands to run.
fn plan_installs(
    missing: &[MissingTool],
    tools: &ToolFinder,
    source: &Path,
    into: &Path,
) -> Result<Vec<Invocation>, BuildError> {
    let mut commands = Vec::new();
    let mut npm = Vec::new();
    let mut pip = Vec::new();
    for MissingTool(tool) in missing {
        match tool {
            Tool::RustTarget => {
                let rustup = tools
                    .find_program("rustup")
                    .ok_or_else(|| not_installable(*tool))?;
                commands.push(Invocation::new(rustup, source).args(["target", "add", RUST_TARGET]));
            }
            Tool::Esbuild => npm.push(ESBUILD_VERSION),
            Tool::ComponentizeQjs => npm.push(COMPONENTIZE_QJS_VERSION),
            Tool::Zig => pip.push(ZIGLANG_VERSION),
            Tool::ComponentizePy => pip.push(COMPONENTIZE_PY_VERSION),
            Tool::Cargo | Tool::Rustc | Tool::Node => return Err(not_installable(*tool)),
        }
    }
    if let Some(MissingTool(first)) = missing.first().filter(|_| !npm.is_empty()) {
        let program = tools
            .find_program("npm")
            .ok_or_else(|| not_installable(*first))?;
        // Install scripts of packages need not run: both packages contain everything as files.
        let install = Invocation::new(program, into).args([
            "install",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--prefix",
        ]);
        commands.push(install.arg(into).args(npm));
    }
    if let Some(MissingTool(first)) = missing.first().filter(|_| !pip.is_empty()) {
        let program = tools
            .find_program("python3")
            .ok_or_else(|| not_installable(*first))?;
        let python = into.join("python");
        commands.push(
            Invocation::new(program, into)
                .args(["-m", "venv"])
                .arg(&python),
        );
        let own = python.join(if cfg!(windows) {
            "Scripts/python.exe"
        } else {
            "bin/python3"
        });
        let install = Invocation::new(own, into).args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]);
        // Otherwise pip would run the build code of packages.
        commands.push(install.args(["--only-binary", ":all:"]).args(pip));
    }
    let search_path = tools.search_path();
    Ok(commands
        .into_iter()
        .map(|command| command.env("PATH", &search_path))
        .collect())
}

fn not_installable(tool: Tool) -> BuildError {
    Repr::MissingTool {
        missing: vec![MissingTool(tool)],
    }
    .into()
}
