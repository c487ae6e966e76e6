//! The files that the configuration of a repository names, and that git executes or reads.
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::git_config::{self, Setting};
use crate::regular_file::{self, Symlink};

/// The most bytes of a configuration file that are read.
const MAX_BYTES: u64 = 1 << 20;
/// The most configuration files of one repository, included ones among them.
const MAX_FILES: usize = 100;
/// The most words of all values that are resolved.
const MAX_WORDS: usize = 2_000;
/// The most directories in which the words of one command are looked up.
const MAX_BASES: usize = 16;

/// The hooks that git starts by name.
const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// What one value names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    /// A configuration file.
    Include,
    /// The work tree, in which git starts programs.
    WorkTree,
    /// A directory of hooks.
    Hooks,
    /// A file or directory.
    Path,
    /// A line of a shell, or a program with arguments.
    Command,
    /// A subcommand of git with options.
    Alias,
}

/// The files that the configuration of one repository names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NamedFiles {
    /// Files and directories with all that is in them. They need not exist. Some lie elsewhere.
    pub(crate) paths: BTreeSet<PathBuf>,
    /// Directories of hooks.
    pub(crate) hooks: BTreeSet<PathBuf>,
    /// Configuration files that could not be read, or only in part, or with values that name more
    /// than is resolved.
    pub(crate) unread: BTreeSet<PathBuf>,
}

impl NamedFiles {
    /// Returns the hooks in a directory that cannot be protected as a whole.
    pub(crate) fn hooks_in(directory: &Path) -> impl Iterator<Item = PathBuf> {
        HOOKS.iter().map(move |hook| directory.join(hook))
    }

    /// Reads the configuration of the repository with this `.git`, a directory or a file that refers
    /// to one. Files that it includes are read as well, whatever the condition: another branch can
    /// fulfill it. Values of the user's own configuration are not known.
    pub(crate) fn of_repository(dot_git: &Path) -> Self {
        let mut search = Search::default();
        let Some(work_tree) = dot_git.parent() else {
            return search.found;
        };
        let Some(git_dir) = git_directory(dot_git) else {
            return search.found;
        };
        // A worktree shares the configuration of its repository.
        let common_dir = referenced(&git_dir.join("commondir"), "")
            .map_or_else(|| git_dir.clone(), |common| git_dir.join(common));
        let common_dir = common_dir.canonicalize().unwrap_or(common_dir);
        search.bases = vec![work_tree.to_owned(), git_dir.clone()];
        search.work_trees = 1;
        for directory in BTreeSet::from([git_dir, common_dir]) {
            // By path, since a directory of another name is not protected by it.
            for name in ["config", "config.worktree", "commondir"] {
                search.found.paths.insert(directory.join(name));
            }
            search.found.hooks.insert(directory.join("hooks"));
            search.read(&directory.join("config"));
            search.read(&directory.join("config.worktree"));
        }
        search.add_values();
        search.found
    }
}

/// Returns the directory of a repository: `.git` itself, or what it refers to, as in worktrees and
/// submodules.
pub(crate) fn git_directory(dot_git: &Path) -> Option<PathBuf> {
    if dot_git.is_dir() {
        return dot_git.canonicalize().ok();
    }
    let directory = dot_git.parent()?.join(referenced(dot_git, "gitdir:")?);
    directory.canonicalize().ok()
}

