//! `skills build PATH`: compiles a skill's source to WebAssembly.
#![expect(
    clippy::disallowed_methods,
    reason = "this crate is where the environment is read"
)]

use std::env;
use std::path::PathBuf;

use anyhow::anyhow;
use serde_json::json;
use skills_build::{Artifact, BuildErrorKind, BuildMode, BuildRequest, BuildStatus, ToolFinder};

use crate::arguments::Build;
use crate::exit::Exit;
use crate::output::Output;
use crate::{directories, input};

/// Builds or checks a skill and prints the result.
pub(crate) fn build(arguments: &Build, output: &Output) -> anyhow::Result<Exit> {
    // Before any tool is searched or installed.
    input::resolve_directory(&arguments.path)?;
    let cache = directories::cache_dir().ok_or_else(|| {
        anyhow!("cannot create the build cache: no home directory; set `XDG_CACHE_HOME`")
    })?;
    let tools = arguments
        .tools
        .clone()
        .unwrap_or_else(|| cache.join("tools"));
    let tools = std::path::absolute(tools)?;
    let request = build_request(
        arguments,
        ToolFinder::new(author_search_path()).directory(&tools),
        cache.join("build"),
    )?;
    // A check never writes, so it is stronger than `--force`.
    let mode = match (arguments.check, arguments.force) {
        (true, _) => BuildMode::Check,
        (_, true) => BuildMode::Force,
        _ => BuildMode::IfStale,
    };
    let mut progress = |line: &str| output.status(line);
    let built = match skills_build::build(&request, mode, &mut progress) {
        // Only on request: packages run code of others while they are installed.
        Err(missing) if arguments.install && missing.kind() == BuildErrorKind::MissingTool => {
            let source = request.source()?;
            if let Err(failed) = skills_build::install(
                missing.missing(),
                request.tools(),
                &source.directory,
                &tools,
                &mut progress,
            ) {
                // The missing tool remains the error that is reported.
                output.status_lines(&format!(
                    "warning: cannot install the missing tools: {failed}"
                ));
                return Err(missing.into());
            }
            skills_build::build(&request, mode, &mut progress)?
        }
        other => other?,
    };
    print_result(&built, output)?;
    Ok(Exit::Success)
}

fn build_request(
    arguments: &Build,
    tools: ToolFinder,
    work: PathBuf,
) -> anyhow::Result<BuildRequest> {
    let mut request = BuildRequest::new(&arguments.path, tools, work);
    if let Some(language) = arguments.lang {
        request = request.language(language);
    }
    if let Some(path) = &arguments.output {
        request = request.output(path);
    }
    if let Some(home) = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(env::home_dir()?.join(".cargo")))
    {
        request = request.cargo_home(home);
    }
    if let Some(target) = env::var_os("CARGO_TARGET_DIR").filter(|target| !target.is_empty()) {
        request = request.cargo_target(std::path::absolute(target)?);
    }
    Ok(request)
}

/// Returns the author's `PATH` unchanged: these are the author's own tools, and only the author's
/// own skill is built.
fn author_search_path() -> Vec<PathBuf> {
    env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect()
}

fn print_result(built: &Artifact, output: &Output) -> anyhow::Result<()> {
    let Artifact {
        status,
        language,
        path,
        bytes,
        sha256,
        tools,
        ..
    } = built;
    if output.is_json() {
        let tools: Vec<_> = tools
            .iter()
            .map(|(name, version)| json!({"name": name, "version": version}))
            .collect();
        let document = json!({
            "status": status.as_str(), "language": language.as_str(), "path": path.to_string_lossy(),
            "bytes": bytes, "sha256": sha256, "tools": tools,
        });
        return output.print_json(&document);
    }
    let tools: Vec<_> = tools
        .iter()
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    let summary = match status {
        BuildStatus::Fresh => "nothing changed",
        BuildStatus::Reproduced => "same bytes",
        BuildStatus::SourceUnchanged => "same source",
        _ => "built",
    };
    output.text(&format!(
        "{}\n{summary}, {bytes} bytes, sha256 {sha256}\n{language}: {}\n",
        path.display(),
        tools.join(", ")
    ))
}
