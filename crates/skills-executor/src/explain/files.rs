//! Facts about files of a run: protected ones, keys, those that others execute, and lost ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skills_policy::{Grants, innermost_protected_name, key_part};
use skills_sandbox::{Evidence, ExecutedFile, ExecutedFiles, PrivateHome, Refusals, RunOutput};

use super::ended_run::EndedRun;
use super::facts::{Fact, FactKind, ProgramFiles};
use super::paths::{ProgramPaths, kept_path};
use super::printed::{end_of, is_path_end, read_only_marker};
use super::refused;
use crate::OutputFiles;
use crate::redaction::Redactor;

/// The most paths that one fact lists.
const MAX_LISTED: usize = 4;
/// The most files of one program that are named.
const MAX_EXAMPLES: usize = 2;
/// Maximum number of programs with named files. The others are counted.
const MAX_NAMED_PROGRAMS: usize = 20;
/// Directories in a home directory that hold no results: caches, by the XDG convention or by name.
const CACHES: [&str; 4] = [".cache", ".npm", ".java", "Library/Caches"];
/// Names, without the dot, of directories of well-known programs that hold keys, or what is executed.
const OTHERS_DIRECTORIES: &str = "\
    aider ansible applications asdf autostart aws azure bin bun cargo config deno docker \
    electrum fish gcloud gem gh git gnupg gradle kube local m2 mise mozilla npm-global nvm \
    oh-my-zsh password-store pki pyenv rbenv rustup sdkman share ssh state systemd \
    terraform.d";
/// What programs print that check before whether they can write, or that do not say why they could not.
/// They also print it for other reasons.
const WRITE_ERRORS: [&str; 7] = [
    "ermission denied",
    "EACCES",
    "not writable",
    "nable to create",
    "annot create",
    "annot lock",
    "annot write",
];

/// Returns what is known about the files of a run and its network. `refusals` is what was refused.
pub(super) fn facts(run: &EndedRun<'_>, refusals: &Refusals) -> Vec<Fact> {
    let output = run.output;
    // A read-only `.git` file is not the cause if the repository that it leads to is.
    let is_explained = run.outside.is_some();
    let read_only = (!is_explained).then(|| read_only_paths(output, refusals, &run.paths));
    let read_only = read_only.flatten().map(|kind| Fact {
        observer: Evidence::ProgramOutput,
        ..Fact::of_runtime(kind)
    });
    let skill_is_read_only =
        run.paths
            .is_skill_written(refusals)
            .then(|| FactKind::SkillIsReadOnly {
                has_workspace: run.rules.workspace.is_some(),
            });
    let mut private_home = private_home(output.private_home.as_ref());
    if let Some(FactKind::PrivateHome { directories, .. }) = &mut private_home {
        directories.retain(|directory| run.rules.is_allowable(&format!("write:~/{directory}")));
    }
    let others = [
        skill_is_read_only,
        refused::ignored_proxy(output, run.grants()),
        withheld_keys(output),
        changed_key_links(output),
        private_home,
        discarded_files(output.discarded.as_ref(), run.rules.workspace.is_some()),
    ];
    let others = others.into_iter().flatten().map(Fact::of_runtime);
    read_only.into_iter().chain(others).collect()
}

