//! Repairs scripts that an editor of Windows saved, in the private copy of a skill.
//!
//! The content digest is that of the original bytes, and the repaired bytes follow from them alone,
//! so that an approval of the content is one of what runs.

#[cfg(unix)]
use std::collections::BTreeSet;
#[cfg(unix)]
use std::io::{self, Write};
#[cfg(unix)]
use std::path::Path;

#[cfg(unix)]
use cap_std::fs::OpenOptions;
use skills_discovery::SkillFiles;
use skills_library::ScriptLanguage;
#[cfg(unix)]
use skills_library::SkillPrograms;
use skills_sandbox::ScriptType;

/// UTF-8 byte order mark.
const BOM: &[u8] = b"\xef\xbb\xbf";
/// The maximum size of a script that is repaired: 1 MiB.
const MAX_BYTES: u64 = 1 << 20;
/// How many bytes are read to find out whether a script needs a repair.
const MAX_START_BYTES: u64 = 4 << 10;

/// Repairs the scripts of a copy, in any of its directories, and returns their paths: a byte order mark before the first line is
/// removed, and carriage returns at the ends of lines, which a shell treats as parts of words. Of
/// scripts in other languages only the first line is changed. Files with a first line as Unix has it,
/// with NUL, or larger than 1 MiB stay as they are.
///
/// # Errors
/// Fails if a script cannot be written. Without a `SKILL.md` nothing is repaired.
#[cfg(unix)]
pub(crate) fn repair_scripts(copy: &Path) -> io::Result<Vec<String>> {
    let Ok(files) = SkillFiles::open_directory(copy) else {
        return Ok(Vec::new());
    };
    let programs = SkillPrograms::list(&files);
    // A run can name any file, and a script can load others.
    let others = files.list("").unwrap_or_default().resources;
    let paths: BTreeSet<String> = [
        programs.scripts,
        programs.nested_scripts,
        programs.root_scripts,
    ]
    .into_iter()
    .flatten()
    .chain(others.into_iter().map(|resource| resource.path))
    .collect();
    let mut repaired = Vec::new();
    for path in paths {
        if let Some(bytes) = repaired_script(&files, &path) {
            replace(&files, &path, &bytes)?;
            repaired.push(path);
        }
    }
    Ok(repaired)
}

/// Returns true if a script is repaired in a copy of its skill. Few bytes of most scripts are read.
pub(crate) fn needs_repair(files: &SkillFiles, path: &str) -> bool {
    repaired_script(files, path).is_some()
}

/// Returns the repaired bytes of a script; `None` if it needs no repair.
fn repaired_script(files: &SkillFiles, path: &str) -> Option<Vec<u8>> {
    let start = files.read_start(path, MAX_START_BYTES).ok()?;
    if !is_of_windows(&start) {
        return None;
    }
    let is_shell = ScriptLanguage::of_file(files, path)?.known() == Some(ScriptType::Shell);
    if !is_shell && !without_bom(&start).starts_with(b"#!") {
        return None;
    }
    let bytes = files.read(path, MAX_BYTES).ok()?;
    // A script with a program or an archive after its text is changed nowhere.
    (!bytes.contains(&0)).then(|| repair(&bytes, is_shell))
}

fn is_of_windows(start: &[u8]) -> bool {
    let end = start.iter().position(|byte| *byte == b'\n');
    start.starts_with(BOM) || end.is_some_and(|end| start[..end].ends_with(b"\r"))
}

fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BOM).unwrap_or(bytes)
}

/// Removes the byte order mark, and the carriage returns of all lines or of the first one.
fn repair(bytes: &[u8], is_shell: bool) -> Vec<u8> {
    let bytes = without_bom(bytes);
    let mut repaired = Vec::with_capacity(bytes.len());
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        match line.strip_suffix(b"\r\n") {
            Some(text) if is_shell || index == 0 => {
                repaired.extend_from_slice(text);
                repaired.push(b'\n');
            }
            _ => repaired.extend_from_slice(line),
        }
    }
    repaired
}

/// Replaces the content of a file of the copy, which stays executable. Its time stays, too.
#[cfg(unix)]
fn replace(files: &SkillFiles, path: &str, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    // Opened below the directory of the copy, and never created.
    options.write(true).truncate(true);
    let mut file = files.directory().open_with(path, &options)?.into_std();
    let modified = file.metadata()?.modified()?;
    file.write_all(bytes)?;
    file.set_modified(modified)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(text: &str, is_shell: bool) -> String {
        String::from_utf8(repair(text.as_bytes(), is_shell)).unwrap()
    }

    #[test]
    fn only_ends_of_lines_change() {
        assert_eq!(
            repaired("\u{feff}#!/bin/sh\r\necho 'a\rb' \\\r\n\r\nend\r", true),
            "#!/bin/sh\necho 'a\rb' \\\n\nend\r"
        );
        assert_eq!(
            repaired("#!/usr/bin/perl\r\nprint <<E;\r\nx\r\nE\r\n", false),
            "#!/usr/bin/perl\nprint <<E;\r\nx\r\nE\r\n"
        );
    }

    #[test]
    fn a_first_line_of_unix_is_kept() {
        assert!(is_of_windows(b"#!/bin/sh\r\n"));
        assert!(is_of_windows(b"\xef\xbb\xbfecho"));
        assert!(!is_of_windows(b"#!/bin/sh\ncat <<E\r\nE\r\n"));
        assert!(!is_of_windows(b"echo\r"));
        assert!(!is_of_windows(b""));
    }
}
