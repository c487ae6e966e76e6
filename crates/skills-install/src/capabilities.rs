//! What a skill asks for, and what an update changes about it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use similar::{ChangeTag, TextDiff};
use skills_discovery::{DiscoveryError, SkillFiles};
use skills_manifest::{ContextMode, Document, HookAction, RequiredPackage, Requirements};
use skills_packages::{
    ListedPackage, LockedPackages, MAX_FILE_BYTES, ReadFile, declared_packages, is_lock_file,
    locked_packages,
};

use crate::file_digest::FileDigest;
use crate::file_kind::{FileKind, file_kinds};
use crate::package_changes::PackageChanges;
use crate::skill_tree::{self, FileFacts};

/// The longest text of one thing that a skill asks for, in characters. Of a longer one the end is
/// its digest.
const MAX_CHARACTERS: usize = 1_000;
/// The largest file whose lines are compared, in bytes.
const MAX_COMPARED_BYTES: u64 = 1 << 20;

/// Returns the words of a policy for an entry of `allowed-tools`, such as `spawn:git` for `Bash` and
/// `git:*`; `None` for tools that programs get nothing by. Called on several threads.
pub type ToolWords<'a> = &'a (dyn Fn(&str, Option<&str>) -> Option<String> + Sync);

/// What a skill asks for, and the parts of it that a person reviews.
#[derive(Debug, Clone, PartialEq)]
pub struct Capabilities {
    asks: BTreeSet<String>,
    /// Fields that restrict what the skill may do, or who starts it.
    restrictions: BTreeSet<String>,
    description: String,
    license: Option<String>,
    body: String,
    files: BTreeMap<String, FileFacts>,
    kinds: BTreeMap<String, FileKind>,
    /// The packages that each lock file fixes.
    locks: BTreeMap<String, LockedPackages>,
}

impl Capabilities {
    /// Reads the skill.
    ///
    /// # Errors
    /// Fails if a directory cannot be listed or the `SKILL.md` is not valid.
    pub fn read(skill: &SkillFiles, words: ToolWords<'_>) -> Result<Self, DiscoveryError> {
        let files = skill_tree::files(skill)?;
        Ok(Self::of_files(&skill.document()?, skill, files, words))
    }

    /// Returns the description of the skill.
    pub(crate) fn description(&self) -> &str {
        &self.description
    }

    /// Reads the rest of a skill whose `SKILL.md` was read and whose files were listed.
    pub(crate) fn of_files(
        document: &Document,
        skill: &SkillFiles,
        files: BTreeMap<String, FileFacts>,
        words: ToolWords<'_>,
    ) -> Self {
        let (openai, _) = skill.openai_metadata();
        let requirements = Requirements::new(document.manifest(), Some(&openai));
        let mut asks = asks(document, &requirements, words);
        let read = |path: &str| skill.read_text(path, MAX_FILE_BYTES);
        let paths = || files.keys().map(String::as_str);
        asks.extend(packages(&read, &requirements, paths()));
        Self {
            locks: locked_packages(&read, paths()),
            asks: asks.iter().map(|ask| one_line(ask)).collect(),
            restrictions: restrictions(document, openai.policy.allows_implicit_invocation()),
            description: document.manifest().description().to_owned(),
            license: document.manifest().license().map(str::to_owned),
            body: document.body().to_owned(),
            kinds: file_kinds(skill, &files),
            files,
        }
    }

    /// Returns what the skill asks for, sorted: words of policies (`spawn:git`, `network:HOST`),
    /// `env:NAME`, `hook:EVENT(MATCHER)[DIRECTORY] COMMAND`, `package:KIND:REQUIREMENT`, `server:LOCATION` and `tool:NAME`.
    /// Each is one line; a text of more than 1,000 characters is shortened and ends with its digest.
    pub fn asks(&self) -> impl Iterator<Item = &str> {
        self.asks.iter().map(String::as_str)
    }

