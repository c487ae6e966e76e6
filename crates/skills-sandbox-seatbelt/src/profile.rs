//! The profile of one run.

mod exec_targets;
mod granted_programs;
mod protected;
mod system;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use skills_policy::{Access, FileGrant, Grants, NetworkGrant as Granted, SpawnGrant};

use self::granted_programs::{granted_programs, invoked_paths};
use self::protected::Protected;
use crate::error::{ProfileError, Repr};
use crate::executable_set::{Executable, ExecutableSet};
use crate::parameter::{Parameter, Parameters, ProfilePath};
use crate::rule::{Filter, Operation, Rule};

#[cfg(unix)]
pub(crate) use self::system::FILE_PREFIX;

/// The profile of one run: an ordered list of rules, of which the last match decides, and the paths
/// that they refer to.
///
/// Its text, for `sandbox-exec -f`, is written by [`Display`](fmt::Display). Paths of callers are
/// not in the text but in the [`parameters`](Self::parameters), so the text of a path cannot end a
/// string or start a rule.
///
/// The order is that of the OpenSkills flow: everything denied, kernel values, system files,
/// temporary directories, the skill, readable paths, writable paths, code directories. These are
/// followed by what interpreters need in addition, programs and network; and finally by the rules
/// that are denied regardless of grants.
///
/// ```
/// use skills_policy::{Authorization, Policy, Request};
/// use skills_sandbox_seatbelt::{ExecutableSet, Profile, ProfileInput, ProxyAccess};
///
/// let request = Request::new("/skills/pdf\"(allow default)");
/// let Authorization::Granted(grants) = Policy::default().authorize(&request) else {
///     panic!("granted by default")
/// };
/// let profile = Profile::new(&ProfileInput {
///     grants: &grants,
///     executables: &ExecutableSet::new("/usr/bin/python3"),
///     script: "/skills/pdf\"(allow default)/scripts/run.py".as_ref(),
///     scratch: "/private/var/scratch".as_ref(),
///     network: ProxyAccess::None,
///     keys: &[],
/// })?;
/// let text = profile.to_string();
/// assert!(text.starts_with("(version 1)\n(deny default)\n"));
/// assert!(!text.contains("(allow default)"), "paths are parameters");
/// assert!(!text.contains("network-outbound"));
/// # Ok::<(), skills_sandbox_seatbelt::ProfileError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    rules: Vec<Rule>,
    parameters: Vec<Parameter>,
}

/// The input of a profile. All paths are canonical: seatbelt compares the paths that the kernel
/// resolved.
#[derive(Debug, Clone)]
pub struct ProfileInput<'a> {
    /// The grants; the first of the files is the skill directory, which stays read-only regardless
    /// of the grants.
    pub grants: &'a Grants,
    /// The programs that the grants and the script need.
    pub executables: &'a ExecutableSet,
    /// The script.
    pub script: &'a Path,
    /// The scratch directory of the run.
    pub scratch: &'a Path,
    /// Access to the granted hosts.
    pub network: ProxyAccess,
    /// The existing paths in granted directories that may hold keys, which are not opened.
    pub keys: &'a [PathBuf],
}

/// Network access. SBPL cannot match host names, so hosts go through a local proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyAccess {
    /// No network access.
    None,
    /// TCP connections to this port of the host, where a proxy checks the granted hosts.
    LocalPort(u16),
}

impl Profile {
    /// Creates the profile.
    ///
    /// # Errors
    /// Fails if a path is not absolute and canonical, not UTF-8 or contains a control character; if
    /// hosts are granted without a proxy port, or the reverse; if the script is outside of the
    /// readable paths.
    pub fn new(input: &ProfileInput<'_>) -> Result<Self, ProfileError> {
        let ProfileInput {
            grants,
            executables,
            script,
            scratch,
            network,
            keys,
        } = input;
        let mut builder = ProfileBuilder::new(grants, scratch)?;
        let directory = granted_directory(grants, script)?;
        builder.rules.extend([
            Rule::Deny(vec![Operation::Default], Vec::new()),
            Rule::allow(&[Operation::SysctlRead], Vec::new()),
        ]);
        builder.rules.extend(system::library_rules());
        builder.rules.extend(system::temporary_rules());
        builder.add_files();
        let programs = granted_programs(grants.spawn(), executables);
        builder.add_code(executables.interpreter(), &programs, directory)?;
        builder.rules.extend(system::interpreter_rules());
        builder.add_ancestors(executables, grants.spawn(), &programs)?;
        builder.add_programs(grants.spawn(), executables, &programs)?;
        builder.add_network(grants.network(), *network)?;
        // In SBPL the last matching rule decides, so all denials follow all permissions.
        builder.rules.extend(system::hard_denials());
        builder.add_denials()?;
        builder.add_protected_paths(grants)?;
        builder.add_keys(grants, keys)?;
        Ok(Self {
            rules: builder.rules,
            parameters: builder.parameters.into_vec(),
        })
    }

