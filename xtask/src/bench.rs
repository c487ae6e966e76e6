//! Runs the benchmarks and puts each beside the floor of the same run.

use anyhow::{Context, Result};
use serde::Serialize;

use crate::command::{cargo, output};

/// The benchmarks: crate, target. In each, `floor` is the least that the machine needs for the same work.
const BENCHES: [(&str, &str); 5] = [
    ("skills-manifest", "parse"),
    ("skills-discovery", "scan"),
    ("skills-prompt", "render"),
    ("skills-sandbox-linux", "spawn"),
    ("skills-sandbox-wasm", "run"),
];
const FLOOR: &str = "floor";

/// How the table is printed.
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

pub(crate) fn bench(format: Format) -> Result<()> {
    let mut rows = Vec::new();
    for (package, target) in BENCHES {
        eprintln!("{package} {target}");
        let text = output(&mut cargo(&["bench", "--quiet", "--locked", "--package", package, "--bench", target]))?;
        rows.extend(pair(package, target, &medians(&text))?);
    }
    if format == Format::Json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
        return Ok(());
    }
    println!("{:<36} {:>12} {:>12} {:>7}", "bench", "median", "floor", "ratio");
    for row in rows {
        println!("{:<36} {:>12} {:>12} {:>7.2}", row.bench, time(row.median_ns), time(row.floor_ns), row.ratio);
    }
    Ok(())
}

fn pair(package: &str, target: &str, medians: &[(String, f64)]) -> Result<Vec<Row>> {
    let floor = medians.iter().find(|(name, _)| name == FLOOR).map(|(_, nanoseconds)| *nanoseconds);
    let floor_ns = floor.with_context(|| format!("{package} {target} has no `{FLOOR}`"))?;
    let others = medians.iter().filter(|(name, _)| name != FLOOR);
    let row = |(name, median_ns): &(String, f64)| Row {
        bench: format!("{package} {target} {name}"),
        median_ns: *median_ns,
        floor_ns,
        ratio: median_ns / floor_ns,
    };
    Ok(others.map(row).collect())
}

/// Reads names and medians out of divan's tree: `├─ name  fastest │ slowest │ median │ mean │ …`.
fn medians(text: &str) -> Vec<(String, f64)> {
    let row = |line: &str| {
        let line = line.trim_start_matches(['├', '╰', '─', '│', ' ']);
        let name = line.split_whitespace().next()?;
        let median = line.split('│').nth(2)?.trim();
        Some((name.to_owned(), nanoseconds(median)?))
    };
    text.lines().filter_map(row).collect()
}

fn nanoseconds(text: &str) -> Option<f64> {
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

fn time(nanoseconds: f64) -> String {
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
    fn reads_the_median_column() {
        let text = "scan      fastest       │ slowest       │ median        │ mean          │ samples │ iters\n\
                    ├─ floor  5.1 ms        │ 6.2 ms        │ 5.5 ms        │ 5.6 ms        │ 30      │ 30\n\
                    ╰─ scan   11.4 µs       │ 8.0 ms        │ 12.5 µs       │ 7.2 ms        │ 30      │ 30\n";
        assert_eq!(medians(text), [("floor".to_owned(), 5.5e6), ("scan".to_owned(), 12.5e3)]);
    }
}
