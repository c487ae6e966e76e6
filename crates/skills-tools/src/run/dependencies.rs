//! Declared dependencies of scripts other than their interpreter.

use std::fmt;

use skills_runtime::discovery::SkillFiles;

/// Maximum size of a dependency file, and of the part of a script that is searched, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Dependencies that a skill declares, and the file that declares them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeclaredDependencies {
    /// Path of the file in the skill.
    pub(crate) file: String,
    /// The package names; empty if the file cannot be parsed.
    pub(crate) names: Vec<String>,
}

/// Returns the package names in a file, `None` if it cannot be parsed.
type Parser = fn(&str) -> Option<Vec<String>>;

/// Maximum number of packages in an error message.
const MAX_NAMES: usize = 5;

/// Finds the dependencies of `script`, or of any command of the skill if it is `None`.
///
/// A file that cannot be parsed counts as unknown dependencies.
pub(crate) fn find_declared(
    files: &SkillFiles,
    script: Option<&str>,
) -> Option<DeclaredDependencies> {
    let find = |name: &str, parse: Parser| {
        read_file(files, &format!("scripts/{name}"), parse)
            .or_else(|| read_file(files, name, parse))
    };
    let python = || {
        find("pyproject.toml", parse_pyproject)
            .or_else(|| find("requirements.txt", parse_requirements))
    };
    let node = || find("package.json", parse_package_json);
    match script {
        Some(script) if script.ends_with(".py") => {
            python().or_else(|| read_file(files, script, parse_inline_metadata))
        }
        Some(script) if is_node(script) => node(),
        // Any command of the skill may start either kind of script.
        _ => python().or_else(node),
    }
}

fn is_node(script: &str) -> bool {
    [".js", ".mjs", ".cjs", ".ts"]
        .iter()
        .any(|extension| script.ends_with(extension))
}

/// Reads one file. A missing file declares no dependencies.
fn read_file(files: &SkillFiles, file: &str, parse: Parser) -> Option<DeclaredDependencies> {
    if !files.contains(file) {
        return None;
    }
    let text = files
        .read(file, MAX_BYTES)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let names = match text.map(|text| parse(&text)) {
        Some(Some(names)) if names.is_empty() => return None,
        Some(Some(names)) => names,
        // Python cannot run a script that is not text, either; other interpreters define no
        // dependency block.
        None if file.ends_with(".py") => return None,
        _ => Vec::new(),
    };
    Some(DeclaredDependencies {
        file: file.to_owned(),
        names,
    })
}

/// Parses `project.dependencies` and the dependencies of Poetry.
fn parse_pyproject(text: &str) -> Option<Vec<String>> {
    let table: toml::Table = text.parse().ok()?;
    let listed = table
        .get("project")
        .and_then(|project| project.get("dependencies"))
        .and_then(toml::Value::as_array);
    let mut names: Vec<String> = listed
        .into_iter()
        .flatten()
        .filter_map(toml::Value::as_str)
        .map(str::to_owned)
        .collect();
    let poetry = table
        .get("tool")
        .and_then(|tool| tool.get("poetry"))
        .and_then(|poetry| poetry.get("dependencies"));
    let poetry = poetry
        .and_then(toml::Value::as_table)
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone());
    // Poetry lists the interpreter as a dependency.
    names.extend(poetry.filter(|name| name != "python"));
    Some(names)
}

fn parse_requirements(text: &str) -> Option<Vec<String>> {
    // Options such as `-r other.txt` count as dependencies, since they name further ones.
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    Some(
        lines
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect(),
    )
}

fn parse_package_json(text: &str) -> Option<Vec<String>> {
    let package: serde_json::Value = serde_json::from_str(text).ok()?;
    let names = ["dependencies", "optionalDependencies"]
        .into_iter()
        .filter_map(|key| package.get(key)?.as_object());
    Some(names.flatten().map(|(name, _)| name.clone()).collect())
}

/// Parses the block `# /// script` of a Python script (PEP 723).
fn parse_inline_metadata(text: &str) -> Option<Vec<String>> {
    let mut lines = text
        .lines()
        .skip_while(|line| line.trim_end() != "# /// script")
        .skip(1);
    let mut block = String::new();
    loop {
        match lines.next() {
            // An unclosed block does not count.
            None => return Some(Vec::new()),
            Some(line) if line.trim_end() == "# ///" => break,
            Some(line) if line == "#" || line.starts_with("# ") => {
                block.push_str(line.get(2..).unwrap_or_default());
                block.push('\n');
            }
            Some(_) => return Some(Vec::new()),
        }
    }
    let table: toml::Table = block.parse().ok()?;
    let listed = table.get("dependencies").and_then(toml::Value::as_array);
    Some(
        listed
            .into_iter()
            .flatten()
            .filter_map(toml::Value::as_str)
            .map(str::to_owned)
            .collect(),
    )
}

impl fmt::Display for DeclaredDependencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.names.is_empty() {
            return write!(
                f,
                "cannot parse {}, so the required packages are unknown",
                self.file
            );
        }
        // The file is untrusted text and goes into a message for the model.
        let clean = |name: &String| {
            name.chars()
                .filter(|c| !skills_runtime::is_invisible(*c))
                .take(60)
                .collect::<String>()
        };
        let names: Vec<String> = self.names.iter().take(MAX_NAMES).map(clean).collect();
        let more = self.names.len().saturating_sub(MAX_NAMES);
        write!(f, "{} requires {}", self.file, names.join(", "))?;
        if more > 0 {
            write!(f, " and {more} more")
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dependency_declaration_is_parsed() {
        assert_eq!(
            parse_pyproject("[project]\nname='x'\ndependencies = ['pandas>=2', 'httpx']").unwrap(),
            ["pandas>=2", "httpx"]
        );
        assert_eq!(
            parse_pyproject("[project]\nname='x'\ndependencies = []").unwrap(),
            [""; 0]
        );
        assert_eq!(
            parse_pyproject("[tool.poetry.dependencies]\npython='^3'\nrich='1'").unwrap(),
            ["rich"]
        );
        assert_eq!(parse_pyproject("not = [toml"), None);
        assert_eq!(
            parse_requirements("# none\n\n-r other.txt\nrequests==2 # why\n").unwrap(),
            ["-r other.txt", "requests==2"]
        );
        assert_eq!(
            parse_package_json(
                r#"{"dependencies": {"left-pad": "1"}, "devDependencies": {"x": "1"}}"#
            )
            .unwrap(),
            ["left-pad"]
        );
        let script = "#!/usr/bin/env python3\n# /// script\n# requires-python = '>=3.11'\n# dependencies = [\n#   'rich',\n# ]\n# ///\nprint()\n";
        assert_eq!(parse_inline_metadata(script).unwrap(), ["rich"]);
        assert_eq!(
            parse_inline_metadata("# /// script\n# dependencies = ['rich']\nprint()\n").unwrap(),
            [""; 0]
        );
        assert_eq!(parse_inline_metadata("print()\n").unwrap(), [""; 0]);
    }
}