/// Returns the path in a file that contains one line.
fn referenced(file: &Path, prefix: &str) -> Option<PathBuf> {
    let (text, _) = read_regular(file, 4_096)?;
    let path = text.strip_prefix(prefix.as_bytes())?.trim_ascii();
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

/// Reads a regular file, at most `max_bytes`. Returns whether that was all of it.
fn read_regular(path: &Path, max_bytes: u64) -> Option<(Vec<u8>, bool)> {
    let mut bytes = regular_file::read_start(path, Symlink::Follow, max_bytes + 1).ok()?;
    let is_complete = bytes.len() as u64 <= max_bytes;
    bytes.truncate(usize::try_from(max_bytes).unwrap_or(usize::MAX));
    Some((bytes, is_complete))
}

/// A search through the configuration of one repository.
#[derive(Default)]
struct Search {
    /// The directories in which git starts programs: work trees first, the directory of the
    /// repository last.
    bases: Vec<PathBuf>,
    /// How many of them are work trees. Another one can be configured.
    work_trees: usize,
    read: BTreeSet<PathBuf>,
    /// What was read, and in which file. Values are resolved when all work trees are known.
    values: Vec<(PathBuf, ValueKind, Vec<u8>)>,
    /// The configuration file that is being read or resolved.
    file: PathBuf,
    words: usize,
    found: NamedFiles,
}

impl Search {
    fn read(&mut self, file: &Path) {
        let mut pending = vec![file.to_owned()];
        while let Some(file) = pending.pop() {
            // Also ends cycles.
            if self.read.contains(&file) {
                continue;
            }
            if self.read.len() >= MAX_FILES {
                if file.symlink_metadata().is_ok() {
                    self.found.unread.insert(file);
                }
                continue;
            }
            self.read.insert(file.clone());
            self.file.clone_from(&file);
            let Some((text, is_complete)) = read_regular(&file, MAX_BYTES) else {
                if file.symlink_metadata().is_ok() {
                    self.found.unread.insert(file);
                }
                continue;
            };
            if !is_complete {
                self.found.unread.insert(file.clone());
            }
            for setting in git_config::parse(&text) {
                match value_kind(&setting) {
                    Some(ValueKind::Include) => {
                        let directory = file.parent().unwrap_or(Path::new(""));
                        let included = self.resolve(&setting.value, &[directory.to_owned()]);
                        self.found.paths.extend(included.iter().cloned());
                        pending.extend(included);
                    }
                    Some(ValueKind::WorkTree) => self.add_work_tree(&setting.value),
                    Some(kind) => self.values.push((file.clone(), kind, setting.value)),
                    None => {}
                }
            }
        }
    }

    /// Adds a work tree, by its path relative to the directory of the repository.
    fn add_work_tree(&mut self, value: &[u8]) {
        let git_dir = self.bases[self.work_trees..].to_owned();
        for path in self.resolve(value, &git_dir) {
            if self.bases.contains(&path) {
                continue;
            }
            if self.bases.len() >= MAX_BASES {
                self.found.unread.insert(self.file.clone());
                return;
            }
            self.bases.insert(self.work_trees, path);
            self.work_trees += 1;
        }
    }

    fn add_values(&mut self) {
        for (file, kind, value) in std::mem::take(&mut self.values) {
            self.file = file;
            self.add_value(kind, &value);
        }
    }

    fn add_value(&mut self, kind: ValueKind, value: &[u8]) {
        let bases = self.bases.clone();
        match kind {
            ValueKind::Hooks => {
                let resolved = self.resolve(value, &bases);
                self.found.hooks.extend(resolved);
            }
            ValueKind::Path => {
                let resolved = self.resolve(value, &bases);
                self.found.paths.extend(resolved);
            }
            ValueKind::Alias => {
                // Only options with a value can start something: `-c core.fsmonitor=./x`.
                let words = words(value).filter(|word| word.contains(&b'='));
                let lines: Vec<Vec<u8>> = words.map(<[u8]>::to_vec).collect();
                lines.iter().for_each(|line| self.add_command(line));
            }
            ValueKind::Include | ValueKind::WorkTree | ValueKind::Command => {
                self.add_command(value);
            }
        }
    }

    /// Adds the files that the words of a command name. A directory is only one in which the others
    /// may be, as in `cd tools && ./run`, unless it is part of a search path.
    fn add_command(&mut self, command: &[u8]) {
        let mut bases = self.bases.clone();
        let all: Vec<&[u8]> = words(command).flat_map(parts).collect();
        let is_search_path = command.windows(5).any(|part| part == b"PATH=");
        for word in &all {
            for path in self.resolve(word, &self.bases.clone()) {
                if self.bases[..self.work_trees].contains(&path) || !path.is_dir() {
                    continue;
                }
                if is_search_path && word.contains(&b'/') {
                    self.found.paths.insert(path.clone());
                }
                if bases.contains(&path) {
                    continue;
                }
                if bases.len() >= MAX_BASES {
                    self.found.unread.insert(self.file.clone());
                    break;
                }
                bases.push(path);
            }
        }
        for word in all {
            let named = self.resolve(word, &bases);
            let (existing, missing): (Vec<PathBuf>, Vec<PathBuf>) = named
                .into_iter()
                .partition(|path| path.symlink_metadata().is_ok());
            // Only a word that is nothing but a path names what does not exist.
            let is_path = word.contains(&b'/') && !word.iter().any(|byte| b"=:".contains(byte));
            if existing.is_empty() && is_path {
                self.found.paths.extend(missing);
            }
            let files = existing.into_iter().filter(|path| !path.is_dir());
            self.found.paths.extend(files);
        }
    }

    /// Returns the paths that a word can name: below the bases, or an absolute one. Paths that do not
    /// exist are in work trees or the only base. None are returned beyond the most words, which is
    /// recorded.
    fn resolve(&mut self, word: &[u8], bases: &[PathBuf]) -> BTreeSet<PathBuf> {
        self.words += 1;
        if self.words > MAX_WORDS {
            self.found.unread.insert(self.file.clone());
            return BTreeSet::new();
        }
        if word.is_empty() || word.contains(&0) {
            return BTreeSet::new();
        }
        let path = Path::new(OsStr::from_bytes(word));
        let mut candidates = Vec::new();
        if let Ok(rest) = path.strip_prefix("~") {
            // The home directory is not known here, and may be any directory above.
            let above: BTreeSet<_> = bases.iter().flat_map(|base| base.ancestors()).collect();
            candidates.extend(
                above
                    .into_iter()
                    .map(|directory| (directory.join(rest), false)),
            );
        } else if word.starts_with(b"$") || path.is_absolute() {
            candidates.push((path.to_owned(), path.is_absolute()));
            // A variable or a substitution can stand for any of these directories.
            let rest: PathBuf = path.components().skip(1).collect();
            candidates.extend(bases.iter().map(|base| (base.join(&rest), false)));
        } else {
            let below = bases.iter().enumerate();
            let work_trees = self.work_trees;
            candidates.extend(below.map(|(index, base)| (base.join(path), index < work_trees)));
        }
        let mut resolved = BTreeSet::new();
        for (candidate, may_be_missing) in candidates {
            let exists = candidate.symlink_metadata().is_ok();
            if exists || may_be_missing {
                resolved.insert(normalized(&candidate));
            }
            // What a symlink leads to is executed.
            resolved.extend(candidate.canonicalize());
        }
        resolved
    }
}

/// Returns what the value of a variable names; `None` if git neither executes nor reads it.
fn value_kind(setting: &Setting) -> Option<ValueKind> {
    // By the names of variables and not by their sections, since new sections follow the same
    // names.
    const COMMANDS: [&str; 19] = [
        "askpass",
        "browser",
        "clean",
        "driver",
        "editor",
        "external",
        "fsmonitor",
        "gitproxy",
        "httpd",
        "pager",
        "process",
        "receivepack",
        "smtpserver",
        "smudge",
        "textconv",
        "tunnel",
        "uploadpack",
        "vcs",
        "args",
    ];
    const ENDINGS: [&str; 7] = [
        "cmd", "command", "filter", "helper", "hook", "program", "editor",
    ];
    let key = setting.key.as_str();
    let starts_program = setting.value.starts_with(b"!") || setting.value.starts_with(b"ext::");
    Some(match (setting.section.as_str(), key) {
        ("include" | "includeif", "path") => ValueKind::Include,
        ("core", "hookspath") => ValueKind::Hooks,
        ("core", "worktree") => ValueKind::WorkTree,
        (_, "templatedir" | "attributesfile" | "allowedsignersfile") => ValueKind::Path,
        ("alias", _) if !starts_program => ValueKind::Alias,
        ("pager", _) => ValueKind::Command,
        ("browser" | "difftool" | "lfs" | "man" | "mergetool", "path") => ValueKind::Command,
        _ if starts_program || COMMANDS.contains(&key) => ValueKind::Command,
        _ if ENDINGS.iter().any(|ending| key.ends_with(ending)) => ValueKind::Command,
        _ => return None,
    })
}

/// Returns the words of a line of a shell, whatever its quotes.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = line.split(|byte| byte.is_ascii_whitespace() || b"'\";&|()<>{}`,!".contains(byte));
    words.filter(|word| !word.is_empty())
}