    /// Returns the license as the skill writes it.
    #[must_use]
    pub fn license(&self) -> Option<&str> {
        self.license.as_deref()
    }

    /// Returns the number of files and their size in bytes.
    #[must_use]
    pub fn size(&self) -> (u64, u64) {
        let bytes = self.files.values().map(|facts| facts.bytes).sum();
        (self.files.len() as u64, bytes)
    }

    pub(crate) fn executables(&self) -> Vec<String> {
        let files = self.files.iter().filter(|(_, facts)| facts.is_executable);
        files.map(|(path, _)| path.clone()).collect()
    }

    /// Returns the paths of all files, sorted. Symlinks are not among them.
    pub(crate) fn paths(&self) -> Vec<String> {
        let files = self.files.iter().filter(|(_, facts)| !facts.is_link);
        files.map(|(path, _)| path.clone()).collect()
    }

    /// Returns the files that are code, and that are not in the installed version.
    fn new_code(&self, installed: Option<&Self>) -> BTreeSet<&str> {
        self.kinds
            .iter()
            .filter(|(path, kind)| {
                kind.is_new_code(installed.and_then(|installed| installed.kinds.get(*path)))
            })
            .map(|(path, _)| path.as_str())
            .collect()
    }
}

fn asks(
    document: &Document,
    requirements: &Requirements,
    words: ToolWords<'_>,
) -> BTreeSet<String> {
    let manifest = document.manifest();
    let mut asks = BTreeSet::new();
    for tool in manifest.allowed_tools() {
        let known = words(tool.tool(), tool.pattern());
        asks.insert(known.unwrap_or_else(|| format!("tool:{tool}")));
    }
    for program in &requirements.programs {
        asks.insert(format!("spawn:{}", program.any_of.join("|")));
    }
    // Also those that install none of the programs. Libraries are packages of a registry.
    let openclaw = manifest.extensions().openclaw.iter();
    let libraries = &requirements.packages;
    for install in openclaw.flat_map(|openclaw| &openclaw.install) {
        let package = RequiredPackage::of_install(install);
        if package.is_some_and(|package| libraries.contains(&package)) {
            continue;
        }
        let target = install.target.as_deref().unwrap_or("?");
        asks.insert(format!("package:{}:{target}", install.kind));
    }
    for variable in &requirements.variables {
        asks.insert(format!("env:{}", variable.name));
    }
    for server in &requirements.servers {
        asks.insert(format!("server:{}", server.locator));
    }
    for hook in &manifest.extensions().hooks {
        let (action, directory) = match &hook.action {
            HookAction::Command { command, cwd } => (command.clone(), cwd.as_deref()),
            HookAction::Other(kind) => (format!("({kind})"), None),
            other => (format!("{other:?}"), None),
        };
        let event = hook.event.as_str();
        let matcher = hook.matcher.as_deref();
        let matcher = matcher.map(|text| format!("({})", unambiguous(text)));
        let directory = directory.map(|text| format!("[{}]", unambiguous(text)));
        asks.insert(format!(
            "hook:{event}{}{} {action}",
            matcher.unwrap_or_default(),
            directory.unwrap_or_default()
        ));
    }
    asks
}

/// Returns the packages that the frontmatter and files of a skill declare.
fn packages<'a>(
    read: &ReadFile<'_>,
    requirements: &Requirements,
    paths: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = String> {
    let listed = requirements.packages.iter().cloned();
    let listed: Vec<ListedPackage> = listed.map(ListedPackage::of_frontmatter).collect();
    let declared = declared_packages(read, paths, &listed);
    declared
        .into_iter()
        .map(|package| format!("package:{package}"))
}

