//! Configuration of the engine.

use wasmtime::{Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::WasmProfile;

/// How many programs run concurrently in one engine; others wait for a slot.
pub(crate) const INSTANCE_SLOTS: u32 = 64;
/// How much of a used memory or table is cleared in place instead of being returned to the system:
/// what a small program or a small script engine touches. Returning costs a system call, and a page
/// fault per page in the next run. If the kernel reports which pages were touched (Linux 6.7), only
/// these are cleared.
const RESIDENT_BYTES: usize = 1 << 20;
/// The same if the kernel does not report touched pages, and everything up to this size is cleared.
const RESIDENT_BYTES_WITHOUT_PAGEMAP: usize = 64 * 1024;
/// The maximum number of core instances of a component. A script engine with its libraries has some
/// dozens of core instances and tables.
const MAX_CORE_INSTANCES: u32 = 100;
const MAX_TABLES: u32 = 100;
const MAX_MEMORIES: u32 = 20;
const MAX_TABLE_ELEMENTS: usize = 65_536;
/// The maximum of a 32-bit memory. It only reserves address space; the limiter of each run decides.
const MAX_MEMORY_BYTES: usize = 4 << 30;

/// The allocator for memories, tables and stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allocation {
    /// The pooling allocator.
    Pooled,
    /// The on-demand allocator, for programs that do not fit into the pool.
    OnDemand,
}

pub(crate) fn engine_config(profile: WasmProfile, allocation: Allocation) -> Config {
    let mut config = Config::new();
    // The threads of the compiler panic if they cannot be started.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    config.parallel_compilation(skills_threads::check(threads).is_ok());
    #[cfg(feature = "wasi-p3")]
    config.wasm_component_model_async(true);
    match profile {
        WasmProfile::Fast => {
            // Costs less than counting instructions, which halves the speed.
            config.epoch_interruption(true);
        }
        WasmProfile::Deterministic { .. } => {
            config
                // Yields at counted instructions do not depend on a clock.
                .consume_fuel(true)
                // The bits of a NaN and relaxed vector instructions differ between processors.
                .cranelift_nan_canonicalization(true)
                .relaxed_simd_deterministic(true);
        }
    }
    if allocation == Allocation::Pooled {
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pooling_config()));
    }
    config
}

fn pooling_config() -> PoolingAllocationConfig {
    let is_told = PoolingAllocationConfig::is_pagemap_scan_available();
    let resident = if is_told {
        RESIDENT_BYTES
    } else {
        RESIDENT_BYTES_WITHOUT_PAGEMAP
    };
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(INSTANCE_SLOTS)
        .total_core_instances(INSTANCE_SLOTS * MAX_CORE_INSTANCES)
        // Enough for common components. A run that finds no place here is started on demand.
        .total_memories(INSTANCE_SLOTS * 2)
        .total_tables(INSTANCE_SLOTS * 8)
        .total_stacks(INSTANCE_SLOTS * 2)
        .total_gc_heaps(INSTANCE_SLOTS)
        .max_core_instances_per_component(MAX_CORE_INSTANCES)
        .max_memories_per_component(MAX_MEMORIES)
        .max_tables_per_component(MAX_TABLES)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(4 << 20)
        .max_tables_per_module(MAX_TABLES)
        .max_memories_per_module(MAX_MEMORIES)
        .table_elements(MAX_TABLE_ELEMENTS)
        .max_memory_size(MAX_MEMORY_BYTES)
        .max_unused_warm_slots(INSTANCE_SLOTS)
        .pagemap_scan(Enabled::Auto)
        .linear_memory_keep_resident(resident)
        .table_keep_resident(resident);
    pool
}
