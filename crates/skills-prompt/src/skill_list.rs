//! Renders the skills section of a prompt within a budget.

mod allocation;
mod budget_plan;
mod entry_report;
mod instructions;
mod layout;
mod list_entry;
mod list_format;
mod render_report;
mod root_aliases;
mod truncation;

use std::borrow::Cow;

pub use allocation::Allocation;
pub use entry_report::{EntryReport, Inclusion};
pub use instructions::UsageInstructions;
pub use list_entry::RemovedCharacter;
pub use list_format::ListFormat;
pub use render_report::RenderReport;
pub use truncation::Truncation;

use crate::budget::CostMeter;
use crate::{Budget, ListingMode, Role, SkillSummary, Tokenizer};
use layout::Layout;
use list_entry::ListEntry;

/// Renders a [`SkillList`] with options.
///
/// Defaults: the format, order, truncation and usage instructions of Codex, even allocation, four
/// bytes per token, and no root aliases.
///
/// ```
/// use skills_prompt::{Budget, ListFormat, SkillListRenderer, SkillSummary};
///
/// let skills = [
///     SkillSummary::new("a", "Adds numbers.", "/s/a/SKILL.md"),
///     SkillSummary::new("b", "Builds things.", "/s/b/SKILL.md"),
/// ];
/// let renderer = SkillListRenderer::new(Budget::Characters(60)).format(ListFormat::Markdown);
/// let list = renderer.render(&skills);
/// assert_eq!(
///     list.text(),
///     "## Skills\n\n- **a**: Ad (`/s/a/SKILL.md`)\n- **b**: Bu (`/s/b/SKILL.md`)\n"
/// );
/// assert_eq!(list.report().truncated, ["a", "b"]);
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct SkillListRenderer<'a> {
    meter: CostMeter<'a>,
    format: ListFormat,
    truncation: Truncation,
    allocation: Allocation,
    roots: Vec<&'a str>,
    usage_instructions: UsageInstructions,
    search_hint: Option<&'a str>,
}

impl<'a> SkillListRenderer<'a> {
    /// Creates a renderer with the default options.
    pub fn new(budget: Budget) -> Self {
        Self {
            meter: CostMeter {
                budget,
                tokenizer: None,
            },
            format: ListFormat::default(),
            truncation: Truncation::default(),
            allocation: Allocation::default(),
            roots: Vec::new(),
            usage_instructions: UsageInstructions::default(),
            search_hint: None,
        }
    }

    /// Sets the format.
    pub fn format(self, format: ListFormat) -> Self {
        Self { format, ..self }
    }

    /// Sets the tokenizer for budgets in tokens; it has no effect on a budget in characters.
    pub fn tokenizer(mut self, tokenizer: &'a dyn Tokenizer) -> Self {
        self.meter.tokenizer = Some(tokenizer);
        self
    }

    /// Sets how descriptions are truncated.
    pub fn truncation(self, truncation: Truncation) -> Self {
        Self { truncation, ..self }
    }

    /// Sets how the budget for descriptions is divided.
    pub fn allocation(self, allocation: Allocation) -> Self {
        Self { allocation, ..self }
    }

