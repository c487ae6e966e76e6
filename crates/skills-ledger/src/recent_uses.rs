//! The skills that were used last.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::time::Duration;

use crate::ledger::Stream;
use crate::line::{self, Parsed};
use crate::{Ledger, LedgerError, Timestamp};

/// A use of the last 30 days is recent.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Maximum size of the end of a file of uses that is read, in bytes: more than a thousand uses.
const MAX_BYTES: u64 = 256 << 10;

/// The last use of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecentUse {
    /// The name of the skill.
    pub skill: String,
    /// The scope of its root.
    pub scope: String,
    /// The time of the use.
    pub time: Timestamp,
}

impl Ledger {
    /// Returns the skills that were used in the last 30 days, the last used first. Reads at most the
    /// last 256 KiB of the newest two files of uses: more than a thousand uses.
    ///
    /// # Errors
    /// Fails if a file cannot be opened or read.
    pub fn recent_uses(&self, now: Timestamp) -> Result<Vec<RecentUse>, LedgerError> {
        let mut recent: Vec<RecentUse> = Vec::new();
        for (path, mut file) in self.open_files(Stream::Uses, 1)? {
            let end = read_end(&mut file).map_err(|error| LedgerError::io(&path, error))?;
            for line in end.split(|byte| *byte == b'\n') {
                let Parsed::Event(event) = line::parse(line) else {
                    continue;
                };
                // The clock was wrong if it is later.
                let time = event.time.min(now);
                if event.activity.is_use() && now < time.plus(MAX_AGE) {
                    add(&mut recent, &event.skill, &event.scope, time);
                }
            }
        }
        recent.sort_by(|a, b| {
            let key = |one: &RecentUse| (std::cmp::Reverse(one.time), one.skill.clone());
            key(a).cmp(&key(b))
        });
        Ok(recent)
    }
}

fn add(recent: &mut Vec<RecentUse>, skill: &str, scope: &str, time: Timestamp) {
    let known = recent
        .iter_mut()
        .find(|one| one.skill == skill && one.scope == scope);
    match known {
        Some(known) => known.time = known.time.max(time),
        None => recent.push(RecentUse {
            skill: skill.to_owned(),
            scope: scope.to_owned(),
            time,
        }),
    }
}

/// Reads the end of a file. Its first line may be a part of one, which is not an event.
fn read_end(file: &mut File) -> io::Result<Vec<u8>> {
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(MAX_BYTES)))?;
    let mut end = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut end)?;
    Ok(end)
}
