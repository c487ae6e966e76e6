//! Loads the policy files of administrator, user and project.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use skills_runtime::Policy;
use skills_runtime::discovery::Trust;
use skills_runtime::policy::{Effect, PolicyFile, RecordMode, Rule, RuleSource};
use skills_store::trusted_file::{self, Privacy};

use crate::error::CommandError;
use crate::input;
use crate::state::PolicyPaths;

/// Maximum size of a policy file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The policy of all files, and the files that exist.
pub(crate) struct LoadedPolicy {
    pub(crate) rules: Policy,
    pub(crate) files: Vec<(RuleSource, PathBuf)>,
}

/// Reads the policy files that exist. The approval mode, the rule for new content and the limits
/// are those of the user, else of the administrator. The administrator and the project can only
/// make them stricter.
pub(crate) fn load(paths: &PolicyPaths, project_trust: Trust) -> anyhow::Result<LoadedPolicy> {
    let admin = std::iter::once((RuleSource::Admin, &paths.admin));
    let user = paths.user.iter().map(|path| (RuleSource::User, path));
    let project = paths.project.iter().map(|path| (RuleSource::Project, path));
    let mut files = Vec::new();
    let mut parsed = Vec::new();
    for (source, path) in admin.chain(user).chain(project) {
        let Some(file) = read_file(source, path, project_trust)? else {
            continue;
        };
        // A rule for a symlink must also apply to its target, which is the path that a decision is
        // about.
        let file = file.expand_rules(expand_spellings)?;
        parsed.push(file.expand_sandboxes(path_spellings));
        files.push((source, path.clone()));
    }
    let rules = Policy::from_files(&parsed);
    Ok(LoadedPolicy {
        rules: match project_trust {
            Trust::Trusted => rules.trust_project(),
            _ => rules,
        },
        files,
    })
}

/// Returns the policy file of the administrator or of a project that requires audit records: no file
/// of the user makes them optional then.
pub(crate) fn requiring_records(paths: &PolicyPaths) -> Option<PathBuf> {
    let admin = std::iter::once((RuleSource::Admin, &paths.admin));
    let project = paths.project.iter().map(|path| (RuleSource::Project, path));
    let required = Some(RecordMode::Required);
    let requires = |(source, path): &(RuleSource, &PathBuf)| {
        let file = read_file(*source, path, Trust::Untrusted).ok().flatten();
        file.is_some_and(|file| file.record() == required)
    };
    admin
        .chain(project)
        .find(requires)
        .map(|(_, path)| path.clone())
}

/// Reads one policy file. Returns `None` if it does not exist.
fn read_file(
    source: RuleSource,
    path: &Path,
    project_trust: Trust,
) -> anyhow::Result<Option<PolicyFile>> {
    let text = read_source_file(source, path, "policy file", project_trust)?;
    let Some(text) = text else {
        return Ok(None);
    };
    let file = PolicyFile::parse(&text, source, &path.display().to_string());
    Ok(Some(file.map_err(|error| {
        let failed = CommandError::input(error.to_string());
        match error.suggestion() {
            Some(suggestion) => failed.with_help(format!("did you mean `{suggestion}`?")),
            None => failed,
        }
    })?))
}

/// Reads a file of an administrator, a user or a project, which messages call `kind`. Returns
/// `None` if it does not exist.
///
/// # Errors
/// Fails if the file cannot be read, or if another user can change it, and so add an `allow` rule. The
/// files of a project that is not trusted can only restrict, so other users may change them: no user gains
/// by it, and the project can be in a directory of all users, as on a build server.
pub(crate) fn read_source_file(
    source: RuleSource,
    path: &Path,
    kind: &str,
    project_trust: Trust,
) -> anyhow::Result<Option<String>> {
    match path.symlink_metadata() {
        // `/etc/skills` or `.skills` can be a file, which then contains no policy.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        // A project is not trusted, so its file must not point to another file.
        Ok(metadata) if source == RuleSource::Project && metadata.is_symlink() => {
            return Err(CommandError::input(format!(
                "cannot read the {kind} `{}`: it is a symlink",
                path.display()
            ))
            .into());
        }
        _ => {}
    }
    // An unreadable policy could contain `deny` rules, so it is an error.
    if source == RuleSource::Project && project_trust != Trust::Trusted {
        return Ok(Some(input::read_text_file(path, MAX_BYTES)?));
    }
    let bytes = trusted_file::read(path, MAX_BYTES, Privacy::Readable)?;
    Ok(Some(input::decode_utf8(path, bytes)?))
}

