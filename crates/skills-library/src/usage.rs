//! Records how skills are used.

mod recent_offers;
mod worker;

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use skills_discovery::{Catalog, Entry, Scope};
use skills_ledger::{ActivatedBy, Activity, Digest, Ledger, RunOutcome, SessionHash, Timestamp};
use skills_prompt::{Inclusion, SkillListRenderer, SkillSummary, UseKind};
use skills_threads::lock;

use crate::content_digests::ContentDigests;
use recent_offers::RecentOffers;
use worker::{Batch, Worker};

/// Maximum number of recently used skills that precede others in a list.
#[cfg(feature = "search")]
const MAX_RECENTLY_USED: usize = 3;

/// Records how skills are used in a usage ledger (`skills-ledger`).
///
/// [`Library::usage`](crate::Library::usage) returns it. Without a
/// [ledger](crate::LibraryConfig::ledger) nothing is recorded. The renderer records lists and
/// activations, and an executor records runs. A host application records the outcome of a turn, which
/// only it knows.
///
/// Recording is never worth a delay or a failure: events are written by a background thread, which
/// computes the digest of a skill if nothing else has. Events beyond a queue of 1,024 are dropped,
/// and errors of the ledger are ignored. Dropping the last clone of the library waits until all
/// events are written.
///
/// ```
/// use skills_discovery::{Discovery, Root, Scope};
/// use skills_ledger::{Activity, Ledger, TurnOutcome};
/// use skills_library::{Library, LibraryConfig};
///
/// # let directory = tempfile::tempdir()?;
/// # std::fs::create_dir_all(directory.path().join("skills/greet"))?;
/// # std::fs::write(directory.path().join("skills/greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
/// let ledger = Ledger::new(directory.path().join("ledger"));
/// let discovery = Discovery::new([Root::new(directory.path().join("skills"), Scope::User)]);
/// let config = LibraryConfig {
///     ledger: Some(ledger.clone()),
///     ..LibraryConfig::default()
/// };
/// let library = Library::new(discovery, config);
/// let accepted = Activity::TurnEnded(TurnOutcome::Accepted);
/// library.usage().record(library.catalog().entries(), accepted, Some("session"));
/// library.usage().flush();
/// let summary = ledger.summarize(std::time::SystemTime::now().into())?;
/// assert_eq!(summary.skill("greet", "user").unwrap().counts.get(accepted), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct UsageRecorder(Option<Arc<Shared>>);

/// Returns the scope of a skill in the ledger.
///
/// It is that of its root; in a project or a custom root, of which there are many, it also names the
/// directory of the skill by a hash, so that skills of the same name in two projects are counted
/// apart.
#[must_use]
pub fn ledger_scope(entry: &Entry) -> String {
    let scope = entry.scope().as_str();
    match entry.scope() {
        Scope::Custom | Scope::Repo => skills_ledger::scope_of_directory(scope, entry.directory()),
        _ => scope.to_owned(),
    }
}

struct Shared {
    ledger: Ledger,
    clock: fn() -> SystemTime,
    digests: Arc<ContentDigests>,
    recent_offers: Mutex<RecentOffers>,
    /// Started with the first event.
    worker: Mutex<Option<Worker>>,
}

impl UsageRecorder {
    pub(crate) fn new(
        ledger: Option<Ledger>,
        clock: fn() -> SystemTime,
        digests: &Arc<ContentDigests>,
    ) -> Self {
        Self(ledger.map(|ledger| {
            Arc::new(Shared {
                ledger,
                clock,
                digests: Arc::clone(digests),
                recent_offers: Mutex::default(),
                worker: Mutex::default(),
            })
        }))
    }

    /// Returns true if there is a ledger.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the ledger.
    #[must_use]
    pub fn ledger(&self) -> Option<&Ledger> {
        self.0.as_ref().map(|shared| &shared.ledger)
    }

