//! Policy files.

use std::time::Duration;

use insta::assert_snapshot;
use skills_policy::{
    ApprovalMode, NewContentPolicy, Policy, PolicyFile, ResourceLimits, RuleSource,
};

fn parse(text: &str) -> PolicyFile {
    PolicyFile::parse(text, RuleSource::Admin, "policy.toml").unwrap()
}

fn error(text: &str) -> String {
    PolicyFile::parse(text, RuleSource::Admin, "policy.toml")
        .unwrap_err()
        .to_string()
}

#[test]
fn a_policy_file_is_parsed_in_full() {
    let file = parse(
        r#"
        mode = "strict"
        new-content = "allow"
        deny = ["network"]
        ask = ["spawn:git", "env:AWS_*"]
        allow = ["write:/out"]

        [[within]]
        directory = "/skills"
        deny = ["spawn:rm"]
        ask = ["read:/in"]
        allow = ["spawn"]
        "#,
    );
    assert_eq!(
        (file.mode(), file.new_content()),
        (Some(ApprovalMode::Strict), Some(NewContentPolicy::Allow))
    );
    let rules: Vec<String> = file.rules().iter().map(ToString::to_string).collect();
    assert_snapshot!(rules.join("\n"), @"
    allow write:/out (admin, policy.toml)
    ask spawn:git (admin, policy.toml)
    ask env:AWS_* (admin, policy.toml)
    deny network (admin, policy.toml)
    allow spawn within /skills (admin, policy.toml)
    ask read:/in within /skills (admin, policy.toml)
    deny spawn:rm within /skills (admin, policy.toml)
    ");
}

#[test]
fn an_empty_policy_file_has_no_rules() {
    let file = parse("");
    assert_eq!(
        (file.mode(), file.new_content(), file.rules()),
        (None, None, [].as_slice())
    );
    assert_eq!(*file.limits(), ResourceLimits::default_ceiling());
}

/// Each limit in the unit of its name; the others stay at the ceiling, and no value wraps around.
#[test]
fn each_limit_is_read_in_its_unit() {
    type Set = fn(&mut ResourceLimits);
    let expect: [(&str, Set); 8] = [
        ("time-seconds = 3", |limits| {
            limits.wall_time = Duration::from_secs(3)
        }),
        ("memory-mib = 3", |limits| limits.memory_bytes = 3_145_728),
        ("output-kib = 3", |limits| limits.captured_bytes = 3_072),
        ("file-mib = 3", |limits| limits.file_bytes = 3_145_728),
        ("open-files = 3", |limits| limits.open_files = 3),
        ("processes = 3", |limits| limits.processes = 3),
        ("scratch-mib = 3", |limits| limits.scratch_bytes = 3_145_728),
        ("memory-mib = 9223372036854775807", |limits| {
            limits.memory_bytes = u64::MAX
        }),
    ];
    for (line, set) in expect {
        let mut limits = ResourceLimits::default_ceiling();
        set(&mut limits);
        assert_eq!(
            *parse(&format!("[limits]\n{line}")).limits(),
            limits,
            "{line}"
        );
    }
}

#[test]
fn no_limit_may_be_zero() {
    for name in [
        "time-seconds",
        "memory-mib",
        "output-kib",
        "file-mib",
        "open-files",
        "processes",
        "scratch-mib",
    ] {
        assert_eq!(
            error(&format!("[limits]\n{name} = 0")),
            "policy.toml: invalid limit 0: expected a number greater than 0",
            "{name}"
        );
    }
}

#[test]
fn errors_name_the_file_and_the_line() {
    assert!(
        error("mode = \"ask\"\nallow = []\nalow = []\n")
            .starts_with("policy.toml:3: unknown field `alow`")
    );
    assert!(
        error("mode = \"sometimes\"").starts_with("policy.toml:1: unknown variant `sometimes`")
    );
    assert_eq!(
        error("ask = [\"spawn:/bin/ls\"]"),
        "policy.toml:1: invalid program name `/bin/ls`: expected letters, digits and `._+-@`, without a path"
    );
    assert!(
        error("allow = [\"network\"]")
            .starts_with("policy.toml:1: `allow network` needs a host: use ")
    );
    for directory in ["skills", "/skills/../etc"] {
        let message = error(&format!(
            "[[within]]\ndirectory = \"{directory}\"\nallow = [\"spawn\"]"
        ));
        assert_eq!(
            message,
            format!(
                "policy.toml:2: invalid `directory` `{directory}`: expected an absolute path without `..`"
            )
        );
    }
}

#[test]
fn a_rule_that_can_never_match_is_an_error_of_its_line() {
    for (text, suggestion) in [
        ("packages:pipy:pypdf", Some("packages:pypi:pypdf")),
        ("packages:pip:pypdf", Some("packages:pypi:pypdf")),
        ("packages:pypi:_private", Some("packages:pypi:private")),
        ("packages:pypi:-x*", Some("packages:pypi:x*")),
        ("packages:pypi:@acme/tools", None),
        ("packages:pypi:requests>=2", Some("packages:pypi:requests")),
        (
            "packages:pypi:requests[socks]",
            Some("packages:pypi:requests"),
        ),
        ("packages:pypi:p\u{443}pdf", None),
        ("packages:pypi:a*b", None),
        ("packages:npm:@acme", Some("packages:npm:@acme/*")),
        ("packages:npm:@acme/", Some("packages:npm:@acme/*")),
        ("packages:npm:@/x*", None),
        ("packages:npm:a/b", None),
        ("packages:npm:a/*", None),
        ("packages:npm:@a/b/*", None),
        ("packages:npm:.bin", None),
        ("packages:npm:node_modules", None),
        ("packages:npm:left-pad@1", Some("packages:npm:left-pad")),
        ("network:https://a.example/x", Some("network:a.example")),
        ("network:a.example/x", Some("network:a.example")),
        ("network:user@a.example", Some("network:a.example")),
        ("network:127.1", Some("network:127.0.0.1")),
        ("network:0177.0.0.1", Some("network:127.0.0.1")),
        ("network:*.10.0.0.5", None),
        ("network:*.example:443", Some("network:*.example")),
        ("network:a.example:0443", Some("network:a.example:443")),
        ("network:2001:db8::1", Some("network:[2001:db8::1]")),
        ("spawn:/usr/bin/git", Some("spawn:git")),
        ("spawn:../git", Some("spawn:git")),
        ("spawn:bin/", Some("spawn:bin")),
        ("env:API KEY", None),
        ("env:1PASSWORD", None),
        ("env:1PASSWORD_*", None),
        ("env:API-KEY", Some("env:API_KEY")),
        ("env:API_KEY=1", Some("env:API_KEY")),
        ("read:data", None),
        ("read:~/.ssh", None),
        ("write:/data/../etc", Some("write:/etc")),
        ("read:/home/me/.ssh/*", Some("read:/home/me/.ssh")),
        ("read:/home/*/.ssh", None),
        ("read:/a\\u0000b", None),
        ("raed:/data", Some("read:/data")),
    ] {
        for effect in ["allow", "ask", "deny"] {
            let file = format!("mode = \"ask\"\n{effect} = [\n\"spawn:ls\",\n\"{text}\",\n]\n");
            let error = PolicyFile::parse(&file, RuleSource::User, "policy.toml");
            let error = error.expect_err(text);
            assert!(
                error.to_string().starts_with("policy.toml:4: invalid "),
                "{error}"
            );
            assert_eq!(error.suggestion(), suggestion, "{text}");
            let file = format!("[[within]]\ndirectory = \"/s\"\n{effect} = [\"{text}\"]\n");
            let error = PolicyFile::parse(&file, RuleSource::User, "policy.toml");
            assert!(
                error
                    .unwrap_err()
                    .to_string()
                    .starts_with("policy.toml:3: ")
            );
        }
    }
}

#[test]
fn restrictions_of_installation_are_combined_and_never_widened() {
    let file = |text: &str, source| PolicyFile::parse(text, source, "policy.toml").unwrap();
    let admin = file(
        "sources = ['git:a/*']\nrequire-signature = true\nsignature-keys = ['A', 'B']\n",
        RuleSource::Admin,
    );
    let user = file(
        "sources = ['git:a/x']\nsignature-keys = ['C']\n",
        RuleSource::User,
    );
    let strict_user = file(
        "require-signature = true\nsignature-keys = ['B', 'C']\n",
        RuleSource::User,
    );
    let project = file(
        "require-signature = true\nsignature-keys = ['D']\n",
        RuleSource::Project,
    );
    let keys = |files: &[&PolicyFile]| {
        let files: Vec<PolicyFile> = files.iter().map(|file| (*file).clone()).collect();
        let policy = Policy::from_files(&files);
        (
            policy.install().requires_signature,
            policy
                .install()
                .signature_keys
                .clone()
                .unwrap_or_default()
                .join(" "),
        )
    };
    assert_eq!(keys(&[]), (false, String::new()));
    assert_eq!(keys(&[&user]), (false, "C".to_owned()));
    assert_eq!(keys(&[&admin, &user]), (true, "A B".to_owned()));
    assert_eq!(keys(&[&user, &admin]), (true, "A B".to_owned()));
    assert_eq!(keys(&[&admin, &strict_user]), (true, "B".to_owned()));
    assert_eq!(keys(&[&user, &project]), (true, "C".to_owned()));
    let policy = Policy::from_files(&[admin, user]);
    assert_eq!(policy.install().sources, [["git:a/*"], ["git:a/x"]]);
}

#[test]
fn identities_count_with_the_trusted_root_of_their_file_and_are_combined_like_keys() {
    let parse = |text: &str, source| PolicyFile::parse(text, source, "policy.toml");
    let file = |text: &str, source| parse(text, source).unwrap();
    let admin = file(
        "require-signature = true\nsignature-identities = ['i a', 'i b']\nsigstore-trusted-root = '/etc/root'\n",
        RuleSource::Admin,
    );
    let identities = |files: &[&PolicyFile]| {
        let files: Vec<PolicyFile> = files.iter().map(|file| (*file).clone()).collect();
        let policy = Policy::from_files(&files);
        let identities = policy.install().signature_identities.clone();
        let shown = identities.unwrap_or_default().into_iter().map(|trusted| {
            let root = trusted.trusted_root.unwrap_or_default();
            format!("{} {}", trusted.identity, root.display())
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(identities(&[&admin]), "i a /etc/root, i b /etc/root");
    // Neither another identity, another root nor a key of the user counts.
    for (text, expected) in [
        (
            "signature-identities = ['i c']\nsigstore-trusted-root = '/home/root'\n",
            "i a /etc/root, i b /etc/root",
        ),
        (
            "sigstore-trusted-root = '/home/root'\n",
            "i a /etc/root, i b /etc/root",
        ),
        (
            "require-signature = true\nsignature-identities = ['i a']\nsigstore-trusted-root = '/home/root'\n",
            "",
        ),
        (
            "require-signature = true\nsignature-identities = ['i a']\nsigstore-trusted-root = '/etc/root'\n",
            "i a /etc/root",
        ),
        (
            "require-signature = true\nsignature-identities = ['i a']\n",
            "",
        ),
        ("require-signature = true\nsignature-keys = ['A']\n", ""),
        ("require-signature = true\n", "i a /etc/root, i b /etc/root"),
    ] {
        let user = file(text, RuleSource::User);
        assert_eq!(identities(&[&admin, &user]), expected, "{text}");
        assert_eq!(identities(&[&user, &admin]), expected, "{text}");
        let policy = Policy::from_files(&[admin.clone(), user]);
        assert_eq!(policy.install().signature_keys, Some(Vec::new()), "{text}");
    }
    let project = file(
        "signature-identities = ['i d']\nsigstore-trusted-root = '/tmp/root'\n",
        RuleSource::Project,
    );
    assert_eq!(identities(&[&project]), "");
    let user = file("signature-identities = ['i a']\n", RuleSource::User);
    assert_eq!(identities(&[&user, &project]), "i a ");
    for path in ["root.json", "/etc/../root.json"] {
        let text = format!("sigstore-trusted-root = '{path}'\n");
        let error = parse(&text, RuleSource::User).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "policy.toml:1: invalid `sigstore-trusted-root` `{path}`: expected an absolute path without `..`"
            )
        );
    }
}

#[test]
fn a_required_sandbox_applies_to_all_programs_or_within_a_directory() {
    let text = "require-sandbox = \"container\"\n[[within]]\ndirectory = \"/skills/a\"\nrequire-sandbox = \"wasm\"\n";
    let admin = PolicyFile::parse(text, RuleSource::Admin, "policy.toml").unwrap();
    let policy = Policy::from_files(&[admin]);
    let shown: Vec<String> = policy.sandboxes().iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "sandbox container (admin, policy.toml)",
            "sandbox wasm within /skills/a (admin, policy.toml)"
        ]
    );
    let error = PolicyFile::parse(text, RuleSource::Project, "p.toml").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("p.toml: `require-sandbox` has no effect")
    );
    let error = PolicyFile::parse("require-sandbox = \"none\"", RuleSource::User, "u.toml");
    assert!(error.unwrap_err().to_string().contains("expected one of"));
}

