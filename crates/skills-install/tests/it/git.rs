//! Repositories, served by git itself on loopback.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use skills_install::{
    Action, Fetcher, GitOptions, InstallErrorKind, LocalEdits, SourceSpec, TrustChange,
};

use crate::fixture::{Fixture, git_program, skill_text, words};

/// Runs git in a directory, without configuration of the user.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new(git_program().unwrap())
        .current_dir(directory)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Makes a repository of the files in `repository`, and returns its commit.
pub(crate) fn commit_at(fixture: &Fixture, seconds: &str) -> String {
    let directory = fixture.path("repository");
    if !directory.join(".git").exists() {
        git(&directory, &["init", "--quiet", "-b", "main"]);
        git(&directory, &["config", "uploadpack.allowFilter", "true"]);
        git(
            &directory,
            &["config", "uploadpack.allowAnySHA1InWant", "true"],
        );
    }
    git(&directory, &["add", "-A"]);
    let date = format!("@{seconds} +0000");
    let output = Command::new(git_program().unwrap())
        .current_dir(&directory)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(["commit", "--quiet", "--allow-empty", "-m", "change"])
        .env("GIT_COMMITTER_DATE", &date)
        .env("GIT_AUTHOR_DATE", &date)
        .output()
        .unwrap();
    assert!(output.status.success());
    git(&directory, &["rev-parse", "HEAD"])
}

/// `git daemon` on a free port, ended on drop.
struct Daemon {
    child: Child,
    port: u16,
}

