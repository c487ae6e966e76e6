//! `skills run NAME`.

use serde_json::{Value, json};
use skills_runtime::{Builder, Captured, ExecutionArtifacts, ExecutionMode, ExecutionOptions, ExecutionStatus, Rules};

use crate::arguments::Run;
use crate::exit::Exit;
use crate::input;
use crate::output::Output;
use crate::signals;

pub(crate) fn run(builder: Builder, arguments: Run, output: &Output) -> anyhow::Result<Exit> {
    let allowed = arguments.allow.iter().fold(Rules::default(), |rules, allowed| rules.allow((*allowed).into(), "--allow"));
    let runtime = builder.rules(allowed).build();
    let mut options = ExecutionOptions::default();
    if let Some(argument) = &arguments.input {
        options.input = input::read(argument)?;
    }
    options.timeout_ms = arguments.timeout;
    options.script = arguments.script;
    options.args = arguments.args;
    options.workspace = arguments.workspace.as_deref().map(input::directory).transpose()?;
    options.without = arguments.without.into_iter().map(Into::into).collect();
    let name = input::skill_name(&arguments.name);
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let artifacts = executor.block_on(async {
        // Whoever started this command may have had it ignore the end of its children; with a handler they can be collected.
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
    let artifacts = artifacts?;
    let Some(artifacts) = artifacts else { return Ok(Exit::Interrupted) };
    if output.is_json() {
        output.document(&document(&artifacts))?;
    } else {
        show(&artifacts, arguments.verbose, output)?;
    }
    Ok(Exit::of(&artifacts.exit_status))
}

fn show(artifacts: &ExecutionArtifacts, verbose: bool, output: &Output) -> anyhow::Result<()> {
    let name = &artifacts.skill;
    output.raw(artifacts.stdout.bytes())?;
    let stderr = artifacts.stderr.text();
    if !stderr.is_empty() {
        output.notes(stderr.trim_end_matches('\n'));
    }
    for (stream, captured) in [("standard output", &artifacts.stdout), ("standard error", &artifacts.stderr)] {
        if captured.is_truncated() {
            output.note(&format!("{stream} cut: {} of {} bytes shown", captured.bytes().len(), captured.total_bytes()));
        }
    }
    match &artifacts.exit_status {
        ExecutionStatus::Success => {}
        ExecutionStatus::Failed { ending } => output.note(&format!("error: {name} failed: {ending}")),
        ExecutionStatus::Timeout { limit_ms } => output.note(&format!("error: {name} timed out after {limit_ms} ms")),
        ExecutionStatus::PermissionDenied { denial } => {
            output.note(&format!("error: {name} was not started: {denial}"));
            output.note("  --allow CAPABILITY allows it for this run, --without CAPABILITY runs without it");
        }
        other => output.note(&format!("error: {name} ended: {other:?}")),
    }
    if verbose {
        explain(artifacts, output);
    }
    Ok(())
}

fn explain(artifacts: &ExecutionArtifacts, output: &Output) {
    let program = match &artifacts.mode {
        ExecutionMode::Wasm { wasm_module } => wasm_module,
        ExecutionMode::Native { script_path, .. } => script_path,
    };
    output.note(&format!("ran {program} in {} ms", artifacts.duration.as_millis()));
    if let Some(report) = &artifacts.report {
        output.note(&format!("sandbox {}", report.backend()));
        for layer in report.layers() {
            output.note(&format!("  {layer}"));
        }
    }
}

fn document(artifacts: &ExecutionArtifacts) -> Value {
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
    })
}

fn stream(captured: &Captured) -> Value {
    json!({"text": captured.text(), "bytes": captured.total_bytes(), "truncated": captured.is_truncated()})
}
