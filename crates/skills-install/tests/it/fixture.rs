//! Skills, sources and a directory of installed skills, in a temporary directory.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use skills_install::{
    Action, Fetcher, GitOptions, InstallError, LocalEdits, Plan, SourceSpec, Store, Verification,
};
use tempfile::TempDir;

pub(crate) struct Fixture(TempDir);

impl Fixture {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(below)
    }

    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn skill(&self, directory: &str, extra: &str) -> &Self {
        self.file(
            &format!("{directory}/SKILL.md"),
            skill_text(directory, extra),
        )
    }

    pub(crate) fn executable(&self, path: &str, content: &str) -> &Self {
        use std::os::unix::fs::PermissionsExt;
        self.file(path, content);
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    pub(crate) fn symlink(&self, target: impl AsRef<Path>, link: &str) -> &Self {
        std::os::unix::fs::symlink(target, self.path(link)).unwrap();
        self
    }

    pub(crate) fn fifo(&self, path: &str) -> &Self {
        nix::unistd::mkfifo(&self.path(path), nix::sys::stat::Mode::S_IRWXU).unwrap();
        self
    }

    pub(crate) fn store(&self) -> Store {
        Store::open(&self.path("skills")).unwrap()
    }

    /// Returns a source below the directory.
    pub(crate) fn spec(&self, text: &str) -> SourceSpec {
        let spec: SourceSpec = text.parse().unwrap();
        spec.resolved_at(&self.path(""))
    }

    pub(crate) fn plan(&self, source: &str) -> Result<(Store, Plan), InstallError> {
        self.plan_with(source, &[], LocalEdits::Refuse)
    }

    pub(crate) fn plan_with(
        &self,
        source: &str,
        names: &[&str],
        edits: LocalEdits,
    ) -> Result<(Store, Plan), InstallError> {
        let mut store = self.store();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let plan = store.plan_add(&fetcher(), &self.spec(source), &names, edits, &words)?;
        Ok((store, plan))
    }

    /// Installs all skills of a source, and returns the name and action of each.
    pub(crate) fn add(&self, source: &str) -> Result<Vec<(String, Action)>, InstallError> {
        let (mut store, plan) = self.plan(source)?;
        let actions = plan
            .changes()
            .iter()
            .map(|change| (change.name().to_owned(), change.action()))
            .collect();
        store.apply(plan)?;
        Ok(actions)
    }

    /// Installs all skills of a source with a fetcher.
    pub(crate) fn add_with(&self, fetcher: &Fetcher, source: &str) -> Result<(), InstallError> {
        let mut store = self.store();
        let spec = self.spec(source);
        let plan = store.plan_add(fetcher, &spec, &[], LocalEdits::Refuse, &words)?;
        store.apply(plan)
    }

    /// Returns the name and state of each installed skill. A store that installed nothing has left no
    /// directory.
    pub(crate) fn states(&self) -> Vec<String> {
        if !self.path("skills").exists() {
            return Vec::new();
        }
        let verification = Verification::new(&self.path("skills")).unwrap();
        let states = verification.skills().iter();
        states
            .map(|(name, state)| format!("{name} {}", state.code()))
            .collect()
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Writes a tar.gz of entries of any kind.
    pub(crate) fn tar_gz(&self, path: &str, entries: &[TarEntry<'_>]) -> &Self {
        let file = fs::File::create(self.path(path)).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        for entry in entries {
            entry.write(&mut gzip);
        }
        gzip.write_all(&[0; 1_024]).unwrap();
        gzip.finish().unwrap();
        self
    }
}

/// An entry of a tar, written without the checks of the library.
#[derive(Clone, Copy)]
pub(crate) struct TarEntry<'a> {
    pub(crate) path: &'a [u8],
    pub(crate) kind: tar::EntryType,
    pub(crate) link: &'a str,
    pub(crate) content: &'a [u8],
    pub(crate) mode: u32,
}

impl<'a> TarEntry<'a> {
    pub(crate) fn file(path: &'a str, content: &'a str) -> Self {
        Self {
            path: path.as_bytes(),
            kind: tar::EntryType::Regular,
            link: "",
            content: content.as_bytes(),
            mode: 0o644,
        }
    }

    pub(crate) fn of_kind(path: &'a str, kind: tar::EntryType, link: &'a str) -> Self {
        Self {
            kind,
            link,
            ..Self::file(path, "")
        }
    }

    fn write(&self, out: &mut impl Write) {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..self.path.len()].copy_from_slice(self.path);
        header.as_old_mut().linkname[..self.link.len()].copy_from_slice(self.link.as_bytes());
        header.set_entry_type(self.kind);
        header.set_size(self.content.len() as u64);
        header.set_mode(self.mode);
        header.set_cksum();
        out.write_all(header.as_bytes()).unwrap();
        out.write_all(self.content).unwrap();
        let padding = self.content.len().next_multiple_of(512) - self.content.len();
        out.write_all(&vec![0; padding]).unwrap();
    }
}

/// Returns the text of a skill whose name is the last name of its directory.
pub(crate) fn skill_text(directory: &str, extra: &str) -> String {
    let name = directory.rsplit('/').next().unwrap();
    format!("---\nname: {name}\ndescription: About {name}.\n{extra}---\n# {name}\n\nBody.\n")
}

/// The user's git, or the reason why there is none.
pub(crate) fn git_program() -> Result<PathBuf, String> {
    skills_test_support::host::program("git")
}

pub(crate) fn fetcher() -> Fetcher {
    let git = git_program().unwrap_or_else(|_| "git".into());
    Fetcher::new(GitOptions::new(git))
}

/// A short form of what a policy does.
pub(crate) fn words(tool: &str, pattern: Option<&str>) -> Option<String> {
    match (tool, pattern) {
        ("Bash", Some(pattern)) => Some(format!("spawn:{}", pattern.split(':').next()?)),
        ("Bash", None) => Some("spawn:*".to_owned()),
        ("WebFetch", Some(pattern)) => {
            Some(format!("network:{}", pattern.strip_prefix("domain:")?))
        }
        _ => None,
    }
}