/// Returns the protected paths that a failed program could not write. Those that its output names come
/// first, and alone: the others then have not stopped it.
///
/// `refusals` is what else stopped the program. Paths that may hold keys are reported as
/// [`WithheldKeys`](FactKind::WithheldKeys).
fn read_only_paths(
    output: &RunOutput,
    refusals: &Refusals,
    paths: &ProgramPaths<'_>,
) -> Option<FactKind> {
    if output.termination.is_success() || output.read_only_paths.is_empty() {
        return None;
    }
    let claims = paths.read_only_claims(output);
    let mut named: Vec<PathBuf> = Vec::new();
    for claim in claims.iter().filter(|claim| !paths.is_in_skill(claim)) {
        if output
            .withheld_keys
            .iter()
            .any(|key| claim.starts_with(key))
        {
            continue;
        }
        let enclosing = output
            .read_only_paths
            .iter()
            .find(|path| claim.starts_with(path));
        let innermost = enclosing.map(|enclosing| innermost_protected(enclosing, claim));
        named.extend(innermost.filter(|path| !named.contains(path)));
    }
    if named.is_empty() {
        named = unnamed_read_only_paths(output, refusals, paths, &claims)?;
    }
    named.retain(|path| !output.withheld_keys.iter().any(|key| path.starts_with(key)));
    if named.is_empty() {
        return None;
    }
    named.sort_by_key(|path| path.components().count());
    let omitted = named.len().saturating_sub(MAX_LISTED);
    named.truncate(MAX_LISTED);
    Some(FactKind::ReadOnlyPaths {
        paths: named,
        omitted,
    })
}

/// Returns the protected paths that may have stopped a program whose messages name no path in them:
/// those whose names are in a message about a failed write or, if no path at all is, all of them.
/// `None` if something else is known to have stopped it. `claims` are the paths in messages about a
/// read-only file system.
fn unnamed_read_only_paths(
    output: &RunOutput,
    refusals: &Refusals,
    program: &ProgramPaths<'_>,
    claims: &[PathBuf],
) -> Option<Vec<PathBuf>> {
    // No rule makes the directory of a skill writable, not even one for a directory above it.
    if program.is_skill_written(refusals) {
        return None;
    }
    let texts = [&output.stderr, &output.stdout].map(end_of);
    let is_explained = !refusals.list().is_empty();
    let is_write_error = |line: &&str| {
        read_only_marker(line).is_some()
            || !is_explained && WRITE_ERRORS.iter().any(|error| line.contains(error))
    };
    let lines = texts.iter().flat_map(|text| text.lines());
    let lines: Vec<&str> = lines.filter(is_write_error).collect();
    let (named, others): (Vec<PathBuf>, Vec<PathBuf>) =
        output.read_only_paths.iter().cloned().partition(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy());
            let mut lines = lines.iter();
            name.is_some_and(|name| {
                lines.any(|line| has_component(line, &name) && !is_about_key(line, path, output))
            })
        });
    let is_read_only = lines.iter().any(|line| read_only_marker(line).is_some());
    if !named.is_empty() {
        Some(named)
    } else if is_read_only && claims.is_empty() {
        Some(others)
    } else {
        None
    }
}

/// Returns true if a path in a message has this component.
fn has_component(message: &str, name: &str) -> bool {
    let mut components = message.split(|c| c == '/' || is_path_end(c));
    components.any(|component| component == name)
}

/// Returns true if a message names a withheld key at or below a path: reading the key failed then, and
/// the path is not the cause.
fn is_about_key(message: &str, path: &Path, output: &RunOutput) -> bool {
    let mut keys = output.withheld_keys.iter();
    keys.any(|key| {
        let name = key.file_name().map(|name| name.to_string_lossy());
        key.starts_with(path) && name.is_some_and(|name| has_component(message, &name))
    })
}

/// Returns the innermost path at or above `path` that is protected by its name, or `protected`. The
/// disk is not read, so a program does not learn which files exist by printing their names.
fn innermost_protected(protected: &Path, path: &Path) -> PathBuf {
    let innermost = innermost_protected_name(path, protected);
    innermost.unwrap_or_else(|| protected.to_owned())
}

/// Returns the paths that were not shared with the program since they may hold keys.
fn withheld_keys(output: &RunOutput) -> Option<FactKind> {
    let withheld = &output.withheld_keys;
    (!withheld.is_empty()).then(|| FactKind::WithheldKeys {
        paths: withheld.iter().take(MAX_LISTED).cloned().collect(),
        omitted: withheld.len().saturating_sub(MAX_LISTED),
    })
}

