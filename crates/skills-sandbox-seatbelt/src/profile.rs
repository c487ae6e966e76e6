//! The profile of one run.

mod exec_targets;
mod protected;
mod system;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use skills_policy::{Access, Grants, Network as Granted, Spawn};

use self::protected::Protected;
use crate::error::{ProfileError, Repr};
use crate::executable_set::{Executable, ExecutableSet};
use crate::parameter::{Parameter, Parameters, ProfilePath, is_printable};
use crate::rule::{Filter, Operation, Rule};

/// How the names of the files begin in which profiles are handed over.
pub(crate) const FILE_PREFIX: &str = "openskills-seatbelt-";

/// The profile of one run: rules in order, the last match decides, and the paths that they name.
///
/// Its text, for `sandbox-exec -f`, is what [`Display`](fmt::Display) writes. No path that somebody
/// gave is in it: those stand behind the [`parameters`](Self::parameters), so no text of a path can
/// end a string or start a rule.
///
/// The order is that of the OpenSkills flow: everything denied, values of the kernel, the system's
/// files, temporary directories, the skill, what may be read, what may be written, where code is
/// loaded from. Then comes what interpreters need beside that, programs and network; and at the end
/// what stays denied whatever was allowed before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    rules: Vec<Rule>,
    parameters: Vec<Parameter>,
}

/// What a profile is made of. All paths are canonical: seatbelt compares what the kernel resolved.
#[derive(Debug, Clone)]
pub struct ProfileInput<'a> {
    /// What is granted; the first of the files is the skill's own directory, which stays read-only
    /// whatever the grants say.
    pub grants: &'a Grants,
    /// The programs that the grants and the script need.
    pub executables: &'a ExecutableSet,
    /// The script.
    pub script: &'a Path,
    /// The private directory of the run.
    pub scratch: &'a Path,
    /// The way to the granted hosts.
    pub network: ProxyAccess,
}

/// The way to the network, since a profile cannot name hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyAccess {
    /// None.
    None,
    /// To this port of this machine, where a proxy knows which hosts are granted.
    LocalPort(u16),
}

impl Profile {
    /// Computes the profile.
    ///
    /// # Errors
    /// When a path is not absolute and canonical, not UTF-8 or holds a control character; when
    /// hosts are granted without a way to them, or a way without hosts; when a granted program was
    /// not found; when the script lies outside what may be read.
    pub fn new(ingredients: &ProfileInput<'_>) -> Result<Self, ProfileError> {
        let ProfileInput {
            grants,
            executables,
            script,
            scratch,
            network,
        } = ingredients;
        let mut draft = ProfileBuilder::new(grants, scratch)?;
        let directory = script.parent().filter(|parent| {
            grants
                .files()
                .iter()
                .any(|file| parent.starts_with(file.path()))
        });
        let directory = directory.ok_or_else(|| Repr::ScriptNotReadable((*script).to_owned()))?;
        draft.rules.extend([
            Rule::Deny(vec![Operation::Default], Vec::new()),
            allow(&[Operation::SysctlRead], Vec::new()),
        ]);
        draft.rules.extend(
            system::library_rules()
                .into_iter()
                .chain(system::temporary_rules()),
        );
        draft.add_files();
        let programs = granted_programs(grants.spawn(), executables)?;
        draft.add_code(executables.interpreter(), &programs, directory)?;
        draft.rules.extend(system::interpreter_rules());
        draft.add_ancestors(executables, grants.spawn(), &programs)?;
        draft.add_programs(grants.spawn(), executables, &programs)?;
        draft.add_network(grants.network(), *network)?;
        draft.rules.extend(system::hard_denials());
        draft.add_denials()?;
        draft.add_protected_paths(grants)?;
        Ok(Self {
            rules: draft.rules,
            parameters: draft.parameters.into_vec(),
        })
    }

    /// Returns the rules in order.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns the paths behind the names in the rules, in the order in which they were named; no
    /// name twice.
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

/// A profile that is being made.
struct ProfileBuilder<'a> {
    rules: Vec<Rule>,
    parameters: Parameters,
    root: NamedPath<'a>,
    reads: Vec<NamedPath<'a>>,
    writes: Vec<NamedPath<'a>>,
    /// The libraries and the code of interpreter and programs that are not the system's.
    installed: Vec<NamedPath<'a>>,
    scratch: &'a Path,
    ancestors: BTreeMap<PathBuf, ProfilePath>,
}

