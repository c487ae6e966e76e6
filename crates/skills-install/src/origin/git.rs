//! A git repository: one commit, read without a checkout.
//!
//! A checkout would apply filters and attributes of the repository and create its symlinks. Here
//! names come from `ls-tree` and content from `cat-file`, so git writes none of its files.
//!
//! It is fetched in two steps: names first, then the contents of the wanted files.

mod address;
mod page;

use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

pub(super) use self::address::is_by_itself;
pub(super) use self::page::is_page;
use super::git_command::{GitOptions, GitRepository, Running};
use super::tree::{Origin, WantedPaths, skill_files};
use crate::error::{InstallError, Refusal, Submodule};
use crate::fetch_options::FetchOptions;
use crate::source::problem::Problem;
use crate::source::text::explicit_path;
use crate::source::{FixedVersions, Location, Opened, SourceKind, SourceSpec, SourceText};
use crate::staged_tree::{StagedTree, check_entries};
use crate::{FetchLimits, TreePath};

/// Maximum length of a listed name with its object, in bytes.
const MAX_RECORD_BYTES: u64 = 1 << 16;
/// The file that names the repositories of submodules.
const MODULES_FILE: &str = ".gitmodules";
/// The local name of the fetched commit.
const TARGET: &str = "refs/skills/target";
/// How a fetch starts that gets no content but what is asked for.
const FETCH: [&str; 4] = ["fetch", "--quiet", "--no-tags", "--filter=blob:none"];

/// A git repository on a server or on disk.
#[derive(Debug)]
pub(super) struct GitKind;

impl SourceKind for GitKind {
    fn name(&self) -> &'static str {
        "git repository"
    }

    fn parse(&self, source: &SourceText<'_>) -> Option<Result<SourceSpec, Problem>> {
        let parsed = address::parse(source)?;
        Some(parsed.map(|parsed| {
            SourceSpec::new(&Self, parsed.location, parsed.reference, parsed.path)
                .with_page(parsed.is_page)
        }))
    }

    fn check_reference(&self, reference: &str) -> Result<(), Problem> {
        address::check_reference(reference)
    }

    fn text(&self, location: &Location) -> String {
        address::text(location)
    }

    fn identity(&self, location: &Location) -> String {
        match location {
            // A name in it may look like a host.
            Location::Path(_) => address::path_identity(&location.address()),
            other => address::identity(&other.address()),
        }
    }

    fn revision_prefix(&self) -> Option<&'static str> {
        Some("git:")
    }

    fn fixed_versions(&self) -> FixedVersions {
        FixedVersions::Tags
    }

    fn open(&self, source: &SourceSpec, options: &FetchOptions, _scratch: &Path) -> Opened {
        let (git, address) = git_of(source, options);
        let repository = Repository::fetch(&git, &address, source.reference(), &options.limits)?;
        Ok(Box::new(repository))
    }

    fn divide_page(
        &self,
        source: &SourceSpec,
        options: &FetchOptions,
    ) -> Result<Option<(String, TreePath)>, InstallError> {
        let (git, address) = git_of(source, options);
        let repository = GitRepository::create(&git, &address, &options.limits)?;
        repository.init()?;
        page::divide(&repository, source)
    }
}

/// Returns how git is started for a source, and the address for it.
fn git_of(source: &SourceSpec, options: &FetchOptions) -> (GitOptions, String) {
    match source.location() {
        Location::Path(path) => (options.git().allow_files(), explicit_path(path)),
        other => (options.git(), other.address().into_owned()),
    }
}

