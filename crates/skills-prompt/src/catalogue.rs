//! The list of skills that a model is shown.

mod aliases;
mod fate;
mod format;
mod line;
mod plan;
mod report;
mod shorten;
mod texts;

use std::borrow::Cow;
use std::fmt;

pub use fate::{Fate, Place};
pub use format::Format;
pub use report::{HiddenText, Report};
pub use shorten::Shortening;
pub use texts::HowTo;

use crate::budget::Meter;
use crate::{Budget, Item, Role, Tokenizer};
use line::Line;
use plan::Plan;

/// How a catalogue is rendered.
///
/// Defaults: Codex's form, its order and its algorithm, and four bytes for a token.
#[derive(Clone)]
#[must_use]
pub struct Rendering<'a> {
    budget: Budget,
    format: Format,
    tokenizer: Option<&'a dyn Tokenizer>,
    shortening: Shortening,
    fill: Fill,
    roots: Vec<&'a str>,
    how_to: HowTo,
}

/// Who gets the room for descriptions, and in which order skills are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fill {
    /// All alike, in the order of a prompt: skills that the caller named, System, Admin, Repo, User; then name; then path (Codex).
    #[default]
    Even,
    /// The items are ranked, best first, and listed so. The first ones have whole descriptions. When not even all names fit, whole entries
    /// get half of the budget and names the other half.
    Ranked,
}

impl fmt::Debug for Rendering<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { budget, format, tokenizer, shortening, fill, roots, how_to } = self;
        let mut shown = f.debug_struct("Rendering");
        shown.field("budget", budget).field("format", format).field("has_tokenizer", &tokenizer.is_some());
        shown.field("shortening", shortening).field("fill", fill).field("roots", roots).field("how_to", how_to).finish()
    }
}

impl<'a> Rendering<'a> {
    /// Renders within `budget`.
    pub fn new(budget: Budget) -> Self {
        let (format, shortening) = (Format::default(), Shortening::default());
        Self { budget, format, tokenizer: None, shortening, fill: Fill::default(), roots: Vec::new(), how_to: HowTo::default() }
    }

    /// Chooses the form.
    pub fn format(self, format: Format) -> Self {
        Self { format, ..self }
    }

    /// Counts tokens as this does; a budget of characters stays one.
    pub fn tokenizer(self, tokenizer: &'a dyn Tokenizer) -> Self {
        Self { tokenizer: Some(tokenizer), ..self }
    }

    /// Chooses how descriptions are cut.
    pub fn shortening(self, shortening: Shortening) -> Self {
        Self { shortening, ..self }
    }

    /// Chooses who gets the room.
    pub fn fill(self, fill: Fill) -> Self {
        Self { fill, ..self }
    }

    /// Names the roots in the order in which they were looked through; those of a catalogue are
    /// [`used_roots`](skills_discovery::Catalog::used_roots). Without them no aliases are used.
    pub fn roots(self, roots: impl IntoIterator<Item = &'a str>) -> Self {
        Self { roots: roots.into_iter().collect(), ..self }
    }

    /// Chooses whether the section says how to use skills.
    pub fn how_to(self, how_to: HowTo) -> Self {
        Self { how_to, ..self }
    }

