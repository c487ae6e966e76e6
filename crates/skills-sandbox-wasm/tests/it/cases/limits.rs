//! Programs that exceed limits.

use skills_sandbox::Termination;

use super::fixture::{Fixture, Generation, kind};
use super::programs;

const MEMORY_BYTES: u64 = 32 << 20;
const MEMORY_LIMIT: Termination = Termination::MemoryLimit {
    limit_bytes: MEMORY_BYTES,
};

fn fixture(generation: Generation) -> Fixture {
    let mut fixture = Fixture::new(generation);
    fixture.limits.memory_bytes = MEMORY_BYTES;
    fixture
}

/// Runs a core module's fields and returns how it ended.
async fn ending(generation: Generation, core: &str) -> Termination {
    fixture(generation)
        .run_bytes(&programs::command(generation, core))
        .await
        .unwrap()
        .termination
}

#[tokio::test]
async fn case_03_memory_is_bounded() {
    for &generation in Generation::ALL {
        let fixture = fixture(generation);
        assert_eq!(
            fixture.run(&["allocate"]).await.termination,
            MEMORY_LIMIT,
            "{generation:?}"
        );
        fixture.still_works().await;
    }
}

#[tokio::test]
async fn case_04_a_small_file_that_wants_all_memory_at_once_does_not_start() {
    for &generation in Generation::ALL {
        let core = r#"(memory 65536) (func (export "run") (result i32) i32.const 0)"#;
        assert_eq!(
            ending(generation, core).await,
            MEMORY_LIMIT,
            "{generation:?}"
        );
    }
}

#[tokio::test]
async fn case_05_a_huge_table_does_not_start() {
    for &generation in Generation::ALL {
        let core = r#"(table 10000000 funcref) (func (export "run") (result i32) i32.const 0)"#;
        let ran = fixture(generation)
            .run_bytes(&programs::command(generation, core))
            .await;
        assert!(
            !ran.is_ok_and(|outcome| outcome.termination.is_success()),
            "{generation:?}: it ran"
        );
    }
}

#[tokio::test]
async fn case_05_a_table_does_not_grow_without_bound() {
    for &generation in Generation::ALL {
        // Succeeds if growing is rejected.
        let core = r#"(table $table 1 funcref)
            (func (export "run") (result i32)
                (i32.ne (table.grow $table (ref.null func) (i32.const 10000000)) (i32.const -1)))"#;
        assert_eq!(
            ending(generation, core).await,
            Termination::Exited { code: 0 },
            "{generation:?}"
        );
    }
}

#[tokio::test]
async fn case_06_several_memories_are_counted_together() {
    for &generation in Generation::ALL {
        let pages = 20 * 16;
        let at_once = format!(
            r#"(memory {pages}) (memory {pages}) (func (export "run") (result i32) i32.const 0)"#
        );
        assert_eq!(
            ending(generation, &at_once).await,
            MEMORY_LIMIT,
            "{generation:?}"
        );
        // Succeeds if the first may grow and the second may not.
        let one_by_one = format!(
            r#"(memory $one 1) (memory $two 1)
            (func (export "run") (result i32)
                (if (i32.eq (memory.grow $one (i32.const {pages})) (i32.const -1)) (then unreachable))
                (i32.ne (memory.grow $two (i32.const {pages})) (i32.const -1)))"#
        );
        assert_eq!(
            ending(generation, &one_by_one).await,
            Termination::Exited { code: 0 },
            "{generation:?}"
        );
    }
}

#[tokio::test]
async fn case_22_handles_are_bounded() {
    for &generation in Generation::ALL {
        let fixture = fixture(generation);
        for attempt in [["open", "/skill/data.txt"], ["wait-many", ""]] {
            let outcome = fixture.run(&attempt).await;
            assert_eq!(
                kind(&outcome.termination),
                "handle-limit",
                "{generation:?}: {attempt:?}: {}",
                outcome.termination
            );
        }
        fixture.still_works().await;
    }
}

#[tokio::test]
async fn case_36_many_and_overlapping_segments_are_loaded_or_trap() {
    for &generation in Generation::ALL {
        let run = r#"(func (export "run") (result i32) i32.const 0)"#;
        let many = "(data (i32.const 65528) \"12345678\")".repeat(32 << 10);
        assert_eq!(
            ending(generation, &format!("(memory 1) {many} {run}")).await,
            Termination::Exited { code: 0 },
            "{generation:?}"
        );
        let beyond = r#"(data (i32.const 65529) "12345678")"#;
        assert_eq!(
            kind(&ending(generation, &format!("(memory 1) {beyond} {run}")).await),
            "trapped",
            "{generation:?}"
        );
        let far = r#"(data (i32.const -8) "12345678")"#;
        assert_eq!(
            kind(&ending(generation, &format!("(memory 1) {far} {run}")).await),
            "trapped",
            "{generation:?}"
        );
        let elements = "(elem (i32.const 9) $f)".repeat(32 << 10);
        let table = format!("(table 10 funcref) (func $f) {elements} {run}");
        assert_eq!(
            ending(generation, &table).await,
            Termination::Exited { code: 0 },
            "{generation:?}"
        );
    }
}

/// The host may shorten the result, or stop the program; it must not allocate the requested amount.
#[tokio::test]
async fn case_38_one_call_gets_a_bounded_number_of_random_bytes() {
    for &generation in Generation::ALL {
        let fixture = fixture(generation);
        assert_eq!(
            fixture.attempt(&["random", "65536"]).await,
            "ok: 65536 bytes"
        );
        for bytes in ["65537", "18446744073709551615"] {
            let outcome = fixture.run(&["random", bytes]).await;
            let cut = outcome.stdout.text() == "ok: 65536 bytes\n";
            assert!(
                cut || kind(&outcome.termination) == "trapped",
                "{generation:?}: {}",
                outcome.termination
            );
        }
    }
}

#[tokio::test]
async fn case_38_one_call_takes_a_bounded_text() {
    for &generation in Generation::ALL {
        let mut fixture = fixture(generation);
        fixture.limits.memory_bytes = 256 << 20;
        fixture
            .rejects(&[&["long-path", "1000000"]], &["nametoolong"])
            .await;
        let outcome = fixture.run(&["long-path", "50000000"]).await;
        assert_eq!(
            kind(&outcome.termination),
            "trapped",
            "{generation:?}: {}",
            outcome.termination
        );
        fixture.still_works().await;
    }
}
