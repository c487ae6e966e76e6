//! `requirements.txt`.

use super::project::PythonProject;
use crate::files::ReadFile;

/// Maximum number of files that include each other.
const MAX_FILES: usize = 16;

/// Reads a requirements file and the files that it includes; `None` if there is none.
pub(super) fn read(files: &ReadFile<'_>, file: &str) -> Option<PythonProject> {
    let text = files(file)?;
    let mut project = PythonProject::of_file(file);
    add_file(&mut project, files, file, &text);
    Some(project)
}

fn add_file(project: &mut PythonProject, files: &ReadFile<'_>, file: &str, text: &str) {
    for (number, line) in logical_lines(text) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            ["-r" | "--requirement", included] => include(project, files, file, number, included),
            ["-c" | "--constraint", ..] => {
                project.add_problem(file, Some(number), "constraint files are not supported");
            }
            [option, ..] if option.starts_with('-') => {
                let option = option.split('=').next().unwrap_or(option);
                let reason = format!("option `{}` is not supported", option.escape_debug());
                project.add_problem(file, Some(number), &reason);
            }
            _ => add_requirement(project, file, number, &line),
        }
    }
}

fn include(
    project: &mut PythonProject,
    files: &ReadFile<'_>,
    file: &str,
    line: usize,
    included: &str,
) {
    let directory = file.rsplit_once('/').map_or("", |(directory, _)| directory);
    let path = format!("{directory}/{included}");
    let path = path.trim_start_matches('/').to_owned();
    let is_plain = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    let is_known = project.sources.contains(&path);
    if is_known {
        return;
    }
    let text = Some(&path)
        .filter(|_| is_plain && project.sources.len() < MAX_FILES)
        .and_then(|path| files(path));
    match text {
        Some(text) => {
            project.add_source(&path);
            add_file(project, files, &path, &text);
        }
        None => {
            let reason = format!("cannot include `{}`", included.escape_debug());
            project.add_problem(file, Some(line), &reason);
        }
    }
}

/// Adds a requirement with its digests.
fn add_requirement(project: &mut PythonProject, file: &str, line: usize, text: &str) {
    let mut parts = text.split(" --hash");
    let requirement = parts.next().unwrap_or_default();
    let known = project.requirements.len();
    project.add(file, Some(line), requirement);
    let Some(name) = project
        .requirements
        .get(known)
        .map(|added| added.name().to_owned())
    else {
        return;
    };
    let hashes = parts.filter_map(|hash| {
        let hash = hash.trim_start_matches(['=', ' ']).trim();
        hash.strip_prefix("sha256:").map(str::to_ascii_lowercase)
    });
    let hashes: Vec<String> = hashes.collect();
    if !hashes.is_empty() {
        project
            .locked_hashes
            .entry(name)
            .or_default()
            .extend(hashes);
    }
}

/// Returns the lines without comments, with continued lines joined, and their numbers.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut pending: Option<(usize, String)> = None;
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let comment = if line.trim_start().starts_with('#') {
            Some(0)
        } else {
            line.find(" #")
        };
        let line = comment.map_or(line, |start| &line[..start]).trim_end();
        let (content, is_continued) = match line.strip_suffix('\\') {
            Some(content) => (content.trim(), true),
            None => (line.trim(), false),
        };
        let (number, joined) = pending.take().unwrap_or((index + 1, String::new()));
        let joined = [joined.as_str(), content].join(" ").trim().to_owned();
        if is_continued {
            pending = Some((number, joined));
        } else if !joined.is_empty() {
            lines.push((number, joined));
        }
    }
    lines.extend(pending.filter(|(_, text)| !text.is_empty()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_options_and_includes_are_read() {
        let files = |path: &str| {
            match path {
            "scripts/requirements.txt" => Some(
                "\u{feff}# none\n\n-r more.txt\nRequests==2.0 \\\n  --hash=sha256:AA \\\n  --hash=sha256:bb # why\n\
                 -e .\n--index-url=https://evil.example\ngit+https://x.example/y\npypdf @ https://x.example/p.whl\n"
                    .to_owned(),
            ),
            "scripts/more.txt" => {
                Some("rich; python_version >= '3.8'\n-r requirements.txt\n-r ../../x\n".to_owned())
            }
            _ => None,
        }
        };
        let project = read(&files, "scripts/requirements.txt").unwrap();
        let requirements: Vec<String> = project
            .requirements
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            requirements,
            ["rich ; python_version >= '3.8'", "requests==2.0"]
        );
        assert_eq!(
            project.sources,
            ["scripts/requirements.txt", "scripts/more.txt"]
        );
        let hashes: Vec<&String> = project.locked_hashes["requests"].iter().collect();
        assert_eq!(hashes, ["aa", "bb"]);
        insta::assert_snapshot!(project.problems.join("\n"), @r"
        scripts/more.txt:3: cannot include `../../x`
        scripts/requirements.txt:7: option `-e` is not supported
        scripts/requirements.txt:8: option `--index-url` is not supported
        scripts/requirements.txt:9: cannot parse `git+https://x.example/y`: expected a name with versions, such as `pypdf>=4`
        scripts/requirements.txt:10: `pypdf` is not from an index
        ");
    }
}
