//! The store of environments.
//!
//! ```text
//! STORE/KEY            a symlink to its build, published by a rename
//! STORE/builds/KEY-…   an environment: files, and `environment.json` with its plan
//! STORE/plans/KEY.json the plan, kept when the environment is collected
//! STORE/locks/KEY      locked by the process that installs it
//! STORE/cache          of the package managers
//! ```

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};
use skills_store::PrivateDir;
use tempfile::TempDir;

use crate::environment::{Environment, RECORD_FILE};
use crate::error::SetupError;
use crate::files::{
    cannot, create_dir, is_same_file, list, open, open_lock, read_bounded, remove, size_of,
    write_file,
};
use crate::installed::InstalledPython;
use crate::key::EnvironmentKey;
use crate::plan::Plan;
use crate::setup::{SetupContext, SetupPhase};
use skills_packages::Project;

const BUILDS: &str = "builds";
const PLANS: &str = "plans";
/// What interpreters of images have.
const IMAGES: &str = "images";
const LOCKS: &str = "locks";
const CACHE: &str = "cache";
const WORK: &str = "work";
const WORK_PREFIX: &str = "work-";
/// How often the use of an environment is recorded.
const USE_INTERVAL: Duration = Duration::from_secs(3_600);
/// How often a process that waits for another one tries again.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

/// A directory with environments of this user, each installed once and never changed.
///
/// Any number of processes can use it. A process that is killed leaves nothing that another one
/// would use: an environment exists when its symlink does.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
}

/// An environment in a store.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoredEnvironment {
    /// Its key.
    pub key: EnvironmentKey,
    /// What it contains.
    pub plan: Plan,
    /// The size of its files, in bytes.
    pub bytes: u64,
    /// When it was last used, to the hour.
    pub last_used: SystemTime,
}

/// What a collection removed.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CollectedEnvironments {
    /// The removed environments.
    pub removed: Vec<StoredEnvironment>,
    /// The number of environments that remain.
    pub kept: usize,
    /// The number of interrupted setups that were removed.
    pub interrupted: usize,
    /// The environments that are too old or too large, and in use.
    pub in_use: usize,
}

impl Store {
    /// Uses the store in an absolute directory without symlinks, which is created when it is first
    /// needed.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// Returns the directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns an installed environment, and records that it is used; `None` if there is none.
    #[must_use]
    pub fn get(&self, key: &EnvironmentKey) -> Option<Environment> {
        let target = fs::read_link(self.directory.join(key.as_str())).ok()?;
        let directory = self.directory.join(target);
        let record = open(&directory.join(RECORD_FILE)).ok()?;
        Self::use_environment(directory, record)
    }

    /// Locks the record of an environment; `None` if it was removed after the record was opened.
    fn use_environment(directory: PathBuf, mut record: File) -> Option<Environment> {
        // Held while it is used, so that it is not collected.
        record.lock_shared().ok()?;
        if !is_same_file(&record, &directory.join(RECORD_FILE)) {
            return None;
        }
        let mut text = String::new();
        record.read_to_string(&mut text).ok()?;
        let plan: Plan = serde_json::from_str(&text).ok()?;
        record_use(&record);
        Some(Environment {
            directory,
            plan,
            _in_use: Arc::new(record),
        })
    }

    /// Returns the plan that was made for a key, if there is one. It stays valid when its
    /// environment is collected, so that the same files are installed again.
    #[must_use]
    pub fn stored_plan(&self, key: &EnvironmentKey) -> Option<Plan> {
        let text = read_bounded(&self.plan_path(key))?;
        serde_json::from_str(&text).ok()
    }

