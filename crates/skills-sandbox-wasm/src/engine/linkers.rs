//! An engine with its linkers.

use std::sync::OnceLock;

use wasmtime::Engine;
use wasmtime::component::Linker;

use super::config::{Allocation, engine_config};
use crate::component_info::{ComponentInfo, WasiVersion};
use crate::store_state::StoreState;
use crate::{WasmProfile, fs};

/// An engine with its linkers. Each linker is created when a component first needs its set of
/// interfaces.
pub(crate) struct EngineLinkers {
    pub(super) engine: Engine,
    pub(super) allocation: Allocation,
    /// Indexed by [`linker_index`].
    linkers: [OnceLock<Linker<StoreState>>; 4],
}

impl EngineLinkers {
    pub(super) fn new(profile: WasmProfile, allocation: Allocation) -> wasmtime::Result<Self> {
        Ok(Self {
            engine: Engine::new(&engine_config(profile, allocation))?,
            allocation,
            linkers: Default::default(),
        })
    }

    /// Returns the linker with the interfaces that a component may import.
    pub(super) fn linker(&self, surface: &ComponentInfo) -> wasmtime::Result<&Linker<StoreState>> {
        let cell = &self.linkers[linker_index(surface)];
        if let Some(linker) = cell.get() {
            return Ok(linker);
        }
        // Built outside of the cell, whose initializer cannot fail.
        let linker = self.build_linker(surface)?;
        Ok(cell.get_or_init(|| linker))
    }

    fn build_linker(&self, surface: &ComponentInfo) -> wasmtime::Result<Linker<StoreState>> {
        let mut linker = Linker::new(&self.engine);
        // The file system interfaces are defined twice: ours replace those of `wasmtime-wasi`.
        linker.allow_shadowing(true);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        #[cfg(feature = "wasi-p3")]
        if surface.wasi_version == WasiVersion::P3 {
            wasmtime_wasi::p3::add_to_linker(&mut linker)?;
        }
        fs::add_to_linker(&mut linker, surface.wasi_version)?;
        linker.allow_shadowing(false);
        #[cfg(feature = "http")]
        if surface.imports_http {
            crate::http::add_to_linker(&mut linker)?;
        }
        Ok(linker)
    }
}

/// Components of WASI 0.3 may import interfaces of 0.2 as well.
fn linker_index(surface: &ComponentInfo) -> usize {
    usize::from(surface.wasi_version == WasiVersion::P3) * 2 + usize::from(surface.imports_http)
}
