//! Measures how well requests find their skills: `cargo xtask eval DIR REQUESTS.jsonl`.
//!
//! Each line of the requests is an object: `query`, `skills` (names, none if no skill fits),
//! `language`, and `split`, so that parameters are tuned on other requests than the reported ones.
//! R@20 is that of the ranking that fills a list, the other places are those of a search.
#![expect(
    clippy::disallowed_methods,
    reason = "a developer's tool reads the file of requests"
)]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use serde::Deserialize;
use skills_discovery::{Root, ScanLimits, Scope, discover};
use skills_prompt::{Allocation, Budget, SkillListRenderer, SkillSummary};
use skills_search::{Document, IndexBuilder, SearchIndex};

/// Measures how well requests find their skills
#[derive(Parser)]
struct Arguments {
    /// Directory of skills
    directory: PathBuf,
    /// File with one request per line
    requests: PathBuf,
    /// Another directory of skills (repeatable)
    #[arg(long)]
    also: Vec<PathBuf>,
    /// Only requests of this split
    #[arg(long)]
    split: Option<String>,
    /// Only this many skills: those of the requests, and others evenly from the rest
    #[arg(long)]
    skills: Option<usize>,
    /// Print each request that is not answered as it should be
    #[arg(long)]
    failures: bool,
}

/// One line of the file of requests.
#[derive(Deserialize)]
struct Request {
    query: String,
    /// The names of the skills that fit; none if no skill does.
    #[serde(default)]
    skills: Vec<String>,
    language: String,
    split: String,
}

struct Skill {
    name: String,
    description: String,
    body: String,
    location: String,
}

/// The size of the list in which the right skill should be.
const LIST_CHARACTERS: usize = 8_000;
/// A search that finds nothing suitable may return this many skills.
const TOLERATED_HITS: usize = 3;
/// Repetitions of each measurement of time.
const REPETITIONS: usize = 15;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut skills = read_skills(&arguments)?;
    let requests = read_requests(&arguments, &skills)?;
    if let Some(count) = arguments.skills {
        choose_skills(&mut skills, &requests, count);
    }
    let index = build(&skills, IndexBuilder::new());
    let mut groups: BTreeMap<(&str, &str), Vec<&Request>> = BTreeMap::new();
    for request in &requests {
        let key = (request.split.as_str(), request.language.as_str());
        groups.entry(key).or_default().push(request);
    }
    println!(
        "{:<9} {:<8} {:>8} {:>6} {:>6} {:>6} {:>6} {:>6} {:>7} {:>6} {:>9}",
        "split",
        "language",
        "requests",
        "R@1",
        "R@5",
        "R@10",
        "MRR",
        "R@20",
        "in list",
        "no fit",
        "more than"
    );
    for ((split, language), group) in groups {
        let evaluation = Evaluation::new(&skills, &index, &group, arguments.failures);
        println!("{split:<9} {language:<8} {evaluation}");
    }
    let bodies: usize = skills.iter().map(|skill| skill.body.len()).sum();
    println!("\n{} skills, {} KB of bodies", skills.len(), bodies / 1_000);
    println!();
    print_query_times(&index, &requests);
    println!();
    print_build_times(&skills, &index)
}

/// Returns the order of all skills in the list for a request.
fn list_order(index: &SearchIndex, query: &str) -> Vec<usize> {
    let ranked = index.rank(query).into_iter();
    let mut order: Vec<usize> = ranked.map(|ranked| ranked.document).collect();
    let ranked: HashSet<usize> = order.iter().copied().collect();
    order.extend((0..index.len()).filter(|document| !ranked.contains(document)));
    order
}

/// The shares of a group of requests.
struct Evaluation {
    requests: usize,
    first: f64,
    first_five: f64,
    first_ten: f64,
    ranked_twenty: f64,
    reciprocal_place: f64,
    listed: f64,
    unfit_requests: usize,
    unfit_answered: usize,
}

