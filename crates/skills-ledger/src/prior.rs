//! How much the use of a skill counts in a ranking.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use skills_store::trusted_file::{self, Privacy};

use crate::{Ledger, LedgerError, Summary, Timestamp};

/// The largest bonus: a factor of 1.1.
pub const MAX_USAGE_BONUS: f64 = 0.1;
/// The number of recent days of use with half of the largest bonus.
const HALF_BONUS_DAYS: f64 = 4.0;
/// A stored prior is computed again after this time.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum size of a stored prior, in bytes.
const MAX_STORED_BYTES: u64 = 16 << 20;
const STORED_FILE: &str = "prior.json";

/// How much the use of each skill counts in a ranking: a factor from 1 to 1.1.
///
/// A skill that was never used has the factor 1, and no use leads to a smaller one. So a ranking
/// that multiplies scores by it never changes the order of two skills whose scores differ by more
/// than a tenth, and a skill that was never used stays within reach of those that are used each day.
/// Each day of use counts once, however often the skill was used on it, and half as much after 30
/// days.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UsagePrior {
    /// By name, then for each scope the recent days of use.
    skills: HashMap<String, Vec<(String, f64)>>,
}

/// A prior in a file.
#[derive(Serialize, Deserialize)]
struct Stored {
    computed: Timestamp,
    skills: Vec<(String, String, f64)>,
}

impl UsagePrior {
    /// Computes the factors of all skills of a summary.
    #[must_use]
    pub fn new(summary: &Summary) -> Self {
        let used = summary
            .skills
            .iter()
            .filter(|skill| skill.last_use.is_some());
        let skills = used.map(|skill| {
            let days = skill.use_days.decayed_count();
            (skill.name.clone(), skill.scope.clone(), days)
        });
        Self::from_days(skills)
    }

    fn from_days(days: impl IntoIterator<Item = (String, String, f64)>) -> Self {
        let mut prior = Self::default();
        for (name, scope, days) in days {
            prior.skills.entry(name).or_default().push((scope, days));
        }
        prior
    }

    /// Returns the number of days on which a skill was used, of which each counts half as much as
    /// one that is 30 days more recent; 0 for unknown skills.
    #[must_use]
    pub fn recent_days(&self, name: &str, scope: &str) -> f64 {
        let mut scopes = self.skills.get(name).into_iter().flatten();
        let found = scopes.find(|(known, _)| known == scope);
        found.map_or(0.0, |(_, days)| days.max(0.0))
    }

    /// Returns the factor of a skill, from 1 to 1 + [`MAX_USAGE_BONUS`]; 1 for unknown skills.
    #[must_use]
    pub fn factor(&self, name: &str, scope: &str) -> f64 {
        let days = self.recent_days(name, scope);
        // Also for a stored number that is not one.
        let share = days / (days + HALF_BONUS_DAYS);
        1.0 + MAX_USAGE_BONUS
            * if share.is_finite() {
                share.clamp(0.0, 1.0)
            } else {
                0.0
            }
    }
}

impl Ledger {
    /// Returns the prior of the ledger. It is stored in the directory of the ledger, and computed
    /// again if it is older than a day, from the last two files of uses: at most 16 MiB with the
    /// default rotation.
    ///
    /// # Errors
    /// Fails if a file cannot be opened or read. That the prior cannot be stored is not an error.
    pub fn prior(&self, now: Timestamp) -> Result<UsagePrior, LedgerError> {
        if let Some(stored) = self.stored_prior(now) {
            return Ok(UsagePrior::from_days(stored.skills));
        }
        let prior = UsagePrior::new(&self.summarize_recent_uses(now)?);
        // Without it the next process computes it again.
        let _ = self.store_prior(&prior, now);
        Ok(prior)
    }

    fn stored_prior(&self, now: Timestamp) -> Option<Stored> {
        let path = self.directory().join(STORED_FILE);
        let text = trusted_file::read(&path, MAX_STORED_BYTES, Privacy::Readable).ok()?;
        let stored: Stored = serde_json::from_slice(&text).ok()?;
        let is_recent = stored.computed <= now && now < stored.computed.plus(MAX_AGE);
        is_recent.then_some(stored)
    }

    fn store_prior(&self, prior: &UsagePrior, now: Timestamp) -> std::io::Result<()> {
        let skills = prior.skills.iter().flat_map(|(name, scopes)| {
            let scopes = scopes.iter();
            scopes.map(|(scope, days)| (name.clone(), scope.clone(), *days))
        });
        let mut skills: Vec<_> = skills.collect();
        skills.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        let stored = Stored {
            computed: now,
            skills,
        };
        // A reader sees the old file or the new one. Two writers may replace each other's.
        let temporary = self
            .directory()
            .join(format!("{STORED_FILE}.{}", std::process::id()));
        let mut options = OpenOptions::new();
        options.create(true).truncate(true).write(true);
        let written = trusted_file::open_with(&temporary, &mut options)
            .map_err(std::io::Error::from)
            .and_then(|mut file| file.write_all(&serde_json::to_vec(&stored)?))
            .and_then(|()| std::fs::rename(&temporary, self.directory().join(STORED_FILE)));
        if written.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        written
    }
}
