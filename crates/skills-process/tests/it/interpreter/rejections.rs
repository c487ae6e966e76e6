//! Candidates that are rejected, and the errors that name them.

use insta::assert_snapshot;
use skills_process::ProgramFinder;
use skills_sandbox::{SandboxErrorKind, ScriptType};

use super::{PYENV, Tree};

#[test]
fn hostile_versions_are_rejected() {
    for version in [
        "../..",
        "/etc",
        "..",
        "3.11\0",
        "a/b",
        ".hidden",
        "\u{1b}[2J",
        &"9".repeat(500),
    ] {
        let tree = Tree::new()
            .script("pyenv/shims/python3", PYENV)
            .python("pyenv/versions/3.11.7")
            .python("etc")
            .file("pyenv/version", version);
        let text = tree.python3("pyenv/shims");
        assert!(
            text.contains("does not name a version")
                && text.len() < 400
                && !text.contains(['\0', '\u{1b}']),
            "{version:?}: {text}"
        );
    }
    let shim = "#!/bin/sh\n# asdf-plugin: ../../x 1.0\n# asdf-plugin: python ../../1.0\n# asdf-plugin:\n# asdf-plugin: python\n";
    let tree = Tree::new()
        .script("asdf/shims/python3", shim)
        .python("x/1.0")
        .python("asdf/1.0");
    assert_snapshot!(tree.python3("asdf/shims"), @"cannot run in a sandbox: interpreter is unavailable: no `python3` in T/asdf/shims; rejected T/asdf/shims/python3: does not name an installed version");
}

#[test]
fn candidates_that_are_not_programs_are_rejected() {
    let tree = Tree::new()
        .script("a/python3", "#!/bin/sh\n")
        .file("b/python3", "")
        .file("c/python3/x", "")
        .link("d/python3", "python3")
        .link("e/python3", "gone");
    let tree = tree
        .script("f/shims/python3", "#!/bin/sh\n")
        .binary("g/shims/python3")
        .script("h/shims/python3", "\u{fffd}");
    assert_snapshot!(tree.find(ScriptType::Python, &["a", "b", "c", "d", "e", "f/shims", "g/shims", "h/shims", "i"]), @"cannot run in a sandbox: interpreter is unavailable: no `python3` in T/a, T/b, T/c, T/d, T/e, T/f/shims, T/g/shims, T/h/shims, T/i; rejected T/a/python3: is itself a script; T/b/python3: not executable; T/c/python3: not a file; T/d/python3: symlink loop; T/e/python3: broken symlink; T/f/shims/python3: shim of an unknown version manager; T/g/shims/python3: shim of an unknown version manager; T/h/shims/python3: shim of an unknown version manager");
    let tree = tree
        .script("x/shims/python3", PYENV)
        .link("x/versions/1/bin/python3", "T/x/shims/python3");
    assert_snapshot!(tree.python3("x/shims"), @"cannot run in a sandbox: interpreter is unavailable: no `python3` in T/x/shims; rejected T/x/shims/python3: too many nested shims");
    // Opening a pipe in place of a file does not block.
    let tree = tree
        .script("y/shims/python3", PYENV)
        .python("y/versions/1.0");
    nix::unistd::mkfifo(&tree.path("y/version"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    assert_snapshot!(tree.python3("y/shims"), @"cannot run in a sandbox: interpreter is unavailable: no `python3` in T/y/shims; rejected T/y/shims/python3: cannot read T/y/version: not a file");
    assert_snapshot!(tree.file("z/pyvenv.cfg", "home = ../../usr\n").binary("z/bin/python3").python3("z/bin"), @"cannot run in a sandbox: interpreter is unavailable: no `python3` in T/z/bin; rejected T/z/bin/python3: T/z/pyvenv.cfg does not name a base Python");
}

#[test]
fn errors_name_the_searched_programs_and_how_to_install_them() {
    let nothing = ProgramFinder::with_search_path(["/nowhere", "/gone"]);
    let mut text = String::new();
    for kind in [
        ScriptType::Python,
        ScriptType::Shell,
        ScriptType::Node,
        ScriptType::Deno,
        ScriptType::Ruby,
        ScriptType::Perl,
    ] {
        let error = nothing.find_interpreter(kind).unwrap_err();
        assert_eq!(error.kind(), SandboxErrorKind::Unavailable);
        let hint = error.hint().unwrap_or_default();
        text.push_str(&format!("{error}\nhelp: {hint}\n"));
    }
    assert_snapshot!(text, @"
    cannot run in a sandbox: interpreter is unavailable: no `python3` in /nowhere, /gone
    help: install Python 3 from the system's packages
    cannot run in a sandbox: interpreter is unavailable: no `bash` or `sh` in /nowhere, /gone
    help: install bash or a POSIX shell
    cannot run in a sandbox: interpreter is unavailable: no `node` in /nowhere, /gone
    help: install Node.js from the system's packages or from nodejs.org
    cannot run in a sandbox: interpreter is unavailable: no `deno` in /nowhere, /gone
    help: install Node.js 22.18 or newer, or Deno from deno.com, which run TypeScript
    cannot run in a sandbox: interpreter is unavailable: no `ruby` in /nowhere, /gone
    help: install Ruby from the system's packages
    cannot run in a sandbox: interpreter is unavailable: no `perl` in /nowhere, /gone
    help: install Perl from the system's packages
    ");
    let chosen = nothing.override_interpreter(ScriptType::Python, "/gone/python3");
    let error = chosen.find_interpreter(ScriptType::Python).unwrap_err();
    let hint = error.hint().unwrap_or_default();
    assert_snapshot!(format!("{error}\nhelp: {hint}"), @"
    cannot run in a sandbox: interpreter is unavailable: no program at `/gone/python3`
    help: correct this path, which was given in place of the installed interpreter, or remove it
    ");
}