impl Daemon {
    fn start(fixture: &Fixture) -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let child = Command::new(git_program().unwrap())
            .args([
                "daemon",
                "--listen=127.0.0.1",
                "--export-all",
                "--reuseaddr",
            ])
            .arg(format!("--port={port}"))
            .arg(format!("--base-path={}", fixture.path("").display()))
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "safe.directory")
            .env("GIT_CONFIG_VALUE_0", "*")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut daemon = Self { child, port };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                daemon.child.try_wait().unwrap().is_none(),
                "git daemon has ended"
            );
            std::thread::yield_now();
        }
        daemon
    }

    fn spec(&self, rest: &str) -> SourceSpec {
        let text = format!("git://127.0.0.1:{}/repository/.git{rest}", self.port);
        text.parse().unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // `git` ends its child, which listens, at this signal. Those that serve connections end with
        // their clients.
        if let Some(pid) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

fn insecure_fetcher() -> Fetcher {
    Fetcher::new(GitOptions::new(git_program().unwrap()).allow_insecure())
}

fn has_git() -> bool {
    match git_program() {
        Ok(_) => true,
        Err(reason) => {
            skills_test_support::skip(reason);
            false
        }
    }
}

#[test]
fn skills_of_a_served_repository_are_installed_at_one_commit() {
    if !has_git() {
        return;
    }
    let fixture = Fixture::new();
    fixture
        .skill("repository/skills/a", "")
        .executable("repository/skills/a/scripts/run.sh", "echo 1")
        .skill("repository/skills/b", "")
        .file("repository/big.bin", vec![7; 100_000]);
    fixture.symlink("scripts/run.sh", "repository/skills/a/run");
    // Filters and attributes of a repository apply to a checkout only.
    fixture.file(
        "repository/.gitattributes",
        "* filter=evil ident text eol=crlf\n",
    );
    let commit = commit_at(&fixture, "1000");
    let daemon = Daemon::start(&fixture);
    let mut store = fixture.store();
    let plan = store
        .plan_add(
            &insecure_fetcher(),
            &daemon.spec("//skills"),
            &[],
            LocalEdits::Refuse,
            &words,
        )
        .unwrap();
    store.apply(plan).unwrap();
    let locked = &store.lock_file().skills()["a"];
    assert_eq!(locked.revision(), Some(format!("git:{commit}").as_str()));
    assert_eq!(locked.source().path().as_str(), "skills/a");
    assert_eq!(fixture.states(), ["a unchanged", "b unchanged"]);
    assert_eq!(fixture.read("skills/a/run"), "echo 1");
    assert_eq!(
        fixture.read("skills/a/SKILL.md"),
        fixture.read("repository/skills/a/SKILL.md")
    );
}

/// Selected is by the name in `SKILL.md`, which need not be that of the directory.
#[test]
fn skills_are_selected_by_their_names() {
    if !has_git() {
        return;
    }
    let fixture = Fixture::new();
    for (directory, name) in [("pdf", "docx"), ("docx", "pdf"), ("rules", "react-rules")] {
        fixture.file(
            &format!("repository/{directory}/SKILL.md"),
            skill_text(name, ""),
        );
        fixture.file(&format!("repository/{directory}/own.txt"), directory);
    }
    fixture.file("repository/broken/SKILL.md", "no frontmatter");
    let spec = local_repository(&fixture);
    let add = |source: &str, name: &str| {
        let mut store = fixture.store();
        let spec = fixture.spec(source);
        let names = [name.to_owned()];
        let plan = store.plan_add(
            &insecure_fetcher(),
            &spec,
            &names,
            LocalEdits::Refuse,
            &words,
        )?;
        store.apply(plan)
    };
    add(&spec, "pdf").unwrap();
    assert_eq!(fixture.read("skills/pdf/own.txt"), "docx");
    add(&spec, "react-rules").unwrap();
    assert_eq!(fixture.read("skills/react-rules/own.txt"), "rules");
    assert_eq!(fixture.states(), ["pdf unchanged", "react-rules unchanged"]);
    for source in [&spec, "./repository"] {
        let error = add(source, "rules").unwrap_err();
        let help = error.help().unwrap();
        assert_eq!(
            help, "available: a, broken, docx, pdf, react-rules; write one of them after `--skill`",
            "{error}"
        );
        assert!(add(source, "broken").is_err());
    }
}

#[test]
fn branches_tags_and_commits_select_a_version() {
    if !has_git() {
        return;
    }
    let fixture = Fixture::new();
    fixture.skill("repository/a", "");
    let first = commit_at(&fixture, "1000");
    git(&fixture.path("repository"), &["tag", "v1.0"]);
    fixture.skill("repository/a", "license: MIT\n");
    commit_at(&fixture, "2000");
    let source = |rest: &str| format!("git+{}/.git{rest}", fixture.path("repository").display());
    for (rest, license) in [
        ("", Some("MIT")),
        ("#main", Some("MIT")),
        ("#v1.0", None),
        (&format!("#{first}"), None),
    ] {
        let (_, plan) = fixture.plan(&source(rest)).unwrap();
        assert_eq!(plan.changes()[0].locked().license(), license, "{rest}");
    }
    let error = fixture.add(&source("#v2.0")).unwrap_err();
    assert_eq!(
        error.help().as_deref(),
        Some("check the branch or tag after `#`")
    );
}

/// The content is the same, but later updates follow another version.
#[test]
fn a_kept_skill_with_another_version_in_its_source_is_a_change() {
    if !has_git() {
        return;
    }
    let fixture = Fixture::new();
    let source = local_repository(&fixture);
    git(&fixture.path("repository"), &["tag", "v1.0"]);
    fixture.add(&format!("{source}#v1.0")).unwrap();
    for (reference, from) in [
        ("", Some("#v1.0")),
        ("#main", Some("#v1.0")),
        ("#v1.0", None),
    ] {
        let (_, plan) = fixture.plan(&format!("{source}{reference}")).unwrap();
        let moved_from = plan.changes()[0].moved_from().map(ToString::to_string);
        assert_eq!(plan.is_empty(), from.is_none(), "{reference}");
        assert_eq!(
            moved_from.is_some_and(|source| source.contains("#v1.0")),
            from.is_some(),
            "{reference}"
        );
    }
}

#[test]
fn an_older_commit_and_a_moved_tag_need_a_person() {
    if !has_git() {
        return;
    }
    let fixture = Fixture::new();
    fixture.skill("repository/a", "");
    commit_at(&fixture, "2000");
    let repository = fixture.path("repository");
    git(&repository, &["tag", "v1.0"]);
    let source = |rest: &str| format!("git+{}/.git{rest}", repository.display());
    fixture.add(&source("#v1.0")).unwrap();

    fixture.skill("repository/a", "license: MIT\n");
    commit_at(&fixture, "3000");
    git(&repository, &["tag", "-f", "v1.0"]);
    let (_, plan) = fixture.plan(&source("#v1.0")).unwrap();
    let change = &plan.changes()[0];
    assert_eq!(change.action(), Action::Update);
    assert_eq!(
        change.trust_changes(),
        [TrustChange::Replaced("v1.0".to_owned())]
    );

    git(&repository, &["checkout", "--quiet", "--orphan", "other"]);
    commit_at(&fixture, "1000");
    let (_, plan) = fixture.plan(&source("#other")).unwrap();
    let change = &plan.changes()[0];
    assert_eq!(change.trust_changes(), [TrustChange::Downgrade]);
    assert!(change.needs_person());
}

#[test]
fn what_a_repository_can_contain_but_a_skill_cannot_is_refused() {
    if !has_git() {
        return;
    }
    let fixture = Fixture::new();
    fixture.skill("repository/a", "").skill("repository/b", "");
    fixture.symlink("/etc/passwd", "repository/a/passwd");
    commit_at(&fixture, "1000");
    let repository = fixture.path("repository");
    let source = |rest: &str| format!("git+{}/.git{rest}", repository.display());
    let error = fixture.add(&source("//a")).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Unsafe, "{error}");
    // The rest of the repository does not matter.
    fixture.add(&source("//b")).unwrap();

    let commit = git(&repository, &["rev-parse", "HEAD"]);
    let submodule = format!("160000,{commit},b/module");
    git(
        &repository,
        &["update-index", "--add", "--cacheinfo", &submodule],
    );
    git(&repository, &["commit", "--quiet", "-m", "submodule"]);
    let error = fixture.add(&source("//b")).unwrap_err();
    assert!(error.to_string().contains("submodule"), "{error}");
}

