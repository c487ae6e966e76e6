//! A live MCP server with the Skills extension, as a source of a scan.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use skills_discovery::{
    ListedFile, ListedSkill, ReceiveFile, SKILL_FILE, SkillSource, SourceFailure, SourceKind,
    SourceListing,
};
use skills_manifest::MAX_FILE_BYTES;
use skills_threads::lock;
use url::Url;

use super::entry::{Entry, Resource};
use super::{Entries, McpKind, McpServer};
use crate::error::{InstallError, Repr};
use crate::fetch_options::FetchOptions;
use crate::source::SourceKind as _;
use crate::web::Client;
use crate::{SourceSpec, TreePath};

/// The file that can forbid that a model activates a skill by itself.
const OPENAI_FILE: &str = "agents/openai.yaml";
/// Maximum number of skills: each is listed by a request of its own.
const MAX_SKILLS: usize = 1_000;
/// Maximum size of a listing with the `SKILL.md` of each skill, which are kept in memory.
const MAX_LISTING_BYTES: u64 = 64 << 20;
/// Maximum time of a listing, and of reading one skill. Callers wait for both.
const MAX_TIME: Duration = Duration::from_secs(30);
/// How long a listing is used before the server is asked again, by default.
const REFRESH_AFTER: Duration = Duration::from_secs(300);

/// The skills of an MCP server with the Skills extension, read when they are used.
///
/// [`Fetcher::live_source`](crate::Fetcher::live_source) creates one. A listing reads the `SKILL.md`
/// of each skill, of at most 1,000 skills, within 30 seconds or the timeout of the fetcher; a skill
/// is read as a whole when it is first opened, within the same time, also during a listing. Scans
/// use a listing, or that there was none, for five minutes. The digests of a listing and the files
/// come from the same server, so they show only that both belong together: a skill is trusted once
/// the user has agreed to its content digest
/// ([`SourceRoot::lock_directory`](skills_discovery::SourceRoot::lock_directory)).
pub struct LiveSource {
    name: String,
    spec: SourceSpec,
    options: FetchOptions,
    refresh_after: Duration,
    created: Instant,
    latest: Mutex<Latest>,
    /// What the server listed last. Not part of `latest`, which is locked while the server is asked:
    /// an open does not wait for a listing.
    entries: Mutex<Arc<Entries>>,
}

type Skills = BTreeMap<TreePath, Result<ListedSkill, String>>;

/// The last listing.
struct Latest {
    /// The revision in which it began.
    revision: Option<u64>,
    /// The skills, and why others are not valid, or why the server could not be asked.
    skills: Result<Skills, String>,
}

impl fmt::Debug for LiveSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("LiveSource");
        text.field("name", &self.name).finish_non_exhaustive()
    }
}

impl LiveSource {
    /// Creates the source of a server. Nothing is requested yet.
    pub(crate) fn new(spec: SourceSpec, mut options: FetchOptions) -> Result<Self, InstallError> {
        if spec.kind() != McpKind.name() {
            let cause = "only an MCP server has skills that are not installed";
            return Err(InstallError::fetch(&spec.to_string(), cause));
        }
        // The address is part of what a model sees, and a query can be a secret.
        if spec.location().address().contains('?') {
            let cause = "the address of a live server cannot have a query";
            return Err(InstallError::fetch(&spec.identity(), cause));
        }
        if options.signatures.is_required {
            return Err(Repr::LiveUnsigned.into());
        }
        options.limits.timeout = options.limits.timeout.min(MAX_TIME);
        Ok(Self {
            name: format!("{}/", spec.clone().with_path(TreePath::root())),
            spec,
            options,
            refresh_after: REFRESH_AFTER,
            created: Instant::now(),
            latest: Mutex::new(Latest {
                revision: None,
                skills: Ok(Skills::new()),
            }),
            entries: Mutex::default(),
        })
    }

    /// Sets how long a listing is used before the server is asked again. Default: five minutes.
    #[must_use]
    pub fn refresh_after(mut self, interval: Duration) -> Self {
        self.refresh_after = interval;
        self
    }

