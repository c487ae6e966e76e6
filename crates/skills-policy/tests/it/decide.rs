use std::path::Path;
use std::time::Duration;

use insta::assert_snapshot;
use skills_policy::{
    Access, ApprovalMode, Authorization, Capability, Effect, Grants, NetworkGrant, Policy, Request,
    ResourceLimits, Rule, RuleSource, SpawnGrant, VariableSource,
};

pub(crate) fn request(tools: &[(&str, Option<&str>)]) -> Request {
    tools
        .iter()
        .fold(Request::new("/skills/a"), |request, (tool, pattern)| {
            request.allowed_tool(tool, *pattern)
        })
}

pub(crate) fn rules(texts: &[(Effect, RuleSource, &str)]) -> Policy {
    texts
        .iter()
        .fold(Policy::default(), |rules, (effect, source, text)| {
            rules.rule(Rule::parse(*effect, *source, text).unwrap())
        })
}

pub(crate) fn allow(texts: &[&str]) -> Policy {
    texts.iter().fold(Policy::default(), |rules, text| {
        rules.rule(Rule::parse(Effect::Allow, RuleSource::User, text).unwrap())
    })
}

/// Formats an authorization: the grants, or the denial.
pub(crate) fn decide(rules: &Policy, request: &Request) -> String {
    match rules.authorize(request) {
        Authorization::Granted(grants) => describe(&grants),
        Authorization::Denied(denial) => denial.to_string(),
    }
}

fn describe(grants: &Grants) -> String {
    let access = |access| {
        if access == Access::ReadOnly {
            "ro"
        } else {
            "rw"
        }
    };
    let mut facts: Vec<String> = grants
        .files()
        .iter()
        .map(|file| {
            format!(
                "{}={}:{}",
                file.guest_path(),
                file.path().display(),
                access(file.access())
            )
        })
        .collect();
    match grants.network() {
        NetworkGrant::None => {}
        NetworkGrant::Hosts(list) => {
            facts.extend(list.allowed().iter().map(|host| format!("host {host}")));
            facts.extend(list.denied().iter().map(|host| format!("not host {host}")));
        }
    }
    match grants.spawn() {
        SpawnGrant::None => {}
        SpawnGrant::Programs(names) => {
            facts.extend(names.iter().map(|name| format!("program {name}")))
        }
        SpawnGrant::Any => facts.push("any program".to_owned()),
    }
    facts.extend(
        grants
            .variables()
            .iter()
            .map(|name| format!("variable {name}")),
    );
    facts.join(" ")
}

pub(crate) const LEAST: &str = "/skill=/skills/a:ro";

#[test]
fn the_default_policy_grants_only_the_skill_directory() {
    let rules = Policy::default();
    assert_eq!(decide(&rules, &request(&[])), LEAST);
    assert_eq!(
        decide(
            &rules,
            &request(&[("Read", None), ("Grep", None), ("Glob", None), ("LS", None)])
        ),
        LEAST
    );
    assert_eq!(
        decide(
            &rules,
            &request(&[
                ("*", None),
                ("mcp__github__list", None),
                ("Task", None),
                ("bash", None)
            ])
        ),
        LEAST
    );
}

