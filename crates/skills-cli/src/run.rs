//! `skills run NAME`: runs a skill's script or WebAssembly module in a sandbox.

use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};
use skills_runtime::policy::{DecisionReason, Denial, Permission, PermissionDecision, RuleSource};
use skills_runtime::{
    Builder, CapturedOutput, ErrorKind, ExecutionArtifacts, ExecutionMode, ExecutionStatus,
    InputFile, RuntimeError, SkillRuntime, Termination, WasmProfile, Workspace,
};

use skills_tools::protected_name;

use crate::approver::{ApproverKind, approver};
use crate::arguments::Run;
use crate::error_report::NotBuilt;
use crate::exit::Exit;
use crate::input::{self, InputError};
use crate::output::Output;
use crate::policy;
use crate::run_setup;
use crate::signals;

pub(crate) fn run(
    builder: Builder,
    arguments: &Run,
    trust_project: bool,
    output: &Output,
) -> anyhow::Result<Exit> {
    let builder = run_setup::configure_runtime(builder, &arguments.what, trust_project, output)?;
    let profile = arguments
        .deterministic
        .map(|seed| WasmProfile::Deterministic { seed });
    let runtime = profile
        .into_iter()
        .fold(builder, Builder::wasm_profile)
        .build();
    let mut options = run_setup::execution_options(&arguments.what)?;
    options.args.clone_from(&arguments.args);
    if !arguments.file.is_empty() || arguments.output.is_some() {
        options.workspace = Workspace::Private(read_input_files(&arguments.file)?);
    }
    let name = input::resolve_skill_name(&arguments.name);
    if arguments.dry_run || profile.is_some() {
        let preview = runtime
            .preview_skill(&name, &options)
            .map_err(|error| hint_not_built(&runtime, &name, error))?;
        check_deterministic(profile, &preview.mode)?;
        if arguments.dry_run {
            return policy::print_preview(&preview, output);
        }
    }
    // Creates the output directory first, so that a failure shows before the run.
    let output_dir = arguments
        .output
        .as_deref()
        .map(create_output_dir)
        .transpose()?;
    options.approver = approver(match arguments {
        Run { yes: true, .. } => ApproverKind::AllowAll,
        Run { deny: true, .. } => ApproverKind::DenyAll,
        _ if arguments.what.input.as_deref() == Some("-") => ApproverKind::None,
        _ => ApproverKind::Terminal,
    });
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let artifacts = executor.block_on(async {
        // Resets an inherited SIGCHLD ignore, so children can be reaped.
        #[cfg(unix)]
        let _children = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::child());
        tokio::select! {
            artifacts = runtime.execute_skill(&name, options) => artifacts.map(Some),
            // Dropping the run kills its processes and removes its temporary files.
            () = signals::wait_for_interrupt() => Ok(None),
        }
    });
    // Work on blocking threads, such as a compilation, is not awaited.
    executor.shutdown_background();
    // Output is printed even if the audit record could not be written.
    if let Some(unrecorded) = artifacts
        .as_ref()
        .err()
        .and_then(RuntimeError::artifacts)
        .filter(|_| !output.is_json())
    {
        print_result(unrecorded, arguments, output)?;
    }
    let artifacts = artifacts.map_err(|error| hint_not_built(&runtime, &name, error))?;
    let Some(artifacts) = artifacts else {
        return Ok(Exit::Interrupted);
    };
    let not_saved = output_dir
        .map(|directory| write_output_files(&artifacts, &directory))
        .unwrap_or_default();
    if output.is_json() {
        output.print_json(&to_json(&artifacts, &not_saved))?;
    } else {
        print_result(&artifacts, arguments, output)?;
    }
    not_saved
        .iter()
        .for_each(|error| output.status(&format!("error: {error}")));
    Ok(match Exit::from_status(&artifacts.exit_status) {
        Exit::Success if !not_saved.is_empty() => Exit::Failed,
        exit => exit,
    })
}

/// Rejects `--deterministic` for scripts.
fn check_deterministic(profile: Option<WasmProfile>, mode: &ExecutionMode) -> anyhow::Result<()> {
    if profile.is_some() && matches!(mode, ExecutionMode::Native { .. }) {
        return Err(InputError::new(
            "cannot run a script with `--deterministic`: only WebAssembly is deterministic",
        )
        .into());
    }
    Ok(())
}

/// Adds a hint to build the skill if it has source, but nothing to run.
fn hint_not_built(runtime: &SkillRuntime, name: &str, error: RuntimeError) -> anyhow::Error {
    let has_nothing = error.kind() == ErrorKind::NothingToRun;
    let skill = has_nothing.then(|| runtime.get_skill(name).ok()).flatten();
    match skill.filter(|skill| {
        skill
            .resources
            .resources
            .iter()
            .any(|file| file.path.starts_with("guest/"))
    }) {
        Some(skill) => NotBuilt {
            error,
            directory: skill.directory,
        }
        .into(),
        None => error.into(),
    }
}

