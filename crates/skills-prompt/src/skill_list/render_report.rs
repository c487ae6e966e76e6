//! What the budget did to a list.

use super::Layout;
use crate::{Budget, ListingMode};

/// The average of characters taken from each description above which users are told (Codex).
const MIN_REPORTED_AVERAGE: usize = 100;

/// What the budget did to a list: every skill that was shortened or left out, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderReport {
    /// The budget.
    pub budget: Budget,
    /// What the entries cost, and the table of root aliases if there is one; never more than the
    /// budget.
    pub cost: usize,
    /// How many skills were to be shown.
    pub total: usize,
    /// How many are in the list.
    pub included: usize,
    /// How many of these have at least a part of their description.
    pub described: usize,
    /// The skills of the list whose description is not whole, in the order of the list; also those
    /// with one of more than 1,024 characters.
    pub truncated: Vec<String>,
    /// The skills that the budget left out, in the order of the list.
    pub omitted: Vec<String>,
    /// The pinned skills among those that were left out: the budget is too small for what must be
    /// there.
    pub omitted_pinned: Vec<String>,
    /// How many characters of descriptions are missing, those of skills that were left out
    /// included.
    pub truncated_characters: usize,
    /// How many descriptions are not whole, those of skills that were left out included.
    pub truncated_descriptions: usize,
    /// The skills that are not in the list since their mode says so.
    pub unlisted: Vec<(String, ListingMode)>,
    /// The roots that have an alias, as `r0` = path.
    pub root_aliases: usize,
    /// What was taken out of the list because nobody could see it.
    pub removed_characters: Vec<RemovedCharacter>,
}

/// Something invisible that was taken out of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemovedCharacter {
    /// The skill.
    pub skill: String,
    /// Where it stood: `name`, `description` or `path`.
    pub field: &'static str,
    /// The first of the characters.
    pub code_point: char,
}

impl RenderReport {
    /// What a plan says, before its entries are written.
    pub(super) fn new(budget: Budget, chosen: &Layout<'_>) -> Self {
        Self {
            budget,
            cost: chosen.table_cost,
            total: chosen.entries.len(),
            included: chosen.included,
            described: 0,
            truncated: Vec::new(),
            omitted: Vec::new(),
            omitted_pinned: Vec::new(),
            truncated_characters: chosen.truncated,
            truncated_descriptions: 0,
            unlisted: Vec::new(),
            root_aliases: chosen.table.len(),
            removed_characters: Vec::new(),
        }
    }

    /// Returns how many characters each description lost on average, rounded up.
    #[must_use]
    pub fn average_truncation(&self) -> usize {
        self.truncated_characters.div_ceil(self.total.max(1))
    }

    /// Returns the sentence that a user should see, in the words that users of Codex know; nothing
    /// when hardly anything is missing. `agent` is who reads the list, as in `Codex`.
    #[must_use]
    pub fn warning(&self, agent: &str) -> Option<String> {
        let is_share = matches!(self.budget, Budget::WindowShare(_));
        match self.omitted.len() {
            0 if self.average_truncation() > MIN_REPORTED_AVERAGE => {
                let share = if is_share { "2% " } else { "" };
                Some(format!(
                    "Skill descriptions were shortened to fit the {share}skills context budget. {agent} can still see every skill, but some \
                     descriptions are shorter. Disable unused skills or plugins to leave more room for the rest."
                ))
            }
            0 => None,
            omitted => {
                let share = if is_share { " of 2%" } else { "" };
                let skills = if omitted == 1 {
                    "skill was"
                } else {
                    "skills were"
                };
                // Pinned and ranked lists keep some.
                let removed = if self.described == 0 { "All" } else { "Most" };
                Some(format!(
                    "Exceeded skills context budget{share}. {removed} skill descriptions were removed and {omitted} additional {skills} not included \
                     in the model-visible skills list."
                ))
            }
        }
    }
}
