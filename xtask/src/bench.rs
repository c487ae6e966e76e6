//! Runs the benchmarks and compares each with the floor of the same run.

mod installation;
mod starts;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use crate::command::{cargo, output};

/// The benchmarks: crate and target. In each of them `floor` is the minimum that the host needs for
/// the same work.
const BENCHES: [(&str, &str); 11] = [
    ("skills-manifest", "parse"),
    ("skills-discovery", "scan"),
    ("skills-prompt", "render"),
    ("skills-prompt", "mentions"),
    ("skills-search", "search"),
    ("skills-ledger", "summarize"),
    ("skills-runtime", "path"),
    ("skills-sandbox-linux", "spawn"),
    ("skills-sandbox-wasm", "run"),
    ("skills-tools", "call"),
    ("skills-mcp", "serve"),
];
const FLOOR: &str = "floor";
/// The crate whose command is measured as a whole process.
const COMMAND_PACKAGE: &str = "skills-cli";
/// The crate whose commands are measured as whole processes, too.
const INSTALL_PACKAGE: &str = "skills-install";
/// Starts of the command per measurement, each beside a start of its floor.
const STARTS: usize = 41;
/// Rounds per benchmark. The round with the median ratio is reported, which cancels drift on shared
/// machines.
const ROUNDS: usize = 5;

/// The output format.
#[derive(PartialEq)]
pub(crate) enum Format {
    Table,
    Json,
}

#[derive(Serialize)]
struct Row {
    bench: String,
    median_ns: f64,
    floor_ns: f64,
    ratio: f64,
}

pub(crate) fn bench(only: Option<&str>, format: Format) -> Result<()> {
    let selected: Vec<_> = BENCHES
        .into_iter()
        .filter(|(package, _)| only.is_none_or(|only| only == *package))
        .collect();
    let measures_command = only.is_none_or(|only| only == COMMAND_PACKAGE);
    let measures_installation = only.is_none_or(|only| only == INSTALL_PACKAGE);
    ensure!(
        !selected.is_empty() || measures_command || measures_installation,
        "no benchmarks in `{}`; available: {}, {COMMAND_PACKAGE}, {INSTALL_PACKAGE}",
        only.unwrap_or_default(),
        BENCHES.map(|(package, _)| package).join(", ")
    );
    let mut rows = Vec::new();
    for (package, target) in selected {
        eprintln!("{package} {target}");
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let text = output(&mut cargo(&[
                "bench",
                "--quiet",
                "--locked",
                "--package",
                package,
                "--bench",
                target,
            ]))?;
            rounds.push(pair_with_floor(package, target, &parse_medians(&text))?);
        }
        rows.extend(median_rounds(rounds));
    }
    if measures_command {
        eprintln!("{COMMAND_PACKAGE} start");
        rows.extend(starts::measure()?);
    }
    if measures_installation {
        eprintln!("{INSTALL_PACKAGE} add and verify");
        rows.extend(installation::measure()?);
    }
    if format == Format::Json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
        return Ok(());
    }
    println!(
        "{:<36} {:>12} {:>12} {:>7}",
        "bench", "median", "floor", "ratio"
    );
    for row in rows {
        println!(
            "{:<36} {:>12} {:>12} {:>7.2}",
            row.bench,
            format_time(row.median_ns),
            format_time(row.floor_ns),
            row.ratio
        );
    }
    Ok(())
}

/// Prepares the start of a program in a directory, without output.
fn start(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory).env("PATH", "/usr/bin:/bin");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Creates a skill and returns its directory.
fn write_skill(root: &Path, name: &str) -> Result<PathBuf> {
    let directory = root.join(name);
    fs::create_dir_all(&directory)?;
    fs::write(
        directory.join("SKILL.md"),
        format!("---\nname: {name}\ndescription: Prints a greeting when asked to.\n---\nRun it.\n"),
    )?;
    Ok(directory)
}

/// Starts the command and its floor alternately, which cancels drift on shared machines.
fn compare_starts(
    name: &str,
    command: &mut Command,
    floor: &mut Command,
    time: fn(&mut Command) -> Result<Duration>,
) -> Result<Row> {
    // The first start fills the caches of the system.
    time(command)?;
    time(floor)?;
    let mut measured = Vec::new();
    let mut floors = Vec::new();
    for _ in 0..STARTS {
        floors.push(time(floor)?);
        measured.push(time(command)?);
    }
    Ok(Row::new(name, measured, floors))
}

impl Row {
    /// Compares the times of a command with those of its floor, by their medians.
    fn new(name: &str, measured: Vec<Duration>, floors: Vec<Duration>) -> Self {
        let (median_ns, floor_ns) = (median_ns(measured), median_ns(floors));
        Self {
            bench: format!("{COMMAND_PACKAGE} {name}"),
            median_ns,
            floor_ns,
            ratio: median_ns / floor_ns,
        }
    }
}

