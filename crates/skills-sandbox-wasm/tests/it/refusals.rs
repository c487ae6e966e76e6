//! What a run was refused is in its result, with the path or host that a rule would name.

use skills_sandbox::RunOutput;

use crate::cases::fixture::{Fixture, Generation};

/// Returns one line for each refusal: what was refused and how often.
fn lines(output: &RunOutput) -> Vec<String> {
    let refusals = output.refusals.list().iter();
    refusals
        .map(|refusal| {
            assert!(refusal.evidence.is_observed());
            format!("{} ({})", refusal.operation, refusal.count)
        })
        .collect()
}

#[tokio::test]
async fn refused_files_are_reported_by_their_path_on_the_host() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation);
        let root = fixture.path("").canonicalize().unwrap();
        let check = async |fixture: &Fixture, arguments: &[&str], expected: Option<&str>| {
            let output = fixture.run(arguments).await;
            let expected = expected.map(|text| text.replace("ROOT", root.to_str().unwrap()));
            let expected: Vec<String> = expected.into_iter().collect();
            assert_eq!(lines(&output), expected, "{generation:?} {arguments:?}");
        };
        let written = Some("write `ROOT/skill/new.txt` (1)");
        check(&fixture, &["write", "/skill/new.txt"], written).await;
        let removed = Some("write `ROOT/skill/data.txt` (1)");
        check(&fixture, &["remove", "/skill/data.txt"], removed).await;
        let outside = Some("read `ROOT/secret.txt` (1)");
        check(&fixture, &["read", "/skill/sub/../../secret.txt"], outside).await;
        let absolute = Some("read `/etc/passwd` (1)");
        check(&fixture, &["open-in", "/skill", "/etc/passwd"], absolute).await;
        let scratch = Some("read `/secret.txt` (1)");
        check(&fixture, &["read", "/work/../secret.txt"], scratch).await;
        check(&fixture, &["read", "/skill/data.txt"], None).await;
        check(&fixture, &["read", "/skill/absent.txt"], None).await;
        check(&fixture, &["write", "/work/new.txt"], None).await;

        let fixture = Fixture::new(generation).writable();
        let root = fixture.path("").canonicalize().unwrap();
        let output = fixture.run(&["write", "/workspace/.git/config"]).await;
        let refused = format!("write `{}/workspace/.git/config` (1)", root.display());
        assert!(
            lines(&output).is_empty() || lines(&output) == [refused],
            "{generation:?}: {:?}",
            lines(&output)
        );
        let output = fixture.run(&["write", "/workspace/.mcp.json"]).await;
        let refused = format!("write `{}/workspace/.mcp.json` (1)", root.display());
        assert_eq!(lines(&output), [refused], "{generation:?}");
        let output = fixture.run(&["write", "/workspace/a.txt"]).await;
        assert!(lines(&output).is_empty());
    }
}
