//! `skills run NAME`.

use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};
use skills_runtime::policy::{Denial, Layer, Permission, Reason, Verdict};
use skills_runtime::{
    Builder, Captured, Ending, ErrorKind, ExecutionArtifacts, ExecutionMode, ExecutionStatus,
    InputFile, RuntimeError, SkillRuntime, WasmProfile, Workspace,
};

use skills_tools::protected_name;

use crate::approver::{Answers, approver};
use crate::arguments::Run;
use crate::exit::Exit;
use crate::failure::Unbuilt;
use crate::input::{self, InputError};
use crate::output::Output;
use crate::policy;
use crate::signals;
use crate::what;

pub(crate) fn run(
    builder: Builder,
    arguments: &Run,
    trust_project: bool,
    output: &Output,
) -> anyhow::Result<Exit> {
    let builder = what::prepare(builder, &arguments.what, trust_project, output)?;
    let profile = arguments
        .deterministic
        .map(|seed| WasmProfile::Deterministic { seed });
    let runtime = profile
        .into_iter()
        .fold(builder, Builder::wasm_profile)
        .build();
    let mut options = what::options(&arguments.what)?;
    options.args.clone_from(&arguments.args);
    if !arguments.file.is_empty() || arguments.output.is_some() {
        options.workspace = Workspace::Private(files(&arguments.file)?);
    }
    let name = input::skill_name(&arguments.name);
    if arguments.dry_run || profile.is_some() {
        let preview = runtime
            .preview_skill(&name, &options)
            .map_err(|error| unbuilt(&runtime, &name, error))?;
        repeatable(profile, &preview.mode)?;
        if arguments.dry_run {
            return policy::tell(&preview, output);
        }
    }
    // What the program makes has to go somewhere, and that is found out before it runs.
    let keep = arguments.output.as_deref().map(made).transpose()?;
    options.approval = approver(match arguments {
        Run { yes: true, .. } => Answers::Yes,
        Run { deny: true, .. } => Answers::No,
        _ if arguments.what.input.as_deref() == Some("-") => Answers::Nobody,
        _ => Answers::Terminal,
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
            () = signals::interrupted() => Ok(None),
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
        show(unrecorded, arguments, output)?;
    }
    let artifacts = artifacts.map_err(|error| unbuilt(&runtime, &name, error))?;
    let Some(artifacts) = artifacts else {
        return Ok(Exit::Interrupted);
    };
    let not_saved = keep
        .map(|directory| save(&artifacts, &directory))
        .unwrap_or_default();
    if output.is_json() {
        output.document(&document(&artifacts, &not_saved))?;
    } else {
        show(&artifacts, arguments, output)?;
    }
    not_saved
        .iter()
        .for_each(|error| output.note(&format!("error: {error}")));
    Ok(match Exit::of(&artifacts.exit_status) {
        Exit::Done if !not_saved.is_empty() => Exit::Failed,
        exit => exit,
    })
}

/// Refuses to run a script as if it were repeatable.
fn repeatable(profile: Option<WasmProfile>, mode: &ExecutionMode) -> anyhow::Result<()> {
    if profile.is_some() && matches!(mode, ExecutionMode::Native { .. }) {
        let reason = "--deterministic: the program is a script, and only WebAssembly runs the same way each time";
        return Err(InputError::new(reason.to_owned()).into());
    }
    Ok(())
}

/// Adds to an error that there is source to build, where there is.
fn unbuilt(runtime: &SkillRuntime, name: &str, error: RuntimeError) -> anyhow::Error {
    let has_nothing = error.kind() == ErrorKind::NoProgram;
    let skill = has_nothing.then(|| runtime.get_skill(name).ok()).flatten();
    match skill.filter(|skill| {
        skill
            .resources
            .resources
            .iter()
            .any(|file| file.path.starts_with("guest/"))
    }) {
        Some(skill) => Unbuilt {
            error,
            directory: skill.directory,
        }
        .into(),
        None => error.into(),
    }
}

/// Reads the files for a private workspace; each has its own name there.
fn files(paths: &[std::path::PathBuf]) -> anyhow::Result<Vec<InputFile>> {
    let read = |path: &std::path::PathBuf| {
        let wrong = || InputError::new(format!("{} has no name that is text", path.display()));
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .ok_or_else(wrong)?;
        Ok(InputFile {
            name: name.to_owned(),
            content: input::bytes(path, input::MAX_BYTES)?,
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
fn made(path: &Path) -> anyhow::Result<PathBuf> {
    if let Err(error) = std::fs::create_dir(path)
        && error.kind() != std::io::ErrorKind::AlreadyExists
    {
        return Err(InputError::new(format!("{} cannot be made: {error}", path.display())).into());
    }
    input::directory(path)
}

/// Writes what the program made; says what could not be written. Nothing that was there before is
/// replaced.
fn save(artifacts: &ExecutionArtifacts, directory: &Path) -> Vec<String> {
    let kept = artifacts
        .files
        .files
        .iter()
        .filter_map(|file| Some((file, file.content.as_deref()?)));
    let failed = kept.filter_map(|(file, content)| {
        let error = save_one(directory, &file.path, content).err()?;
        Some(format!("{} is not kept: {error}", file.path))
    });
    failed.collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the directory is one that the user names on the command line"
)]
fn save_one(directory: &Path, name: &str, content: &[u8]) -> std::io::Result<()> {
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

fn show(artifacts: &ExecutionArtifacts, arguments: &Run, output: &Output) -> anyhow::Result<()> {
    let name = &artifacts.skill;
    output.raw(artifacts.stdout.bytes())?;
    if artifacts.stdout.is_truncated() {
        output.raw(artifacts.stdout.gap().as_bytes())?;
        output.raw(&artifacts.stdout.tail())?;
    }
    let stderr = artifacts.stderr.text();
    if !stderr.is_empty() {
        output.notes(stderr.trim_end_matches('\n'));
    }
    for (stream, captured) in [
        ("standard output", &artifacts.stdout),
        ("standard error", &artifacts.stderr),
    ] {
        if captured.is_truncated() {
            let shown = captured.total_bytes() - captured.dropped_bytes();
            output.note(&format!(
                "{stream} cut: {shown} of {} bytes shown, the first and the last",
                captured.total_bytes()
            ));
        }
    }
    match &artifacts.exit_status {
        ExecutionStatus::Success => {}
        ExecutionStatus::Failed { ending } => {
            output.note(&format!("error: {name} failed: {ending}"));
            if matches!(ending, Ending::DiskLimit(_)) {
                output.note("help: `--scratch` raises the quota, as far as `scratch-mib` in the policy allows");
            }
        }
        ExecutionStatus::Timeout { limit_ms } => {
            let lowered = arguments
                .what
                .timeout
                .filter(|wanted| wanted > limit_ms)
                .map_or("", |_| ", the most that the rules allow");
            output.note(&format!(
                "error: {name} timed out after {limit_ms} ms{lowered}"
            ));
        }
        ExecutionStatus::PermissionDenied { denial } => {
            output.note(&format!("error: {name} was not started: {denial}"));
            hints(denial, name)
                .iter()
                .for_each(|hint| output.note(&format!("  {hint}")));
        }
        other => output.note(&format!("error: {name} ended: {other:?}")),
    }
    for file in &artifacts.files.files {
        output.note(&format!(
            "{} {} ({} bytes)",
            if file.is_new { "made" } else { "changed" },
            file.path,
            file.bytes
        ));
    }
    artifacts
        .files
        .left_out
        .iter()
        .for_each(|left_out| output.note(&format!("left out: {left_out}")));
    artifacts
        .notes
        .iter()
        .for_each(|note| output.note(&format!("note: {note}")));
    if arguments.explain {
        artifacts
            .verdicts
            .iter()
            .for_each(|verdict| output.note(&verdict.to_string()));
    }
    if arguments.verbose || arguments.explain {
        explain(artifacts, output);
    }
    Ok(())
}

/// Says how what was denied for lack of a rule or an answer may be had. Readers copy what they see,
/// so nothing of a skill is in it that could be taken for another word.
fn hints(denial: &Denial, skill: &str) -> Vec<String> {
    let denied: Vec<_> = denial.refusals().collect();
    let by_rule = |reason: &Reason| {
        matches!(
            reason,
            Reason::Rule { .. } | Reason::Never { .. } | Reason::TooMany { .. }
        )
    };
    let is_admins = |verdict: &&Verdict| matches!(verdict.wants_asked(), Some((Layer::Admin, _)));
    let mut hints = Vec::new();
    if !denied.iter().any(|verdict| by_rule(verdict.reason())) {
        // What an administrator wants asked no option answers.
        let mut options: Vec<String> = denied
            .iter()
            .filter_map(|verdict| option(verdict.permission()).filter(|text| is_word(text)))
            .collect();
        if !options.is_empty() && options.len() == denied.len() && !denied.iter().any(is_admins) {
            options.dedup();
            hints.push(format!(
                "for this run: --allow {}",
                options.join(" --allow ")
            ));
        }
        hints.extend(is_word(skill).then(|| {
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
fn is_word(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.:/@+".contains(c))
}

/// What to allow.
fn option(permission: &Permission) -> Option<String> {
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

fn explain(artifacts: &ExecutionArtifacts, output: &Output) {
    if let Some(report) = &artifacts.report {
        output.note(&format!(
            "ran {} in {} ms",
            artifacts.mode.program(),
            artifacts.duration.as_millis()
        ));
        output.note(&format!("sandbox {}", report.backend()));
        report
            .lines()
            .iter()
            .for_each(|told| output.note(&format!("  {told}")));
    }
}

fn document(artifacts: &ExecutionArtifacts, not_saved: &[String]) -> Value {
    json!({
        "skill": artifacts.skill,
        "mode": artifacts.mode,
        "status": artifacts.exit_status,
        "output": artifacts.output,
        "stdout": stream(&artifacts.stdout),
        "stderr": stream(&artifacts.stderr),
        "permissions_used": artifacts.permissions_used,
        "duration_ms": u64::try_from(artifacts.duration.as_millis()).unwrap_or(u64::MAX),
        "sandbox": artifacts.report,
        "verdicts": artifacts.verdicts,
        "files": artifacts.files,
        "not_saved": not_saved,
        "notes": artifacts.notes,
    })
}

fn stream(captured: &Captured) -> Value {
    json!({"text": captured.text(), "bytes": captured.total_bytes(), "truncated": captured.is_truncated()})
}
