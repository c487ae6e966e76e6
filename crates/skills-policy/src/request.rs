//! What a program asks for.

mod allowed_tool;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use self::allowed_tool::AllowedTool;
use crate::{Capability, HostPattern, Permission, ResourceLimits, innermost_protected_name};

/// What a program asks for, and what its host offers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Request {
    pub(crate) directory: PathBuf,
    /// Whether the program lies in the directory; if not, the machine's programs work on it.
    pub(crate) is_skill_directory: bool,
    /// Where the files of the directory lie that run.
    pub(crate) copy: Option<PathBuf>,
    pub(crate) name: String,
    pub(crate) digest: Option<String>,
    pub(crate) command: Vec<String>,
    /// What stands for the words that somebody else than the content made up.
    pub(crate) ad_hoc_digest: Option<String>,
    /// Whose answers for the session count; nothing for the host's own.
    pub(crate) session: Option<String>,
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) private_directory: Option<PathBuf>,
    tools: Vec<AllowedTool>,
    caller_permissions: Vec<Permission>,
    variables: Vec<(String, VariableSource)>,
    declared: BTreeSet<String>,
    dropped: BTreeSet<Capability>,
    pub(crate) protected: BTreeSet<PathBuf>,
    pub(crate) hidden: BTreeSet<PathBuf>,
    pub(crate) limits: ResourceLimits,
}

/// Where the value of a variable comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VariableSource {
    /// From the secrets of the host, because the skill declares the variable.
    Secret,
    /// From the caller, for this run, and the skill declares it. Nobody else is asked.
    Caller,
    /// From the caller, and the skill does not declare it.
    Undeclared,
}

/// One thing that is asked for, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestedPermission {
    pub(crate) permission: Permission,
    pub(crate) requested_by: Vec<String>,
    pub(crate) basis: Basis,
}

/// What speaks for a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The skill declares it.
    Declared,
    /// The caller of this run offers it by itself.
    ByCaller,
    /// The caller wants it; the skill is silent.
    Undeclared,
    /// The caller wants it; the skill names what it needs, and not this.
    ExceedsDeclaration,
}

/// The caller of a run, where it asks.
const CALLER_NAME: &str = "the caller";
/// The hooks of a skill, where they ask.
const HOOKS_NAME: &str = "its hooks";

