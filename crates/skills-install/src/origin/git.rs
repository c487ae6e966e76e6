//! A git repository: one commit, read without a checkout.
//!
//! A checkout would apply filters and attributes of the repository and create its symlinks. Here
//! names come from `ls-tree` and content from `cat-file`, so git writes none of its files.

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::thread;

use super::git_command::{GitOptions, GitRepository};
use super::{Origin, WantedPaths, skill_files};
use crate::error::{InstallError, Refusal};
use crate::staged_tree::{StagedTree, check_entries};
use crate::{FetchLimits, TreePath};

/// The local name of the fetched commit.
const TARGET: &str = "refs/skills/target";

/// One commit of a repository, with its names; contents are fetched when they are wanted.
pub(crate) struct Repository {
    git: GitRepository,
    url: String,
    commit: String,
    committed: Option<i64>,
    entries: BTreeMap<TreePath, TreeEntry>,
    refused: Vec<(Vec<u8>, Refusal)>,
    limits: FetchLimits,
}

struct TreeEntry {
    object: String,
    kind: TreeEntryKind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum TreeEntryKind {
    File { is_executable: bool },
    Link,
}

impl Repository {
    /// Fetches the trees of one commit into a repository in an empty directory.
    pub(crate) fn fetch(
        options: &GitOptions,
        url: &str,
        reference: Option<&str>,
        directory: &Path,
        limits: &FetchLimits,
    ) -> Result<Self, InstallError> {
        let options = if crate::source::is_local_git(url) {
            options.clone().allow_files()
        } else {
            options.clone()
        };
        let git = GitRepository::create(&options, directory, url)?;
        let refspec = format!("+{}:{TARGET}", reference.unwrap_or("HEAD"));
        let fetch = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--depth=1",
            "--filter=blob:none",
            "origin",
            &refspec,
        ];
        git.run_limited(&fetch, Vec::new(), limits)?;
        let commit =
            text(git.output(&["rev-parse", "--verify", &format!("{TARGET}^{{commit}}")])?);
        let time = text(git.output(&["show", "--no-patch", "--format=%ct", &commit])?);
        let mut repository = Self {
            git,
            url: url.to_owned(),
            commit,
            committed: time.parse().ok(),
            entries: BTreeMap::new(),
            refused: Vec::new(),
            limits: limits.clone(),
        };
        repository.list()?;
        Ok(repository)
    }

    fn list(&mut self) -> Result<(), InstallError> {
        // Without sizes, for which git would fetch each file.
        let listing = self
            .git
            .output(&["ls-tree", "-r", "-z", "--full-tree", &self.commit])?;
        for record in listing
            .split(|b| *b == 0)
            .filter(|record| !record.is_empty())
        {
            let Some((mode, object, path)) = parse_record(record) else {
                return Err(InstallError::fetch(
                    &self.url,
                    "git lists files in an unknown format",
                ));
            };
            let kind = match mode {
                "100644" | "100664" => TreeEntryKind::File {
                    is_executable: false,
                },
                "100755" => TreeEntryKind::File {
                    is_executable: true,
                },
                "120000" => TreeEntryKind::Link,
                "160000" => {
                    self.refused.push((path.to_owned(), Refusal::Submodule));
                    continue;
                }
                _ => {
                    self.refused.push((path.to_owned(), Refusal::Special));
                    continue;
                }
            };
            match TreePath::from_bytes(path) {
                Ok(path) => {
                    let object = object.to_owned();
                    self.entries.insert(path, TreeEntry { object, kind });
                }
                // Most of a repository is not part of a skill.
                Err(problem) => self.refused.push((path.to_owned(), problem.into())),
            }
            check_entries(
                (self.entries.len() + self.refused.len()) as u64,
                &self.limits,
            )?;
        }
        Ok(())
    }

    /// Fetches the objects that are missing, all at once.
    fn fetch_objects(&self, objects: &[String]) -> Result<(), InstallError> {
        // The only command that names missing objects without fetching them one by one.
        let listing =
            self.git
                .output(&["rev-list", "--objects", "--missing=print", &self.commit])?;
        let listing = String::from_utf8_lossy(&listing);
        let missing: HashSet<&str> = listing
            .lines()
            .filter_map(|line| line.strip_prefix('?'))
            .collect();
        let missing: String = objects
            .iter()
            .filter(|object| missing.contains(object.as_str()))
            .flat_map(|object| [object.as_str(), "\n"])
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let fetch = [
            "-c",
            "fetch.negotiationAlgorithm=noop",
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--filter=blob:none",
            "--stdin",
            "origin",
        ];
        self.git
            .run_limited(&fetch, missing.into_bytes(), &self.limits)
    }
}

