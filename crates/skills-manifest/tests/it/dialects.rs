//! The fields that clients added, `agents/openai.yaml`, and the rules of clients.

use insta::{assert_debug_snapshot, assert_snapshot};
use skills_manifest::{Document, Extensions, Hook, HookAction, OpenAiMetadata};

fn extensions(fields: &str) -> Extensions {
    Document::parse(format!("---\nname: a\ndescription: d\n{fields}\n---\n").as_bytes())
        .unwrap()
        .manifest()
        .extensions()
        .clone()
}

#[test]
fn claude_code() {
    let fields = "when_to_use: Often\nargument-hint: \"[file]\"\narguments: file line\ndisallowed-tools: [\"Bash(rm *)\", Write]\ncontext: fork\n\
                  agent: Explore\nbackground: on\nmodel: inherit\neffort: max\nhooks:\n  Stop: []\npaths: \"src/**, *.rs\"\nshell: bash\n\
                  user-invocable: off\ndisable-model-invocation: 1";
    assert_debug_snapshot!(extensions(fields));
}

/// Covers the three notations of the block and its four keys.
#[test]
fn openclaw() {
    let yaml = "metadata:\n  openclaw:\n    emoji: \"🦞\"\n    homepage: https://example.com\n    always: true\n    skillKey: k\n    primaryEnv: API_KEY\n    \
                os: [macos, linux]\n    requires:\n      bins: [curl, jq]\n      anyBins: [rg, grep]\n      env: [API_KEY]\n      config: [browser.enabled]\n    \
                envVars:\n      - {name: API_KEY, description: the key}\n      - {name: DEBUG, required: false}\n    install:\n      \
                - {id: brew, kind: brew, formula: jq, bins: [jq], label: Install jq}\n      - {kind: download, url: https://example.com/x, os: [windows]}";
    assert_debug_snapshot!(extensions(yaml).openclaw);
    let line = r#"metadata: {"clawdbot":{"requires":{"bins":["curl"]},"primaryEnv":null,}}"#;
    let text = r#"metadata: "{clawdis: {requires: {bins: ['curl'], /* why */}}}""#;
    let block = "metadata:\n  moltbot: |\n    {requires: {bins: ['curl'],},}";
    for (fields, key) in [(line, "clawdbot"), (text, "clawdis"), (block, "moltbot")] {
        let openclaw = extensions(fields).openclaw.unwrap();
        assert_eq!(
            (openclaw.key, openclaw.requires.bins.as_slice()),
            (key, ["curl".to_owned()].as_slice()),
            "{fields}"
        );
        assert_eq!(openclaw.primary_env, None);
    }
    let broken =
        Document::parse(b"---\ndescription: d\nmetadata:\n  openclaw: not json\n---\n").unwrap();
    assert_snapshot!(broken.warnings()[0], @"line 3: `metadata.openclaw` is not valid JSON; ignored");
}

#[test]
fn openclaw_fields_of_a_wrong_type_are_reported() {
    let document = Document::parse(
        b"---\ndescription: d\nmetadata: {openclaw: {requires: [curl], always: 'true'}}\n---\n",
    )
    .unwrap();
    let warnings: Vec<String> = document
        .warnings()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        warnings,
        [
            "line 3: invalid type for `metadata.openclaw.requires`: expected a mapping, found a list; ignored",
            "line 3: invalid type for `metadata.openclaw.always`: expected true or false, found text; ignored",
        ]
    );
}

#[test]
fn other_fields() {
    let fields = "version: 1.10\nhomepage: https://example.com\ncommand-dispatch: tool\ncommand-tool: run\ncommand-arg-mode: raw\n\
                  metadata:\n  short-description: \"It's: short\"";
    let extensions = extensions(fields);
    assert_eq!(extensions.version.as_deref(), Some("1.10"));
    assert_eq!(extensions.homepage.as_deref(), Some("https://example.com"));
    assert_eq!(extensions.short_description.as_deref(), Some("It's: short"));
    let command = extensions.command_dispatch.unwrap();
    assert_eq!(
        (command.tool.as_str(), command.raw_arguments),
        ("run", true)
    );
}

#[test]
fn scripts() {
    let fields = "scripts:\n  get_forecast:\n    description: Tells the weather\n    timeout: 15\n    args:\n      - {name: city, type: string, required: true}\n      \
                  - {name: --days, type: integer, default: 3, description: how many}\n  clean.sh: Cleans up";
    assert_debug_snapshot!(extensions(fields).scripts);
    let list = extensions(
        "scripts:\n  - name: a\n    args: {city: string, note: What to say}\n  - b.py\n  - 7",
    );
    assert_eq!(
        list.scripts
            .iter()
            .map(|script| script.name.as_str())
            .collect::<Vec<_>>(),
        ["a", "b.py"]
    );
    let args = list.scripts[0].args.as_ref().unwrap();
    assert_eq!(
        (args[0].kind.as_str(), args[1].description.as_deref()),
        ("string", Some("What to say"))
    );
}

