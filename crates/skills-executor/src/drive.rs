//! Drives runs through their stages.
//!
//! ```text
//! options --> Planned --> Checked --> Authorized --> Ready --> Finished --> ExecutionArtifacts
//!                |           ^  \--> denied                       |
//!             Preview        |                       EarlierAttempt (refused, done)
//!                            +--- an approver allows it, nothing is done twice ---+
//! ```
//!
//! The stages before an attempt only read, and nothing of them is repeated. Each attempt has a workspace
//! and a record of its own; the record covers all returns: without a writable log nothing runs. The record of
//! a run that a caller planned before begins when it is started, since a plan runs nothing; a plan that
//! fails has one of its own.

use std::path::Path;
use std::sync::Arc;

use skills_discovery::SkillFiles;
use skills_policy::Denial;
use skills_sandbox::SandboxError;

use crate::artifacts::ExecutionArtifacts;
use crate::authorize::{AttemptDecision, Authorized};
use crate::check::Checked;
use crate::error::{Repr, RuntimeError};
use crate::explain::Remedy;
use crate::host_command::HostCommand;
use crate::next_attempt::{EndedAttempt, NextAttempt};
use crate::options::ExecutionOptions;
use crate::output_lines::Listener;
use crate::plan::Planned;
use crate::prepare::Ready;
use crate::run_handle::RunEvents;
use crate::run_record::{RunRecord, error_text};
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
        // Kept until the plan has opened them, too.
        let _read = read_from_source(services, name).await?;
        let planned = Planned::of_skill(services, name, options, hook)?;
        run_recorded(planned, events, &mut record).await
    };
    let result = result.await;
    record.close(result)
}

/// Plans a run of a program of a skill that the caller starts later.
pub(crate) fn plan_skill(
    services: &Services,
    name: &str,
    options: ExecutionOptions,
) -> Result<Planned, RuntimeError> {
    let context = options.context.clone();
    let options = options.resolve_paths();
    let planned = options.and_then(|options| Planned::of_skill(services, name, options, None));
    planned.map_err(
        |error| match services.config().recorder.begin(name, &context) {
            Ok(mut record) => record.fail(error),
            Err(unrecorded) => unrecorded,
        },
    )
}

/// Runs what was planned before.
pub(crate) async fn run_planned(
    planned: Planned,
    events: Option<RunEvents>,
) -> Result<ExecutionArtifacts, RuntimeError> {
    let recorder = &planned.services().config().recorder;
    let mut record = recorder.begin(planned.name(), &planned.options().context)?;
    let result = run_recorded(planned, events, &mut record).await;
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
        run_recorded(planned, None, &mut record).await
    };
    let result = result.await;
    record.close(result)
}

async fn run_recorded(
    planned: Planned,
    events: Option<RunEvents>,
    record: &mut RunRecord,
) -> Result<ExecutionArtifacts, RuntimeError> {
    // The exit code of a hook is an answer.
    if planned.hook().is_none() {
        record.run_use = begin_use(&planned);
    }
    record.set_program(planned.hook().unwrap_or_else(|| planned.mode().program()));
    let manifest = planned.skill().map(|skill| &skill.manifest);
    record.set_skill(planned.name(), None, manifest);
    // From here on the record is redacted, whether the run is denied, fails or succeeds.
    record.redactor = planned.redactor();
    let events = match events {
        Some(events) => Some(events.of_run(planned.redactor())),
        None => line_listener(&planned),
    };
    if let Some(input) = &planned.options().input_stream
        && planned.may_be_repeated()
    {
        input.keep();
    }
    let checked = Arc::new(Checked::new(planned).await?);
    let authorized = match Authorized::decide(checked.clone(), None, record).await? {
        AttemptDecision::Granted(authorized) => authorized,
        AttemptDecision::Denied(denial) => return Ok(denied(&checked, denial)),
    };
    match start(*authorized, events.clone(), record).await? {
        (artifacts, Some(ended)) => repeat(&checked, artifacts, ended, events, record).await,
        (artifacts, None) => Ok(artifacts),
    }
}

/// Returns what reports lines of a run that has no other listener, if its caller wants them.
fn line_listener(planned: &Planned) -> Option<Listener> {
    let reporter = planned.options().context.output_lines.clone()?;
    let copies = planned.services().copy_directories();
    let copies = copies.map(|directory| directory.to_string_lossy().into_owned());
    Some(Listener::of_lines(
        reporter,
        planned.redactor(),
        copies.collect(),
    ))
}

