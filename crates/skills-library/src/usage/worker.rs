//! The thread that writes events.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use skills_discovery::Entry;
use skills_ledger::{Activity, Digest, Event, Ledger, SessionHash, Timestamp};

use super::ledger_scope;
use crate::content_digests::ContentDigests;

/// Number of batches that wait to be written; more are dropped.
const MAX_WAITING: usize = 1_024;
/// Number of batches that are written at once.
const MAX_WRITTEN: usize = 64;
/// Maximum size of a skill, in bytes, that is read to know the digest of what a list shows. Lists
/// have many skills.
const MAX_OFFERED_BYTES: u64 = 256 * 1024;
/// Maximum size of a skill, in bytes, that is read to know the digest of what was used.
const MAX_USED_BYTES: u64 = 32 << 20;

/// Skills that were used in the same way at the same time.
pub(super) struct Batch {
    /// With the digest of each, if it is known.
    pub(super) skills: Vec<(Entry, Option<Digest>)>,
    pub(super) activity: Activity,
    pub(super) session: Option<SessionHash>,
    pub(super) time: Timestamp,
}

enum Message {
    Batch(Batch),
    /// Answered when everything before it is written.
    Flush(SyncSender<()>),
}

/// A thread that writes events. Dropping it waits until all are written.
pub(super) struct Worker {
    /// `None` while it is dropped.
    sender: Option<SyncSender<Message>>,
    /// `None` if the thread could not be started; then nothing is recorded.
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    pub(super) fn spawn(ledger: &Ledger, digests: &Arc<ContentDigests>) -> Self {
        let (sender, receiver) = sync_channel(MAX_WAITING);
        let (ledger, digests) = (ledger.clone(), Arc::clone(digests));
        let thread = std::thread::Builder::new()
            .name("skills-usage".to_owned())
            .spawn(move || write_events(&receiver, &ledger, &digests));
        Self {
            sender: Some(sender),
            thread: thread.ok(),
        }
    }

    pub(super) fn send(&self, batch: Batch) {
        if let Some(sender) = &self.sender {
            // A full queue means that the disk is too slow: events are not worth a delay.
            let _ = sender.try_send(Message::Batch(batch));
        }
    }

    /// Returns a receiver that gets a message when everything that was sent is written.
    pub(super) fn request_flush(&self) -> Option<Receiver<()>> {
        let (done, written) = sync_channel(1);
        let sender = self.sender.as_ref()?;
        sender.send(Message::Flush(done)).ok()?;
        Some(written)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has lost events; a failed ledger is never reported to the run.
            let _ = thread.join();
        }
    }
}

fn write_events(receiver: &Receiver<Message>, ledger: &Ledger, digests: &ContentDigests) {
    while let Ok(first) = receiver.recv() {
        let mut events = Vec::new();
        let mut flushed = Vec::new();
        let more = std::iter::from_fn(|| receiver.try_recv().ok());
        for message in std::iter::once(first).chain(more).take(MAX_WRITTEN) {
            match message {
                Message::Batch(batch) => events.extend(batch.into_events(digests)),
                Message::Flush(done) => flushed.push(done),
            }
        }
        // Nothing that is recorded may fail because of its record.
        let _ = ledger.append(&events);
        for done in flushed {
            let _ = done.send(());
        }
    }
}

impl Batch {
    fn into_events<'a>(
        self,
        digests: &'a ContentDigests,
    ) -> impl Iterator<Item = Event<'static>> + 'a {
        let Self {
            skills,
            activity,
            session,
            time,
        } = self;
        let max_bytes = if activity.is_exposure() {
            MAX_OFFERED_BYTES
        } else {
            MAX_USED_BYTES
        };
        skills.into_iter().map(move |(entry, digest)| {
            let name = entry.name().as_str().to_owned();
            let digest = digest.or_else(|| content_digest(&entry, max_bytes, digests));
            Event::new(name, ledger_scope(&entry), activity, time)
                .digest(digest)
                .session(session)
        })
    }
}

/// Returns the present content of a skill; `None` if it cannot be read or is too large.
fn content_digest(entry: &Entry, max_bytes: u64, digests: &ContentDigests) -> Option<Digest> {
    if !entry.has_directory() {
        // Opening it would read the whole skill from its source because a list has shown its name.
        let listed = entry.locked_digest()?;
        return Some(Digest::from_content_digest(listed.as_bytes()));
    }
    let files = entry.open().ok()?;
    let digest = files.digest_up_to(max_bytes, &mut digests.lock()).ok()?;
    Some(Digest::from_content_digest(digest.as_bytes()))
}

#[cfg(test)]
mod tests {
    use skills_discovery::{Discovery, MemorySkill, MemorySource, Scope, SourceRoot, TreePath};

    use super::*;

    #[test]
    fn a_skill_of_a_source_is_recorded_without_opening_it() {
        let scratch = tempfile::tempdir().unwrap();
        let text = "---\nname: pdf\ndescription: Reads.\n---\n";
        let path = |text| TreePath::new(text).unwrap();
        let skill = MemorySkill::new(path("pdf")).file(path("SKILL.md"), text);
        let source = Arc::new(MemorySource::new("app", [skill]));
        let root = SourceRoot::new(source, Scope::User, scratch.path());
        let catalog = Discovery::new([]).source(root).scan();
        let entry = &catalog.entries()[0];
        let digests = ContentDigests::default();
        let digest = content_digest(entry, MAX_OFFERED_BYTES, &digests);
        let listed = entry.locked_digest().unwrap();
        assert_eq!(digest, Some(Digest::from_content_digest(listed.as_bytes())));
        assert_eq!(scratch.path().read_dir().unwrap().count(), 0);
    }
}