    /// Returns the stored plan, or asks the index for the newest versions that the project allows,
    /// and stores them. Nothing is installed. The index is asked for origins that a stored plan does not
    /// have; without an answer they are unknown.
    ///
    /// # Errors
    /// Fails if the project cannot be installed, or if there is no stored plan and the index cannot be
    /// reached.
    pub async fn plan(
        &self,
        project: &Project,
        key: &EnvironmentKey,
        context: &SetupContext,
    ) -> Result<Plan, SetupError> {
        let stored = self.stored_plan(key);
        if let Some(plan) = stored.as_ref()
            && plan.has_origins(&context.described)
        {
            return Ok(plan.clone());
        }
        let _end = context.report_end();
        let work = self.work_dir()?;
        let cache = self.cache(context)?;
        let (work, cache) = (work.path(), cache.path());
        let plan = match stored {
            Some(mut plan) => {
                if context.describe(&mut plan, work, cache).await.is_err() {
                    return Ok(plan);
                }
                plan
            }
            None => context.plan(project, work, cache).await?,
        };
        create_dir(&self.directory.join(PLANS))?;
        let text = serde_json::to_string_pretty(&plan)
            .map_err(|error| SetupError::store(error.to_string()))?;
        write_file(&self.plan_path(key), &text)?;
        Ok(plan)
    }

    /// Returns the packages that the interpreter of an image has, if it was
    /// [asked](Self::ask_image) before.
    #[must_use]
    pub fn python_of_image(&self, image: &str) -> Option<InstalledPython> {
        let text = read_bounded(&self.image_path(image))?;
        Some(InstalledPython::of_report(
            serde_json::from_str(&text).ok()?,
        ))
    }

    /// Asks the interpreter of an image, in which the sandbox runs programs, for the packages that it
    /// has, and stores them: an image with the same digest has the same packages. Nothing of a skill
    /// runs.
    ///
    /// # Errors
    /// Fails if the interpreter cannot be started.
    pub async fn ask_image(&self, image: &str, context: &SetupContext) -> Result<(), SetupError> {
        let work = self.work_dir()?;
        let cache = self.cache(context)?;
        let report = context.list_python(work.path(), cache.path()).await?;
        create_dir(&self.directory.join(IMAGES))?;
        let text =
            serde_json::to_string(&report).map_err(|error| SetupError::store(error.to_string()))?;
        write_file(&self.image_path(image), &text)
    }

    fn image_path(&self, image: &str) -> PathBuf {
        let digest = hex::encode(Sha256::digest(image));
        self.directory.join(IMAGES).join(format!("{digest}.json"))
    }