/// One commit of a repository, with its names; contents are fetched when they are wanted.
pub(crate) struct Repository {
    git: GitRepository,
    url: String,
    commit: String,
    committed: Option<i64>,
    is_tag: bool,
    entries: BTreeMap<TreePath, TreeEntry>,
    refused: Vec<(Vec<u8>, Refusal)>,
    /// The paths of submodules with their commits.
    submodules: Vec<(String, String)>,
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
    /// Fetches the trees of one commit.
    pub(crate) fn fetch(
        options: &GitOptions,
        url: &str,
        reference: Option<&str>,
        limits: &FetchLimits,
    ) -> Result<Self, InstallError> {
        let git = GitRepository::create(options, url, limits)?;
        git.init()?;
        let refspec = format!("+{}:{TARGET}", reference.unwrap_or("HEAD"));
        let fetch = [&FETCH[..], &["--depth=1", "origin", &refspec]].concat();
        git.run(&fetch, Vec::new())?;
        let is_tag = git.has_fetched_tag();
        // Commands for users would show what their configuration adds, such as signatures.
        let newest = ["rev-list", "--max-count=1", "--timestamp", TARGET];
        let newest = String::from_utf8_lossy(&git.output(&newest)?).into_owned();
        let (time, commit) = newest
            .trim()
            .split_once(' ')
            .ok_or_else(|| InstallError::fetch(url, "it has no commit of this name"))?;
        let mut repository = Self {
            git,
            url: url.to_owned(),
            commit: commit.to_owned(),
            committed: time.parse().ok(),
            is_tag,
            entries: BTreeMap::new(),
            refused: Vec::new(),
            submodules: Vec::new(),
            limits: limits.clone(),
        };
        repository.list()?;
        Ok(repository)
    }

    /// Lists the files as git names them: a small repository can have any number of names.
    ///
    /// A name that a tree has twice is refused wherever it is: no honest tool writes such a tree,
    /// and programs disagree about which entry they read.
    fn list(&mut self) -> Result<(), InstallError> {
        // Without sizes, for which git would fetch each file.
        let command = ["ls-tree", "-r", "-t", "-z", "--full-tree", &self.commit];
        let mut listing = BufReader::new(self.git.start(&command, Vec::new())?);
        let unknown = || InstallError::fetch(&self.url, "git lists files in an unknown format");
        let mut record = Vec::new();
        let mut listed: HashSet<Vec<u8>> = HashSet::new();
        loop {
            record.clear();
            let read = listing
                .by_ref()
                .take(MAX_RECORD_BYTES)
                .read_until(0, &mut record);
            if read.map_err(|error| self.git.read_error(error))? == 0 {
                break;
            }
            let record = record.strip_suffix(b"\0").ok_or_else(unknown)?;
            let (mode, object, path) = parse_record(record).ok_or_else(unknown)?;
            if !listed.insert(path.to_owned()) {
                return Err(listed_twice(path));
            }
            check_entries(listed.len() as u64, &self.limits)?;
            let kind = match mode {
                "040000" => continue,
                "100644" | "100664" => TreeEntryKind::File {
                    is_executable: false,
                },
                "100755" => TreeEntryKind::File {
                    is_executable: true,
                },
                "120000" => TreeEntryKind::Link,
                "160000" => {
                    self.refused.push((path.to_owned(), Refusal::Submodule));
                    let shown = String::from_utf8_lossy(path).into_owned();
                    self.submodules.push((shown, object.to_owned()));
                    continue;
                }
                _ => {
                    self.refused.push((path.to_owned(), Refusal::Special));
                    continue;
                }
            };
            match TreePath::from_bytes(path) {
                Ok(valid) => {
                    let object = object.to_owned();
                    // A name `.` in a tree is not part of a path.
                    if self
                        .entries
                        .insert(valid, TreeEntry { object, kind })
                        .is_some()
                    {
                        return Err(listed_twice(path));
                    }
                }
                // Most of a repository is not part of a skill.
                Err(problem) => self.refused.push((path.to_owned(), problem.into())),
            }
        }
        listing.into_inner().finish()
    }

    /// Fetches the objects that are missing, all at once.
    fn fetch_objects(&self, objects: &[String]) -> Result<(), InstallError> {
        // The only command that names missing objects without fetching them one by one.
        let command = ["rev-list", "--objects", "--missing=print", &self.commit];
        let mut listing = BufReader::new(self.git.start(&command, Vec::new())?);
        let mut missing: HashSet<String> = HashSet::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = listing
                .by_ref()
                .take(MAX_RECORD_BYTES)
                .read_until(b'\n', &mut line);
            if read.map_err(|error| self.git.read_error(error))? == 0 {
                break;
            }
            if let Some(object) = line.strip_prefix(b"?") {
                missing.insert(String::from_utf8_lossy(object).trim_end().to_owned());
                check_entries(missing.len() as u64, &self.limits)?;
            }
        }
        listing.into_inner().finish()?;
        let missing: String = objects
            .iter()
            .filter(|object| missing.contains(object.as_str()))
            .flat_map(|object| [object.as_str(), "\n"])
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let options = ["-c", "fetch.negotiationAlgorithm=noop"];
        let source = ["--no-write-fetch-head", "--stdin", "origin"];
        let fetch = [&options[..], &FETCH, &source].concat();
        self.git.run(&fetch, missing.into_bytes())
    }
}

