//! Tests of `mcp token`.

use std::fs;
use std::path::PathBuf;

use crate::skills::{Done, command};

struct Fixture {
    directory: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(below)
    }

    fn call(&self, arguments: &[&str]) -> Done {
        let arguments = [&["mcp", "token"], arguments].concat();
        let output = command(&arguments, &self.path("")).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Done {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

#[cfg(unix)]
fn mode(path: &std::path::Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().unwrap().permissions().mode() & 0o7777
}

#[test]
fn the_generated_token_is_created_once_and_shown_on_request() {
    let fixture = Fixture::new();
    let first = fixture.call(&[]);
    assert_eq!(first.code, 0, "{}", first.page());
    let file = PathBuf::from(first.stdout.trim_end());
    let text = fs::read_to_string(&file).unwrap();
    let secret = text.strip_prefix("owner: ").unwrap().trim_end();
    assert!(secret.len() >= 43, "256 bits in base64");
    assert!(!first.page().contains(secret));
    #[cfg(unix)]
    assert_eq!(mode(&file), 0o600);
    assert_eq!(fixture.call(&["--show"]).stdout, format!("{secret}\n"));
    let document = fixture.call(&["--json"]).json();
    assert_eq!(
        document,
        serde_json::json!({"file": file, "names": ["owner"]})
    );
    let document = fixture.call(&["--show", "--json"]).json();
    assert_eq!(document["token"], secret);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn new_tokens_are_added_and_printed_once() {
    let fixture = Fixture::new();
    let added = fixture.call(&["new", "ci"]);
    assert_eq!(added.code, 0, "{}", added.page());
    let file = PathBuf::from(fixture.call(&[]).stdout.trim_end());
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("owner: "), "the own token comes first");
    assert_eq!(lines[1], format!("ci: {}", added.stdout.trim_end()));
    assert!(!added.stderr.contains(added.stdout.trim_end()));
    let document = fixture.call(&["new", "desk", "--json"]).json();
    assert_eq!(document["name"], "desk");
    assert_eq!(fixture.call(&["--json"]).json()["names"][2], "desk");
    #[cfg(unix)]
    assert_eq!(mode(&file), 0o600);
    let before = fs::read_to_string(&file).unwrap();
    for wrong in ["ci", "owner", "a b", "local", ""] {
        let done = fixture.call(&["new", wrong]);
        assert_eq!(done.code, 2, "{wrong:?}: {}", done.page());
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn a_token_file_is_created_and_extended_only_if_it_is_private() {
    let fixture = Fixture::new();
    let file = fixture.path("tokens");
    let path = file.to_str().unwrap();
    assert_eq!(fixture.call(&["new", "a", "--token-file", path]).code, 0);
    #[cfg(unix)]
    assert_eq!(mode(&file), 0o600);
    fs::write(&file, "# team\nb: 0123456789abcdef0123456789abcdef").unwrap();
    assert_eq!(fixture.call(&["new", "c", "--token-file", path]).code, 0);
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("# team\nb: 0123456789abcdef0123456789abcdef\nc: "),
        "{text}"
    );
    // A token without a name cannot be told apart from others.
    fs::write(&file, "0123456789abcdef0123456789abcdef\n").unwrap();
    assert_eq!(fixture.call(&["new", "c", "--token-file", path]).code, 2);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let done = fixture.call(&["new", "d", "--token-file", path]);
        assert_eq!(done.code, 2, "{}", done.page());
    }
}
