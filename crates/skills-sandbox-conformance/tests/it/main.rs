//! Generates the documentation of the conformance suite.

use skills_sandbox_conformance::{AttemptResult, BackendVariant, CASES, Category};

const HEAD: &str = "\
# Sandbox conformance suite

Attempts to escape from a sandbox, with the required result in each backend. On Linux the tests run every attempt. The Seatbelt column is checked by
evaluating the profile; what a profile does not decide is not tested yet. For WebAssembly the tests run every attempt that is applicable, with
programs of WASI 0.2 and 0.3; not-applicable means that no WASI call could do it. For containers the tests run every attempt with Podman and
runc, as root, on hosts that have both. Case 96 has a thousand runs, 64 at a time; with containers 16, 8 at a time. A test generates this page
from the table in `crates/skills-sandbox-conformance/src/cases`.

| result | meaning |
|---|---|
| denied | it fails, or finds nothing |
| no-effect | it may report success, or end the program; nothing changes outside of the sandbox |
| contained | it succeeds, but affects only the run, stays within its limits, and ends with it |
| works | it succeeds, as intended |
| reported | it succeeds although it should not, and the enforcement report says so |
| rejected | nothing runs: the backend rejects the job, or names the restriction that is unavailable |
| not-applicable | the attempt does not apply to the backend |

Where two results are listed, it depends on the machine. [Sandbox backends](backends.md) describes the restrictions.
";

fn words(answers: &[AttemptResult]) -> String {
    answers
        .iter()
        .map(|answer| answer.as_str())
        .collect::<Vec<_>>()
        .join(" or ")
}

fn page() -> String {
    let columns = BackendVariant::ALL
        .map(|column| column.to_string())
        .join(" | ");
    let rule = "---|".repeat(BackendVariant::ALL.len());
    let mut page = HEAD.to_owned();
    let mut group: Option<Category> = None;
    for case in CASES {
        if group != Some(case.category) {
            group = Some(case.category);
            page.push_str(&format!(
                "\n## {}\n\n| | attempt | what is tried | {columns} |\n|---|---|---|{rule}\n",
                case.category
            ));
        }
        let expected = BackendVariant::ALL
            .map(|column| words(case.expected(column)))
            .join(" | ");
        page.push_str(&format!(
            "| {} | `{}` | {} | {expected} |\n",
            case.number, case.name, case.attempt
        ));
    }
    page
}

#[test]
fn the_page_matches_the_table() {
    skills_test_support::assert_document("docs/conformance.md", &page());
}
