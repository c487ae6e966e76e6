//! The fourth stage of a run: everything that the program needs is in place, and still what was
//! authorized.

use std::time::SystemTime;

use skills_audit::ContentHash;
use skills_policy::Grants;
use skills_sandbox::{Job, RunEvent};
use tokio::sync::OwnedSemaphorePermit;

use crate::authorize::Authorized;
use crate::cancellation::unless_cancelled;
use crate::collect::Finished;
use crate::error::{Repr, RuntimeError};
use crate::grant_checks::check_canonical;
use crate::job::build_job;
use crate::missing_paths::CreatedFiles;
use crate::output_lines::Listener;
use crate::run_notes::notes_before_run;
use crate::run_record::RunRecord;
use crate::run_streams::RunStreams;
use crate::services::Services;

/// An attempt that starts next. Its record says that it started.
pub(crate) struct Ready {
    authorized: Authorized,
    job: Job,
    streams: RunStreams,
    events: Option<Listener>,
    /// What the caller should know, one line each.
    notes: Vec<String>,
    created: CreatedFiles,
    permit: OwnedSemaphorePermit,
}

impl Ready {
    /// Installs packages, waits for a permit, and verifies that paths and content are unchanged.
    pub(crate) async fn prepare(
        mut authorized: Authorized,
        events: Option<Listener>,
        record: &mut RunRecord,
    ) -> Result<Self, RuntimeError> {
        authorized.install_packages().await?;
        let notes = notes_before_run(&authorized, &record.redactor);
        let services = authorized.planned().services().clone();
        let context = authorized.planned().options().context.clone();
        // Before the job starts, so that the wait does not count as time of the run.
        let permit = services.run_permit(context.progress.as_ref());
        let permit = unless_cancelled(context.cancellation.as_ref(), permit)
            .await?
            .map_err(|_| Repr::Closed)?;
        // Paths are checked after the wait for a permit, which can take minutes in which another
        // program may replace a directory by a symlink.
        let created = CreatedFiles::create(authorized.grants(), authorized.workspace())?;
        let grants = authorized.grants();
        check_canonical(grants)?;
        check_outside_scratch(&services, grants)?;
        let planned = authorized.planned();
        let streams = RunStreams::open(planned, grants.limits().wall_time).await?;
        let job = build_job(&authorized, streams.stdin())?;
        let job = authorized
            .packages()
            .add_to(job)
            .streams(streams.for_job(events.as_ref().map(|events| &events.sender))?);
        let user_home = services.config().user_home.as_deref();
        let job = user_home.into_iter().fold(job, Job::user_home);
        let job = job.locale(services.config().locale.clone());
        let certificates = services.config().certificates.iter();
        let job = certificates.fold(job, |job, file| job.certificate_file(file));
        let checked = authorized.checked();
        let uncovered = checked.verify_content(authorized.content()).await?;
        let readable_skills = authorized.checked().readable_skills();
        readable_skills.check_unchanged(&services).await?;
        let job = uncovered.into_iter().fold(job, Job::hide);
        // As late as possible: what others changed during the wait is not output of this program.
        authorized.snapshot_workspace();
        // Only size and hash, since a record contains no content.
        record.update(|event| event.input = Some(ContentHash::new(job.stdin_bytes())));
        record.start()?;
        Ok(Self {
            authorized,
            job,
            streams,
            events,
            notes,
            created,
            permit,
        })
    }

    /// Runs the program until it ends.
    pub(crate) async fn run(self, record: &mut RunRecord) -> Result<Finished, RuntimeError> {
        let Self {
            authorized,
            job,
            streams,
            events,
            mut notes,
            created,
            permit,
        } = self;
        let send = |event| {
            // A caller that does not listen gets the same with the result.
            let _ = events.as_ref().map(|events| events.sender.send(event));
        };
        notes.iter().cloned().map(RunEvent::Notice).for_each(send);
        send(RunEvent::Started);
        let started = SystemTime::now();
        let output = authorized.checked().sandbox().run(job).await?;
        send(RunEvent::Finished(output.termination.clone()));
        let input = streams.input_hash();
        record.update(|event| event.input = input.or(event.input.take()));
        record.record_connections(&output);
        if !output.termination.is_success() {
            notes.extend(created.notes_on_untouched());
        }
        drop(created);
        drop(permit);
        let has_events = events.is_some_and(|events| events.takes_output);
        Ok(Finished::new(
            authorized, output, notes, started, has_events,
        ))
    }
}

/// Rejects a granted directory that contains a directory for copies: the program could access
/// private copies and workspaces of other runs.
fn check_outside_scratch(services: &Services, grants: &Grants) -> Result<(), RuntimeError> {
    for directory in services.copy_directories() {
        // Granted paths are canonical, so the directory is compared in that form.
        let scratch = directory.canonicalize();
        let scratch = scratch.unwrap_or_else(|_| directory.to_owned());
        let mut files = grants.files().iter();
        if let Some(file) = files.find(|file| scratch.starts_with(file.path())) {
            let path = file.path().to_owned();
            return Err(Repr::ContainsScratch { path, scratch }.into());
        }
    }
    Ok(())
}
