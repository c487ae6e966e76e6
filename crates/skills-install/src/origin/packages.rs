//! Packages of npm that carry skills.
//!
//! A skill is in `skills/NAME`, `dist/skills/NAME` or `.agents/skills/NAME` of its package, is the
//! package itself, or is a directory that `package.json` lists: in `skills`, `agents.skills` or
//! `agentskills.skills`, as a text that starts with `./` or an object with `path`. Entries that name
//! other sources are not followed.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde_json::Value;
use skills_discovery::SKILL_FILE;
use skills_manifest::is_invisible;

use super::directory::Directory;
use super::tree::Origin;
use crate::error::{InstallError, Refusal};
use crate::fetch_options::FetchOptions;
use crate::source::problem::Problem;
use crate::source::text::local_path;
use crate::source::{FixedVersions, Location, Opened, SourceKind, SourceSpec, SourceText};
use crate::staged_tree::StagedTree;
use crate::{FetchLimits, PathProblem, TreePath};

/// Directories of a package whose directories are skills. The first one wins if a skill is in
/// several: a build copies it.
const LOCATIONS: [&str; 3] = ["skills", "dist/skills", ".agents/skills"];
const PACKAGE_FILE: &str = "package.json";
/// Maximum size of a `package.json`, in bytes.
const MAX_PACKAGE_BYTES: u64 = 1 << 20;
/// Maximum length of the name of a package and of a version, in bytes.
const MAX_NAME_BYTES: usize = 214;

/// A package of npm, or a directory of packages such as `node_modules`.
#[derive(Debug)]
pub(super) struct NpmKind;

impl SourceKind for NpmKind {
    fn name(&self) -> &'static str {
        "directory of packages"
    }

    fn parse(&self, source: &SourceText<'_>) -> Option<Result<SourceSpec, Problem>> {
        let path = local_path(source.text.strip_prefix("npm:")?);
        Some(path.map(|path| source.spec(&Self, Location::Path(path))))
    }

    fn text(&self, location: &Location) -> String {
        format!("npm:{}", location.address())
    }

    fn identity(&self, location: &Location) -> String {
        self.text(location)
    }

    fn fixed_versions(&self) -> FixedVersions {
        FixedVersions::Revisions
    }

    fn open(&self, source: &SourceSpec, options: &FetchOptions, _scratch: &Path) -> Opened {
        let path = source.location().path();
        Ok(Box::new(Packages::open(path, &options.limits)?))
    }
}

/// The skills of one package or of a directory of packages.
pub(crate) struct Packages {
    files: Directory,
    /// By the directory of each.
    packages: BTreeMap<TreePath, Package>,
}

#[derive(Default)]
struct Package {
    /// Name and version.
    revision: Option<String>,
    /// Listed directories that are not in the package.
    refused: Vec<(String, PathProblem)>,
}

impl Packages {
    pub(crate) fn open(path: &Path, limits: &FetchLimits) -> Result<Self, InstallError> {
        let failed = |error| InstallError::io("open", path, error);
        let handle = Dir::open_ambient_dir(path, ambient_authority()).map_err(failed)?;
        let mut packages = Self {
            files: Directory::empty(handle.try_clone().map_err(failed)?),
            packages: BTreeMap::new(),
        };
        if handle.exists(PACKAGE_FILE) {
            packages.add(&handle, &TreePath::root(), limits, path)?;
            if let Some(package) = packages.packages.get(&TreePath::root())
                && let Some(error) = package.error(&TreePath::root())
            {
                return Err(error);
            }
        } else {
            for directory in package_directories(&handle).map_err(failed)? {
                packages.add(&handle, &directory, limits, path)?;
            }
        }
        packages.files.sort();
        Ok(packages)
    }

    /// Adds the skills of a package.
    fn add(
        &mut self,
        root: &Dir,
        directory: &TreePath,
        limits: &FetchLimits,
        shown: &Path,
    ) -> Result<(), InstallError> {
        // Through symlinks, as pnpm makes them, but not out of the given directory.
        let Ok(handle) = open_below(root, directory) else {
            return Ok(());
        };
        let fields = read_package(&handle);
        let mut package = Package {
            revision: revision(&fields),
            refused: Vec::new(),
        };
        let mut skills = BTreeMap::new();
        if handle.exists(SKILL_FILE) {
            skills.insert(String::new(), TreePath::root());
        } else {
            for location in LOCATIONS {
                for skill in skill_directories(&handle, location) {
                    let name = skill.file_name().unwrap_or_default().to_owned();
                    skills.entry(name).or_insert(skill);
                }
            }
            for listed in listed_directories(&fields) {
                match parse_listed(&listed) {
                    Ok(skill) if is_skill(&handle, &skill) => {
                        let name = skill.file_name().unwrap_or_default().to_owned();
                        skills.entry(name).or_insert(skill);
                    }
                    // Mostly a directory of skills.
                    Ok(parent) => {
                        for skill in skill_directories(&handle, parent.as_str()) {
                            let name = skill.file_name().unwrap_or_default().to_owned();
                            skills.entry(name).or_insert(skill);
                        }
                    }
                    Err(problem) => package.refused.push((listed, problem)),
                }
            }
        }
        for skill in skills.values() {
            let path = join(directory, skill);
            if let (Ok(path), Ok(handle)) = (path, open_below(&handle, skill)) {
                self.files.list(&handle, &path, limits, shown)?;
            }
        }
        self.packages.insert(directory.clone(), package);
        Ok(())
    }

