//! `skills run NAME`: runs a skill's script or WebAssembly module in a sandbox.

mod denial_hints;
mod output_files;
mod report;

use std::path::{Path, PathBuf};

use skills_runtime::discovery::Trust;
use skills_runtime::{
    Builder, CallContext, ErrorKind, ExecutionArtifacts, ExecutionMode, ExecutionOptions,
    InputFile, RuntimeError, SkillRuntime, WasmProfile, Workspace,
};

use self::output_files::{create_output_dir, write_output_files};
use crate::approver::{ApproverKind, approver};
use crate::arguments::Run;
use crate::error_report::HintedError;
use crate::exit::Exit;
use crate::input::{self, InputError};
use crate::lookup;
use crate::output::Output;
use crate::policy;
use crate::run_setup;
use crate::signals;

pub(crate) fn run(
    builder: Builder,
    arguments: &Run,
    project_trust: Trust,
    output: &Output,
) -> anyhow::Result<Exit> {
    let builder = run_setup::configure_runtime(builder, &arguments.what, project_trust, output)?;
    let profile = arguments
        .deterministic
        .map(|seed| WasmProfile::Deterministic { seed });
    let runtime = profile
        .into_iter()
        .fold(builder, Builder::wasm_profile)
        .build();
    let mut options = run_options(arguments)?;
    let name = input::resolve_skill_name(&arguments.name);
    // Which program is selected, and with it whether it is WebAssembly, is known only from a
    // preview.
    if arguments.dry_run || profile.is_some() {
        let preview = runtime
            .executor()
            .preview(&name, &options)
            .map_err(|error| explain_error(&runtime, &name, error))?;
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
    options.context = approver(approver_kind(arguments))
        .into_iter()
        .fold(options.context, CallContext::approver);
    let result = signals::run_until_interrupt(runtime.execute_skill(&name, options))?.transpose();
    // Output is printed even if the audit record could not be written.
    if let Err(error) = &result
        && let Some(unrecorded) = error.artifacts()
        // A JSON document contains either a result or an error, and here it is the error.
        && !output.is_json()
    {
        report::print_result(unrecorded, arguments, output)?;
    }
    let result = result.map_err(|error| explain_error(&runtime, &name, error))?;
    let Some(artifacts) = result else {
        return Ok(Exit::Interrupted);
    };
    save_and_report(&artifacts, output_dir.as_deref(), arguments, output)
}

/// Returns the options of the run, without an approver.
fn run_options(arguments: &Run) -> anyhow::Result<ExecutionOptions> {
    let mut options = run_setup::execution_options(&arguments.what)?;
    options.args.clone_from(&arguments.args);
    if !arguments.file.is_empty() || arguments.output.is_some() {
        // Input and output files are those of a private workspace, so `--workspace` conflicts with
        // both.
        options.workspace = Workspace::Private(read_input_files(&arguments.file)?);
    }
    Ok(options)
}

fn approver_kind(arguments: &Run) -> ApproverKind {
    match arguments {
        Run { yes: true, .. } => ApproverKind::AllowAll,
        Run { deny: true, .. } => ApproverKind::DenyAll,
        // Standard input was the input of the program, so no answer can be read from it.
        _ if arguments.what.input.as_deref() == Some("-") => ApproverKind::None,
        _ => ApproverKind::Terminal,
    }
}

/// Saves the output files, prints the result and returns the exit code. A run whose files cannot be
/// saved has failed.
fn save_and_report(
    artifacts: &ExecutionArtifacts,
    output_dir: Option<&Path>,
    arguments: &Run,
    output: &Output,
) -> anyhow::Result<Exit> {
    let not_saved = output_dir
        .map(|directory| write_output_files(artifacts, directory))
        .unwrap_or_default();
    if output.is_json() {
        output.print_json(&report::to_json(artifacts, &not_saved))?;
    } else {
        report::print_result(artifacts, arguments, output)?;
    }
    for error in &not_saved {
        output.status(&format!("error: {error}"));
    }
    Ok(match Exit::from_status(&artifacts.exit_status) {
        Exit::Success if !not_saved.is_empty() => Exit::Failed,
        // A failed run keeps its own exit code, which says more than unsaved files.
        exit => exit,
    })
}

/// Rejects `--deterministic` for scripts.
fn check_deterministic(profile: Option<WasmProfile>, mode: &ExecutionMode) -> anyhow::Result<()> {
    // A script can read the clock and random numbers of the kernel, so a seed would promise too
    // much.
    if profile.is_some() && matches!(mode, ExecutionMode::Native { .. }) {
        return Err(InputError::new(
            "cannot run a script with `--deterministic`: only WebAssembly is deterministic",
        )
        .into());
    }
    Ok(())
}

/// Adds a hint to an error of a skill that cannot be used, or that has source but was not built.
fn explain_error(runtime: &SkillRuntime, name: &str, error: RuntimeError) -> anyhow::Error {
    if error.kind() != ErrorKind::NothingToRun {
        return lookup::explain_error(runtime, name, error);
    }
    // The error of the run is reported, whatever goes wrong while the hint is looked up.
    let Ok(skill) = runtime.get_skill(name) else {
        return error.into();
    };
    let has_source = skill
        .resources
        .resources
        .iter()
        .any(|file| file.path.starts_with("guest/"));
    if !has_source {
        return error.into();
    }
    HintedError::new(
        error,
        format!(
            "build its source in `guest` with `skills build {}`",
            skill.directory.display()
        ),
    )
    .into()
}

/// Reads the input files of a private workspace. Their file names must be unique.
fn read_input_files(paths: &[PathBuf]) -> anyhow::Result<Vec<InputFile>> {
    let files = paths
        .iter()
        .map(|path| read_input_file(path))
        .collect::<anyhow::Result<Vec<_>>>()?;
    // All files are in one directory of the workspace, so a second one would replace the first.
    let mut names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(
            InputError::new(format!("duplicate file name `{}` in `--file`", pair[0])).into(),
        );
    }
    Ok(files)
}

fn read_input_file(path: &Path) -> anyhow::Result<InputFile> {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or_else(|| {
            InputError::new(format!(
                "invalid file name `{}`: not valid UTF-8",
                path.display()
            ))
        })?;
    Ok(InputFile {
        name: name.to_owned(),
        // Copied before the run, so that the program gets no access to the file itself.
        content: input::read_bytes(path, input::MAX_BYTES)?,
    })
}
