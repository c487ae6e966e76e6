//! `pyproject.toml`.

use toml::{Table, Value};

use super::lock;
use super::project::PythonProject;
use crate::files::ReadFile;
use crate::grammar::{canonical_specifiers, parse_toml};

/// Reads `pyproject.toml` in a directory, with `uv.lock`; `None` if there is none, or if it declares
/// no packages.
pub(super) fn read(files: &ReadFile<'_>, directory: &str) -> Option<PythonProject> {
    let file = format!("{directory}pyproject.toml");
    let text = files(&file)?;
    let mut project = PythonProject::of_file(&file);
    match parse_toml::<Table>(&text) {
        Ok(table) => project.add_pyproject(&file, &table),
        Err(error) => project.add_problem(&file, error.line(), &error.to_string()),
    }
    if project.is_empty() {
        return None;
    }
    let lock = format!("{directory}uv.lock");
    if let Some(text) = files(&lock) {
        project.add_source(&lock);
        lock::add(&mut project, &lock, &text);
    }
    Some(project)
}

impl PythonProject {
    /// Adds `dependencies` and `requires-python` of a table, as `project` and script blocks have.
    pub(super) fn add_block(&mut self, file: &str, table: &Table) {
        let listed = table.get("dependencies").and_then(Value::as_array);
        for value in listed.into_iter().flatten() {
            match value.as_str() {
                Some(text) => self.add(file, None, text),
                None => self.add_problem(file, None, "`dependencies` contains more than texts"),
            }
        }
        let python = table.get("requires-python").and_then(Value::as_str);
        self.requires_python = python.and_then(canonical_specifiers);
        self.add_sources_of_uv(file, table.get("tool"));
    }

    fn add_pyproject(&mut self, file: &str, table: &Table) {
        if let Some(project) = table.get("project").and_then(Value::as_table) {
            self.add_block(file, project);
            let dynamic = project.get("dynamic").and_then(Value::as_array);
            if dynamic.is_some_and(|names| {
                names
                    .iter()
                    .any(|name| name.as_str() == Some("dependencies"))
            }) {
                self.add_problem(file, None, "dynamic dependencies are not supported");
            }
        }
        let tool = table.get("tool");
        self.add_sources_of_uv(file, tool);
        let poetry = tool.and_then(|tool| tool.get("poetry")?.get("dependencies")?.as_table());
        for (name, value) in poetry.into_iter().flatten() {
            self.add_poetry(file, name, value);
        }
    }

    /// Reports packages that uv would take from elsewhere than the index.
    fn add_sources_of_uv(&mut self, file: &str, tool: Option<&Value>) {
        let sources = tool.and_then(|tool| tool.get("uv")?.get("sources")?.as_table());
        for name in sources.into_iter().flat_map(Table::keys) {
            let reason = format!(
                "`{}` has a source in `tool.uv.sources`",
                name.escape_debug()
            );
            self.add_problem(file, None, &reason);
        }
    }

    /// Adds a dependency of Poetry, which also lists the interpreter as one.
    fn add_poetry(&mut self, file: &str, name: &str, value: &Value) {
        let version = match value {
            Value::String(version) => Some(version.as_str()),
            Value::Table(table) => {
                let is_optional = table.get("optional").and_then(Value::as_bool) == Some(true);
                if is_optional {
                    return;
                }
                table.get("version").and_then(Value::as_str)
            }
            _ => None,
        };
        let specifiers = version.and_then(poetry_specifiers);
        match specifiers {
            Some(specifiers) if name == "python" => {
                self.requires_python = canonical_specifiers(&specifiers);
            }
            Some(specifiers) => self.add(file, None, &format!("{name}{specifiers}")),
            None => {
                let reason = format!("cannot read the version of `{}`", name.escape_debug());
                self.add_problem(file, None, &reason);
            }
        }
    }
}

/// Returns the version specifiers for a constraint of Poetry: `^1.2` is `>=1.2,<2`.
fn poetry_specifiers(text: &str) -> Option<String> {
    let parts = text.split(',').map(|part| {
        let part = part.trim();
        if part == "*" {
            return Some(String::new());
        }
        if let Some(version) = part.strip_prefix('^') {
            return Some(format!(">={version},<{}", next_version(version, true)?));
        }
        if let Some(version) = part.strip_prefix('~').filter(|rest| !rest.starts_with('=')) {
            return Some(format!(">={version},<{}", next_version(version, false)?));
        }
        let has_operator = part.starts_with(['=', '<', '>', '!', '~']);
        Some(if has_operator {
            part.to_owned()
        } else {
            format!("=={part}")
        })
    });
    let parts: Vec<String> = parts.collect::<Option<_>>()?;
    Some(
        parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(","),
    )
}

/// Returns the first version that a caret or tilde constraint excludes.
fn next_version(version: &str, is_caret: bool) -> Option<String> {
    let mut parts: Vec<u64> = version
        .split('.')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let index = if is_caret {
        parts
            .iter()
            .position(|part| *part > 0)
            .unwrap_or(parts.len().checked_sub(1)?)
    } else {
        parts.len().checked_sub(1)?.min(1)
    };
    parts.truncate(index + 1);
    let last = parts.get_mut(index)?;
    *last = last.checked_add(1)?;
    Some(
        parts
            .iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join("."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Option<PythonProject> {
        read(
            &|path| (path == "pyproject.toml").then(|| text.to_owned()),
            "",
        )
    }

    #[test]
    fn project_and_poetry_dependencies_are_read() {
        let list = |text: &str| {
            let project = read_text(text).unwrap();
            let names = project.requirements.iter().map(ToString::to_string);
            names.collect::<Vec<_>>().join(" ")
        };
        let project = "[project]\nname='x'\ndependencies = ['pandas>=2', 'httpx[http2]']\n";
        assert_eq!(list(project), "pandas>=2 httpx[http2]");
        let poetry = "[tool.poetry.dependencies]\npython='^3.9'\nrich='^0.2.3'\na='~1.4.2'\nb={version='1.0', optional=true}\nc='*'\nd='2.1'\n";
        assert_eq!(list(poetry), "a>=1.4.2,<1.5 c d==2.1 rich>=0.2.3,<0.3");
        assert!(read_text("[project]\nname='x'\ndependencies = []\n").is_none());
    }

    #[test]
    fn the_version_after_the_largest_one_is_a_problem() {
        let text = format!("[tool.poetry.dependencies]\na='^{}'\n", u64::MAX);
        let problems = read_text(&text).unwrap().problems;
        assert_eq!(problems, ["pyproject.toml: cannot read the version of `a`"]);
    }

    #[test]
    fn what_cannot_be_installed_is_a_problem() {
        let problems = |text: &str| read_text(text).unwrap().problems.join("\n");
        insta::assert_snapshot!(problems("not = [toml"), @"pyproject.toml:1: unclosed array, expected `]`");
        insta::assert_snapshot!(problems("[project]\ndynamic = ['dependencies']\n"), @"pyproject.toml: dynamic dependencies are not supported");
        insta::assert_snapshot!(problems("[project]\ndependencies = ['a', 'b @ git+https://x.example/b']\n[tool.uv.sources]\na = { path = '..' }\n"), @r"
        pyproject.toml: `b` is not from an index
        pyproject.toml: `a` has a source in `tool.uv.sources`
        ");
        insta::assert_snapshot!(problems("[tool.poetry.dependencies]\na = { git = 'https://x.example' }\n"), @"pyproject.toml: cannot read the version of `a`");
    }
}
