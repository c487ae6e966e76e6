//! Drives runs through their stages.
//!
//! ```text
//! options --> Planned --> Checked --> Authorized --> Ready --> Finished --> ExecutionArtifacts
//!                |           ^  \--> denied
//!             Preview        an attempt begins here
//! ```
//!
//! The stages before an attempt only read. One record covers all returns from the start of the plan on:
//! without a writable log nothing runs.

use std::path::Path;
use std::sync::Arc;

use skills_sandbox::{EventSender, SandboxError};

use crate::artifacts::ExecutionArtifacts;
use crate::authorize::{AttemptDecision, Authorized};
use crate::check::Checked;
use crate::error::{Repr, RuntimeError};
use crate::host_command::HostCommand;
use crate::options::ExecutionOptions;
use crate::plan::Planned;
use crate::prepare::Ready;
use crate::run_handle::RunEvents;
use crate::run_record::RunRecord;
use crate::run_subject::HOST_COMMAND_NAME;
use crate::run_use::RunUse;
use crate::services::Services;

/// Runs a program of a skill, as a hook if a title is given.
pub(crate) async fn run_skill(
    services: &Services,
    name: &str,
    options: ExecutionOptions,
    hook: Option<&str>,
    events: Option<RunEvents>,
) -> Result<ExecutionArtifacts, RuntimeError> {
    let mut record = services.config().recorder.begin(name, &options.context)?;
    let result = async {
        let options = options.resolve_paths()?;
        read_from_source(services, name).await?;
        let planned = Planned::of_skill(services, name, options, hook)?;
        // The exit code of a hook is an answer.
        if hook.is_none() {
            record.run_use = begin_use(&planned);
        }
        record.set_program(hook.unwrap_or_else(|| planned.mode().program()));
        run_planned(planned, events, &mut record).await
    };
    let result = result.await;
    record.close(result)
}

/// Runs a host command on a directory.
pub(crate) async fn run_command(
    services: &Services,
    directory: &Path,
    command: HostCommand,
    options: ExecutionOptions,
) -> Result<ExecutionArtifacts, RuntimeError> {
    let context = &options.context;
    let mut record = services
        .config()
        .recorder
        .begin(HOST_COMMAND_NAME, context)?;
    let result = async {
        let directory = directory
            .canonicalize()
            .map_err(|source| Repr::OptionalPath {
                path: directory.to_owned(),
                source,
            })?;
        let options = options.resolve_paths()?;
        let planned = Planned::of_command(services, &directory, command, options)?;
        record.set_program(planned.mode().program());
        run_planned(planned, None, &mut record).await
    };
    let result = result.await;
    record.close(result)
}

async fn run_planned(
    planned: Planned,
    events: Option<RunEvents>,
    record: &mut RunRecord,
) -> Result<ExecutionArtifacts, RuntimeError> {
    let manifest = planned.skill().map(|skill| &skill.manifest);
    record.set_skill(planned.name(), None, manifest);
    // From here on the record is redacted, whether the run is denied, fails or succeeds.
    record.redactor = planned.redactor();
    let events = events.map(|events| events.of_run(planned.redactor()));
    let checked = Arc::new(Checked::new(planned).await?);
    attempt(checked, events, record).await
}

/// Authorizes and runs what was checked, and collects its results.
async fn attempt(
    checked: Arc<Checked>,
    events: Option<EventSender>,
    record: &mut RunRecord,
) -> Result<ExecutionArtifacts, RuntimeError> {
    let (skill, mode) = {
        let planned = checked.planned();
        (planned.name().to_owned(), planned.mode().clone())
    };
    match Authorized::decide(checked, record).await? {
        AttemptDecision::Granted(authorized) => {
            let ready = Ready::prepare(*authorized, events, record).await?;
            let finished = ready.run(record).await?;
            Ok(finished.into_artifacts(&record.redactor))
        }
        AttemptDecision::Denied(denial) => Ok(ExecutionArtifacts::denied(skill, mode, denial)),
    }
}

/// Reads a skill of a source before a run is planned: a source can be a server, for which this thread
/// must not wait.
async fn read_from_source(services: &Services, name: &str) -> Result<(), RuntimeError> {
    let library = services.library();
    if !library.discovery().has_sources() {
        return Ok(());
    }
    let (library, name) = (library.clone(), name.to_owned());
    skills_threads::run_blocking(move || library.read_from_source(&name))
        .await
        .map_err(|error| SandboxError::setup("reading the skill", error).into())
}

/// Starts the record of a run in the usage ledger.
fn begin_use(planned: &Planned) -> RunUse {
    let usage = planned.services().library().usage();
    planned.skill().map_or_else(RunUse::default, |skill| {
        RunUse::new(
            usage,
            &skill.entry,
            planned.mode(),
            &planned.options().context,
        )
    })
}
