//! Shims of version managers.

use insta::assert_snapshot;
use skills_sandbox::ScriptType;

use super::{PYENV, Tree};

#[test]
fn pyenv_and_similar_managers() {
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
    // A name elsewhere that points to the shim.
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
    assert_snapshot!(tree.python3("pyenv/shims"), @"cannot run in a sandbox: interpreter is unavailable: no `python3` in T/pyenv/shims; rejected T/pyenv/shims/python3: points to the system's version, which is searched for elsewhere");
    let tree = tree.file("pyenv/version", "3.12.0");
    assert_snapshot!(tree.python3("pyenv/shims"), @"cannot run in a sandbox: interpreter is unavailable: no `python3` in T/pyenv/shims; rejected T/pyenv/shims/python3: version 3.12.0 has no `python3`");
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
    assert_snapshot!(tree.find(ScriptType::Node, &["asdf/shims"]), @"cannot run in a sandbox: interpreter is unavailable: no `node` in T/asdf/shims; rejected T/asdf/shims/node: does not name an installed version");
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
    assert_snapshot!(tree.python3("mise/shims"), @"cannot run in a sandbox: interpreter is unavailable: no `python3` in T/mise/shims; rejected T/mise/shims/python3: no version in T/mise/installs/python has `python3`");
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
    assert_snapshot!(tree.find(ScriptType::Node, &["volta/bin"]), @"cannot run in a sandbox: interpreter is unavailable: no `node` in T/volta/bin; rejected T/volta/bin/node: no Volta tools are next to it");
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
    assert_snapshot!(tree.find(ScriptType::Node, &["volta/bin"]), @r#"cannot run in a sandbox: interpreter is unavailable: no `node` in T/volta/bin; rejected T/volta/bin/node: T/volta/tools/user/platform.json does not name a version: "../../x""#);
}
