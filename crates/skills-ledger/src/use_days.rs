//! The days on which a skill was used.

/// Number of days that are remembered: a little more than three years.
const DAYS: usize = 1_152;
/// Uses with at least this many days between them are in different bursts.
const BURST_GAP_DAYS: u32 = 7;

/// The days before a summary on which a skill was used, one bit for each of the last 1,152 days.
///
/// Day 0 is the 24 hours before the time of the summary. A set needs the same memory for one use and
/// for a million, and does not depend on the order of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UseDays([u64; DAYS / 64]);

impl Default for UseDays {
    fn default() -> Self {
        Self([0; DAYS / 64])
    }
}

impl UseDays {
    /// Adds a use some days ago. Older uses than the set remembers are ignored.
    pub(crate) fn add(&mut self, days_ago: u64) {
        let Ok(day) = usize::try_from(days_ago) else {
            return;
        };
        if let Some(word) = self.0.get_mut(day / 64) {
            *word |= 1 << (day % 64);
        }
    }

    /// Returns the days with a use, as days ago, the most recent first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let is_used = |day: &u32| self.0[*day as usize / 64] >> (day % 64) & 1 == 1;
        (0..DAYS as u32).filter(is_used)
    }

    /// Returns the number of days with a use.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns the number of days with a use, of which each counts half as much as one that is 30
    /// days more recent.
    #[must_use]
    pub fn decayed_count(&self) -> f64 {
        self.iter()
            .map(|day| crate::statistics::decay(f64::from(day)))
            .sum()
    }

    /// Returns the gaps between bursts of use, in days, the most recent first. Uses within a week
    /// are one burst.
    #[must_use]
    pub fn gaps(&self) -> Vec<u32> {
        let days: Vec<u32> = self.iter().collect();
        let gaps = days.windows(2).map(|pair| pair[1] - pair[0]);
        gaps.filter(|gap| *gap > BURST_GAP_DAYS).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_within_a_week_are_one_burst() {
        let mut days = UseDays::default();
        for day in [0, 0, 2, 9, 100, 101, 1_151, 1_152, u64::MAX] {
            days.add(day);
        }
        assert_eq!(days.iter().collect::<Vec<_>>(), [0, 2, 9, 100, 101, 1_151]);
        assert_eq!((days.count(), days.gaps()), (6, vec![91, 1_050]));
    }
}
