//! The jobs that agents do with the server as it was installed.

use serde_json::json;

use crate::agents::jobs::FORM;
use crate::agents::plan::{Plan, Step};

/// A file by its path.
type File = (&'static str, Vec<u8>);

/// A task of a user who prepared nothing.
pub(crate) struct InstalledJob {
    pub(crate) key: &'static str,
    pub(crate) title: &'static str,
    pub(crate) home_files: Vec<File>,
    pub(crate) project_files: Vec<File>,
    pub(crate) plan: Plan,
    /// The file that exists afterwards, and a text in it.
    pub(crate) output: (&'static str, &'static str),
}

/// Returns all jobs.
pub(crate) fn installed_jobs() -> [InstalledJob; 3] {
    [package_job(), line_job(), project_job()]
}

fn package_job() -> InstalledJob {
    let command =
        "python scripts/fill_form.py /workspace/form.pdf /workspace/filled.pdf 'name=Ada Lovelace'";
    InstalledJob {
        key: "package",
        title: "fill in a PDF form with a skill of the user that needs an undeclared package",
        home_files: vec![
            (
                ".agents/skills/pdf-form/SKILL.md",
                include_bytes!("../../../agents/installed/pdf-form/SKILL.md").into(),
            ),
            (
                ".agents/skills/pdf-form/scripts/fill_form.py",
                include_bytes!("../../../agents/installed/pdf-form/scripts/fill_form.py").into(),
            ),
        ],
        project_files: vec![("form.pdf", FORM.into())],
        plan: Plan {
            steps: vec![
                Step::new(
                    "search_skills",
                    json!({"query": "fill in a PDF form"}),
                    "pdf-form",
                ),
                Step::new("load_skill", json!({"name": "pdf-form"}), "fill_form.py"),
                Step::new(
                    "skills_run",
                    json!({"name": "pdf-form", "command": command}),
                    "filled in: name",
                )
                .repeatable(),
            ],
        },
        output: ("filled.pdf", "Ada Lovelace"),
    }
}

fn line_job() -> InstalledJob {
    InstalledJob {
        key: "line",
        title: "run a line with a pipe and a redirection, and read the file",
        home_files: Vec::new(),
        project_files: vec![(
            "app.log",
            b"INFO start\nERROR disk is full\nERROR cannot write\nINFO end\n".into(),
        )],
        plan: Plan {
            steps: vec![
                Step::new(
                    "skills_bash",
                    json!({"command": "grep ERROR app.log | sort > errors.txt"}),
                    "errors.txt",
                )
                .repeatable(),
                Step::new(
                    "skills_read",
                    json!({"path": "/workspace/errors.txt"}),
                    "ERROR disk is full",
                ),
            ],
        },
        output: ("errors.txt", "ERROR cannot write\nERROR disk is full\n"),
    }
}

fn project_job() -> InstalledJob {
    let command =
        "python scripts/notes.py /workspace/changes.txt /workspace/release-notes.md 1.2.0";
    InstalledJob {
        key: "project",
        title: "write release notes with a skill of the project that is not trusted yet",
        home_files: Vec::new(),
        project_files: vec![
            (
                ".agents/skills/release-notes/SKILL.md",
                include_bytes!("../../../agents/installed/release-notes/SKILL.md").into(),
            ),
            (
                ".agents/skills/release-notes/scripts/notes.py",
                include_bytes!("../../../agents/installed/release-notes/scripts/notes.py").into(),
            ),
            ("changes.txt", b"reads pipes\nasks once\n".into()),
        ],
        plan: Plan {
            steps: vec![
                Step::new(
                    "search_skills",
                    json!({"query": "write release notes"}),
                    "release-notes",
                ),
                Step::new("load_skill", json!({"name": "release-notes"}), "notes.py").repeatable(),
                Step::new(
                    "skills_run",
                    json!({"name": "release-notes", "command": command}),
                    "wrote 2 changes",
                )
                .repeatable(),
            ],
        },
        output: ("release-notes.md", "- reads pipes\n- asks once\n"),
    }
}
