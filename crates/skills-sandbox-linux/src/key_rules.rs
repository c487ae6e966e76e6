//! Files that may hold keys: their search, and Landlock rules for directories with such files.

use std::path::{Path, PathBuf};

use skills_policy::Grants;
use skills_process::{KeyFiles, ProtectedEntries};
use skills_sandbox::SandboxError;

use crate::isolation::IsolationLevel;
use crate::path_rule::{PathAccess, PathRule, SymlinkPolicy};

/// Maximum rules that take the place of others.
const MAX_RULES: usize = 20_000;

/// Searches for files that may hold keys, and rejects grants that are too large to search.
///
/// Directories that the search for protected paths listed are not listed again.
pub(crate) fn find_keys(
    grants: &Grants,
    listed: &ProtectedEntries,
    isolation: IsolationLevel,
) -> Result<KeyFiles, SandboxError> {
    if isolation == IsolationLevel::None {
        // Nothing is restricted.
        return Ok(KeyFiles::default());
    }
    KeyFiles::find_among(grants, listed)
        .map_err(|limit| SandboxError::rejected("linux", limit.to_string()))
}

/// Rejects a working directory that the run cannot open.
pub(crate) fn check_readable(current_dir: &Path, keys: &KeyFiles) -> Result<(), SandboxError> {
    match keys.enclosing(current_dir) {
        None => Ok(()),
        Some(withheld) => Err(SandboxError::rejected(
            "linux",
            format!(
                "the working directory is in `{}`, which may hold keys and is not shared with programs",
                withheld.display()
            ),
        )),
    }
}

/// Checks whether Landlock can withhold the keys in granted directories. With namespaces it does not
/// have to.
pub(crate) fn check_rules(grants: &Grants, isolation: IsolationLevel) -> Result<(), SandboxError> {
    if isolation != IsolationLevel::Landlock {
        return Ok(());
    }
    let keys = find_keys(grants, &ProtectedEntries::default(), isolation)?;
    let rules = grants.files().iter().map(PathRule::of_grant).collect();
    without_keys(rules, &keys).map(drop)
}

/// Replaces each rule for a directory with withheld files by rules for what is beside them: Landlock
/// only adds access, so a rule for the directory would include them.
///
/// The directory itself can be listed, and if it is writable, files can be created in it. They
/// cannot be read, renamed or removed: a file with keys that is renamed would be readable in the next
/// run, as would the target of a symlink that alone marks it as one. A rule for a withheld file itself
/// is removed.
///
/// # Errors
/// Fails if more than 20,000 rules are needed, or if a directory cannot be listed.
pub(crate) fn without_keys(
    rules: Vec<PathRule>,
    keys: &KeyFiles,
) -> Result<Vec<PathRule>, SandboxError> {
    if keys.is_empty() && keys.symlinks().next().is_none() {
        return Ok(rules);
    }
    let mut split = RuleSplit {
        keys,
        rules: Vec::with_capacity(rules.len()),
        added: 0,
    };
    for rule in rules {
        let path = rule.path.clone();
        if !split.add(rule)? {
            return Err(too_many_rules(&path, keys));
        }
    }
    Ok(split.rules)
}

struct RuleSplit<'a> {
    keys: &'a KeyFiles,
    rules: Vec<PathRule>,
    /// The number of rules for entries of directories.
    added: usize,
}

impl RuleSplit<'_> {
    /// Returns false if there are too many rules.
    fn add(&mut self, rule: PathRule) -> Result<bool, SandboxError> {
        if rule.is_exception() {
            self.rules.push(rule);
            return Ok(true);
        }
        // Such as another name of a file with keys, which is withheld by any name.
        if self.keys.contains(&rule.path) {
            return Ok(true);
        }
        let has_symlink = rule.is_writable() && self.keys.has_symlink_below(&rule.path);
        if !has_symlink && !self.keys.has_below(&rule.path) {
            self.rules.push(rule);
            return Ok(true);
        }
        for name in list(&rule.path)? {
            let path = rule.path.join(name);
            // A symlink is judged by its target.
            if self.keys.enclosing(&path).is_some() || path.is_symlink() {
                continue;
            }
            self.added += 1;
            let rule = PathRule {
                path,
                access: rule.access,
                symlinks: SymlinkPolicy::Reject,
            };
            if self.added > MAX_RULES || !self.add(rule)? {
                return Ok(false);
            }
        }
        self.rules.push(PathRule {
            access: of_directory(rule.access),
            ..rule
        });
        Ok(true)
    }
}

/// Returns the access to a directory itself that gives none to its withheld files.
fn of_directory(access: PathAccess) -> PathAccess {
    match access {
        PathAccess::Write | PathAccess::Create => PathAccess::Create,
        _ => PathAccess::List,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "directories are only listed here; paths are opened without following symlinks"
)]
fn list(directory: &Path) -> Result<Vec<PathBuf>, SandboxError> {
    let error = |source| SandboxError::setup("listing a granted directory", source);
    let entries = std::fs::read_dir(directory).map_err(error)?;
    entries
        .map(|entry| Ok(PathBuf::from(entry.map_err(error)?.file_name())))
        .collect()
}

