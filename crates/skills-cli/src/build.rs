//! `skills build PATH`.
#![expect(
    clippy::disallowed_methods,
    reason = "this crate is where the environment is read"
)]

use std::env;
use std::path::PathBuf;

use anyhow::anyhow;
use serde_json::json;
use skills_build::{Artifact, BuildErrorKind, Mode, Request, Tools, Verdict};

use crate::arguments::Build;
use crate::exit::Exit;
use crate::output::Output;
use crate::{input, state};

/// Builds or checks a skill, and says what came out.
pub(crate) fn build(arguments: &Build, output: &Output) -> anyhow::Result<Exit> {
    input::directory(&arguments.path)?;
    let cache = state::cache().ok_or_else(|| {
        anyhow!("there is no home directory to keep what compilers need; set XDG_CACHE_HOME")
    })?;
    let tools = arguments
        .tools
        .clone()
        .unwrap_or_else(|| cache.join("tools"));
    let tools = std::path::absolute(tools)?;
    let request = request(
        arguments,
        Tools::new(search_path()).directory(&tools),
        cache.join("build"),
    )?;
    let mode = match (arguments.check, arguments.force) {
        (true, _) => Mode::Check,
        (_, true) => Mode::Always,
        _ => Mode::Stale,
    };
    let mut progress = |line: &str| output.note(line);
    let built = match skills_build::build(&request, mode, &mut progress) {
        Err(missing) if arguments.install && missing.kind() == BuildErrorKind::MissingTool => {
            let source = request.source()?;
            if let Err(failed) = skills_build::install(
                missing.missing(),
                request.tools(),
                &source.directory,
                &tools,
                &mut progress,
            ) {
                // That the tool is missing is still what went wrong.
                output.notes(&format!("cannot install: {failed}"));
                return Err(missing.into());
            }
            skills_build::build(&request, mode, &mut progress)?
        }
        other => other?,
    };
    tell(&built, output)?;
    Ok(Exit::Done)
}

fn request(arguments: &Build, tools: Tools, work: PathBuf) -> anyhow::Result<Request> {
    let mut request = Request::new(&arguments.path, tools, work);
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

/// The author's own search path, as their shell has it: these are their tools, and no skill of
/// anybody else is looked at.
fn search_path() -> Vec<PathBuf> {
    env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect()
}

fn tell(built: &Artifact, output: &Output) -> anyhow::Result<()> {
    let Artifact {
        verdict,
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
            "verdict": verdict.as_str(), "language": language.as_str(), "path": path.to_string_lossy(),
            "bytes": bytes, "sha256": sha256, "tools": tools,
        });
        return output.document(&document);
    }
    let tools: Vec<_> = tools
        .iter()
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    let said = match verdict {
        Verdict::Fresh => "nothing changed",
        Verdict::SameBytes => "same bytes",
        Verdict::SameSource => "same source",
        _ => "built",
    };
    output.text(&format!(
        "{}\n{said}, {bytes} bytes, sha256 {sha256}\n{language}: {}\n",
        path.display(),
        tools.join(", ")
    ))
}
