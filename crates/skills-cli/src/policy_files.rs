//! Rules in files.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use serde::Deserialize;
use skills_runtime::policy::{Effect, Layer, Mode, NewContent, Rule, Target};
use skills_runtime::{Limits, Rules};

use crate::input::{self, InputError};
use crate::state::{PolicyFiles, is_anybodys};

/// The longest file with rules, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// What a file may say.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct File {
    mode: Option<Mode>,
    new_content: Option<NewContent>,
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
    within: Vec<Within>,
    limits: Most,
}

/// Rules for programs below one directory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Within {
    directory: PathBuf,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
}

/// The most that any run may use.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Most {
    time_seconds: Option<u64>,
    memory_mib: Option<u64>,
    output_kib: Option<usize>,
    file_mib: Option<u64>,
    open_files: Option<u64>,
    processes: Option<u64>,
    scratch_mib: Option<u64>,
}

/// The rules of all files, and which files there were.
pub(crate) struct Read {
    pub(crate) rules: Rules,
    pub(crate) files: Vec<(Layer, PathBuf)>,
}

/// Reads the files that there are. The mode, what new content needs, and the limits are those of the user, or of the administrator where the user
/// says nothing; the administrator and the project only make them stricter.
pub(crate) fn read(places: &PolicyFiles, trust_project: bool) -> anyhow::Result<Read> {
    let admin = std::iter::once((Layer::Admin, &places.admin));
    let user = places.user.iter().map(|path| (Layer::User, path));
    let project = places.project.iter().map(|path| (Layer::Project, path));
    let mut rules = Rules::default();
    let (mut files, mut read) = (Vec::new(), Vec::new());
    for (layer, path) in admin.chain(user).chain(project) {
        let Some(file) = one(layer, path)? else { continue };
        for rule in file.rules(layer, path)? {
            rules = rules.rule(rule);
        }
        if file.limits.has_zero() {
            return Err(InputError::new(format!("{}: no limit may be 0, nothing would run", path.display())).into());
        }
        rules = rules.narrow(&file.limits.as_limits());
        files.push((layer, path.clone()));
        read.push((layer, file));
    }
    let chosen = |layer: Layer| read.iter().filter(move |(of, _)| *of == layer).map(|(_, file)| file);
    let mode = chosen(Layer::User).chain(chosen(Layer::Admin)).find_map(|file| file.mode).unwrap_or_default();
    let content = chosen(Layer::User).chain(chosen(Layer::Admin)).find_map(|file| file.new_content).unwrap_or_default();
    let narrowing = || chosen(Layer::Admin).chain(chosen(Layer::Project));
    let mode = narrowing().filter_map(|file| file.mode).fold(mode, stricter);
    let content = narrowing().filter_map(|file| file.new_content).fold(content, more_careful);
    rules = rules.mode(mode).new_content(content);
    Ok(Read { rules: if trust_project { rules.trust_project() } else { rules }, files })
}

/// Reads one file; nothing when there is none.
fn one(layer: Layer, path: &Path) -> anyhow::Result<Option<File>> {
    match path.symlink_metadata() {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(None),
        // A project may have been written by anybody, and leads nowhere else.
        Ok(metadata) if layer == Layer::Project && metadata.is_symlink() => {
            return Err(InputError::new(format!("the rules in {} are a symlink", path.display())).into());
        }
        _ => {}
    }
    // Rules that cannot be read may forbid something.
    let text = input::file_text(path, MAX_BYTES)?;
    if is_anybodys(path) {
        return Err(anyhow!(InputError::new(format!(
            "anybody may change the rules in {}; run `chmod o-w` on it and its directory",
            path.display()
        ))));
    }
    let file = toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        InputError::new(format!("{}:{line}: {}", path.display(), error.message()))
    })?;
    Ok(Some(file))
}

