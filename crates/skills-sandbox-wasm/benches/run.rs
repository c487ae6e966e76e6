//! A warm run of a small component that reads one file, compared with plain wasmtime with the same
//! component and directory.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a bench creates its own files and fails by panicking"
)]

#[path = "floor/bare.rs"]
mod bare;

use std::sync::Arc;

use bare::{Allocation, Bare};
use divan::Bencher;
use skills_policy::{Authorization, Policy, Request};
use skills_sandbox::{Job, Program, Sandbox};
use skills_sandbox_wasm::WasmSandbox;
use tempfile::TempDir;

const PROBE: &[u8] = include_bytes!("../tests/guest/probe.wasm");

fn main() {
    divan::main();
}

fn skill() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("data.txt"), "data").unwrap();
    directory
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

#[divan::bench(sample_count = 500)]
fn warm(bencher: Bencher<'_, '_>) {
    let (directory, scratch) = (skill(), tempfile::tempdir().unwrap());
    let Authorization::Granted(grants) =
        Policy::default().authorize(&Request::new(directory.path()))
    else {
        panic!("granted")
    };
    let job = Job::new(grants, Program::Wasm(Arc::from(PROBE)))
        .arg("read")
        .arg("/skill/data.txt");
    let (sandbox, runtime) = (WasmSandbox::new(scratch.path()), runtime());
    let run = || {
        assert!(
            runtime
                .block_on(sandbox.run(job.clone()))
                .unwrap()
                .termination
                .is_success()
        )
    };
    run();
    bencher.bench_local(run);
}

#[divan::bench(sample_count = 500, args = [Allocation::OnDemand, Allocation::Pooled])]
fn floor(bencher: Bencher<'_, '_>, allocation: Allocation) {
    let (directory, bare, runtime) = (skill(), Bare::new(PROBE, allocation), runtime());
    bencher.bench_local(|| runtime.block_on(bare.run(directory.path())));
}
