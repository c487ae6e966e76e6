//! Attempts to escape, to exhaust resources, or to crash the host: one test each, named
//! `case_NN_…`, for every version of WASI.

mod artifacts;
mod cancellation;
mod concurrency;
mod determinism;
mod files;
pub(crate) mod fixture;
mod input;
mod limits;
mod load;
mod network;
mod output;
pub(crate) mod programs;
mod special_files;
mod terminations;
mod time;

/// How many cases there are; their numbers begin with 1.
const CASES: usize = 43;

/// Queries the test binary itself, so that a case whose file is not compiled, or which is not a
/// test, counts as missing.
#[test]
fn every_case_has_a_test() {
    let program = std::env::current_exe().unwrap();
    let output = std::process::Command::new(program)
        .args(["--list", "--format", "terse"])
        .output()
        .unwrap();
    let tests = String::from_utf8(output.stdout).unwrap();
    let has_test = |case: &usize| tests.contains(&format!("::case_{case:02}_"));
    let missing: Vec<usize> = (1..=CASES).filter(|case| !has_test(case)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
