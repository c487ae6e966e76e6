//! Commands that print files with keys, which the tools for files do not read.

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;

use crate::files::sensitive::is_key_file;

/// Maximum number of entries that are searched for files with keys.
const MAX_VISITED: usize = 20_000;
/// Programs that print the content of the files of a directory if they are told to.
const SEARCH_PROGRAMS: [&str; 2] = ["diff", "grep"];

/// Returns true if a command names a file that may contain keys, or searches directories while one of
/// those that it sees contains such a file. Directories with more than 20,000 entries count as if
/// they did. `.git` is not searched.
pub(super) fn may_read_keys<'a>(
    program: &str,
    args: &[String],
    mut directories: impl Iterator<Item = &'a Dir>,
) -> bool {
    let searches = SEARCH_PROGRAMS.contains(&program) && args.iter().any(|arg| is_recursive(arg));
    args.iter().any(|arg| names_key_file(arg))
        || searches && directories.any(|directory| has_key_file(directory, &mut 0))
}

/// Returns true if a path or the value of an option (`--file=.env`, `-f.env`) names a file that may
/// contain keys.
fn names_key_file(arg: &str) -> bool {
    let is_key = |text: &str| is_key_file(&text.split(['/', '=']).collect::<Vec<_>>());
    let of_short_option = arg.strip_prefix('-').and_then(|option| {
        let mut chars = option.chars();
        chars.next().map(|_| chars.as_str())
    });
    is_key(arg) || of_short_option.is_some_and(is_key)
}

/// Returns true for an option such as `-r`, `-Rn`, `--recursive` and `--directories=recurse`.
fn is_recursive(arg: &str) -> bool {
    match arg.strip_prefix("--") {
        Some(long) => long.contains("recurs"),
        None if arg.starts_with('-') => arg.contains(['r', 'R']),
        // The value of `-d`.
        None => arg == "recurse",
    }
}

fn has_key_file(directory: &Dir, visited: &mut usize) -> bool {
    let Ok(entries) = directory.entries() else {
        return false;
    };
    for entry in entries.flatten() {
        *visited += 1;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if *visited > MAX_VISITED || is_key_file(&[&*name]) {
            return true;
        }
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory
            && name != ".git"
            && let Ok(inner) = directory.open_dir_nofollow(&*name)
            && has_key_file(&inner, visited)
        {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_on_key_files_are_recognized() {
        let directory = tempfile::tempdir().unwrap();
        let open =
            || Dir::open_ambient_dir(directory.path(), cap_std::ambient_authority()).unwrap();
        let check = |command: &str| {
            let mut words = command.split(' ').map(str::to_owned);
            let program = words.next().unwrap();
            may_read_keys(&program, &words.collect::<Vec<_>>(), [&open()].into_iter())
        };
        let searches = ["grep -rn KEY .", "grep -d recurse KEY", "diff -r a b"];
        for command in [
            "cat .env",
            "head -n 3 /workspace/sub/.ENV.local",
            "grep -f.env x",
            "grep --file=.ssh/id x",
            "cat ../home/.aws/credentials",
            "diff a/tls.key b",
        ] {
            assert!(check(command), "{command}");
        }
        std::fs::create_dir_all(directory.path().join("a/.git")).unwrap();
        open().write("a/.git/config", "").unwrap();
        for command in searches {
            assert!(!check(command), "{command}");
        }
        open().write("a/.env", "").unwrap();
        for command in searches {
            assert!(check(command), "{command}");
        }
        for command in [
            "ls -ltr",
            "grep KEY a/x",
            "cat environment.md",
            "wc -l keys.txt",
        ] {
            assert!(!check(command), "{command}");
        }
    }
}
