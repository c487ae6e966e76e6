//! Programs that fail.

use skills_sandbox::Termination;

use super::fixture::{Fixture, Generation, kind};
use super::programs;

/// The stack in linear memory, as compilers lay it out, reaches the end of memory before the real
/// stack overflows.
#[tokio::test]
async fn case_02_endless_recursion_of_a_compiled_program_traps() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation);
        let ending = kind(&fixture.run(&["recurse"]).await.termination);
        assert!(
            ["trapped", "stack-overflow"].contains(&ending.as_str()),
            "{generation:?}: {ending}"
        );
        fixture.still_works().await;
    }
}

#[tokio::test]
async fn case_02_endless_recursion_overflows_the_stack() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation);
        let recursion = programs::command(
            generation,
            r#"(func $deeper (param i32) (result i32) (i32.add (call $deeper (local.get 0)) (i32.const 1)))
               (func (export "run") (result i32) (call $deeper (i32.const 0)))"#,
        );
        assert_eq!(
            kind(&fixture.run_bytes(&recursion).await.unwrap().termination),
            "stack-overflow",
            "{generation:?}"
        );
        fixture.still_works().await;
    }
}

#[tokio::test]
async fn case_23_exit_codes_are_kept() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation);
        for code in [0, 3, 255] {
            assert_eq!(
                fixture.run(&["exit", &code.to_string()]).await.termination,
                Termination::Exited { code },
                "{generation:?}"
            );
        }
        // A failure without a code.
        assert_eq!(
            fixture.run(&["fail"]).await.termination,
            Termination::Exited { code: 1 },
            "{generation:?}"
        );
    }
}

#[tokio::test]
async fn case_24_a_panic_traps_and_its_message_is_kept() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation);
        let panicked = fixture.run(&["panic"]).await;
        assert_eq!(kind(&panicked.termination), "trapped", "{generation:?}");
        assert!(
            panicked.stderr.text().contains("as asked"),
            "{generation:?}: {}",
            panicked.stderr.text()
        );
        let unreachable = programs::command(
            generation,
            r#"(func (export "run") (result i32) unreachable)"#,
        );
        assert_eq!(
            kind(&fixture.run_bytes(&unreachable).await.unwrap().termination),
            "trapped",
            "{generation:?}"
        );
    }
}

/// The WASI 0.3 guest has no interface for either.
#[tokio::test]
async fn case_25_there_are_no_processes_and_no_threads() {
    let fixture = Fixture::new(Generation::P2);
    fixture
        .rejects(&[&["spawn"], &["thread"]], &["Unsupported"])
        .await;
    for &generation in Generation::ALL {
        let shared = programs::command(
            generation,
            r#"(memory 1 1 shared) (func (export "run") (result i32) i32.const 0)"#,
        );
        let error = fixture
            .run_bytes(&shared)
            .await
            .expect_err("memory for threads");
        assert_eq!(
            error.kind(),
            skills_sandbox::SandboxErrorKind::InvalidProgram,
            "{generation:?}: {error}"
        );
    }
}