/// A path and its name in the profile.
struct NamedPath<'a> {
    path: &'a Path,
    profile_path: ProfilePath,
}

impl NamedPath<'_> {
    fn subpath(&self) -> Filter {
        Filter::Subpath(self.profile_path.clone())
    }
}

impl<'a> ProfileBuilder<'a> {
    /// Names the granted paths.
    fn new(grants: &'a Grants, scratch: &'a Path) -> Result<Self, ProfileError> {
        let Some((root, others)) = grants.files().split_first() else {
            return Err(Repr::NoReadableDirectory.into());
        };
        let mut parameters = Parameters::default();
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        // Commands work on a directory that no program of theirs lies in.
        if root.access() == Access::ReadWrite {
            writes.push(NamedPath {
                path: root.path(),
                profile_path: parameters.add_numbered("WRITE", root.path())?,
            });
        }
        let root = NamedPath {
            path: root.path(),
            profile_path: parameters.add_unique("SKILL_ROOT", root.path())?,
        };
        for file in others {
            let (kind, spots) = match file.access() {
                Access::ReadOnly => ("READ", &mut reads),
                Access::ReadWrite => ("WRITE", &mut writes),
            };
            spots.push(NamedPath {
                path: file.path(),
                profile_path: parameters.add_numbered(kind, file.path())?,
            });
        }
        writes.push(NamedPath {
            path: scratch,
            profile_path: parameters.add_unique("SCRATCH", scratch)?,
        });
        let (rules, installed, ancestors) = Default::default();
        Ok(Self {
            rules,
            parameters,
            root,
            reads,
            writes,
            installed,
            scratch,
            ancestors,
        })
    }

