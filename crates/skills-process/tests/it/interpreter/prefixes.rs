//! Virtual environments and prefixes: what is granted with a program.

use insta::assert_snapshot;
use skills_process::ProgramFinder;
use skills_sandbox::ScriptType;

use super::Tree;

#[test]
fn virtual_environments() {
    let tree = Tree::new()
        .python("uv/python/cpython-3.11.9")
        .link("uv/python/cpython-3.11", "cpython-3.11.9");
    let home = tree.path("uv/python/cpython-3.11/bin");
    let tree = tree
        .link(
            "project/.venv/bin/python",
            "T/uv/python/cpython-3.11/bin/python3.11",
        )
        .link("project/.venv/bin/python3", "python");
    let tree = tree.file(
        "project/.venv/pyvenv.cfg",
        &format!("home = {}\nversion = 3.11.9\n", home.display()),
    );
    assert_snapshot!(tree.python3("project/.venv/bin"), @"
    T/project/.venv/bin/python3
    executes T/uv/python/cpython-3.11.9/bin/python3.11
    reads T/project/.venv
    reads T/uv/python/cpython-3.11.9
    ");
    let chosen = ProgramFinder::with_search_path(["/nowhere"])
        .override_interpreter(ScriptType::Python, tree.path("project/.venv/bin/python3"));
    assert_eq!(
        tree.show(&chosen.find_interpreter(ScriptType::Python).unwrap()),
        tree.python3("project/.venv/bin")
    );
    // A name elsewhere that points into the environment.
    let tree = tree.link("bin/python3", "T/project/.venv/bin/python3");
    assert!(
        tree.python3("bin")
            .starts_with("T/project/.venv/bin/python3\n")
    );
    // Packages in a cache, as symlinks and as directories of symlinks; symlinks to anything else
    // grant nothing.
    let packages = "project/.venv/lib/python3.11/site-packages";
    let tree = tree
        .file("cache/archive-v0/a1/numpy/__init__.py", "")
        .file("cache/archive-v0/b2/six.py", "")
        .file("cache/wheels/rich/__init__.py", "");
    let tree = tree.link(
        &format!("{packages}/numpy/__init__.py"),
        "T/cache/archive-v0/a1/numpy/__init__.py",
    );
    let tree = tree
        .link(
            &format!("{packages}/six.py"),
            "T/cache/archive-v0/b2/six.py",
        )
        .link(&format!("{packages}/rich"), "T/cache/wheels/rich");
    let tree = tree
        .file("me/.ssh/id", "")
        .file("me/letters/a", "")
        .file("me/.bashrc", "")
        .file("me/src/other/__init__.py", "");
    let tree = tree
        .link(&format!("{packages}/.ssh"), "T/me/.ssh")
        .link(&format!("{packages}/letters"), "T/me/letters")
        .link(&format!("{packages}/me"), "T/me");
    let tree = tree
        .link(&format!("{packages}/id.py"), "T/me/.ssh/id")
        .link(&format!("{packages}/renamed"), "T/me/src/other")
        .link(&format!("{packages}/circle"), "circle");
    assert_snapshot!(tree.python3("project/.venv/bin"), @"
    T/project/.venv/bin/python3
    executes T/uv/python/cpython-3.11.9/bin/python3.11
    reads T/cache/archive-v0/a1
    reads T/cache/archive-v0/b2
    reads T/cache/wheels/rich
    reads T/project/.venv
    reads T/uv/python/cpython-3.11.9
    ");
}

#[test]
fn plain_prefixes() {
    let conda = Tree::new()
        .python("conda/envs/a")
        .file("conda/envs/a/conda-meta/history", "");
    assert_snapshot!(conda.python3("conda/envs/a/bin"), @"
    T/conda/envs/a/bin/python3
    executes T/conda/envs/a/bin/python3.11
    reads T/conda/envs/a
    CONDA_PREFIX=T/conda/envs/a
    ");
    let nvm = Tree::new()
        .binary("nvm/versions/node/v20.1.0/bin/node")
        .file("nvm/versions/node/v20.1.0/lib/node_modules/npm/x", "");
    assert_snapshot!(nvm.find(ScriptType::Node, &["nvm/versions/node/v20.1.0/bin"]), @"
    T/nvm/versions/node/v20.1.0/bin/node
    executes T/nvm/versions/node/v20.1.0/bin/node
    reads T/nvm/versions/node/v20.1.0
    ");
    let perl = Tree::new()
        .binary("perl/bin/perl")
        .file("perl/lib/perl5/strict.pm", "");
    assert_snapshot!(perl.find(ScriptType::Perl, &["perl/bin"]), @"
    T/perl/bin/perl
    executes T/perl/bin/perl
    reads T/perl
    ");
    let brew = Tree::new()
        .python("brew/Cellar/python@3.11/3.11.9")
        .binary("brew/bin/brew")
        .file("brew/opt/x", "")
        .file("brew/lib/x", "")
        .file("brew/etc/x", "");
    assert_snapshot!(brew.link("brew/bin/python3", "../Cellar/python@3.11/3.11.9/bin/python3").python3("brew/bin"), @"
    T/brew/Cellar/python@3.11/3.11.9/bin/python3
    executes T/brew/Cellar/python@3.11/3.11.9/bin/python3.11
    reads T/brew/Cellar
    reads T/brew/lib
    reads T/brew/opt
    ");
    let deno = Tree::new().binary("deno/bin/deno").file("deno/secret", "");
    assert_snapshot!(deno.find(ScriptType::Deno, &["deno/bin"]), @"
    T/deno/bin/deno
    executes T/deno/bin/deno
    ");
    // One program with many names outside of all prefixes.
    let busybox = Tree::new()
        .binary("tools/busybox")
        .link("tools/sh", "busybox");
    assert_snapshot!(busybox.find(ScriptType::Shell, &["tools"]), @"
    T/tools/sh
    executes T/tools/busybox
    ");
}

#[test]
fn homes_are_never_granted() {
    for private in [
        ".ssh/id",
        ".bashrc",
        ".profile",
        ".zshrc",
        ".gnupg/x",
        ".config/x",
    ] {
        let tree = Tree::new()
            .python("me")
            .file("me/lib64/x", "")
            .file(&format!("me/{private}"), "");
        assert_eq!(
            tree.python3("me/bin"),
            "T/me/bin/python3\nexecutes T/me/bin/python3.11\nreads T/me/lib\nreads T/me/lib64\n"
        );
        // Neither as an environment nor as the base of one, nor through a library that is a symlink
        // to it.
        let tree = tree.file("me/pyvenv.cfg", "home = /usr/bin\n");
        assert!(!tree.python3("me/bin").contains("reads T/me\n"));
        let home = tree.path("me/bin");
        let tree = tree
            .link("v/bin/python3", "T/me/bin/python3")
            .file("v/pyvenv.cfg", &format!("home = {}\n", home.display()));
        assert!(!tree.python3("v/bin").contains("reads T/me\n"));
        let tree = tree
            .binary("other/bin/python3")
            .link("other/lib", "T/me")
            .link("other/lib64", "/");
        assert_eq!(
            tree.python3("other/bin"),
            "T/other/bin/python3\nexecutes T/other/bin/python3\n"
        );
    }
}
