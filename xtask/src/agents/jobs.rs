//! The plans: a probe that measures what a model sees, and whole jobs.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::json;

use super::fixtures::PROBE_SKILL;
use super::plan::{Plan, Step};
use crate::command::workspace_dir;

pub(crate) const EXAMPLES_DIR: &str = "examples/skills";
/// The variable with a copy of the collection `anthropics/skills`, which is not part of this
/// project.
const COLLECTION_VARIABLE: &str = "SKILLS_TEST_COLLECTION";
/// The variable with a Python that has pypdf.
const PYPDF_VARIABLE: &str = "SKILLS_TEST_PYPDF";
/// A PDF with one text field, `name`.
pub(crate) const FORM: &[u8] = include_bytes!("../../agents/form.pdf");
const NOTES: &str = "one two three\nfour\n";

/// Calls each tool that most conversations use, and two that fail.
pub(crate) fn probe() -> Plan {
    let run = |command: &str| json!({"name": PROBE_SKILL, "command": command});
    Plan {
        steps: vec![
            Step::new(
                "search_skills",
                json!({"query": "import duty and taxes of an order"}),
                PROBE_SKILL,
            ),
            Step::new("load_skill", json!({"name": PROBE_SKILL}), "calculate_duty"),
            Step::new("skills_ls", json!({}), "notes.txt"),
            Step::new(
                "skills_read",
                json!({"path": "/workspace/notes.txt"}),
                "four",
            ),
            Step::new(
                "skills_write",
                json!({"path": "/workspace/out.txt", "content": "done\n"}),
                "out.txt",
            ),
            Step::new(
                "skills_run",
                run(r#"python scripts/calculate_duty.py '{"cif_price": 1000}'"#),
                "186.5",
            ),
            Step::new("skills_run", run("python scripts/broken.py"), "Traceback")
                .with_note("of a program that fails"),
            Step::new(
                "skills_read",
                json!({"path": "/workspace/note.txt"}),
                "note.txt",
            )
            .with_note("of a missing file"),
            // Some agents evaluate text that is JSON.
            Step::new(
                "skills_read",
                json!({"path": "/workspace/list.json"}),
                "[1, 2]",
            )
            .with_note("of a JSON array"),
            Step::new("skills_bash", json!({"command": "ls"}), "notes.txt"),
        ],
    }
}

/// The files that the probe needs.
pub(crate) fn probe_files() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("notes.txt", NOTES.into()),
        ("list.json", b"[1, 2]\n".into()),
    ]
}