    /// Renders `items`.
    ///
    /// Without any to list the text is empty: a model that has no skills is told nothing about them.
    #[must_use]
    pub fn render(&self, items: &[Item<'_>]) -> Catalogue {
        let unlisted = items.iter().filter(|item| !item.mode.is_listed()).map(|item| (item.name.to_string(), item.mode)).collect();
        let (listed, lines, hidden) = self.lines(items);
        let chosen = self.choose(&listed, lines);
        let (list, mut report) = self.written(&chosen);
        (report.unlisted, report.hidden) = (unlisted, hidden);
        Catalogue { list, table: chosen.table, format: self.format, how_to: self.how_to, report }
    }

    /// Says what becomes of each of `items`: those that may be listed in the order of the list, then the others.
    #[must_use]
    pub fn explain(&self, items: &[Item<'_>]) -> Vec<Fate> {
        let (listed, lines, _) = self.lines(items);
        let (chosen, meter) = (self.choose(&listed, lines), self.meter());
        let fates = chosen.lines.iter().zip(&chosen.plan).zip(&listed).map(|((line, shown), item)| Fate {
            name: line.name.to_string(),
            location: item.location.to_string(),
            place: match *shown {
                None => Place::Omitted,
                Some(0) => Place::Bare,
                Some(characters) if characters >= line.written => Place::Whole,
                Some(characters) => Place::Shortened { characters, of: line.written },
            },
            cost: shown.map_or(0, |characters| meter.entry(&line.text(&self.description(line, characters)))),
        });
        let unlisted = items.iter().filter(|item| !item.mode.is_listed()).map(|item| Fate {
            name: item.name.to_string(),
            location: item.location.to_string(),
            place: Place::Unlisted(item.mode),
            cost: 0,
        });
        fates.chain(unlisted).collect()
    }

    /// The items that may be listed, in the order of the list, their entries, and what was hidden in them.
    fn lines<'b>(&self, items: &'b [Item<'_>]) -> (Vec<&'b Item<'b>>, Vec<Line<'b>>, Vec<HiddenText>) {
        let mut listed: Vec<&Item<'_>> = items.iter().filter(|item| item.mode.is_listed()).collect();
        if self.fill == Fill::Even {
            listed.sort_by(|a, b| a.in_prompt(b));
        }
        let mut hidden = Vec::new();
        let lines = listed.iter().map(|item| {
            let (line, found) = Line::new(item, self.format, self.shortening);
            let told = |found: line::Hidden| HiddenText { skill: line.name.to_string(), field: found.field, code_point: found.code_point };
            hidden.extend(found.map(told));
            line
        });
        let lines = lines.collect();
        (listed, lines, hidden)
    }

    fn meter(&self) -> Meter<'a> {
        Meter { budget: self.budget, tokenizer: self.tokenizer }
    }

    /// Plans with whole paths and, where something had to go, with aliases as well, and takes the better one.
    fn choose<'b>(&self, items: &[&Item<'_>], lines: Vec<Line<'b>>) -> Chosen<'b> {
        let (meter, limit) = (self.meter(), self.budget.limit());
        let plan = plan::plan(&lines, &meter, limit, self.fill);
        let absolute = Chosen::new(lines, plan, Vec::new(), 0, &meter);
        if self.format != Format::Codex || self.roots.is_empty() || absolute.truncated == 0 && absolute.included == items.len() {
            return absolute;
        }
        let Some(aliases) = aliases::aliases(items, &absolute.lines, &self.roots) else { return absolute };
        let empty = |table| meter.lines(&texts::section(table, "", self.how_to));
        let table_cost = empty(Some(&aliases.table)).saturating_sub(empty(None));
        if table_cost >= limit {
            return absolute;
        }
        let plan = plan::plan(&aliases.lines, &meter, limit - table_cost, self.fill);
        let aliased = Chosen::new(aliases.lines, plan, aliases.table, table_cost, &meter);
        if aliased.is_better_than(&absolute) { aliased } else { absolute }
    }

    fn description<'b>(&self, line: &'b Line<'_>, characters: usize) -> Cow<'b, str> {
        let start = line.start(characters);
        if self.shortening == Shortening::Characters || characters == 0 || characters >= line.length {
            return Cow::Borrowed(start);
        }
        let meter = self.meter();
        let limit = line.cost(characters, &meter);
        let fits = |text: &str| match meter.tokenizer() {
            Some(_) => meter.entry(&line.text(text)) <= limit,
            None => self.format.size(text).characters <= self.format.size(start).characters && meter.entry(&line.text(text)) <= limit,
        };
        Cow::Owned(shorten::sentences(&line.description, start, fits))
    }

    /// Writes the entries, and what became of each.
    fn written(&self, chosen: &Chosen<'_>) -> (String, Report) {
        let meter = self.meter();
        let mut report = Report::new(self.budget, chosen);
        let mut list = String::new();
        for (line, shown) in chosen.lines.iter().zip(&chosen.plan) {
            let is_short = shown.unwrap_or_default() < line.length;
            report.truncated_descriptions += usize::from(is_short);
            let Some(characters) = *shown else {
                if line.mode == crate::Mode::Pinned {
                    report.omitted_pinned.push(line.name.to_string());
                }
                report.omitted.push(line.name.to_string());
                continue;
            };
            if is_short || line.written > line.length {
                report.shortened.push(line.name.to_string());
            }
            let start = list.len();
            let description = self.description(line, characters);
            report.described += usize::from(!description.is_empty());
            if let Cow::Owned(sentences) = &description {
                // Whole sentences use less than was granted.
                report.truncated_characters += characters.saturating_sub(sentences.chars().count());
            }
            line.write(&description, &mut list);
            report.cost += match self.shortening {
                Shortening::Characters => line.cost(characters, &meter),
                Shortening::Sentences => meter.entry(&list[start..]),
            };
            list.push('\n');
        }
        (list, report)
    }
}