impl Evaluation {
    fn new(
        skills: &[Skill],
        index: &SearchIndex,
        requests: &[&Request],
        prints_failures: bool,
    ) -> Self {
        let (fit, unfit): (Vec<&Request>, Vec<&Request>) = requests
            .iter()
            .copied()
            .partition(|request| !request.skills.is_empty());
        let mut evaluation = Self {
            requests: fit.len(),
            first: 0.0,
            first_five: 0.0,
            first_ten: 0.0,
            ranked_twenty: 0.0,
            reciprocal_place: 0.0,
            listed: 0.0,
            unfit_requests: unfit.len(),
            unfit_answered: 0,
        };
        let share = 1.0 / fit.len().max(1) as f64;
        for request in fit {
            let hits = index.search(&request.query).hits;
            let is_right = |document: usize| request.skills.contains(&skills[document].name);
            let place = hits.iter().position(|hit| is_right(hit.document));
            let order = list_order(index, &request.query);
            let listed_place = order.iter().position(|document| is_right(*document));
            let within = |place: Option<usize>, count: usize| match place {
                Some(place) if place < count => share,
                _ => 0.0,
            };
            evaluation.first += within(place, 1);
            evaluation.first_five += within(place, 5);
            evaluation.first_ten += within(place, 10);
            evaluation.ranked_twenty += within(listed_place, 20);
            evaluation.reciprocal_place += place.map_or(0.0, |place| share / (place + 1) as f64);
            if is_listed(skills, &order, request) {
                evaluation.listed += share;
            }
            if prints_failures && place.is_none_or(|place| place >= 5) {
                let found = names(skills, hits.iter().take(5).map(|hit| hit.document));
                println!(
                    "  {}: place {place:?} of {}; found {found}",
                    request.query, request.skills[0]
                );
            }
        }
        for request in unfit {
            let hits = index.search(&request.query).hits;
            if hits.len() > TOLERATED_HITS {
                evaluation.unfit_answered += 1;
                if prints_failures {
                    let found = names(skills, hits.iter().take(5).map(|hit| hit.document));
                    println!(
                        "  {}: nothing fits; found {} with {found}",
                        request.query,
                        hits.len()
                    );
                }
            }
        }
        evaluation
    }
}

impl std::fmt::Display for Evaluation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:>8} {:>6.3} {:>6.3} {:>6.3} {:>6.3} {:>6.3} {:>7.3} {:>6} {:>9}",
            self.requests,
            self.first,
            self.first_five,
            self.first_ten,
            self.reciprocal_place,
            self.ranked_twenty,
            self.listed,
            self.unfit_requests,
            format!("3: {}", self.unfit_answered),
        )
    }
}

fn names(skills: &[Skill], documents: impl Iterator<Item = usize>) -> String {
    let names: Vec<&str> = documents
        .map(|document| skills[document].name.as_str())
        .collect();
    names.join(", ")
}

/// Returns true if the list that a model sees for a request has the right skill.
fn is_listed(skills: &[Skill], order: &[usize], request: &Request) -> bool {
    let items: Vec<SkillSummary<'_>> = order
        .iter()
        .map(|document| {
            let skill = &skills[*document];
            SkillSummary::new(
                skill.name.as_str(),
                skill.description.as_str(),
                skill.location.as_str(),
            )
        })
        .collect();
    let list = SkillListRenderer::new(Budget::Characters(LIST_CHARACTERS))
        .allocation(Allocation::Ranked)
        .search_hint("search_skills")
        .render(&items);
    let omitted: HashSet<&str> = list.report().omitted.iter().map(String::as_str).collect();
    request
        .skills
        .iter()
        .any(|name| !omitted.contains(name.as_str()))
}

fn print_query_times(index: &SearchIndex, requests: &[Request]) {
    let query_time = |ask: &dyn Fn(&str)| {
        let queries = (0..REPETITIONS).flat_map(|_| requests);
        let mut times: Vec<Duration> = queries
            .map(|request| time(|| ask(&request.query)))
            .collect();
        times.sort();
        milliseconds(median(&times))
    };
    let search = query_time(&|query| drop(index.search(query)));
    let list = query_time(&|query| drop(list_order(index, query)));
    println!("search, median {search:>8.3} ms");
    println!("list, median   {list:>8.3} ms");
}

