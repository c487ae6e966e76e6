use std::time::Duration;

use insta::assert_snapshot;
use skills_policy::{Access, Capability, Decision, Grants, Limits, Network, Request, Rules, Spawn};

fn request(tools: &[(&str, Option<&str>)]) -> Request {
    tools.iter().fold(Request::new("/skills/a"), |request, (tool, pattern)| request.tool(tool, *pattern))
}

/// Renders a decision as one line a fact.
fn decide(rules: &Rules, request: &Request) -> String {
    match rules.decide(request) {
        Decision::Granted(grants) => describe(&grants),
        Decision::Denied(denial) => format!("denied: {denial}"),
    }
}

fn describe(grants: &Grants) -> String {
    let files: Vec<String> = grants
        .files()
        .iter()
        .map(|file| format!("{}={}:{}", file.guest(), file.path().display(), if file.access() == Access::ReadOnly { "ro" } else { "rw" }))
        .collect();
    format!("files {}; network {:?}; spawn {:?}", files.join(" "), grants.network(), grants.spawn())
}

#[test]
fn the_default_grants_little() {
    let rules = Rules::default();
    let least = "files /skill=/skills/a:ro; network None; spawn None";
    assert_eq!(decide(&rules, &request(&[])), least);
    assert_eq!(decide(&rules, &request(&[("Read", None), ("Grep", None), ("Glob", None), ("LS", None)])), least);
    assert_eq!(decide(&rules, &request(&[("*", None), ("mcp__github__list", None), ("Task", None), ("bash", None)])), least);
}

#[test]
fn dangerous_tools_are_denied_and_say_who_asked() {
    let all = [("Write", None), ("WebFetch", Some("domain:a.example")), ("Bash", Some("git:*")), ("Terminal", None)];
    assert_snapshot!(decide(&Rules::default(), &request(&all)), @"denied: write (asked by `Write`) is denied: no rule allows it; network (asked by `WebFetch(domain:a.example)`) is denied: no rule allows it; spawn (asked by `Bash(git:*)`, `Terminal`) is denied: no rule allows it");
    let rules = Rules::default().allow(Capability::Spawn, "user").deny(Capability::Spawn, "admin");
    assert_snapshot!(decide(&rules, &request(&[("Bash", None)])), @"denied: spawn (asked by `Bash`) is denied: a rule of admin forbids it");
}

#[test]
fn a_capability_can_be_given_up() {
    let request = request(&[("Read", None), ("Bash", None)]).without(Capability::Spawn);
    assert_eq!(decide(&Rules::default(), &request), "files /skill=/skills/a:ro; network None; spawn None");
}

#[test]
fn patterns_narrow_what_is_granted() {
    let rules = Rules::default().allow(Capability::Spawn, "user").allow(Capability::Network, "user").hosts(["a.example", "b.example"]);
    let spawn = |tools: &[(&str, Option<&str>)]| match rules.decide(&request(tools)) {
        Decision::Granted(grants) => grants.spawn().clone(),
        Decision::Denied(denial) => panic!("{denial}"),
    };
    let programs = |names: &[&str]| Spawn::Programs(names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(spawn(&[("Bash", Some("git:*")), ("Bash", Some("npm run build"))]), programs(&["git", "npm"]));
    assert_eq!(spawn(&[("Bash", Some("git:*")), ("Bash", None)]), Spawn::Any);
    assert_eq!(spawn(&[("Bash", Some("*"))]), Spawn::Any);
    let network = |tools: &[(&str, Option<&str>)]| decide(&rules, &request(tools));
    assert_snapshot!(network(&[("WebFetch", Some("domain:a.example"))]), @r#"files /skill=/skills/a:ro; network Hosts({"a.example"}); spawn None"#);
    assert_snapshot!(network(&[("WebSearch", None)]), @r#"files /skill=/skills/a:ro; network Hosts({"a.example", "b.example"}); spawn None"#);
    assert_snapshot!(network(&[("WebFetch", Some("domain:evil.example"))]), @"denied: network (asked by `WebFetch(domain:evil.example)`) is denied: no rule allows it");
}

#[test]
fn allowing_the_network_without_hosts_allows_nothing() {
    let rules = Rules::default().allow(Capability::Network, "user");
    assert_snapshot!(decide(&rules, &request(&[("WebSearch", None)])), @"denied: network (asked by `WebSearch`) is denied: no rule allows it");
}

#[test]
fn a_workspace_is_read_or_written_as_asked() {
    let rules = Rules::default().allow(Capability::Write, "user");
    let with = |tools: &[(&str, Option<&str>)]| decide(&rules, &request(tools).workspace("/work/project"));
    assert_snapshot!(with(&[]), @"files /skill=/skills/a:ro; network None; spawn None");
    assert_snapshot!(with(&[("Read", None)]), @"files /skill=/skills/a:ro /workspace=/work/project:ro; network None; spawn None");
    assert_snapshot!(with(&[("Write", None), ("Read", None)]), @"files /skill=/skills/a:ro /workspace=/work/project:rw; network None; spawn None");
}

#[test]
fn no_workspace_makes_the_program_itself_writable() {
    let rules = Rules::default().allow(Capability::Write, "user");
    let over = |tool| decide(&rules, &Request::new("/project/.claude/skills/a").tool(tool, None).workspace("/project"));
    assert_snapshot!(over("Write"), @"denied: write (asked by `Write`) is denied: a rule of built-in (the workspace holds the program itself, which must stay read-only) forbids it");
    assert_snapshot!(over("Read"), @"files /skill=/project/.claude/skills/a:ro /workspace=/project:ro; network None; spawn None");
}

#[test]
fn limits_never_pass_the_ceiling() {
    let mut wanted = Limits::default();
    wanted.wall_time = Duration::from_secs(3_600);
    wanted.memory_bytes = 1 << 20;
    let Decision::Granted(grants) = Rules::default().decide(&request(&[]).limits(wanted)) else { panic!("reading is granted") };
    assert_eq!(grants.limits().wall_time, Duration::from_secs(600));
    assert_eq!(grants.limits().memory_bytes, 1 << 20);
}

#[test]
fn grants_without_a_decision_are_empty() {
    let none = Grants::none();
    assert_eq!((none.files(), none.network(), none.spawn()), ([].as_slice(), &Network::None, &Spawn::None));
}