#[test]
fn parsed_fields_are_kept_as_written() {
    let text = "---\nname: a\ndescription: d\nversion: 1.10\ncontext: fork\ndisallowed-tools: Bash\nodd: {x: [1, 2.50, null]}\n---\n";
    let manifest = Document::parse(text.as_bytes()).unwrap().manifest().clone();
    let mut extra: Vec<String> = manifest
        .extra()
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    extra.sort();
    assert_eq!(
        extra,
        [
            r#"context="fork""#,
            r#"disallowed-tools="Bash""#,
            r#"odd={"x":[1,"2.50",null]}"#,
            r#"version="1.10""#
        ]
    );
}

/// Renders the parsed metadata and the warnings.
fn openai_metadata(text: &str, below_plugin: Option<&str>) -> String {
    let (metadata, warnings) = OpenAiMetadata::parse(text.as_bytes(), below_plugin);
    let warnings: Vec<String> = warnings
        .iter()
        .map(|warning| format!("{}: {}", warning.field, warning.reason))
        .collect();
    format!("{metadata:#?}\n{warnings:#?}")
}

#[test]
fn openai_yaml() {
    let text = "interface:\n  display_name: \"  Two\\n words \"\n  short_description: s\n  default_prompt: p\n  brand_color: '#3B82F6'\n  \
                icon_small: ./assets/s.png\n  icon_large: assets/sub/l.svg\ndependencies:\n  tools:\n    - {type: mcp, value: docs, description: d, \
                transport: streamable_http, url: 'https://example.com/mcp', command: c}\n    - {type: mcp}\npolicy:\n  \
                allow_implicit_invocation: false\n  products: [Codex, chatgpt]\n";
    assert_snapshot!(openai_metadata(text, None));
}

