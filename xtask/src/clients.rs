//! Clients of the Model Context Protocol that others wrote, against the server: those of the Python libraries `mcp` and `fastmcp`.

use std::process::{Command, Stdio};

use anyhow::Result;

use crate::command::{run, workspace};
use crate::skills::Skills;

const SCRIPTS: &str = "crates/skills-mcp/tests/clients";

/// A library in Python.
struct Library {
    name: &'static str,
    /// What the tests import of it and of what they need besides.
    imports: &'static str,
    /// What is installed.
    requirement: &'static str,
    /// The variable that names a Python that has it.
    variable: &'static str,
}

const LIBRARIES: [Library; 2] = [
    Library {
        name: "mcp",
        imports: "jsonschema; from mcp import Client",
        requirement: "'mcp>=2.3,<3' jsonschema",
        variable: "SKILLS_TEST_PYTHON",
    },
    Library { name: "fastmcp", imports: "fastmcp.skills.client", requirement: "'fastmcp>=4.1.2,<5'", variable: "SKILLS_TEST_FASTMCP" },
];

/// Runs the tests of each library that is here.
pub(crate) fn clients() -> Result<()> {
    if !cfg!(target_os = "linux") {
        eprintln!("skipped the Python clients: they look in /proc for what outlived its call");
        return Ok(());
    }
    if let Err(reason) = skills_test_support::host::sandbox() {
        eprintln!("skipped the Python clients: {reason}");
        return Ok(());
    }
    let found = LIBRARIES.iter().filter_map(|library| Some((library, library.python()?))).collect::<Vec<_>>();
    if found.is_empty() {
        return Ok(());
    }
    let skills = Skills::build()?;
    for (library, python) in found {
        let mut command = Command::new(python);
        command.current_dir(workspace().join(SCRIPTS)).args(["-B", "all.py", library.name]);
        run(command.env("SKILLS_COMMAND", skills.path()))?;
    }
    Ok(())
}

impl Library {
    /// Finds a Python that has the library; else says how to have one.
    fn python(&self) -> Option<String> {
        let python = std::env::var(self.variable).unwrap_or_else(|_| "python3".to_owned());
        let has_it = Command::new(&python)
            .args(["-c", &format!("import {}", self.imports)])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !has_it {
            let Self { name, requirement, variable, .. } = self;
            eprintln!(
                "skipped the Python clients: {python} has no {name} that will do (`pip install {requirement}`, or name another in {variable})"
            );
        }
        has_it.then_some(python)
    }
}