    /// The skill, what may be read, what may be written.
    fn add_files(&mut self) {
        let read = |spot: &NamedPath<'_>| allow(&[Operation::FileRead], vec![spot.subpath()]);
        self.rules.push(read(&self.root));
        self.rules.extend(self.reads.iter().map(read));
        let write = |spot: &NamedPath<'_>| {
            allow(
                &[Operation::FileRead, Operation::FileWrite],
                vec![spot.subpath()],
            )
        };
        self.rules.extend(self.writes.iter().map(write));
    }

    /// Where code is loaded from, beside the system's libraries.
    fn add_code(
        &mut self,
        interpreter: &'a Executable,
        programs: &[&'a Executable],
        directory: &Path,
    ) -> Result<(), ProfileError> {
        let place = self
            .parameters
            .add_unique("INTERPRETER", interpreter.path())?;
        let directory = self.parameters.add_unique("SCRIPT_DIRECTORY", directory)?;
        self.rules.push(allow(
            &[Operation::FileMapExecutable],
            vec![Filter::Literal(place.clone()), Filter::Subpath(directory)],
        ));
        self.installed.push(NamedPath {
            path: interpreter.path(),
            profile_path: place,
        });
        for successor in &interpreter.exec_targets {
            self.installed.push(NamedPath {
                path: successor,
                profile_path: self.parameters.add_numbered("SUCCESSOR", successor)?,
            });
        }
        let mut own: Vec<Filter> = self
            .installed
            .iter()
            .map(|spot| Filter::Literal(spot.profile_path.clone()))
            .collect();
        let readable: BTreeSet<&Path> = [interpreter]
            .iter()
            .chain(programs)
            .flat_map(|program| &program.readable)
            .map(PathBuf::as_path)
            .collect();
        for path in readable {
            let spot = NamedPath {
                path,
                profile_path: self.parameters.add_numbered("LIBRARIES", path)?,
            };
            own.push(spot.subpath());
            self.installed.push(spot);
        }
        self.rules.push(allow(
            &[Operation::FileRead, Operation::FileMapExecutable],
            own,
        ));
        Ok(())
    }

    /// Programs resolve the paths that they use, and for this look at every directory above. Names
    /// that lead to programs are looked at too.
    fn add_ancestors(
        &mut self,
        executables: &ExecutableSet,
        spawn: &Spawn,
        programs: &[&Executable],
    ) -> Result<(), ProfileError> {
        let granted = [&self.root]
            .into_iter()
            .chain(&self.reads)
            .chain(&self.writes);
        let spots: Vec<&NamedPath<'a>> = granted.chain(&self.installed).collect();
        let names = invoked_paths(executables, spawn, programs);
        let above = spots
            .iter()
            .map(|spot| spot.path)
            .chain(names.iter().map(PathBuf::as_path))
            .flat_map(parent_directories);
        let seen: BTreeSet<PathBuf> = above
            .map(Path::to_owned)
            .chain(names.iter().cloned())
            .collect();
        let inside = spots.iter().map(|spot| spot.subpath()).collect();
        for path in seen {
            let place = self.parameters.add_numbered("ANCESTOR", &path)?;
            self.ancestors.insert(path, place);
        }
        let literals = self
            .ancestors
            .values()
            .cloned()
            .map(Filter::Literal)
            .collect();
        self.rules.push(allow(
            &[Operation::FileReadMetadata, Operation::FileTestExistence],
            literals,
        ));
        self.rules
            .push(allow(&[Operation::FileTestExistence], inside));
        Ok(())
    }

    /// What may be executed: the interpreter, in the place of the one process that there is; more,
    /// and more processes, only with a grant.
    fn add_programs(
        &mut self,
        spawn: &Spawn,
        executables: &'a ExecutableSet,
        programs: &[&'a Executable],
    ) -> Result<(), ProfileError> {
        let interpreter = executables.interpreter();
        let own = self
            .installed
            .iter()
            .filter(|spot| interpreter.code_paths().any(|path| path == spot.path));
        let mut filters: Vec<Filter> = own
            .map(|spot| Filter::Literal(spot.profile_path.clone()))
            .collect();
        filters.extend(exec_targets::exec_targets(interpreter.path()));
        let mut readable = Vec::new();
        for path in programs.iter().flat_map(|program| program.code_paths()) {
            let place = self.parameters.add_numbered("PROGRAM", path)?;
            readable.push(Filter::Literal(place.clone()));
            filters.push(Filter::Literal(place.clone()));
            self.installed.push(NamedPath {
                path,
                profile_path: place,
            });
            if let Some(twin) = exec_targets::developer_tool(path) {
                filters.push(Filter::Literal(
                    self.parameters.add_numbered("TWIN", &twin)?,
                ));
            }
        }
        if *spawn == Spawn::Any {
            filters.extend(
                system::program_filters()
                    .into_iter()
                    .chain([self.root.subpath()]),
            );
        }
        self.rules.push(allow(&[Operation::ProcessExec], filters));
        if !readable.is_empty() {
            self.rules.push(allow(
                &[Operation::FileRead, Operation::FileMapExecutable],
                readable,
            ));
        }
        if *spawn != Spawn::None {
            self.rules
                .push(allow(&[Operation::ProcessFork], Vec::new()));
        }
        Ok(())
    }

    fn add_network(&mut self, granted: &Granted, network: ProxyAccess) -> Result<(), ProfileError> {
        match (granted, network) {
            (Granted::None, ProxyAccess::None) => {}
            (Granted::Hosts(_), ProxyAccess::LocalPort(port)) => {
                self.rules.push(allow(
                    &[Operation::NetworkOutbound],
                    vec![Filter::LocalPort(port)],
                ));
                self.rules.push(system::certificate_rule());
            }
            (Granted::Hosts(_), ProxyAccess::None) => return Err(Repr::HostsUnsupported.into()),
            (Granted::None, ProxyAccess::LocalPort(_)) => return Err(Repr::UnusedProxy.into()),
        }
        Ok(())
    }

    /// What stays as it is although it lies in a directory that may be written, the temporary
    /// directories among them.
    fn add_denials(&mut self) -> Result<(), ProfileError> {
        let is_writable =
            |path: &Path| self.writes.iter().any(|write| path.starts_with(write.path));
        let reads = self.reads.iter().filter(|read| !is_writable(read.path));
        // What this run executes, others run later; unless somebody granted just that to be
        // written.
        let is_granted = |path: &Path| self.writes.iter().any(|write| path == write.path);
        let exposed = |spot: &&NamedPath<'_>| {
            (is_writable(spot.path) || system::is_temporary(spot.path)) && !is_granted(spot.path)
        };
        let root = Some(&self.root)
            .filter(|root| !self.writes.iter().any(|write| write.path == root.path));
        let constant: Vec<&NamedPath<'_>> = root
            .into_iter()
            .chain(reads)
            .chain(self.installed.iter().filter(exposed))
            .collect();
        let mut rules: Vec<Rule> = constant
            .iter()
            .map(|spot| self.read_only_rule(spot))
            .collect();
        // Renaming a directory above and back again must not help.
        let above: BTreeSet<&Path> = constant
            .iter()
            .flat_map(|spot| parent_directories(spot.path))
            .collect();
        let above: Vec<Filter> = above
            .iter()
            .filter_map(|path| self.ancestors.get(*path).cloned())
            .map(Filter::Literal)
            .collect();
        if !above.is_empty() {
            rules.push(Rule::Deny(
                vec![Operation::FileWriteCreate, Operation::FileWriteUnlink],
                above,
            ));
        }
        for write in self
            .writes
            .iter()
            .filter(|write| write.path != self.scratch)
        {
            let Protected { patterns, paths } = Protected::inside(write.path);
            let patterns = Filter::Any(patterns.into_iter().map(Filter::Regex).collect());
            rules.push(Rule::Deny(
                vec![Operation::FileWrite],
                vec![Filter::All(vec![write.subpath(), patterns])],
            ));
            for path in paths {
                let place = self.parameters.add_numbered("PROTECTED", &path)?;
                rules.push(Rule::Deny(
                    vec![Operation::FileWrite],
                    vec![Filter::Subpath(place)],
                ));
            }
        }
        self.rules.extend(rules);
        Ok(())
    }

    /// Denies writing protected paths, unless they were granted themselves, and everything with
    /// hidden ones.
    fn add_protected_paths(&mut self, grants: &Grants) -> Result<(), ProfileError> {
        let is_inside = |path: &&PathBuf| {
            grants
                .around(path)
                .is_some_and(|file| file.path() != path.as_path())
        };
        let is_changeable = |path: &&PathBuf| {
            grants
                .writable_around(path)
                .is_some_and(|file| file.path() != path.as_path())
        };
        for path in grants.protected().iter().filter(is_changeable) {
            let spot = NamedPath {
                path,
                profile_path: self.parameters.add_numbered("PROTECTED_PATH", path)?,
            };
            let rule = self.read_only_rule(&spot);
            self.rules.push(rule);
        }
        for path in grants.hidden().iter().filter(is_inside) {
            let place = self.parameters.add_numbered("HIDDEN", path)?;
            self.rules.push(Rule::Deny(
                vec![Operation::FileRead, Operation::FileWrite],
                vec![Filter::Subpath(place)],
            ));
        }
        Ok(())
    }

    /// A path below which nothing is written, but for what is granted further down.
    fn read_only_rule(&self, spot: &NamedPath<'_>) -> Rule {
        let is_inside =
            |write: &&NamedPath<'_>| write.path != spot.path && write.path.starts_with(spot.path);
        let inside: Vec<Filter> = self
            .writes
            .iter()
            .filter(is_inside)
            .map(NamedPath::subpath)
            .collect();
        let filter = if inside.is_empty() {
            spot.subpath()
        } else {
            Filter::All(vec![
                spot.subpath(),
                Filter::Not(Box::new(Filter::Any(inside))),
            ])
        };
        Rule::Deny(vec![Operation::FileWrite], vec![filter])
    }
}

