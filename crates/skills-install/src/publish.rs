//! Writes skills as the files of a web site, from which other programs install them.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use flate2::{Compression, GzBuilder};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use skills_discovery::{DigestCache, SKILL_FILE, SkillFiles, is_generated};
use skills_manifest::SkillName;
use skills_store::{FileMode, replace_file};

use crate::TreePath;
use crate::error::{InstallError, Repr};
use crate::origin::{INDEX_SCHEMA, is_index_name};
use crate::skill_tree::is_executable;
use crate::staged_tree::stays_inside;

/// The directory of the index and of everything that it lists.
const DIRECTORY: &str = ".well-known/agent-skills";
const INDEX: &str = "index.json";
/// The longest description of an index, in characters.
const MAX_DESCRIPTION: usize = 1_024;

/// Skills as the files of a web site: `.well-known/agent-skills/index.json` of version 0.2.0, a
/// `SKILL.md` for each skill that has no other file, and an archive (`.tar.gz`) for each other.
///
/// The same skills give the same bytes, so that a server and its caches see a change only if there
/// is one. Executable files stay executable; owners and times are not written.
///
/// ```
/// use skills_discovery::SkillFiles;
/// use skills_install::WellKnownSite;
///
/// # let directory = tempfile::tempdir()?;
/// # let skill = directory.path().join("pdf");
/// # std::fs::create_dir(&skill)?;
/// # std::fs::write(skill.join("SKILL.md"), "---\nname: pdf\ndescription: Fills forms.\n---\n")?;
/// # let site_directory = directory.path().join("site");
/// let mut site = WellKnownSite::default();
/// site.add(&SkillFiles::open_directory(&skill)?)?;
/// site.write(&site_directory)?;
/// assert!(site_directory.join(".well-known/agent-skills/pdf/SKILL.md").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct WellKnownSite {
    entries: BTreeMap<String, IndexEntry>,
    /// The files by their paths below [`DIRECTORY`].
    files: BTreeMap<String, Vec<u8>>,
}

/// The index, with the fields that are written.
#[derive(Debug, Serialize, Deserialize)]
struct Index {
    #[serde(rename = "$schema", default)]
    schema: String,
    skills: Vec<IndexEntry>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct IndexEntry {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    description: String,
    url: String,
    digest: String,
}

impl WellKnownSite {
    /// Adds a skill.
    ///
    /// # Errors
    /// Fails if its files cannot be read, if it has no valid name or a description of more than
    /// 1,024 characters (readers reject the whole index then), if it contains a symlink out of its
    /// directory, or if a skill of its name was added.
    pub fn add(&mut self, skill: &SkillFiles) -> Result<(), InstallError> {
        let document = skill
            .document()
            .map_err(|source| InstallError::invalid(skill.file_name(), source))?;
        let manifest = document.manifest();
        let rejected = |problem: &str| Repr::NotPublished {
            name: manifest.name().map_or("", SkillName::as_str).to_owned(),
            problem: problem.to_owned(),
        };
        let name = manifest.name().map(SkillName::as_str);
        let name = name.filter(|name| is_index_name(name)).ok_or_else(|| {
            rejected("its name is not one of 1 to 64 letters a to z, digits and `-`")
        })?;
        let description = manifest.description();
        if description.chars().count() > MAX_DESCRIPTION {
            return Err(rejected("its description has more than 1,024 characters").into());
        }
        let files = read_files(skill).map_err(|error| rejected(&error.to_string()))?;
        let (kind, path, content) = match files.as_slice() {
            [(path, SiteFile::Content { bytes, .. })] if path == SKILL_FILE => {
                ("skill-md", format!("{name}/{SKILL_FILE}"), bytes.clone())
            }
            files => {
                let archive = write_archive(files).map_err(|error| rejected(&error.to_string()))?;
                ("archive", format!("{name}.tar.gz"), archive)
            }
        };
        let entry = IndexEntry {
            name: name.to_owned(),
            kind: kind.to_owned(),
            description: description.to_owned(),
            url: format!("/{DIRECTORY}/{path}"),
            digest: format!("sha256:{}", hex::encode(Sha256::digest(&content))),
        };
        if self.entries.contains_key(name) {
            return Err(rejected("another skill has the same name").into());
        }
        self.entries.insert(name.to_owned(), entry);
        self.files.insert(path, content);
        Ok(())
    }