impl Origin for Repository {
    fn skill_files(&self) -> Vec<TreePath> {
        let files = self.entries.iter();
        let files = files.filter(|(_, entry)| matches!(entry.kind, TreeEntryKind::File { .. }));
        skill_files(files.map(|(path, _)| path))
    }

    fn stage(
        &mut self,
        directories: &[TreePath],
        tree: &mut StagedTree,
    ) -> Result<(), InstallError> {
        let wanted_paths = WantedPaths::new(directories);
        for (path, refusal) in &self.refused {
            if wanted_paths.contains_below(path) {
                let shown = String::from_utf8_lossy(path);
                return Err(InstallError::refused(shown, refusal.clone()));
            }
        }
        let wanted: Vec<(&TreePath, &TreeEntry)> = self
            .entries
            .iter()
            .filter(|(path, _)| wanted_paths.contains(path))
            .collect();
        let objects: Vec<String> = wanted
            .iter()
            .map(|(_, entry)| entry.object.clone())
            .collect();
        self.fetch_objects(&objects)?;
        let batch = self.git.start_local(&["cat-file", "--batch", "--buffer"])?;
        let mut reader = exchange(batch, &objects)?;
        for (path, entry) in wanted {
            let mut content = next_blob(&mut reader, &entry.object)
                .ok_or_else(|| InstallError::fetch(&self.url, format!("no content of `{path}`")))?;
            match entry.kind {
                TreeEntryKind::File { is_executable } => {
                    tree.add_file(path, is_executable, &mut content)?;
                }
                TreeEntryKind::Link => {
                    let mut target = String::new();
                    // Not UTF-8, or longer than any path: not a path inside of the skill.
                    if content.read_to_string(&mut target).is_err() {
                        target = "?".to_owned();
                        let refusal = Refusal::LinkOut(target);
                        return Err(InstallError::refused(path.as_str(), refusal));
                    }
                    tree.add_link(path, &target)?;
                }
            }
            // The rest, and the line end after it.
            let left = content.limit() + 1;
            std::io::copy(&mut reader.by_ref().take(left), &mut std::io::sink())
                .map_err(|error| InstallError::fetch(&self.url, error.to_string()))?;
        }
        Ok(())
    }

    fn has_file(&self, path: &TreePath) -> bool {
        let entry = self.entries.get(path);
        entry.is_some_and(|entry| matches!(entry.kind, TreeEntryKind::File { .. }))
    }

    fn revision(&self, _directory: &TreePath) -> Option<String> {
        Some(format!("git:{}", self.commit))
    }

    fn committed(&self) -> Option<i64> {
        self.committed
    }
}

/// Splits `MODE TYPE OBJECT\tPATH`.
fn parse_record(record: &[u8]) -> Option<(&str, &str, &[u8])> {
    let tab = record.iter().position(|b| *b == b'\t')?;
    let mut fields = std::str::from_utf8(&record[..tab]).ok()?.split(' ');
    let (mode, _, object) = (fields.next()?, fields.next()?, fields.next()?);
    Some((mode, object, &record[tab + 1..]))
}

/// The output of a program that reads the names of objects.
struct Exchange {
    child: std::process::Child,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Read for Exchange {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.stdout.read(buffer)
    }
}

impl BufRead for Exchange {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.stdout.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.stdout.consume(amount);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        // It waits for more names, or for its output to be read.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Passes the names of objects to a program, on another thread: neither pipe may fill up.
fn exchange(mut child: std::process::Child, objects: &[String]) -> Result<Exchange, InstallError> {
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(InstallError::fetch("git", "no pipe to it"));
    };
    let input = objects.join("\n") + "\n";
    thread::spawn(move || {
        // A program that has ended reads nothing; its output then ends early, which is an error.
        let _ = stdin.write_all(input.as_bytes());
    });
    Ok(Exchange {
        child,
        stdout: BufReader::with_capacity(1 << 16, stdout),
    })
}

/// Reads the header of the next blob; `None` if it is not the expected one.
fn next_blob<'a>(
    reader: &'a mut Exchange,
    object: &str,
) -> Option<std::io::Take<&'a mut Exchange>> {
    let mut header = String::new();
    reader.by_ref().take(200).read_line(&mut header).ok()?;
    let mut fields = header.trim_end().split(' ');
    if fields.next()? != object || fields.next()? != "blob" {
        return None;
    }
    let size = fields.next()?.parse().ok()?;
    Some(reader.take(size))
}

fn text(output: Vec<u8>) -> String {
    String::from_utf8_lossy(&output).trim().to_owned()
}
