//! Which skills of a list are recorded as offered.

use std::collections::HashSet;

use skills_discovery::{Catalog, Entry};
use skills_ledger::Activity;
use skills_prompt::{Inclusion, SkillListRenderer, SkillSummary};

use super::PromptRenderer;

impl PromptRenderer {
    /// Records the skills that a list shows with a description. A name alone does not say what a
    /// skill is for.
    pub(super) fn record_offers(
        &self,
        catalog: &Catalog,
        renderer: &SkillListRenderer<'_>,
        items: &[SkillSummary<'_>],
    ) {
        let usage = self.library.usage();
        if !usage.is_enabled() {
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
        usage.record(entries, Activity::Offered, self.session.as_deref());
    }
}