/// Returns a word and what is behind `=` and `:` in it, as in `--file=x`, `PATH=a:b` and `ext::x`.
fn parts(word: &[u8]) -> impl Iterator<Item = &[u8]> {
    let parts = word.split(|byte| b"=:".contains(byte));
    std::iter::once(word)
        .chain(parts.filter(move |part| !part.is_empty() && part.len() < word.len()))
}

/// Returns a path without `.` and `..`. Its directories are resolved as far as they exist.
fn normalized(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(resolved.pop()),
            component => resolved.push(component),
        }
        // Not the last one: the symlink itself is named as well.
        if components.peek().is_some()
            && let Ok(real) = resolved.canonicalize()
        {
            resolved = real;
        }
    }
    resolved
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test creates its own files")]
mod tests {
    use std::fs;

    use super::*;

    struct Repository(tempfile::TempDir);

    impl Repository {
        fn new(config: &str) -> Self {
            let repository = Self(tempfile::tempdir().unwrap());
            repository.write(".git/config", config);
            repository
        }

        fn path(&self) -> PathBuf {
            self.0.path().canonicalize().unwrap()
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// Returns what is named outside of `.git`.
        fn named(&self) -> String {
            let top = self.path();
            let found = NamedFiles::of_repository(&top.join(".git"));
            let all = found.paths.iter().chain(&found.hooks);
            let below = all.filter_map(|path| path.strip_prefix(&top).ok());
            let below = below.filter(|path| !path.starts_with(".git"));
            let below: BTreeSet<_> = below.map(|path| path.display().to_string()).collect();
            below.into_iter().collect::<Vec<_>>().join(" ")
        }
    }

