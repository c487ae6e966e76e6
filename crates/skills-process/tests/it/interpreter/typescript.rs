//! What runs TypeScript.

use skills_process::ProgramFinder;
use skills_sandbox::ScriptType;

use super::Tree;

/// Returns program and arguments that run TypeScript, or the reason why none does.
fn runs(tree: &Tree, directories: &[&str]) -> String {
    found(tree, &tree.search(directories))
}

fn found(tree: &Tree, finder: &ProgramFinder) -> String {
    let text = match finder.find_interpreter(ScriptType::Deno) {
        Ok(found) => {
            let path = found.argv0.display().to_string();
            let arguments = found.leading_args.iter().cloned();
            let heap = found.heap_argument(1 << 30);
            let words = std::iter::once(path).chain(arguments).chain(heap);
            words.collect::<Vec<_>>().join(" ")
        }
        Err(error) => error.to_string(),
    };
    tree.hide(&text)
}

#[test]
fn node_runs_typescript_if_its_version_does() {
    for (version, expected) in [
        ("v22.18.0", Some("")),
        ("v22.6.0", Some(" --experimental-strip-types")),
        ("v23.5.9", Some(" --experimental-strip-types")),
        ("v23.6.0", Some("")),
        ("v25.0.1", Some("")),
        ("v22.5.9", None),
        ("v20.20.2", None),
        ("latest", None),
    ] {
        let bin = format!("versions/{version}/bin");
        let tree = Tree::new().binary(&format!("{bin}/node"));
        let text = runs(&tree, &[&bin]);
        match expected {
            Some(option) => assert_eq!(
                text,
                format!(
                    "T/{bin}/node{option} --disable-warning=ExperimentalWarning --max-old-space-size=1024"
                )
            ),
            None => {
                assert!(text.contains("no `deno` in"), "{text}");
                assert!(text.contains(&format!("rejected T/{bin}/node: ")), "{text}");
            }
        }
    }
}

/// A project or a skill that is named like a version does not count if the headers say another one.
#[test]
fn the_headers_of_node_precede_the_name_of_its_directory() {
    let header = "#define NODE_MAJOR_VERSION 20\n#define NODE_MINOR_VERSION 1\n";
    let tree = Tree::new()
        .binary("v24.0.0/bin/node")
        .file("v24.0.0/include/node/node_version.h", header);
    let text = runs(&tree, &["v24.0.0/bin"]);
    assert!(
        text.contains("version 20.1 does not run TypeScript"),
        "{text}"
    );
}

/// Bun would execute what a `bunfig.toml` of the workspace names before the script.
#[test]
fn bun_is_never_started() {
    let tree = Tree::new()
        .binary("other/bun")
        .binary("v24.0.0/bin/node")
        .binary("bin/deno");
    for (directories, expected) in [
        (&["other", "v24.0.0/bin"][..], "T/v24.0.0/bin/node "),
        (&["other", "bin"], "T/bin/deno run "),
        (&["other"], "no `deno` in "),
    ] {
        let text = runs(&tree, directories);
        assert!(
            text.contains(expected) && !text.contains("other/bun"),
            "{text}"
        );
    }
    // Neither if it was chosen.
    let chosen = tree
        .search(&["bin"])
        .override_interpreter(ScriptType::Deno, tree.path("other/bun"));
    assert!(found(&tree, &chosen).contains("T/other/bun: Bun executes"));
}

#[test]
fn deno_precedes_node() {
    let tree = Tree::new().binary("bin/deno").binary("v24.0.0/bin/node");
    let all = ["v24.0.0/bin", "bin"];
    assert!(runs(&tree, &all).starts_with("T/bin/deno run"));
    // No program replaces one that was chosen.
    let chosen = tree
        .search(&all)
        .override_interpreter(ScriptType::Deno, tree.path("absent/deno"));
    assert!(found(&tree, &chosen).contains("no program at `T/absent/deno`"));
    // The Node that was chosen runs TypeScript too.
    let chosen = tree
        .search(&[])
        .override_interpreter(ScriptType::Node, tree.path("v24.0.0/bin/node"));
    assert!(found(&tree, &chosen).starts_with("T/v24.0.0/bin/node --disable"));
}