    fn package(&self, skill: &TreePath) -> Option<(&TreePath, &Package)> {
        let mut packages = self.packages.iter();
        packages.find(|(directory, _)| skill.strip_prefix(directory).is_some())
    }
}

impl Package {
    /// Returns the error for a listed directory that is not in the package.
    fn error(&self, directory: &TreePath) -> Option<InstallError> {
        let (listed, problem) = self.refused.first()?;
        let shown = format!("{listed}` in `{directory}/{PACKAGE_FILE}");
        Some(InstallError::refused(shown, Refusal::Path(*problem)))
    }
}

impl Origin for Packages {
    fn skill_files(&self) -> Vec<TreePath> {
        self.files.skill_files()
    }

    fn stage(
        &mut self,
        directories: &[TreePath],
        tree: &mut StagedTree,
    ) -> Result<(), InstallError> {
        for directory in directories {
            if let Some((path, package)) = self.package(directory)
                && let Some(error) = package.error(path)
            {
                return Err(error);
            }
        }
        self.files.stage(directories, tree)
    }

    fn revision(&self, directory: &TreePath) -> Option<String> {
        self.package(directory)?.1.revision.clone()
    }
}

/// Returns the directories of packages, sorted: `NAME` and `@SCOPE/NAME`.
fn package_directories(handle: &Dir) -> io::Result<Vec<TreePath>> {
    let mut found = Vec::new();
    for name in names(handle)? {
        if name.starts_with('@') {
            let Ok(scope) = handle.open_dir(&name) else {
                continue;
            };
            let packages = names(&scope)?.into_iter();
            found.extend(
                packages.filter_map(|package| TreePath::new(&name).ok()?.join(&package).ok()),
            );
        } else if !name.starts_with('.') {
            found.extend(TreePath::new(&name));
        }
    }
    found.sort();
    Ok(found)
}

fn names(handle: &Dir) -> io::Result<Vec<String>> {
    let names = handle
        .entries()?
        .map(|entry| Ok(entry?.file_name().into_string().ok()));
    let names: Vec<Option<String>> = names.collect::<io::Result<_>>()?;
    Ok(names.into_iter().flatten().collect())
}

/// Returns the skills in a directory of a package, sorted.
fn skill_directories(package: &Dir, location: &str) -> Vec<TreePath> {
    let Ok(parent) = TreePath::new(location) else {
        return Vec::new();
    };
    let Ok(handle) = package.open_dir(location) else {
        return Vec::new();
    };
    let found = names(&handle).unwrap_or_default().into_iter();
    let mut found: Vec<TreePath> = found
        .filter_map(|name| parent.join(&name).ok())
        .filter(|path| is_skill(package, path))
        .collect();
    found.sort();
    found
}

fn is_skill(package: &Dir, directory: &TreePath) -> bool {
    let file = directory.join(SKILL_FILE);
    file.is_ok_and(|file| package.exists(file.as_str()))
}

fn open_below(handle: &Dir, directory: &TreePath) -> io::Result<Dir> {
    if directory.is_root() {
        handle.try_clone()
    } else {
        handle.open_dir(directory.as_str())
    }
}

fn join(directory: &TreePath, below: &TreePath) -> Result<TreePath, PathProblem> {
    if below.is_root() {
        Ok(directory.clone())
    } else {
        directory.join(below.as_str())
    }
}

/// Returns the fields of `package.json`; nothing if it cannot be read: npm does not either.
fn read_package(handle: &Dir) -> Value {
    let mut bytes = Vec::new();
    let read = handle
        .open(PACKAGE_FILE)
        .and_then(|file| file.take(MAX_PACKAGE_BYTES).read_to_end(&mut bytes));
    match read {
        Ok(_) => serde_json::from_slice(&bytes).unwrap_or_default(),
        Err(_) => Value::Null,
    }
}

/// Returns `npm:NAME@VERSION`.
fn revision(fields: &Value) -> Option<String> {
    let text = |field: &str| {
        let text = fields.get(field)?.as_str()?;
        let is_plain = !text.is_empty()
            && text.len() <= MAX_NAME_BYTES
            && !text.chars().any(|c| is_invisible(c) || c.is_whitespace());
        is_plain.then_some(text)
    };
    Some(format!("npm:{}@{}", text("name")?, text("version")?))
}

/// Returns the directories that `package.json` lists.
fn listed_directories(fields: &Value) -> Vec<String> {
    let lists = [
        fields.get("skills"),
        fields.pointer("/agents/skills"),
        fields.pointer("/agentskills/skills"),
    ];
    let entries = lists.into_iter().flatten().filter_map(Value::as_array);
    let paths = entries.flatten().filter_map(|entry| match entry {
        // Other texts name other sources.
        Value::String(text) => is_path(text).then(|| text.clone()),
        entry => entry.get("path")?.as_str().map(str::to_owned),
    });
    paths.collect()
}

fn is_path(text: &str) -> bool {
    text.starts_with('.') || text.starts_with(['/', '\\'])
}

/// Parses a listed directory, or the path of its `SKILL.md`.
fn parse_listed(text: &str) -> Result<TreePath, PathProblem> {
    let text = text.strip_prefix("./").unwrap_or(text);
    let path = TreePath::new(text)?;
    match path.file_name() {
        Some(SKILL_FILE) => Ok(path.parent().unwrap_or_default()),
        _ => Ok(path),
    }
}