/// Returns a rule for each spelling of its path and of the directory that it is restricted to: a
/// rule about a path also applies to the resolved path. A rule that allows a path applies to the
/// resolved path only.
pub(crate) fn expand_spellings(rule: &Rule) -> anyhow::Result<Vec<Rule>> {
    let mut all = vec![rule.clone()];
    let paths = rule.target().path().map(path_spellings).unwrap_or_default();
    for path in paths.into_iter().skip(1) {
        // What a rule allows is also requested, and a path with a symlink is never granted.
        if rule.effect() == Effect::Allow {
            all.clear();
        }
        let target = rule.target().with_path(path);
        let target = target.map_err(|error| CommandError::input(format!("{rule}: {error}")))?;
        all.push(rule.with_target(target));
    }
    // The directory of a skill is compared after resolving, and users write the path they know.
    let directories = rule.directory().map(path_spellings).unwrap_or_default();
    if directories.is_empty() {
        return Ok(all);
    }
    let within = |rule: &Rule| {
        directories
            .iter()
            .map(|directory| rule.clone().within(directory))
            .collect::<Vec<_>>()
    };
    Ok(all.iter().flat_map(within).collect())
}

/// Returns a path as written, and its canonical path if it differs. Missing components are kept as
/// written.
pub(crate) fn path_spellings(path: &Path) -> Vec<PathBuf> {
    // The file need not exist yet, so the longest existing parent is resolved.
    for existing in path.ancestors() {
        if let (Ok(canonical), Ok(missing)) = (existing.canonicalize(), path.strip_prefix(existing))
        {
            let resolved: PathBuf = canonical.components().chain(missing.components()).collect();
            if resolved == path {
                break;
            }
            return vec![path.to_owned(), resolved];
        }
        // `..` after a missing directory cannot be resolved.
        if existing.file_name().is_none() {
            break;
        }
    }
    vec![path.to_owned()]
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests {
    use std::fs;

    use super::*;

    fn files(admin: &str, user: &str, project: &str) -> (tempfile::TempDir, PolicyPaths) {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            if !text.is_empty() {
                fs::write(&path, text).unwrap();
            }
            path
        };
        let files = PolicyPaths {
            admin: write("admin", admin),
            user: Some(write("user", user)),
            project: vec![write("project", project)],
        };
        (directory, files)
    }

    fn describe(admin: &str, user: &str, project: &str) -> String {
        let (directory, files) = files(admin, user, project);
        let text = match load(&files, Trust::Untrusted) {
            Ok(read) => {
                let rules = read.rules.rules().iter().map(|rule| format!("{rule}\n"));
                format!("{}{:?}", rules.collect::<String>(), read.rules.mode())
            }
            Err(error) => format!("{error:#}"),
        };
        text.replace(&directory.path().display().to_string(), "DIR")
    }

    #[test]
    fn policy_files_are_read_in_the_order_of_their_sources() {
        let user = "mode = \"trusted\"\nallow = [\"spawn:git\"]\n[[within]]\ndirectory = \"/skills/weather\"\nallow = [\"network:api.example.com\"]\n";
        insta::assert_snapshot!(describe("deny = [\"network:*.internal\"]", user, "mode = \"ask\"\nask = [\"write\"]"), @r"
        allow read (built-in)
        deny network:*.internal (admin, DIR/admin)
        allow spawn:git (user, DIR/user)
        allow network:api.example.com within /skills/weather (user, DIR/user)
        ask write (project, DIR/project)
        Ask
        ");
        assert!(
            describe("", "", "mode = \"trusted\"").ends_with("Ask"),
            "a project does not trust itself"
        );
        assert!(describe("mode = \"strict\"", user, "").ends_with("Strict"));
        assert!(describe("", "", "").ends_with("Ask"));
    }

    #[test]
    fn the_example_in_the_documentation_is_valid() {
        let page = include_str!("../../../docs/policy.md");
        let example = page
            .split("```toml\n")
            .nth(1)
            .and_then(|rest| rest.split("```").next())
            .unwrap();
        let (_directory, files) = files("", example, "");
        let read = load(&files, Trust::Untrusted).unwrap();
        assert_eq!((read.files.len(), read.rules.rules().len()), (1, 5));
    }

    #[test]
    fn errors_have_file_and_line() {
        insta::assert_snapshot!(describe("", "allow = [\"spawn\"]\nalow = []", ""), @"DIR/user:2: unknown field `alow`, expected one of `mode`, `new-content`, `allow`, `ask`, `deny`, `refuse-missing-requirements`, `record`, `sources`, `require-signature`, `signature-keys`, `signature-identities`, `sigstore-trusted-root`, `require-sandbox`, `within`, `limits`");
        insta::assert_snapshot!(describe("", "allow = [\"exec:x\"]", ""), @"DIR/user:1: invalid permission `exec:x`: expected `read`, `write`, `spawn`, `network`, `env` or `packages`, optionally followed by `:VALUE`");
        insta::assert_snapshot!(describe("", "[[within]]\ndirectory = \"x\"", ""), @"DIR/user:2: invalid `directory` `x`: expected an absolute path without `..`");
        insta::assert_snapshot!(describe("", "allow = [", ""), @"DIR/user:1: unclosed array, expected `]`");
    }

    #[cfg(unix)]
    #[test]
    fn a_rule_about_a_symlink_applies_to_its_target() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap().join("real");
        fs::create_dir(&real).unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let expand = |text: String| {
            let rule = Rule::parse(Effect::Deny, RuleSource::User, &text).unwrap();
            expand_spellings(&rule.origin("x")).unwrap()
        };
        let rules = expand(format!("read:{}", link.display()));
        assert!(
            rules
                .iter()
                .any(|rule| rule.to_string() == format!("deny read:{} (user, x)", real.display())),
            "{rules:?}"
        );
        let allowed = Rule::parse(
            Effect::Allow,
            RuleSource::User,
            &format!("read:{}", link.display()),
        );
        let allowed = expand_spellings(&allowed.unwrap()).unwrap();
        assert_eq!(allowed.len(), 1, "a path with a symlink is never granted");
        let rules = expand(format!("write:{}/not/yet", link.display()));
        assert!(
            rules.iter().any(|rule| rule.to_string()
                == format!("deny write:{}/not/yet (user, x)", real.display())),
            "{rules:?}"
        );
    }

    /// An untrusted project must not block the command or exhaust memory.
    #[cfg(unix)]
    #[test]
    fn project_policies_must_be_small_regular_files() {
        let (directory, files) = files("", "", "");
        let project = directory.path().join("project");
        std::os::unix::fs::symlink("/dev/zero", &project).unwrap();
        assert!(load(&files, Trust::Untrusted).is_err());
        fs::remove_file(&project).unwrap();
        nix::unistd::mkfifo(&project, nix::sys::stat::Mode::S_IRUSR).unwrap();
        assert!(load(&files, Trust::Untrusted).is_err());
        fs::remove_file(&project).unwrap();
        fs::write(&project, " ".repeat(2 << 20)).unwrap();
        assert!(load(&files, Trust::Untrusted).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn world_writable_policies_are_rejected() {
        use std::os::unix::fs::PermissionsExt;
        let (_directory, files) = files("", "allow = []", "");
        fs::set_permissions(
            files.user.as_ref().unwrap(),
            fs::Permissions::from_mode(0o666),
        )
        .unwrap();
        assert!(load(&files, Trust::Untrusted).is_err());
    }
}
