//! Commands that a line does itself: they write what the tools that write files do, and nothing else.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use serde_json::json;
use skills_runtime::Policy;
use skills_runtime::policy::{Effect, Rule, RuleSource};
use skills_test_support::skip_without_sandbox;
use skills_tools::Mount;

use super::lines::{CANARY, asked, given, host};
use super::{bash, run};
use crate::fixture::{Host, Tools};

/// Runs a line, and returns its exit code, its standard output and standard error.
async fn results(tools: &Tools, line: &str) -> (Option<i64>, String, String) {
    let outcome = bash(tools, line, "").await;
    let text = |name: &str| {
        let text = outcome.structured[name].as_str();
        text.unwrap_or_else(|| panic!("{line}: {}", outcome.text()))
            .to_owned()
    };
    (
        outcome.structured["exit_code"].as_i64(),
        text("stdout"),
        text("stderr"),
    )
}

fn text(host: &Host, path: &str) -> String {
    fs::read_to_string(host.path(path)).unwrap()
}

#[tokio::test]
async fn files_of_a_given_workspace_are_written_without_a_question() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    host.file("workspace/run.sh", "true\n");
    fs::set_permissions(
        host.path("workspace/run.sh"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    let tools = given(&host);
    for (line, printed) in [
        ("mkdir out", ""),
        ("mkdir -p out/a/b out/a && ls out", "a\n"),
        ("cp a.txt b.txt", ""),
        ("cp a.txt c.txt out && ls out", "a\na.txt\nc.txt\n"),
        ("cp run.sh out/", ""),
        ("mv b.txt out/a/ && ls out/a", "b\nb.txt\n"),
        (
            "mv -f out/a/b.txt renamed.txt; cat renamed.txt",
            "b foo\na bar\n",
        ),
        ("touch new.txt; wc -c new.txt", "0 new.txt\n"),
        ("rm new.txt", ""),
        (
            "rm -f new.txt renamed.txt; ls *.txt",
            "a.txt\nc.txt\ndangling.txt\nlink.txt\n",
        ),
        ("echo hi | tee log.txt | wc -c", "3\n"),
        (
            "echo more | tee -a log.txt > /dev/null; cat log.txt",
            "hi\nmore\n",
        ),
        ("cat a.txt | tee x.txt y.txt", "b foo\na bar\n"),
        (
            "for n in 1 2; do mkdir d$n && touch d$n/f; done; ls d1 d2 | wc -l",
            "5\n",
        ),
        (
            "mkdir 'sp ace' && cp a.txt 'sp ace' && cat sp*/a.txt",
            "b foo\na bar\n",
        ),
        ("cd src && cp m.py n.py && ls", "m.py\nn.py\n"),
        (
            "cd src && cp ../a.txt . && cd .. && ls src",
            "a.txt\nm.py\nn.py\n",
        ),
        ("mkdir -p src/../up && ls -d up", "up\n"),
        (
            "echo $(mkdir made; ls | wc -l) > /dev/null; ls -d made",
            "made\n",
        ),
    ] {
        let (code, stdout, stderr) = results(&tools, line).await;
        assert_eq!(
            (code, stdout.as_str(), stderr.as_str()),
            (Some(0), printed, ""),
            "{line}"
        );
    }
    let mode = |path: &str| fs::metadata(host.path(path)).unwrap().mode() & 0o111;
    assert!(mode("workspace/out/run.sh") != 0 && mode("workspace/out/a.txt") == 0);
    let outcome = bash(&tools, "cp a.txt k.txt; mv k.txt l.txt; rm -f c.txt", "").await;
    assert_eq!(outcome.files, ["/workspace/l.txt"]);
    let outcome = run(&tools, "mkdir -p by-skill").await;
    assert!(!outcome.is_error && host.path("workspace/by-skill").is_dir());
    let arguments = json!({"command": "tee in.txt", "stdin": "in\n"});
    assert_eq!(tools.answer("skills_bash", arguments).await, "in");
    assert_eq!(text(&host, "workspace/in.txt"), "in\n");
}

#[tokio::test]
async fn failures_are_those_of_the_programs() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = given(&host);
    for (line, message) in [
        (
            "mkdir src",
            "mkdir: cannot create directory 'src': File exists",
        ),
        (
            "mkdir a.txt",
            "mkdir: cannot create directory 'a.txt': File exists",
        ),
        (
            "mkdir x/y",
            "mkdir: cannot create directory 'x/y': No such file or directory",
        ),
        (
            "mkdir a.txt/y",
            "mkdir: cannot create directory 'a.txt/y': Not a directory",
        ),
        (
            "mkdir",
            "mkdir: missing operand\nTry 'mkdir --help' for more information.",
        ),
        (
            "cp none b",
            "cp: cannot stat 'none': No such file or directory",
        ),
        (
            "cp a.txt x/y",
            "cp: cannot create regular file 'x/y': No such file or directory",
        ),
        (
            "cp a.txt a.txt",
            "cp: 'a.txt' and 'a.txt' are the same file",
        ),
        (
            "cp a.txt",
            "cp: missing destination file operand after 'a.txt'\nTry 'cp --help' for more information.",
        ),
        (
            "cp a.txt c.txt d.json",
            "cp: target 'd.json': Not a directory",
        ),
        ("cp a.txt none/", "cp: target 'none/': Not a directory"),
        (
            "mv none b",
            "mv: cannot stat 'none': No such file or directory",
        ),
        (
            "mv a.txt x/y",
            "mv: cannot move 'a.txt' to 'x/y': No such file or directory",
        ),
        (
            "rm none",
            "rm: cannot remove 'none': No such file or directory",
        ),
        ("rm a.txt/", "rm: cannot remove 'a.txt/': Not a directory"),
        (
            "rm -f a.txt/",
            "rm: cannot remove 'a.txt/': Not a directory",
        ),
        ("cp a.txt/ z", "cp: cannot stat 'a.txt/': Not a directory"),
        ("mv a.txt/ z", "mv: cannot stat 'a.txt/': Not a directory"),
        (
            "D=; mkdir -p \"$D\"",
            "mkdir: cannot create directory '': No such file or directory",
        ),
        (
            "D=; cp a.txt \"$D\"",
            "cp: cannot create regular file '': No such file or directory",
        ),
        (
            "D=; mv a.txt \"$D\"",
            "mv: cannot move 'a.txt' to '': No such file or directory",
        ),
        (
            "D=; cp \"$D\" z",
            "cp: cannot stat '': No such file or directory",
        ),
        (
            "touch x/y",
            "touch: cannot touch 'x/y': No such file or directory",
        ),
    ] {
        let (code, _, stderr) = results(&tools, &format!("{line} || false")).await;
        assert_eq!((code, stderr.trim_end()), (Some(1), message), "{line}");
    }
    let (code, stdout, _) = results(
        &tools,
        "mkdir src 2>&1 | wc -l; rm none 2>/dev/null || echo no",
    )
    .await;
    assert_eq!((code, stdout.as_str()), (Some(0), "1\nno\n"));
}