    /// Returns the names of the skills, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Writes the files below `directory`, the index last, and removes the files of skills that an
    /// earlier index lists and this one does not. Other files are not touched.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn write(&self, directory: &Path) -> Result<(), InstallError> {
        let top = directory.join(DIRECTORY);
        let earlier = earlier_files(&top);
        for (path, content) in &self.files {
            write_file(&top.join(path), content)?;
        }
        let index = Index {
            schema: INDEX_SCHEMA.to_owned(),
            skills: self.entries.values().cloned().collect(),
        };
        let path = top.join(INDEX);
        let text = serde_json::to_string_pretty(&index)
            .map_err(|error| InstallError::io("write", &path, error.into()))?;
        write_file(&path, format!("{text}\n").as_bytes())?;
        for path in earlier
            .iter()
            .filter(|path| !self.files.contains_key(path.as_str()))
        {
            remove_file(&top, path)?;
        }
        Ok(())
    }
}

/// A file of a skill.
enum SiteFile {
    Content { bytes: Vec<u8>, is_executable: bool },
    Link(PathBuf),
}

/// Returns all files that the content digest covers, sorted by path.
fn read_files(skill: &SkillFiles) -> io::Result<Vec<(String, SiteFile)>> {
    // Fails for what no digest covers, such as a device.
    skill
        .digest(&mut DigestCache::default())
        .map_err(io::Error::other)?;
    let mut files = Vec::new();
    read_directory(skill.directory(), Path::new(""), &mut files)?;
    // Readers know it by this spelling only.
    for (path, _) in files
        .iter_mut()
        .filter(|(path, _)| path == skill.file_name())
    {
        SKILL_FILE.clone_into(path);
    }
    files.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(files)
}

fn read_directory(
    directory: &Dir,
    below: &Path,
    files: &mut Vec<(String, SiteFile)>,
) -> io::Result<()> {
    for entry in directory.entries()? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        let file_type = entry.file_type()?;
        if is_generated(below, &entry.file_name(), file_type) {
            continue;
        }
        if file_type.is_dir() {
            read_directory(&entry.open_dir()?, &path, files)?;
            continue;
        }
        let text = path.to_str().ok_or_else(|| {
            io::Error::other(format!("the name of `{}` is not UTF-8", path.display()))
        })?;
        let name = TreePath::new(&text.replace('\\', "/"))
            .map_err(|problem| io::Error::other(format!("`{}`: {problem}", path.display())))?;
        let file = if file_type.is_symlink() {
            let target = directory.read_link_contents(entry.file_name())?;
            if !target
                .to_str()
                .is_some_and(|text| stays_inside(&name, text))
            {
                let problem = format!("`{name}` is a symlink that readers of an archive refuse");
                return Err(io::Error::other(problem));
            }
            SiteFile::Link(target)
        } else {
            let mut file = entry.open()?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            SiteFile::Content {
                bytes,
                is_executable: is_executable(&file.metadata()?),
            }
        };
        files.push((name.as_str().to_owned(), file));
    }
    Ok(())
}

fn write_archive(files: &[(String, SiteFile)]) -> io::Result<Vec<u8>> {
    let gzip = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::best());
    let mut archive = tar::Builder::new(gzip);
    for (path, file) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mtime(0);
        match file {
            SiteFile::Content {
                bytes,
                is_executable,
            } => {
                header.set_mode(if *is_executable { 0o755 } else { 0o644 });
                header.set_size(bytes.len() as u64);
                archive.append_data(&mut header, path, bytes.as_slice())?;
            }
            SiteFile::Link(target) => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_mode(0o777);
                header.set_size(0);
                archive.append_link(&mut header, path, target)?;
            }
        }
    }
    archive.into_inner()?.finish()
}

/// Returns the files that the index of an earlier call lists, as paths below the directory.
#[expect(
    clippy::disallowed_methods,
    reason = "the directory of a site is not one of a skill"
)]
fn earlier_files(top: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(top.join(INDEX)).unwrap_or_default();
    let Ok(index) = serde_json::from_str::<Index>(&text) else {
        return Vec::new();
    };
    let prefix = format!("/{DIRECTORY}/");
    let urls = index
        .skills
        .iter()
        .map(|entry| entry.url.strip_prefix(&prefix));
    urls.flatten()
        // The index may have been written by another program.
        .filter_map(|path| Some(TreePath::new(path).ok()?.as_str().to_owned()))
        .collect()
}

/// Writes a file for a web server, which is another user, and never sends a part of it.
fn write_file(path: &Path, content: &[u8]) -> Result<(), InstallError> {
    std::fs::create_dir_all(path.parent().unwrap_or(path))
        .and_then(|()| replace_file(path, content, FileMode::Public))
        .map_err(|error| InstallError::io("write", path, error))
}

/// Removes a file, and its directory if that is empty then.
fn remove_file(top: &Path, below: &str) -> Result<(), InstallError> {
    let path = top.join(below);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(InstallError::io("remove", &path, error));
        }
        _ => {}
    }
    if let Some(parent) = path.parent().filter(|parent| *parent != top) {
        // Another file is in it.
        let _ = std::fs::remove_dir(parent);
    }
    Ok(())
}