/// Returns the fields of a skill whose absence would allow more.
fn restrictions(document: &Document, allows_implicit_invocation: bool) -> BTreeSet<String> {
    let manifest = document.manifest();
    let extensions = manifest.extensions();
    // One that cannot be parsed restricts, too: scripts of the skill do not run.
    let unparsed = manifest.unparsed_restrictions().iter();
    let mut restrictions: BTreeSet<String> = unparsed.map(ToString::to_string).collect();
    if !manifest.allowed_tools().is_empty() {
        restrictions.insert("allowed-tools".to_owned());
    }
    if !manifest.model_invocable() || !allows_implicit_invocation {
        restrictions.insert("disable-model-invocation".to_owned());
    }
    if extensions.context == Some(ContextMode::Fork) {
        restrictions.insert("context: fork".to_owned());
    }
    let tools = extensions.disallowed_tools.iter();
    restrictions.extend(tools.map(|tool| one_line(&format!("disallowed-tools: {tool}"))));
    restrictions
}

/// Returns a text that does not seem to end earlier between brackets.
fn unambiguous(text: &str) -> String {
    if text.contains([')', ']', '"']) {
        format!("{text:?}")
    } else {
        text.to_owned()
    }
}

/// Returns text of a skill on one line of limited length. Texts that differ give lines that differ.
fn one_line(text: &str) -> String {
    let line = if text.contains(char::is_control) || text.starts_with('"') {
        format!("{text:?}")
    } else {
        text.to_owned()
    };
    match line.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => {
            let digest = FileDigest::of(line.as_bytes());
            format!("{}… (whole text: {digest})", &line[..end])
        }
        None => line,
    }
}

fn texts_of(lines: &BTreeSet<String>) -> Vec<String> {
    lines.iter().map(|line| one_line(line)).collect()
}

/// What changes between two versions of a skill, or that all of it is new.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Difference {
    /// What the new version asks for in addition.
    pub added: Vec<String>,
    /// Restrictions of the installed version that the new one does not have, such as
    /// `allowed-tools`, `disable-model-invocation` or `lock file uv.lock`.
    pub removed_restrictions: Vec<String>,
    /// What the new version no longer asks for.
    pub removed: Vec<String>,
    /// Packages of its lock files that the installed version does not fix, or with another origin or
    /// other files, such as `npm:left-pad 1.3.0`.
    pub added_packages: Vec<String>,
    /// Packages of its lock files that have another version, such as `npm:left-pad 1.2.0 -> 1.3.0`.
    pub changed_packages: Vec<String>,
    /// Files that are new and may be executed or read by a tool, which are all but texts, images and
    /// fonts outside of directories for scripts; files that became such; and symlinks that are new
    /// or lead elsewhere.
    pub added_code: Vec<String>,
    /// Texts, images and fonts that are new.
    pub added_files: Vec<String>,
    /// Files with other content.
    pub changed_files: Vec<String>,
    /// Files that are gone.
    pub removed_files: Vec<String>,
    /// Whether the description is another one.
    pub is_description_changed: bool,
    /// The number of lines of the body that were added and removed.
    pub body_lines: (usize, usize),
}