    /// Sets the roots that may get an alias, in the order of the scan; for a catalog they are
    /// [`root_paths`](crate::root_paths). Only the Codex format uses aliases.
    pub fn roots(self, roots: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            roots: roots.into_iter().collect(),
            ..self
        }
    }

    /// Sets whether the section includes instructions for using skills.
    pub fn usage_instructions(self, usage_instructions: UsageInstructions) -> Self {
        Self {
            usage_instructions,
            ..self
        }
    }

    /// Sets how a reader finds skills that do not fit into the budget, such as `search_skills`. An
    /// incomplete list then ends with one line that says how many more there are, within the budget.
    /// The hint is one line of text of the caller. Default: none, and no such line in a list that is
    /// not ranked.
    pub fn search_hint(self, search_hint: &'a str) -> Self {
        Self {
            search_hint: Some(search_hint),
            ..self
        }
    }

    /// Renders `items`.
    ///
    /// If no skill is listed the text is empty, so that a prompt without skills has no section
    /// about them.
    #[must_use]
    pub fn render(&self, items: &[SkillSummary<'_>]) -> SkillList {
        let list = self.render_entries(items);
        let Some(smaller) = self.with_room_for_last_line(&list) else {
            return list;
        };
        let mut list = smaller.render_entries(items);
        list.report.budget = self.meter.budget;
        self.append_last_line(&mut list);
        list
    }

    /// Returns a renderer whose budget leaves room for the last line without names; `None` if `list`
    /// needs no such line, or the budget is too small.
    fn with_room_for_last_line(&self, list: &SkillList) -> Option<Self> {
        let has_last_line = self.allocation == Allocation::Ranked || self.search_hint.is_some();
        if !has_last_line || list.report.omitted.is_empty() {
            return None;
        }
        // The number of skills has at most as many digits as that of all of them.
        let line = self
            .format
            .last_line(&[], list.report.total, self.search_hint);
        let mut smaller = self.clone();
        smaller.meter.budget = self.meter.budget.without(self.meter.entry_cost(&line))?;
        Some(smaller)
    }

    /// Appends the line with the names that fit, the number of the other skills, and the hint.
    fn append_last_line(&self, list: &mut SkillList) {
        let report = &mut list.report;
        let can_be_named =
            |name: &str| self.allocation == Allocation::Ranked && is_plain_name(name);
        let candidates: Vec<&str> = report
            .omitted
            .iter()
            .map(String::as_str)
            .filter(|name| can_be_named(name))
            .collect();
        let line = |count: usize| {
            let names = candidates.get(..count).unwrap_or_default();
            let omitted = report.omitted.len() - names.len();
            self.format.last_line(names, omitted, self.search_hint)
        };
        let rest = self.meter.budget.limit().saturating_sub(report.cost);
        let fits = |count: usize| self.meter.entry_cost(&line(count)) <= rest;
        // The line with all names is shorter than others, since it counts no skills.
        let count = if fits(candidates.len()) {
            candidates.len()
        } else {
            budget_plan::largest_fitting(candidates.len(), fits)
        };
        if count == 0 && list.entries_text.is_empty() {
            return;
        }
        let line = line(count);
        report.cost += self.meter.entry_cost(&line);
        list.entries_text.push_str(&line);
        list.entries_text.push('\n');
        report.included += count;
        let mut unnamed = count;
        (report.named, report.omitted) =
            std::mem::take(&mut report.omitted)
                .into_iter()
                .partition(|name| {
                    let is_named = unnamed > 0 && can_be_named(name);
                    unnamed -= usize::from(is_named);
                    is_named
                });
    }

    fn render_entries(&self, items: &[SkillSummary<'_>]) -> SkillList {
        let unlisted = items
            .iter()
            .filter(|item| !item.mode.is_listed())
            .map(|item| (item.name.to_string(), item.mode))
            .collect();
        let prepared = self.prepare_entries(items);
        let layout = self.choose_layout(&prepared.listed, prepared.entries);
        let (entries_text, mut report) = self.write_entries(&layout);
        report.unlisted = unlisted;
        report.removed_characters = prepared.removed_characters;
        SkillList {
            entries_text,
            table: layout.table,
            format: self.format,
            usage_instructions: self.usage_instructions,
            report,
        }
    }

    /// Returns the inclusion and cost of each of `items`: first those that may be listed, in the
    /// order of the list, then the others.
    #[must_use]
    pub fn explain(&self, items: &[SkillSummary<'_>]) -> Vec<EntryReport> {
        let Some(smaller) = self.with_room_for_last_line(&self.render_entries(items)) else {
            return self.explain_entries(items);
        };
        let mut entries = smaller.explain_entries(items);
        // In the order of the list, as the entries are.
        let mut named = self.render(items).report.named.into_iter().peekable();
        for entry in &mut entries {
            if entry.inclusion == Inclusion::Omitted && named.next_if_eq(&entry.name).is_some() {
                entry.inclusion = Inclusion::Named;
            }
        }
        entries
    }

    fn explain_entries(&self, items: &[SkillSummary<'_>]) -> Vec<EntryReport> {
        let prepared = self.prepare_entries(items);
        let listed = prepared.listed;
        let layout = self.choose_layout(&listed, prepared.entries);
        let entries = layout.entries.iter().zip(&layout.plan).zip(&listed);
        let reports = entries.map(|((entry, shown), item)| EntryReport {
            name: entry.name.to_string(),
            location: item.location.to_string(),
            inclusion: entry.inclusion(*shown),
            cost: shown.map_or(0, |characters| {
                let description = self.truncated_description(entry, characters);
                self.meter.entry_cost(&entry.render(&description))
            }),
        });
        let unlisted = items
            .iter()
            .filter(|item| !item.mode.is_listed())
            .map(|item| EntryReport {
                name: item.name.to_string(),
                location: item.location.to_string(),
                inclusion: Inclusion::Unlisted(item.mode),
                cost: 0,
            });
        reports.chain(unlisted).collect()
    }

    /// Sorts the items that may be listed, and escapes their texts.
    fn prepare_entries<'b>(&self, items: &'b [SkillSummary<'_>]) -> PreparedEntries<'b> {
        let mut listed: Vec<&SkillSummary<'_>> =
            items.iter().filter(|item| item.mode.is_listed()).collect();
        if self.allocation == Allocation::Even {
            // A ranked list keeps the order of the caller.
            listed.sort_by(|a, b| a.prompt_order(b));
        }
        // Stable, so that each part keeps its order.
        listed.sort_by_key(|item| item.mode != ListingMode::Pinned);
        let mut entries = Vec::with_capacity(listed.len());
        let mut removed_characters = Vec::new();
        for item in &listed {
            let (entry, removed) = ListEntry::new(item, self.format, self.truncation);
            removed_characters.extend(removed);
            entries.push(entry);
        }
        PreparedEntries {
            listed,
            entries,
            removed_characters,
        }
    }

    /// Plans with absolute paths and, if anything had to be truncated or omitted, also with root
    /// aliases, and returns the better layout (Codex).
    fn choose_layout<'b>(
        &self,
        items: &[&SkillSummary<'_>],
        entries: Vec<ListEntry<'b>>,
    ) -> Layout<'b> {
        let meter = &self.meter;
        let limit = meter.budget.limit();
        let plan = budget_plan::plan_budget(&entries, meter, limit, self.allocation);
        let absolute = Layout::new(entries, plan, Vec::new(), 0, meter);
        // The other formats have no place for a table, and nothing can improve a complete list.
        if self.format != ListFormat::Codex
            || self.roots.is_empty()
            || absolute.truncated == 0 && absolute.included == items.len()
        {
            return absolute;
        }
        let Some(aliases) = root_aliases::assign_aliases(items, &absolute.entries, &self.roots)
        else {
            return absolute;
        };
        // Aliases also make the introduction longer, so the price is that of the whole section.
        let section_cost = |table| {
            meter.lines_cost(&instructions::render_section(
                table,
                "",
                self.usage_instructions,
            ))
        };
        let table_cost = section_cost(Some(&aliases.table)).saturating_sub(section_cost(None));
        // A table that uses up the budget would leave nothing for entries.
        if table_cost >= limit {
            return absolute;
        }
        let plan =
            budget_plan::plan_budget(&aliases.entries, meter, limit - table_cost, self.allocation);
        let aliased = Layout::new(aliases.entries, plan, aliases.table, table_cost, meter);
        if aliased.is_better_than(&absolute) {
            aliased
        } else {
            absolute
        }
    }

    /// Returns the description of an entry that was granted so many characters.
    fn truncated_description<'b>(
        &self,
        entry: &'b ListEntry<'_>,
        characters: usize,
    ) -> Cow<'b, str> {
        let prefix = entry.description_prefix(characters);
        if self.truncation == Truncation::Characters
            || characters == 0
            || characters >= entry.shown_chars
        {
            return Cow::Borrowed(prefix);
        }
        let meter = &self.meter;
        // Sentences must not cost more than the prefix that they replace. Fewer characters can be
        // more bytes, so the cost is checked as well.
        let limit = entry.cost(characters, meter);
        let prefix_characters = self.format.escaped_size(prefix).characters;
        let fits = |text: &str| {
            let is_short = || self.format.escaped_size(text).characters <= prefix_characters;
            (meter.tokenizer().is_some() || is_short())
                && meter.entry_cost(&entry.render(text)) <= limit
        };
        Cow::Owned(truncation::truncate_to_sentences(
            &entry.description,
            prefix,
            fits,
        ))
    }

    /// Writes the entries of a layout, and reports what was truncated and omitted.
    fn write_entries(&self, layout: &Layout<'_>) -> (String, RenderReport) {
        let mut report = RenderReport::new(self.meter.budget, layout);
        let mut text = String::new();
        for (entry, shown) in layout.entries.iter().zip(&layout.plan) {
            let is_truncated = shown.unwrap_or_default() < entry.shown_chars;
            report.truncated_descriptions += usize::from(is_truncated);
            let Some(characters) = *shown else {
                if entry.mode == ListingMode::Pinned {
                    report.omitted_pinned.push(entry.name.to_string());
                }
                report.omitted.push(entry.name.to_string());
                continue;
            };
            if is_truncated || entry.original_chars > entry.shown_chars {
                report.truncated.push(entry.name.to_string());
            }
            let start = text.len();
            let description = self.truncated_description(entry, characters);
            report.described += usize::from(!description.is_empty());
            if let Cow::Owned(sentences) = &description {
                // Whole sentences use fewer characters than were granted; those are missing, too.
                report.truncated_characters += characters.saturating_sub(sentences.chars().count());
            }
            entry.write(&description, &mut text);
            report.cost += self.meter.entry_cost(&text[start..]);
            text.push('\n');
        }
        (text, report)
    }
}

/// Returns true for a name that can stand in a line with others: letters, digits and `-_.:`.
fn is_plain_name(name: &str) -> bool {
    name.chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'))
}

/// The items that may be listed, in the order of the list, with their escaped entries.
struct PreparedEntries<'a> {
    listed: Vec<&'a SkillSummary<'a>>,
    entries: Vec<ListEntry<'a>>,
    removed_characters: Vec<RemovedCharacter>,
}