/// Reads the input files of a private workspace. Their file names must be unique.
fn read_input_files(paths: &[std::path::PathBuf]) -> anyhow::Result<Vec<InputFile>> {
    let read = |path: &std::path::PathBuf| {
        let invalid = || {
            InputError::new(format!(
                "invalid file name `{}`: not valid UTF-8",
                path.display()
            ))
        };
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .ok_or_else(invalid)?;
        Ok(InputFile {
            name: name.to_owned(),
            content: input::read_bytes(path, input::MAX_BYTES)?,
        })
    };
    let files: Vec<InputFile> = paths.iter().map(read).collect::<anyhow::Result<_>>()?;
    let mut names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(
            InputError::new(format!("duplicate file name `{}` in `--file`", pair[0])).into(),
        );
    }
    Ok(files)
}

/// Creates the output directory unless it exists.
fn create_output_dir(path: &Path) -> anyhow::Result<PathBuf> {
    if let Err(error) = std::fs::create_dir(path)
        && error.kind() != std::io::ErrorKind::AlreadyExists
    {
        return Err(InputError::new(format!("cannot create `{}`: {error}", path.display())).into());
    }
    input::resolve_directory(path)
}

/// Writes the output files and returns an error message for each that could not be written.
/// Existing files are not replaced.
fn write_output_files(artifacts: &ExecutionArtifacts, directory: &Path) -> Vec<String> {
    let contents = artifacts
        .output_files
        .files
        .iter()
        .filter_map(|file| Some((file, file.content.as_deref()?)));
    let failed = contents.filter_map(|(file, content)| {
        let error = write_output_file(directory, &file.path, content).err()?;
        Some(format!("cannot save `{}`: {error}", file.path))
    });
    failed.collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the directory is given on the command line"
)]
fn write_output_file(directory: &Path, name: &str, content: &[u8]) -> std::io::Result<()> {
    // The name comes from the program, so it is not trusted.
    let is_below = Path::new(name)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if !is_below || name.is_empty() {
        return Err(std::io::Error::other(
            "the path leaves the output directory",
        ));
    }
    if let Some(protected) = protected_name(&directory.join(name), directory) {
        let reason = format!(
            "`{protected}` is a protected name: other programs execute or trust such files"
        );
        return Err(std::io::Error::other(reason));
    }
    let path = directory.join(name);
    let parents: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .take_while(|parent| *parent != directory)
        .collect();
    for parent in parents.into_iter().rev() {
        match std::fs::create_dir(parent) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
            _ if parent.symlink_metadata()?.is_dir() => {}
            _ => {
                return Err(std::io::Error::other(
                    "a parent directory is a symlink or a file",
                ));
            }
        }
    }
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)?;
    let written = std::io::Write::write_all(&mut file, content);
    if written.is_err() {
        // A partial file, as on a full disk, would look complete. If it cannot be removed either,
        // the write error is still reported.
        let _ = std::fs::remove_file(&path);
    }
    written
}

fn print_result(
    artifacts: &ExecutionArtifacts,
    arguments: &Run,
    output: &Output,
) -> anyhow::Result<()> {
    let name = &artifacts.skill;
    output.bytes(artifacts.stdout.head())?;
    if artifacts.stdout.is_truncated() {
        output.bytes(artifacts.stdout.truncation_marker().as_bytes())?;
        output.bytes(&artifacts.stdout.tail())?;
    }
    let stderr = artifacts.stderr.text();
    if !stderr.is_empty() {
        output.status_lines(stderr.trim_end_matches('\n'));
    }
    for (stream, captured) in [
        ("standard output", &artifacts.stdout),
        ("standard error", &artifacts.stderr),
    ] {
        if captured.is_truncated() {
            let shown = captured.total_bytes() - captured.dropped_bytes();
            output.status(&format!(
                "{stream} truncated: {shown} of {} bytes shown, the first and the last",
                captured.total_bytes()
            ));
        }
    }
    match &artifacts.exit_status {
        ExecutionStatus::Success => {}
        ExecutionStatus::Failed { termination } => {
            output.status(&format!("error: `{name}` failed: {termination}"));
            if matches!(termination, Termination::DiskLimit(_)) {
                output.status("help: `--scratch` raises the quota, as far as `scratch-mib` in the policy allows");
            }
        }
        ExecutionStatus::Timeout { limit_ms } => {
            let lowered = arguments
                .what
                .timeout
                .filter(|requested| requested > limit_ms)
                .map_or("", |_| ", the limit of the policy");
            output.status(&format!(
                "error: `{name}` timed out after {limit_ms} ms{lowered}"
            ));
        }
        ExecutionStatus::PermissionDenied { denial } => {
            output.status(&format!("error: cannot run `{name}`: {denial}"));
            denial_hints(denial, name)
                .iter()
                .for_each(|hint| output.status(&format!("help: {hint}")));
        }
        other => output.status(&format!("error: `{name}` failed: {other:?}")),
    }
    for file in &artifacts.output_files.files {
        output.status(&format!(
            "{} {} ({} bytes)",
            if file.is_created {
                "created"
            } else {
                "changed"
            },
            file.path,
            file.bytes
        ));
    }
    artifacts
        .output_files
        .omitted
        .iter()
        .for_each(|omitted| output.status(&format!("omitted: {omitted}")));
    artifacts
        .notes
        .iter()
        .for_each(|note| output.status(&format!("note: {note}")));
    if arguments.explain {
        artifacts
            .decisions
            .iter()
            .for_each(|decision| output.status(&decision.to_string()));
    }
    if arguments.verbose || arguments.explain {
        print_explanation(artifacts, output);
    }
    Ok(())
}