    /// Returns the skills of a catalog that were used in the last 30 days, at most three, the last
    /// used first; none without a ledger, or if it cannot be read.
    #[cfg(feature = "search")]
    pub(crate) fn recently_used<'c>(&self, catalog: &'c Catalog) -> Vec<&'c Entry> {
        let Some(shared) = self.0.as_ref() else {
            return Vec::new();
        };
        let now = Timestamp::from((shared.clock)());
        let recent = shared.ledger.recent_uses(now).unwrap_or_default();
        let used = recent.iter().filter_map(|one| {
            let mut entries = catalog.entries().iter();
            entries.find(|entry| {
                entry.name().as_str() == one.skill && ledger_scope(entry) == one.scope
            })
        });
        used.take(MAX_RECENTLY_USED).collect()
    }

    /// Records that skills were used now. Only a part of the digest of the session id is recorded.
    ///
    /// A skill that is offered to a session again within half an hour is recorded once, since
    /// clients fetch lists repeatedly. Does not block.
    pub fn record<'e>(
        &self,
        entries: impl IntoIterator<Item = &'e Entry>,
        activity: Activity,
        session: Option<&str>,
    ) {
        if self.is_enabled() {
            let skills = entries.into_iter().map(|entry| (entry.clone(), None));
            self.send(skills.collect(), activity, session.map(SessionHash::new));
        }
    }

    /// Records a use of a skill that [`ImplicitIndex`](skills_prompt::ImplicitIndex) has found in a
    /// command: reading a `SKILL.md` is an activation, and a script has run. Does not block.
    pub fn record_implicit(&self, entry: &Entry, kind: UseKind, session: Option<&str>) {
        let activity = match kind {
            UseKind::ReadDocument => Activity::Activated(ActivatedBy::Implicit),
            UseKind::RunScript => Activity::ScriptRun(RunOutcome::NotObserved),
            _ => return,
        };
        self.record([entry], activity, session);
    }

    /// Records the skills that a list shows with a description. A name alone does not say what a
    /// skill is for.
    pub(crate) fn record_offers(
        &self,
        catalog: &Catalog,
        renderer: &SkillListRenderer<'_>,
        items: &[SkillSummary<'_>],
        session: Option<&str>,
    ) {
        if !self.is_enabled() {
            return;
        }
        let is_offered =
            |inclusion| matches!(inclusion, Inclusion::Full | Inclusion::Truncated { .. });
        let reports = renderer.explain(items).into_iter();
        let offered: HashSet<String> = reports
            .filter(|report| is_offered(report.inclusion))
            .map(|report| report.location)
            .collect();
        let is_listed =
            |entry: &&Entry| offered.contains(entry.location().to_string_lossy().as_ref());
        let entries = catalog.entries().iter().filter(is_listed);
        self.record(entries, Activity::Offered, session);
    }

    /// Records the run of a program, with the digest of the content that ran if it is known.
    pub fn record_run(
        &self,
        entry: Entry,
        digest: Option<Digest>,
        outcome: RunOutcome,
        session: Option<SessionHash>,
    ) {
        self.send(vec![(entry, digest)], Activity::ScriptRun(outcome), session);
    }

    /// Waits until everything that was recorded is written.
    pub fn flush(&self) {
        let Some(shared) = &self.0 else {
            return;
        };
        let worker = lock(&shared.worker);
        let written = worker.as_ref().and_then(Worker::request_flush);
        // The wait must not block those who record.
        drop(worker);
        if let Some(written) = written {
            // Fails if the thread has panicked.
            let _ = written.recv();
        }
    }

    fn send(
        &self,
        mut skills: Vec<(Entry, Option<Digest>)>,
        activity: Activity,
        session: Option<SessionHash>,
    ) {
        let Some(shared) = &self.0 else {
            return;
        };
        let time = Timestamp::from((shared.clock)());
        if activity == Activity::Offered {
            let recent = &shared.recent_offers;
            let mut recent = lock(recent);
            skills.retain(|(entry, _)| recent.is_new(session, entry.directory(), time));
        }
        if skills.is_empty() {
            return;
        }
        let batch = Batch {
            skills,
            activity,
            session,
            time,
        };
        let mut worker = lock(&shared.worker);
        worker
            .get_or_insert_with(|| Worker::spawn(&shared.ledger, &shared.digests))
            .send(batch);
    }
}

impl fmt::Debug for UsageRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("UsageRecorder");
        debug
            .field("ledger", &self.ledger())
            .finish_non_exhaustive()
    }
}