/// Returns the symlinks that do not mark their targets as files with keys anymore.
fn changed_key_links(output: &RunOutput) -> Option<FactKind> {
    let changed = &output.changed_key_links;
    (!changed.is_empty()).then(|| FactKind::ChangedKeyLinks {
        links: changed.iter().take(MAX_LISTED).cloned().collect(),
        omitted: changed.len().saturating_sub(MAX_LISTED),
    })
}

/// Returns the files of a run that other programs execute, by program: those that the backend found,
/// and those among the output files.
pub(crate) fn executed_files(
    found: ExecutedFiles,
    workspace: Option<(&Path, &OutputFiles)>,
    grants: &Grants,
    redactor: &Redactor,
) -> Option<Fact> {
    let is_complete = found.is_complete || workspace.is_none_or(|(_, output)| !output.is_truncated);
    let of_workspace = workspace.into_iter().flat_map(|(directory, output)| {
        let files = output.files.iter();
        files.filter_map(|file| {
            let path = directory.join(&file.path);
            let program = grants.file_reader(&path)?;
            Some(if file.is_created {
                ExecutedFile::created(path, program)
            } else {
                ExecutedFile::changed(path, program)
            })
        })
    });
    // A file of both lists counts once.
    let all = of_workspace.chain(found.files);
    let all: BTreeMap<PathBuf, ExecutedFile> = all.map(|file| (file.path.clone(), file)).collect();
    let mut by_program: BTreeMap<&str, Vec<ExecutedFile>> = BTreeMap::new();
    for file in all.into_values() {
        by_program.entry(file.program).or_default().push(file);
    }
    let mut groups: Vec<Vec<ExecutedFile>> = by_program.into_values().collect();
    for group in &mut groups {
        group.sort_by_cached_key(importance);
    }
    groups.sort_by_cached_key(|group| group.first().map(importance));
    let shown = |file: &ExecutedFile| {
        let below = workspace.and_then(|(directory, _)| file.path.strip_prefix(directory).ok());
        redactor.redact_text(&below.unwrap_or(&file.path).display().to_string())
    };
    let programs: Vec<ProgramFiles> = groups
        .iter()
        .enumerate()
        .filter_map(|(index, files)| {
            let named = if index < MAX_NAMED_PROGRAMS {
                MAX_EXAMPLES
            } else {
                0
            };
            Some(ProgramFiles {
                program: files.first()?.program,
                count: files.len(),
                examples: files.iter().take(named).map(shown).collect(),
            })
        })
        .collect();
    (!programs.is_empty() || !is_complete).then(|| {
        Fact::of_runtime(FactKind::ExecutedFiles {
            programs,
            is_complete,
        })
    })
}

/// Returns a key by which changed files come before created ones, which a program can create in any
/// number, and outer files before inner ones.
fn importance(file: &ExecutedFile) -> (bool, usize, PathBuf) {
    let depth = file.path.components().count();
    (file.is_created, depth, file.path.clone())
}

/// Returns the files that a program wrote beside its own, except byte code.
fn discarded_files(layer: Option<&PrivateHome>, has_workspace: bool) -> Option<FactKind> {
    let is_byte_code = |file: &String| Path::new(file).iter().any(|part| part == "__pycache__");
    let mut files: Vec<String> = layer?.files.clone();
    files.retain(|file| !is_byte_code(file));
    files.sort();
    let omitted = files.len().saturating_sub(MAX_LISTED);
    files.truncate(MAX_LISTED);
    (!files.is_empty()).then_some(FactKind::DiscardedFiles {
        files,
        omitted,
        has_workspace,
    })
}