impl Repository {
    /// Returns the repositories of submodules by their paths, as `.gitmodules` names them.
    fn submodule_urls(&self) -> Result<BTreeMap<String, String>, InstallError> {
        let file = TreePath::new(MODULES_FILE).ok();
        let Some(entry) = file.and_then(|file| self.entries.get(&file)) else {
            return Ok(BTreeMap::new());
        };
        if self.submodules.is_empty() || entry.kind == TreeEntryKind::Link {
            return Ok(BTreeMap::new());
        }
        self.fetch_objects(std::slice::from_ref(&entry.object))?;
        let blob = [
            "config",
            "--blob",
            &entry.object,
            "--no-includes",
            "-z",
            "--list",
        ];
        let listed = self.git.output(&blob)?;
        Ok(urls_of_modules(&String::from_utf8_lossy(&listed)))
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
        let input = objects.join("\n") + "\n";
        let batch = ["cat-file", "--batch", "--buffer"];
        let mut reader = BufReader::new(self.git.start(&batch, input.into_bytes())?);
        for (path, entry) in wanted {
            let mut content = next_blob(&mut reader, &entry.object)
                .map_err(|error| self.git.read_error(error))?
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
            io::copy(&mut reader.by_ref().take(left), &mut io::sink())
                .map_err(|error| self.git.read_error(error))?;
        }
        Ok(())
    }

    fn submodules(&self) -> Vec<Submodule> {
        // Without the names of the others a message still says that they are submodules.
        let urls = self.submodule_urls().unwrap_or_default();
        let submodules = self.submodules.iter().map(|(path, commit)| {
            let url = urls.get(path);
            // A relative one is below this repository, not below the directory of the user.
            let absolute = url.filter(|url| !url.starts_with('.'));
            let source = absolute.map(|url| format!("git+{url}#{commit}"));
            Submodule {
                path: path.clone(),
                commit: commit.clone(),
                source: source.filter(|source| source.parse::<SourceSpec>().is_ok()),
                url: url.cloned(),
            }
        });
        submodules.collect()
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

    fn is_tag(&self) -> bool {
        self.is_tag
    }
}

/// Returns URLs by paths, of the variables `submodule.NAME.path` and `submodule.NAME.url`, each
/// followed by a line end, its value and NUL.
fn urls_of_modules(listed: &str) -> BTreeMap<String, String> {
    let variables = listed.split('\0').filter_map(|variable| {
        let (key, value) = variable.split_once('\n')?;
        let (name, field) = key.strip_prefix("submodule.")?.rsplit_once('.')?;
        Some(((name, field), value))
    });
    let variables: BTreeMap<(&str, &str), &str> = variables.collect();
    let paths = variables.iter().filter(|((_, field), _)| *field == "path");
    let urls = paths.filter_map(|((name, _), path)| {
        let url = variables.get(&(*name, "url"))?;
        Some(((*path).to_owned(), (*url).to_owned()))
    });
    urls.collect()
}

fn listed_twice(path: &[u8]) -> InstallError {
    InstallError::refused(String::from_utf8_lossy(path), Refusal::Twice)
}

/// Splits `MODE TYPE OBJECT\tPATH`.
fn parse_record(record: &[u8]) -> Option<(&str, &str, &[u8])> {
    let tab = record.iter().position(|b| *b == b'\t')?;
    let mut fields = std::str::from_utf8(&record[..tab]).ok()?.split(' ');
    let (mode, _, object) = (fields.next()?, fields.next()?, fields.next()?);
    Some((mode, object, &record[tab + 1..]))
}

/// Reads the header of the next blob; `None` if it is not the expected one.
fn next_blob<'a, 'b>(
    reader: &'a mut BufReader<Running<'b>>,
    object: &str,
) -> io::Result<Option<io::Take<&'a mut BufReader<Running<'b>>>>> {
    let mut header = String::new();
    reader.by_ref().take(200).read_line(&mut header)?;
    let mut fields = header.trim_end().split(' ');
    if fields.next() != Some(object) || fields.next() != Some("blob") {
        return Ok(None);
    }
    let size = fields.next().and_then(|size| size.parse().ok());
    Ok(size.map(|size| reader.take(size)))
}
