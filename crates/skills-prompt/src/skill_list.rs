//! The list of skills that a model is shown.

mod budget_plan;
mod entry_report;
mod instructions;
mod list_entry;
mod list_format;
mod render_report;
mod root_aliases;
mod truncation;

use std::borrow::Cow;
use std::fmt;

pub use entry_report::{EntryReport, Inclusion};
pub use instructions::UsageInstructions;
pub use list_format::ListFormat;
pub use render_report::{RemovedCharacter, RenderReport};
pub use truncation::Truncation;

use crate::budget::CostMeter;
use crate::{Budget, Role, SkillSummary, Tokenizer};
use budget_plan::BudgetPlan;
use list_entry::ListEntry;

/// How a catalogue is rendered.
///
/// Defaults: Codex's form, its order and its algorithm, and four bytes for a token.
#[derive(Clone)]
#[must_use]
pub struct SkillListRenderer<'a> {
    budget: Budget,
    format: ListFormat,
    tokenizer: Option<&'a dyn Tokenizer>,
    truncation: Truncation,
    allocation: Allocation,
    roots: Vec<&'a str>,
    usage_instructions: UsageInstructions,
}

/// Who gets the room for descriptions, and in which order skills are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Allocation {
    /// All alike, in the order of a prompt: skills that the caller named, System, Admin, Repo,
    /// User; then name; then path (Codex).
    #[default]
    Even,
    /// The items are ranked, best first, and listed so. The first ones have whole descriptions.
    /// When not even all names fit, whole entries get half of the budget and names the other half.
    Ranked,
}

impl fmt::Debug for SkillListRenderer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            budget,
            format,
            tokenizer,
            truncation: shortening,
            allocation: fill,
            roots,
            usage_instructions: how_to,
        } = self;
        let mut shown = f.debug_struct("Rendering");
        shown
            .field("budget", budget)
            .field("format", format)
            .field("has_tokenizer", &tokenizer.is_some());
        shown
            .field("shortening", shortening)
            .field("fill", fill)
            .field("roots", roots)
            .field("how_to", how_to)
            .finish()
    }
}

impl<'a> SkillListRenderer<'a> {
    /// Renders within `budget`.
    pub fn new(budget: Budget) -> Self {
        let (format, shortening) = (ListFormat::default(), Truncation::default());
        Self {
            budget,
            format,
            tokenizer: None,
            truncation: shortening,
            allocation: Allocation::default(),
            roots: Vec::new(),
            usage_instructions: UsageInstructions::default(),
        }
    }

    /// Chooses the form.
    pub fn format(self, format: ListFormat) -> Self {
        Self { format, ..self }
    }

    /// Counts tokens as this does; a budget of characters stays one.
    pub fn tokenizer(self, tokenizer: &'a dyn Tokenizer) -> Self {
        Self {
            tokenizer: Some(tokenizer),
            ..self
        }
    }

    /// Chooses how descriptions are cut.
    pub fn truncation(self, shortening: Truncation) -> Self {
        Self {
            truncation: shortening,
            ..self
        }
    }

    /// Chooses who gets the room.
    pub fn allocation(self, fill: Allocation) -> Self {
        Self {
            allocation: fill,
            ..self
        }
    }

