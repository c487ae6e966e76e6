//! Tests of modules that take long to compile, and of the child processes that compile them.

use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use crate::mcp::Server;
use crate::skills::{command, skills_in};

/// Encodes a number as LEB128.
fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id][..], &leb(content.len()), content].concat()
}

/// A module with one function, which has this many variables and this code.
fn module(variables: usize, code: &[u8]) -> Vec<u8> {
    let body = [&[1][..], &leb(variables), &[0x7f], code, &[0x0b]].concat();
    let parts = [
        b"\0asm\x01\0\0\0".to_vec(),
        section(1, b"\x01\x60\0\0"),
        section(3, b"\x01\0"),
        section(5, b"\x01\0\x01"),
        section(7, b"\x02\x06_start\0\0\x06memory\x02\0"),
        section(10, &[&[1][..], &leb(body.len()), &body].concat()),
    ];
    parts.concat()
}

/// As many nested loops as variables, all of which they change: compiling 400 takes minutes, and
/// 200 some seconds. They are skipped when the module runs.
fn loops(number: usize) -> Vec<u8> {
    let (depth, variables) = (number, number);
    let changes = (0..variables)
        .flat_map(|at| [&[0x20][..], &leb(at), &[0x41, 1, 0x6a, 0x21], &leb(at)].concat());
    // A block that ends at once, since the memory is zero.
    let skip = [0x02, 0x40, 0x41, 0, 0x28, 2, 0, 0x45, 0x0d, 0];
    let code: Vec<u8> = skip
        .into_iter()
        .chain([0x03, 0x40].repeat(depth))
        .chain(changes)
        .chain([0x20, 0, 0x0d, 0, 0x0b].repeat(depth))
        .chain([0x0b])
        .collect();
    module(variables, &code)
}

/// A module that compiles in a second, but is too large to be compiled in the running process.
fn long() -> Vec<u8> {
    module(1, &[0x20, 0, 0x21, 0].repeat(20_000))
}

fn skill(root: &Path, name: &str, module: &[u8]) {
    let directory = root.join(name);
    std::fs::create_dir_all(directory.join("wasm")).unwrap();
    std::fs::write(
        directory.join("SKILL.md"),
        format!("---\nname: {name}\ndescription: d\n---\n"),
    )
    .unwrap();
    std::fs::write(directory.join("wasm/skill.wasm"), module).unwrap();
}

#[test]
fn a_server_keeps_serving_while_it_compiles_a_module_after_its_deadline() {
    let root = tempfile::tempdir().unwrap();
    skill(root.path(), "hostile", &loops(400));
    skill(root.path(), "small", &module(1, &[]));
    let mut server = Server::start(&["--root", root.path().to_str().unwrap()]);
    let call = |name: &str, timeout: u64| json!({"name": name, "command": "wasm/skill.wasm", "timeout": timeout});
    let stopped = server.call("skills_run", &call("hostile", 2));
    assert!(
        stopped["_meta"]["skills/report"]["timed_out"] == true,
        "{stopped}"
    );
    // The next run waits for the same compilation.
    let again = server.call("skills_run", &call("hostile", 2));
    assert!(
        again["_meta"]["skills/report"]["timed_out"] == true,
        "{again}"
    );
    let small = server.call("skills_run", &call("small", 30));
    assert_eq!(small["_meta"]["skills/report"]["exit_code"], 0, "{small}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_run_that_ends_while_it_compiles_finishes_it_for_the_next_run() {
    for call in [false, true] {
        let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        skill(root.path(), "long", &loops(200));
        let skills = |command: &[&str]| {
            let root = ["--json", "--root", root.path().to_str().unwrap()];
            skills_in(&[command, &root].concat(), "", state.path())
        };
        let first = if call {
            let input = r#"{"name": "long", "command": "wasm/skill.wasm", "timeout": 1}"#;
            skills(&["call", "skills_run", input])
        } else {
            skills(&["run", "long", "--timeout", "1"])
        };
        assert_eq!(first.code, 124, "{}", first.page());
        assert!(
            first
                .page()
                .contains("note: compiled; the next run takes it from the code cache"),
            "{}",
            first.page()
        );
        let second = skills(&["run", "long", "--timeout", "60"]);
        assert_eq!(second.code, 0, "{}", second.page());
        assert!(
            second.page().contains("from the cache"),
            "{}",
            second.page()
        );
    }
}

#[test]
fn large_modules_are_compiled_in_a_child_process() {
    let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    skill(root.path(), "long", &long());
    let root = ["--root", root.path().to_str().unwrap()];
    let compiled = skills_in(
        &[&["wasm", "precompile", "long", "--json"], &root[..]].concat(),
        "",
        state.path(),
    );
    assert_eq!(
        compiled.json()["skills"][0]["preparation"]["kind"],
        "compiled",
        "{}",
        compiled.page()
    );
    let run = skills_in(&[&["run", "long"], &root[..]].concat(), "", state.path());
    assert_eq!(run.code, 0, "{}", run.page());
}

/// The subcommand is internal.
#[test]
fn invalid_compile_requests_are_rejected() {
    let scratch = tempfile::tempdir().unwrap();
    let output = command(&["compile-wasm"], scratch.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let help = command(&["--help"], scratch.path()).output().unwrap();
    assert!(
        !String::from_utf8(help.stdout)
            .unwrap()
            .contains("compile-wasm")
    );
}
