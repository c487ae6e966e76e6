//! Gets tools that are missing, when an author asks for it.

use std::path::Path;

use crate::error::{BuildError, Problem};
use crate::files;
use crate::invocation::Invocation;
use crate::perform::start;
use crate::tool::{Missing, Tool};
use crate::tools::{TARGET, Tools};

/// The versions that are known to work.
const ESBUILD: &str = "esbuild@0.28.2";
const COMPONENTIZE_QJS: &str = "componentize-qjs@0.4.5";
const ZIGLANG: &str = "ziglang==0.17.1";
const COMPONENTIZE_PY: &str = "componentize-py==0.25.1";

/// Gets missing tools: those of npm and PyPI into a directory of tools, Rust's target with rustup
/// into the toolchain that is used in `source`. `progress` gets each command before it is started.
///
/// # Errors
/// When one of them cannot be had this way (a compiler, node), when npm, python3 or rustup are
/// missing, or when they fail.
pub fn install(
    missing: &[Missing],
    tools: &Tools,
    source: &Path,
    into: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<(), BuildError> {
    let commands = plan(missing, tools, source, into)?;
    if commands.iter().any(|command| command.directory == into) {
        files::make_directory(into)?;
    }
    commands
        .iter()
        .try_for_each(|command| start(command, progress))
}

/// Lists what is to be started.
fn plan(
    missing: &[Missing],
    tools: &Tools,
    source: &Path,
    into: &Path,
) -> Result<Vec<Invocation>, BuildError> {
    let mut commands = Vec::new();
    let mut npm = Vec::new();
    let mut pip = Vec::new();
    for Missing(tool) in missing {
        match tool {
            Tool::RustTarget => {
                let rustup = tools.program("rustup").ok_or_else(|| cannot(*tool))?;
                commands.push(Invocation::new(rustup, source).arguments(["target", "add", TARGET]));
            }
            Tool::Esbuild => npm.push(ESBUILD),
            Tool::ComponentizeQjs => npm.push(COMPONENTIZE_QJS),
            Tool::Zig => pip.push(ZIGLANG),
            Tool::ComponentizePy => pip.push(COMPONENTIZE_PY),
            Tool::Cargo | Tool::Rustc | Tool::Node => return Err(cannot(*tool)),
        }
    }
    if let Some(Missing(first)) = missing.first().filter(|_| !npm.is_empty()) {
        let program = tools.program("npm").ok_or_else(|| cannot(*first))?;
        // Scripts of packages need not run: both packages bring what they need as files.
        let install = Invocation::new(program, into).arguments([
            "install",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--prefix",
        ]);
        commands.push(install.argument(into).arguments(npm));
    }
    if let Some(Missing(first)) = missing.first().filter(|_| !pip.is_empty()) {
        let program = tools.program("python3").ok_or_else(|| cannot(*first))?;
        let python = into.join("python");
        commands.push(
            Invocation::new(program, into)
                .arguments(["-m", "venv"])
                .argument(&python),
        );
        let own = python.join(if cfg!(windows) {
            "Scripts/python.exe"
        } else {
            "bin/python3"
        });
        let install = Invocation::new(own, into).arguments([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]);
        // Without that it would run what a package says about building it.
        commands.push(install.arguments(["--only-binary", ":all:"]).arguments(pip));
    }
    let search_path = tools.search_path();
    Ok(commands
        .into_iter()
        .map(|command| command.variable("PATH", &search_path))
        .collect())
}

fn cannot(tool: Tool) -> BuildError {
    Problem::MissingTool {
        missing: vec![Missing(tool)],
    }
    .into()
}