    /// Names the roots in the order in which they were looked through; those of a catalogue are
    /// [`used_roots`](skills_discovery::Catalog::used_roots). Without them no aliases are used.
    pub fn roots(self, roots: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            roots: roots.into_iter().collect(),
            ..self
        }
    }

    /// Chooses whether the section says how to use skills.
    pub fn usage_instructions(self, how_to: UsageInstructions) -> Self {
        Self {
            usage_instructions: how_to,
            ..self
        }
    }

    /// Renders `items`.
    ///
    /// Without any to list the text is empty: a model that has no skills is told nothing about
    /// them.
    #[must_use]
    pub fn render(&self, items: &[SkillSummary<'_>]) -> SkillList {
        let unlisted = items
            .iter()
            .filter(|item| !item.mode.is_listed())
            .map(|item| (item.name.to_string(), item.mode))
            .collect();
        let (listed, lines, hidden) = self.prepare_entries(items);
        let chosen = self.choose_layout(&listed, lines);
        let (list, mut report) = self.write_entries(&chosen);
        (report.unlisted, report.removed_characters) = (unlisted, hidden);
        SkillList {
            entries_text: list,
            table: chosen.table,
            format: self.format,
            usage_instructions: self.usage_instructions,
            report,
        }
    }

    /// Says what becomes of each of `items`: those that may be listed in the order of the list,
    /// then the others.
    #[must_use]
    pub fn explain(&self, items: &[SkillSummary<'_>]) -> Vec<EntryReport> {
        let (listed, lines, _) = self.prepare_entries(items);
        let (chosen, meter) = (self.choose_layout(&listed, lines), self.cost_meter());
        let fates =
            chosen
                .entries
                .iter()
                .zip(&chosen.plan)
                .zip(&listed)
                .map(|((line, shown), item)| EntryReport {
                    name: line.name.to_string(),
                    location: item.location.to_string(),
                    inclusion: match *shown {
                        None => Inclusion::Omitted,
                        Some(0) => Inclusion::NameOnly,
                        Some(characters) if characters >= line.original_chars => Inclusion::Full,
                        Some(characters) => Inclusion::Truncated {
                            shown_chars: characters,
                            total_chars: line.original_chars,
                        },
                    },
                    cost: shown.map_or(0, |characters| {
                        meter
                            .entry_cost(&line.render(&self.truncated_description(line, characters)))
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
        fates.chain(unlisted).collect()
    }

    /// The items that may be listed, in the order of the list, their entries, and what was hidden
    /// in them.
    fn prepare_entries<'b>(
        &self,
        items: &'b [SkillSummary<'_>],
    ) -> (
        Vec<&'b SkillSummary<'b>>,
        Vec<ListEntry<'b>>,
        Vec<RemovedCharacter>,
    ) {
        let mut listed: Vec<&SkillSummary<'_>> =
            items.iter().filter(|item| item.mode.is_listed()).collect();
        if self.allocation == Allocation::Even {
            listed.sort_by(|a, b| a.prompt_order(b));
        }
        let mut hidden = Vec::new();
        let lines = listed.iter().map(|item| {
            let (line, found) = ListEntry::new(item, self.format, self.truncation);
            let told = |found: list_entry::RemovedInField| RemovedCharacter {
                skill: line.name.to_string(),
                field: found.field,
                code_point: found.code_point,
            };
            hidden.extend(found.map(told));
            line
        });
        let lines = lines.collect();
        (listed, lines, hidden)
    }

    fn cost_meter(&self) -> CostMeter<'a> {
        CostMeter {
            budget: self.budget,
            tokenizer: self.tokenizer,
        }
    }

    /// Plans with whole paths and, where something had to go, with aliases as well, and takes the
    /// better one.
    fn choose_layout<'b>(
        &self,
        items: &[&SkillSummary<'_>],
        lines: Vec<ListEntry<'b>>,
    ) -> Layout<'b> {
        let (meter, limit) = (self.cost_meter(), self.budget.limit());
        let plan = budget_plan::plan_budget(&lines, &meter, limit, self.allocation);
        let absolute = Layout::new(lines, plan, Vec::new(), 0, &meter);
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
        let empty = |table| {
            meter.lines_cost(&instructions::render_section(
                table,
                "",
                self.usage_instructions,
            ))
        };
        let table_cost = empty(Some(&aliases.table)).saturating_sub(empty(None));
        if table_cost >= limit {
            return absolute;
        }
        let plan = budget_plan::plan_budget(
            &aliases.entries,
            &meter,
            limit - table_cost,
            self.allocation,
        );
        let aliased = Layout::new(aliases.entries, plan, aliases.table, table_cost, &meter);
        if aliased.is_better_than(&absolute) {
            aliased
        } else {
            absolute
        }
    }

    fn truncated_description<'b>(
        &self,
        line: &'b ListEntry<'_>,
        characters: usize,
    ) -> Cow<'b, str> {
        let start = line.description_prefix(characters);
        if self.truncation == Truncation::Characters
            || characters == 0
            || characters >= line.shown_chars
        {
            return Cow::Borrowed(start);
        }
        let meter = self.cost_meter();
        let limit = line.cost(characters, &meter);
        let fits = |text: &str| match meter.tokenizer() {
            Some(_) => meter.entry_cost(&line.render(text)) <= limit,
            None => {
                self.format.escaped_size(text).characters
                    <= self.format.escaped_size(start).characters
                    && meter.entry_cost(&line.render(text)) <= limit
            }
        };
        Cow::Owned(truncation::truncate_to_sentences(
            &line.description,
            start,
            fits,
        ))
    }

    /// Writes the entries, and what became of each.
    fn write_entries(&self, chosen: &Layout<'_>) -> (String, RenderReport) {
        let meter = self.cost_meter();
        let mut report = RenderReport::new(self.budget, chosen);
        let mut list = String::new();
        for (line, shown) in chosen.entries.iter().zip(&chosen.plan) {
            let is_short = shown.unwrap_or_default() < line.shown_chars;
            report.truncated_descriptions += usize::from(is_short);
            let Some(characters) = *shown else {
                if line.mode == crate::ListingMode::Pinned {
                    report.omitted_pinned.push(line.name.to_string());
                }
                report.omitted.push(line.name.to_string());
                continue;
            };
            if is_short || line.original_chars > line.shown_chars {
                report.truncated.push(line.name.to_string());
            }
            let start = list.len();
            let description = self.truncated_description(line, characters);
            report.described += usize::from(!description.is_empty());
            if let Cow::Owned(sentences) = &description {
                // Whole sentences use less than was granted.
                report.truncated_characters += characters.saturating_sub(sentences.chars().count());
            }
            line.write(&description, &mut list);
            report.cost += match self.truncation {
                Truncation::Characters => line.cost(characters, &meter),
                Truncation::Sentences => meter.entry_cost(&list[start..]),
            };
            list.push('\n');
        }
        (list, report)
    }
}