#[test]
fn a_skill_that_is_a_submodule_is_named_with_its_source() {
    if !has_git() {
        return;
    }
    let fixture = Fixture::new();
    fixture.file("repository/README.md", "");
    let commit = commit_at(&fixture, "1000");
    let repository = fixture.path("repository");
    let add = |path: &str| {
        let submodule = format!("160000,{commit},{path}");
        git(
            &repository,
            &["update-index", "--add", "--cacheinfo", &submodule],
        );
    };
    let help = |modules: &str| {
        fixture.file("repository/.gitmodules", modules);
        git(&repository, &["add", ".gitmodules"]);
        git(&repository, &["commit", "--quiet", "-m", "submodule"]);
        let source = format!("git+{}/.git", repository.display());
        let error = fixture.add(&source).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Skill, "{error}");
        error.help().unwrap()
    };
    add("skills/deep");
    let module = |url: &str| {
        format!(
            "[include]\n\tpath = /etc/passwd\n[submodule \"a.b\"]\n\tpath = skills/deep\n\turl = {url}\n"
        )
    };
    let named = "`skills/deep` is a submodule";
    assert_eq!(
        help(&module("https://git.example/deep.git")),
        format!("{named}, which is not fetched; add `git+https://git.example/deep.git#{commit}`")
    );
    // What is not a source is not a suggestion, and nothing of it is started.
    for url in ["../deep.git", "ext::sh -c id", "--upload-pack=id"] {
        assert_eq!(
            help(&module(url)),
            format!("{named}, commit {commit} of `{url}`, which is not fetched")
        );
    }
    for modules in [
        "",
        "not a configuration [",
        "[submodule \"a\"]\n\turl = https://git.example/a\n",
    ] {
        assert_eq!(help(modules), format!("{named}, which is not fetched"));
    }
    ["b", "c", "d", "e"].into_iter().for_each(add);
    let help = help(&"# a comment\n".repeat(100_000));
    assert!(help.ends_with("; and 2 more") && help.len() < 300, "{help}");
}

