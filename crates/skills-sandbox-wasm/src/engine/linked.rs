//! An engine and the interfaces that it offers.

use std::sync::OnceLock;

use wasmtime::Engine;
use wasmtime::component::Linker;

use super::config::{Allocation, config};
use crate::context::Context;
use crate::surface::{Generation, Surface};
use crate::{Profile, files};

/// An engine and the interfaces that it offers, each set of them made when a component first asks
/// for it.
pub(crate) struct Linked {
    pub(super) engine: Engine,
    pub(super) allocation: Allocation,
    /// By [`place`].
    linkers: [OnceLock<Linker<Context>>; 4],
}

impl Linked {
    pub(super) fn new(profile: Profile, allocation: Allocation) -> wasmtime::Result<Self> {
        Ok(Self {
            engine: Engine::new(&config(profile, allocation))?,
            allocation,
            linkers: Default::default(),
        })
    }

    /// Returns the interfaces that a component may ask for.
    pub(super) fn linker(&self, surface: &Surface) -> wasmtime::Result<&Linker<Context>> {
        let cell = &self.linkers[place(surface)];
        if let Some(linker) = cell.get() {
            return Ok(linker);
        }
        let linker = self.offer(surface)?;
        Ok(cell.get_or_init(|| linker))
    }

    fn offer(&self, surface: &Surface) -> wasmtime::Result<Linker<Context>> {
        let mut linker = Linker::new(&self.engine);
        // The interfaces of files come twice: ours take the place of those that were there.
        linker.allow_shadowing(true);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        #[cfg(feature = "wasi-p3")]
        if surface.generation == Generation::Preview3 {
            wasmtime_wasi::p3::add_to_linker(&mut linker)?;
        }
        files::add_to_linker(&mut linker, surface.generation)?;
        linker.allow_shadowing(false);
        #[cfg(feature = "http")]
        if surface.knows_http {
            crate::http::add_to_linker(&mut linker)?;
        }
        Ok(linker)
    }
}

/// Components of WASI 0.3 may ask for interfaces of 0.2 as well.
fn place(surface: &Surface) -> usize {
    usize::from(surface.generation == Generation::Preview3) * 2 + usize::from(surface.knows_http)
}
