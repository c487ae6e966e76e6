//! Builds and checks artifacts.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use serde_json::json;
use skills_build::{
    Artifact, BuildError, BuildErrorKind, BuildMode, BuildRequest, BuildStatus, ToolFinder,
};

use super::Build;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::input;
use crate::output::Output;
use crate::process_environment::Environment;
use crate::shell::shell_word;

impl Build {
    /// Builds or checks a skill and prints the result.
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        // Before any tool is searched or installed.
        if matches!(self.path.try_exists(), Ok(false)) {
            let message = format!("`{}` not found", self.path.display());
            return Err(CommandError::not_found(message).into());
        }
        input::resolve_directory(&self.path)?;
        let cache = context.environment.cache_dir().ok_or_else(|| {
            anyhow!("cannot create the build cache: no home directory; set `XDG_CACHE_HOME`")
        })?;
        let tools = self.tools.clone().unwrap_or_else(|| cache.join("tools"));
        let tools = std::path::absolute(tools)?;
        // The `PATH` of the author is used unchanged: these are the author's own tools, and only
        // the author's own skill is built.
        let finder = ToolFinder::new(context.environment.search_path()).directory(&tools);
        let request = self.request(finder, cache.join("build"), &context.environment)?;
        let built = self.build(&request, &tools, context.output);
        let built = built.map_err(|error| command_error(error, &self.path))?;
        print_result(&built, context.output)?;
        Ok(Exit::Success)
    }

    fn build(
        &self,
        request: &BuildRequest,
        tools: &Path,
        output: Output,
    ) -> Result<Artifact, BuildError> {
        // A check never writes, so it is stronger than `--force`.
        let mode = match (self.check, self.force) {
            (true, _) => BuildMode::Check,
            (_, true) => BuildMode::Force,
            _ => BuildMode::IfStale,
        };
        let mut progress = |line: &str| output.status(line);
        let missing = match skills_build::build(request, mode, &mut progress) {
            // Only on request: packages run code of others while they are installed.
            Err(error) if self.install && error.kind() == BuildErrorKind::MissingTool => error,
            built => return built,
        };
        let source = request.source()?;
        let installed = skills_build::install(
            missing.missing(),
            request.tools(),
            &source.directory,
            tools,
            &mut progress,
        );
        if let Err(failed) = installed {
            // The missing tool remains the error that is reported.
            output.status_lines(&format!(
                "warning: cannot install the missing tools: {failed}"
            ));
            return Err(missing);
        }
        skills_build::build(request, mode, &mut progress)
    }

    fn request(
        &self,
        tools: ToolFinder,
        work: PathBuf,
        environment: &Environment,
    ) -> anyhow::Result<BuildRequest> {
        let mut request = BuildRequest::new(&self.path, tools, work);
        if let Some(language) = &self.lang {
            request = request.language(language.parse()?);
        }
        if let Some(path) = &self.output {
            request = request.output(path);
        }
        let below_home = || Some(environment.home()?.join(".cargo"));
        let cargo_home = environment.variable("CARGO_HOME").map(PathBuf::from);
        if let Some(home) = cargo_home.or_else(below_home) {
            request = request.cargo_home(home);
        }
        let target = environment.variable("CARGO_TARGET_DIR");
        if let Some(target) = target.filter(|target| !target.is_empty()) {
            request = request.cargo_target(std::path::absolute(target)?);
        }
        Ok(request)
    }
}

fn print_result(built: &Artifact, output: Output) -> anyhow::Result<()> {
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
        let tools = tools.iter();
        let tools: Vec<_> = tools
            .map(|(name, version)| json!({"name": name, "version": version}))
            .collect();
        return output.print_json(&json!({
            "status": status.as_str(), "language": language.as_str(), "path": path.to_string_lossy(),
            "bytes": bytes, "sha256": sha256, "tools": tools,
        }));
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

fn command_error(error: BuildError, path: &Path) -> CommandError {
    let exit = match error.kind() {
        BuildErrorKind::NoSource | BuildErrorKind::AmbiguousLanguage => Exit::Usage,
        _ => Exit::Failed,
    };
    let (code, hint) = (error.kind().code(), build_hint(&error));
    let is_compiler_output = error.kind() == BuildErrorKind::CompileFailed;
    let message = format!("{:#}", anyhow::Error::from(error));
    let mut error = CommandError::new(code, exit, message);
    if is_compiler_output {
        error = error.with_lines();
    }
    let hint = hint.map(|hint| with_path(hint, path));
    hint.into_iter().fold(error, CommandError::with_help)
}

/// Adds the path of the skill to the build commands of a hint.
fn with_path(hint: &str, path: &Path) -> String {
    let path = shell_word(&path.to_string_lossy());
    let path = path.as_deref().unwrap_or("PATH");
    hint.replace("`skills build", &format!("`skills build {path}"))
}

/// Returns a hint for the author of a skill whose build failed.
fn build_hint(error: &BuildError) -> Option<&'static str> {
    match error.kind() {
        BuildErrorKind::MissingTool => {
            let missing = error.missing();
            let installable = missing.iter().filter(|tool| tool.is_installable()).count();
            match missing.len() - installable {
                0 => Some(
                    "install them with `skills build --install` (npm, pip, rustup), in a separate directory",
                ),
                _ if installable > 0 => Some(
                    "install the other tools first, then the rest with `skills build --install` (npm, pip, rustup)",
                ),
                _ => None,
            }
        }
        BuildErrorKind::NoSource => Some(
            "create a skill with source with `skills new NAME --lang rust` (or js, ts, c, python)",
        ),
        BuildErrorKind::Stale => Some(
            "build it with `skills build` without `--check`; commit the artifact and its lock together",
        ),
        BuildErrorKind::NotReproduced => Some(
            "use the tool versions of the lock, or rebuild with `skills build --force` and commit artifact and lock",
        ),
        BuildErrorKind::Io => io_hint(std::error::Error::source(error)?.downcast_ref()?),
        _ => None,
    }
}

fn io_hint(error: &std::io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        ErrorKind::NotFound => "check the path",
        ErrorKind::PermissionDenied => {
            "check the permissions of the file and of its parent directories with `ls -ld`"
        }
        ErrorKind::ReadOnlyFilesystem => {
            "write elsewhere: `--output` for the artifact, `XDG_CACHE_HOME` for the build cache"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free disk space, or set `XDG_CACHE_HOME` to another file system"
        }
        _ => return None,
    })
}