/// A private file stays private.
#[tokio::test]
async fn a_copy_has_the_mode_of_its_source() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = given(&host);
    let mode = |path: &str| {
        let file = fs::metadata(host.path(&format!("workspace/{path}")));
        file.unwrap().mode() & 0o7777
    };
    host.file("workspace/old.txt", "");
    let old_mode = mode("old.txt");
    for (source, copied) in [
        (0o600, 0o600),
        (0o700, 0o700),
        (0o400, 0o400),
        (0o4755, 0o755),
    ] {
        let (name, file) = (format!("s{source:o}"), format!("workspace/s{source:o}"));
        host.file(&file, "x");
        fs::set_permissions(host.path(&file), fs::Permissions::from_mode(source)).unwrap();
        let (code, _, stderr) = results(&tools, &format!("cp {name} new-{name}")).await;
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{source:o}");
        // The test cannot know the umask, which takes nothing from the owner.
        let is_expected = |mode: u32| mode & 0o700 == copied & 0o700 && mode & !copied == 0;
        assert!(is_expected(mode(&format!("new-{name}"))), "{source:o}");
        results(&tools, &format!("cp {name} old.txt")).await;
        assert_eq!(mode("old.txt"), old_mode, "{source:o}");
    }
}

/// Files of one name are not replaced by each other.
#[tokio::test]
async fn a_command_replaces_no_file_that_it_has_just_made() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    for (path, content) in [("x/a", "1"), ("y/a", "2"), ("x/b", "3"), ("y/b", "4")] {
        host.file(&format!("workspace/{path}"), content);
    }
    fs::create_dir(host.path("workspace/d")).unwrap();
    fs::create_dir(host.path("workspace/e")).unwrap();
    let tools = given(&host);
    for (line, message) in [
        (
            "cp x/a y/a d",
            "cp: will not overwrite just-created 'd/a' with 'y/a'\n",
        ),
        (
            "mv */b e/",
            "mv: will not overwrite just-created 'e/b' with 'y/b'\n",
        ),
        // What failed has made nothing.
        (
            "mv none/a y/a d",
            "mv: cannot stat 'none/a': No such file or directory\n",
        ),
    ] {
        let (code, _, stderr) = results(&tools, &format!("{line} || false")).await;
        assert_eq!((code, stderr.as_str()), (Some(1), message), "{line}");
    }
    assert_eq!(text(&host, "workspace/x/a"), "1");
    assert_eq!(text(&host, "workspace/d/a"), "2");
    assert_eq!(text(&host, "workspace/e/b"), "3");
    assert_eq!(text(&host, "workspace/y/b"), "4");
    // A later refusal does not lose the messages before it.
    let outcome = bash(&tools, "rm none .env", "").await;
    assert!(outcome.is_error);
    let message = "rm: cannot remove 'none': No such file or directory";
    assert!(outcome.text().contains(message), "{}", outcome.text());
}

