//! The text of profiles, and rejected input.

use std::path::Path;

use insta::assert_snapshot;
use skills_sandbox_seatbelt::{ExecutableSet, Profile, ProfileError, ProfilePath, ProxyAccess};

use crate::{PROJECT, SKILL, grants, profile_for, profile_of};

fn text(profile: &Profile) -> String {
    let parameters: Vec<String> = profile
        .parameters()
        .iter()
        .map(ToString::to_string)
        .collect();
    format!("{profile}\n{}", parameters.join("\n"))
}

fn refusal(profile: Result<Profile, ProfileError>) -> String {
    profile.map_or_else(|error| error.to_string(), |profile| text(&profile))
}

#[test]
fn the_minimal_profile() {
    assert_snapshot!(text(&profile_for(Path::new(SKILL), &[]).unwrap()));
}

#[test]
fn a_profile_with_files_and_processes() {
    assert_snapshot!(text(
        &profile_for(Path::new(SKILL), &[("Write", None), ("Bash", None)]).unwrap()
    ));
}

#[test]
fn rules_are_in_the_documented_order() {
    let profile = profile_for(Path::new(SKILL), &[("Read", None)])
        .unwrap()
        .to_string();
    let steps = [
        "(version 1)\n(deny default)\n(allow sysctl-read)\n(allow file-read* file-map-executable\n  (subpath \"/System\")",
        "(allow file-read* file-write*\n  (subpath \"/tmp\")\n  (subpath \"/private/tmp\"))",
        "(allow file-read* (subpath (param \"SKILL_ROOT\")))",
        "(allow file-read* (subpath (param \"READ_0\")))",
        "(allow file-read* file-write* (subpath (param \"SCRATCH\")))",
        "(allow file-map-executable\n  (literal (param \"INTERPRETER\"))\n  (subpath (param \"SCRIPT_DIRECTORY\")))",
        "(deny sysctl-read",
    ];
    let places: Vec<usize> = steps
        .iter()
        .map(|step| {
            profile
                .find(step)
                .unwrap_or_else(|| panic!("no {step} in {profile}"))
        })
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(!profile.contains("network") && !profile.contains("process-fork"));
}

#[test]
fn paths_of_the_caller_are_passed_as_parameters() {
    let profile = profile_for(
        Path::new(SKILL),
        &[("Write", None), ("Bash", Some("git:*"))],
    )
    .unwrap();
    let text = profile.to_string();
    for parameter in profile.parameters() {
        let name = ProfilePath::Parameter(parameter.name().to_owned()).to_string();
        assert!(text.contains(&name), "{name} is not used");
        assert!(
            parameter
                .name()
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        );
    }
    assert!(
        !text.contains("/Users")
            && !text.contains("/private/var/folders")
            && !text.contains("git\"")
    );
}

#[test]
fn a_proxy_needs_hosts_and_hosts_need_a_proxy() {
    let python = ExecutableSet::new("/usr/bin/python3");
    let script = Path::new(SKILL).join("run.py");
    let fetching = grants(Path::new(SKILL), PROJECT, &[("WebFetch", None)]);
    let with_port = profile_of(&fetching, &python, &script, ProxyAccess::LocalPort(3128))
        .unwrap()
        .to_string();
    assert!(
        with_port.contains("(allow network-outbound (remote tcp \"localhost:3128\"))"),
        "{with_port}"
    );
    assert_snapshot!(refusal(profile_of(&fetching, &python, &script, ProxyAccess::None)), @"cannot restrict the network to named hosts in a seatbelt profile");
    let silent = grants(Path::new(SKILL), PROJECT, &[]);
    assert_snapshot!(refusal(profile_of(&silent, &python, &script, ProxyAccess::LocalPort(1))), @"proxy port given, but the grants allow no host");
}

/// A rule may name programs that only other hosts have.
#[test]
fn a_granted_program_that_is_missing_cannot_start() {
    let exec_rules = |tools: &[(&str, Option<&str>)]| {
        let profile = profile_for(Path::new(SKILL), tools).unwrap().to_string();
        let rules = profile
            .split("\n(")
            .filter(|rule| rule.contains("process-exec"));
        rules.map(str::to_owned).collect::<Vec<_>>()
    };
    let git = ("Bash", Some("git:*"));
    assert_eq!(
        exec_rules(&[git, ("Bash", Some("make:*"))]),
        exec_rules(&[git])
    );
    assert_ne!(exec_rules(&[git]), exec_rules(&[]));
}

#[test]
fn invalid_input_is_rejected() {
    let least = |directory: &str| refusal(profile_for(Path::new(directory), &[]));
    assert_snapshot!(least("skills/pdf"), @r#"path "skills/pdf" is not absolute"#);
    assert_snapshot!(least("/skills/../etc"), @r#"path "/skills/../etc" contains `.`, `..` or an empty component; resolve it first"#);
    assert_snapshot!(least("/skills//pdf"), @r#"path "/skills//pdf" contains `.`, `..` or an empty component; resolve it first"#);
    assert_snapshot!(least("/skills/a\nb"), @r#"path "/skills/a\nb" contains a control character or is not UTF-8"#);
    assert_snapshot!(least("/skills/a\0b"), @r#"path "/skills/a\0b" contains a control character or is not UTF-8"#);
    let granted = grants(Path::new(SKILL), PROJECT, &[]);
    let elsewhere = profile_of(
        &granted,
        &ExecutableSet::new("/usr/bin/python3"),
        Path::new("/Users/me/other/run.py"),
        ProxyAccess::None,
    );
    assert_snapshot!(refusal(elsewhere), @r#"script "/Users/me/other/run.py" is not in a directory that the grants make readable"#);
    let nothing = profile_of(
        &skills_policy::Grants::none(),
        &ExecutableSet::new("/bin/sh"),
        Path::new("/s/a.sh"),
        ProxyAccess::None,
    );
    assert_snapshot!(refusal(nothing), @"the grants do not make any directory readable");
}

#[cfg(unix)]
#[test]
fn a_path_that_is_not_text_is_rejected() {
    use std::os::unix::ffi::OsStrExt;
    let path = Path::new(std::ffi::OsStr::from_bytes(b"/skills/\xff"));
    assert_snapshot!(refusal(profile_for(path, &[])), @r#"path "/skills/\xFF" contains a control character or is not UTF-8"#);
}