    /// Returns the rules in order.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns the paths behind the names in the rules, in order of first use, without duplicates.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "(version 1)")?;
        self.rules.iter().try_for_each(|rule| writeln!(f, "{rule}"))
    }
}

/// A profile under construction.
struct ProfileBuilder<'a> {
    rules: Vec<Rule>,
    parameters: Parameters,
    root: NamedPath<'a>,
    reads: Vec<NamedPath<'a>>,
    writes: Vec<NamedPath<'a>>,
    /// The libraries and the code of interpreter and programs that are not part of the system.
    installed: Vec<NamedPath<'a>>,
    scratch: &'a Path,
    ancestors: BTreeMap<PathBuf, ProfilePath>,
}

/// A path with its name in the profile.
struct NamedPath<'a> {
    path: &'a Path,
    profile_path: ProfilePath,
}

impl<'a> NamedPath<'a> {
    /// Adds a path to the parameters, with the next number of a kind.
    fn numbered(
        parameters: &mut Parameters,
        kind: &'static str,
        path: &'a Path,
    ) -> Result<Self, ProfileError> {
        Ok(Self {
            path,
            profile_path: parameters.add_numbered(kind, path)?,
        })
    }

    /// Adds a path to the parameters, with a name of its own.
    fn unique(
        parameters: &mut Parameters,
        name: &'static str,
        path: &'a Path,
    ) -> Result<Self, ProfileError> {
        Ok(Self {
            path,
            profile_path: parameters.add_unique(name, path)?,
        })
    }

    fn subpath(&self) -> Filter {
        Filter::Subpath(self.profile_path.clone())
    }

    fn literal(&self) -> Filter {
        Filter::Literal(self.profile_path.clone())
    }
}

impl<'a> ProfileBuilder<'a> {
    /// Adds the granted paths.
    fn new(grants: &'a Grants, scratch: &'a Path) -> Result<Self, ProfileError> {
        let Some((root, others)) = grants.files().split_first() else {
            return Err(Repr::NoReadableDirectory.into());
        };
        let mut parameters = Parameters::default();
        let mut reads = Vec::new();
        let mut writes = Vec::new();
        // Commands work on a directory that contains no program of theirs.
        if root.access() == Access::ReadWrite {
            writes.push(NamedPath::numbered(&mut parameters, "WRITE", root.path())?);
        }
        let root = NamedPath::unique(&mut parameters, "SKILL_ROOT", root.path())?;
        for file in others {
            let (kind, paths) = match file.access() {
                Access::ReadOnly => ("READ", &mut reads),
                Access::ReadWrite => ("WRITE", &mut writes),
            };
            paths.push(NamedPath::numbered(&mut parameters, kind, file.path())?);
        }
        writes.push(NamedPath::unique(&mut parameters, "SCRATCH", scratch)?);
        Ok(Self {
            rules: Vec::new(),
            parameters,
            root,
            reads,
            writes,
            installed: Vec::new(),
            scratch,
            ancestors: BTreeMap::new(),
        })
    }

    fn allow(&mut self, operations: &[Operation], filters: Vec<Filter>) {
        self.rules.push(Rule::allow(operations, filters));
    }

    fn deny(&mut self, operations: &[Operation], filter: Filter) {
        self.rules
            .push(Rule::Deny(operations.to_vec(), vec![filter]));
    }