fn too_many_rules(directory: &Path, keys: &KeyFiles) -> SandboxError {
    let required = keys.iter().map(|(path, _)| path);
    let required = required.filter(|path| path.starts_with(directory));
    SandboxError::keys_required(
        "linux",
        format!(
            "`{}` holds files that may hold keys beside more than {MAX_RULES} others, too many for Landlock; grant narrower directories or the files with keys, or allow user namespaces",
            directory.display()
        ),
        required.map(Path::to_owned).collect(),
    )
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test creates its own files")]
mod tests {
    use std::fs;

    use skills_policy::{Authorization, Capability, Policy, Request, RuleSource};

    use super::*;

    /// Returns the rules for a workspace with these files, one in a line.
    fn check(files: &[&str], access: PathAccess) -> String {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        for file in files {
            fs::create_dir_all(workspace.join(file).parent().unwrap()).unwrap();
            fs::write(workspace.join(file), "").unwrap();
        }
        let request = Request::for_host_command(&workspace);
        let Authorization::Granted(grants) = Policy::default().authorize(&request) else {
            panic!("reading is allowed by default")
        };
        let keys = KeyFiles::find(&grants).unwrap();
        let rules = without_keys(vec![PathRule::granted(&workspace, access)], &keys);
        let mut lines: Vec<String> = match rules {
            Ok(rules) => rules.iter().map(rule_line).collect(),
            Err(error) => vec![error.to_string()],
        };
        lines.sort();
        lines
            .join("\n")
            .replace(&*workspace.to_string_lossy(), "/w")
    }

    fn rule_line(rule: &PathRule) -> String {
        format!("{} {:?}", rule.path.display(), rule.access)
    }

    #[test]
    fn a_directory_without_keys_keeps_its_rule() {
        assert_eq!(check(&["a", "b/c"], PathAccess::Write), "/w Write");
    }

    #[test]
    fn files_beside_keys_have_rules_of_their_own() {
        let files = ["a", "b/c", "d/e/.env", "d/f", ".aws/credentials"];
        insta::assert_snapshot!(check(&files, PathAccess::Read), @r"
        /w List
        /w/a Read
        /w/b Read
        /w/d List
        /w/d/e List
        /w/d/f Read
        ");
        insta::assert_snapshot!(check(&[".env", "a"], PathAccess::Write), @r"
        /w Create
        /w/a Write
        ");
    }

    #[test]
    fn a_directory_with_a_symlink_to_a_key_does_not_let_go_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        for path in ["keep/x", "store/real", "other/x", "skill/SKILL.md"] {
            fs::create_dir_all(workspace.join(path).parent().unwrap()).unwrap();
            fs::write(workspace.join(path), "").unwrap();
        }
        std::os::unix::fs::symlink("/nowhere/key", workspace.join("keep/.env")).unwrap();
        let request = Request::new(workspace.join("skill"))
            .workspace(&workspace)
            .write(&workspace);
        let policy = Policy::default().allow(RuleSource::User, Capability::Write);
        let Authorization::Granted(grants) = policy.authorize(&request) else {
            panic!("writing is allowed")
        };
        let keys = KeyFiles::find(&grants).unwrap();
        for (access, expected) in [
            (
                PathAccess::Write,
                "/w Create\n/w/keep Create\n/w/keep/x Write\n/w/other Write\n/w/skill Write\n/w/store Write",
            ),
            // It cannot be removed anyway.
            (PathAccess::Read, "/w Read"),
        ] {
            let rules = without_keys(vec![PathRule::granted(&workspace, access)], &keys).unwrap();
            let mut lines: Vec<String> = rules.iter().map(rule_line).collect();
            lines.sort();
            let text = lines.join("\n");
            assert_eq!(text.replace(&*workspace.to_string_lossy(), "/w"), expected);
        }
    }

    #[test]
    fn a_rule_for_a_hard_link_of_a_key_gives_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        fs::write(workspace.join(".env"), "").unwrap();
        fs::write(workspace.join("a"), "").unwrap();
        fs::hard_link(workspace.join(".env"), workspace.join("hard")).unwrap();
        let request = Request::for_host_command(&workspace);
        let Authorization::Granted(grants) = Policy::default().authorize(&request) else {
            panic!("reading is allowed by default")
        };
        let keys = KeyFiles::find(&grants).unwrap();
        let rules = ["", "hard"].map(|name| {
            let path: PathBuf = workspace.join(name).components().collect();
            PathRule::granted(path, PathAccess::Read)
        });
        let rules = without_keys(rules.into(), &keys).unwrap();
        let lines: Vec<String> = rules.iter().map(rule_line).collect();
        let text = lines.join("\n");
        assert_eq!(
            text.replace(&*workspace.to_string_lossy(), "/w"),
            "/w/a Read\n/w List"
        );
    }

    #[test]
    fn keys_beside_too_many_files_are_required() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        fs::create_dir(workspace.join("many")).unwrap();
        fs::write(workspace.join("many/.env"), "").unwrap();
        for number in 0..=MAX_RULES {
            fs::write(workspace.join(format!("many/{number}")), "").unwrap();
        }
        let request = Request::for_host_command(&workspace);
        let Authorization::Granted(grants) = Policy::default().authorize(&request) else {
            panic!("reading is allowed by default")
        };
        check_rules(&grants, IsolationLevel::Namespaces).unwrap();
        let error = check_rules(&grants, IsolationLevel::Landlock).unwrap_err();
        assert_eq!(error.required_keys(), [workspace.join("many/.env")]);
    }

    #[test]
    fn many_files_beside_keys_have_rules() {
        let names: Vec<String> = (0..1_000).map(|index| format!("f{index}")).collect();
        let mut files: Vec<&str> = names.iter().map(String::as_str).collect();
        files.push(".env");
        assert_eq!(check(&files, PathAccess::Read).lines().count(), 1_001);
    }
}