/// A hostile model or workspace: protected names, links, keys, skills, other places.
#[tokio::test]
async fn nothing_is_written_that_the_file_tools_do_not_write() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    host.file("workspace/id_rsa", CANARY)
        .file("workspace/deep/.git/config", "[core]\n");
    let keys = json!({"http-basic": {"host": {"username": "a", "note": CANARY}}}).to_string();
    host.file("workspace/auth.json", &keys);
    fs::hard_link(host.path("workspace/c.txt"), host.path("outside/hard.txt")).unwrap();
    symlink(host.path("workspace/.env"), host.path("workspace/env-link")).unwrap();
    fs::hard_link(host.path("workspace/.env"), host.path("workspace/env-hard")).unwrap();
    let tools = given(&host);
    for line in [
        "cp a.txt .git/config",
        "mv a.txt .git/hooks",
        "mkdir -p .git/hooks",
        "mkdir .husky",
        "mkdir -p sub/.git",
        "touch .bashrc",
        "echo x | tee .env",
        "echo x | tee -a .git/config",
        "echo x | tee ok.txt .envrc",
        "rm .env",
        "rm -f .git/config",
        "rm -f deep/.git/config",
        "mv .env env.txt",
        "mv id_rsa key.txt",
        "mv env-hard env.txt",
        "rm auth.json",
        "cp a.txt auth.json",
        "mv a.txt auth.json",
        "echo x | tee auth.json",
        "echo x > auth.json",
        "cp .env env.txt",
        "cp id_rsa key.txt",
        "cp env-link env.txt",
        "cp env-hard env.txt",
        "cp link.txt stolen.txt",
        "cp outward/secret.txt stolen.txt",
        "mv link.txt stolen.txt",
        "mv outward/secret.txt stolen.txt",
        "rm -f outward/secret.txt",
        "cp a.txt outward/new.txt",
        "cp a.txt outward",
        "mv a.txt outward",
        "mkdir outward/new",
        "mkdir -p outward/new",
        "touch outward/new.txt",
        "touch dangling.txt",
        "cp a.txt dangling.txt",
        "cp a.txt link.txt",
        "echo x | tee c.txt",
        "cp a.txt c.txt",
        "touch c.txt",
        "mv c.txt moved.txt",
        "cd src && cp ../a.txt ../../outside/new.txt",
        "cp /etc/passwd p.txt",
        "cp a.txt /tmp/new-91b3.txt",
        "cp a.txt /skills/kit/SKILL.md",
        "rm /skills/kit/SKILL.md",
        "touch /skills/kit/x",
        "cd /skills/kit && touch x",
        "mv a.txt src/../.git/config",
        "rm src/../.git/config",
        "cp src/../.env env.txt",
        "touch src/../../outside/new.txt",
        "cp a.txt outward/../outside/new.txt",
        "rm -rf src",
        "rm -r src",
        "rm src",
        "rm *.json",
        "mv src moved",
        "cp -r .git copy",
        "D=.git; cp a.txt $D/config",
        "for d in .git; do cp a.txt $d/config; done",
        "cp a.txt $(echo .git)/config",
        "for o in -r; do cp $o src copy; done",
        "for f in d.json; do rm $f; done",
    ] {
        let outcome = bash(&tools, line, "").await;
        assert!(outcome.is_error, "{line}: {}", outcome.text());
        assert!(!outcome.text().contains(CANARY), "{line}");
    }
    assert_eq!(text(&host, "workspace/.git/config"), "[core]\n");
    assert_eq!(text(&host, "workspace/deep/.git/config"), "[core]\n");
    assert_eq!(text(&host, "outside/secret.txt"), CANARY);
    assert_eq!(text(&host, "workspace/auth.json"), keys);
    assert_eq!(text(&host, "outside/hard.txt"), "b foo\n");
    assert_eq!(text(&host, "workspace/a.txt"), "b foo\na bar\n");
    assert!(text(&host, "workspace/.env").contains(CANARY));
    for left in ["id_rsa", "d.json", "src/m.py", "c.txt", "env-hard"] {
        assert!(host.path(&format!("workspace/{left}")).exists(), "{left}");
    }
    for made in [
        "workspace/.git/hooks",
        "workspace/.husky",
        "workspace/sub/.git",
        "workspace/.bashrc",
        "workspace/.envrc",
        "workspace/ok.txt",
        "workspace/env.txt",
        "workspace/key.txt",
        "workspace/stolen.txt",
        "workspace/p.txt",
        "workspace/copy",
        "workspace/moved",
        "workspace/moved.txt",
        "outside/new.txt",
        "outside/new",
        "outside/a.txt",
    ] {
        assert!(!host.path(made).exists(), "{made}");
    }
}

