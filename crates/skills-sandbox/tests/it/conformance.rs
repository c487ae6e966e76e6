//! The table of escape attempts as documentation.

use skills_sandbox::conformance::{AttemptResult, BackendVariant, CASES, Category};

const PAGE: &str = include_str!("../../../../docs/conformance.md");

const HEAD: &str = "\
# What every sandbox answers

Attempts to get out of a sandbox, and what must come of them. On Linux the tests make every one of them; the column of seatbelt is answered by what
the evaluated profile decides, and what a profile does not decide waits for a Mac. In WebAssembly the tests make every one that is not absent, by
programs of WASI 0.2 and 0.3; absent there is what no call of WASI could do. This page is written by a test; to change it, change the table in
`crates/skills-sandbox/src/conformance/cases`.

| answer | meaning |
|---|---|
| denied | it fails, or finds nothing of what it looks for |
| no-effect | it may say that it worked, or end the program that makes it; outside, all is as before |
| contained | it happens, but reaches nothing beyond the run, stays within its limits, and ends with it |
| works | it works, as it should |
| visible | it works although it should not, and the run's report says so |
| refused | nothing runs: the backend refuses the job, or says which wall is missing |
| absent | it has no meaning there |

Where two answers stand, what the machine offers decides. Walls are named in [backends](backends.md).
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
#[expect(
    clippy::disallowed_methods,
    reason = "the test's own file, for whoever changes the table"
)]
fn the_page_is_the_table() {
    let page = page();
    if page == PAGE {
        return;
    }
    let written = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("conformance.md");
    std::fs::write(&written, &page).unwrap();
    panic!(
        "docs/conformance.md is not what the table says: cp {} docs/conformance.md",
        written.display()
    );
}