impl Request {
    /// Asks for the least: to read `directory`, where the program lies, under the default
    /// [`ResourceLimits`].
    ///
    /// An empty or missing `allowed-tools` ends here. The OpenSkills flow reads it as "everything
    /// is allowed"; here it restricts no tool *of the agent* and gives the *program* nothing beyond
    /// the default. `directory` is canonical.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            is_skill_directory: true,
            copy: None,
            name: String::new(),
            digest: None,
            command: Vec::new(),
            ad_hoc_digest: None,
            session: None,
            workspace: None,
            private_directory: None,
            tools: Vec::new(),
            caller_permissions: Vec::new(),
            variables: Vec::new(),
            declared: BTreeSet::new(),
            dropped: BTreeSet::new(),
            protected: BTreeSet::new(),
            hidden: BTreeSet::new(),
            limits: ResourceLimits::default(),
        }
    }

    /// Asks for what a command of the machine needs that works on `directory`: to read it. No
    /// program lies there, so writing to it can be asked for as well. `directory` is canonical.
    pub fn for_host_command(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self {
            is_skill_directory: false,
            ..Self::new(&directory)
        }
        .workspace(&directory)
        .read(directory)
    }

    /// Says what the program's owner is called. It is shown and decides nothing.
    pub fn display_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Says what the content of the directory is, as a digest. Without one no approval lasts.
    pub fn content_digest(mut self, digest: impl Into<String>) -> Self {
        self.digest = Some(digest.into());
        self
    }

    /// Says that a copy of the directory runs in its place, which nobody else can change: the
    /// program finds it at the path of the directory where the backend can show it there. The copy
    /// holds just the [content](Self::content_digest). The path is canonical.
    pub fn copy(mut self, path: impl Into<PathBuf>) -> Self {
        self.copy = Some(path.into());
        self
    }

    /// Says what will run, with its arguments. It is shown and decides nothing.
    pub fn command(mut self, words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.command = words.into_iter().map(Into::into).collect();
        self
    }

    /// Says that the command was not made by the content, but by whoever calls, and what stands for
    /// all of it, as a digest. What somebody answers about starting programs is for just this and
    /// this content then: it holds for the session at most, and what was approved for the content
    /// does not count.
    pub fn ad_hoc(mut self, words: impl Into<String>) -> Self {
        self.ad_hoc_digest = Some(words.into());
        self
    }

    /// Says which session asks: answers for the session are remembered for it, and count in it
    /// alone. Default nothing, which is a session of its own: the host's.
    pub fn session(mut self, session: Option<String>) -> Self {
        self.session = session;
        self
    }

    /// Asks for what a tool stands for (see [`Capability::from_tool_name`]); other tools ask for
    /// nothing.
    ///
    /// `pattern` narrows: `git:*` or `git *` of `Bash` asks for that one program,
    /// `domain:example.com` of `WebFetch` for that one host, `src/**` of `Read` for that directory
    /// of the workspace. Another pattern of files asks for nothing that a program could be given,
    /// and one of hosts that means nothing is refused.
    pub fn allowed_tool(mut self, tool: &str, pattern: Option<&str>) -> Self {
        let pattern = pattern
            .map(str::trim)
            .filter(|pattern| !matches!(*pattern, "" | "*"));
        self.tools.push(AllowedTool {
            name: tool.to_owned(),
            pattern: pattern.map(str::to_owned),
        });
        self
    }

    /// Offers a directory for the program's input and output files: readable with
    /// [`Capability::Read`], writable with [`Capability::Write`]. Without it these two grant
    /// nothing. It is canonical.
    pub fn workspace(mut self, directory: impl Into<PathBuf>) -> Self {
        self.workspace = Some(directory.into());
        self
    }

    /// Gives the program a workspace that was made for this run and is nobody else's: it may always
    /// be written.
    pub fn private_workspace(mut self, directory: impl Into<PathBuf>) -> Self {
        self.private_directory = Some(directory.into());
        self
    }

    /// Asks, for the caller, to read a file or directory. Not beyond what `allowed-tools` names, if
    /// it names anything. The path is canonical.
    pub fn read(mut self, path: impl Into<PathBuf>) -> Self {
        self.caller_permissions.push(Permission::Read(path.into()));
        self
    }

    /// Asks, for the caller, to write a file or directory, as [`read`](Self::read) does.
    pub fn write(mut self, path: impl Into<PathBuf>) -> Self {
        self.caller_permissions.push(Permission::Write(path.into()));
        self
    }

    /// Asks, for the caller, to start a program of the machine, named without a path.
    pub fn spawn(mut self, program: impl Into<String>) -> Self {
        self.caller_permissions
            .push(Permission::Program(program.into()));
        self
    }

    /// Asks, for the caller, to start whatever programs it takes: a shell does.
    pub fn spawn_any(mut self) -> Self {
        self.caller_permissions.push(Permission::AnyProgram);
        self
    }

    /// Asks, for the caller, to reach a host.
    pub fn connect(mut self, host: HostPattern) -> Self {
        self.caller_permissions.push(Permission::Host(host));
        self
    }

    /// Asks to run as a hook: whatever rules say, somebody has to approve this command for this
    /// content.
    pub fn hook(mut self, command: impl Into<String>) -> Self {
        self.caller_permissions
            .push(Permission::Hook(command.into()));
        self
    }

    /// Asks to see a variable.
    pub fn variable(mut self, name: impl Into<String>, origin: VariableSource) -> Self {
        self.variables.push((name.into(), origin));
        self
    }

    /// Notes something else that the skill declares, whether this run asks for it or not: the name
    /// of a variable, a hook. By what is declared it is seen what grew when the content changes.
    pub fn declare(mut self, what: impl Into<String>) -> Self {
        self.declared.insert(what.into());
        self
    }

    /// Gives up a capability: the program runs without it.
    pub fn drop_capability(mut self, capability: Capability) -> Self {
        self.dropped.insert(capability);
        self
    }

    /// Protects a path like the [names](crate::PROTECTED_PATHS) that always are: it stays read-only
    /// in a wider directory that may be written, unless a rule or an answer is for that path
    /// itself. Roots of skills are such paths. The path is canonical.
    pub fn protect(mut self, path: impl Into<PathBuf>) -> Self {
        self.protected.insert(path.into());
        self
    }

    /// Hides a path: no program reads or writes it, even in a directory that is granted as a whole.
    /// State, caches and rules of the host are such paths. The path is canonical.
    pub fn hide(mut self, path: impl Into<PathBuf>) -> Self {
        self.hidden.insert(path.into());
        self
    }

    /// Asks for other limits; the rules' ceiling still holds.
    pub fn limits(mut self, limits: ResourceLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Lists what is asked for, each thing once, in the order of [`Permission`].
    #[must_use]
    pub fn permissions(&self) -> Vec<Permission> {
        self.requested_permissions()
            .into_iter()
            .map(|wanted| wanted.permission)
            .collect()
    }

    /// Lists the entries of `allowed-tools` that ask for nothing that a program could be given
    /// here, and why.
    #[must_use]
    pub fn unused_tools(&self) -> Vec<(String, &'static str)> {
        let idle = |tool: &AllowedTool| {
            let Some(capability) = Capability::from_tool_name(&tool.name) else {
                return Some("it is a tool of the agent, not of programs");
            };
            if self.dropped.contains(&capability) {
                return Some("it was given up");
            }
            if tool.permission(self.workspace.as_deref()).is_some() {
                return None;
            }
            Some(match capability {
                Capability::Spawn => "its pattern names no program",
                _ if self.private_directory.is_some() => "the program has a workspace of its own",
                _ if self.workspace.is_none() => "there is no workspace",
                _ => "its pattern is no directory of the workspace",
            })
        };
        self.tools
            .iter()
            .filter_map(|tool| Some((tool.display_text(), idle(tool)?)))
            .collect()
    }

    /// What an answer to made-up words is for: these words and this content; nothing where the
    /// content has no digest.
    pub(crate) fn ad_hoc_content_digest(&self) -> Option<String> {
        Some(format!(
            "{} {}",
            self.ad_hoc_digest.as_ref()?,
            self.digest.as_ref()?
        ))
    }

    /// Whether it is the words, and not the content, that want this.
    pub(crate) fn is_ad_hoc_permission(&self, permission: &Permission) -> bool {
        self.ad_hoc_digest.is_some()
            && matches!(permission, Permission::Program(_) | Permission::AnyProgram)
    }

    /// All that the skill declares and that could be dangerous, in its own words.
    pub(crate) fn declared_privileges(&self) -> BTreeSet<String> {
        let is_dangerous = |tool: &&AllowedTool| {
            Capability::from_tool_name(&tool.name).is_some_and(Capability::is_privileged)
        };
        self.tools
            .iter()
            .filter(is_dangerous)
            .map(AllowedTool::full_text)
            .chain(self.declared.iter().cloned())
            .collect()
    }

    pub(crate) fn requested_permissions(&self) -> Vec<RequestedPermission> {
        let mut all: Vec<RequestedPermission> = Vec::new();
        let mut add = |permission: Permission, by: String, claim: Basis| match all
            .iter_mut()
            .find(|known| known.permission == permission)
        {
            Some(known) => known.merge(by, claim),
            None => all.push(RequestedPermission {
                permission,
                requested_by: vec![by],
                basis: claim,
            }),
        };
        for tool in &self.tools {
            if let Some(permission) = tool.permission(self.workspace.as_deref()) {
                add(
                    self.classify(permission),
                    tool.display_text(),
                    Basis::Declared,
                );
            }
        }
        for permission in &self.caller_permissions {
            match permission {
                Permission::Hook(_) => {
                    add(permission.clone(), HOOKS_NAME.to_owned(), Basis::Undeclared)
                }
                _ => add(
                    self.classify(permission.clone()),
                    CALLER_NAME.to_owned(),
                    self.basis_for(permission.capability()),
                ),
            }
        }
        for (name, origin) in &self.variables {
            let claim = match origin {
                VariableSource::Secret => Basis::Declared,
                VariableSource::Caller => Basis::ByCaller,
                VariableSource::Undeclared => Basis::Undeclared,
            };
            let by = if *origin == VariableSource::Undeclared {
                CALLER_NAME
            } else {
                "its requirements"
            };
            add(Permission::Variable(name.clone()), by.to_owned(), claim);
        }
        // A hook asks for leave to run at all, which cannot be given up.
        let is_kept = |permission: &Permission| {
            matches!(permission, Permission::Hook(_))
                || !self.dropped.contains(&permission.capability())
        };
        all.retain(|wanted| is_kept(&wanted.permission));
        all.sort_by(|a, b| a.permission.cmp(&b.permission));
        all
    }

    /// Tells writing a protected path from writing others. What lies in the workspace is judged by
    /// its path in there, everything else by its whole path.
    fn classify(&self, permission: Permission) -> Permission {
        let Permission::Write(path) = permission else {
            return permission;
        };
        let base = self
            .workspace
            .as_deref()
            .filter(|workspace| path.starts_with(workspace))
            .unwrap_or(Path::new(""));
        match innermost_protected(&path, base, &self.protected) {
            Some(protected) => Permission::WriteProtected { path, protected },
            None => Permission::Write(path),
        }
    }

    /// What the caller wants is declared when a tool stands for it, and beyond the skill when it
    /// has tools and none does.
    fn basis_for(&self, capability: Capability) -> Basis {
        let stands_for =
            |tool: &&AllowedTool| Capability::from_tool_name(&tool.name) == Some(capability);
        let names_nothing = self.tools.is_empty() || self.tools.iter().any(|tool| tool.name == "*");
        match self.tools.iter().find(stands_for) {
            // A pattern of files is about the workspace, and this is not; one of programs or hosts
            // names those that the skill needs.
            Some(_)
                if self
                    .tools
                    .iter()
                    .filter(stands_for)
                    .all(|tool| tool.pattern.is_some()) =>
            {
                match capability {
                    Capability::Spawn | Capability::Network => Basis::ExceedsDeclaration,
                    _ => Basis::Undeclared,
                }
            }
            Some(_) => Basis::Declared,
            None if names_nothing => Basis::Undeclared,
            None => Basis::ExceedsDeclaration,
        }
    }
}

/// Returns the innermost path at or above `path` and strictly below `base` that is protected by its
/// name or as one of `paths`.
pub(crate) fn innermost_protected(
    path: &Path,
    base: &Path,
    paths: &BTreeSet<PathBuf>,
) -> Option<PathBuf> {
    let is_below = |protected: &&PathBuf| {
        path.starts_with(protected) && *protected != base && protected.starts_with(base)
    };
    let named = innermost_protected_name(path, base);
    named
        .into_iter()
        .chain(paths.iter().filter(is_below).cloned())
        .max_by_key(|path| path.components().count())
}

impl RequestedPermission {
    /// Who asks twice has the better of both claims.
    pub(crate) fn merge(&mut self, by: String, claim: Basis) {
        if !self.requested_by.contains(&by) {
            self.requested_by.push(by);
        }
        if self.basis != Basis::Declared {
            self.basis = claim;
        }
    }
}