/// Writes an object of git, also one that git itself would not make, and returns its name.
fn write_object(repository: &Path, kind: &str, content: &[u8]) -> String {
    let mut child = Command::new(git_program().unwrap())
        .current_dir(repository)
        .args(["hash-object", "-t", kind, "-w", "--literally", "--stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(content).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Writes a tree with these entries, in this order.
fn write_tree(repository: &Path, entries: &[(&str, &str, &str)]) -> String {
    let mut content = Vec::new();
    for (mode, name, object) in entries {
        content.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        content.extend(hex::decode(object).unwrap());
    }
    write_object(repository, "tree", &content)
}

#[test]
fn a_git_tree_with_one_name_twice_is_refused() {
    if !has_git() {
        return;
    }
    let fixture = Fixture::new();
    fixture.skill("repository/a", "");
    commit_at(&fixture, "1000");
    let repository = fixture.path("repository");
    let source = format!("git+{}/.git//a", repository.display());
    let skill = git(&repository, &["rev-parse", "HEAD:a/SKILL.md"]);
    let other = write_object(&repository, "blob", b"id\n");
    let only_skill = write_tree(&repository, &[("100644", "SKILL.md", &skill)]);
    let only_other = write_tree(&repository, &[("100644", "run", &other)]);
    let commit = git(&repository, &["rev-parse", "HEAD"]);
    let file = ("100644", "SKILL.md", skill.as_str());
    let with = |second: (&str, &str, &str)| {
        let tree = write_tree(&repository, &[file, second]);
        write_tree(&repository, &[("40000", "a", &tree)])
    };
    let install = |root: &str| {
        let commit = git(&repository, &["commit-tree", root, "-m", "change"]);
        git(&repository, &["update-ref", "refs/heads/main", &commit]);
        fixture.add(&source).map(drop)
    };
    for (case, root) in [
        ("two files", with(("100644", "SKILL.md", &other))),
        ("file and program", with(("100755", "SKILL.md", &other))),
        ("file and symlink", with(("120000", "SKILL.md", &other))),
        ("file and submodule", with(("160000", "SKILL.md", &commit))),
        (
            "file and directory",
            with(("40000", "SKILL.md", &only_other)),
        ),
        ("other case", with(("100644", "Skill.MD", &other))),
        (
            "two directories",
            write_tree(
                &repository,
                &[("40000", "a", &only_skill), ("40000", "a", &only_other)],
            ),
        ),
        (
            "elsewhere",
            write_tree(
                &repository,
                &[
                    ("40000", "a", &only_skill),
                    ("100644", "b", &other),
                    ("100644", "b", &skill),
                ],
            ),
        ),
    ] {
        let error = install(&root).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Unsafe, "{case}: {error}");
    }
    // Composed and decomposed, which some file systems cannot tell apart.
    let composed = write_tree(
        &repository,
        &[
            file,
            ("100644", "\u{e9}.md", &other),
            ("100644", "e\u{301}.md", &other),
        ],
    );
    let error = install(&write_tree(&repository, &[("40000", "a", &composed)])).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Unsafe, "{error}");
    install(&with(("100644", "run", &other))).unwrap();
}

#[test]
fn hooks_and_other_protocols_never_run_a_program() {
    if !has_git() {
        return;
    }
    let fixture = Fixture::new();
    fixture.skill("repository/a", "");
    commit_at(&fixture, "1000");
    let daemon = Daemon::start(&fixture);
    // Plain `git:` authenticates no server.
    let mut store = fixture.store();
    let safe = Fetcher::new(GitOptions::new(git_program().unwrap()));
    let error = store
        .plan_add(&safe, &daemon.spec(""), &[], LocalEdits::Refuse, &words)
        .unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Fetch, "{error}");
    assert!(
        error.help().unwrap().contains("authenticate no server"),
        "{error}"
    );
    drop(store);
    // A hook of the user's template would run in the new repository.
    let ran = fixture.path("ran");
    let hook = format!("#!/bin/sh\ntouch {}\n", ran.display());
    for name in ["post-checkout", "reference-transaction", "post-merge"] {
        fixture.executable(&format!("repository/.git/hooks/{name}"), &hook);
    }
    fixture
        .add(&format!(
            "git+{}/.git",
            fixture.path("repository").display()
        ))
        .unwrap();
    assert!(!ran.exists());
}

#[test]
fn a_repository_larger_than_the_limit_is_not_fetched() {
    if !has_git() {
        return;
    }
    let fixture = Fixture::new();
    fixture.skill("repository/a", "").skill("repository/b", "");
    commit_at(&fixture, "1000");
    let mut limits = skills_install::FetchLimits::default();
    limits.max_entries = 1;
    let fetcher = insecure_fetcher().limits(limits);
    let spec = fixture.spec(&format!(
        "git+{}/.git",
        fixture.path("repository").display()
    ));
    let mut store = fixture.store();
    let error = store
        .plan_add(&fetcher, &spec, &[], LocalEdits::Refuse, &words)
        .unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Limit, "{error}");
}

#[test]
fn every_tag_names_one_version() {
    if !has_git() {
        return;
    }
    let fixture = Fixture::new();
    fixture.skill("repository/a", "");
    commit_at(&fixture, "1000");
    let repository = fixture.path("repository");
    git(&repository, &["tag", "stable"]);
    git(&repository, &["branch", "v1.0"]);
    let source = |rest: &str| format!("git+{}/.git{rest}", repository.display());
    let replaced = [TrustChange::Replaced("stable".to_owned())];
    fixture.add(&source("#stable")).unwrap();

    fixture.skill("repository/a", "license: MIT\n");
    commit_at(&fixture, "2000");
    git(&repository, &["tag", "-f", "stable"]);
    let (_, plan) = fixture.plan(&source("#stable")).unwrap();
    assert_eq!(plan.changes()[0].trust_changes(), replaced);

    // A branch takes the place of the tag.
    git(&repository, &["tag", "-d", "stable"]);
    git(&repository, &["branch", "stable"]);
    let (_, plan) = fixture.plan(&source("#stable")).unwrap();
    assert_eq!(plan.changes()[0].trust_changes(), replaced);

    // A branch moves, whatever its name is.
    let fixture_branch = Fixture::new();
    fixture_branch.add(&source("#v1.0")).unwrap();
    git(&repository, &["branch", "-f", "v1.0", "main"]);
    let (_, plan) = fixture_branch.plan(&source("#v1.0")).unwrap();
    assert_eq!(plan.changes()[0].action(), Action::Update);
    assert!(!plan.changes()[0].needs_person());
}

