//! Interpreters in made-up trees: every layout that is known, and what is refused.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the tests make the trees that are looked at"
)]

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use insta::assert_snapshot;
use skills_sandbox::interpreter::{MemoryRlimit, ProgramFinder, ResolvedProgram};
use skills_sandbox::{ErrorKind, ScriptType};

const PYENV: &str = "#!/usr/bin/env bash\nexec pyenv exec \"${0##*/}\" \"$@\"\n";

/// A tree of files in a temporary directory.
struct Tree {
    root: PathBuf,
    _directory: tempfile::TempDir,
}

impl Tree {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self {
            root: directory.path().canonicalize().unwrap(),
            _directory: directory,
        }
    }

    /// Makes a Python of a version manager, with its library.
    fn python(self, prefix: &str) -> Self {
        self.binary(&format!("{prefix}/bin/python3.11"))
            .link(&format!("{prefix}/bin/python3"), "python3.11")
            .file(&format!("{prefix}/lib/python3.11/os.py"), "")
    }

    fn file(self, path: &str, text: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn script(self, path: &str, text: &str) -> Self {
        let tree = self.file(path, text);
        fs::set_permissions(tree.path(path), fs::Permissions::from_mode(0o755)).unwrap();
        tree
    }

    fn binary(self, path: &str) -> Self {
        self.script(path, "\x7fELF")
    }

    /// Makes a symlink; `T` in its target is the root.
    fn link(self, path: &str, target: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target.replace('T', self.root.to_str().unwrap()), path).unwrap();
        self
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn search(&self, directories: &[&str]) -> ProgramFinder {
        ProgramFinder::with_search_path(directories.iter().map(|directory| self.path(directory)))
    }

    /// Says what is found for a kind of script in these directories.
    fn find(&self, kind: ScriptType, directories: &[&str]) -> String {
        match self.search(directories).find_interpreter(kind) {
            Ok(found) => self.show(&found),
            Err(error) => self.hide(&error.to_string()),
        }
    }

    fn python3(&self, directory: &str) -> String {
        self.find(ScriptType::Python, &[directory])
    }

    fn show(&self, found: &ResolvedProgram) -> String {
        let mut text = format!("{}\n", found.argv0.display());
        for (title, paths) in [
            ("executes", &found.executable_paths),
            ("reads", &found.readable),
        ] {
            paths
                .iter()
                .for_each(|path| text.push_str(&format!("{title} {}\n", path.display())));
        }
        found
            .environment
            .iter()
            .for_each(|(name, value)| text.push_str(&format!("{name}={value}\n")));
        self.hide(&text)
    }

    fn hide(&self, text: &str) -> String {
        text.replace(self.root.to_str().unwrap(), "T")
    }
}

