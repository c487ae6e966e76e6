use std::sync::Arc;

use insta::assert_snapshot;
use skills_policy::Grants;
use skills_sandbox::{Job, Program, Sandbox};
use skills_sandbox_wasm::WasmSandbox;

async fn load(bytes: &[u8]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let job = Job::new(Grants::none(), Program::Wasm(Arc::from(bytes)));
    match WasmSandbox::new(directory.path()).run(job).await {
        Ok(outcome) => format!("ran: {}", outcome.termination),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn what_is_no_component_is_named() {
    assert_snapshot!(load(b"").await, @"the program cannot be loaded: it is empty");
    assert_snapshot!(load(b"(component)").await, @"the program cannot be loaded: it is text, not WebAssembly");
    assert_snapshot!(load(b"\x7fELF\x02\x01").await, @"the program cannot be loaded: it is compiled machine code; ship the WebAssembly component it was made from");
    assert_snapshot!(load(b"\xff\xff").await, @"the program cannot be loaded: it is not WebAssembly");
    assert_snapshot!(load(b"\0asm").await, @"the program cannot be loaded: its version of WebAssembly is not known");
    assert_snapshot!(load(b"\0asm\x01\0\0\0").await, @"the program cannot be loaded: it has no `run` function to call; build it as a command, not as a library");
    assert_snapshot!(load(&vec![0; (32 << 20) + 1]).await, @"the program cannot be loaded: it has 33554433 bytes, at most 33554432 are loaded");
}

/// The empty component is valid but has nothing to call.
#[tokio::test]
async fn a_library_is_refused() {
    assert_snapshot!(load(b"\0asm\x0d\0\x01\0").await, @"the program cannot be loaded: it has no `run` function to call; build it as a command, not as a library");
}

/// A component that imports a function `evil` of no known interface.
#[tokio::test]
async fn an_unknown_import_is_named() {
    // (component (import "evil" (func))): one type section with `func`, one import section.
    let bytes = b"\0asm\x0d\0\x01\0\x07\x05\x01\x40\0\x01\0\x0a\x09\x01\0\x04evil\x01\0";
    assert_snapshot!(load(bytes).await, @"the program cannot be loaded: this host does not offer what it needs: evil");
}

#[tokio::test]
async fn a_truncated_component_is_refused() {
    let probe = include_bytes!("../guest/probe.wasm");
    assert_snapshot!(load(&probe[..probe.len() / 2]).await.split(" (at").next().unwrap(), @"the program cannot be loaded: it is not valid: unexpected end-of-file");
}
