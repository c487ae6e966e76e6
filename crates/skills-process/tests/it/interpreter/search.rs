//! Names, arguments, fallback directories and changes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use insta::assert_snapshot;
use skills_process::ProgramFinder;
use skills_sandbox::ScriptType;

use super::{PYENV, Tree};

#[test]
fn shells_and_arguments() {
    let tree = Tree::new().binary("a/sh").binary("b/bash");
    let arguments = |directories: &[&str]| {
        let found = tree
            .search(directories)
            .find_interpreter(ScriptType::Shell)
            .unwrap();
        (
            found
                .argv0
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned(),
            found.leading_args.join(" "),
        )
    };
    assert_eq!(
        arguments(&["a", "b"]),
        ("bash".to_owned(), "--noprofile --norc".to_owned())
    );
    assert_eq!(arguments(&["a"]), ("sh".to_owned(), String::new()));
    let tree = tree.binary("c/node").binary("c/deno");
    let found = |kind| tree.search(&["c"]).find_interpreter(kind).unwrap();
    assert_eq!(
        found(ScriptType::Deno).leading_args.join(" "),
        "run --quiet --no-prompt --cached-only -A"
    );
    assert_eq!(
        found(ScriptType::Deno).heap_argument(256 << 20).as_deref(),
        Some("--v8-flags=--max-old-space-size=256")
    );
    assert_eq!(
        found(ScriptType::Node).heap_argument(1).as_deref(),
        Some("--max-old-space-size=1")
    );
}

#[test]
fn fallback_directories_are_searched_last() {
    let tree = Tree::new()
        .binary("a/sh")
        .binary("b/bash")
        .python("b")
        .binary("b/git");
    let search = tree.search(&["a"]).with_fallback_path([
        PathBuf::from("relative"),
        tree.path("b"),
        tree.path("a"),
        tree.path("b/bin"),
    ]);
    let executable = |kind| search.find_interpreter(kind).unwrap().executable;
    assert_eq!(
        executable(ScriptType::Python),
        tree.path("b/bin/python3.11")
    );
    assert_eq!(
        executable(ScriptType::Shell),
        tree.path("a/sh"),
        "a worse one in the first directories goes before a better one"
    );
    assert_eq!(
        search.find_program("git").unwrap().executable,
        tree.path("b/git")
    );
    let directories = ["a", "b", "b/bin"].map(|name| tree.path(name).display().to_string());
    assert_eq!(search.path_env(), directories.join(":"));
    let message = search
        .find_interpreter(ScriptType::Ruby)
        .unwrap_err()
        .to_string()
        .replace(tree.root.to_str().unwrap(), "T");
    assert_snapshot!(message, @"cannot run in a sandbox: interpreter is unavailable: no `ruby` in T/a, T/b, T/b/bin");
    assert!(
        search
            .override_interpreter(ScriptType::Python, "/gone/python3")
            .find_interpreter(ScriptType::Python)
            .is_err(),
        "a chosen one has no substitute"
    );
}

#[test]
fn interpreters_of_scripts_exist_as_programs() {
    let tree = Tree::new()
        .binary("a/sh")
        .binary("b/ruby")
        .binary("b/git")
        .binary("c/deno-2");
    let search = tree
        .search(&["a"])
        .with_fallback_path([tree.path("b")])
        .override_interpreter(ScriptType::Deno, tree.path("c/deno-2"))
        .override_interpreter(ScriptType::Perl, "/gone/perl");
    let names = [
        "sh", "ruby", "deno", "deno-2", "bash", "git", "perl", "python",
    ];
    let found = names.into_iter().filter(|name| search.has_program(name));
    assert_eq!(
        found.collect::<Vec<_>>(),
        ["sh", "ruby", "deno", "deno-2", "git"],
        "`sh` is not `bash`"
    );
    let tree = tree.python("b");
    let python = tree.search(&[]).with_fallback_path([tree.path("b/bin")]);
    assert!(python.has_program("python") && python.has_program("python3"));
}

#[test]
fn programs_have_bare_names() {
    let tree = Tree::new().binary("a/git").script("a/tool", "#!/bin/sh\n");
    let search = tree.search(&["a"]);
    assert_eq!(
        search.find_program("git").unwrap().executable,
        tree.path("a/git")
    );
    assert!(
        search.find_program("tool").is_some(),
        "a script may be granted"
    );
    for none in ["a/git", "../a/git", "/bin/sh", "..", ".", "", "gone", "a\0"] {
        assert_eq!(search.find_program(none), None, "{none:?}");
    }
    assert_eq!(
        ProgramFinder::default().path_env(),
        "/usr/local/bin:/usr/bin:/bin"
    );
    assert!(
        ProgramFinder::with_search_path(["."])
            .find_program("Cargo.toml")
            .is_none()
    );
}

#[test]
fn a_changed_file_is_noticed_by_the_next_search() {
    let tree = Tree::new()
        .script("pyenv/shims/python3", PYENV)
        .python("pyenv/versions/1.0")
        .python("pyenv/versions/2.0")
        .file("pyenv/version", "1.0");
    let search = tree.search(&["pyenv/shims"]);
    let prefix = || {
        let found = search.find_interpreter(ScriptType::Python).unwrap();
        found.readable[0].file_name().unwrap().to_owned()
    };
    assert_eq!(prefix(), "1.0");
    fs::write(tree.path("pyenv/version"), "2.0").unwrap();
    assert_eq!(prefix(), "2.0");
    fs::remove_file(tree.path("pyenv/versions/2.0/bin/python3.11")).unwrap();
    assert!(search.find_interpreter(ScriptType::Python).is_err());
    let python = tree.path("pyenv/versions/2.0/bin/python3.11");
    fs::write(&python, "").unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(prefix(), "2.0");
}

#[test]
fn a_command_includes_the_interpreter_of_a_script_and_git_its_subcommands() {
    let tree = Tree::new()
        .binary("a/node")
        .binary("b/bin/git")
        .binary("b/libexec/git-core/git-remote-http")
        .binary("c/lib/own")
        .script("a/npm", "#!/usr/bin/env node\n");
    let own = format!("#!{}\n", tree.path("c/lib/own").display());
    let tree = tree.script("c/evil", &own);
    let search = tree
        .search(&["a", "b/bin"])
        .with_fallback_path([tree.path("c")]);
    let executable = |name: &str| {
        let program = search.find_command(name).unwrap();
        let paths = program.executable_paths.iter().chain(&program.readable);
        let paths = paths.filter_map(|path| path.strip_prefix(&tree.root).ok()?.to_str());
        paths.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(executable("npm"), "a/npm a/node");
    // An interpreter of a user could be any program.
    assert_eq!(executable("evil"), "c/evil");
    assert_eq!(executable("git"), "b/bin/git b/libexec/git-core");
    let granted = search.find_program("npm").unwrap().executable_paths;
    assert_eq!(granted, [tree.path("a/npm")]);
}