/// Writes a program `git` that runs `script` for a command, and the real one for others. Its
/// arguments, working directory and mode of that are in `git.log`.
fn scripted_git(fixture: &Fixture, command: &str, script: &str) -> std::path::PathBuf {
    let text = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$* $(stat -c '%a %n' \"$PWD\")\" >> '{}'\n\
         case \" $* \" in *' {command} '*) {script};; esac\nexec '{}' \"$@\"\n",
        fixture.path("git.log").display(),
        git_program().unwrap().display()
    );
    fixture.executable("git", &text);
    fixture.path("git")
}

/// Makes a repository with one skill, and returns its source.
fn local_repository(fixture: &Fixture) -> String {
    fixture.skill("repository/a", "");
    commit_at(fixture, "1000");
    format!("git+{}/.git", fixture.path("repository").display())
}

#[test]
fn endless_output_of_git_and_a_git_that_hangs_are_stopped() {
    if !has_git() {
        return;
    }
    let fixture = Fixture::new();
    let source = local_repository(&fixture);
    let name = "100644 blob 0000000000000000000000000000000000000000\ta/";
    let endless = format!("awk 'BEGIN {{ for (;;) printf \"{name}%d%c\", i++, 0 }}'; exit 0");
    for (command, script, limit) in [
        ("ls-tree", endless.as_str(), "200000 files and directories"),
        ("ls-tree", "exec sleep 100", "2 seconds of a download"),
        ("rev-list", "exec sleep 100", "2 seconds of a download"),
        ("cat-file", "exec sleep 100", "2 seconds of a download"),
        // A child that outlives git keeps its pipes open.
        ("fetch", "sleep 100 & wait", "2 seconds of a download"),
    ] {
        let mut limits = skills_install::FetchLimits::default();
        if script.contains("sleep") {
            limits.timeout = std::time::Duration::from_secs(2);
        }
        let program = scripted_git(&fixture, command, script);
        let fetcher = Fetcher::new(GitOptions::new(program)).limits(limits);
        let error = fixture.add_with(&fetcher, &source).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Limit, "{command}: {error}");
        assert!(error.to_string().contains(limit), "{command}: {error}");
    }
}

#[test]
fn a_repository_is_fetched_in_a_private_directory() {
    if !has_git() {
        return;
    }
    let fixture = Fixture::new();
    fixture.file("temporary/x", "");
    let source = local_repository(&fixture);
    let program = scripted_git(&fixture, "none", "");
    let temporary = fixture.path("temporary");
    let fetcher = Fetcher::new(GitOptions::new(program).temp_dir(&temporary));
    fixture.add_with(&fetcher, &source).unwrap();
    let log = fixture.read("git.log");
    let expected = format!(" 700 {}/skills-install-", temporary.display());
    for line in log.lines() {
        assert!(line.contains(&expected), "{line}");
    }
    // It is removed.
    assert_eq!(std::fs::read_dir(temporary).unwrap().count(), 1);
}

#[test]
fn only_the_wanted_files_of_a_repository_are_fetched() {
    if !has_git() {
        return;
    }
    let fixture = Fixture::new();
    let source = local_repository(&fixture);
    let mut limits = skills_install::FetchLimits::default();
    limits.max_archive_bytes = 320_000;
    let fetcher = Fetcher::new(GitOptions::new(scripted_git(&fixture, "none", ""))).limits(limits);
    fixture.add_with(&fetcher, &source).unwrap();
    let log = fixture.read("git.log");
    let fetches: Vec<&str> = log
        .lines()
        .filter(|line| line.contains(" fetch "))
        .collect();
    assert_eq!(fetches.len(), 2);
    assert!(
        fetches
            .iter()
            .all(|line| line.contains("--filter=blob:none"))
    );

    // A server that sends everything nevertheless.
    std::fs::remove_dir_all(fixture.path("skills")).unwrap();
    let receive = "head -c 330000 /dev/zero > objects/pack/tmp_pack_a; exec sleep 100";
    scripted_git(&fixture, "fetch", receive);
    let error = fixture.add_with(&fetcher, &source).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Limit, "{error}");
    let message = error.to_string();
    assert!(
        message.contains("320000 bytes in its repository"),
        "{message}"
    );
}