/// A task of a user, from the search for a skill to a file in the project.
pub(crate) struct Job {
    pub(crate) key: &'static str,
    pub(crate) server_options: Vec<String>,
    pub(crate) project_files: Vec<(&'static str, Vec<u8>)>,
    pub(crate) plan: Plan,
    /// The file that exists afterwards, and a text in it.
    pub(crate) output: Option<(&'static str, &'static str)>,
}

/// The keys and titles of all jobs.
pub(crate) const TITLES: [(&str, &str); 4] = [
    (
        "form",
        "fill in a PDF form with the skill `pdf` of anthropics/skills",
    ),
    (
        "documents",
        "load the skills `docx`, `xlsx` and `pptx` of anthropics/skills",
    ),
    (
        "taxes",
        "read an order, calculate its taxes, write them to a file",
    ),
    (
        "weather",
        "search, load, read the data, run programs and commands on the skill",
    ),
];

/// Returns the jobs that this machine can run, and for each other one its name and why it cannot.
pub(crate) fn jobs() -> (Vec<Job>, Vec<String>) {
    let mut jobs = vec![tax_job(), weather_job()];
    let mut skipped = Vec::new();
    match collection() {
        Ok(root) => {
            jobs.push(documents_job(&root));
            match python_with_pypdf() {
                Ok(python) => jobs.push(form_job(&root, &python)),
                Err(reason) => skipped.push(format!("form: {reason}")),
            }
        }
        Err(reason) => {
            skipped.extend(["form", "documents"].map(|key| format!("{key}: {reason}")));
        }
    }
    (jobs, skipped)
}

/// Returns the root of the collection.
fn collection() -> Result<String, String> {
    let variable = COLLECTION_VARIABLE;
    let path = std::env::var_os(variable)
        .ok_or_else(|| format!("{variable} is not set (a copy of anthropics/skills)"))?;
    let root = PathBuf::from(path).join("skills");
    if root.is_dir() {
        Ok(root.display().to_string())
    } else {
        Err(format!(
            "{variable}: `{}` is not a directory",
            root.display()
        ))
    }
}

/// Returns a Python that has pypdf.
fn python_with_pypdf() -> Result<String, String> {
    let python = std::env::var(PYPDF_VARIABLE).unwrap_or_else(|_| "python3".to_owned());
    let has_pypdf = Command::new(&python)
        .args(["-c", "import pypdf"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if has_pypdf {
        Ok(python)
    } else {
        Err(format!(
            "`{python}` has no pypdf (`pip install pypdf`, or set {PYPDF_VARIABLE} to another Python)"
        ))
    }
}

fn documents_job(root: &str) -> Job {
    let load = |name| Step::new("load_skill", json!({"name": name}), name);
    Job {
        key: "documents",
        server_options: vec!["--root".to_owned(), root.to_owned()],
        project_files: Vec::new(),
        plan: Plan {
            steps: ["docx", "xlsx", "pptx"].map(load).into(),
        },
        output: None,
    }
}

fn form_job(root: &str, python: &str) -> Job {
    let values = json!([
        {"field_id": "name", "description": "Name", "page": 1, "value": "Ada Lovelace"}
    ]);
    Job {
        key: "form",
        server_options: vec![
            "--root".to_owned(),
            root.to_owned(),
            "--interpreter".to_owned(),
            format!("python={python}"),
        ],
        project_files: vec![("form.pdf", FORM.into())],
        plan: Plan {
            steps: vec![
                Step::new(
                    "search_skills",
                    json!({"query": "fill in a PDF form"}),
                    "pdf",
                ),
                Step::new("load_skill", json!({"name": "pdf"}), "forms.md"),
                Step::new(
                    "skills_read",
                    json!({"path": "/skills/pdf/forms.md"}),
                    "fill_fillable_fields.py",
                ),
                Step::new(
                    "skills_run",
                    json!({
                        "name": "pdf",
                        "command": "python scripts/extract_form_field_info.py /workspace/form.pdf /workspace/field_info.json",
                    }),
                    "Wrote 1 fields",
                ),
                Step::new(
                    "skills_read",
                    json!({"path": "/workspace/field_info.json"}),
                    "field_id",
                ),
                Step::new(
                    "skills_write",
                    json!({
                        "path": "/workspace/field_values.json",
                        "content": values.to_string(),
                    }),
                    "field_values.json",
                ),
                Step::new(
                    "skills_run",
                    json!({
                        "name": "pdf",
                        "command": "python scripts/fill_fillable_fields.py /workspace/form.pdf /workspace/field_values.json /workspace/filled.pdf",
                    }),
                    "",
                ),
            ],
        },
        output: Some(("filled.pdf", "Ada Lovelace")),
    }
}

fn example_options() -> Vec<String> {
    let examples = workspace_dir().join(EXAMPLES_DIR);
    vec!["--root".to_owned(), examples.display().to_string()]
}

fn tax_job() -> Job {
    Job {
        key: "taxes",
        server_options: example_options(),
        project_files: vec![(
            "order.json",
            br#"{"cif_price": 1000, "hs_code": "42021290"}"#.into(),
        )],
        plan: Plan {
            steps: vec![
                Step::new(
                    "search_skills",
                    json!({"query": "import duty and taxes of an order"}),
                    "tax_calculator",
                ),
                Step::new(
                    "load_skill",
                    json!({"name": "tax_calculator"}),
                    "calculate_duty.py",
                ),
                Step::new(
                    "skills_read",
                    json!({"path": "/workspace/order.json"}),
                    "42021290",
                ),
                Step::new(
                    "skills_run",
                    json!({
                        "name": "tax_calculator",
                        "command": r#"python scripts/calculate_duty.py '{"cif_price": 1000, "hs_code": "42021290"}'"#,
                    }),
                    "186.5",
                ),
                Step::new(
                    "skills_write",
                    json!({"path": "/workspace/taxes.json", "content": "{\"total\": 186.5}\n"}),
                    "taxes.json",
                ),
            ],
        },
        output: Some(("taxes.json", "186.5")),
    }
}

fn weather_job() -> Job {
    Job {
        key: "weather",
        server_options: example_options(),
        project_files: Vec::new(),
        plan: Plan {
            steps: vec![
                Step::new(
                    "search_skills",
                    json!({"query": "will it rain in Berlin tomorrow"}),
                    "weather",
                ),
                Step::new("load_skill", json!({"name": "weather"}), "get_forecast.py"),
                Step::new(
                    "skills_read",
                    json!({"path": "/skills/weather/assets/weather.json"}),
                    "Berlin",
                ),
                Step::new(
                    "skills_run",
                    json!({
                        "name": "weather",
                        "command": "python scripts/get_forecast.py --city Berlin --days 2",
                    }),
                    "Berlin",
                ),
                // Paths of the skill as `load_skill` prints them, in commands of the workspace.
                Step::new(
                    "skills_bash",
                    json!({"command": "python /skills/weather/scripts/list_cities.py"}),
                    "Berlin",
                ),
                Step::new(
                    "skills_bash",
                    json!({"command": "grep -c Berlin /skills/weather/assets/weather.json"}),
                    "1",
                ),
            ],
        },
        output: None,
    }
}