    /// Allows the skill, readable paths and writable paths, in this order.
    fn add_files(&mut self) {
        let read =
            |named: &NamedPath<'_>| Rule::allow(&[Operation::FileRead], vec![named.subpath()]);
        self.rules.push(read(&self.root));
        self.rules.extend(self.reads.iter().map(read));
        let write = |named: &NamedPath<'_>| {
            Rule::allow(
                &[Operation::FileRead, Operation::FileWrite],
                vec![named.subpath()],
            )
        };
        self.rules.extend(self.writes.iter().map(write));
    }

    /// Allows the files that code is loaded from, in addition to the system's libraries.
    fn add_code(
        &mut self,
        interpreter: &'a Executable,
        programs: &[&'a Executable],
        directory: &Path,
    ) -> Result<(), ProfileError> {
        let parameters = &mut self.parameters;
        let named = NamedPath::unique(parameters, "INTERPRETER", interpreter.path())?;
        let directory = parameters.add_unique("SCRIPT_DIRECTORY", directory)?;
        let filters = vec![named.literal(), Filter::Subpath(directory)];
        self.installed.push(named);
        for successor in &interpreter.exec_targets {
            let named = NamedPath::numbered(parameters, "SUCCESSOR", successor)?;
            self.installed.push(named);
        }
        self.allow(&[Operation::FileMapExecutable], filters);
        let mut own_files: Vec<Filter> = self.installed.iter().map(NamedPath::literal).collect();
        // Sorted and without duplicates, since programs share libraries.
        let readable: BTreeSet<&Path> = [interpreter]
            .iter()
            .chain(programs)
            .flat_map(|program| &program.readable)
            .map(PathBuf::as_path)
            .collect();
        for path in readable {
            let named = NamedPath::numbered(&mut self.parameters, "LIBRARIES", path)?;
            own_files.push(named.subpath());
            self.installed.push(named);
        }
        self.allow(
            &[Operation::FileRead, Operation::FileMapExecutable],
            own_files,
        );
        Ok(())
    }

    /// The paths that are granted or belong to interpreter and programs.
    fn known_paths(&self) -> impl Iterator<Item = &NamedPath<'a>> {
        [&self.root]
            .into_iter()
            .chain(&self.reads)
            .chain(&self.writes)
            .chain(&self.installed)
    }

    /// Programs resolve the paths that they use, and read the metadata of all parent directories.
    /// The names that lead to programs are read too.
    fn add_ancestors(
        &mut self,
        executables: &ExecutableSet,
        spawn: &SpawnGrant,
        programs: &[&Executable],
    ) -> Result<(), ProfileError> {
        let names = invoked_paths(executables, spawn, programs);
        let parents: BTreeSet<PathBuf> = self
            .known_paths()
            .map(|named| named.path)
            .chain(names.iter().map(PathBuf::as_path))
            .flat_map(parent_directories)
            .map(Path::to_owned)
            .chain(names.iter().cloned())
            .collect();
        for path in parents {
            let profile_path = self.parameters.add_numbered("ANCESTOR", &path)?;
            self.ancestors.insert(path, profile_path);
        }
        let ancestors = self.ancestors.values().cloned();
        let literals = ancestors.map(Filter::Literal).collect();
        self.allow(
            &[Operation::FileReadMetadata, Operation::FileTestExistence],
            literals,
        );
        let known = self.known_paths().map(NamedPath::subpath).collect();
        self.allow(&[Operation::FileTestExistence], known);
        Ok(())
    }

    /// Allows to execute the interpreter, which replaces the only process; other programs, and a
    /// second process, only with a grant.
    fn add_programs(
        &mut self,
        spawn: &SpawnGrant,
        executables: &'a ExecutableSet,
        programs: &[&'a Executable],
    ) -> Result<(), ProfileError> {
        let interpreter = executables.interpreter();
        let own_files = self
            .installed
            .iter()
            .filter(|named| interpreter.code_paths().any(|path| path == named.path));
        let mut filters: Vec<Filter> = own_files.map(NamedPath::literal).collect();
        filters.extend(exec_targets::exec_targets(interpreter.path()));
        let mut readable = Vec::new();
        for path in programs.iter().flat_map(|program| program.code_paths()) {
            let named = NamedPath::numbered(&mut self.parameters, "PROGRAM", path)?;
            readable.push(named.literal());
            filters.push(named.literal());
            filters.extend(self.developer_tool(path)?);
            self.installed.push(named);
        }
        // Any program includes those that the skill brings.
        if *spawn == SpawnGrant::Any {
            filters.extend(system::program_filters());
            filters.push(self.root.subpath());
        }
        self.allow(&[Operation::ProcessExec], filters);
        if !readable.is_empty() {
            self.allow(
                &[Operation::FileRead, Operation::FileMapExecutable],
                readable,
            );
        }
        // Without it there is one process, so not even a pipe of a shell works.
        if *spawn != SpawnGrant::None {
            self.allow(&[Operation::ProcessFork], Vec::new());
        }
        Ok(())
    }

    /// Returns the program of the developer tools that `/usr/bin/git` and others only start.
    fn developer_tool(&mut self, path: &Path) -> Result<Option<Filter>, ProfileError> {
        let twin = exec_targets::developer_tool(path)
            .map(|twin| self.parameters.add_numbered("TWIN", &twin));
        Ok(twin.transpose()?.map(Filter::Literal))
    }

    fn add_network(&mut self, granted: &Granted, network: ProxyAccess) -> Result<(), ProfileError> {
        match (granted, network) {
            (Granted::None, ProxyAccess::None) => {}
            (Granted::Hosts(_), ProxyAccess::LocalPort(port)) => {
                self.allow(&[Operation::NetworkOutbound], vec![Filter::LocalPort(port)]);
                // Only programs that connect to hosts verify certificates.
                self.rules.push(system::certificate_rule());
            }
            // Neither a grant without a proxy nor a proxy without a grant is ignored: both would
            // run with other access than was authorized.
            (Granted::Hosts(_), ProxyAccess::None) => return Err(Repr::HostsUnsupported.into()),
            (Granted::None, ProxyAccess::LocalPort(_)) => return Err(Repr::UnusedProxy.into()),
        }
        Ok(())
    }

    /// Denies writing protected paths in writable directories, including the temporary directories.
    fn add_denials(&mut self) -> Result<(), ProfileError> {
        let read_only = self.read_only_paths();
        let mut rules: Vec<Rule> = read_only
            .iter()
            .map(|named| self.read_only_rule(named))
            .collect();
        // Renaming a parent directory away and back must not bypass the rule.
        let parents: BTreeSet<&Path> = read_only
            .iter()
            .flat_map(|named| parent_directories(named.path))
            .collect();
        let parents: Vec<Filter> = parents
            .iter()
            .filter_map(|path| self.ancestors.get(*path).cloned())
            .map(Filter::Literal)
            .collect();
        if !parents.is_empty() {
            rules.push(Rule::Deny(
                vec![Operation::FileWriteCreate, Operation::FileWriteUnlink],
                parents,
            ));
        }
        self.rules.extend(rules);
        self.add_protected_names()
    }

    /// Returns the paths that may not be written, although a directory that contains them may be.
    fn read_only_paths(&self) -> Vec<&NamedPath<'a>> {
        // The directory of a command may be writable, that of a skill never is.
        let root = Some(&self.root).filter(|root| !self.is_granted_write(root.path));
        // Of two grants for a path the wider one is used.
        let reads = self
            .reads
            .iter()
            .filter(|read| !self.is_writable(read.path));
        // Later runs execute what this run executes, so it is not writable; unless exactly that
        // path was granted for writing.
        let installed = self
            .installed
            .iter()
            .filter(|named| self.is_exposed(named.path));
        root.into_iter().chain(reads).chain(installed).collect()
    }

    fn is_granted_write(&self, path: &Path) -> bool {
        self.writes.iter().any(|write| path == write.path)
    }

    fn is_writable(&self, path: &Path) -> bool {
        self.writes.iter().any(|write| path.starts_with(write.path))
    }

    fn is_exposed(&self, path: &Path) -> bool {
        (self.is_writable(path) || system::is_temporary(path)) && !self.is_granted_write(path)
    }

    /// Denies writing names that other programs execute, in writable directories.
    fn add_protected_names(&mut self) -> Result<(), ProfileError> {
        // The scratch directory is removed after the run, so nothing in it is executed later.
        let mut rules = Vec::new();
        let is_kept = |write: &&NamedPath<'_>| write.path != self.scratch;
        for write in self.writes.iter().filter(is_kept) {
            let Protected { patterns, paths } = Protected::inside(write.path);
            let patterns = Filter::Any(patterns.into_iter().map(Filter::Regex).collect());
            rules.push(Filter::All(vec![write.subpath(), patterns]));
            for path in paths {
                let profile_path = self.parameters.add_numbered("PROTECTED", &path)?;
                rules.push(Filter::Subpath(profile_path));
            }
        }
        for filter in rules {
            self.deny(&[Operation::FileWrite], filter);
        }
        Ok(())
    }

    /// Denies writing protected paths, unless they were granted themselves, and all access to
    /// hidden ones.
    fn add_protected_paths(&mut self, grants: &Grants) -> Result<(), ProfileError> {
        let contains =
            |grant: Option<&FileGrant>, path: &Path| grant.is_some_and(|file| file.path() != path);
        for path in grants.protected() {
            // Outside of writable grants nothing can be changed.
            if contains(grants.innermost_writable(path), path) {
                let named = NamedPath::numbered(&mut self.parameters, "PROTECTED_PATH", path)?;
                let rule = self.read_only_rule(&named);
                self.rules.push(rule);
            }
        }
        for path in grants.hidden() {
            // Outside of all grants a hidden path is denied anyway.
            if contains(grants.innermost_grant(path), path) {
                let profile_path = self.parameters.add_numbered("HIDDEN", path)?;
                self.deny(
                    &[Operation::FileRead, Operation::FileWrite],
                    Filter::Subpath(profile_path),
                );
            }
        }
        Ok(())
    }

    /// Denies opening and changing files that may hold keys, and moving the directories around them:
    /// rules are for paths.
    fn add_keys(&mut self, grants: &Grants, keys: &[PathBuf]) -> Result<(), ProfileError> {
        let mut parents = BTreeSet::new();
        for path in keys {
            let key = self.parameters.add_numbered("KEYS", path)?;
            self.deny(
                &[Operation::FileRead, Operation::FileWrite],
                Filter::Subpath(key),
            );
            let Some(granted) = grants.innermost_writable(path).map(FileGrant::path) else {
                continue;
            };
            let inside = parent_directories(path).filter(|parent| *parent != granted);
            parents.extend(inside.filter(|parent| parent.starts_with(granted)));
        }
        for parent in parents {
            let parent = self.parameters.add_numbered("ABOVE_KEYS", parent)?;
            self.deny(
                &[Operation::FileWriteCreate, Operation::FileWriteUnlink],
                Filter::Literal(parent),
            );
        }
        Ok(())
    }

    /// Denies writing below a path, except for granted paths inside.
    fn read_only_rule(&self, named: &NamedPath<'_>) -> Rule {
        let mut filter = named.subpath();
        let writable = self.writable_inside(named.path);
        if !writable.is_empty() {
            let others = Filter::Not(Box::new(Filter::Any(writable)));
            filter = Filter::All(vec![filter, others]);
        }
        Rule::Deny(vec![Operation::FileWrite], vec![filter])
    }

    fn writable_inside(&self, path: &Path) -> Vec<Filter> {
        let inside = self.writes.iter();
        inside
            .filter(|write| write.path != path && write.path.starts_with(path))
            .map(NamedPath::subpath)
            .collect()
    }
}

/// Returns the directory of a script. Code may be loaded from it, so it has to be a granted one.
fn granted_directory<'p>(grants: &Grants, script: &'p Path) -> Result<&'p Path, ProfileError> {
    let directory = script.parent();
    let directory = directory.filter(|directory| is_granted(grants, directory));
    directory.ok_or_else(|| Repr::ScriptNotReadable(script.to_owned()).into())
}

fn is_granted(grants: &Grants, path: &Path) -> bool {
    let mut files = grants.files().iter();
    files.any(|file| path.starts_with(file.path()))
}

/// Returns the parent directories of a path, without the root.
fn parent_directories(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors()
        .skip(1)
        // All interpreters may read the root directory.
        .filter(|path| path.parent().is_some())
}