impl Difference {
    /// Compares a new version with the installed one; all of it is new if there is none.
    #[must_use]
    pub fn new(
        old: Option<(&Capabilities, &SkillFiles)>,
        new: &Capabilities,
        new_files: &SkillFiles,
    ) -> Self {
        let nothing = BTreeSet::new();
        let old_asks = old.map_or(&nothing, |(old, _)| &old.asks);
        // A file that becomes executable is new code.
        let code = new.new_code(old.map(|(old, _)| old));
        let is_old = |path: &str| old.is_some_and(|(old, _)| old.files.contains_key(path));
        let mut difference = Self {
            added: new.asks.difference(old_asks).cloned().collect(),
            removed: old_asks.difference(&new.asks).cloned().collect(),
            added_code: code.iter().map(|path| (*path).to_owned()).collect(),
            added_files: new
                .files
                .keys()
                .filter(|path| !is_old(path) && !code.contains(path.as_str()))
                .cloned()
                .collect(),
            ..Self::default()
        };
        let Some((old, old_files)) = old else {
            difference.body_lines = (new.body.lines().count(), 0);
            return difference;
        };
        let gone = old
            .files
            .keys()
            .filter(|path| !new.files.contains_key(*path));
        difference.removed_files = gone.cloned().collect();
        difference.removed_restrictions = old
            .restrictions
            .difference(&new.restrictions)
            .cloned()
            .collect();
        let packages = PackageChanges::new(&old.locks, &new.locks);
        difference.added_packages = texts_of(&packages.added);
        difference.changed_packages = texts_of(&packages.changed);
        let unlocked = texts_of(&packages.unlocked);
        difference.removed_restrictions.extend(unlocked);
        difference.is_description_changed = old.description != new.description;
        difference.body_lines = count_lines(&old.body, &new.body);
        difference.changed_files = Self::changed_files(old, old_files, new, new_files);
        // Which packages it fixes is not known.
        let unread = new.files.keys().filter(|path| {
            let is_new = !old.files.contains_key(*path) || difference.changed_files.contains(*path);
            is_new && is_lock_file(path) && !new.locks.contains_key(*path)
        });
        let unread = unread.map(|path| one_line(&format!("lock file {path}")));
        difference.removed_restrictions.extend(unread);
        difference.removed_restrictions.sort_unstable();
        difference.removed_restrictions.dedup();
        difference
    }

    fn changed_files(
        old: &Capabilities,
        old_files: &SkillFiles,
        new: &Capabilities,
        new_files: &SkillFiles,
    ) -> Vec<String> {
        let changed = new
            .files
            .iter()
            .filter(|(path, facts)| {
                old.files
                    .get(*path)
                    .is_some_and(|known| has_changed(path, *known, **facts, old_files, new_files))
            })
            .map(|(path, _)| path.clone());
        changed.collect()
    }

    /// Returns true if the new version may do more: it asks for more, is restricted less, or has
    /// more code or packages.
    #[must_use]
    pub fn grows(&self) -> bool {
        !self.added.is_empty()
            || !self.removed_restrictions.is_empty()
            || !self.added_packages.is_empty()
            || !self.added_code.is_empty()
    }
}

fn has_changed(
    path: &str,
    old: FileFacts,
    new: FileFacts,
    old_files: &SkillFiles,
    new_files: &SkillFiles,
) -> bool {
    if old != new {
        return true;
    }
    let read = |files: &SkillFiles| files.read(path, old.bytes).ok();
    old.bytes > MAX_COMPARED_BYTES || read(old_files) != read(new_files)
}

fn count_lines(old: &str, new: &str) -> (usize, usize) {
    let diff = TextDiff::from_lines(old, new);
    let count = |tag| {
        diff.iter_all_changes()
            .filter(|change| change.tag() == tag)
            .count()
    };
    (count(ChangeTag::Insert), count(ChangeTag::Delete))
}

/// One line for each change, such as `+ spawn:git` or `~ body +12 -3`. It contains text of the
/// skill, so escape it for display.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (sign, texts) in [
            ("+", &self.added),
            ("+ without the restriction", &self.removed_restrictions),
            ("-", &self.removed),
            ("+ package", &self.added_packages),
            ("~ package", &self.changed_packages),
        ] {
            for text in texts {
                writeln!(f, "{sign} {text}")?;
            }
        }
        for (sign, paths) in [
            ("+", &self.added_code),
            ("+", &self.added_files),
            ("~", &self.changed_files),
            ("-", &self.removed_files),
        ] {
            for path in paths {
                writeln!(f, "{sign} {}", one_line(path))?;
            }
        }
        if self.is_description_changed {
            writeln!(f, "~ description")?;
        }
        let (added, removed) = self.body_lines;
        if added + removed > 0 {
            writeln!(f, "~ body +{added} -{removed}")?;
        }
        Ok(())
    }
}
