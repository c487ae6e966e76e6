//! Protected and hidden paths.

use skills_policy::{
    Approval, ApprovalMode, Authorization, Effect, Permission, Policy, Request, RuleSource,
    protected_paths,
};

use crate::decide::{LEAST, allow, decide, request, rules};

/// Each of these files is executed or trusted by another program.
#[test]
fn files_that_other_programs_execute_or_trust_are_protected() {
    let paths = [
        ".git/hooks/pre-commit",
        ".git/config",
        ".gitmodules",
        ".husky/pre-push",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".bashrc",
        ".zshenv",
        ".profile",
        ".envrc",
        ".config/fish/config.fish",
        ".config/systemd/user/x.service",
        ".config/autostart/x.desktop",
        ".local/bin/git",
        ".claude/settings.json",
        ".codex/config.toml",
        ".cursor/mcp.json",
        ".mcp.json",
        ".github/mcp.json",
        "opencode.jsonc",
        "kilo.json",
        "kilo.jsonc",
        ".crush.json",
        ".config/kilo/kilo.json",
        ".config/Claude/claude_desktop_config.json",
        "lefthook.yml",
        ".config/lefthook.yml",
        "app.code-workspace",
        "mise.local.toml",
        ".config/mise.toml",
        "venv/lib/python3.13/site-packages/x.pth",
        "sitecustomize.py",
        ".pdbrc",
        ".Rprofile",
        ".helix/languages.toml",
        ".gitpod.yml",
        ".agents/skills/x/SKILL.md",
        ".vscode/tasks.json",
        ".idea/workspace.xml",
        ".vimrc",
        ".npmrc",
        ".cargo/config.toml",
        ".ssh/authorized_keys",
        ".gnupg/gpg.conf",
        ".netrc",
    ];
    for path in paths {
        let message = decide(
            &allow(&["write", "write:/w"]),
            &request(&[]).workspace("/w").write(format!("/w/{path}")),
        );
        assert!(message.contains("PROTECTED"), "{path}: {message}");
    }
}

/// Writing a protected path takes a rule that names it, for requests of skills and callers alike.
#[test]
fn no_pattern_and_no_wider_rule_makes_a_protected_path_writable() {
    for name in protected_paths() {
        let name = name.replace('*', "any");
        let pattern = format!("{name}/**");
        let by_skill = request(&[("Write", Some(pattern.as_str()))]).workspace("/w");
        let by_caller = request(&[]).workspace("/w").write(format!("/w/{name}"));
        let elsewhere = request(&[]).write(format!("/h/x/{}/y", name.to_uppercase()));
        for (request, path) in [
            (by_skill, format!("/w/{name}")),
            (by_caller, format!("/w/{name}")),
            (elsewhere, "/h/x".to_owned()),
        ] {
            let wider = [
                allow(&["write"]),
                allow(&["write:/"]),
                allow(&["write:/w", "write:/h/x"]),
                rules(&[
                    (Effect::Allow, RuleSource::Invocation, "write"),
                    (Effect::Allow, RuleSource::Invocation, "write:/"),
                ]),
                Policy::default().with_mode(ApprovalMode::Trusted),
            ];
            for rules in wider {
                let message = decide(&rules, &request);
                assert!(
                    message.starts_with("permission denied: write `")
                        && message.contains("PROTECTED"),
                    "{name}: {message}"
                );
            }
            if path != "/h/x" {
                let granted = decide(&allow(&[&format!("write:{path}")]), &request);
                assert_eq!(
                    granted,
                    format!("{LEAST} /workspace=/w:ro /workspace/{name}={path}:rw")
                );
            }
        }
    }
    // A path inside a protected one takes a rule for the innermost protected path.
    let hooks = request(&[("Write", Some(".git/hooks/**"))]).workspace("/w");
    assert!(decide(&allow(&["write:/w/.git"]), &hooks).starts_with("permission denied: "));
    assert!(decide(&allow(&["write:/w/.git/hooks"]), &hooks).contains("rw"));
    assert!(
        decide(
            &rules(&[
                (Effect::Allow, RuleSource::User, "write:/w/.git/hooks"),
                (Effect::Deny, RuleSource::Admin, "write:/w")
            ]),
            &hooks
        )
        .starts_with("permission denied: ")
    );
    // The workspace itself can be inside a protected path.
    let inside =
        request(&[("Write", None), ("Write", Some("src/**"))]).workspace("/h/.claude/worktrees/x");
    assert!(decide(&allow(&["write"]), &inside).contains("/h/.claude/worktrees/x:rw"));
}

