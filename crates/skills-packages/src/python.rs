//! Declarations of Python packages.

mod inline;
pub(crate) mod lock;
mod project;
mod pyproject;
mod requirements;

use crate::files::ReadFile;

pub use project::PythonProject;

/// Reads the first declaration in `directories`; `None` if there is none, or if it is empty.
pub(crate) fn read(
    files: &ReadFile<'_>,
    script: Option<&str>,
    directories: &[String],
) -> Option<PythonProject> {
    let inline = script
        .filter(|script| script.ends_with(".py"))
        .and_then(|script| inline::read(script, &files(script)?));
    let declared = inline.or_else(|| {
        directories.iter().find_map(|directory| {
            pyproject::read(files, directory)
                .or_else(|| requirements::read(files, &format!("{directory}requirements.txt")))
        })
    });
    declared.filter(|project| !project.is_empty())
}

/// Reads each file of a directory that declares packages, also those after the first.
pub(crate) fn read_all(files: &ReadFile<'_>, directory: &str) -> Option<PythonProject> {
    let of_file = requirements::read(files, &format!("{directory}requirements.txt"));
    let mut project = pyproject::read(files, directory).unwrap_or_default();
    let of_file = of_file.unwrap_or_default();
    project.requirements.extend(of_file.requirements);
    project.problems.extend(of_file.problems);
    (!project.is_empty()).then_some(project)
}