impl File {
    fn rules(&self, layer: Layer, path: &Path) -> anyhow::Result<Vec<Rule>> {
        let mut rules = Vec::new();
        let source = path.display().to_string();
        for (effect, texts) in [(Effect::Allow, &self.allow), (Effect::Ask, &self.ask), (Effect::Deny, &self.deny)] {
            for text in texts {
                rules.extend(parse(effect, layer, text, &source)?);
            }
        }
        for within in &self.within {
            let is_plain = within.directory.is_absolute() && !within.directory.components().any(|part| part == Component::ParentDir);
            if !is_plain {
                let message = format!("{source}: `directory` must be an absolute path without `..`, not {:?}", within.directory);
                return Err(InputError::new(message).into());
            }
            for (effect, texts) in [(Effect::Allow, &within.allow), (Effect::Ask, &within.ask), (Effect::Deny, &within.deny)] {
                for text in texts {
                    let parsed = parse(effect, layer, text, &source)?;
                    rules.extend(spellings(&within.directory).iter().flat_map(|d| parsed.iter().map(move |rule| rule.clone().within(d))));
                }
            }
        }
        Ok(rules)
    }
}

/// Reads a rule; one about a path is about the place as well that the path leads to.
pub(crate) fn parse(effect: Effect, layer: Layer, text: &str, source: &str) -> anyhow::Result<Vec<Rule>> {
    let wrong = |error| InputError::new(format!("{source}: {error}"));
    let mut rules = vec![Rule::parse(effect, layer, text).map_err(wrong)?.source(source)];
    let target: Target = text.parse().map_err(wrong)?;
    for path in target.path().map(spellings).unwrap_or_default().into_iter().skip(1) {
        rules.push(Rule::new(effect, layer, target.with_path(path).map_err(wrong)?).source(source));
    }
    Ok(rules)
}

/// A path as it is written, and where it leads, or would lead if what is missing of it was made.
pub(crate) fn spellings(path: &Path) -> Vec<PathBuf> {
    let mut missing = PathBuf::new();
    for there in path.ancestors() {
        if let Ok(canonical) = there.canonicalize() {
            let leads = if missing.as_os_str().is_empty() { canonical } else { canonical.join(&missing) };
            return if leads == path { vec![leads] } else { vec![path.to_owned(), leads] };
        }
        let Some(name) = there.file_name() else { break };
        missing = if missing.as_os_str().is_empty() { PathBuf::from(name) } else { Path::new(name).join(&missing) };
    }
    vec![path.to_owned()]
}

impl Most {
    fn has_zero(&self) -> bool {
        let counts = [self.time_seconds, self.memory_mib, self.file_mib, self.open_files, self.processes, self.scratch_mib];
        counts.contains(&Some(0)) || self.output_kib == Some(0)
    }

    fn as_limits(&self) -> Limits {
        let mut limits = Limits::ceiling();
        limits.wall_time = self.time_seconds.map_or(limits.wall_time, Duration::from_secs);
        limits.memory_bytes = self.memory_mib.map_or(limits.memory_bytes, |mib| mib.saturating_mul(1 << 20));
        limits.output_bytes = self.output_kib.map_or(limits.output_bytes, |kib| kib.saturating_mul(1 << 10));
        limits.file_bytes = self.file_mib.map_or(limits.file_bytes, |mib| mib.saturating_mul(1 << 20));
        limits.open_files = self.open_files.unwrap_or(limits.open_files);
        limits.processes = self.processes.unwrap_or(limits.processes);
        limits.scratch_bytes = self.scratch_mib.map_or(limits.scratch_bytes, |mib| mib.saturating_mul(1 << 20));
        limits
    }
}

fn stricter(a: Mode, b: Mode) -> Mode {
    let rank = |mode| [Mode::Strict, Mode::Ask, Mode::Trusted].iter().position(|known| *known == mode);
    if rank(b) < rank(a) { b } else { a }
}