#[test]
fn approvals_for_a_wider_path_do_not_cover_a_protected_one() {
    let approval = |permission: Permission| Approval {
        name: "a".to_owned(),
        directory: "/skills/a".into(),
        digest: "x".to_owned(),
        permissions: [permission].into(),
        granted_by_rules: Default::default(),
        declared: Default::default(),
    };
    let hooks = |path: &str| Permission::WriteProtected {
        path: path.into(),
        protected: "/w/.git/hooks".into(),
    };
    assert!(!approval(Permission::Write("/w".into())).covers(&hooks("/w/.git/hooks")));
    assert!(
        !approval(Permission::WriteProtected {
            path: "/w/.git".into(),
            protected: "/w/.git".into()
        })
        .covers(&hooks("/w/.git/hooks"))
    );
    assert!(approval(hooks("/w/.git/hooks")).covers(&hooks("/w/.git/hooks/x")));
    assert!(!approval(hooks("/w/.git/hooks")).covers(&Permission::Write("/w/.git/hooks".into())));
}

#[test]
fn configured_paths_are_protected_or_hidden() {
    let all = allow(&["write", "read"]);
    let request = |path: &str| {
        request(&[])
            .workspace("/h")
            .write(path)
            .protect("/h/skills")
            .hide("/h/state")
    };
    assert!(decide(&all, &request("/h/skills/other")).contains("PROTECTED"));
    assert!(
        decide(&allow(&["write:/h/skills"]), &request("/h/skills/other"))
            .contains("/h/skills/other:rw")
    );
    let Authorization::Granted(grants) = all.authorize(&request("/h")) else {
        panic!("the workspace may be written")
    };
    assert_eq!(
        grants
            .protected_in("/h".as_ref(), "/h/skills/x".as_ref())
            .as_deref(),
        Some("/h/skills".as_ref())
    );
    assert_eq!(
        grants.protected_in("/h".as_ref(), "/h/src/x".as_ref()),
        None
    );
    assert!(grants.hidden().contains(std::path::Path::new("/h/state")));
    assert!(
        decide(
            &allow(&["write:/h/state", "read:/h/state"]),
            &request("/h/state/x")
        )
        .contains("no run may access")
    );
    for path in ["/h/state", "/h/state/x"] {
        let read = Request::new("/skills/a").read(path).hide("/h/state");
        assert!(
            decide(
                &rules(&[(Effect::Allow, RuleSource::Invocation, "read:/h/state")]),
                &read
            )
            .contains("no run may access"),
            "{path}"
        );
    }
    let beside = Request::new("/skills/a").read("/h/states").hide("/h/state");
    assert_eq!(
        decide(&all, &beside),
        format!("{LEAST} /h/states=/h/states:ro")
    );
}

/// A rule for exactly the path makes a protected path writable, and none makes a read-only one.
#[test]
fn no_rule_makes_a_read_only_path_writable() {
    let all = rules(&[
        (Effect::Allow, RuleSource::Invocation, "write"),
        (Effect::Allow, RuleSource::Invocation, "write:/h/store"),
        (Effect::Allow, RuleSource::Invocation, "write:/h"),
    ]);
    for path in ["/h/store", "/h/store/x", "/h/store/.git/hooks", "/h", "/"] {
        let write = Request::new("/skills/a").write(path).read_only("/h/store");
        assert!(decide(&all, &write).contains("no run may change"), "{path}");
    }
    let workspace = Request::new("/skills/a")
        .workspace("/h")
        .read_only("/h/store");
    assert!(!decide(&all, &workspace).contains(":rw"));
    let read = Request::new("/skills/a")
        .read("/h/store")
        .read_only("/h/store");
    assert!(decide(&all, &read).contains("/h/store:ro"));
    let beside = Request::new("/skills/a")
        .write("/h/stores")
        .read_only("/h/store");
    assert!(decide(&all, &beside).contains("/h/stores:rw"));
}