#[test]
fn denials_of_privileged_tools_name_the_requester() {
    let all = [
        ("Write", None),
        ("WebFetch", Some("domain:a.example")),
        ("Bash", Some("git:*")),
        ("Terminal", None),
    ];
    assert_snapshot!(decide(&Policy::default(), &request(&all).workspace("/w")).replace("; ", "\n"), @r"
    permission denied: write `/w` (requested by `Write`): no rule allows it and no approver is available
    connect to `a.example` (requested by `WebFetch(domain:a.example)`): no rule allows it and no approver is available
    spawn `git` (requested by `Bash(git:*)`): no rule allows it and no approver is available
    spawn any program (requested by `Terminal`): no rule allows it and no approver is available
    ");
    assert_snapshot!(decide(&Policy::default().with_mode(ApprovalMode::Strict), &request(&[("Bash", None)])), @"permission denied: spawn any program (requested by `Bash`): no rule allows it and strict mode requests no approval");
}

#[test]
fn deny_overrides_ask_and_ask_overrides_allow() {
    use Effect::{Allow, Ask, Deny};
    use RuleSource::{Admin, Invocation, Project, User};
    let spawn = |texts: &[(Effect, RuleSource)]| {
        let texts: Vec<_> = texts
            .iter()
            .map(|(effect, source)| (*effect, *source, "spawn:git"))
            .collect();
        decide(&rules(&texts), &request(&[("Bash", Some("git:*"))])).replace(
            "permission denied: spawn `git` (requested by `Bash(git:*)`): ",
            "no: ",
        )
    };
    let granted = "/skill=/skills/a:ro program git";
    assert_eq!(spawn(&[(Allow, User)]), granted);
    assert_eq!(spawn(&[(Allow, Invocation)]), granted);
    assert_snapshot!(spawn(&[(Allow, Invocation), (Deny, User)]), @"no: denied by rule `deny spawn:git (user)`");
    assert_snapshot!(spawn(&[(Deny, Project), (Allow, Admin)]), @"no: denied by rule `deny spawn:git (project)`");
    assert_snapshot!(spawn(&[(Ask, User), (Allow, Admin)]), @"no: rule `ask spawn:git (user)` requires approval and no approver is available");
    assert_eq!(
        spawn(&[(Ask, User), (Ask, Project), (Allow, Invocation)]),
        granted
    );
    assert_snapshot!(spawn(&[(Ask, Admin), (Allow, Invocation)]), @"no: rule `ask spawn:git (admin)` requires approval and no approver is available");
}

#[test]
fn a_decision_names_the_rule_of_the_most_general_source() {
    use RuleSource::{Admin, Project, User};
    for effect in [Effect::Allow, Effect::Ask, Effect::Deny] {
        for order in [
            [Admin, User, Project],
            [Project, User, Admin],
            [User, Admin, Project],
        ] {
            let texts = order.map(|source| (effect, source, "spawn:git"));
            let decision = rules(&texts).authorize(&request(&[("Bash", Some("git:*"))]));
            assert!(
                decision.decisions()[0]
                    .explanation()
                    .contains(&format!("`{effect} spawn:git (admin)`")),
                "{effect} {order:?}"
            );
        }
        let decision = rules(&[Project, User].map(|source| (effect, source, "spawn:git")))
            .authorize(&request(&[("Bash", Some("git:*"))]));
        assert!(
            decision.decisions()[0].explanation().contains("(user)"),
            "{effect}"
        );
        let alike = rules(&[(effect, User, "spawn:git"), (effect, User, "spawn")])
            .authorize(&request(&[("Bash", Some("git:*"))]));
        assert!(
            alike.decisions()[0]
                .explanation()
                .contains(&format!("`{effect} spawn:git (user)`")),
            "the first of one source, {effect}"
        );
    }
}

#[test]
fn an_untrusted_project_only_restricts() {
    let project = rules(&[
        (Effect::Allow, RuleSource::Project, "spawn:git"),
        (Effect::Allow, RuleSource::Project, "network:a.example"),
    ]);
    let requested = request(&[("Bash", Some("git:*")), ("WebSearch", None)]);
    assert!(decide(&project, &requested).starts_with("permission denied: "));
    assert_eq!(
        decide(&project.trust_project(), &requested),
        "/skill=/skills/a:ro host a.example program git"
    );
}

/// The denied hosts of a project are subtracted from wider grants, and its allowed hosts are
/// ignored.
#[test]
fn an_untrusted_project_denies_hosts_and_allows_none() {
    let rules = rules(&[
        (Effect::Allow, RuleSource::User, "network:*.example"),
        (Effect::Deny, RuleSource::Project, "network:evil.example"),
        (Effect::Allow, RuleSource::Project, "network:more.test"),
    ]);
    let search = request(&[("WebSearch", None)]);
    assert_eq!(
        decide(&rules, &search),
        "/skill=/skills/a:ro host *.example not host evil.example"
    );
    let Authorization::Granted(grants) = rules.authorize(&search) else {
        panic!("some hosts are allowed")
    };
    let NetworkGrant::Hosts(hosts) = grants.network() else {
        panic!("some hosts are allowed")
    };
    let allows = ["good.example", "evil.example", "more.test"].map(|host| hosts.allows(host, 443));
    assert_eq!(allows, [true, false, false]);
    assert!(decide(&rules.trust_project(), &search).contains("host more.test"));
}

#[test]
fn rules_can_be_restricted_to_a_directory() {
    let within = |directory: &str| {
        Policy::default().rule(
            Rule::parse(Effect::Allow, RuleSource::User, "spawn")
                .unwrap()
                .within(directory),
        )
    };
    assert_eq!(
        decide(&within("/skills"), &request(&[("Bash", None)])),
        "/skill=/skills/a:ro any program"
    );
    assert!(
        decide(&within("/skills/b"), &request(&[("Bash", None)]))
            .starts_with("permission denied: ")
    );
    assert!(
        decide(&within("/skills/../skills"), &request(&[("Bash", None)]))
            .starts_with("permission denied: ")
    );
    let deny = Policy::default()
        .allow(RuleSource::User, Capability::Spawn)
        .rule(
            Rule::parse(Effect::Deny, RuleSource::User, "spawn")
                .unwrap()
                .within("/skills/../skills"),
        );
    assert!(decide(&deny, &request(&[("Bash", None)])).starts_with("permission denied: "));
    assert!(
        decide(&within("/skil"), &request(&[("Bash", None)])).starts_with("permission denied: ")
    );
}

#[test]
fn trusted_mode_grants_what_is_declared_and_no_more() {
    let trusted = Policy::default().with_mode(ApprovalMode::Trusted);
    let declared = request(&[("Bash", Some("git:*")), ("Write", None)])
        .workspace("/w")
        .variable("API_KEY", VariableSource::Secret);
    assert_eq!(
        decide(&trusted, &declared),
        "/skill=/skills/a:ro /workspace=/w:rw program git variable API_KEY"
    );
    assert_snapshot!(decide(&trusted, &declared.clone().variable("OTHER", VariableSource::Undeclared)), @"permission denied: read variable `OTHER` (requested by the caller): no rule allows it and no approver is available");
    assert_snapshot!(decide(&trusted.deny(RuleSource::User, Capability::Spawn), &declared), @"permission denied: spawn `git` (requested by `Bash(git:*)`): denied by rule `deny spawn (user)`");
}

#[test]
fn a_capability_can_be_dropped() {
    let request = request(&[("Read", None), ("Bash", None)]).drop_capability(Capability::Spawn);
    assert_eq!(decide(&Policy::default(), &request), LEAST);
}

#[test]
fn patterns_narrow_what_is_granted() {
    let trusted = Policy::default().with_mode(ApprovalMode::Trusted);
    for rules in [allow(&["spawn"]), trusted.clone()] {
        let got = |tools: &[(&str, Option<&str>)]| {
            decide(&rules, &request(tools)).replace("/skill=/skills/a:ro ", "")
        };
        assert_eq!(
            got(&[("Bash", Some("git:*")), ("Bash", Some("npm run build"))]),
            "program git program npm"
        );
        assert_eq!(
            got(&[("Bash", Some("git:*")), ("Bash", None)]),
            "any program"
        );
        assert_eq!(got(&[("Bash", Some("*"))]), "any program");
    }
    let fetch = |host: &str| request(&[("WebFetch", Some(host))]);
    assert_eq!(
        decide(&trusted, &fetch("domain:x.b.example")),
        format!("{LEAST} host x.b.example")
    );
    let listed = allow(&["network:a.example", "network:*.b.example"]);
    assert_eq!(
        decide(&listed, &request(&[("WebSearch", None)])),
        format!("{LEAST} host a.example host *.b.example")
    );
    assert!(decide(&listed, &fetch("domain:evil.example")).starts_with("permission denied: "));
}

#[test]
fn invalid_patterns_are_denied() {
    let open = allow(&["spawn", "network:*"]);
    let got = |tool, pattern| decide(&open, &request(&[(tool, Some(pattern))]));
    assert_snapshot!(got("WebFetch", "https://a.example/*"), @r#"permission denied: connect to `https://a.example/*` (requested by `WebFetch(https://a.example/*)`): the pattern is invalid, expected `domain:HOST`"#);
    assert_snapshot!(got("WebFetch", "domain:a.example/evil"), @r#"permission denied: connect to `domain:a.example/evil` (requested by `WebFetch(domain:a.example/evil)`): the pattern is invalid, expected `domain:HOST`"#);
    for invalid in ["$(id):*", "-rf:*", "a;b:*"] {
        assert!(
            got("Bash", invalid).starts_with("permission denied: "),
            "{invalid}"
        );
    }
    for path in ["/bin/rm:*", "./x.sh:*", "..:*", "scripts/x.py *"] {
        assert_eq!(got("Bash", path), LEAST, "{path}");
    }
    assert_snapshot!(got("Bash", ":*"), @r#"permission denied: spawn `:*` (requested by `Bash(:*)`): the pattern is invalid, expected a program name such as `git:*`"#);
}

#[test]
fn file_patterns_name_directories_or_nothing() {
    // The workspace itself is readable; what patterns add is granted in this mode.
    let rules = Policy::default().with_mode(ApprovalMode::Trusted);
    let got = |tool, pattern| {
        decide(&rules, &request(&[(tool, Some(pattern))]).workspace("/w"))
            .replace("/skill=/skills/a:ro", "")
            .replace(" /workspace=/w:ro", "")
    };
    assert_eq!(got("Read", "src/**"), " /workspace/src=/w/src:ro");
    assert_eq!(got("Write", "./out/"), " /workspace/out=/w/out:rw");
    assert_eq!(got("Edit", "**"), " /workspace=/w:rw");
    for nothing in [
        "*.md",
        "src/*/x/**",
        "../**",
        "/etc/**",
        "a/../../b/**",
        "src",
    ] {
        assert_eq!(got("Write", nothing), "", "{nothing}");
    }
}

/// A directory that a question would display ambiguously is not granted.
#[test]
fn file_patterns_with_ambiguous_characters_name_no_directory() {
    let got = |pattern: &str| {
        decide(
            &Policy::default().with_mode(ApprovalMode::Trusted),
            &request(&[("Write", Some(pattern))]).workspace("/w"),
        )
        .replace(" /workspace=/w:ro", "")
    };
    assert_eq!(
        got("my out/**"),
        format!("{LEAST} /workspace/my out=/w/my out:rw")
    );
    let longest = "x".repeat(200);
    assert_eq!(
        got(&format!("{longest}/**")),
        format!("{LEAST} /workspace/{longest}=/w/{longest}:rw")
    );
    let too_long = "x".repeat(201);
    for below in [
        "a\u{a0}b",
        "a\u{2003}b",
        "a\tb",
        "a\nb",
        "a\u{7}b",
        "a  b",
        "a?",
        "a[b]",
        "{a,b}",
        &too_long,
    ] {
        assert_eq!(got(&format!("{below}/**")), LEAST, "{below:?}");
    }
}

#[test]
fn unused_tools_have_a_reason() {
    let tools = || {
        request(&[
            ("Read", Some("*.md")),
            ("Write", None),
            ("Task", None),
            ("Bash", Some("./x.sh")),
            ("Bash", Some("git:*")),
        ])
    };
    let idle = |request: Request| {
        request
            .unused_tools()
            .iter()
            .map(|(tool, why)| format!("{tool}: {why}"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_snapshot!(idle(tools().workspace("/w")), @r"
    Read(*.md): the pattern is not a directory of the workspace
    Task: a tool of the agent, not of programs
    Bash(./x.sh): the pattern is not the name of a program
    ");
    assert_snapshot!(idle(tools().drop_capability(Capability::Spawn)), @r"
    Read(*.md): no workspace is set
    Write: no workspace is set
    Task: a tool of the agent, not of programs
    Bash(./x.sh): the caller excluded this capability
    Bash(git:*): the caller excluded this capability
    ");
    assert_snapshot!(idle(tools().private_workspace("/tmp/run-1")), @r"
    Read(*.md): the run has a private workspace
    Write: the run has a private workspace
    Task: a tool of the agent, not of programs
    Bash(./x.sh): the pattern is not the name of a program
    ");
}

#[test]
fn denied_hosts_are_subtracted_and_denied_paths_deny_the_request() {
    let deny = |text: &str| {
        rules(&[
            (Effect::Allow, RuleSource::User, "network:*.example"),
            (Effect::Allow, RuleSource::User, "spawn"),
            (Effect::Allow, RuleSource::User, "write"),
            (Effect::Deny, RuleSource::Admin, text),
        ])
    };
    let got = |text: &str, request: &Request| {
        decide(&deny(text), request).replace("/skill=/skills/a:ro ", "")
    };
    assert_eq!(
        got("network:evil.example", &request(&[("WebSearch", None)])),
        "host *.example not host evil.example"
    );
    assert_snapshot!(got("network:*.evil.example", &request(&[("WebFetch", Some("domain:a.evil.example"))])), @"permission denied: connect to `a.evil.example` (requested by `WebFetch(domain:a.evil.example)`): denied by rule `deny network:*.evil.example (admin)`");
    assert_snapshot!(got("network", &request(&[("WebSearch", None)])), @"permission denied: connect to `*.example` (requested by `WebSearch`): denied by rule `deny network (admin)`");
    // A part that cannot be subtracted denies the whole.
    assert_snapshot!(got("spawn:curl", &request(&[("Bash", None)])), @"permission denied: spawn any program (requested by `Bash`): denied by rule `deny spawn:curl (admin)`");
    assert_snapshot!(got("read:/w/secret", &request(&[("Write", None)]).workspace("/w")), @"permission denied: write `/w` (requested by `Write`): denied by rule `deny read:/w/secret (admin)`");
    assert_eq!(
        got(
            "write:/w/secret",
            &request(&[("Read", None)]).workspace("/w")
        ),
        "/workspace=/w:ro host *.example"
    );
    assert_eq!(
        got("write:/wide", &request(&[("Write", None)]).workspace("/w")),
        "/workspace=/w:rw host *.example"
    );
}

/// Write access includes read access, so a rule about reading applies to both.
#[test]
fn a_rule_against_reading_applies_to_writing() {
    let allowed = [
        (Effect::Allow, RuleSource::Invocation, "write:/w"),
        (Effect::Allow, RuleSource::Invocation, "write:/w/.git"),
    ];
    for path in ["/w", "/w/.git"] {
        let write = request(&[]).write(path);
        assert!(decide(&rules(&allowed), &write).ends_with(":rw"), "{path}");
        for text in ["read", "read:/w", "read:/w/.git/x"] {
            let denied = rules(&[&allowed[..], &[(Effect::Deny, RuleSource::User, text)]].concat());
            assert!(
                decide(&denied, &write).contains(&format!("by rule `deny {text} (user)`")),
                "{path} {text}"
            );
            let asked = rules(&[&allowed[..], &[(Effect::Ask, RuleSource::Admin, text)]].concat());
            assert!(
                decide(&asked, &write)
                    .contains(&format!("rule `ask {text} (admin)` requires approval")),
                "{path} {text}"
            );
        }
    }
}

#[test]
fn each_permission_is_requested_once_and_in_order() {
    let request = request(&[
        ("Bash", Some("git:*")),
        ("Bash", Some("git *")),
        ("Read", None),
        ("Grep", None),
    ])
    .workspace("/w");
    let permissions: Vec<String> = request
        .variable("KEY", VariableSource::Secret)
        .permissions()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        permissions,
        ["read `/w`", "spawn `git`", "read variable `KEY`"]
    );
}

/// A host that rules list and that is also requested by name is one permission.
#[test]
fn a_listed_host_is_requested_once() {
    let both = request(&[("WebFetch", Some("domain:*.example")), ("WebSearch", None)]);
    let decision = allow(&["network:*.example", "network:b.test"]).authorize(&both);
    let lines: Vec<String> = decision
        .decisions()
        .iter()
        .map(|decision| format!("{}: {}", decision.permission(), decision.requesters()))
        .collect();
    assert_eq!(
        lines,
        [
            "connect to `*.example`: `WebFetch(domain:*.example)`, `WebSearch`",
            "connect to `b.test`: `WebSearch`"
        ]
    );
}

/// A request of the caller does not weaken the declaration of the skill.
#[test]
fn requesters_are_merged_and_a_declaration_counts() {
    let trusted = Policy::default().with_mode(ApprovalMode::Trusted);
    let both = request(&[
        ("Write", Some("out/**")),
        ("Write", Some("out/*")),
        ("Write", Some("out/*")),
    ])
    .workspace("/w")
    .write("/w/out");
    let decision = trusted.authorize(&both);
    let write = decision.decisions().last().unwrap();
    assert_eq!(
        write.requested_by(),
        ["Write(out/**)", "Write(out/*)", "the caller"]
    );
    assert_eq!(
        decide(&trusted, &both),
        "/skill=/skills/a:ro /workspace=/w:ro /workspace/out=/w/out:rw"
    );
    let variable = |origins: [VariableSource; 2]| {
        origins.into_iter().fold(request(&[]), |request, origin| {
            request.variable("KEY", origin)
        })
    };
    for origins in [
        [VariableSource::Secret, VariableSource::Undeclared],
        [VariableSource::Undeclared, VariableSource::Secret],
    ] {
        assert_eq!(
            decide(&trusted, &variable(origins)),
            "/skill=/skills/a:ro variable KEY",
            "{origins:?}"
        );
    }
}

/// Of many entries that request the same permission, a message names the first three.
#[test]
fn a_message_names_at_most_three_requesters() {
    let asked = |count: usize| {
        let patterns: Vec<String> = (0..count).map(|number| format!("git {number}")).collect();
        let tools: Vec<_> = patterns
            .iter()
            .map(|pattern| ("Bash", Some(pattern.as_str())))
            .collect();
        Policy::default().authorize(&request(&tools)).decisions()[0].requesters()
    };
    assert_eq!(asked(3), "`Bash(git 0)`, `Bash(git 1)`, `Bash(git 2)`");
    assert_eq!(
        asked(5),
        "`Bash(git 0)`, `Bash(git 1)`, `Bash(git 2)` and 2 more"
    );
}

#[test]
fn rules_about_variables_and_programs_apply_by_name() {
    let asks = |text| {
        rules(&[
            (Effect::Allow, RuleSource::User, "env:*"),
            (Effect::Allow, RuleSource::User, "spawn:*"),
            (Effect::Deny, RuleSource::User, text),
        ])
    };
    let got = |text, variable: &str, program: &str| {
        !decide(
            &asks(text),
            &request(&[])
                .variable(variable, VariableSource::Caller)
                .spawn(program),
        )
        .starts_with("permission denied: ")
    };
    assert!(got("env:AWS_*", "API_KEY", "git") && !got("env:AWS_*", "AWS_REGION", "git"));
    assert!(got("env:AWS", "AWS_REGION", "git") && !got("env:AWS_REGION", "AWS_REGION", "git"));
    assert!(got("spawn:rm", "API_KEY", "git") && !got("spawn:rm", "API_KEY", "rm"));
    assert!(!got("spawn:*", "API_KEY", "git") && !got("env", "API_KEY", "git"));
}

#[test]
fn an_ask_rule_for_a_part_applies_to_the_whole() {
    let asks = rules(&[
        (Effect::Allow, RuleSource::User, "network:*.example"),
        (Effect::Ask, RuleSource::User, "network:evil.example"),
    ]);
    for tools in [
        ("WebSearch", None),
        ("WebFetch", Some("domain:*.example")),
        ("WebFetch", Some("domain:evil.example")),
    ] {
        assert!(
            decide(&asks, &request(&[tools])).starts_with("permission denied: "),
            "{tools:?}"
        );
    }
    assert_eq!(
        decide(
            &asks,
            &request(&[("WebFetch", Some("domain:good.example"))])
        ),
        "/skill=/skills/a:ro host good.example"
    );
}

#[test]
fn allowing_the_network_without_hosts_allows_nothing() {
    let rules = Policy::default()
        .allow(RuleSource::User, Capability::Network)
        .allow(RuleSource::User, Capability::Environment);
    assert!(decide(&rules, &request(&[("WebSearch", None)])).starts_with("permission denied: "));
    assert!(
        decide(&rules, &request(&[("WebFetch", Some("domain:a.example"))]))
            .starts_with("permission denied: ")
    );
    assert!(
        decide(
            &rules,
            &request(&[]).variable("API_KEY", VariableSource::Secret)
        )
        .starts_with("permission denied: ")
    );
}

#[test]
fn allow_rules_name_hosts_and_variables() {
    for (text, alone) in [
        ("network", false),
        ("env", false),
        ("read", true),
        ("write", true),
        ("spawn", true),
    ] {
        for (effect, parses) in [
            (Effect::Allow, alone),
            (Effect::Ask, true),
            (Effect::Deny, true),
        ] {
            assert_eq!(
                Rule::parse(effect, RuleSource::Admin, text).is_ok(),
                parses,
                "{effect} {text}"
            );
        }
    }
    assert!(
        Rule::parse(Effect::Allow, RuleSource::Admin, "network:*").is_ok()
            && Rule::parse(Effect::Allow, RuleSource::Admin, "env:*").is_ok()
    );
}

#[test]
fn a_workspace_is_read_and_written_as_rules_allow() {
    for tools in [
        &[][..],
        &[("Read", None)],
        &[("Write", None), ("Read", None)],
    ] {
        let request = request(tools).workspace("/work/project");
        assert_eq!(
            decide(&allow(&["write"]), &request),
            "/skill=/skills/a:ro /workspace=/work/project:rw"
        );
    }
    let request_without_tools = request(&[]).workspace("/work/project");
    assert_eq!(
        decide(&Policy::default(), &request_without_tools),
        "/skill=/skills/a:ro /workspace=/work/project:ro"
    );
    let deny_reading = rules(&[(Effect::Deny, RuleSource::User, "read:/work")]);
    assert_eq!(decide(&deny_reading, &request_without_tools), LEAST);
    let private = request(&[]).private_workspace("/tmp/run-1");
    assert_eq!(
        decide(&Policy::default(), &private),
        "/skill=/skills/a:ro /workspace=/tmp/run-1:rw"
    );
}

#[test]
fn requests_of_the_caller_do_not_exceed_the_declared_tools() {
    let rules = allow(&["write:/out"]);
    let silent = request(&[]).read("/in/a.pdf").write("/out/b");
    assert_eq!(
        decide(&rules, &silent),
        "/skill=/skills/a:ro /in/a.pdf=/in/a.pdf:ro /out=/out:rw /out/b=/out/b:rw"
    );
    assert_snapshot!(decide(&rules, &request(&[]).write("/elsewhere")), @"permission denied: write `/elsewhere` (requested by the caller): no rule allows it and no approver is available");
    assert_snapshot!(decide(&rules, &request(&[("Bash", Some("git:*"))]).drop_capability(Capability::Spawn).read("/in")), @"permission denied: read `/in` (requested by the caller): the `allowed-tools` of the skill do not include it");
    assert_eq!(
        decide(&rules, &request(&[("Read", None)]).read("/in")),
        "/skill=/skills/a:ro /in=/in:ro /out=/out:rw"
    );
    assert_eq!(
        decide(&rules, &request(&[("*", None)]).read("/in")),
        "/skill=/skills/a:ro /in=/in:ro /out=/out:rw"
    );
    // Patterns are relative to the workspace: trusted mode grants nothing outside.
    let trusted = Policy::default().with_mode(ApprovalMode::Trusted);
    assert!(
        decide(
            &trusted,
            &request(&[("Write", Some("out/**"))]).write("/elsewhere")
        )
        .starts_with("permission denied: ")
    );
    // A tool without a pattern declares its whole capability, also next to one with a pattern.
    let declared = request(&[
        ("Write", Some("out/**")),
        ("Write", None),
        ("Bash", None),
        ("Bash", Some("git:*")),
    ]);
    assert_eq!(
        decide(
            &trusted,
            &declared
                .clone()
                .write("/elsewhere")
                .spawn("sort")
                .drop_capability(Capability::Network)
        ),
        "/skill=/skills/a:ro /elsewhere=/elsewhere:rw any program"
    );
    let narrow = request(&[("Write", None), ("Bash", Some("git:*"))]);
    assert!(
        decide(
            &trusted.clone().allow(RuleSource::User, Capability::Spawn),
            &narrow.spawn("sort")
        )
        .starts_with("permission denied: ")
    );
}

#[test]
fn no_rule_makes_the_skill_directory_writable() {
    let rules = allow(&["write"]);
    let over = |tool: &str, workspace: &str| {
        decide(
            &rules,
            &Request::new("/project/.claude/skills/a")
                .allowed_tool(tool, None)
                .workspace(workspace),
        )
    };
    // In a writable project the skill stays read-only, and is protected.
    assert_snapshot!(over("Write", "/project"), @"/skill=/project/.claude/skills/a:ro /workspace=/project:rw");
    assert!(over("Write", "/project/.claude/skills/a/out").starts_with("permission denied: "));
    assert!(over("Write", "/project/../project/.claude").starts_with("permission denied: "));
    assert_eq!(
        over("Read", "/project"),
        "/skill=/project/.claude/skills/a:ro /workspace=/project:rw"
    );
    let project = Request::new("/project/.claude/skills/a").write("/project");
    let Authorization::Granted(grants) = rules.authorize(&project) else {
        panic!("a rule allows it")
    };
    let skill = Path::new("/project/.claude/skills/a");
    assert!(grants.protected().contains(skill));
    assert_eq!(grants.skill_in_writable(), Some(skill));
    // Not even a rule for that very path allows it, although such a rule opens protected paths.
    let here = "/project/.claude/skills/a";
    let named = allow(&[&format!("write:{here}")]);
    for path in [here.to_owned(), format!("{here}/scripts")] {
        let message = decide(&named, &Request::new(here).write(path));
        assert!(
            message.contains("the skill directory is always read-only"),
            "{message}"
        );
    }
}

/// Rules compare paths by component, so a path of another form is never granted.
#[test]
fn paths_that_cannot_be_compared_are_never_granted() {
    let open = allow(&["read", "write", "write:/w/.git"]);
    for path in ["w", "", "/w/../etc", "/w/.git/../x", "./w"] {
        for request in [request(&[]).read(path), request(&[]).write(path)] {
            assert!(
                decide(&open, &request)
                    .ends_with("the path is relative, not UTF-8 or contains `..`"),
                "{path}"
            );
        }
    }
}

#[test]
fn variables_are_granted_by_name() {
    let key = |origin| request(&[]).variable("API_KEY", origin);
    let given = "/skill=/skills/a:ro variable API_KEY";
    assert_snapshot!(decide(&Policy::default(), &key(VariableSource::Secret)), @"permission denied: read variable `API_KEY` (requested by its requirements): no rule allows it and no approver is available");
    assert_eq!(
        decide(&Policy::default(), &key(VariableSource::Caller)),
        given
    );
    assert_snapshot!(decide(&Policy::default(), &key(VariableSource::Undeclared)), @"permission denied: read variable `API_KEY` (requested by the caller): no rule allows it and no approver is available");
    assert_eq!(
        decide(&allow(&["env:API_*"]), &key(VariableSource::Secret)),
        given
    );
    for name in [
        "LD_PRELOAD",
        "PATH",
        "PYTHONPATH",
        "NODE_OPTIONS",
        "BASH_ENV",
        "A=B",
        "",
    ] {
        let open = Policy::default()
            .with_mode(ApprovalMode::Trusted)
            .rule(Rule::parse(Effect::Allow, RuleSource::Invocation, "env:*").unwrap());
        for origin in [
            VariableSource::Secret,
            VariableSource::Caller,
            VariableSource::Undeclared,
        ] {
            assert!(
                decide(&open, &request(&[]).variable(name, origin))
                    .starts_with("permission denied: "),
                "{name}"
            );
        }
    }
}

#[test]
fn limits_of_a_request_are_those_of_the_run_below_the_ceiling() {
    let mut requested = ResourceLimits::default();
    requested.wall_time = Duration::from_secs(3_600);
    requested.memory_bytes = 1 << 20;
    let Authorization::Granted(grants) =
        Policy::default().authorize(&request(&[]).limits(requested))
    else {
        panic!("reading is granted")
    };
    assert_eq!(grants.limits().wall_time, Duration::from_secs(3_600));
    assert_eq!(grants.limits().memory_bytes, 1 << 20);
}

#[test]
fn a_ceiling_can_be_set_and_lowered_but_no_rule_source_raises_it() {
    let memory = |bytes: u64| {
        let mut limits = ResourceLimits::default_ceiling();
        limits.memory_bytes = bytes;
        limits
    };
    let wide = request(&[("Bash", None)]).limits(memory(u64::MAX));
    let most = |rules: Policy| {
        let Authorization::Granted(grants) = rules.authorize(&wide) else {
            panic!("programs are allowed")
        };
        assert_eq!(
            (rules.ceiling().memory_bytes, rules.rules().len()),
            (grants.limits().memory_bytes, 2)
        );
        grants.limits().memory_bytes
    };
    let rules = allow(&["spawn"]);
    assert_eq!(most(rules.clone()), u64::MAX);
    assert_eq!(most(rules.clone().with_ceiling(memory(8 << 30))), 8 << 30);
    assert_eq!(most(rules.clone().lower_ceiling(&memory(64))), 64);
    assert_eq!(
        most(
            rules
                .clone()
                .lower_ceiling(&memory(64))
                .lower_ceiling(&memory(128))
        ),
        64
    );
    assert_eq!(most(rules.lower_ceiling(&memory(8 << 30))), 8 << 30);
}

#[test]
fn grants_without_a_decision_are_empty() {
    let none = Grants::none();
    assert_eq!(
        (none.files(), none.network(), none.spawn()),
        ([].as_slice(), &NetworkGrant::None, &SpawnGrant::None)
    );
    assert!(
        Capability::ALL
            .into_iter()
            .all(|capability| !none.includes(capability))
    );
}

#[test]
fn every_decision_names_its_rule() {
    let rules = Policy::default().rule(
        Rule::parse(Effect::Allow, RuleSource::Admin, "spawn:git")
            .unwrap()
            .origin("/etc/skills/policy.toml"),
    );
    let decision = rules.authorize(
        &request(&[("Read", None), ("Bash", Some("git:*"))])
            .workspace("/w")
            .variable("KEY", VariableSource::Caller),
    );
    let lines: Vec<String> = decision
        .decisions()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_snapshot!(lines.join("\n"), @"
    granted by rule `allow read (built-in)`: read `/w` (requested by `Read`)
    granted by rule `allow spawn:git (admin, /etc/skills/policy.toml)`: spawn `git` (requested by `Bash(git:*)`)
    granted, the caller provides it: read variable `KEY` (requested by its requirements)
    ");
}

#[test]
fn host_commands_work_on_a_directory_without_a_skill() {
    let commands = || Request::for_host_command("/work");
    assert_eq!(
        decide(&Policy::default(), &commands()),
        "/workspace=/work:ro"
    );
    let both = allow(&["write:/work", "spawn:sort"]);
    assert_eq!(
        decide(&both, &commands().write("/work").spawn("sort")),
        "/workspace=/work:rw program sort"
    );
    assert_snapshot!(decide(&both, &commands().spawn("rm")), @"permission denied: spawn `rm` (requested by the caller): no rule allows it and no approver is available");
    assert_snapshot!(decide(&both, &commands().spawn_any()), @"permission denied: spawn any program (requested by the caller): no rule allows it and no approver is available");
    assert_snapshot!(decide(&allow(&["spawn"]), &commands().spawn("../ls")), @"permission denied: spawn `../ls` (requested by the caller): it is not a valid program name");
    assert_snapshot!(decide(&rules(&[(Effect::Deny, RuleSource::User, "read:/work/secret")]), &commands()), @"permission denied: read `/work` (requested by the caller): denied by rule `deny read:/work/secret (user)`");
    // In a skill directory the same write is denied, also for a caller.
    assert_snapshot!(decide(&allow(&["write"]), &Request::new("/work").write("/work").spawn("sort")), @"permission denied: write `/work` (requested by the caller): the skill directory is always read-only; spawn `sort` (requested by the caller): no rule allows it and no approver is available");
}

#[test]
fn a_skill_with_declared_tools_spawns_nothing_else() {
    let everything = allow(&["spawn"]);
    assert_eq!(
        decide(
            &everything,
            &request(&[("Bash", Some("git:*"))]).spawn("git")
        ),
        format!("{LEAST} program git")
    );
    assert_snapshot!(decide(&everything, &request(&[("Read", None)]).spawn("git")), @"permission denied: spawn `git` (requested by the caller): the `allowed-tools` of the skill do not include it");
}

/// What a user can do about a denied `spawn:git`: allow it by a rule, or nothing.
#[test]
fn a_user_cannot_allow_what_the_administrator_decided() {
    let check = |rule: Option<(Effect, RuleSource)>| {
        let policy = rules(
            &rule
                .map(|(effect, source)| (effect, source, "spawn:git"))
                .into_iter()
                .collect::<Vec<_>>(),
        );
        let request = request(&[("Bash", Some("git:*"))]);
        let Authorization::Denied(denial) = policy.authorize(&request) else {
            panic!("granted");
        };
        let decision = denial.denied().next().unwrap();
        let target = decision.permission().rule_target().unwrap();
        assert_eq!(target.to_string(), "spawn:git");
        (decision.is_final(), decision.is_allowable())
    };
    assert_eq!(check(None), (false, true));
    assert_eq!(check(Some((Effect::Ask, RuleSource::User))), (false, true));
    let by_admin = check(Some((Effect::Ask, RuleSource::Admin)));
    assert_eq!(by_admin, (false, false));
    assert_eq!(check(Some((Effect::Deny, RuleSource::User))), (true, false));
}