/// How a further attempt ended.
enum Further {
    /// The program ended, with what a further attempt has to know.
    Ended(Box<(ExecutionArtifacts, Option<EndedAttempt>)>),
    Denied(Denial),
    /// It is allowed, and was not started: the earlier attempt has done what it would do again.
    Allowed {
        for_later_runs: bool,
    },
    /// Nothing more is allowed than before.
    Same,
}

/// Makes further attempts while an approver allows what was refused, as often as the caller wants.
async fn repeat(
    checked: &Arc<Checked>,
    mut artifacts: ExecutionArtifacts,
    mut ended: EndedAttempt,
    events: Option<Listener>,
    record: &mut RunRecord,
) -> Result<ExecutionArtifacts, RuntimeError> {
    let planned = checked.planned();
    let services = planned.services();
    if !planned.may_be_repeated() {
        return Ok(artifacts);
    }
    for _ in 1..planned.options().attempts() {
        let Some(next) = ended.next(checked, &mut artifacts).await else {
            return Ok(artifacts);
        };
        artifacts = record.close_attempt(&services.config().recorder, artifacts)?;
        let further = further_attempt(checked.clone(), next, events.clone(), record).await;
        let unstarted = match further {
            Ok(Further::Ended(further)) => match *further {
                (further, Some(refused)) => {
                    (artifacts, ended) = (further, refused);
                    continue;
                }
                (further, None) => return Ok(further),
            },
            Ok(Further::Same) => {
                record.discard();
                return Ok(artifacts);
            }
            Ok(Further::Denied(denial)) => {
                artifacts
                    .notes
                    .push("what was refused was not allowed".to_owned());
                denial.to_string()
            }
            Ok(Further::Allowed { for_later_runs }) => {
                if for_later_runs {
                    artifacts.explanation.remedies = vec![Remedy::StartAgain];
                }
                "not started again: the attempt before has effects".to_owned()
            }
            Err(error) if record.has_started() => return Err(error),
            // The results of the attempt before are not lost.
            Err(error) => {
                let reason = record.redactor.redact_text(&error.message_with_sources());
                artifacts
                    .notes
                    .push(format!("cannot run it again: {reason}"));
                error_text(&error)
            }
        };
        return record.close_unstarted(&unstarted, artifacts);
    }
    Ok(artifacts)
}

/// Authorizes what was checked with what the earlier attempt lacked, and runs it if nothing is done
/// twice.
async fn further_attempt(
    checked: Arc<Checked>,
    next: NextAttempt,
    events: Option<Listener>,
    record: &mut RunRecord,
) -> Result<Further, RuntimeError> {
    let authorized = match Authorized::decide(checked, Some(&next), record).await? {
        AttemptDecision::Granted(authorized) => authorized,
        AttemptDecision::Denied(denial) => return Ok(Further::Denied(denial)),
    };
    let earlier = &next.earlier;
    if authorized.grants().add_nothing_to(earlier) {
        return Ok(Further::Same);
    }
    if !earlier.done.is_none() {
        return Ok(Further::Allowed {
            for_later_runs: authorized.is_for_later_runs(earlier),
        });
    }
    let ended = start(*authorized, events, record).await?;
    Ok(Further::Ended(Box::new(ended)))
}

/// Runs what was authorized, and collects its results.
async fn start(
    authorized: Authorized,
    events: Option<Listener>,
    record: &mut RunRecord,
) -> Result<(ExecutionArtifacts, Option<EndedAttempt>), RuntimeError> {
    let ready = Ready::prepare(authorized, events, record).await?;
    let finished = ready.run(record).await?;
    Ok(finished.into_artifacts(&record.redactor))
}

fn denied(checked: &Checked, denial: Denial) -> ExecutionArtifacts {
    let planned = checked.planned();
    ExecutionArtifacts::denied(planned.name().to_owned(), planned.mode().clone(), denial)
}