/// Returns hints for permissions that were denied for lack of a rule or an approval. Users copy
/// hints into a shell, so text of a skill is included only if it is a single shell word.
fn denial_hints(denial: &Denial, skill: &str) -> Vec<String> {
    let denied: Vec<_> = denial.denied().collect();
    let by_rule = |reason: &DecisionReason| {
        matches!(
            reason,
            DecisionReason::Rule { .. }
                | DecisionReason::Forbidden { .. }
                | DecisionReason::TooManyPermissions { .. }
        )
    };
    let is_asked_by_admin = |decision: &&PermissionDecision| {
        matches!(decision.ask_rule(), Some((RuleSource::Admin, _)))
    };
    let mut hints = Vec::new();
    if !denied.iter().any(|decision| by_rule(decision.reason())) {
        // No option overrides an `ask` rule of the administrator.
        let mut options: Vec<String> = denied
            .iter()
            .filter_map(|decision| {
                allow_option(decision.permission()).filter(|text| is_shell_word(text))
            })
            .collect();
        if !options.is_empty()
            && options.len() == denied.len()
            && !denied.iter().any(is_asked_by_admin)
        {
            options.dedup();
            hints.push(format!(
                "allow it for this run with `--allow {}`",
                options.join(" --allow ")
            ));
        }
        hints.extend(is_shell_word(skill).then(|| {
            format!(
                "approve this version permanently with `skills trust {skill}` and the same options"
            )
        }));
    }
    let mut without: Vec<&str> = denied
        .iter()
        .map(|decision| decision.permission().capability().as_str())
        .collect();
    without.dedup();
    if !without.is_empty() {
        hints.push(format!(
            "run without it with `--without {}`",
            without.join(" --without ")
        ));
    }
    hints
}

/// Returns true if a text is a single word for every shell, and not an option.
fn is_shell_word(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.:/@+".contains(c))
}

/// Returns the value of `--allow` that grants a permission.
fn allow_option(permission: &Permission) -> Option<String> {
    Some(match permission {
        Permission::Write(path) | Permission::WriteProtected { path, .. } => {
            format!("write:{}", path.display())
        }
        Permission::Read(path) => format!("read:{}", path.display()),
        Permission::Host(pattern) => format!("network:{pattern}"),
        Permission::Program(name) => format!("spawn:{name}"),
        Permission::AnyProgram => "spawn".to_owned(),
        Permission::Variable(name) => format!("env:{name}"),
        _ => return None,
    })
}

fn print_explanation(artifacts: &ExecutionArtifacts, output: &Output) {
    if let Some(report) = &artifacts.enforcement {
        output.status(&format!(
            "ran {} in {} ms",
            artifacts.mode.program(),
            artifacts.duration.as_millis()
        ));
        output.status(&format!("sandbox {}", report.backend()));
        report
            .to_lines()
            .iter()
            .for_each(|row| output.status(&format!("  {row}")));
    }
}

fn to_json(artifacts: &ExecutionArtifacts, not_saved: &[String]) -> Value {
    json!({
        "skill": artifacts.skill,
        "mode": artifacts.mode,
        "status": artifacts.exit_status,
        "output": artifacts.output,
        "stdout": stream_to_json(&artifacts.stdout),
        "stderr": stream_to_json(&artifacts.stderr),
        "permissions_used": artifacts.permissions_used,
        "duration_ms": u64::try_from(artifacts.duration.as_millis()).unwrap_or(u64::MAX),
        "sandbox": artifacts.enforcement,
        "decisions": artifacts.decisions,
        "files": artifacts.output_files,
        "not_saved": not_saved,
        "notes": artifacts.notes,
    })
}

fn stream_to_json(captured: &CapturedOutput) -> Value {
    json!({"text": captured.text(), "bytes": captured.total_bytes(), "truncated": captured.is_truncated()})
}