/// A plan and the entries that it is for.
struct Chosen<'a> {
    lines: Vec<Line<'a>>,
    plan: Plan,
    table: Vec<String>,
    table_cost: usize,
    included: usize,
    truncated: usize,
    cost: usize,
}

impl<'a> Chosen<'a> {
    fn new(lines: Vec<Line<'a>>, plan: Plan, table: Vec<String>, table_cost: usize, meter: &Meter<'_>) -> Self {
        let included = plan.iter().flatten().count();
        let truncated = lines.iter().zip(&plan).map(|(line, shown)| line.length - shown.unwrap_or_default()).sum();
        let cost = table_cost + plan::cost(&lines.iter().collect::<Vec<_>>(), &plan, meter);
        Self { lines, plan, table, table_cost, included, truncated, cost }
    }

    /// More skills, else more of their descriptions, else cheaper (Codex).
    fn is_better_than(&self, other: &Self) -> bool {
        let key = |chosen: &Self| (usize::MAX - chosen.included, chosen.truncated, chosen.cost);
        key(self) < key(other)
    }
}

/// The list of skills that a model is shown, and what the budget did to it.
///
/// The entries never cost more than the budget. When all descriptions fit, they are whole; when not, every skill gets its name and path
/// and the rest is shared out; when even that is too much, skills are left out in the order of the list, and named in the
/// [`Report`]. This is Codex's algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    list: String,
    table: Vec<String>,
    format: Format,
    how_to: HowTo,
    report: Report,
}

impl Catalogue {
    /// Renders `items` within a budget as Codex does; [`Rendering`] has the options.
    #[must_use]
    pub fn render(items: &[Item<'_>], budget: Budget) -> Self {
        Rendering::new(budget).render(items)
    }

    /// Says whether there is nothing to show: no skill is offered, or the budget has no room for any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
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
            Format::Codex => Some("skills_instructions"),
            Format::Xml | Format::XmlCompact => Some("available_skills"),
            Format::Markdown => None,
        }
    }

    /// Returns what stands between the tags; empty when there is nothing to show.
    #[must_use]
    pub fn body(&self) -> String {
        self.section(self.how_to)
    }

    /// Returns all of it with its tags; empty when there is nothing to show.
    #[must_use]
    pub fn text(&self) -> String {
        if self.is_empty() { String::new() } else { self.tagged("", &self.body()) }
    }

    /// Returns what the budget did.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns what to tell a model that was told `before`: nothing when the list is the same, else the new list, without saying again how to
    /// use skills, or that there is none any more (the wording is Codex's). When `before` was empty the list is given as it is rendered: after a
    /// time without skills, render it with [`HowTo::LeftOut`].
    #[must_use]
    pub fn since(&self, before: &Self) -> Option<String> {
        if (&self.list, &self.table, self.format) == (&before.list, &before.table, before.format) {
            return None;
        }
        Some(match (self.is_empty(), before.is_empty()) {
            (true, _) => self.tagged("The previously provided skills list no longer applies.\n", ""),
            (false, true) => self.text(),
            (false, false) => {
                self.tagged("This skills list replaces the previously provided skills list.\n", &self.section(HowTo::LeftOut))
            }
        })
    }

    fn section(&self, how_to: HowTo) -> String {
        match self.format {
            _ if self.is_empty() => String::new(),
            Format::Codex => texts::section(Some(self.table.as_slice()).filter(|table| !table.is_empty()), &self.list, how_to),
            Format::Markdown => format!("## Skills\n\n{}", self.list),
            Format::Xml | Format::XmlCompact => self.list.clone(),
        }
    }

    fn tagged(&self, notice: &str, body: &str) -> String {
        match self.tag() {
            Some(tag) => format!("<{tag}>\n{notice}{body}</{tag}>\n"),
            None => format!("{notice}{body}"),
        }
    }
}
