//! Tests the MCP server with third-party clients: those of the Python libraries `mcp` and
//! `fastmcp`.

use std::process::{Command, Stdio};

use anyhow::Result;

use crate::command::{run, workspace_dir};
use crate::skills_command::SkillsCommand;

const SCRIPTS_DIR: &str = "crates/skills-mcp/tests/clients";

/// A Python library.
struct PythonLibrary {
    name: &'static str,
    /// The imports of the tests, of the library and of its requirements.
    import_lines: &'static str,
    /// The packages to install.
    requirement: &'static str,
    /// The environment variable with the path of a Python that has the library.
    variable: &'static str,
}

const PYTHON_LIBRARIES: [PythonLibrary; 2] = [
    PythonLibrary {
        name: "mcp",
        import_lines: "jsonschema; from mcp import Client",
        requirement: "'mcp>=2.3,<3' jsonschema",
        variable: "SKILLS_TEST_PYTHON",
    },
    PythonLibrary {
        name: "fastmcp",
        import_lines: "fastmcp.skills.client",
        requirement: "'fastmcp>=4.1.2,<5'",
        variable: "SKILLS_TEST_FASTMCP",
    },
];

/// Runs the tests of each installed client library.
pub(crate) fn interop() -> Result<()> {
    if !cfg!(target_os = "linux") {
        eprintln!(
            "skipped the Python clients: they check in /proc for processes that survived a call"
        );
        return Ok(());
    }
    if let Err(reason) = skills_test_support::host::sandbox() {
        eprintln!("skipped the Python clients: {reason}");
        return Ok(());
    }
    let found = PYTHON_LIBRARIES
        .iter()
        .filter_map(|library| Some((library, library.find_python()?)))
        .collect::<Vec<_>>();
    // The reason was printed for each library.
    if found.is_empty() {
        return Ok(());
    }
    let skills = SkillsCommand::build()?;
    for (library, python) in found {
        let mut command = Command::new(python);
        command
            .current_dir(workspace_dir().join(SCRIPTS_DIR))
            // Without `-B` Python writes caches into the sources.
            .args(["-B", "all.py", library.name]);
        run(command.env("SKILLS_COMMAND", skills.path()))?;
    }
    Ok(())
}

impl PythonLibrary {
    /// Returns a Python that has the library, or prints how to install it.
    fn find_python(&self) -> Option<String> {
        let python = std::env::var(self.variable).unwrap_or_else(|_| "python3".to_owned());
        let has_it = Command::new(&python)
            // Tried instead of asking for the version: an unsuitable one lacks these names.
            .args(["-c", &format!("import {}", self.import_lines)])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !has_it {
            let Self {
                name,
                requirement,
                variable,
                ..
            } = self;
            eprintln!(
                "skipped the Python clients: `{python}` has no suitable `{name}` (`pip install {requirement}`, or set {variable} to another Python)"
            );
        }
        has_it.then_some(python)
    }
}