    fn check(config: &str, expected: &str) {
        let repository = Repository::new(config);
        for file in [
            "run.sh",
            "tools/a",
            "tools/b.py",
            "src/main.rs",
            "README.md",
            "conf/git",
        ] {
            repository.write(file, "");
        }
        assert_eq!(repository.named(), expected, "{config}");
    }

    #[test]
    fn values_that_name_files_are_found() {
        check("[core]\nhooksPath = tools\n", "tools");
        check("[core]\nHOOKSPATH=\"./tools/../missing\"", "missing");
        check("[core]\nfsmonitor = tools/a", "tools/a");
        check("[core]\nfsmonitor = true", "");
        check("[core]\nsshCommand = ssh -F ./conf/git", "conf/git");
        check("[core]\neditor = sh run.sh", "run.sh");
        check("[core]\npager = tools/missing | less", "tools/missing");
        check(
            "[filter \"x\"]\nclean = 'tools/a' %f\nsmudge = cat\nprocess = run.sh",
            "run.sh tools/a",
        );
        check("[diff \"x\"]\ntextconv = python3 tools/b.py", "tools/b.py");
        check("[diff \"x\"]\ncommand = ./run.sh", "run.sh");
        check("[merge \"x\"]\ndriver = tools/a %O %A", "tools/a");
        check("[credential \"https://x\"]\nhelper = !./run.sh", "run.sh");
        check("[gpg]\nprogram = tools/a", "tools/a");
        check("[gpg \"ssh\"]\ndefaultKeyCommand = tools/a", "tools/a");
        check("[sequence]\neditor = tools/a", "tools/a");
        check("[init]\ntemplateDir = conf", "conf");
        check("[hook \"x\"]\ncommand = tools/a", "tools/a");
        check("[submodule \"x\"]\nupdate = !tools/a", "tools/a");
        check("[remote \"x\"]\nurl = ext::./run.sh %S", "run.sh");
        check("[remote \"x\"]\nuploadpack = tools/a", "tools/a");
        check("[pager]\nlog = tools/a", "tools/a");
        check("[lfs \"customtransfer.x\"]\npath = tools/a", "tools/a");
        check("[mergetool \"x\"]\ncmd = tools/a $LOCAL", "tools/a");
    }

    #[test]
    fn commands_of_a_shell_are_searched_for_files() {
        check("[alias]\nx = !cd tools && ./a", "tools/a");
        check(
            "[alias]\nx = \"!f() { sh \\\"$GIT_DIR/../run.sh\\\"; }; f\"",
            "run.sh",
        );
        check(
            "[alias]\nx = !$(git rev-parse --show-toplevel)/tools/a",
            "tools/a",
        );
        check("[alias]\nx = !PATH=./tools:$PATH lint", "tools");
        check("[alias]\nx = -c core.fsmonitor=./run.sh status", "run.sh");
        check("[alias]\nx = !env X=1 python3 -B tools/b.py", "tools/b.py");
        check("[core]\npager = ~/tools/a", "tools/a");
        // Words that only name what a command works on.
        check("[alias]\nlast = log -1 README.md", "");
        check("[alias]\nst = !git status src", "");
    }

    #[test]
    fn ordinary_values_name_nothing() {
        let ordinary = "[core]\nbare = false\nworktree = ../src\neditor = vim\n[user]\nname = src\nemail = a\n\
            [remote \"origin\"]\nurl = ../tools\nfetch = +refs/heads/*:refs/remotes/origin/*\n\
            [branch \"main\"]\nremote = origin\nmerge = refs/heads/main\n[submodule \"src\"]\n\
            path = src\nurl = ./src\nactive = true\n[alias]\nco = checkout\n[credential]\nhelper = store\n";
        check(ordinary, "");
    }

