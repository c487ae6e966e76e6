//! Files with keys that the words of a command name.
//!
//! A program does not get such files unless a permission names them. The words only decide for which
//! of them the user is asked; a file that no word names stays unreadable.

use std::path::{Path, PathBuf};

use skills_runtime::policy::key_path;
use skills_runtime::{HostCommand, holds_key_by_content};

use super::visible_dirs::VisibleDirs;

/// Characters that separate words in the text of a shell command.
const SHELL_SEPARATORS: &str = "\"'`;|&<>()$";
/// Maximum number of files that one command names.
const MAX_FILES: usize = 16;

/// Returns the existing files with keys that a command names, by paths without symlinks: those with
/// such a name, and the targets of symlinks. `start` is its working directory.
pub(super) fn named_keys(
    command: &HostCommand,
    args: &[String],
    start: &Path,
    visible: &VisibleDirs,
) -> Vec<PathBuf> {
    let words: Vec<&str> = match command {
        HostCommand::Shell(text) => text
            .split(|c: char| c.is_whitespace() || SHELL_SEPARATORS.contains(c))
            .collect(),
        _ => args.iter().map(String::as_str).collect(),
    };
    let host_paths = visible.host_path_map();
    let mut keys = Vec::new();
    for word in words.into_iter().flat_map(paths_in_word) {
        let path = start.join(host_paths.replace_in(word));
        let Ok(real) = path.canonicalize() else {
            continue;
        };
        let is_key = visible.enclosing(&real).is_some_and(|directory| {
            [&real, &path].iter().any(|named| {
                let name = named.file_name().unwrap_or_default();
                key_path(named, directory).is_some() || holds_key_by_content(name, &real)
            })
        });
        if is_key && !keys.contains(&real) && keys.len() < MAX_FILES {
            keys.push(real);
        }
    }
    keys
}

/// Returns the parts of a word that can be a path: all of it, the value of an option
/// (`--file=.env`), and what follows the letter of one (`-f.env`).
fn paths_in_word(word: &str) -> impl Iterator<Item = &str> {
    let of_long_option = word.split_once('=').map(|(_, value)| value);
    let of_short_option = word.strip_prefix('-').and_then(|option| {
        let mut chars = option.chars();
        chars.next().map(|_| chars.as_str())
    });
    let parts = [Some(word), of_long_option, of_short_option];
    parts.into_iter().flatten().filter(|part| !part.is_empty())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test creates its own files")]
mod tests {
    use skills_runtime::policy::Access;

    use super::*;

    /// Returns the keys that a command names, relative to a workspace with some files.
    fn check(command: &HostCommand, args: &[&str], start: &str) -> String {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        for file in [
            ".env",
            ".env.example",
            "a/notes.txt",
            ".aws/credentials",
            "b/tls.key",
        ] {
            std::fs::create_dir_all(workspace.join(file).parent().unwrap()).unwrap();
            std::fs::write(workspace.join(file), "x").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink("../.env", workspace.join("a/link.txt")).unwrap();
        let visible = VisibleDirs::of_mount("/workspace", &workspace, Access::ReadOnly);
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let keys = named_keys(command, &args, &workspace.join(start), &visible);
        let keys: Vec<_> = keys
            .iter()
            .map(|key| key.strip_prefix(&workspace).unwrap().display().to_string())
            .collect();
        keys.join(" ")
    }

    #[test]
    fn words_that_name_files_with_keys_are_found() {
        let program = HostCommand::Program("cat".to_owned());
        for (args, start, expected) in [
            (&[".env"][..], "", ".env"),
            (&["-n", "3", "/workspace/b/../.env"], "", ".env"),
            (&["--file=.env", "x"], "", ".env"),
            (&["-f.env"], "", ".env"),
            (&["credentials"], ".aws", ".aws/credentials"),
            (
                &["../.aws/credentials", "../b/tls.key"],
                "a",
                ".aws/credentials b/tls.key",
            ),
            (&["link.txt", "../.env"], "a", ".env"),
            (&["a/notes.txt", ".env.example", ".env.local"], "", ""),
            (&["-rn", "KEY", "."], "", ""),
        ] {
            assert_eq!(check(&program, args, start), expected, "{args:?}");
        }
        let shell = HostCommand::Shell("cat <.env|head -1; cat 'b/tls.key'".to_owned());
        assert_eq!(check(&shell, &[], ""), ".env b/tls.key");
    }
}