/// A rule about the program, or about the place, decides as for the program.
#[tokio::test]
async fn rules_decide_about_own_commands() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let rule = |effect, text: &str| Rule::parse(effect, RuleSource::Invocation, text).unwrap();
    let src = host.path("workspace/src").display().to_string();
    let allow = || Policy::default().rule(rule(Effect::Allow, &host.write_rule()));
    let tools = host.tools_with(allow().rule(rule(Effect::Deny, "spawn:rm")));
    for line in ["rm a.txt", "rm -f a.txt; echo x | cat"] {
        let outcome = bash(&tools, line, "").await;
        assert_eq!(outcome.code(), Some("denied_by_policy"), "{line}");
    }
    let tools = host.tools_with(allow().rule(rule(Effect::Ask, "spawn:cp")));
    let asked = asked();
    let arguments = json!({"command": "cp a.txt b.txt"});
    let _ = tools
        .call_in("skills_bash", arguments, &asked.context)
        .await;
    assert_eq!(*asked.questions.lock().unwrap(), ["cp a.txt b.txt"]);
    let denying = allow().rule(rule(Effect::Deny, &format!("write:{src}")));
    for (tools, line) in [
        (host.tools_with(denying), "touch src/new.txt"),
        (host.tools(), "touch new.txt"),
        (host.tools(), "mkdir made && ls"),
    ] {
        let outcome = bash(&tools, line, "").await;
        assert!(outcome.is_error, "{line}: {}", outcome.text());
    }
    let outcome = bash(&host.tools_with(allow()), "touch allowed.txt", "").await;
    assert!(!outcome.is_error, "{}", outcome.text());
    assert!(host.path("workspace/a.txt").exists());
    for made in ["src/new.txt", "new.txt", "made"] {
        assert!(!host.path(&format!("workspace/{made}")).exists(), "{made}");
    }
    let deny = rule(Effect::Deny, &format!("read:{src}"));
    let tools = host.tools_with(allow().rule(deny));
    let outcome = bash(&tools, "cp src/m.py copied.py", "").await;
    assert!(outcome.is_error && !host.path("workspace/copied.py").exists());
}

/// What a line writes itself has limits: the quota of the mount, and a number of files.
#[tokio::test]
async fn own_commands_have_limits() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let values = "x ".repeat(1_001);
    let tools = given(&host);
    let many = "x ".repeat(21_000);
    for line in [
        format!("touch {values}"),
        format!("touch {many}"),
        format!("echo x | tee {many}"),
    ] {
        let outcome = bash(&tools, &line, "").await;
        assert_eq!(outcome.code(), Some("too_large"), "{}", outcome.text());
        assert!(!host.path("workspace/x").exists());
    }
    fs::File::create(host.path("workspace/large.bin"))
        .unwrap()
        .set_len(17 << 20)
        .unwrap();
    let outcome = bash(&tools, "cp large.bin copied.bin", "").await;
    assert_eq!(outcome.code(), Some("too_large"), "{}", outcome.text());
    let data = host.path("data").display().to_string();
    host.file("data/a.txt", "x".repeat(5_000));
    let rules = Policy::default()
        .rule(Rule::parse(Effect::Allow, RuleSource::Invocation, &host.write_rule()).unwrap())
        .rule(
            Rule::parse(
                Effect::Allow,
                RuleSource::Invocation,
                &format!("write:{data}"),
            )
            .unwrap(),
        );
    let builder = host.builder(host.runtime().policy(rules));
    let mount = Mount::writable("data", host.path("data")).quota_bytes(8_000);
    let tools = host.wrap(builder.mount(mount).build().unwrap());
    for (line, code) in [
        ("cp /data/a.txt /data/b.txt", None),
        ("cp /data/a.txt /data/c.txt", Some("too_large")),
        ("mkdir /data/d", Some("too_large")),
        ("touch /data/d", Some("too_large")),
        ("mv /data/a.txt moved.txt", Some("permission_denied")),
        ("rm /data/b.txt", None),
    ] {
        let outcome = bash(&tools, line, "").await;
        assert_eq!(outcome.code(), code, "{line}: {}", outcome.text());
    }
    assert!(host.path("data/a.txt").exists() && !host.path("data/b.txt").exists());
    assert!(!host.path("data/c.txt").exists() && !host.path("data/d").exists());
}
