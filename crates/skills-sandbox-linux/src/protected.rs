//! What stays read-only even in a directory that may be written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skills_sandbox::{PROTECTED, PROTECTED_IN_GIT};

use crate::plan::{PathRule, Right};
use crate::tree::Attributes;

const WRITABLE: Attributes = Attributes::NOSUID.and(Attributes::NODEV);
const READ_ONLY: Attributes = WRITABLE.and(Attributes::READ_ONLY);

/// Adds to the paths that are shown what is to be read-only in those that may be written, and the directories between, which become mounts and
/// so cannot be renamed. What does not exist cannot be shown, and so can be made.
pub(crate) fn protect(shown: &mut BTreeMap<PathBuf, Attributes>, rules: &[PathRule]) {
    let writable: Vec<&Path> = rules.iter().filter(|rule| rule.right == Right::Write).map(|rule| rule.path.as_path()).collect();
    for directory in &writable {
        for path in named(directory) {
            shown.entry(path).or_insert(READ_ONLY);
        }
    }
    let explicit = shown.clone();
    let is_writable = |path: &Path| {
        let above = explicit.iter().filter(|(known, _)| path.starts_with(known));
        above.max_by_key(|(known, _)| known.components().count()).is_some_and(|(_, attributes)| *attributes == WRITABLE)
    };
    for path in explicit.keys() {
        let between = path.ancestors().skip(1).filter(|above| writable.iter().any(|directory| above.starts_with(directory)));
        for above in between.filter(|above| is_writable(above)) {
            shown.entry(above.to_owned()).or_insert(WRITABLE);
        }
    }
}

/// Lists what is protected in a writable directory; of a link also what it leads to in there. All of `.git` is, since what is missing in it cannot
/// be protected, unless it was itself granted.
fn named(directory: &Path) -> Vec<PathBuf> {
    let names = if directory.ends_with(".git") { &PROTECTED_IN_GIT[..] } else { &PROTECTED[..] };
    let git = (!directory.ends_with(".git")).then_some(&".git");
    let paths = git.into_iter().chain(names).map(|name| directory.join(name));
    paths
        .flat_map(|path| {
            let target = path.canonicalize().ok().filter(|target| *target != path && target.starts_with(directory) && target != directory);
            std::iter::once(path).chain(target)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Symlinks;

    fn shown(rules: &[(&str, Right)]) -> String {
        let rules: Vec<PathRule> =
            rules.iter().map(|(path, right)| PathRule { path: path.into(), right: *right, symlinks: Symlinks::Refused }).collect();
        let as_shown = |rule: &PathRule| (rule.path.clone(), if rule.right == Right::Write { WRITABLE } else { READ_ONLY });
        let mut shown = rules.iter().map(as_shown).collect();
        protect(&mut shown, &rules);
        let line = |(path, attributes): (&PathBuf, &Attributes)| {
            format!("{} {}", path.display(), if *attributes == WRITABLE { "writable" } else { "read-only" })
        };
        let is_plain = |line: &String| !PROTECTED.iter().filter(|name| **name != ".claude").any(|name| line.contains(&format!("{name} ")));
        shown.iter().map(line).filter(is_plain).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_lies_below_something_read_only_stays_read_only() {
        insta::assert_snapshot!(shown(&[("/w", Right::Write), ("/w/.claude/skills/other", Right::Execute), ("/w/a/b/c", Right::Execute)]), @"
        /w writable
        /w/.claude read-only
        /w/.claude/skills/other read-only
        /w/.config writable
        /w/.git read-only
        /w/a writable
        /w/a/b writable
        /w/a/b/c read-only
        ");
        insta::assert_snapshot!(shown(&[("/w", Right::Write), ("/w/.git", Right::Write)]), @"
        /w writable
        /w/.claude read-only
        /w/.config writable
        /w/.git writable
        /w/.git/commondir read-only
        /w/.git/config read-only
        /w/.git/config.worktree read-only
        /w/.git/hooks read-only
        /w/.git/modules read-only
        /w/.git/worktrees read-only
        ");
    }
}