    /// Removes the stored plan, so that the next one has the newest versions.
    ///
    /// # Errors
    /// Fails if it cannot be removed.
    pub fn forget_plan(&self, key: &EnvironmentKey) -> Result<(), SetupError> {
        match fs::remove_file(self.plan_path(key)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(cannot("remove", &self.plan_path(key), &error))
            }
            _ => Ok(()),
        }
    }

    /// Installs a plan, unless the environment exists. One process installs it, others wait.
    /// Dropping the future stops the setup, and leaves nothing that is used.
    ///
    /// # Errors
    /// Fails if the packages cannot be installed; then there is no environment.
    pub async fn install(
        &self,
        project: &Project,
        key: &EnvironmentKey,
        plan: &Plan,
        context: &SetupContext,
    ) -> Result<Environment, SetupError> {
        let _end = context.report_end();
        let _lock = self.lock(key, context).await?;
        if let Some(environment) = self.get(key) {
            return Ok(environment);
        }
        self.remove_interrupted(key);
        let build = self.build_dir(key)?;
        let cache = self.cache(context)?;
        context
            .install(project, plan, build.path(), cache.path())
            .await?;
        let record = serde_json::to_string_pretty(plan)
            .map_err(|error| SetupError::store(error.to_string()))?;
        write_file(&build.path().join(RECORD_FILE), &record)?;
        self.publish(key, build)?;
        self.get(key)
            .ok_or_else(|| SetupError::store("the new environment cannot be read"))
    }

    /// Makes a finished build the environment of a key.
    fn publish(&self, key: &EnvironmentKey, build: TempDir) -> Result<(), SetupError> {
        let name = build.path().file_name().unwrap_or_default();
        let link = self.directory.join(BUILDS).join(format!("{key}.link"));
        let _ = fs::remove_file(&link);
        let target = Path::new(BUILDS).join(name);
        let published = self.directory.join(key.as_str());
        symlink(target, &link)
            .and_then(|()| fs::rename(&link, &published))
            .map_err(|error| cannot("publish", &published, &error))?;
        let _ = build.keep();
        Ok(())
    }

    /// Removes builds of a key that no symlink names. The key is locked.
    fn remove_interrupted(&self, key: &EnvironmentKey) -> usize {
        let published = fs::read_link(self.directory.join(key.as_str())).ok();
        let published = published.as_deref().and_then(Path::file_name);
        let is_interrupted = |name: &str| {
            name.starts_with(key.as_str()) && published.is_none_or(|published| published != name)
        };
        let names = list(&self.directory.join(BUILDS));
        let interrupted: Vec<&String> = names.iter().filter(|name| is_interrupted(name)).collect();
        interrupted
            .iter()
            .for_each(|name| remove(&self.directory.join(BUILDS).join(name)));
        interrupted.len()
    }

    /// Returns all environments, sorted by key.
    #[must_use]
    pub fn list(&self) -> Vec<StoredEnvironment> {
        let keys = list(&self.directory);
        let keys = keys.iter().filter_map(|name| EnvironmentKey::parse(name));
        keys.filter_map(|key| self.describe(key)).collect()
    }

    fn describe(&self, key: EnvironmentKey) -> Option<StoredEnvironment> {
        let directory = self
            .directory
            .join(fs::read_link(self.directory.join(key.as_str())).ok()?);
        let record = directory.join(RECORD_FILE);
        let plan = serde_json::from_str(&read_bounded(&record)?).ok()?;
        Some(StoredEnvironment {
            key,
            plan,
            bytes: size_of(&directory),
            last_used: fs::metadata(&record).ok()?.modified().ok()?,
        })
    }

    /// Removes environments that were not used since `oldest`, and then the least recently used ones
    /// until the others have at most `max_bytes`, and interrupted setups. Those in use stay. Plans
    /// stay, too.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    pub fn collect(
        &self,
        oldest: SystemTime,
        max_bytes: u64,
    ) -> Result<CollectedEnvironments, SetupError> {
        let mut environments = self.list();
        environments.sort_by_key(|environment| std::cmp::Reverse(environment.last_used));
        let mut collected = CollectedEnvironments::default();
        let mut total: u64 = 0;
        for environment in environments {
            total = total.saturating_add(environment.bytes);
            if environment.last_used >= oldest && total <= max_bytes {
                collected.kept += 1;
            } else if self.remove_unused(&environment.key)? {
                total = total.saturating_sub(environment.bytes);
                collected.removed.push(environment);
            } else {
                collected.in_use += 1;
            }
        }
        collected.interrupted = self.collect_interrupted()?;
        Ok(collected)
    }

    /// Removes an environment; returns false if it is in use.
    ///
    /// # Errors
    /// Fails if it cannot be removed.
    pub fn remove_unused(&self, key: &EnvironmentKey) -> Result<bool, SetupError> {
        let Some(_lock) = self.try_lock(key)? else {
            return Ok(false);
        };
        let link = self.directory.join(key.as_str());
        let Ok(target) = fs::read_link(&link) else {
            return Ok(true);
        };
        let directory = self.directory.join(target);
        // A run that has it holds a shared lock of its record.
        if let Ok(record) = open(&directory.join(RECORD_FILE))
            && record.try_lock().is_err()
        {
            return Ok(false);
        }
        fs::remove_file(&link).map_err(|error| cannot("remove", &link, &error))?;
        remove(&directory);
        Ok(true)
    }

    /// Removes builds and work directories of processes that were killed.
    fn collect_interrupted(&self) -> Result<usize, SetupError> {
        let builds = list(&self.directory.join(BUILDS));
        let keys: std::collections::BTreeSet<EnvironmentKey> = builds
            .iter()
            .filter_map(|name| EnvironmentKey::parse(name.get(..32)?))
            .collect();
        let mut removed = 0;
        for key in keys {
            if self.try_lock(&key)?.is_some() {
                removed += self.remove_interrupted(&key);
            }
        }
        let work = self.directory.join(WORK);
        // There is none before the first setup.
        removed += PrivateDir::sweep_now(&work, WORK_PREFIX).unwrap_or_default();
        Ok(removed)
    }

    /// Creates a directory for one step of a setup.
    fn work_dir(&self) -> Result<PrivateDir, SetupError> {
        let parent = self.directory.join(WORK);
        create_dir(&parent)?;
        PrivateDir::create(&parent, WORK_PREFIX).map_err(|error| cannot("create", &parent, &error))
    }

    /// Creates a directory for the build of a key. The caller holds the lock of the key, so that no
    /// collection removes the directory.
    fn build_dir(&self, key: &EnvironmentKey) -> Result<TempDir, SetupError> {
        let parent = self.directory.join(BUILDS);
        create_dir(&parent)?;
        let prefix = format!("{key}-");
        let created = tempfile::Builder::new()
            .prefix(&prefix)
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(&parent);
        created.map_err(|error| cannot("create", &parent, &error))
    }

    /// Returns the cache of the package managers. Code that builds a package could change files in
    /// it, so that such a setup gets one of its own.
    fn cache(&self, context: &SetupContext) -> Result<CacheDir, SetupError> {
        if context.allows_builds {
            return Ok(CacheDir::Private(self.work_dir()?));
        }
        let directory = self.directory.join(CACHE);
        create_dir(&directory)?;
        Ok(CacheDir::Shared(directory))
    }

    /// Waits until no other process installs an environment.
    async fn lock(&self, key: &EnvironmentKey, context: &SetupContext) -> Result<File, SetupError> {
        let mut is_first = true;
        loop {
            if let Some(lock) = self.try_lock(key)? {
                return Ok(lock);
            }
            if std::mem::take(&mut is_first) {
                context.report(SetupPhase::Waiting);
            }
            tokio::time::sleep(LOCK_INTERVAL).await;
        }
    }

    fn try_lock(&self, key: &EnvironmentKey) -> Result<Option<File>, SetupError> {
        let directory = self.directory.join(LOCKS);
        create_dir(&directory)?;
        let path = directory.join(key.as_str());
        let file = open_lock(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(cannot("lock", &path, &error)),
        }
    }

    fn plan_path(&self, key: &EnvironmentKey) -> PathBuf {
        self.directory.join(PLANS).join(format!("{key}.json"))
    }
}

