//! The baseline of the benches.

use std::path::Path;

use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store};
use wasmtime_wasi::p2::bindings::CommandPre;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};

/// Plain wasmtime, without this crate.
pub(crate) struct Bare {
    engine: Engine,
    command: CommandPre<State>,
}

struct State {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Allocation {
    OnDemand,
    Pooled,
}

pub(crate) fn config(allocation: Allocation) -> Config {
    let mut config = Config::new();
    if let Allocation::Pooled = allocation {
        let mut pool = PoolingAllocationConfig::new();
        pool.linear_memory_keep_resident(64 * 1024)
            .table_keep_resident(64 * 1024);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}

impl Bare {
    pub(crate) fn new(component: &[u8], allocation: Allocation) -> Self {
        let engine = Engine::new(&config(allocation)).unwrap();
        let component = Component::from_binary(&engine, component).unwrap();
        Self::linked(engine, &component)
    }

    pub(crate) fn linked(engine: Engine, component: &Component) -> Self {
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
        let command = CommandPre::new(linker.instantiate_pre(component).unwrap()).unwrap();
        Self { engine, command }
    }

    pub(crate) async fn run(&self, directory: &Path) {
        let stdout = MemoryOutputPipe::new(1 << 20);
        let wasi = WasiCtx::builder()
            .args(&["skill", "read", "/skill/data.txt"])
            .stdout(stdout.clone())
            .allow_blocking_current_thread(true)
            .preopened_dir(directory, "/skill", FsPerms::ReadOnly)
            .unwrap()
            .build();
        let mut store = Store::new(
            &self.engine,
            State {
                wasi,
                table: ResourceTable::new(),
            },
        );
        let command = self.command.instantiate_async(&mut store).await.unwrap();
        command
            .wasi_cli_run()
            .call_run(&mut store)
            .await
            .unwrap()
            .unwrap();
    }
}