/// Only a file of the user raises what runs get that set no limit; every file lowers it.
#[test]
fn limits_of_runs_are_raised_by_the_user_and_lowered_by_every_file() {
    let file = |text: &str, source| PolicyFile::parse(text, source, "policy.toml").unwrap();
    let text = "[limits]\nfile-mib = 400\noutput-kib = 16384\ntime-seconds = 3600";
    let granted = |files: &[PolicyFile]| {
        let policy = Policy::from_files(files);
        let limits = policy.limits_of_runs(&ResourceLimits::default());
        let request = skills_policy::Request::new("/skills/pdf").limits(limits);
        let skills_policy::Authorization::Granted(grants) = policy.authorize(&request) else {
            panic!("reading is granted")
        };
        let limits = grants.limits();
        (
            limits.file_bytes >> 20,
            limits.captured_bytes >> 10,
            limits.wall_time.as_secs(),
        )
    };
    assert_eq!(granted(&[]), (64, 1_024, 30));
    assert_eq!(
        granted(&[file(text, RuleSource::User)]),
        (400, 16_384, 3_600)
    );
    for source in [RuleSource::Project, RuleSource::Admin] {
        assert_eq!(granted(&[file(text, source)]), (64, 1_024, 30));
        let lower = file("[limits]\nfile-mib = 100\ntime-seconds = 60", source);
        let both = [file(text, RuleSource::User), lower];
        assert_eq!(granted(&both), (100, 16_384, 60));
    }
}