enum CacheDir {
    Shared(PathBuf),
    Private(PrivateDir),
}

impl CacheDir {
    fn path(&self) -> &Path {
        match self {
            Self::Shared(path) => path,
            Self::Private(directory) => directory.path(),
        }
    }
}

fn record_use(record: &File) {
    let modified = record.metadata().and_then(|metadata| metadata.modified());
    let is_recent = modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age < USE_INTERVAL));
    if !is_recent {
        // An environment whose use is not recorded is collected earlier, and installed again.
        let _ = record.set_modified(SystemTime::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_removes_no_directory_of_a_running_setup() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path());
        assert_eq!(store.collect_interrupted().unwrap(), 0);
        let left = directory.path().join(WORK).join("work-aaaaaaaaaaaa.tmp");
        create_dir(&left).unwrap();
        assert_eq!(store.collect_interrupted().unwrap(), 1);
        assert!(!left.exists());
        let work = store.work_dir().unwrap();
        assert_eq!(store.collect_interrupted().unwrap(), 0);
        assert!(work.path().exists());
    }

    #[test]
    fn an_environment_that_is_removed_meanwhile_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path());
        let key = EnvironmentKey::parse(&"a".repeat(32)).unwrap();
        let build = store.build_dir(&key).unwrap();
        let record = serde_json::to_string(&Plan::empty()).unwrap();
        write_file(&build.path().join(RECORD_FILE), &record).unwrap();
        store.publish(&key, build).unwrap();
        let used = store.get(&key).unwrap();
        assert!(!store.remove_unused(&key).unwrap());
        let path = used.directory().to_owned();
        drop(used);
        let opened = open(&path.join(RECORD_FILE)).unwrap();
        assert!(store.remove_unused(&key).unwrap());
        assert!(Store::use_environment(path, opened).is_none());
    }
}
