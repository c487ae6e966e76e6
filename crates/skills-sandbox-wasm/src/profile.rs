//! How a program is run: fast or deterministic.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand_core::TryRng;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtxBuilder};

/// The start time in a [`WasmProfile::Deterministic`] run, in seconds since 1970: January 1, 2020.
const EPOCH_SECONDS: u64 = 1_577_836_800;
/// Nanoseconds the deterministic clock advances per read (1 ms), so busy-wait loops end.
const CLOCK_STEP_NANOSECONDS: u64 = 1_000_000;

/// How programs are run: with real clocks and random numbers, or reproducibly. Set it with
/// [`WasmSandbox::profile`](crate::WasmSandbox::profile); the default is [`Fast`](Self::Fast).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WasmProfile {
    /// As fast as possible: real clocks, real random numbers.
    #[default]
    Fast,
    /// Deterministic: the same program with the same input, files and seed writes the same bytes.
    ///
    /// Random numbers come from the seed; clocks start at the beginning of 2020 and advance by a
    /// millisecond per read; NaN is canonical. Fuel is counted (about two times slower), and the
    /// report contains it. Not deterministic are the order of directory entries, file times,
    /// responses of hosts, which of several waits ends first, and when the deadline expires.
    Deterministic {
        /// The seed of the random numbers.
        seed: u64,
    },
}

impl WasmProfile {
    /// Sets clocks and random numbers.
    pub(crate) fn apply(self, wasi: &mut WasiCtxBuilder) {
        let Self::Deterministic { seed } = self else {
            return;
        };
        // Separate sequences: what a program reads from one does not change the others.
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

/// A clock that advances when it is read.
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

/// Random numbers that a hash function derives from a seed, the same in every version.
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