/// Returns the files that a program left in its private home directory, except those of caches.
fn private_home(home: Option<&PrivateHome>) -> Option<FactKind> {
    let home = home?;
    let is_cache = |file: &str| {
        CACHES
            .iter()
            .any(|cache| Path::new(file).starts_with(cache))
    };
    let mut files: Vec<String> = home
        .files
        .iter()
        .filter(|file| !is_cache(file))
        .cloned()
        .collect();
    files.sort();
    if files.is_empty() {
        return None;
    }
    let mut directories: Vec<String> = Vec::new();
    for kept in files.iter().map(|file| kept_path(file)) {
        let is_visible_file = !kept.starts_with('.') && !kept.ends_with('/');
        let can_be_kept = !is_protected(&kept) && (is_visible_file || is_own_path(&kept));
        if can_be_kept && !directories.contains(&kept) && directories.len() < MAX_LISTED {
            directories.push(kept);
        }
    }
    let omitted = files.len().saturating_sub(MAX_LISTED);
    files.truncate(MAX_LISTED);
    Some(FactKind::PrivateHome {
        files,
        omitted,
        directories,
    })
}

/// Returns true for a path of a home directory at or below a protected one, or one that may hold keys.
fn is_protected(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    key_part(&parts).is_some() || innermost_protected_name(Path::new(path), Path::new("")).is_some()
}