#[test]
fn pyenv_and_its_likes() {
    let tree = Tree::new()
        .script("pyenv/shims/python3", PYENV)
        .python("pyenv/versions/3.11.7")
        .python("pyenv/versions/3.9.18");
    assert_snapshot!(tree.python3("pyenv/shims"), @"
    T/pyenv/versions/3.11.7/bin/python3
    executes T/pyenv/versions/3.11.7/bin/python3.11
    reads T/pyenv/versions/3.11.7
    ");
    let tree = tree.file("pyenv/version", "3.9.18 3.11.7\n");
    assert_snapshot!(tree.python3("pyenv/shims"), @"
    T/pyenv/versions/3.9.18/bin/python3
    executes T/pyenv/versions/3.9.18/bin/python3.11
    reads T/pyenv/versions/3.9.18
    ");
    let tree = tree.file("pyenv/version", "3.9\n");
    assert_snapshot!(tree.python3("pyenv/shims"), @"
    T/pyenv/versions/3.9.18/bin/python3
    executes T/pyenv/versions/3.9.18/bin/python3.11
    reads T/pyenv/versions/3.9.18
    ");
    // A name outside that leads to the shim.
    let tree = tree.link("bin/python3", "T/pyenv/shims/python3");
    assert_snapshot!(tree.python3("bin"), @"
    T/pyenv/versions/3.9.18/bin/python3
    executes T/pyenv/versions/3.9.18/bin/python3.11
    reads T/pyenv/versions/3.9.18
    ");
    let tree = tree
        .file("pyenv/version", "system\n")
        .binary("system/python3");
    assert_snapshot!(tree.find(ScriptType::Python, &["pyenv/shims", "system"]), @"
    T/system/python3
    executes T/system/python3
    ");
    assert_snapshot!(tree.python3("pyenv/shims"), @"no sandbox: interpreter is not available (no `python3` in T/pyenv/shims; passed over T/pyenv/shims/python3: it stands for the system's, which is looked for elsewhere); install Python 3 from the system's packages");
    let tree = tree.file("pyenv/version", "3.12.0");
    assert_snapshot!(tree.python3("pyenv/shims"), @"no sandbox: interpreter is not available (no `python3` in T/pyenv/shims; passed over T/pyenv/shims/python3: its version 3.12.0 has no `python3`); install Python 3 from the system's packages");
    let ruby = Tree::new()
        .script("rbenv/shims/ruby", "#!/usr/bin/env bash\n")
        .binary("rbenv/versions/3.3.0/bin/ruby");
    assert_snapshot!(ruby.file("rbenv/versions/3.3.0/lib/ruby/3.3.0/set.rb", "").find(ScriptType::Ruby, &["rbenv/shims"]), @"
    T/rbenv/versions/3.3.0/bin/ruby
    executes T/rbenv/versions/3.3.0/bin/ruby
    reads T/rbenv/versions/3.3.0
    ");
}

#[test]
fn asdf() {
    let shim = "#!/usr/bin/env bash\n# asdf-plugin: nodejs 9.9.0\n# asdf-plugin: nodejs 20.1.0\n# asdf-plugin: nodejs 22.0.0\nexec asdf exec \"node\" \"$@\"\n";
    let tree = Tree::new().script("asdf/shims/node", shim);
    assert_snapshot!(tree.find(ScriptType::Node, &["asdf/shims"]), @"no sandbox: interpreter is not available (no `node` in T/asdf/shims; passed over T/asdf/shims/node: it names no version that is installed); install Node.js from the system's packages or from nodejs.org");
    let tree = tree
        .binary("asdf/installs/nodejs/20.1.0/bin/node")
        .binary("asdf/installs/nodejs/9.9.0/bin/node");
    let tree = tree.file(
        "asdf/installs/nodejs/20.1.0/lib/node_modules/npm/package.json",
        "{}",
    );
    assert_snapshot!(tree.find(ScriptType::Node, &["asdf/shims"]), @"
    T/asdf/installs/nodejs/20.1.0/bin/node
    executes T/asdf/installs/nodejs/20.1.0/bin/node
    reads T/asdf/installs/nodejs/20.1.0
    ");
}

#[test]
fn mise() {
    let tree = Tree::new()
        .binary("bin/mise")
        .link("mise/shims/python3", "T/bin/mise")
        .link("mise/shims/deno", "T/bin/mise");
    assert_snapshot!(tree.python3("mise/shims"), @"no sandbox: interpreter is not available (no `python3` in T/mise/shims; passed over T/mise/shims/python3: no version in T/mise/installs/python has `python3`); install Python 3 from the system's packages");
    let tree = tree
        .python("mise/installs/python/3.9.1")
        .python("mise/installs/python/3.12.2")
        .binary("mise/installs/deno/2.1.0/deno");
    assert_snapshot!(tree.python3("mise/shims"), @"
    T/mise/installs/python/3.12.2/bin/python3
    executes T/mise/installs/python/3.12.2/bin/python3.11
    reads T/mise/installs/python/3.12.2
    ");
    let tree = tree.link("mise/installs/python/latest", "./3.9.1");
    assert_snapshot!(tree.python3("mise/shims"), @"
    T/mise/installs/python/3.9.1/bin/python3
    executes T/mise/installs/python/3.9.1/bin/python3.11
    reads T/mise/installs/python/3.9.1
    ");
    assert_snapshot!(tree.find(ScriptType::Deno, &["mise/shims"]), @"
    T/mise/installs/deno/2.1.0/deno
    executes T/mise/installs/deno/2.1.0/deno
    ");
}

#[test]
fn volta() {
    let tree = Tree::new()
        .binary("volta/bin/volta-shim")
        .link("volta/bin/node", "volta-shim");
    assert_snapshot!(tree.find(ScriptType::Node, &["volta/bin"]), @"no sandbox: interpreter is not available (no `node` in T/volta/bin; passed over T/volta/bin/node: no tools of Volta are beside it); install Node.js from the system's packages or from nodejs.org");
    let tree = tree
        .binary("volta/tools/image/node/20.1.0/bin/node")
        .binary("volta/tools/image/node/22.0.0/bin/node");
    assert_snapshot!(tree.find(ScriptType::Node, &["volta/bin"]), @"
    T/volta/tools/image/node/22.0.0/bin/node
    executes T/volta/tools/image/node/22.0.0/bin/node
    ");
    let tree = tree.file(
        "volta/tools/user/platform.json",
        r#"{"node":{"runtime":"20.1.0","npm":null}}"#,
    );
    assert_snapshot!(tree.find(ScriptType::Node, &["volta/bin"]), @"
    T/volta/tools/image/node/20.1.0/bin/node
    executes T/volta/tools/image/node/20.1.0/bin/node
    ");
    let tree = tree.file(
        "volta/tools/user/platform.json",
        r#"{"node":{"runtime":"../../x"}}"#,
    );
    assert_snapshot!(tree.find(ScriptType::Node, &["volta/bin"]), @r#"no sandbox: interpreter is not available (no `node` in T/volta/bin; passed over T/volta/bin/node: T/volta/tools/user/platform.json names no version but "../../x"); install Node.js from the system's packages or from nodejs.org"#);
}

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
    // A name elsewhere that leads into the environment.
    let tree = tree.link("bin/python3", "T/project/.venv/bin/python3");
    assert!(
        tree.python3("bin")
            .starts_with("T/project/.venv/bin/python3\n")
    );
    // Packages that are kept in a cache, as links and as directories of links; links to anything
    // else grant nothing.
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
    // One program of many names outside of all prefixes.
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
        // Neither as an environment nor as the base of one, nor by a library that is a link to it.
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

#[test]
fn hostile_versions_are_refused() {
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
            text.contains("names no version but")
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
    assert_snapshot!(tree.python3("asdf/shims"), @"no sandbox: interpreter is not available (no `python3` in T/asdf/shims; passed over T/asdf/shims/python3: it names no version that is installed); install Python 3 from the system's packages");
}

#[test]
fn what_cannot_be_a_program_is_passed_over() {
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
    assert_snapshot!(tree.find(ScriptType::Python, &["a", "b", "c", "d", "e", "f/shims", "g/shims", "h/shims", "i"]), @"no sandbox: interpreter is not available (no `python3` in T/a, T/b, T/c, T/d, T/e, T/f/shims, T/g/shims, T/h/shims, T/i; passed over T/a/python3: it is a script itself; T/b/python3: it is not executable; T/c/python3: it is no file; T/d/python3: its symlinks lead in a circle; T/e/python3: its symlink leads nowhere; T/f/shims/python3: it is a shim of an unknown version manager; T/g/shims/python3: it is a shim of an unknown version manager; T/h/shims/python3: it is a shim of an unknown version manager); install Python 3 from the system's packages");
    let tree = tree
        .script("x/shims/python3", PYENV)
        .link("x/versions/1/bin/python3", "T/x/shims/python3");
    assert_snapshot!(tree.python3("x/shims"), @"no sandbox: interpreter is not available (no `python3` in T/x/shims; passed over T/x/shims/python3: its shims lead to shims); install Python 3 from the system's packages");
    // A pipe in place of a file makes nobody wait.
    let tree = tree
        .script("y/shims/python3", PYENV)
        .python("y/versions/1.0");
    nix::unistd::mkfifo(&tree.path("y/version"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    assert_snapshot!(tree.python3("y/shims"), @"no sandbox: interpreter is not available (no `python3` in T/y/shims; passed over T/y/shims/python3: T/y/version cannot be read: it is no file); install Python 3 from the system's packages");
    assert_snapshot!(tree.file("z/pyvenv.cfg", "home = ../../usr\n").binary("z/bin/python3").python3("z/bin"), @"no sandbox: interpreter is not available (no `python3` in T/z/bin; passed over T/z/bin/python3: T/z/pyvenv.cfg does not say where its Python is); install Python 3 from the system's packages");
}

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
    assert_eq!(
        (
            found(ScriptType::Node).memory,
            MemoryRlimit::for_script(ScriptType::Perl)
        ),
        (MemoryRlimit::Data, MemoryRlimit::AddressSpace)
    );
}

#[test]
fn further_directories_serve_interpreters_that_are_nowhere_else() {
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
        (search.find_program("git"), search.path_env()),
        (None, tree.path("a").display().to_string())
    );
    let message = search
        .find_interpreter(ScriptType::Ruby)
        .unwrap_err()
        .to_string()
        .replace(tree.root.to_str().unwrap(), "T");
    assert_snapshot!(message, @"no sandbox: interpreter is not available (no `ruby` in T/a, relative, T/b, T/b/bin); install Ruby from the system's packages");
    assert!(
        search
            .override_interpreter(ScriptType::Python, "/gone/python3")
            .find_interpreter(ScriptType::Python)
            .is_err(),
        "a chosen one has no substitute"
    );
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
        "/usr/bin:/bin:/usr/local/bin"
    );
    assert!(
        ProgramFinder::with_search_path(["."])
            .find_program("Cargo.toml")
            .is_none()
    );
}

#[test]
fn errors_say_what_was_looked_for_and_how_to_get_it() {
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
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        text.push_str(&format!("{error}\n"));
    }
    assert_snapshot!(text, @"
    no sandbox: interpreter is not available (no `python3` in /nowhere, /gone); install Python 3 from the system's packages
    no sandbox: interpreter is not available (no `bash` or `sh` in /nowhere, /gone); install bash or a POSIX shell
    no sandbox: interpreter is not available (no `node` in /nowhere, /gone); install Node.js from the system's packages or from nodejs.org
    no sandbox: interpreter is not available (no `deno` in /nowhere, /gone); install Deno, which runs TypeScript, from deno.com
    no sandbox: interpreter is not available (no `ruby` in /nowhere, /gone); install Ruby from the system's packages
    no sandbox: interpreter is not available (no `perl` in /nowhere, /gone); install Perl from the system's packages
    ");
    assert_snapshot!(nothing.override_interpreter(ScriptType::Python, "/gone/python3").find_interpreter(ScriptType::Python).unwrap_err(), @"no sandbox: interpreter is not available (nothing to run at /gone/python3); install Python 3 from the system's packages");
}

#[test]
fn nothing_is_read_twice_until_it_changes() {
    let tree = Tree::new()
        .script("pyenv/shims/python3", PYENV)
        .python("pyenv/versions/1.0")
        .python("pyenv/versions/2.0")
        .file("pyenv/version", "1.0");
    let (search, version) = (tree.search(&["pyenv/shims"]), tree.path("pyenv/version"));
    let prefix = |search: &ProgramFinder| {
        search
            .find_interpreter(ScriptType::Python)
            .unwrap()
            .readable[0]
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(prefix(&search), "1.0");
    // Other text under the same time: whoever reads it again sees it.
    let modified = version.metadata().unwrap().modified().unwrap();
    fs::write(&version, "2.0").unwrap();
    File::options()
        .write(true)
        .open(&version)
        .unwrap()
        .set_modified(modified)
        .unwrap();
    assert_eq!(
        (prefix(&search), prefix(&search.clone())),
        ("1.0".to_owned(), "1.0".to_owned())
    );
    assert_eq!(prefix(&tree.search(&["pyenv/shims"])), "2.0");
    File::options()
        .write(true)
        .open(&version)
        .unwrap()
        .set_modified(modified + std::time::Duration::from_secs(1))
        .unwrap();
    assert_eq!(prefix(&search), "2.0");
    fs::remove_file(tree.path("pyenv/versions/2.0/bin/python3.11")).unwrap();
    assert!(search.find_interpreter(ScriptType::Python).is_err());
    fs::write(tree.path("pyenv/versions/2.0/bin/python3.11"), "").unwrap();
    fs::set_permissions(
        tree.path("pyenv/versions/2.0/bin/python3.11"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    assert_eq!(prefix(&search), "2.0");
}

#[test]
fn threads_share_what_was_found() {
    let tree = Tree::new()
        .script("pyenv/shims/python3", PYENV)
        .python("pyenv/versions/1.0");
    let search = tree.search(&["pyenv/shims"]);
    let found = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| search.clone().find_interpreter(ScriptType::Python).unwrap()))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert!(found.windows(2).all(|pair| pair[0] == pair[1]));
}