/// Reads a skill of a source before a run is planned: a source can be a server, for which this thread
/// must not wait.
async fn read_from_source(
    services: &Services,
    name: &str,
) -> Result<Option<SkillFiles>, RuntimeError> {
    let library = services.library();
    if !library.discovery().has_sources() {
        return Ok(None);
    }
    let (library, name) = (library.clone(), name.to_owned());
    let read = skills_threads::run_blocking(move || library.read_from_source(&name));
    let read = read.await;
    Ok(read.map_err(|error| SandboxError::setup("reading the skill", error))??)
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Mutex;
    use std::time::Duration;

    use skills_audit::{AuditError, AuditSink, Event};
    use skills_discovery::{Discovery, Root, Scope};
    use skills_library::{Library, LibraryConfig};
    use skills_policy::PermissionManager;
    use skills_sandbox::{
        CapturedOutput, EnforcementReport, Job, RunFuture, RunOutput, Sandbox, Termination,
    };

    use super::*;
    use crate::{Backends, CopyDirectories, ExecutorConfig, InputFile, Recorder, Workspace};

    /// Keeps the paths of each job: the copy of the skill, and its workspace. Removes the input file.
    #[derive(Default)]
    struct Paths(Mutex<Vec<(PathBuf, PathBuf)>>);

    impl Sandbox for Paths {
        fn name(&self) -> &'static str {
            "paths"
        }

        fn run(&self, job: Job) -> RunFuture<'_> {
            let files = job.grants().files();
            let copy = files.iter().find(|file| file.location() != file.path());
            let workspace = files.iter().find(|file| file.location() == file.path());
            let (copy, workspace) = (copy.unwrap().location(), workspace.unwrap().path());
            std::fs::remove_file(workspace.join("input.txt")).unwrap();
            let mut paths = self.0.lock().unwrap();
            paths.push((copy.to_owned(), workspace.to_owned()));
            let exited = Termination::Exited { code: 0 };
            let (out, err) = (CapturedOutput::default(), CapturedOutput::default());
            let report = EnforcementReport::new("paths");
            let output = RunOutput::new(exited, out, err, Duration::ZERO, report);
            Box::pin(std::future::ready(Ok(output)))
        }
    }

    #[derive(Default)]
    struct Digests(Mutex<Vec<Option<String>>>);

    impl AuditSink for Digests {
        fn record(&self, event: &Event) -> Result<(), AuditError> {
            self.0.lock().unwrap().push(event.digest.clone());
            Ok(())
        }
    }

    /// What was checked stays: a further attempt has the same copy, and a workspace and a record of its
    /// own.
    #[tokio::test]
    #[expect(
        clippy::disallowed_methods,
        reason = "prepares a skill and removes an input file"
    )]
    async fn attempts_share_what_was_checked_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let below = |name: &str| directory.path().join(name);
        std::fs::create_dir_all(below("skills/one/scripts")).unwrap();
        std::fs::create_dir(below("scratch")).unwrap();
        let document = "---\nname: one\ndescription: d\n---\n";
        std::fs::write(below("skills/one/SKILL.md"), document).unwrap();
        std::fs::write(below("skills/one/scripts/main.sh"), "true").unwrap();
        let root = Root::new(below("skills"), Scope::User);
        let library = Library::new(Discovery::new([root]), LibraryConfig::default());
        let (sandbox, log) = (Arc::<Paths>::default(), Arc::<Digests>::default());
        let mut backends = Backends::default();
        backends.native = Some(sandbox.clone());
        let config = ExecutorConfig {
            backends: Arc::new(backends),
            recorder: Recorder {
                sink: Some(log.clone()),
                ..Recorder::default()
            },
            directories: CopyDirectories {
                scratch: below("scratch"),
                memory: None,
            },
            ..ExecutorConfig::default()
        };
        let services = Services::new(library, PermissionManager::default(), config);
        let options = ExecutionOptions {
            workspace: Workspace::Private(vec![InputFile::new("input.txt", "text")]),
            ..ExecutionOptions::default()
        };
        let context = options.context.clone();
        let planned = Planned::of_skill(&services, "one", options, None).unwrap();
        let checked = Arc::new(Checked::new(planned).await.unwrap());
        for _ in 0..2 {
            let recorder = &services.config().recorder;
            let mut record = recorder.begin("one", &context).unwrap();
            let decision = Authorized::decide(checked.clone(), None, &mut record).await;
            let Ok(AttemptDecision::Granted(authorized)) = decision else {
                panic!("it asks for nothing")
            };
            let ended = start(*authorized, None, &mut record).await.unwrap();
            let artifacts = record.close(Ok(ended.0)).unwrap();
            assert!(artifacts.exit_status.is_success());
        }
        let paths = sandbox.0.lock().unwrap();
        let [(first_copy, first), (second_copy, second)] = &paths[..] else {
            panic!("{paths:?}")
        };
        assert_eq!(first_copy, second_copy);
        assert_ne!(first, second);
        assert!(!first.exists() && !second.exists());
        let digests = log.0.lock().unwrap();
        assert!(digests.len() == 2 && digests[0].is_some() && digests[0] == digests[1]);
    }
}
