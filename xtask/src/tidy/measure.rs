//! Prints the size and the structure of each crate.

use std::fmt::Write;

use super::cycles::{cycles, imports_within};
use super::impl_files::scattered;
use super::source::Crate;

/// Cycles of imports with more modules than this are counted.
const SMALL_CIRCLE: usize = 3;

struct Row {
    name: String,
    lines: usize,
    tokens: usize,
    /// The tokens of each function, in ascending order.
    functions: Vec<usize>,
    cycles: usize,
    scattered_types: usize,
}

/// Returns the table of the crates, with the imports of large cycles and the types with an `impl` in
/// too many files.
pub(super) fn table(crates: &[Crate]) -> String {
    let rows: Vec<Row> = crates.iter().map(row).collect();
    let mut text = format!(
        "{:26}{:>8}{:>10}{:>10}{:>7}{:>5}{:>10}{:>8}\n",
        "crate", "lines", "tokens", "functions", "median", "p90", "cycles>3", "impls>2"
    );
    for row in rows.iter().chain([&total(&rows)]) {
        let _ = writeln!(
            text,
            "{:26}{:>8}{:>10}{:>10}{:>7}{:>5}{:>10}{:>8}",
            row.name,
            row.lines,
            row.tokens,
            row.functions.len(),
            quantile(&row.functions, 50),
            quantile(&row.functions, 90),
            row.cycles,
            row.scattered_types,
        );
    }
    text.push('\n');
    for sources in crates {
        for cycle in large_cycles(sources) {
            let _ = writeln!(text, "{}: cycle of {} modules", sources.name, cycle.len());
            for (file, imported) in imports_within(sources, &cycle) {
                let _ = writeln!(text, "    {file} imports {}", imported.join(", "));
            }
        }
        for (name, files) in scattered(sources) {
            let files: Vec<&str> = files.into_iter().collect();
            let count = files.len();
            let _ = writeln!(
                text,
                "{name}: `impl` in {count} files: {}",
                files.join(", ")
            );
        }
    }
    text
}

fn row(sources: &Crate) -> Row {
    let functions = sources.modules.iter().flat_map(|module| &module.functions);
    let mut functions: Vec<usize> = functions.copied().collect();
    functions.sort_unstable();
    Row {
        name: sources.name.clone(),
        lines: sources.lines,
        tokens: sources.tokens,
        functions,
        cycles: large_cycles(sources).count(),
        scattered_types: scattered(sources).len(),
    }
}

fn total(rows: &[Row]) -> Row {
    let mut functions: Vec<usize> = rows
        .iter()
        .flat_map(|row| &row.functions)
        .copied()
        .collect();
    functions.sort_unstable();
    let sum = |part: fn(&Row) -> usize| rows.iter().map(part).sum();
    Row {
        name: "total".to_owned(),
        lines: sum(|row| row.lines),
        tokens: sum(|row| row.tokens),
        functions,
        cycles: sum(|row| row.cycles),
        scattered_types: sum(|row| row.scattered_types),
    }
}

fn large_cycles(sources: &Crate) -> impl Iterator<Item = Vec<&str>> {
    cycles(sources)
        .into_iter()
        .filter(|cycle| cycle.len() > SMALL_CIRCLE)
}

/// Returns the smallest number that at least `percent` of the sorted numbers do not exceed.
fn quantile(sorted: &[usize], percent: usize) -> usize {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::library;

    #[test]
    fn the_table_has_a_row_for_each_crate_and_their_total() {
        let cycle = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\npub struct A;\n"),
            (
                "a.rs",
                "use super::b::B;\npub fn a() {}\nimpl crate::A {}\n",
            ),
            (
                "b.rs",
                "use super::c::C;\npub struct B;\nimpl crate::A {}\n",
            ),
            (
                "c.rs",
                "use super::d::D;\npub struct C;\nimpl crate::A {}\n",
            ),
            ("d.rs", "use super::a::a;\npub struct D;\nfn d() { a() }\n"),
        ];
        let crates = [
            library("one", &cycle),
            library("two", &[("lib.rs", "// Text.\nfn f() {}\n")]),
        ];
        let expected = "\
crate                        lines    tokens functions median  p90  cycles>3 impls>2
one                             17        90         2      6    9         1       1
two                              2         6         1      6    6         0       0
total                           19        96         3      6    9         1       1

one: cycle of 4 modules
    a imports b
    b imports c
    c imports d
    d imports a
one::A: `impl` in 3 files: a, b, c
";
        assert_eq!(table(&crates), expected);
    }

    #[test]
    fn quantiles_are_numbers_of_the_list() {
        let numbers: Vec<usize> = (1..=10).collect();
        assert_eq!([50, 90].map(|percent| quantile(&numbers, percent)), [5, 9]);
        assert_eq!([50, 90].map(|percent| quantile(&[7], percent)), [7, 7]);
        assert_eq!(quantile(&[], 50), 0);
    }
}
