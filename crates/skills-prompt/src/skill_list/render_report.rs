//! The report on a rendered list: costs, truncated and omitted skills.

use super::layout::Layout;
use super::list_entry::RemovedCharacter;
use crate::{Budget, ListingMode};

/// The average number of omitted characters per description above which there is a warning
/// (Codex).
const MIN_REPORTED_AVERAGE: usize = 100;

/// The report on a rendered list, with the name of every truncated or omitted skill.
///
/// [`warning`](Self::warning) is the text for the user; the fields are for diagnostics. Skills are
/// in the order of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderReport {
    /// The budget of the list.
    pub budget: Budget,
    /// The cost of the entries and of the table of root aliases; at most the budget.
    pub cost: usize,
    /// The number of skills that could be listed.
    pub total: usize,
    /// The number of skills in the list.
    pub included: usize,
    /// The number of skills in the list with at least a part of their description.
    pub described: usize,
    /// The skills in the list whose description is truncated, including descriptions of more than
    /// 1,024 characters, which are always truncated.
    pub truncated: Vec<String>,
    /// The skills of which only the name is in the list, in its last line.
    pub named: Vec<String>,
    /// The skills that were omitted because of the budget.
    pub omitted: Vec<String>,
    /// The pinned skills without an entry: the budget is too small for them.
    pub omitted_pinned: Vec<String>,
    /// The number of omitted characters of descriptions, including those of omitted skills.
    pub truncated_characters: usize,
    /// The number of truncated descriptions, including those of omitted skills.
    pub truncated_descriptions: usize,
    /// The skills that are not listed because of their mode.
    pub unlisted: Vec<(String, ListingMode)>,
    /// The number of roots with an alias (`r0`, `r1`, …).
    pub root_aliases: usize,
    /// The invisible characters that were removed, at most one per skill.
    pub removed_characters: Vec<RemovedCharacter>,
}

impl RenderReport {
    /// Creates the report of a layout whose entries have not been written yet.
    pub(super) fn new(budget: Budget, layout: &Layout<'_>) -> Self {
        Self {
            budget,
            cost: layout.table_cost,
            total: layout.entries.len(),
            included: layout.included,
            described: 0,
            truncated: Vec::new(),
            named: Vec::new(),
            omitted: Vec::new(),
            omitted_pinned: Vec::new(),
            truncated_characters: layout.truncated,
            truncated_descriptions: 0,
            unlisted: Vec::new(),
            root_aliases: layout.table.len(),
            removed_characters: Vec::new(),
        }
    }

    /// Returns the average number of omitted characters per skill, rounded up.
    #[must_use]
    pub fn average_truncation(&self) -> usize {
        // An empty list has an average of 0.
        self.truncated_characters.div_ceil(self.total.max(1))
    }

    /// Returns the warning for the user, as Codex words it; `None` if at most 100 characters per
    /// skill were omitted.
    ///
    /// `agent` is the name of the agent that reads the list, such as `Codex`.
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
                // Lists with pinned or ranked skills keep some descriptions.
                let removed = if self.described == 0 { "All" } else { "Most" };
                Some(format!(
                    "Exceeded skills context budget{share}. {removed} skill descriptions were removed and {omitted} additional {skills} not included \
                     in the model-visible skills list."
                ))
            }
        }
    }
}
