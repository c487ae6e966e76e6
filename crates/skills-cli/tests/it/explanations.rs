//! What `run`, `call` and results as JSON say about runs that a restriction stopped.

mod limits;

use std::fs;

use serde_json::Value;

use crate::fixture::Fixture;
use crate::skills::Done;

/// A skill with one script, in a directory next to a workspace.
fn skill(name: &str, script: &str) -> Fixture {
    skill_with("", name, script)
}

fn skill_with(frontmatter: &str, name: &str, script: &str) -> Fixture {
    let fixture = Fixture::new();
    fixture
        .file(
            "skills/one/SKILL.md",
            &format!("---\nname: one\ndescription: A skill.\n{frontmatter}---\nText.\n"),
        )
        .file(&format!("skills/one/scripts/{name}"), script);
    fs::create_dir(fixture.path().join("work")).unwrap();
    fixture
}

fn run(fixture: &Fixture, arguments: &[&str]) -> Done {
    let all = [&["run", "one", "--root", "skills"], arguments].concat();
    fixture.run("", &all)
}

/// Returns the lines of the explanation.
fn explanation(done: &Done) -> String {
    let labels = ["refused: ", "note: ", "help: "];
    let lines = done.stderr.lines();
    lines
        .filter(|line| labels.iter().any(|label| line.starts_with(label)))
        .collect::<Vec<_>>()
        .join("\n")
}

macro_rules! need_sandbox {
    () => {
        if skills_test_support::skip_without_sandbox() {
            return;
        }
    };
}

/// `make` starts `/bin/sh`, whose message begins with its own path. No directory of the system is
/// ever suggested.
#[test]
fn messages_of_shells_do_not_suggest_the_shell() {
    need_sandbox!();
    let fixture = skill("build.sh", "exec /bin/sh -c 'echo x > out.o'\n");
    let work = fixture.path().join("work");
    let work = work.to_str().unwrap();
    let done = run(&fixture, &["--workspace", work, "--allow", "spawn"]);
    let text = explanation(&done);
    assert!(!text.contains("/bin/sh"), "{text}");
    let system = skill(
        "write.py",
        "import sys\nsys.exit(\"OSError: [Errno 30] Read-only file system: '/usr/lib/x'\")\n",
    );
    insta::assert_snapshot!(explanation(&run(&system, &[])), @"refused: write `/usr/lib/x` (reported by the program, not verified); no option allows it: it is in a directory of the system");
}

#[test]
fn the_directory_of_a_skill_is_not_suggested() {
    need_sandbox!();
    let fixture = skill(
        "own.py",
        "import os, sys\nsys.exit(\"OSError: [Errno 30] Read-only file system: '\" + os.path.dirname(__file__) + \"/x'\")\n",
    );
    let expected = "\
refused: write `PLACE/skills/one/scripts/x` (reported by the program, not verified); no option allows it: the skill directory is always read-only
note: a program needs a workspace to write files
help: give it a directory for its files with `--workspace DIR`";
    assert_eq!(explanation(&run(&fixture, &[])), expected);
    let rule = format!("write:{}/skills/one", fixture.path().display());
    let done = run(&fixture, &["--allow", &rule]);
    let note = "note: `write:PLACE/skills/one` had no effect on this run: the skill directory is always read-only";
    assert_eq!(explanation(&done), format!("{expected}\n{note}"));
}

