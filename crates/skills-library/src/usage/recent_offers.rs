//! The offers of the last half hour.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skills_ledger::{SessionHash, Timestamp};

/// How long a skill that was offered to a session is not new to it.
const WINDOW: Duration = Duration::from_secs(30 * 60);
/// Maximum number of offers that are remembered: those of a large catalog to a few sessions. A list
/// of more skills would count each of them each time.
const MAX_OFFERS: usize = 200_000;

/// Remembers which skills a session was offered, since clients fetch lists repeatedly.
#[derive(Debug, Default)]
pub(super) struct RecentOffers(HashMap<(Option<SessionHash>, PathBuf), Timestamp>);

impl RecentOffers {
    /// Returns true if a skill was not offered to the session in the last half hour, and remembers
    /// that it is offered now.
    pub(super) fn is_new(
        &mut self,
        session: Option<SessionHash>,
        directory: &Path,
        now: Timestamp,
    ) -> bool {
        let is_recent = |time: &Timestamp| *time <= now && now < time.plus(WINDOW);
        if self.0.len() >= MAX_OFFERS {
            self.0.retain(|_, time| is_recent(time));
        }
        if self.0.len() >= MAX_OFFERS {
            // Counting some twice is better than to remember without bounds.
            self.0.clear();
        }
        let key = (session, directory.to_owned());
        if self.0.get(&key).is_some_and(is_recent) {
            return false;
        }
        self.0.insert(key, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_is_new_again_after_half_an_hour() {
        let mut offers = RecentOffers::default();
        let start = Timestamp::from_millis(1_764_000_000_000);
        let mut is_new = |session: &str, minute: u64| {
            let now = start.plus(Duration::from_secs(minute * 60));
            offers.is_new(Some(SessionHash::new(session)), Path::new("/a"), now)
        };
        assert!(is_new("one", 0) && is_new("two", 0));
        assert!(!is_new("one", 29) && is_new("one", 30) && !is_new("one", 31));
        // A clock that was set back.
        assert!(is_new("one", 1));
    }

    #[test]
    fn a_large_list_is_counted_once() {
        let mut offers = RecentOffers::default();
        let directories: Vec<PathBuf> = (0..50_000).map(|n| PathBuf::from(n.to_string())).collect();
        for expected in [directories.len(), 0, 0] {
            let now = Timestamp::from_millis(1_764_000_000_000);
            let is_new = |directory: &&PathBuf| offers.is_new(None, directory, now);
            assert_eq!(directories.iter().filter(is_new).count(), expected);
        }
    }

    #[test]
    fn offers_are_bounded() {
        let mut offers = RecentOffers::default();
        for number in 0..2 * MAX_OFFERS as u64 {
            let directory = PathBuf::from(number.to_string());
            offers.is_new(None, &directory, Timestamp::from_millis(number));
            assert!(offers.0.len() <= MAX_OFFERS);
        }
    }
}
