//! The metadata block of a script (PEP 723).

use super::project::PythonProject;
use crate::grammar::parse_toml;

const START: &str = "# /// script";
const END: &str = "# ///";

/// Reads the block `# /// script`; `None` if there is none. A block that is not closed does not
/// count, as the specification says.
pub(super) fn read(file: &str, text: &str) -> Option<PythonProject> {
    let start = text.lines().position(|line| line.trim_end() == START)?;
    let mut block = String::new();
    let mut is_closed = false;
    for line in text.lines().skip(start + 1) {
        if line.trim_end() == END {
            is_closed = true;
            break;
        }
        let content = line.strip_prefix("# ").or_else(|| line.strip_prefix('#'))?;
        block.push_str(content);
        block.push('\n');
    }
    if !is_closed {
        return None;
    }
    let mut project = PythonProject::of_file(file);
    match parse_toml::<toml::Table>(&block) {
        Ok(table) => project.add_block(file, &table),
        Err(error) => {
            let line = error.line().map(|line| line + start + 1);
            project.add_problem(file, line, &error.to_string());
        }
    }
    Some(project)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_block_declares_packages() {
        let text = "#!/usr/bin/env python3\n# /// script\n# requires-python = '>=3.9'\n# dependencies = [\n#   'rich',\n#\n# ]\n# ///\nprint()\n";
        let project = read("scripts/x.py", text).unwrap();
        assert_eq!(project.requirements[0].to_string(), "rich");
        assert_eq!(project.requires_python.unwrap(), ">=3.9");
        assert!(read("x.py", "# /// script\n# dependencies = ['rich']\nprint()\n").is_none());
        assert!(read("x.py", "print()\n").is_none());
    }

    #[test]
    fn an_invalid_block_is_a_problem_with_its_line() {
        let project = read("x.py", "print()\n# /// script\n# a = 1\n# b = [\n# ///\n").unwrap();
        assert!(
            project.problems[0].starts_with("x.py:"),
            "{:?}",
            project.problems
        );
        let project = read("x.py", "# /// script\n# dependencies = ['a b c']\n# ///\n").unwrap();
        assert_eq!(
            project.problems,
            ["x.py: cannot parse `a b c`: expected a name with versions, such as `pypdf>=4`"]
        );
    }
}