/// The rendered skills section of a prompt, with a report of what was truncated or omitted.
///
/// The entries never cost more than the budget. If all descriptions fit, they are complete.
/// Otherwise every skill gets its name and path, and the rest of the budget is divided among the
/// descriptions. If not even the names fit, skills are omitted from the end of the list and listed
/// in the [`RenderReport`]. This is the algorithm of Codex.
///
/// ```
/// use skills_prompt::{Budget, Role, SkillList, SkillSummary};
///
/// let skills = [SkillSummary::new("greet", "Says hello.", "/skills/greet/SKILL.md")];
/// let list = SkillList::render(&skills, Budget::for_context_window(None));
/// assert_eq!((list.role(), list.tag()), (Role::Developer, Some("skills_instructions")));
/// assert!(list.report().warning("Codex").is_none());
///
/// // A session that has seen the list needs it again only if it changed.
/// assert_eq!(list.update_since(&list.clone()), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillList {
    entries_text: String,
    table: Vec<String>,
    format: ListFormat,
    usage_instructions: UsageInstructions,
    report: RenderReport,
}

impl SkillList {
    /// Renders `items` within a budget like Codex does; use [`SkillListRenderer`] for options.
    #[must_use]
    pub fn render(items: &[SkillSummary<'_>], budget: Budget) -> Self {
        SkillListRenderer::new(budget).render(items)
    }

    /// Returns true if no skill is listed: there is none, or none fits into the budget.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries_text.is_empty()
    }

