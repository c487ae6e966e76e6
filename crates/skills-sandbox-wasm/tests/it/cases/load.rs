//! Bytes that are not a runnable program.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use skills_sandbox::{SandboxErrorKind, Termination};
use skills_sandbox_wasm::MAX_COMPONENT_BYTES;

use super::fixture::{Fixture, Generation};
use super::programs;

const RUN: &str = r#"(func (export "run") (result i32) i32.const 0)"#;

/// Returns why `bytes` are not loaded.
async fn refusal(bytes: &[u8]) -> String {
    let error = match Fixture::new(Generation::P2).run_bytes(bytes).await {
        Ok(outcome) => panic!("it ran: {}", outcome.termination),
        Err(error) => error,
    };
    assert_eq!(error.kind(), SandboxErrorKind::InvalidProgram, "{error}");
    error.to_string()
}

#[tokio::test]
async fn case_26_bytes_other_than_webassembly_are_rejected() {
    for bytes in [
        b"".as_slice(),
        b"\0asm",
        b"\0asm\x0d\0\x01",
        b"\x7fELF\x02\x01\x01\0",
        b"(component)",
        b"#!/bin/sh\n",
        b"\xff\xfe\xfd",
    ] {
        refusal(bytes).await;
    }
    let noise: Vec<u8> = (0..4096u32)
        .map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect();
    refusal(&noise).await;
    for header in [b"\0asm\x01\0\0\0", b"\0asm\x0d\0\x01\0"] {
        refusal(&[header.as_slice(), &noise].concat()).await;
    }
    assert!(
        refusal(&vec![0; MAX_COMPONENT_BYTES + 1])
            .await
            .contains(&MAX_COMPONENT_BYTES.to_string())
    );
}

#[tokio::test]
async fn case_26_a_truncated_program_is_rejected() {
    for &generation in Generation::ALL {
        let guest = generation.guest();
        for length in (0..guest.len()).step_by(guest.len() / 20) {
            refusal(&guest[..length]).await;
        }
    }
}

/// Compiled code could do anything, so only the sandbox itself may create it.
#[tokio::test]
async fn case_26_compiled_code_is_rejected() {
    let compiled = wasmtime::Engine::default()
        .precompile_component(&programs::nothing(Generation::P2))
        .unwrap();
    refusal(&compiled).await;
    let module = wasmtime::Engine::default()
        .precompile_module(&programs::compile("(module)"))
        .unwrap();
    refusal(&module).await;
}

fn preview1(fields: &str) -> Vec<u8> {
    programs::compile(&format!(
        r#"(module
            (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
            (memory (export "memory") 1)
            {fields})"#
    ))
}

#[tokio::test]
async fn case_27_a_module_for_preview_1_runs() {
    let hello = preview1(
        r#"(data (i32.const 8) "\10\00\00\00\06\00\00\00") (data (i32.const 16) "hello\n")
           (func (export "_start") (drop (call $fd_write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 32))))"#,
    );
    let outcome = Fixture::new(Generation::P2)
        .run_bytes(&hello)
        .await
        .unwrap();
    assert_eq!(
        (outcome.termination, outcome.stdout.text().as_str()),
        (Termination::Exited { code: 0 }, "hello\n")
    );
}

/// Such a module is wrapped in an adapter, which reports only success and failure.
#[tokio::test]
async fn case_27_a_module_for_preview_1_may_fail() {
    for (code, seen) in [(0, 0), (3, 1)] {
        let exit = preview1(&format!(
            r#"(func (export "_start") (call $proc_exit (i32.const {code})))"#
        ));
        let ending = Fixture::new(Generation::P2)
            .run_bytes(&exit)
            .await
            .unwrap()
            .termination;
        assert_eq!(ending, Termination::Exited { code: seen });
    }
}

#[tokio::test]
async fn case_27_a_module_with_other_imports_is_rejected_with_their_names() {
    let module = programs::compile(
        r#"(module (import "env" "evil" (func)) (memory (export "memory") 1) (func (export "_start")))"#,
    );
    let reason = refusal(&module).await;
    assert!(
        reason.contains("env") && reason.contains("evil"),
        "{reason}"
    );
}

#[tokio::test]
async fn case_28_an_unknown_import_is_rejected_with_its_name() {
    for &generation in Generation::ALL {
        let import = r#"(import "evil:host/do" (instance (export "anything" (func))))"#;
        let reason = refusal(&programs::component(generation, import, RUN)).await;
        assert!(reason.contains("evil:host/do"), "{generation:?}: {reason}");
    }
}

#[tokio::test]
async fn case_29_a_component_without_entry_point_is_rejected() {
    assert!(
        refusal(&programs::compile("(component)"))
            .await
            .contains("`run`")
    );
    let other = programs::compile(
        r#"(component (instance $empty) (export "wasi:cli/other@0.2.0" (instance $empty)))"#,
    );
    assert!(refusal(&other).await.contains("`run`"));
}

#[tokio::test]
async fn case_30_too_many_instances_are_rejected() {
    for &generation in Generation::ALL {
        let many = "(core instance (instantiate $empty))".repeat(20_000);
        let bytes = programs::component(generation, &format!("(core module $empty) {many}"), RUN);
        refusal(&bytes).await;
    }
}

/// About a megabyte of functions, all different.
fn bomb() -> Vec<u8> {
    let mut functions = String::new();
    for number in 0..8_000 {
        write!(functions, "(func (param i32) (result i32) (local i32)").unwrap();
        for step in 0..12 {
            write!(functions, "(local.set 1 (i32.add (i32.mul (local.get 0) (i32.const {number})) (i32.const {step})))").unwrap();
        }
        functions.push_str("(local.get 1))");
    }
    programs::command(Generation::P2, &format!("{functions} {RUN}"))
}

/// A compiler ends with the run that waits for it, and others run meanwhile.
#[tokio::test]
async fn case_31_compiling_counts_against_the_deadline() {
    if cfg!(not(unix)) {
        return skills_test_support::skip("the compile command of these tests needs a shell");
    }
    let fixture = Fixture::with_wall_time(Generation::P2, Duration::from_millis(20)).await;
    let outcome = fixture.run_bytes(&bomb()).await.unwrap();
    assert_eq!(outcome.termination, Termination::TimedOut { limit_ms: 20 });
    fixture.still_works().await;
    let again = Arc::new(bomb());
    let tasks: Vec<_> = (0..8)
        .map(|_| tokio::spawn(wait_for(Arc::clone(&again))))
        .collect();
    fixture.still_works().await;
    for task in tasks {
        let ending = task.await.unwrap();
        assert!(
            matches!(
                ending,
                Termination::Exited { code: 0 } | Termination::TimedOut { .. }
            ),
            "{ending}"
        );
    }
}

async fn wait_for(bytes: Arc<Vec<u8>>) -> Termination {
    Fixture::new(Generation::P2)
        .run_bytes(&bytes)
        .await
        .unwrap()
        .termination
}