/// Only the reserve of the disk limits files of a directory that the user granted, unless a policy
/// does.
#[test]
fn a_file_in_a_named_directory_is_limited_by_the_ceiling_only() {
    let file = |text: &str, source| PolicyFile::parse(text, source, "policy.toml").unwrap();
    let file_mib = |files: &[PolicyFile], request: skills_policy::Request| {
        let rule = skills_policy::Rule::parse(
            skills_policy::Effect::Allow,
            RuleSource::Invocation,
            "write:/data",
        )
        .unwrap();
        let policy = Policy::from_files(files).with_rules([rule]);
        match policy.authorize(&request) {
            skills_policy::Authorization::Granted(grants) => grants.limits().file_bytes >> 20,
            skills_policy::Authorization::Denied(denial) => panic!("{denial}"),
        }
    };
    let request = || skills_policy::Request::new("/skills/pdf");
    let lower = |source| [file("[limits]\nfile-mib = 100", source)];
    assert_eq!(file_mib(&[], request().write("/data")), u64::MAX >> 20);
    let private = request().private_workspace("/data").write("/data/out");
    assert_eq!(file_mib(&[], private), 64);
    let omitted = request().workspace("/other").allowed_tool("Write", None);
    let granted = Policy::default().authorize(&omitted.omit_ungranted());
    let skills_policy::Authorization::Granted(grants) = granted else {
        panic!("only the skill asks for it")
    };
    assert_eq!(grants.limits().file_bytes >> 20, 64);
    for source in [RuleSource::User, RuleSource::Project, RuleSource::Admin] {
        assert_eq!(file_mib(&lower(source), request().write("/data")), 100);
    }
}
