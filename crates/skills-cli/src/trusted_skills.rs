//! The file with the skills of projects that the user trusts by their content.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use skills_runtime::PrivateFile;
use skills_runtime::discovery::TrustedSkill;

use crate::process_environment::Environment;
use crate::state;

/// The skills of the project of the working directory that its user trusts by their content, although
/// the project is not trusted.
#[derive(Debug, Clone)]
pub(crate) struct TrustedSkillStore {
    file: PrivateFile,
    /// The canonical path of the project.
    project: PathBuf,
}

/// The skills by the path of their project: a project cannot use those of another one by a symlink.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Projects(BTreeMap<PathBuf, Vec<StoredSkill>>);

/// A skill. A field of a later version can be a condition, so this one rejects it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSkill {
    directory: PathBuf,
    digest: String,
    executables: Vec<String>,
}

impl TrustedSkillStore {
    /// Returns the store of the project of the working directory. `None` if there is no project, or no
    /// state directory.
    pub(crate) fn new(environment: &Environment) -> Option<Self> {
        let project = environment.project_root()?.canonicalize().ok()?;
        let file = PrivateFile::new(state::trusted_skills_path(environment)?);
        Some(Self { file, project })
    }

    /// Returns the canonical path of the project.
    pub(crate) fn project(&self) -> &PathBuf {
        &self.project
    }

    /// Returns the skills of the project.
    ///
    /// # Errors
    /// Fails if the file cannot be read or parsed, or if other users can change it.
    pub(crate) fn read(&self) -> io::Result<Vec<TrustedSkill>> {
        let skills = read_all(&self.file)?.0.remove(&self.project);
        skills
            .into_iter()
            .flatten()
            .map(StoredSkill::parse)
            .collect()
    }

    /// Adds skills of the project, in place of those of the same directories. Removes those with directories
    /// that do not exist any more.
    ///
    /// # Errors
    /// As [`read`](Self::read), and if the file cannot be written.
    pub(crate) fn add(&self, skills: &[TrustedSkill]) -> io::Result<()> {
        self.change(|projects| {
            let stored = projects.0.entry(self.project.clone()).or_default();
            stored.retain(|known| {
                let is_replaced = skills
                    .iter()
                    .any(|skill| skill.directory() == known.directory);
                !is_replaced && known.directory.is_dir()
            });
            stored.extend(skills.iter().map(StoredSkill::new));
        })
    }

    /// Removes all skills of the project.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub(crate) fn clear(&self) -> io::Result<()> {
        if read_all(&self.file)?.0.contains_key(&self.project) {
            self.change(|projects| {
                projects.0.remove(&self.project);
            })?;
        }
        Ok(())
    }

    fn change(&self, change: impl FnOnce(&mut Projects)) -> io::Result<()> {
        let _lock = self.file.lock()?;
        let mut projects = read_all(&self.file)?;
        change(&mut projects);
        self.file.replace(&serde_json::to_string_pretty(&projects)?)
    }
}

/// Returns the skills of all projects, ordered by project.
///
/// # Errors
/// As [`TrustedSkillStore::read`].
pub(crate) fn skills_of_all_projects(environment: &Environment) -> io::Result<Vec<TrustedSkill>> {
    let Some(path) = state::trusted_skills_path(environment) else {
        return Ok(Vec::new());
    };
    let projects = read_all(&PrivateFile::new(path))?;
    let skills = projects.0.into_values().flatten();
    skills.map(StoredSkill::parse).collect()
}

fn read_all(file: &PrivateFile) -> io::Result<Projects> {
    match file.read()? {
        Some(text) => Ok(serde_json::from_str(&text)?),
        None => Ok(Projects::default()),
    }
}

impl StoredSkill {
    fn new(skill: &TrustedSkill) -> Self {
        Self {
            directory: skill.directory().to_owned(),
            digest: skill.digest().to_string(),
            executables: skill.executables().to_vec(),
        }
    }

    fn parse(self) -> io::Result<TrustedSkill> {
        let digest = self.digest.parse();
        let digest = digest.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(TrustedSkill::new(self.directory, digest, self.executables))
    }
}