    /// Returns the role in which to send the section: [`Role::Developer`].
    #[must_use]
    pub fn role(&self) -> Role {
        Role::Developer
    }

    /// Returns the name of the tag around the section; `None` if the format has no tag.
    #[must_use]
    pub fn tag(&self) -> Option<&'static str> {
        match self.format {
            ListFormat::Codex => Some("skills_instructions"),
            ListFormat::Xml | ListFormat::XmlCompact => Some("available_skills"),
            ListFormat::Markdown => None,
        }
    }

    /// Returns the section without its tags; empty if no skill is listed.
    #[must_use]
    pub fn body(&self) -> String {
        self.render_section(self.usage_instructions)
    }

    /// Returns the section with its tags; empty if no skill is listed.
    #[must_use]
    pub fn text(&self) -> String {
        if self.is_empty() {
            String::new()
        } else {
            self.with_tag("", &self.body())
        }
    }

    /// Returns the report on costs, truncated and omitted skills.
    #[must_use]
    pub fn report(&self) -> &RenderReport {
        &self.report
    }

    /// Returns the update for a model that has seen `previous`; `None` if the list is unchanged.
    ///
    /// The update is the new list without usage instructions, or a sentence that no list applies
    /// any more, both worded as in Codex. If `previous` was empty, the update is the list as
    /// rendered. If the model had a list before that one, render this list with
    /// [`UsageInstructions::Omit`].
    #[must_use]
    pub fn update_since(&self, previous: &Self) -> Option<String> {
        // Usage instructions are not compared: the list is the same without them.
        if (&self.entries_text, &self.table, self.format)
            == (&previous.entries_text, &previous.table, previous.format)
        {
            return None;
        }
        Some(match (self.is_empty(), previous.is_empty()) {
            (true, _) => self.with_tag(
                "The previously provided skills list no longer applies.\n",
                "",
            ),
            (false, true) => self.text(),
            (false, false) => self.with_tag(
                "This skills list replaces the previously provided skills list.\n",
                &self.render_section(UsageInstructions::Omit),
            ),
        })
    }

    fn render_section(&self, usage: UsageInstructions) -> String {
        match self.format {
            _ if self.is_empty() => String::new(),
            ListFormat::Codex => instructions::render_section(
                Some(self.table.as_slice()).filter(|table| !table.is_empty()),
                &self.entries_text,
                usage,
            ),
            ListFormat::Markdown => format!("## Skills\n\n{}", self.entries_text),
            ListFormat::Xml | ListFormat::XmlCompact => self.entries_text.clone(),
        }
    }

    fn with_tag(&self, notice: &str, body: &str) -> String {
        match self.tag() {
            Some(tag) => format!("<{tag}>\n{notice}{body}</{tag}>\n"),
            None => format!("{notice}{body}"),
        }
    }
}
