//! How a program is run: as fast as can be, or the same way each time.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand_core::TryRng;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtxBuilder};

/// What every program of a [`WasmProfile::Deterministic`] believes the time to be, in seconds since
/// 1970: the first of January 2020.
const EPOCH_SECONDS: u64 = 1_577_836_800;
/// How far the clock moves each time somebody looks at it, in nanoseconds: one millisecond, so that
/// whoever waits for time to pass comes to an end.
const CLOCK_STEP_NANOSECONDS: u64 = 1_000_000;

/// How programs are run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WasmProfile {
    /// As fast as can be: real clocks, real random numbers.
    #[default]
    Fast,
    /// The same way each time: the same program with the same input, files and seed writes the same
    /// bytes.
    ///
    /// Random numbers come from the seed; clocks begin at the start of 2020 and move by a
    /// millisecond whenever they are read; NaN has one form. Steps are counted (about two times
    /// slower), and the report says how many. What stays the machine's own: the order in which a
    /// directory is listed, the times of files, what hosts answer, which of several waits ends
    /// first, and where the deadline strikes.
    Deterministic {
        /// What the random numbers come from.
        seed: u64,
    },
}

impl WasmProfile {
    /// Puts clocks and random numbers in place.
    pub(crate) fn apply(self, wasi: &mut WasiCtxBuilder) {
        let Self::Deterministic { seed } = self else {
            return;
        };
        let numbers = |purpose: &str| {
            SeededRng(
                blake3::Hasher::new_derive_key(purpose)
                    .update(&seed.to_le_bytes())
                    .finalize_xof(),
            )
        };
        let mut first = [0; 16];
        numbers("agent-skills 2026 insecure seed")
            .0
            .fill(&mut first);
        wasi.secure_random(numbers("agent-skills 2026 secure random"))
            .insecure_random(numbers("agent-skills 2026 insecure random"))
            .insecure_random_seed(u128::from_le_bytes(first))
            .wall_clock(DeterministicClock::default())
            .monotonic_clock(DeterministicClock::default());
    }
}

/// A clock that moves when it is read.
#[derive(Default)]
struct DeterministicClock(AtomicU64);

impl DeterministicClock {
    fn advance(&self) -> u64 {
        self.0.fetch_add(CLOCK_STEP_NANOSECONDS, Ordering::Relaxed)
    }
}

impl HostMonotonicClock for DeterministicClock {
    fn resolution(&self) -> u64 {
        CLOCK_STEP_NANOSECONDS
    }

    fn now(&self) -> u64 {
        self.advance()
    }
}

impl HostWallClock for DeterministicClock {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(CLOCK_STEP_NANOSECONDS)
    }

    fn now(&self) -> Duration {
        Duration::from_secs(EPOCH_SECONDS) + Duration::from_nanos(self.advance())
    }
}

/// Random numbers that a hash function makes of a seed, the same in every version of everything.
struct SeededRng(blake3::OutputReader);

impl TryRng for SeededRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill(bytes);
        Ok(())
    }
}