/// Finds the programs that are granted by their names.
fn granted_programs<'a>(
    spawn: &Spawn,
    executables: &'a ExecutableSet,
) -> Result<Vec<&'a Executable>, ProfileError> {
    let Spawn::Programs(names) = spawn else {
        return Ok(Vec::new());
    };
    let found = |name: &String| {
        executables
            .get(name)
            .ok_or_else(|| Repr::ProgramNotFound(name.clone()).into())
    };
    names.iter().map(found).collect()
}

/// The paths by which interpreter and programs are called, where these are not the system's:
/// symlinks, which whoever calls them follows.
fn invoked_paths(
    executables: &ExecutableSet,
    spawn: &Spawn,
    programs: &[&Executable],
) -> Vec<PathBuf> {
    let interpreter = executables.interpreter();
    let own = [interpreter.argv0().to_owned()]
        .into_iter()
        .filter(|name| name != interpreter.path());
    let granted: Vec<PathBuf> = match spawn {
        Spawn::Programs(names) => names
            .iter()
            .flat_map(|name| executables.path_candidates(name))
            .filter(|path| is_printable(path))
            .collect(),
        Spawn::None | Spawn::Any => Vec::new(),
    };
    let code = programs
        .iter()
        .flat_map(|program| program.code_paths())
        .map(Path::to_owned);
    own.chain(granted)
        .chain(code)
        .filter(|path| !system::is_system_path(path))
        .collect()
}

/// The directories above a path, without the one above all.
fn parent_directories(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors()
        .skip(1)
        .filter(|path| path.parent().is_some())
}

fn allow(operations: &[Operation], filters: Vec<Filter>) -> Rule {
    Rule::Allow(operations.to_vec(), filters)
}