/// A workspace with the skill in it has a protected path above the skill, which no rule opens as far
/// as that.
#[test]
fn no_rule_is_suggested_for_a_skill_in_the_workspace() {
    need_sandbox!();
    let fixture = Fixture::new();
    fixture.skill("work/skills/one", "one").file(
        "work/skills/one/scripts/own.py",
        "import os, sys\nsys.exit(\"OSError: [Errno 30] Read-only file system: '\" + os.path.dirname(__file__) + \"/x'\")\n",
    );
    let work = fixture.path().join("work").display().to_string();
    let options = ["--root", "work/skills", "--workspace", &work];
    let done = fixture.run("", &[&["run", "one"], &options[..]].concat());
    insta::assert_snapshot!(explanation(&done), @"
    refused: write `PLACE/work/skills/one/scripts/x` (reported by the program, not verified); no option allows it: the skill directory is always read-only
    note: the program can write to its workspace
    ");
}

/// The innermost protected path is named. No option is offered, since only the program says that it
/// needs the path.
#[test]
fn no_option_for_a_protected_path_is_offered() {
    need_sandbox!();
    let fixture = skill(
        "write.py",
        "import sys\nopen(sys.argv[1], 'w').write('x')\n",
    );
    fixture
        .file("work/.git/HEAD", "ref: refs/heads/main")
        .file("work/.git/hooks/pre-push", "");
    let work = fixture.path().join("work").display().to_string();
    for (path, protected, rule) in [
        (".git/hooks/pre-commit", ".git/hooks", ".git/hooks"),
        (".git/hooks/pre-push", ".git/hooks", ".git/hooks/pre-push"),
        (".git/index.lock", ".git", ".git"),
    ] {
        for path in [path.to_owned(), format!("{work}/{path}")] {
            let run = |options: &[&str]| {
                let options = [&["--workspace", &*work], options, &["--", &*path]].concat();
                run(&fixture, &options)
            };
            let done = run(&[]);
            let note = format!("note: `PLACE/work/{protected}` stayed read-only");
            let explanation = explanation(&done);
            assert!(explanation.contains(&note), "{explanation}");
            assert!(!explanation.contains("--allow write:"), "{explanation}");
            let rule = format!("write:{work}/{rule}");
            assert_eq!(run(&["--allow", &rule]).code, 0, "{path}");
            let _ = fs::remove_file(fixture.path().join("work").join(&path));
            fixture.file("work/.git/hooks/pre-push", "");
        }
    }
}

/// The paths are those that the sandbox mounted read-only, whatever the program prints.
#[test]
fn read_only_protected_paths_are_listed_after_a_failure() {
    need_sandbox!();
    let fixture = skill("write.py", "open('.codex/index.json', 'w').write('x')\n");
    fixture
        .file("work/.codex/config.toml", "")
        .file("work/.claude/settings.json", "{}");
    let path = fixture.path();
    let work = path.join("work");
    let write = format!("write:{}", work.display());
    let arguments = ["--workspace", work.to_str().unwrap(), "--allow", &write];
    let done = run(&fixture, &arguments);
    assert_eq!(done.code, 1);
    insta::assert_snapshot!(explanation(&done), @r"
    note: `PLACE/work/.codex` stayed read-only: protected paths, which other programs execute or trust (the failed write was reported by the program, not verified)
    ");
    let json = run(&fixture, &[&arguments[..], &["--json"]].concat()).json();
    assert_eq!(json["help"], serde_json::json!([]));
    let exact = format!("write:{}", work.join(".codex").display());
    let allowed = [&arguments[..], &["--allow", &exact]].concat();
    assert_eq!(run(&fixture, &allowed).code, 0);
}

/// A failure that names no protected path does not suggest to allow one.
#[test]
fn no_protected_path_is_suggested_for_other_failures() {
    need_sandbox!();
    for text in [
        "import sys\nsys.exit('.github-notes.txt: Permission denied')\n",
        "import sys\nsys.exit('cannot write the result')\n",
        "import sys\nsys.exit(\"Read-only file system: 'other/file.txt'\")\n",
    ] {
        let fixture = skill("fails.py", text);
        fixture.file("work/.git/hooks/pre-push", "");
        let work = fixture.path().join("work");
        let done = run(&fixture, &["--workspace", work.to_str().unwrap()]);
        assert_eq!(done.code, 1);
        assert!(!done.stderr.contains(".git`"), "{}", done.stderr);
        assert!(!done.stderr.contains("--allow"), "{}", done.stderr);
    }
}

#[test]
fn a_file_to_create_is_a_refused_write() {
    need_sandbox!();
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = outside.path().canonicalize().unwrap().join("new.txt");
    let name = file.display().to_string();
    let text = format!("import sys\nopen((sys.argv[1:] or [{name:?}])[0], 'w').write('x')\n");
    let fixture = skill("new.py", &text);
    let rule = format!("write:{name}");
    let help = format!("help: allow it with `--allow {rule}`");
    assert!(explanation(&run(&fixture, &["--", &name])).ends_with(&help));
    // Without the argument only the program names it, so it is stated and not offered.
    let text = explanation(&run(&fixture, &[]));
    assert!(text.contains(&name) && !text.contains("--allow"), "{text}");
    assert_eq!(run(&fixture, &["--allow", &rule]).code, 0);
    assert_eq!(fs::read_to_string(file).unwrap(), "x");
}

/// The program knows only that its request failed.
#[test]
fn a_granted_host_that_cannot_be_reached_is_explained() {
    need_sandbox!();
    let fixture = skill(
        "fetch.py",
        "import sys, urllib.request\nfor url in sys.argv[1:]:\n    try:\n        urllib.request.urlopen(url)\n    except Exception as error:\n        print(error)\n",
    );
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let host = format!("127.0.0.1:{port}");
    let (rule, url) = (format!("network:{host}"), format!("http://{host}/"));
    let done = run(&fixture, &["--allow", &rule, "--", &url]);
    let text = explanation(&done);
    assert!(
        text.contains(&format!(
            "note: cannot connect to `{host}`: connection refused"
        )),
        "{}",
        done.page()
    );
}

#[test]
fn a_denied_permission_is_not_suggested() {
    need_sandbox!();
    let fixture = skill("start.py", "import subprocess\nsubprocess.run(['true'])\n");
    let denied = run(&fixture, &["--without", "spawn"]);
    let text = "refused: spawn another program; no option allows it: the caller runs it without this permission";
    assert_eq!(explanation(&denied), text);
    fixture.file("home/.config/skills/policy.toml", "deny = [\"spawn\"]\n");
    let done = run(&fixture, &["--allow", "spawn"]);
    let text = explanation(&done);
    assert!(!text.contains("help: allow it"), "{text}");
    assert!(
        text.contains("note: `spawn` had no effect on this run: rule `deny spawn"),
        "{text}"
    );
}

/// A rule about one program denies all of them together, and no other one.
#[test]
fn a_rule_about_one_program_is_no_obstacle_to_another() {
    need_sandbox!();
    let fixture = skill("main.sh", "/bin/ls /\n/bin/true\n");
    fixture.file(
        "home/.config/skills/policy.toml",
        "deny = [\"spawn:git\"]\n",
    );
    insta::assert_snapshot!(explanation(&run(&fixture, &[])), @"
    refused: spawn another program
    help: allow the program by its name with `--allow spawn:PROGRAM`
    ");
    assert_ne!(run(&fixture, &["--allow", "spawn:ls"]).code, 0);
    let both = ["--allow", "spawn:ls", "--allow", "spawn:true"];
    assert_eq!(run(&fixture, &both).code, 0);
    let denied = explanation(&run(&fixture, &["--allow", "spawn"]));
    let note = "note: `spawn` had no effect on this run: rule `deny spawn:git ";
    assert!(denied.contains(note), "{denied}");
}

/// The tools that a shell script starts are far more than those that its skill lists.
#[test]
fn a_shell_script_needs_any_program() {
    need_sandbox!();
    let requires = "metadata:\n  openclaw:\n    requires:\n      bins: [cat]\n";
    let fixture = skill_with(requires, "main.sh", "ls / | cat\n");
    let text = explanation(&run(&fixture, &[]));
    assert!(
        text.ends_with("help: allow it with `--allow spawn`"),
        "{text}"
    );
}

#[test]
fn a_script_that_also_starts_programs_gets_both_options_at_once() {
    need_sandbox!();
    let fixture = skill(
        "main.py",
        "import subprocess, sys\nopen(sys.argv[1], 'w')\nsubprocess.run(['true'])\n",
    );
    let file = fixture.path().join("work/out.txt");
    let done = run(&fixture, &["--", file.to_str().unwrap()]);
    insta::assert_snapshot!(explanation(&done), @"
    refused: write `PLACE/work/out.txt` (reported by the program, not verified)
    help: allow it with `--allow write:PLACE/work/out.txt`
    help: its script also starts programs; for these add `--allow spawn`
    ");
}

#[test]
fn files_of_the_private_home_directory_are_reported() {
    need_sandbox!();
    let text = "import os\nhome = os.environ['HOME']\nfor name in ['.tool/log', '.cache/x', '.ssh/config']:\n    os.makedirs(os.path.dirname(f'{home}/{name}'))\n    open(f'{home}/{name}', 'w')\n";
    let fixture = skill("home.py", text);
    let done = run(&fixture, &[]);
    assert_eq!(done.code, 0);
    insta::assert_snapshot!(explanation(&done), @r"
    note: wrote `~/.ssh/config`, `~/.tool/log` into the private home directory of the run, which is removed
    help: keep the files in the home directory of the user with `--allow write:~/.tool/`
    ");
    let json = run(&fixture, &["--json"]).json();
    assert!(
        json["notes"][0]
            .as_str()
            .unwrap()
            .starts_with("wrote `~/.ssh")
    );
    let missing = skill(
        "read.py",
        "import os\nopen(os.environ['HOME'] + '/.tool/log')\n",
    );
    insta::assert_snapshot!(explanation(&run(&missing, &[])), @"refused: read `~/.tool/log`, which is not visible to this run (reported by the program, not verified); no option is suggested: only the program names it");
}

/// A program can print any path. Its user must not be led to copy an option for it.
#[test]
fn no_option_is_suggested_for_what_only_a_program_names() {
    need_sandbox!();
    let text = "import sys\nfor path in sys.argv[1:] + ['/srv/printed', '/root/.aws/credentials']:\n    print(f\"PermissionError: [Errno 13] Permission denied: '{path}'\", file=sys.stderr)\nsys.exit(1)\n";
    let fixture = skill("claim.py", text);
    let text = explanation(&run(&fixture, &["--", "/srv/passed.csv", "/srv/id_rsa"]));
    let help: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("help"))
        .collect();
    let all = help.join("\n");
    for path in ["printed", "credentials", "id_rsa"] {
        assert!(!all.contains(path), "{text}");
    }
    assert!(
        !text.contains("printed` (reported by the program, not verified)\n"),
        "{text}"
    );
}

/// The proxy observed the connection, so it is a fact. What it leads to is named instead.
#[test]
fn no_option_is_suggested_for_a_metadata_service() {
    need_sandbox!();
    let text = "import socket\ntry:\n    socket.getaddrinfo('metadata.google.internal', 80)\nexcept OSError as error:\n    raise SystemExit(error)\n";
    let fixture = skill("connect.py", text);
    let text = explanation(&run(&fixture, &[]));
    assert!(!text.contains("--allow network:metadata"), "{text}");
}

/// What a program left in its private home directory says whether a missing path is a directory.
#[test]
fn a_missing_path_of_the_home_directory_is_created_as_the_program_needs_it() {
    need_sandbox!();
    let text = "import os, pathlib\nqueue = pathlib.Path.home() / '.tool/queue'\nqueue.mkdir(parents=True, exist_ok=True)\n(queue / 'a.json').write_text('{}')\nopen(pathlib.Path.home() / '.toolrc', 'w').write('x')\n";
    let fixture = skill("queue.py", text);
    insta::assert_snapshot!(explanation(&run(&fixture, &[])), @r"
    note: wrote `~/.tool/queue/a.json`, `~/.toolrc` into the private home directory of the run, which is removed
    help: keep the files in the home directory of the user with `--allow write:~/.tool/ --allow write:~/.toolrc`
    ");
    let home = fixture.path().join("home");
    let allow = ["--allow", "write:~/.tool/", "--allow", "write:~/.toolrc"];
    let done = run(&fixture, &allow);
    assert_eq!((done.code, explanation(&done).as_str()), (0, ""));
    assert!(home.join(".tool/queue/a.json").is_file());
    assert!(home.join(".toolrc").is_file());
}

/// Programs report a host that they cannot resolve in their own words. What they look up is known.
#[test]
fn looked_up_hosts_are_observed() {
    need_sandbox!();
    let text = "import socket, sys\ntry:\n    socket.getaddrinfo('api.example.com', 443)\nexcept OSError:\n    sys.exit('offline')\n";
    let fixture = skill("net.py", text);
    let expected = "refused: connect to `api.example.com`\nhelp: allow it with `--allow network:api.example.com`";
    assert_eq!(explanation(&run(&fixture, &[])), expected);
    // A granted host is reached through the proxy only.
    let done = run(&fixture, &["--allow", "network:api.example.com"]);
    insta::assert_snapshot!(explanation(&done), @"note: the program looked up `api.example.com` itself, so it does not use the proxy of the sandbox (`HTTPS_PROXY`), by which alone granted hosts are reached");
}

#[test]
fn a_success_says_nothing_about_needless_attempts() {
    need_sandbox!();
    let text = "import socket\ntry:\n    socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nexcept OSError:\n    pass\n";
    let fixture = skill("udp.py", text);
    let work = fixture.path().join("work");
    let done = run(&fixture, &["--workspace", work.to_str().unwrap()]);
    assert_eq!((done.code, explanation(&done).as_str()), (0, ""));
    let failing = skill("udp.py", &format!("{text}raise SystemExit(1)\n"));
    insta::assert_snapshot!(explanation(&run(&failing, &[])), @r"
    refused: open a network connection
    help: allow the host with `--allow network:HOST`
    ");
}

/// Libraries try these calls and do without them.
#[test]
fn a_probed_operation_is_named_only_if_the_program_reports_it() {
    need_sandbox!();
    let text = "import socket, sys\ntry:\n    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\nexcept OSError as error:\n    sys.exit(str(error) if sys.argv[1:] else 'bad input')\n";
    let fixture = skill("pair.py", text);
    assert_eq!(explanation(&run(&fixture, &[])), "");
    insta::assert_snapshot!(explanation(&run(&fixture, &["--", "x"])), @"refused: open a local socket for datagrams; no option allows it: a datagram can be sent to any local socket of the host, such as that of an agent; use a stream");
    let json = run(&fixture, &["--json"]).json();
    let fact = &json["explanation"]["facts"][0];
    assert_eq!(
        (&fact["observer"], &fact["family"], &fact["is_relevant"]),
        (&"kernel".into(), &"local-datagrams".into(), &false.into())
    );
}

#[test]
fn an_explanation_is_data_with_settings_for_each_surface() {
    need_sandbox!();
    let fixture = skill("start.py", "import subprocess\nsubprocess.run(['true'])\n");
    let json = run(&fixture, &["--json"]).json();
    let explanation = &json["explanation"];
    // Python tries `vfork`, then `clone`.
    let text = explanation
        .to_string()
        .replace("\"count\":2", "\"count\":1");
    insta::assert_snapshot!(text, @r#"{"facts":[{"observer":"kernel","is_relevant":true,"kind":"refused","operation":"start-process","count":1,"allowed_by":{"rule":"spawn"}}],"cause":null,"remedies":[{"kind":"allow","rules":["spawn"],"settings":{"command":["--allow","spawn"],"client":["mcp","--allow","spawn"],"policy_file":"allow = [\"spawn\"]","library":"policy.with_rules([Rule::parse(Effect::Allow, RuleSource::Invocation, \"spawn\")?])"}}]}"#);
    let fixture = skill(
        "claim.py",
        "import sys\nsys.exit(\"cat: /srv/x: No such file or directory\")\n",
    );
    let json = run(&fixture, &["--json"]).json();
    let fact = &json["explanation"]["facts"][0];
    assert_eq!(fact["observer"], "program-output");
    assert_eq!(json["explanation"]["remedies"], serde_json::json!([]));
}

/// The skill reads a variable that it does not declare. What only its output names is not offered.
#[test]
fn a_withheld_variable_is_named_with_its_options() {
    need_sandbox!();
    let fixture = skill(
        "key.py",
        "import os\nprint(len(os.environ['ACME_API_KEY']))\n",
    );
    insta::assert_snapshot!(explanation(&run(&fixture, &[])), @"
    note: the variable `ACME_API_KEY` is not passed to this run
    help: if the skill is to have its value, pass it with `--env ACME_API_KEY=VALUE`
    ");
    let passed = run(&fixture, &["--env", "ACME_API_KEY=abcdefghijkl"]);
    assert_eq!((passed.code, explanation(&passed).as_str()), (0, ""));
    insta::assert_snapshot!(explanation(&run(&fixture, &["--allow", "env:ACME_API_KEY"])), @"
    note: the variable `ACME_API_KEY` is not passed to this run
    help: if the skill is to have its value, pass it with `--env ACME_API_KEY=VALUE`
    note: `env:ACME_API_KEY` had no effect on this run: no value was passed for it
    ");
    let declared = skill_with(
        "metadata:\n  openclaw:\n    requires:\n      env: [ACME_API_KEY]\n",
        "key.sh",
        "set -u\necho \"$ACME_API_KEY\"\n",
    );
    insta::assert_snapshot!(explanation(&run(&declared, &[])), @"
    note: the variable `ACME_API_KEY` is not passed to this run
    help: pass it with `--env ACME_API_KEY=VALUE`
    ");
    // `call` has no option for a value.
    let call = ["call", "skill__one__key", "{}", "--root", "skills"];
    let called = declared.run("", &call).page();
    assert!(
        called.contains("pass it with `--env-file FILE --allow env:ACME_API_KEY`"),
        "{called}"
    );
    for printed in ["AWS_SECRET_ACCESS_KEY", "LD_PRELOAD"] {
        let (first, rest) = printed.split_at(3);
        let text = format!(
            "import sys\nsys.exit('environment variable ' + '{first}' + '{rest}' + ' is not set')\n"
        );
        let text = explanation(&run(&skill("claim.py", &text), &[]));
        assert!(!text.contains("help: "), "{text}");
    }
}

#[test]
fn a_missing_program_is_named() {
    need_sandbox!();
    let fixture = skill(
        "main.py",
        "import subprocess\nsubprocess.run(['no-such-tool'])\n",
    );
    let text = explanation(&run(&fixture, &["--allow", "spawn"]));
    assert_eq!(
        text,
        "note: the program `no-such-tool` is not in the `PATH` of the run"
    );
    let fixture = skill("main.sh", "set -e\nno-such-tool x\n");
    assert_eq!(explanation(&run(&fixture, &["--allow", "spawn"])), text);
}

#[test]
fn windows_line_ends_of_a_shell_script_are_repaired() {
    need_sandbox!();
    let fixture = skill("main.sh", "set -euo pipefail\r\necho hi\r\n");
    let done = run(&fixture, &[]);
    assert_eq!((done.code, &*done.stdout), (0, "hi\n"), "{}", done.page());
    insta::assert_snapshot!(explanation(&done), @"note: scripts with line ends or a byte order mark of Windows run from a repaired private copy: `scripts/main.sh`");
}

/// No package of this name is suggested: any user of an index can register one.
#[test]
fn a_module_beside_the_skill_is_not_a_package() {
    need_sandbox!();
    let text = "import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', '..', 'shared'))\nimport teamlib\n";
    let fixture = skill("main.py", text);
    fixture.file("skills/shared/teamlib.py", "");
    let text = explanation(&run(&fixture, &[]));
    insta::assert_snapshot!(text, @"
    note: `teamlib` is a module of a directory beside the skill, which is not visible to this run; a package of that name is another one
    ");
    let rule = format!("read:{}/skills/shared", fixture.path().display());
    assert_eq!(run(&fixture, &["--allow", &rule]).code, 0);
}

/// Programs report a failed mapping in many words.
#[test]
fn a_failed_mapping_names_the_memory_limit() {
    need_sandbox!();
    let text = "import mmap\ntry:\n    mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE)\nexcept OSError as error:\n    raise SystemExit(f'libfoo: mmap failed ({error.errno})')\n";
    let fixture = skill("map.py", text);
    insta::assert_snapshot!(explanation(&run(&fixture, &["--memory", "256"])), @"
    note: the program could not get memory within its limit of 256 MiB
    help: give it more memory than 256 MiB with `--memory 1024`
    ");
    // No option raises a limit of the policy, and one that would have no effect is an error.
    fixture.file(
        "home/.config/skills/policy.toml",
        "[limits]\nmemory-mib = 256\n",
    );
    let text = explanation(&run(&fixture, &[]));
    assert!(!text.contains("help: "), "{text}");
    let more = run(&fixture, &["--memory", "512"]);
    assert_eq!(more.code, 125);
    let expected = "`--memory` has no effect: the policy allows at most 256 MiB";
    assert!(more.stderr.contains(expected), "{}", more.stderr);
}

/// Options and the policy of the user have no ceiling, and the text of a skill has one.
#[test]
fn options_and_the_policy_of_the_user_raise_limits() {
    need_sandbox!();
    let text = "import os\nopen(os.environ['HOME'] + '/big', 'wb').truncate(100 << 20)\nprint('written')\n";
    let fixture = skill("big.py", text);
    let options = [
        "--timeout",
        "86400",
        "--memory",
        "65536",
        "--scratch",
        "4096",
    ];
    let plain = run(&fixture, &options);
    fixture.file(
        "home/.config/skills/policy.toml",
        "[limits]\nfile-mib = 400\n",
    );
    let raised = run(&fixture, &[]);
    let written = |done: &Done| done.stdout.contains("written");
    assert!(!written(&plain) && written(&raised), "{}", raised.stderr);
}

/// A linked worktree needs its repository: for reading, one rule; to commit, both.
#[test]
fn a_linked_worktree_names_the_rules_for_its_repository() {
    need_sandbox!();
    if let Err(reason) = skills_test_support::host::program("git") {
        skills_test_support::skip(reason);
        return;
    }
    let fixture = skill("main.sh", "exec git \"$@\"\n");
    let (main, work) = (fixture.path().join("main"), fixture.path().join("linked"));
    fs::create_dir(&main).unwrap();
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@a.example"]);
        command
            .args(arguments)
            .current_dir(&main)
            .env("HOME", fixture.path());
        assert!(command.status().unwrap().success(), "{arguments:?}");
    };
    git(&["init", "--quiet", "."]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "x"]);
    git(&["worktree", "add", "--quiet", work.to_str().unwrap()]);
    let linked = |rules: &[String], words: &[&str]| {
        let workspace = work.to_str().unwrap();
        let mut options = vec!["--workspace", workspace, "--allow", "spawn"];
        options.extend(rules.iter().flat_map(|rule| ["--allow", rule.as_str()]));
        run(&fixture, &[&options[..], &["--"], words].concat())
    };
    let commit = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@a.example",
        "commit",
        "--allow-empty",
        "-m",
        "y",
    ];
    let repository = main.join(".git").display().to_string();
    let (read, write) = (
        [format!("read:{repository}")],
        format!("write:{repository}"),
    );
    let own = format!("write:{repository}/worktrees/linked");
    insta::assert_snapshot!(explanation(&linked(&[], &commit)), @"
    note: `PLACE/linked/.git`, the `.git` file of a linked worktree, leads to `PLACE/main/.git`, which is not visible to this run
    help: allow it with `--allow write:PLACE/main/.git --allow write:PLACE/main/.git/worktrees/linked`; `--allow read:PLACE/main/.git` is enough for commands that only read
    ");
    assert_eq!(linked(&read, &["status"]).code, 0);
    insta::assert_snapshot!(explanation(&linked(&read, &commit)), @"
    note: `PLACE/linked/.git`, the `.git` file of a linked worktree, leads to `PLACE/main/.git`, which this run cannot write
    help: allow it with `--allow write:PLACE/main/.git --allow write:PLACE/main/.git/worktrees/linked`
    ");
    insta::assert_snapshot!(explanation(&linked(std::slice::from_ref(&write), &commit)), @"
    note: `PLACE/linked/.git`, the `.git` file of a linked worktree, leads to `PLACE/main/.git`, which this run cannot write
    help: allow it with `--allow write:PLACE/main/.git/worktrees/linked`
    ");
    let done = linked(&[write, own], &commit);
    assert_eq!(done.code, 0, "{}", done.page());
}

/// The repository of a submodule is in that of its superproject.
#[test]
fn a_submodule_names_the_rule_for_its_repository() {
    need_sandbox!();
    if let Err(reason) = skills_test_support::host::program("git") {
        skills_test_support::skip(reason);
        return;
    }
    let fixture = skill("main.sh", "exec git status\n");
    let git = |directory: &str, arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@a.example"]);
        command
            .args(["-c", "protocol.file.allow=always"])
            .args(arguments);
        command
            .current_dir(fixture.path().join(directory))
            .env("HOME", fixture.path());
        assert!(command.status().unwrap().success(), "{arguments:?}");
    };
    for directory in ["inner", "outer"] {
        fs::create_dir(fixture.path().join(directory)).unwrap();
        git(directory, &["init", "--quiet", "."]);
        git(
            directory,
            &["commit", "--quiet", "--allow-empty", "-m", "x"],
        );
    }
    git(
        "outer",
        &["submodule", "--quiet", "add", "../inner", "part"],
    );
    let work = fixture.path().join("outer/part").display().to_string();
    let options = ["--workspace", &work, "--allow", "spawn"];
    insta::assert_snapshot!(explanation(&run(&fixture, &options)), @"
    note: `PLACE/outer/part/.git`, the `.git` file of a submodule, leads to `PLACE/outer/.git/modules/part`, which is not visible to this run
    help: allow it with `--allow write:PLACE/outer/.git/modules/part`; `--allow read:PLACE/outer/.git/modules/part` is enough for commands that only read
    ");
    let rule = format!("read:{}/outer/.git/modules/part", fixture.path().display());
    let done = run(&fixture, &[&options[..], &["--allow", &rule]].concat());
    assert_eq!(done.code, 0, "{}", done.page());
}

/// Each of these files leads outside of the workspace, and its rule makes the program work.
#[test]
fn a_file_of_the_workspace_that_leads_outside_names_its_rule() {
    need_sandbox!();
    let cases = [
        (
            "main.py",
            "import sys\nsys.path.append(open('.venv/lib/python3.9/site-packages/x.pth').read().strip())\nimport extmod\n",
            "out/src",
            "`PLACE/work/.venv/lib/python3.9/site-packages/x.pth`, a path file of a Python environment, leads to",
        ),
        (
            "main.sh",
            "exec cat .venv/bin/python\n",
            "out/python",
            "`PLACE/work/.venv/pyvenv.cfg`, the configuration of a Python environment, leads to",
        ),
        (
            "link.sh",
            "cat node_modules/left/package.json || { echo \"Error: Cannot find module 'left'\" >&2; exit 1; }\n",
            "out/node_modules",
            "`PLACE/work/node_modules/left`, a link to a package, leads to",
        ),
    ];
    for (name, script, target, words) in cases {
        let fixture = skill(name, script);
        let path = fixture.path();
        let out = path.join("out");
        fixture
            .file("out/src/extmod.py", "")
            .file("out/python/bin/python3.9", "")
            .file("out/python/lib/python3.9/os.py", "")
            .file("out/node_modules/.store/left/package.json", "{}")
            .file(
                "work/.venv/pyvenv.cfg",
                &format!("home = {}/python/bin\nversion = 3.9.1\n", out.display()),
            )
            .file("work/.venv/bin/x", "")
            .file("work/node_modules/x", "")
            .file(
                "work/.venv/lib/python3.9/site-packages/x.pth",
                &format!("{}/src\n", out.display()),
            );
        let link = |from: &str, to: &str| {
            std::os::unix::fs::symlink(out.join(to), path.join("work").join(from)).unwrap();
        };
        link(".venv/bin/python", "python/bin/python3.9");
        link("node_modules/left", "node_modules/.store/left");
        let work = path.join("work").display().to_string();
        let options = ["--workspace", &work, "--allow", "spawn"];
        let done = run(&fixture, &options);
        let text = explanation(&done);
        let expected = format!("note: {words} `PLACE/{target}`, which is not visible to this run");
        assert!(text.contains(&expected), "{name}: {}", done.page());
        let help = format!("help: allow it with `--allow read:PLACE/{target}`");
        assert!(text.contains(&help), "{name}: {text}");
        let rule = format!("read:{}/{target}", path.display());
        let done = run(&fixture, &[&options[..], &["--allow", &rule]].concat());
        assert_eq!(done.code, 0, "{name}: {}", done.page());
    }
}

/// Root without capabilities has the rights of other users.
#[test]
fn a_workspace_of_another_user_is_named() {
    need_sandbox!();
    let fixture = skill("write.py", "open('out.txt', 'w')\n");
    let work = fixture.path().join("work");
    if std::os::unix::fs::chown(&work, Some(1000), Some(1000)).is_err() {
        skills_test_support::skip("only root can give a directory to another user");
        return;
    }
    let text = explanation(&run(&fixture, &["--workspace", work.to_str().unwrap()]));
    assert!(
        text.starts_with("note: `PLACE/work` belongs to the user 1000"),
        "{text}"
    );
}

/// Who writes into a workspace can write a `.git` file. The repository has to name the worktree.
#[test]
fn a_forged_pointer_leads_to_no_rule() {
    need_sandbox!();
    let text = "import sys\nsys.exit('fatal: not a git repository')\n";
    let fixture = skill("claim.py", text);
    let other = fixture.path().join("other/.git/worktrees/x");
    fixture
        .file("other/.git/worktrees/x/gitdir", "/elsewhere/.git\n")
        .file("home/secret/.git/config", "[core]\n\tbare = false\n")
        .file("work/.git", &format!("gitdir: {}\n", other.display()));
    let work = fixture.path().join("work").display().to_string();
    let explain = || explanation(&run(&fixture, &["--workspace", &work]));
    assert_eq!(explain(), "");
    let home = fixture.path().join("home/secret/.git");
    fixture.file("work/.git", &format!("gitdir: {}\n", home.display()));
    assert_eq!(explain(), "");

    // A repository in the workspace itself, to get its parent suggested.
    fixture
        .file("home/src/worktrees/.git", "gitdir: .\n")
        .file("home/src/worktrees/gitdir", ".git\n")
        .file("home/src/HEAD", "")
        .file("home/src/objects/x", "");
    let inside = fixture
        .path()
        .join("home/src/worktrees")
        .display()
        .to_string();
    assert_eq!(explanation(&run(&fixture, &["--workspace", &inside])), "");

    // The file of another worktree, by a symlink.
    let file = fixture.path().join("linked/.git");
    let repository = fixture.path().join("main/.git/worktrees/linked");
    fixture
        .file(
            "linked/.git",
            &format!("gitdir: {}\n", repository.display()),
        )
        .file(
            "main/.git/worktrees/linked/gitdir",
            &format!("{}\n", file.display()),
        )
        .file("main/.git/HEAD", "")
        .file("main/.git/objects/x", "");
    fs::remove_file(fixture.path().join("work/.git")).unwrap();
    std::os::unix::fs::symlink(&file, fixture.path().join("work/.git")).unwrap();
    assert_eq!(explain(), "");
}

/// A program that makes a link and fails over it would otherwise choose what its user allows.
#[test]
fn a_link_that_the_run_made_leads_to_no_rule() {
    need_sandbox!();
    let fixture = skill("main.py", "");
    let secret = fixture.path().join("home/secret").display().to_string();
    let text = format!(
        "import os, sys\nos.makedirs('node_modules', exist_ok=True)\nos.symlink({secret:?}, 'node_modules/x')\nsys.exit(\"Error: Cannot find module 'x'\")\n"
    );
    fixture
        .file("skills/one/scripts/main.py", &text)
        .file("home/secret/package.json", "{}");
    let work = fixture.path().join("work").display().to_string();
    let options = ["--workspace", &work, "--allow", "write"];
    let text = explanation(&run(&fixture, &options));
    assert!(!text.contains("secret"), "{text}");
    // The link is of an earlier run then.
    assert!(fixture.path().join("work/node_modules/x").is_symlink());
}

#[test]
fn watching_files_is_reported() {
    need_sandbox!();
    let text = "import ctypes, os, sys\nlibc = ctypes.CDLL(None, use_errno=True)\nif libc.inotify_init1(0) < 0:\n    sys.exit(os.strerror(ctypes.get_errno()))\n";
    let text = explanation(&run(&skill("watch.py", text), &[]));
    assert_eq!(
        text,
        "refused: watch files for changes; no option allows it: events of files would tell what other programs do"
    );
}

#[test]
fn no_option_lists_network_interfaces() {
    need_sandbox!();
    let text = "import sys\nsys.exit('uv_interface_addresses returned Unknown system error 1')\n";
    assert_eq!(
        explanation(&run(&skill("list.py", text), &[])),
        "refused: list network interfaces (reported by the program, not verified); no option allows it: addresses and names of interfaces identify the machine"
    );
}

/// A program that reports that it could not write and then succeeds has no result.
#[test]
fn a_success_without_its_files_names_the_option() {
    need_sandbox!();
    let text = "try:\n    open('out.txt', 'w')\nexcept OSError as error:\n    print('cannot save:', error)\n";
    let fixture = skill("save.py", text);
    let done = run(&fixture, &[]);
    assert_eq!(done.code, 0);
    insta::assert_snapshot!(explanation(&done), @"
    note: wrote `out.txt` into the directory of the skill, which stays as it was
    help: give it a directory for its files with `--workspace DIR`
    ");
    let work = fixture.path().join("work").display().to_string();
    let done = run(&fixture, &["--workspace", &work]);
    assert!(
        !explanation(&done).contains("--workspace"),
        "{}",
        done.page()
    );
}

#[test]
fn missing_modules_are_explained() {
    need_sandbox!();
    let fixture = skill("main.sh", "exec python3 -c 'import no_such_module'\n");
    let text = explanation(&run(&fixture, &["--allow", "spawn"]));
    let help = "help: only the program names `no_such_module`: before you install it, check that it is a package that you trust";
    assert_eq!(text, help);
    let named = skill(
        "main.sh",
        "echo \"ModuleNotFoundError: No module named 'PIL.Image'\" >&2\nexit 1\n",
    );
    let help = "help: install `pillow` for the `python3` that the script starts";
    assert_eq!(explanation(&run(&named, &[])), help);
    let own = skill("main.py", "from scripts.utils import x\n");
    own.file("skills/one/scripts/utils.py", "x = 1\n");
    assert_eq!(run(&own, &[]).code, 0);
}

#[test]
fn rules_for_missing_programs_are_reported() {
    need_sandbox!();
    let done = run(
        &skill("main.py", "pass\n"),
        &["--allow", "spawn:no-such-program"],
    );
    let note = "note: `spawn:no-such-program` had no effect on this run: it does not exist";
    assert_eq!(explanation(&done), note);
}

/// The same words over tools as on the terminal.
#[test]
fn tools_explain_with_the_same_words() {
    need_sandbox!();
    let fixture = skill("write.py", "open('.codex/index.json', 'w').write('x')\n");
    fixture.file("work/.codex/config.toml", "");
    let path = fixture.path();
    let work = path.join("work");
    let work = work.to_str().unwrap();
    let tool = ["call", "skill__one__write", "{}", "--root", "skills"];
    let done = fixture.run("", &[&tool[..], &["--workspace", work, "--yes"]].concat());
    let text = [done.stdout.as_str(), done.stderr.as_str()].concat();
    let expected = "note: `/workspace/.codex` stayed read-only: protected paths,";
    assert!(
        text.contains(expected) && !text.contains("--allow"),
        "{text}"
    );
    let json = [&tool[..], &["--workspace", work, "--yes", "--json"]].concat();
    let json: Value = fixture.run("", &json).json();
    assert!(json.to_string().contains("stayed read-only"), "{json}");
}

/// A program can create any number of files to hide a changed one.
#[test]
fn many_created_files_are_counted_and_hide_no_changed_one() {
    need_sandbox!();
    for (created, listed) in [(20, 20), (21, 10)] {
        let text = format!(
            "for i in range({created}): open(f'a{{i:02}}.txt', 'w')\nopen('z.txt', 'w').write('x')\n"
        );
        let fixture = skill("many.py", &text);
        fixture.file("work/z.txt", "");
        let done = run(&fixture, &["--workspace", "work"]);
        assert_eq!(done.code, 0, "{}", done.stderr);
        let lines = done
            .stderr
            .lines()
            .filter(|line| line.starts_with("created a"));
        assert_eq!(lines.count(), listed, "{}", done.stderr);
        assert!(done.stderr.contains("changed z.txt (1 bytes)\n"));
        let is_counted = done.stderr.contains("created 11 more files\n");
        assert_eq!(is_counted, created > 20, "{}", done.stderr);
    }
}

/// Files of a large workspace are not examined before the run.
#[test]
fn files_of_a_large_workspace_are_listed() {
    need_sandbox!();
    let text = "import os\nos.makedirs('new/deep')\nopen('new/deep/a.txt', 'w')\nopen('d39/f499.txt', 'w').write('x')\nos.chmod('d20/f0.txt', 0o755)\n";
    let fixture = skill("change.py", text);
    for directory in 0..41 {
        let directory = fixture.path().join(format!("work/d{directory}"));
        fs::create_dir(&directory).unwrap();
        for file in 0..500 {
            fs::write(directory.join(format!("f{file}.txt")), "").unwrap();
        }
    }
    let done = run(&fixture, &["--workspace", "work"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let files = done
        .stderr
        .lines()
        .filter(|line| line.starts_with("created ") || line.starts_with("changed "));
    let files: Vec<_> = files.collect();
    let expected = [
        "changed d20/f0.txt (0 bytes)",
        "changed d39/f499.txt (1 bytes)",
        "created new/deep/a.txt (0 bytes)",
    ];
    assert_eq!(files, expected, "{}", done.stderr);
    assert!(!done.stderr.contains("omitted"), "{}", done.stderr);
}

/// Files that are lost are no success.
#[test]
fn output_files_beyond_the_limits_are_errors() {
    need_sandbox!();
    for (text, error) in [
        (
            "open('big.bin', 'wb').write(b'x' * (33 << 20))\n",
            "error: cannot save `big.bin`: the total size of all files exceeds 33554432 bytes\n",
        ),
        (
            "for i in range(1001): open(f'{i}.txt', 'w')\n",
            "error: cannot save 1 more files: at most 1000 are saved\n",
        ),
    ] {
        let fixture = skill("many.py", text);
        let done = run(&fixture, &["--output", "out"]);
        assert_eq!(done.code, 125, "{}", done.stderr);
        assert!(done.stderr.contains(error), "{}", done.stderr);
        let help =
            "help: let the program write into a directory that stays, with `--workspace DIR`";
        assert!(done.stderr.contains(help), "{}", done.stderr);
    }
}
