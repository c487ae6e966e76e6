//! The profile of one run.

use std::fmt;
use std::path::Path;

use skills_policy::{Access, Grants, Network, Spawn};

use crate::error::{ProfileError, Repr};
use crate::quote::Literal;
use crate::rule::{Filter, Operation, Path as RulePath, Rule};

/// Libraries and programs of the system.
const SYSTEM: [&str; 7] =
    ["/System", "/usr/lib", "/usr/bin", "/usr/share", "/bin", "/Library/Apple/System", "/Library/Developer/CommandLineTools"];
/// The system's dynamic linker looks at these.
const LINKER: [&str; 2] = ["/private/var/db/dyld", "/System/Volumes/Preboot/Cryptexes"];
/// Temporary directories; `/tmp` is a symlink to the second.
const TEMPORARY: [&str; 2] = ["/tmp", "/private/tmp"];
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// The profile of one run: rules in order, the last match decides.
///
/// Its text, for `sandbox-exec -f`, is what [`Display`](fmt::Display) writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    rules: Vec<Rule>,
}

impl Profile {
    /// Computes the profile. Paths must be canonical: seatbelt compares what the kernel resolved.
    ///
    /// # Errors
    /// When a path is relative, not UTF-8 or holds a control character, or when the grants name hosts or single programs.
    pub fn new(grants: &Grants, interpreter: &Path, script: &Path) -> Result<Self, ProfileError> {
        if let Network::Hosts(_) = grants.network() {
            return Err(Repr::Hosts.into());
        }
        if let Spawn::Programs(_) = grants.spawn() {
            return Err(Repr::Programs.into());
        }
        let mut rules = vec![Rule::DenyDefault, Rule::Allow(vec![Operation::SysctlRead], Vec::new())];
        rules.push(allow(&[Operation::FileRead, Operation::FileMapExecutable], subpaths(SYSTEM.iter().chain(&LINKER))?));
        // Resolving any path looks at the root directory.
        rules.push(allow(&[Operation::FileRead], vec![literal(Path::new("/"))?]));
        rules.push(allow(&[Operation::FileRead, Operation::FileWrite], literals(&DEVICES)?));
        rules.push(allow(&[Operation::FileRead, Operation::FileWrite], subpaths(&TEMPORARY)?));
        for file in grants.files() {
            let path = subpath(file.path())?;
            rules.push(allow(&[Operation::FileReadMetadata], ancestors(file.path())?));
            rules.push(allow(&[Operation::FileRead], vec![path.clone()]));
            if file.access() == Access::ReadWrite {
                rules.push(allow(&[Operation::FileWrite], vec![path]));
            }
        }
        let directory = script.parent().ok_or_else(|| Repr::NoParent(script.to_owned()))?;
        rules.push(allow(&[Operation::FileRead, Operation::FileMapExecutable], vec![literal(interpreter)?, subpath(directory)?]));
        rules.push(allow(&[Operation::ProcessExec], vec![literal(interpreter)?]));
        if *grants.spawn() != Spawn::None {
            rules.push(allow(&[Operation::ProcessFork], Vec::new()));
            rules.push(allow(&[Operation::ProcessExec], subpaths(["/usr/bin", "/bin"].iter())?));
        }
        rules.push(allow(&[Operation::Signal], vec![Filter::SameSandbox]));
        Ok(Self { rules })
    }

    /// Returns the rules in order.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "(version 1)")?;
        self.rules.iter().try_for_each(|rule| writeln!(f, "{rule}"))
    }
}

fn allow(operations: &[Operation], filters: Vec<Filter>) -> Rule {
    Rule::Allow(operations.to_vec(), filters)
}

fn subpath(path: &Path) -> Result<Filter, ProfileError> {
    Ok(Filter::Subpath(RulePath(Literal::new(path)?)))
}

fn literal(path: &Path) -> Result<Filter, ProfileError> {
    Ok(Filter::Literal(RulePath(Literal::new(path)?)))
}

fn subpaths<'a>(paths: impl IntoIterator<Item = &'a &'a str>) -> Result<Vec<Filter>, ProfileError> {
    paths.into_iter().map(|path| subpath(Path::new(path))).collect()
}

fn literals(paths: &[&str]) -> Result<Vec<Filter>, ProfileError> {
    paths.iter().map(|path| literal(Path::new(path))).collect()
}

/// Interpreters resolve their script's path, which looks at every directory above it.
fn ancestors(path: &Path) -> Result<Vec<Filter>, ProfileError> {
    path.ancestors().skip(1).map(literal).collect()
}
