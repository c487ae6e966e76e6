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
async fn other_content_is_rejected_with_its_type() {
    assert_snapshot!(load(b"").await, @"cannot load the program: file is empty");
    assert_snapshot!(load(b"(component)").await, @"cannot load the program: text, not WebAssembly");
    assert_snapshot!(load(b"\x7fELF\x02\x01").await, @"cannot load the program: compiled machine code; ship the WebAssembly component it was compiled from");
    assert_snapshot!(load(b"\xff\xff").await, @"cannot load the program: not WebAssembly");
    assert_snapshot!(load(b"\0asm").await, @"cannot load the program: unknown WebAssembly version");
    assert_snapshot!(load(b"\0asm\x01\0\0\0").await, @"cannot load the program: no `run` export; build it as a command, not as a library");
    assert_snapshot!(load(&vec![0; (32 << 20) + 1]).await, @"cannot load the program: size is 33554433 bytes, limit 33554432");
}

/// The empty component is valid but has no entry point.
#[tokio::test]
async fn a_library_is_rejected() {
    assert_snapshot!(load(b"\0asm\x0d\0\x01\0").await, @"cannot load the program: no `run` export; build it as a command, not as a library");
}

/// A component that imports a function `evil` of no known interface.
#[tokio::test]
async fn an_unknown_import_is_named() {
    // (component (import "evil" (func))): one type section with `func`, one import section.
    let bytes = b"\0asm\x0d\0\x01\0\x07\x05\x01\x40\0\x01\0\x0a\x09\x01\0\x04evil\x01\0";
    assert_snapshot!(load(bytes).await, @"cannot load the program: unsupported imports: evil");
}

#[tokio::test]
async fn a_truncated_component_is_rejected() {
    let probe = include_bytes!("../guest/probe.wasm");
    assert_snapshot!(load(&probe[..probe.len() / 2]).await.split(" (at").next().unwrap(), @"cannot load the program: invalid WebAssembly: unexpected end-of-file");
}