#[test]
fn invalid_openai_fields_are_dropped_one_by_one() {
    let long = "x".repeat(1025);
    let text = format!(
        "interface:\n  display_name: [1]\n  default_prompt: {long}\n  brand_color: blue\n  icon_small: icon.png\n  icon_large: ./assets/../logo.svg\n\
         dependencies: 7\npolicy:\n  allow_implicit_invocation: perhaps\n"
    );
    assert_snapshot!(openai_metadata(&text, None));
    let (invalid, warnings) = OpenAiMetadata::parse(b"interface: [", None);
    assert_eq!(
        (invalid.policy.allows_implicit_invocation(), warnings.len()),
        (true, 1)
    );
    let (invalid, _) = OpenAiMetadata::parse(b"policy: {allow_implicit_invocation: false", None);
    assert!(
        !invalid.policy.allows_implicit_invocation(),
        "an unparsed policy denies implicit invocation"
    );
    for policy in [
        "policy:\n  allow_implicit_invocation: true\n  allow_implicit_invocation: false\n",
        "policy: {}\npolicy: {allow_implicit_invocation: false}\n",
        "policy: {allow-implicit-invocation: false}\n",
        "p: &p {allow_implicit_invocation: false}\npolicy: {<<: *p}\n",
    ] {
        assert!(
            !OpenAiMetadata::parse(policy.as_bytes(), None)
                .0
                .policy
                .allows_implicit_invocation(),
            "{policy}"
        );
    }
    assert!(
        !OpenAiMetadata::parse(b"\xFF\xFEp\0o\0", None)
            .0
            .policy
            .allows_implicit_invocation()
    );
    let (json, _) = OpenAiMetadata::parse(br#"{"policy": {"products": ["atlas"]}}"#, None);
    assert!(json.policy.allows_product("Atlas") && !json.policy.allows_product("codex"));
}

#[test]
fn icons_of_a_plugin() {
    let icon = |path: &str, below: Option<&str>| {
        let text = format!("interface:\n  icon_small: {path}\n");
        OpenAiMetadata::parse(text.as_bytes(), below)
            .0
            .interface
            .icon_small
    };
    let plugin = Some("skills/deploy");
    assert_eq!(
        icon("../../assets/i.png", plugin).as_deref(),
        Some("../../assets/i.png")
    );
    assert_eq!(icon("../../assets/i.png", None), None);
    assert_eq!(icon("../../../assets/i.png", plugin), None);
    assert_eq!(icon("../../assets/../i.png", plugin), None);
    assert_eq!(
        icon("assets/./i.png", plugin).as_deref(),
        Some("assets/i.png")
    );
    assert_eq!(icon("/assets/i.png", plugin), None);
}

fn hooks(yaml: &str) -> String {
    let document =
        Document::parse(format!("---\nname: a\ndescription: b\nhooks:\n{yaml}---\n").as_bytes())
            .unwrap();
    let manifest = document.manifest();
    let unparsed = manifest.unparsed_restrictions().join(", ");
    let line = |hook: &Hook| {
        let action = match &hook.action {
            HookAction::Command { command, cwd } => format!("{command:?} in {cwd:?}"),
            other => format!("{other:?}"),
        };
        format!(
            "{} {:?} {action} {:?}\n",
            hook.event.as_str(),
            hook.matcher,
            hook.timeout_seconds
        )
    };
    manifest
        .extensions()
        .hooks
        .iter()
        .map(line)
        .chain([format!("unparsed: {unparsed}")])
        .collect()
}

#[test]
fn hooks_are_parsed_in_both_notations() {
    let claude = "  PreToolUse:\n    - matcher: Edit|Write\n      hooks:\n        - type: command\n          command: ./scripts/check.sh --all\n          timeout: 5\n        - type: prompt\n          prompt: Is this well?\n  Stop:\n    - hooks: [{type: command, command: scripts/done.py}]\n  SessionStart: [anything]\n";
    assert_snapshot!(hooks(claude), @r#"
    PreToolUse Some("Edit|Write") "./scripts/check.sh --all" in None Some(5.0)
    PreToolUse Some("Edit|Write") Other("prompt") None
    Stop None "scripts/done.py" in None None
    unparsed:
    "#);
    let flow = "  PostToolUse:\n    matcher: Bash\n    command: scripts/log.sh\n    cwd: /\n    timeout_ms: 1500\n";
    assert_snapshot!(hooks(flow), @r#"
    PostToolUse Some("Bash") "scripts/log.sh" in Some("/") Some(1.5)
    unparsed:
    "#);
}

#[test]
fn an_invalid_hook_counts_as_an_unparsed_restriction() {
    for invalid in [
        "  PreToolUse: [x]\n",
        "  PreToolUse: [{matcher: 3, command: a}]\n",
        "  Stop: [{matcher: a}]\n",
        "  Stop: [{hooks: {}}]\n",
    ] {
        assert_eq!(hooks(invalid), "unparsed: hooks", "{invalid}");
    }
}

#[test]
fn requirements_of_the_openskills_flow() {
    let text = "---\nname: a\ndescription: b\nrequires:\n  bins: [git, jq]\n  env: API_KEY\n  platforms: [macos, Linux]\n---\n";
    let document = Document::parse(text.as_bytes()).unwrap();
    let extensions = document.manifest().extensions();
    assert_eq!(extensions.requires.bins, ["git", "jq"]);
    assert_eq!(extensions.requires.env, ["API_KEY"]);
    assert_eq!(extensions.platforms, ["darwin", "linux"]);
}

#[test]
fn requirements_in_quotes_are_the_lists_that_they_spell() {
    let text = "---\nname: a\ndescription: b\nrequires:\n  bins: '[git, \"jq\"]'\n  env: '[]'\n  pip: 'pypdf[image]>=4, <5'\n  npm: '[\"a@1\", b]'\n  config: '\"x\" \"y\"'\n  os: '[macos]'\n---\n";
    let document = Document::parse(text.as_bytes()).unwrap();
    let extensions = document.manifest().extensions();
    let requires = &extensions.requires;
    assert_eq!(requires.bins, ["git", "jq"]);
    assert_eq!(requires.env, [""; 0]);
    // Requirements of packages contain commas and brackets.
    assert_eq!(requires.python_packages, ["pypdf[image]>=4, <5"]);
    assert_eq!(requires.node_packages, ["a@1", "b"]);
    assert_eq!(requires.config, ["x", "y"]);
    assert_eq!(extensions.platforms, ["darwin"]);
    for (value, warnings) in [
        ("'[]'", 0),
        ("[]", 0),
        ("'[git]'", 1),
        ("[git]", 1),
        ("git", 1),
    ] {
        let text = format!("---\nname: a\ndescription: b\nrequires: {value}\n---\n");
        let document = Document::parse(text.as_bytes()).unwrap();
        assert_eq!(document.warnings().len(), warnings, "{value}");
    }
}