/// A version or a bare clone is read by git, which `git+` selects.
#[test]
fn a_directory_that_only_git_can_read_names_the_prefix() {
    let fixture = Fixture::new();
    for path in ["bare.git/objects/info", "bare.git/refs/heads", "work"] {
        std::fs::create_dir_all(fixture.path(path)).unwrap();
    }
    std::fs::write(fixture.path("bare.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    for (source, cause) in [
        ("./bare.git", "it is a bare git repository"),
        (
            "./work#v1",
            "no such directory; a directory has no versions",
        ),
    ] {
        let error = fixture.plan(source).err().unwrap();
        assert!(error.to_string().ends_with(cause), "{error}");
        assert!(error.help().unwrap().contains("`git+DIR#VERSION`"));
    }
}

/// Returns the path of a program that is git, except that it asks a served repository instead of
/// `https://git.acme.example/`.
fn git_of_server(fixture: &Fixture, daemon: &Daemon) -> GitOptions {
    let git = git_program().unwrap();
    let config = format!(
        "url.git://127.0.0.1:{}/repository/.git.insteadOf=https://git.acme.example/o/r.git",
        daemon.port
    );
    let script = format!("#!/bin/sh\nexec '{}' -c '{config}' \"$@\"\n", git.display());
    fixture.executable("bin/git", &script);
    GitOptions::new(fixture.path("bin/git")).allow_insecure()
}

/// The first name of a page is its version if the repository has it, else more of them are.
#[test]
fn the_version_of_a_page_is_divided_from_its_directory_as_the_repository_has_it() {
    if !has_git() {
        return;
    }
    let fixture = Fixture::new();
    fixture.skill("repository/skills/a", "");
    commit_at(&fixture, "1000");
    let repository = fixture.path("repository");
    git(&repository, &["branch", "feature/x"]);
    git(&repository, &["tag", "release/1/skills"]);
    git(&repository, &["branch", "-m", "main", "trunk"]);
    let daemon = Daemon::start(&fixture);
    let fetcher = Fetcher::new(git_of_server(&fixture, &daemon));
    let add = |rest: &str| {
        let _ = std::fs::remove_dir_all(fixture.path("skills"));
        let mut store = fixture.store();
        let spec = format!("https://git.acme.example/o/r/{rest}")
            .parse()
            .unwrap();
        let plan = store.plan_add(&fetcher, &spec, &[], LocalEdits::Refuse, &words);
        match plan {
            Ok(plan) => {
                let source = plan.changes()[0].locked().source().to_string();
                source.replace("https://git.acme.example/o/r.git", "")
            }
            Err(error) => {
                let port = format!(":{}", daemon.port);
                error.to_string().replace(&port, ":PORT")
            }
        }
    };
    assert_eq!(add("-/tree/trunk/skills"), "#trunk//skills/a");
    assert_eq!(add("-/tree/feature/x/skills/a"), "#feature/x//skills/a");
    assert_eq!(add("src/branch/feature/x"), "#feature/x//skills/a");
    assert_eq!(
        add("src/tag/release/1/skills/skills"),
        "#release/1/skills//skills/a"
    );
    assert_eq!(add("-/tree/HEAD/skills"), "#HEAD//skills/a");
    // A version that the user wrote is never another one.
    assert!(add("-/tree/feature//x/skills").contains("couldn't find remote ref feature"));
    assert!(add("-/tree/feature/y/skills").contains("couldn't find remote ref feature"));
    // One who can push a tag must not choose what the address of a branch means.
    git(&repository, &["tag", "feature"]);
    insta::assert_snapshot!(add("-/tree/feature/x/skills"), @"cannot fetch `https://git.acme.example/o/r.git#feature//x/skills`: it has the versions `feature` and `feature/x`");
    // Names that only end as one of the candidates.
    git(
        &repository,
        &["update-ref", "refs/heads/refs/heads/other/z", "HEAD"],
    );
    assert!(add("-/tree/other/z/skills").contains("couldn't find remote ref other"));
}