/// A plan and the entries that it is for.
struct Layout<'a> {
    entries: Vec<ListEntry<'a>>,
    plan: BudgetPlan,
    table: Vec<String>,
    table_cost: usize,
    included: usize,
    truncated: usize,
    cost: usize,
}

impl<'a> Layout<'a> {
    fn new(
        lines: Vec<ListEntry<'a>>,
        plan: BudgetPlan,
        table: Vec<String>,
        table_cost: usize,
        meter: &CostMeter<'_>,
    ) -> Self {
        let included = plan.iter().flatten().count();
        let truncated = lines
            .iter()
            .zip(&plan)
            .map(|(line, shown)| line.shown_chars - shown.unwrap_or_default())
            .sum();
        let cost =
            table_cost + budget_plan::plan_cost(&lines.iter().collect::<Vec<_>>(), &plan, meter);
        Self {
            entries: lines,
            plan,
            table,
            table_cost,
            included,
            truncated,
            cost,
        }
    }

    /// More skills, else more of their descriptions, else cheaper (Codex).
    fn is_better_than(&self, other: &Self) -> bool {
        let key = |chosen: &Self| (usize::MAX - chosen.included, chosen.truncated, chosen.cost);
        key(self) < key(other)
    }
}

/// The list of skills that a model is shown, and what the budget did to it.
///
/// The entries never cost more than the budget. When all descriptions fit, they are whole; when
/// not, every skill gets its name and path and the rest is shared out; when even that is too much,
/// skills are left out in the order of the list, and named in the [`RenderReport`]. This is Codex's
/// algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillList {
    entries_text: String,
    table: Vec<String>,
    format: ListFormat,
    usage_instructions: UsageInstructions,
    report: RenderReport,
}

impl SkillList {
    /// Renders `items` within a budget as Codex does; [`SkillListRenderer`] has the options.
    #[must_use]
    pub fn render(items: &[SkillSummary<'_>], budget: Budget) -> Self {
        SkillListRenderer::new(budget).render(items)
    }

    /// Says whether there is nothing to show: no skill is offered, or the budget has no room for
    /// any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries_text.is_empty()
    }

    /// Returns who is to say it.
    #[must_use]
    pub fn role(&self) -> Role {
        Role::Developer
    }

    /// Returns the name of the tag around it; nothing where the form has none.
    #[must_use]
    pub fn tag(&self) -> Option<&'static str> {
        match self.format {
            ListFormat::Codex => Some("skills_instructions"),
            ListFormat::Xml | ListFormat::XmlCompact => Some("available_skills"),
            ListFormat::Markdown => None,
        }
    }

    /// Returns what stands between the tags; empty when there is nothing to show.
    #[must_use]
    pub fn body(&self) -> String {
        self.render_section(self.usage_instructions)
    }

    /// Returns all of it with its tags; empty when there is nothing to show.
    #[must_use]
    pub fn text(&self) -> String {
        if self.is_empty() {
            String::new()
        } else {
            self.with_tag("", &self.body())
        }
    }

    /// Returns what the budget did.
    #[must_use]
    pub fn report(&self) -> &RenderReport {
        &self.report
    }

    /// Returns what to tell a model that was told `before`: nothing when the list is the same, else
    /// the new list, without saying again how to use skills, or that there is none any more (the
    /// wording is Codex's). When `before` was empty the list is given as it is rendered: after a
    /// time without skills, render it with [`UsageInstructions::Omit`].
    #[must_use]
    pub fn update_since(&self, before: &Self) -> Option<String> {
        if (&self.entries_text, &self.table, self.format)
            == (&before.entries_text, &before.table, before.format)
        {
            return None;
        }
        Some(match (self.is_empty(), before.is_empty()) {
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

    fn render_section(&self, how_to: UsageInstructions) -> String {
        match self.format {
            _ if self.is_empty() => String::new(),
            ListFormat::Codex => instructions::render_section(
                Some(self.table.as_slice()).filter(|table| !table.is_empty()),
                &self.entries_text,
                how_to,
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
