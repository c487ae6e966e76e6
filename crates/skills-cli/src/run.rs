//! `skills run NAME`.

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
    // What the program makes has to go somewhere, and that is found out before it runs.
    let keep = arguments
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
        // Whoever started this command may have had it ignore the end of its children; with a
        // handler they can be collected.
        #[cfg(unix)]
        let _children = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::child());
        tokio::select! {
            artifacts = runtime.execute_skill(&name, options) => artifacts.map(Some),
            // The run is dropped, and with it everything that it started or made.
            () = signals::wait_for_interrupt() => Ok(None),
        }
    });
    // What still computes aside, such as a compiler, is not awaited.
    executor.shutdown_background();
    // What a program wrote is not lost because its record is.
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
    let not_saved = keep
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

/// Refuses to run a script as if it were repeatable.
fn check_deterministic(profile: Option<WasmProfile>, mode: &ExecutionMode) -> anyhow::Result<()> {
    if profile.is_some() && matches!(mode, ExecutionMode::Native { .. }) {
        let reason = "--deterministic: the program is a script, and only WebAssembly runs the same way each time";
        return Err(InputError::new(reason.to_owned()).into());
    }
    Ok(())
}

/// Adds to an error that there is source to build, where there is.
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

/// Reads the files for a private workspace; each has its own name there.
fn read_input_files(paths: &[std::path::PathBuf]) -> anyhow::Result<Vec<InputFile>> {
    let read = |path: &std::path::PathBuf| {
        let wrong = || InputError::new(format!("{} has no name that is text", path.display()));
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .ok_or_else(wrong)?;
        Ok(InputFile {
            name: name.to_owned(),
            content: input::read_bytes(path, input::MAX_BYTES)?,
        })
    };
    let files: Vec<InputFile> = paths.iter().map(read).collect::<anyhow::Result<_>>()?;
    let mut names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(InputError::new(format!("--file: two files are named {:?}", twice[0])).into());
    }
    Ok(files)
}

/// Makes a directory that is not there.
fn create_output_dir(path: &Path) -> anyhow::Result<PathBuf> {
    if let Err(error) = std::fs::create_dir(path)
        && error.kind() != std::io::ErrorKind::AlreadyExists
    {
        return Err(InputError::new(format!("{} cannot be made: {error}", path.display())).into());
    }
    input::resolve_directory(path)
}

/// Writes what the program made; says what could not be written. Nothing that was there before is
/// replaced.
fn write_output_files(artifacts: &ExecutionArtifacts, directory: &Path) -> Vec<String> {
    let kept = artifacts
        .output_files
        .files
        .iter()
        .filter_map(|file| Some((file, file.content.as_deref()?)));
    let failed = kept.filter_map(|(file, content)| {
        let error = write_output_file(directory, &file.path, content).err()?;
        Some(format!("{} is not kept: {error}", file.path))
    });
    failed.collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the directory is one that the user names on the command line"
)]
fn write_output_file(directory: &Path, name: &str, content: &[u8]) -> std::io::Result<()> {
    // The program chose the name.
    let is_below = Path::new(name)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if !is_below || name.is_empty() {
        return Err(std::io::Error::other("its name leads elsewhere"));
    }
    if let Some(protected) = protected_name(&directory.join(name), directory) {
        let reason = format!(
            "{protected:?} is a protected name: other programs run or obey what lies there"
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
                    "a symlink or a file stands in its way",
                ));
            }
        }
    }
    let mut made = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)?;
    let written = std::io::Write::write_all(&mut made, content);
    if written.is_err() {
        // Half a file, on a full disk, would look like all of it; what cannot be removed either is
        // told by the error.
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
                "{stream} cut: {shown} of {} bytes shown, the first and the last",
                captured.total_bytes()
            ));
        }
    }
    match &artifacts.exit_status {
        ExecutionStatus::Success => {}
        ExecutionStatus::Failed {
            termination: ending,
        } => {
            output.status(&format!("error: {name} failed: {ending}"));
            if matches!(ending, Termination::DiskLimit(_)) {
                output.status("help: `--scratch` raises the quota, as far as `scratch-mib` in the policy allows");
            }
        }
        ExecutionStatus::Timeout { limit_ms } => {
            let lowered = arguments
                .what
                .timeout
                .filter(|wanted| wanted > limit_ms)
                .map_or("", |_| ", the most that the rules allow");
            output.status(&format!(
                "error: {name} timed out after {limit_ms} ms{lowered}"
            ));
        }
        ExecutionStatus::PermissionDenied { denial } => {
            output.status(&format!("error: {name} was not started: {denial}"));
            denial_hints(denial, name)
                .iter()
                .for_each(|hint| output.status(&format!("  {hint}")));
        }
        other => output.status(&format!("error: {name} ended: {other:?}")),
    }
    for file in &artifacts.output_files.files {
        output.status(&format!(
            "{} {} ({} bytes)",
            if file.is_created { "made" } else { "changed" },
            file.path,
            file.bytes
        ));
    }
    artifacts
        .output_files
        .omitted
        .iter()
        .for_each(|left_out| output.status(&format!("left out: {left_out}")));
    artifacts
        .notes
        .iter()
        .for_each(|note| output.status(&format!("note: {note}")));
    if arguments.explain {
        artifacts
            .decisions
            .iter()
            .for_each(|verdict| output.status(&verdict.to_string()));
    }
    if arguments.verbose || arguments.explain {
        print_explanation(artifacts, output);
    }
    Ok(())
}

/// Says how what was denied for lack of a rule or an answer may be had. Readers copy what they see,
/// so nothing of a skill is in it that could be taken for another word.
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
    let is_admins =
        |verdict: &&PermissionDecision| matches!(verdict.ask_rule(), Some((RuleSource::Admin, _)));
    let mut hints = Vec::new();
    if !denied.iter().any(|verdict| by_rule(verdict.reason())) {
        // What an administrator wants asked no option answers.
        let mut options: Vec<String> = denied
            .iter()
            .filter_map(|verdict| {
                allow_option(verdict.permission()).filter(|text| is_shell_word(text))
            })
            .collect();
        if !options.is_empty() && options.len() == denied.len() && !denied.iter().any(is_admins) {
            options.dedup();
            hints.push(format!(
                "for this run: --allow {}",
                options.join(" --allow ")
            ));
        }
        hints.extend(is_shell_word(skill).then(|| {
            format!("for what it is now, for good: skills trust {skill}, with the same options")
        }));
    }
    let mut without: Vec<&str> = denied
        .iter()
        .map(|verdict| verdict.permission().capability().as_str())
        .collect();
    without.dedup();
    if !without.is_empty() {
        hints.push(format!(
            "without: --without {}",
            without.join(" --without ")
        ));
    }
    hints
}

/// A word that is one word to every shell, and no option.
fn is_shell_word(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.:/@+".contains(c))
}

/// What to allow.
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
            .for_each(|told| output.status(&format!("  {told}")));
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