/// Returns true for a hidden path of a home directory that is not known to belong to other programs.
/// Which files a program leaves is its choice, so it must not lead to a suggestion that gives it keys,
/// or files that other programs execute.
fn is_own_path(path: &str) -> bool {
    let name = Path::new(path)
        .file_name()
        .map(|name| name.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    let is_hidden = path.starts_with('.');
    let name = name.trim_start_matches('.');
    is_hidden && !OTHERS_DIRECTORIES.split(' ').any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use skills_sandbox::{CapturedOutput, ChangedKeyLink, EnforcementReport, Termination};

    use super::*;

    fn words(kind: FactKind) -> String {
        Fact::of_runtime(kind).to_string()
    }

    /// Returns what is reported of a run that fails with a message.
    fn blamed(message: &str) -> Option<FactKind> {
        let mut stderr = CapturedOutput::default();
        stderr.push(message.as_bytes(), 1_000);
        let output = RunOutput::new(
            Termination::Exited { code: 1 },
            CapturedOutput::default(),
            stderr,
            Duration::ZERO,
            EnforcementReport::new("test"),
        )
        .read_only_paths([PathBuf::from("/work/.git"), PathBuf::from("/work/.npmrc")])
        .withheld_keys([PathBuf::from("/work/.git/config")]);
        let paths = ProgramPaths {
            current_dir: Path::new("/work"),
            skill_dir: None,
            aliases: &[],
            user_home: None,
            input: "",
        };
        read_only_paths(&output, &Refusals::default(), &paths)
    }

    #[test]
    fn a_claimed_write_of_a_protected_path_leads_to_no_rule() {
        let found = blamed("/work/.git/hooks/pre-commit: Read-only file system").unwrap();
        let found = words(found);
        assert!(found.starts_with("`/work/.git/hooks` stayed"), "{found}");
        let found = words(blamed("/work/.git/HEAD.lock: Read-only file system").unwrap());
        assert!(found.starts_with("`/work/.git` stayed"), "{found}");
    }

    #[test]
    fn changed_symlinks_to_keys_are_named_with_their_targets() {
        let report = EnforcementReport::new("test");
        let run = || {
            RunOutput::new(
                Termination::Exited { code: 0 },
                CapturedOutput::default(),
                CapturedOutput::default(),
                Duration::ZERO,
                report.clone(),
            )
        };
        assert_eq!(changed_key_links(&run()), None);
        let links = (0..6).map(|index| ChangedKeyLink::new(format!("/w/{index}/.env"), "/w/real"));
        let finding = changed_key_links(&run().changed_key_links(links.collect())).unwrap();
        assert_eq!(
            words(finding),
            "symlinks to files with keys were removed, renamed or changed during the run: `/w/0/.env` (to `/w/real`), `/w/1/.env` (to `/w/real`), `/w/2/.env` (to `/w/real`), `/w/3/.env` (to `/w/real`) and 2 more; their targets are no longer recognized as files with keys, so later runs can read them"
        );
    }

    #[test]
    fn many_created_files_hide_no_changed_one() {
        let created =
            (0..1_100).map(|index| ExecutedFile::created(format!("/w/!a{index:04}.mk"), "make"));
        let changed = ExecutedFile::changed("/w/sub/package.json", "npm and pnpm");
        let others = (0..25).map(|index| {
            let program: &'static str = Box::leak(format!("program {index:02}").into_boxed_str());
            ExecutedFile::created(format!("/w/x/{index:02}"), program)
        });
        let found = ExecutedFiles::of_search(created.chain([changed]).chain(others));
        let grants = Grants::none();
        let shown = |found| {
            let workspace = (Path::new("/w"), &OutputFiles::default());
            let finding = executed_files(found, Some(workspace), &grants, &Redactor::default());
            finding
                .map(|finding| finding.to_string())
                .unwrap_or_default()
        };
        let text = shown(found.clone());
        let start = "files that other programs execute were created or changed during the run: `sub/package.json` (npm and pnpm), `!a0000.mk`, `!a0001.mk` and 1098 more (make), `x/00` (program 00), ";
        assert!(text.starts_with(start), "{text}");
        assert!(text.ends_with(", 1 file (program 24)"), "{text}");
        assert_eq!(shown(ExecutedFiles::of_search([])), "");
    }

    #[test]
    fn an_incomplete_list_says_so() {
        let mut output = OutputFiles::default();
        let of = |output: &OutputFiles, found| {
            let workspace = Some((Path::new("/w"), output));
            executed_files(found, workspace, &Grants::none(), &Redactor::default())
        };
        assert_eq!(of(&output, ExecutedFiles::default()), None);
        output.is_truncated = true;
        // The backend searched more than the output files.
        assert_eq!(of(&output, ExecutedFiles::of_search([])), None);
        let text = of(&output, ExecutedFiles::default()).unwrap().to_string();
        assert!(text.ends_with("not all files were searched"), "{text}");
    }

    #[test]
    fn a_path_above_a_withheld_key_is_not_the_cause_of_a_failed_read() {
        for message in [
            "unable to access '.git/config': Permission denied",
            "cat: /work/.git/config: Permission denied",
            "/work/.git/config: Read-only file system",
        ] {
            assert_eq!(blamed(message), None, "{message}");
        }
        assert!(blamed("cannot write .git/index: Permission denied").is_some());
    }

    fn home(files: &[&str]) -> Option<FactKind> {
        let mut home = PrivateHome::new("/tmp/home");
        home.files = files.iter().map(ToString::to_string).collect();
        private_home(Some(&home))
    }

    #[test]
    fn files_in_a_private_home_name_the_directories_that_keep_them() {
        assert_eq!(home(&[]), None);
        assert_eq!(home(&[".cache/x/y", ".npm/_logs/a"]), None);
        let found = home(&[
            ".mytool/events.log",
            ".config/mytool/token.json",
            ".cache/x",
            ".claude/projects/a",
            "notes.txt",
            ".toolrc",
            ".aws/config",
            ".pgpass",
            ".cargo/bin/x",
            "bin/ls",
        ]);
        let Some(FactKind::PrivateHome { directories, .. }) = &found else {
            panic!("{found:?}")
        };
        assert_eq!(
            *directories,
            [".config/mytool/", ".mytool/", ".toolrc", "notes.txt"]
        );
        assert_eq!(
            words(found.unwrap()),
            "wrote `~/.aws/config`, `~/.cargo/bin/x`, `~/.claude/projects/a`, `~/.config/mytool/token.json` and 5 more into the private home directory of the run, which is removed"
        );
    }
}