fn more_careful(a: NewContent, b: NewContent) -> NewContent {
    let rank = |content| [NewContent::Ask, NewContent::AskWithPower, NewContent::Allow].iter().position(|known| *known == content);
    if rank(b) < rank(a) { b } else { a }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests {
    use std::fs;

    use super::*;

    fn files(admin: &str, user: &str, project: &str) -> (tempfile::TempDir, PolicyFiles) {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str, text: &str| {
            let path = directory.path().join(name);
            if !text.is_empty() {
                fs::write(&path, text).unwrap();
            }
            path
        };
        let files = PolicyFiles { admin: place("admin", admin), user: Some(place("user", user)), project: vec![place("project", project)] };
        (directory, files)
    }

    fn told(admin: &str, user: &str, project: &str) -> String {
        let (directory, files) = files(admin, user, project);
        let told = match read(&files, false) {
            Ok(read) => {
                let rules = read.rules.rules().iter().map(|rule| format!("{rule}\n"));
                format!("{}{:?}", rules.collect::<String>(), read.rules.undecided())
            }
            Err(error) => format!("{error:#}"),
        };
        told.replace(&directory.path().display().to_string(), "DIR")
    }

    #[test]
    fn layers_are_read_in_their_order() {
        let user = "mode = \"trusted\"\nallow = [\"spawn:git\"]\n[[within]]\ndirectory = \"/skills/weather\"\nallow = [\"network:api.example.com\"]\n";
        insta::assert_snapshot!(told("deny = [\"network:*.internal\"]", user, "mode = \"ask\"\nask = [\"write\"]"), @r"
        allow read (built-in)
        deny network:*.internal (admin, DIR/admin)
        allow spawn:git (user, DIR/user)
        allow network:api.example.com within /skills/weather (user, DIR/user)
        ask write (project, DIR/project)
        Ask
        ");
        assert!(told("", "", "mode = \"trusted\"").ends_with("Ask"), "a project does not trust itself");
        assert!(told("mode = \"strict\"", user, "").ends_with("Strict"));
        assert!(told("", "", "").ends_with("Ask"));
    }

    #[test]
    fn the_example_of_the_documentation_is_read() {
        let page = include_str!("../../../docs/policy.md");
        let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let (_directory, files) = files("", example, "");
        let read = read(&files, false).unwrap();
        assert_eq!((read.files.len(), read.rules.rules().len()), (1, 5));
    }

    #[test]
    fn mistakes_are_named_with_file_and_line() {
        insta::assert_snapshot!(told("", "allow = [\"spawn\"]\nalow = []", ""), @"DIR/user:2: unknown field `alow`, expected one of `mode`, `new-content`, `allow`, `ask`, `deny`, `within`, `limits`");
        insta::assert_snapshot!(told("", "allow = [\"exec:x\"]", ""), @r#"DIR/user: "exec:x" is no permission: write `read`, `write`, `spawn`, `network` or `env`, and perhaps `:` and what of it"#);
        insta::assert_snapshot!(told("", "[[within]]\ndirectory = \"x\"", ""), @r#"DIR/user: `directory` must be an absolute path without `..`, not "x""#);
        insta::assert_snapshot!(told("", "allow = [", ""), @"DIR/user:1: unclosed array, expected `]`");
    }

    #[cfg(unix)]
    #[test]
    fn a_rule_about_a_symlink_is_about_what_it_leads_to() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap().join("real");
        fs::create_dir(&real).unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let rules = parse(Effect::Deny, Layer::User, &format!("read:{}", link.display()), "x").unwrap();
        assert!(rules.iter().any(|rule| rule.to_string() == format!("deny read:{} (user, x)", real.display())), "{rules:?}");
        let rules = parse(Effect::Deny, Layer::User, &format!("write:{}/not/yet", link.display()), "x").unwrap();
        assert!(rules.iter().any(|rule| rule.to_string() == format!("deny write:{}/not/yet (user, x)", real.display())), "{rules:?}");
    }

    /// Somebody else's project must not stop the command, or fill the memory.
    #[cfg(unix)]
    #[test]
    fn rules_of_a_project_are_small_regular_files() {
        let (directory, files) = files("", "", "");
        let project = directory.path().join("project");
        std::os::unix::fs::symlink("/dev/zero", &project).unwrap();
        assert!(read(&files, false).is_err());
        fs::remove_file(&project).unwrap();
        nix::unistd::mkfifo(&project, nix::sys::stat::Mode::S_IRUSR).unwrap();
        assert!(read(&files, false).is_err());
        fs::remove_file(&project).unwrap();
        fs::write(&project, " ".repeat(2 << 20)).unwrap();
        assert!(read(&files, false).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn rules_that_anybody_may_change_are_refused() {
        use std::os::unix::fs::PermissionsExt;
        let (_directory, files) = files("", "allow = []", "");
        fs::set_permissions(files.user.as_ref().unwrap(), fs::Permissions::from_mode(0o666)).unwrap();
        assert!(read(&files, false).is_err());
    }
}
