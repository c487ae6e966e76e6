//! A way to list all entries within the budget.

use super::budget_plan::{BudgetPlan, plan_cost};
use super::list_entry::ListEntry;
use crate::budget::CostMeter;

/// A plan with its entries and its totals.
pub(super) struct Layout<'a> {
    pub(super) entries: Vec<ListEntry<'a>>,
    pub(super) plan: BudgetPlan,
    /// The lines of the table of root aliases.
    pub(super) table: Vec<String>,
    pub(super) table_cost: usize,
    /// The number of listed skills.
    pub(super) included: usize,
    /// The number of omitted characters of descriptions.
    pub(super) truncated: usize,
    pub(super) cost: usize,
}

impl<'a> Layout<'a> {
    pub(super) fn new(
        entries: Vec<ListEntry<'a>>,
        plan: BudgetPlan,
        table: Vec<String>,
        table_cost: usize,
        meter: &CostMeter<'_>,
    ) -> Self {
        let included = plan.iter().flatten().count();
        let truncated = entries
            .iter()
            .zip(&plan)
            .map(|(entry, shown)| entry.shown_chars - shown.unwrap_or_default())
            .sum();
        let cost = table_cost + plan_cost(&entries.iter().collect::<Vec<_>>(), &plan, meter);
        Self {
            entries,
            plan,
            table,
            table_cost,
            included,
            truncated,
            cost,
        }
    }

    /// Returns true for more skills, else for more of their descriptions, else for a lower cost
    /// (Codex).
    pub(super) fn is_better_than(&self, other: &Self) -> bool {
        let rank = |layout: &Self| (usize::MAX - layout.included, layout.truncated, layout.cost);
        rank(self) < rank(other)
    }
}
