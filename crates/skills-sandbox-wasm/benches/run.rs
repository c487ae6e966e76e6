//! A warm run of a small component that reads one file, beside the floor: bare wasmtime with the same component and directory.
#![expect(clippy::panic, clippy::unwrap_used, clippy::disallowed_methods, reason = "a bench makes its own files and fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use divan::Bencher;
use skills_policy::{Decision, Request, Rules};
use skills_sandbox::{Job, Program, Sandbox};
use skills_sandbox_wasm::WasmSandbox;
use tempfile::TempDir;
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Config, Engine, Store};
use wasmtime_wasi::p2::bindings::CommandPre;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};

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
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[divan::bench(sample_count = 500)]
fn warm(bencher: Bencher<'_, '_>) {
    let (directory, scratch) = (skill(), tempfile::tempdir().unwrap());
    let Decision::Granted(grants) = Rules::default().decide(&Request::new(directory.path())) else { panic!("granted") };
    let job = Job::new(grants, Program::Wasm(Arc::from(PROBE))).argument("read").argument("/skill/data.txt");
    let (sandbox, runtime) = (WasmSandbox::new(scratch.path()), runtime());
    let run = || assert!(runtime.block_on(sandbox.run(job.clone())).unwrap().ending.is_success());
    run();
    bencher.bench_local(run);
}

#[divan::bench(sample_count = 500)]
fn floor(bencher: Bencher<'_, '_>) {
    let (directory, bare, runtime) = (skill(), Bare::new(), runtime());
    bencher.bench_local(|| runtime.block_on(bare.run(directory.path())));
}

struct Bare {
    engine: Engine,
    command: CommandPre<State>,
}

struct State {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl Bare {
    fn new() -> Self {
        let engine = Engine::new(&Config::new()).unwrap();
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
        let component = Component::from_binary(&engine, PROBE).unwrap();
        let command = CommandPre::new(linker.instantiate_pre(&component).unwrap()).unwrap();
        Self { engine, command }
    }

    async fn run(&self, directory: &Path) {
        let stdout = MemoryOutputPipe::new(1 << 20);
        let wasi = WasiCtx::builder()
            .args(&["skill", "read", "/skill/data.txt"])
            .stdout(stdout)
            .allow_blocking_current_thread(true)
            .preopened_dir(directory, "/skill", FsPerms::ReadOnly)
            .unwrap()
            .build();
        let mut store = Store::new(&self.engine, State { wasi, table: ResourceTable::new() });
        let command = self.command.instantiate_async(&mut store).await.unwrap();
        command.wasi_cli_run().call_run(&mut store).await.unwrap().unwrap();
    }
}