fn print_build_times(skills: &[Skill], index: &SearchIndex) -> Result<()> {
    println!(
        "build          {:>8.1} ms",
        measure(|| build(skills, IndexBuilder::new()))
    );
    let again = || build(skills, IndexBuilder::reusing(index));
    println!("build, reusing {:>8.1} ms", measure(again));
    let Some(bytes) = index.to_bytes() else {
        bail!("the index is too large for a file");
    };
    SearchIndex::from_bytes(&bytes).context("cannot read the index back")?;
    println!(
        "load           {:>8.1} ms, {} KB",
        measure(|| SearchIndex::from_bytes(&bytes)),
        bytes.len() / 1_000
    );
    Ok(())
}

fn read_requests(arguments: &Arguments, skills: &[Skill]) -> Result<Vec<Request>> {
    let path = &arguments.requests;
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    let mut requests = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let request: Request = serde_json::from_str(line)
            .with_context(|| format!("{}:{}", path.display(), number + 1))?;
        requests.push(request);
    }
    let names: HashSet<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
    requests.retain(|request| {
        let is_selected = |split: &String| *split == request.split;
        if !arguments.split.as_ref().is_none_or(is_selected) {
            return false;
        }
        let known = |name: &String| names.contains(name.as_str());
        let is_known = request.skills.is_empty() || request.skills.iter().any(known);
        if !is_known {
            println!(
                "skipped, not in the directory: {}",
                request.skills.join(", ")
            );
        }
        is_known
    });
    Ok(requests)
}

/// Reads the skills of all directories, without those of equal name and description.
fn read_skills(arguments: &Arguments) -> Result<Vec<Skill>> {
    let directories = std::iter::once(&arguments.directory).chain(&arguments.also);
    let roots: Vec<Root> = directories
        .map(|directory| Root::new(directory, Scope::Custom))
        .collect();
    let mut limits = ScanLimits::default();
    (limits.max_directories, limits.max_entries) = (usize::MAX, usize::MAX);
    let catalog = discover(&roots, &limits);
    let mut seen = BTreeSet::new();
    let mut skills = Vec::new();
    for entry in catalog.entries() {
        let name = entry.name().to_string();
        let description = entry.manifest().description().to_owned();
        if seen.insert((name.clone(), description.clone())) {
            skills.push(Skill {
                name,
                description,
                body: entry.open()?.document()?.body().to_owned(),
                location: relative(&entry.location(), entry.root()),
            });
        }
    }
    Ok(skills)
}

/// Keeps the skills of the requests, and so many others, evenly from the rest, that there are
/// `count`.
fn choose_skills(skills: &mut Vec<Skill>, requests: &[Request], count: usize) {
    let right: HashSet<&String> = requests
        .iter()
        .flat_map(|request| &request.skills)
        .collect();
    let rest = skills.iter().filter(|skill| !right.contains(&skill.name));
    let rest = rest.count();
    let others = count.saturating_sub(skills.len() - rest).min(rest);
    let mut seen = 0;
    skills.retain(|skill| {
        if right.contains(&skill.name) {
            return true;
        }
        seen += 1;
        seen * others / rest > (seen - 1) * others / rest
    });
}

fn relative(path: &Path, root: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.to_string_lossy().into_owned()
}

fn build(skills: &[Skill], mut builder: IndexBuilder<'_>) -> SearchIndex {
    for skill in skills {
        builder.add(&Document::new(&skill.name, &skill.description, &skill.body));
    }
    builder.build()
}

/// Returns the median time in milliseconds.
fn measure<T>(mut work: impl FnMut() -> T) -> f64 {
    let mut times: Vec<Duration> = (0..REPETITIONS).map(|_| time(&mut work)).collect();
    times.sort();
    milliseconds(median(&times))
}

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let result = work();
    let elapsed = start.elapsed();
    drop(result);
    elapsed
}

fn median(sorted: &[Duration]) -> Duration {
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