    #[test]
    fn included_files_are_read_to_the_end_of_a_cycle() {
        let repository = Repository::new("[include]\npath = ../conf/one\n");
        repository.write("conf/one", "[includeIf \"onbranch:x\"]\npath = two\n");
        repository.write("conf/two", "[include]\npath=one\n[core]\nhooksPath = h\n");
        assert_eq!(repository.named(), "conf/one conf/two h");
    }

    #[test]
    fn a_worktree_has_the_configuration_of_its_repository() {
        let repository = Repository::new("[core]\nhooksPath = h\n[include]\npath = ../inc\n");
        repository.write(".git/worktrees/w/commondir", "../..\n");
        repository.write(
            ".git/worktrees/w/config.worktree",
            "[core]\nfsmonitor = ./f\n",
        );
        let top = repository.path();
        let text = format!("gitdir: {}/.git/worktrees/w\n", top.display());
        repository.write("w/.git", &text);
        let found = NamedFiles::of_repository(&top.join("w/.git"));
        assert!(found.hooks.contains(&top.join("w/h")), "{found:?}");
        assert!(found.paths.contains(&top.join("w/f")) && found.paths.contains(&top.join("inc")));
    }

    #[test]
    fn values_are_relative_to_a_configured_work_tree() {
        let repository = Repository::new(
            "[core]\nfsmonitor = ./mon.sh\nhooksPath = h\nworktree = ../sub\n[alias]\nx = !./run.sh\n",
        );
        repository.write("sub/mon.sh", "");
        repository.write("sub/run.sh", "");
        assert_eq!(repository.named(), "h sub/h sub/mon.sh sub/run.sh");
    }

    /// Returns true if the configuration is reported as one of which not all was resolved.
    fn is_unread(repository: &Repository) -> bool {
        let found = NamedFiles::of_repository(&repository.path().join(".git"));
        !found.unread.is_empty()
    }

    #[test]
    fn more_words_than_are_resolved_are_reported() {
        let config = |words: usize| {
            let words = "x ".repeat(words);
            Repository::new(&format!(
                "[alias]\na = !{words}\n[core]\nhooksPath = tools\n"
            ))
        };
        assert!(!is_unread(&config(900)));
        assert!(is_unread(&config(2_100)));
    }

    #[test]
    fn more_included_files_than_are_read_are_reported() {
        let repository = Repository::new("[include]\npath = 0\n");
        for index in 0..MAX_FILES {
            let next = format!("[include]\npath = {}\n", index + 1);
            repository.write(&format!(".git/{index}"), &next);
        }
        let last = repository.path().join(format!(".git/{}", MAX_FILES - 1));
        let found = NamedFiles::of_repository(&repository.path().join(".git"));
        assert_eq!(found.unread, BTreeSet::from([last]));
        repository.write(".git/50", "");
        assert!(!is_unread(&repository));
    }

    #[test]
    fn more_directories_than_are_searched_are_reported() {
        let alias = |count: usize| {
            let names = (0..count).map(|index| format!("d{index} "));
            Repository::new(&format!("[alias]\na = !{}\n", names.collect::<String>()))
        };
        for (count, expected) in [(10, false), (100, true)] {
            let repository = alias(count);
            for index in 0..count {
                repository.write(&format!("d{index}/x"), "");
            }
            assert_eq!(is_unread(&repository), expected);
        }
    }

    #[test]
    fn a_configuration_that_cannot_be_read_is_reported() {
        let long = format!("[core]\nhooksPath = h\n#{}\n", "x".repeat(2 << 20));
        let repository = Repository::new(&long);
        let config = repository.path().join(".git/config");
        let found = NamedFiles::of_repository(&repository.path().join(".git"));
        assert!(
            found.unread.contains(&config) && found.hooks.contains(&repository.path().join("h"))
        );
        fs::remove_file(&config).unwrap();
        // A pipe, which would block.
        let mode = nix::sys::stat::Mode::S_IRUSR;
        nix::unistd::mkfifo(&config, mode).unwrap();
        let found = NamedFiles::of_repository(&repository.path().join(".git"));
        assert_eq!(found.unread, BTreeSet::from([config]));
    }
}
