//! Tests at the boundary of the crate: grants in, profile text out, on every system.
#![expect(clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;

use insta::assert_snapshot;
use proptest::prelude::*;
use skills_policy::{Capability, Decision, Grants, HostPattern, Layer, Request, Rules};
use skills_sandbox_seatbelt::Profile;

fn grants(directory: &str, tools: &[&str]) -> Grants {
    let request = tools.iter().fold(Request::new(directory).workspace("/Users/me/project"), |request, tool| request.tool(tool, None));
    let rules = Capability::ALL.into_iter().fold(Rules::default(), |rules, capability| rules.allow(Layer::Session, capability));
    match rules.allow(Layer::Session, HostPattern::ANY).decide(&request) {
        Decision::Granted(grants) => grants,
        Decision::Denied(denial) => panic!("{denial}"),
    }
}

fn profile(directory: &str, tools: &[&str]) -> String {
    let script = Path::new(directory).join("scripts/run.py");
    Profile::new(&grants(directory, tools), Path::new("/usr/bin/python3"), &script)
        .map_or_else(|error| error.to_string(), |p| p.to_string())
}

#[test]
fn the_least() {
    assert_snapshot!(profile("/Users/me/.claude/skills/pdf", &[]));
}

#[test]
fn with_files_and_processes() {
    assert_snapshot!(profile("/Users/me/.claude/skills/pdf", &["Write", "Bash"]));
}

#[test]
fn what_cannot_be_said_in_a_profile_is_refused() {
    assert_snapshot!(profile("/skills/pdf", &["WebFetch"]), @"a seatbelt profile cannot open the network to named hosts only");
    let git = Request::new("/skills/pdf").tool("Bash", Some("git:*"));
    let Decision::Granted(grants) = Rules::default().allow(Layer::User, Capability::Spawn).decide(&git) else { panic!("granted") };
    let refused = Profile::new(&grants, Path::new("/usr/bin/python3"), Path::new("/skills/pdf/a.py")).map_err(|error| error.to_string());
    assert_snapshot!(refused.err().unwrap_or_default(), @"a seatbelt profile cannot allow programs by name without knowing where they lie");
    assert_snapshot!(profile("skills/pdf", &[]), @r#"the path "skills/pdf" is not absolute"#);
    assert_snapshot!(profile("/skills/../etc", &[]), @r#"the path "/skills/../etc" holds `.` or `..`; resolve it first"#);
    assert_snapshot!(profile("/skills/a\nb", &[]), @r#"the path "/skills/a\nb" holds a control character or is not UTF-8"#);
}

/// Reads the strings of a profile the way the language does; what is left has no quotes.
fn strings(text: &str) -> (Vec<String>, String) {
    let (mut strings, mut rest, mut open) = (Vec::new(), String::new(), None::<String>);
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, open.take()) {
            ('"', None) => open = Some(String::new()),
            ('"', Some(string)) => strings.push(string),
            ('\\', Some(mut string)) => {
                string.extend(characters.next());
                open = Some(string);
            }
            (c, Some(mut string)) => {
                string.push(c);
                open = Some(string);
            }
            (c, None) => rest.push(c),
        }
    }
    assert!(open.is_none(), "a string does not end");
    (strings, rest)
}

proptest! {
    /// Whatever a path holds, it is one string, and the rules around it are those of a harmless path.
    #[test]
    fn no_path_writes_a_rule(hostile in prop_oneof!["[^\\x00-\\x1f\\x7f-\\x9f/]{1,40}", Just("a\") (allow default) (\"".to_owned()), Just("a\\".to_owned())]) {
        prop_assume!(hostile != "." && hostile != "..");
        let directory = format!("/skills/{hostile}");
        let (found, rest) = strings(&profile(&directory, &[]));
        let (_, plain) = strings(&profile("/skills/plain", &[]));
        prop_assert!(found.contains(&directory));
        prop_assert_eq!(rest, plain);
    }
}