    /// Asks the server for its skills.
    fn ask(&self, latest: &mut Latest) -> Result<Skills, InstallError> {
        let (client, url) = self.client(MAX_LISTING_BYTES)?;
        let server = McpServer::open(client, &url, &self.options.limits)?;
        let earlier = std::mem::replace(&mut latest.skills, Ok(Skills::new()));
        let earlier = earlier.unwrap_or_default();
        let wanted = server.entries.iter();
        let wanted = wanted.filter(|(path, _)| path.strip_prefix(self.spec.path()).is_some());
        let mut skills = Skills::new();
        for (path, entry) in wanted {
            if skills.len() == MAX_SKILLS {
                return Err(InstallError::limit("skills", MAX_SKILLS as u64));
            }
            let earlier = earlier.get(path).and_then(|skill| skill.as_ref().ok());
            let listed = match entry {
                Ok(entry) => read_skill(&server, entry, earlier).map_err(|error| error.to_string()),
                Err(problem) => Err(problem.to_string()),
            };
            skills.insert(path.clone(), listed);
        }
        *lock(&self.entries) = server.entries;
        Ok(skills)
    }

    /// Returns a client that receives at most `max_bytes` bytes.
    fn client(&self, max_bytes: u64) -> Result<(Client, Url), InstallError> {
        let mut options = self.options.clone();
        let limit = &mut options.limits.max_archive_bytes;
        *limit = max_bytes.min(*limit);
        options.client(&self.spec.location().address())
    }
}

/// Reads what a listing needs of a skill, unless an earlier listing had the same files.
fn read_skill(
    server: &McpServer,
    entry: &Entry,
    earlier: Option<&ListedSkill>,
) -> Result<ListedSkill, SourceFailure> {
    let is_listed = |file: &ListedFile| {
        let resource = entry.files.get(file.path());
        resource.is_some_and(|resource| *file == listed_file(file.path(), resource))
    };
    let is_same = |skill: &&ListedSkill| {
        skill.files().len() == entry.files.len() && skill.files().iter().all(is_listed)
    };
    if let Some(skill) = earlier.filter(is_same) {
        return Ok(skill.clone());
    }
    let files = entry.files.iter();
    let files = files.map(|(path, resource)| listed_file(path, resource));
    let read = |name: &str| {
        let mut resources = entry.files.iter();
        let found = resources.find(|(path, _)| path.as_str() == name);
        if found.is_some_and(|(_, resource)| resource.size > MAX_FILE_BYTES) {
            let what = "bytes in a `SKILL.md`";
            return Err(InstallError::limit(what, MAX_FILE_BYTES));
        }
        found
            .map(|(path, _)| server.read_file(entry, path))
            .transpose()
    };
    let skill_file = read(SKILL_FILE)?.unwrap_or_default();
    let openai_file = read(OPENAI_FILE)?;
    let directory = entry.directory.clone();
    Ok(ListedSkill::new(
        directory,
        files.collect(),
        skill_file,
        openai_file,
    )?)
}

fn listed_file(path: &TreePath, resource: &Resource) -> ListedFile {
    ListedFile::new(path.clone(), resource.size, resource.digest.to_bytes())
}

impl SkillSource for LiveSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> SourceKind {
        SourceKind::Live
    }

    fn list(&self) -> Result<SourceListing, SourceFailure> {
        let arrived = self.revision();
        // Held while the server is asked, so that concurrent callers ask once.
        let mut latest = lock(&self.latest);
        // One that began while this caller waited is as new as its own would be.
        if latest.revision < Some(arrived) {
            let began = self.revision();
            latest.skills = self.ask(&mut latest).map_err(|error| error.to_string());
            latest.revision = Some(began);
        }
        let skills = latest.skills.clone()?.into_iter();
        let listed = skills.map(|(path, skill)| skill.map_err(|problem| (path, problem.into())));
        Ok(listed.collect())
    }

    fn open(
        &self,
        skill: &ListedSkill,
        receive: &mut ReceiveFile<'_>,
    ) -> Result<(), SourceFailure> {
        let entries = Arc::clone(&lock(&self.entries));
        let (client, url) = self.client(u64::MAX)?;
        let server = McpServer::with_entries(client, &url, entries);
        let entry = server.entries.get(skill.path());
        let Some(Ok(entry)) = entry else {
            return Err("the server does not list the skill any more".into());
        };
        for file in skill.files() {
            let content = server.read_file(entry, file.path())?;
            receive(file.path(), &content)?;
        }
        Ok(())
    }

    fn revision(&self) -> u64 {
        let periods = self.created.elapsed().as_nanos() / self.refresh_after.as_nanos().max(1);
        u64::try_from(periods).unwrap_or(u64::MAX)
    }
}
