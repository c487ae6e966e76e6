//! What all files of a skill declare.

use std::collections::BTreeSet;

use crate::files::ReadFile;
use crate::listed::ListedPackage;
use crate::project::Project;

/// Names of the files that declare the packages of a directory.
const DECLARATIONS: [&str; 3] = ["package.json", "pyproject.toml", "requirements.txt"];

/// Returns the packages that any file of a skill declares, each as its registry and requirement:
/// `pypi:requests>=2`, `npm:left-pad@^1`. What is declared and cannot be installed from a registry
/// is `other:` and its file with the reason.
///
/// `paths` are the files of the skill. What is returned contains what [`Project::read`] finds for
/// each script, and the declarations in directories where it does not look, which a command of the
/// skill can name.
///
/// ```
/// use skills_packages::declared_packages;
///
/// let files = |path: &str| match path {
///     "a.py" => Some("# /// script\n# dependencies = ['rich']\n# ///\n".to_owned()),
///     "web/package.json" => Some(r#"{"dependencies": {"left-pad": "^1"}}"#.to_owned()),
///     _ => None,
/// };
/// let declared = declared_packages(&files, ["a.py", "web/package.json"], &[]);
/// assert_eq!(Vec::from_iter(declared), ["npm:left-pad@^1", "pypi:rich"]);
/// ```
#[must_use]
pub fn declared_packages<'a>(
    files: &ReadFile<'_>,
    paths: impl IntoIterator<Item = &'a str>,
    listed: &[ListedPackage],
) -> BTreeSet<String> {
    let mut declared = BTreeSet::new();
    add(
        &mut declared,
        &Project::default().with_listed(listed.iter()),
    );
    let mut directories = BTreeSet::new();
    for path in paths {
        let (directory, name) = match path.rsplit_once('/') {
            Some((_, name)) => path.split_at(path.len() - name.len()),
            None => ("", path),
        };
        if DECLARATIONS.contains(&name) {
            directories.insert(directory);
        }
        add(&mut declared, &Project::of_script_block(files, path));
    }
    for directory in directories {
        add(&mut declared, &Project::of_directory(files, directory));
    }
    declared
}

fn add(declared: &mut BTreeSet<String>, project: &Project) {
    declared.extend(
        project
            .python
            .iter()
            .flat_map(|python| &python.requirements)
            .map(|requirement| format!("pypi:{requirement}")),
    );
    let packages = project.node.iter().flat_map(|node| &node.dependencies);
    declared.extend(packages.map(|(name, range)| match range.as_str() {
        "*" => format!("npm:{name}"),
        _ => format!("npm:{name}@{range}"),
    }));
    declared.extend(project.problems().map(|problem| format!("other:{problem}")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_and_listed_packages_are_collected() {
        let files = |path: &str| {
            let text = match path {
                "scripts/a.py" => "# /// script\n# dependencies = [\"httpx\"]\n# ///\n",
                // A second declaration of the same directory counts, too.
                "deep/er/pyproject.toml" => "[project]\ndependencies = ['rich>=1']\n",
                "deep/er/requirements.txt" => "--index-url https://x.example\nattrs\n",
                "package.json" => r#"{"dependencies": {"a": "*"}, "peerDependencies": {"b": "2"}}"#,
                _ => return None,
            };
            Some(text.to_owned())
        };
        let paths = [
            "SKILL.md",
            "deep/er/pyproject.toml",
            "deep/er/requirements.txt",
            "package.json",
            "scripts/a.py",
        ];
        let listed = ["pypdf>=4", "npm:left-pad@1"]
            .map(|text| ListedPackage::parse(text, "SKILL.md").unwrap());
        let declared = declared_packages(&files, paths, &listed);
        insta::assert_snapshot!(Vec::from_iter(declared).join("\n"), @r"
        npm:a
        npm:b@2
        npm:left-pad@1
        other:deep/er/requirements.txt:1: option `--index-url` is not supported
        pypi:attrs
        pypi:httpx
        pypi:pypdf>=4
        pypi:rich>=1
        ");
    }
}