fn time_start(command: &mut Command) -> Result<Duration> {
    let started = Instant::now();
    let status = command.status()?;
    let elapsed = started.elapsed();
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(elapsed)
}

fn median_ns(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_nanos() as f64
}

/// Selects for each bench the round with the median ratio.
fn median_rounds(rounds: Vec<Vec<Row>>) -> Vec<Row> {
    let mut by_bench: Vec<Vec<Row>> = Vec::new();
    for (index, row) in rounds
        .into_iter()
        .flat_map(|round| round.into_iter().enumerate())
    {
        // Every round prints the same benches in the same order.
        match by_bench.get_mut(index) {
            Some(rows) => rows.push(row),
            None => by_bench.push(vec![row]),
        }
    }
    let median = |mut rows: Vec<Row>| {
        rows.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        rows.swap_remove(rows.len() / 2)
    };
    by_bench.into_iter().map(median).collect()
}

/// One measurement: the bench, its argument if it has several, and its median in nanoseconds.
type Measurement = (String, Option<String>, f64);

fn pair_with_floor(package: &str, target: &str, medians: &[Measurement]) -> Result<Vec<Row>> {
    let row = |(name, argument, median_ns): &Measurement| {
        // Each argument of a bench has a floor of its own.
        let is_floor = |(name, other, _): &&Measurement| name == FLOOR && other == argument;
        let floor_ns = medians
            .iter()
            .find(is_floor)
            .map(|(.., nanoseconds)| *nanoseconds);
        let floor_ns =
            floor_ns.with_context(|| format!("{package} {target} has no bench `{FLOOR}`"))?;
        let argument = argument
            .as_deref()
            .map(|argument| format!(" {argument}"))
            .unwrap_or_default();
        Ok(Row {
            bench: format!("{package} {target} {name}{argument}"),
            median_ns: *median_ns,
            floor_ns,
            ratio: median_ns / floor_ns,
        })
    };
    medians
        .iter()
        .filter(|(name, ..)| name != FLOOR)
        .map(row)
        .collect()
}

/// Parses names and medians in the output of divan: `├─ name  fastest │ slowest │ median │ mean │
/// …`. The lines below a bench are its arguments, which are numbers; those below a module are its
/// benches.
fn parse_medians(text: &str) -> Vec<Measurement> {
    let mut medians = Vec::new();
    let mut parent = String::new();
    for line in text.lines() {
        let row = line.trim_start_matches(['├', '╰', '─', '│', ' ']);
        let Some(name) = row.split_whitespace().next() else {
            continue;
        };
        let is_argument = name.parse::<f64>().is_ok();
        if !is_argument {
            parent = name.to_owned();
        }
        let Some(median) = row
            .split('│')
            .nth(2)
            .and_then(|column| parse_nanoseconds(column.trim()))
        else {
            continue;
        };
        medians.push(if is_argument {
            (parent.clone(), Some(name.to_owned()), median)
        } else {
            (name.to_owned(), None, median)
        });
    }
    medians
}

fn parse_nanoseconds(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let factor = match unit {
        "ns" => 1.0,
        "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

fn format_time(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{:.1} µs", n / 1e3),
        n => format!("{:.2} ms", n / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_column_is_parsed() {
        let text = "scan      fastest       │ slowest       │ median        │ mean          │ samples │ iters\n\
                    ├─ floor  5.1 ms        │ 6.2 ms        │ 5.5 ms        │ 5.6 ms        │ 30      │ 30\n\
                    ╰─ scan   11.4 µs       │ 8.0 ms        │ 12.5 µs       │ 7.2 ms        │ 30      │ 30\n";
        assert_eq!(
            parse_medians(text),
            [
                ("floor".to_owned(), None, 5.5e6),
                ("scan".to_owned(), None, 12.5e3)
            ]
        );
    }

    #[test]
    fn arguments_belong_to_the_bench_above_them() {
        let text = "scan           fastest       │ slowest       │ median        │ mean          │ samples │ iters\n\
                    ├─ floor                     │               │               │               │         │\n\
                    │  ├─ 1000     2.3 ms        │ 4.5 ms        │ 2.6 ms        │ 2.8 ms        │ 30      │ 30\n\
                    ╰─ scan                      │               │               │               │         │\n\
                    \u{20}  ╰─ 1000     1.1 ms        │ 1.6 ms        │ 1.2 ms        │ 1.2 ms        │ 30      │ 30\n";
        let row = |name: &str, median| (name.to_owned(), Some("1000".to_owned()), median);
        assert_eq!(
            parse_medians(text),
            [row("floor", 2.6e6), row("scan", 1.2e6)]
        );
    }
}
