//! Imports and exports of a component or module, read without compiling it.

use std::borrow::Cow;

use wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER as ADAPTER;
use wasmparser::{Parser, Payload};
use wit_component::ComponentEncoder;

use crate::{LoadError, MAX_COMPONENT_BYTES};

const MAGIC: &[u8] = b"\0asm";
/// The fifth to eighth byte: version and layer.
const CORE_MODULE: &[u8] = &[1, 0, 0, 0];
const COMPONENT_LAYER: &[u8] = &[1, 0];
/// The only module that a core module may import from: WASI preview 1.
const PREVIEW1: &str = "wasi_snapshot_preview1";
const SUPPORTED_INTERFACES: [&str; 7] = [
    "wasi:cli/",
    "wasi:clocks/",
    "wasi:filesystem/",
    "wasi:http/",
    "wasi:io/",
    "wasi:random/",
    // Runtimes of languages import it without using it. No address is granted.
    "wasi:sockets/",
];

/// The interfaces that send requests.
const HTTP_CLIENT_INTERFACES: [&str; 3] = [
    "wasi:http/client@",
    "wasi:http/handler@",
    "wasi:http/outgoing-handler@",
];

/// The version of WASI that runs a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WasiVersion {
    P2,
    P3,
}

/// The imports and exports of a component that decide how it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ComponentInfo {
    pub(crate) wasi_version: WasiVersion,
    /// Whether it imports any interface of `wasi:http`.
    pub(crate) imports_http: bool,
    /// Whether it can send requests; a component that imports only the types of HTTP cannot.
    pub(crate) sends_requests: bool,
}

/// Converts the bytes to a component if necessary, and returns its imports and exports.
pub(crate) fn to_component(bytes: &[u8]) -> Result<(Cow<'_, [u8]>, ComponentInfo), LoadError> {
    let component = match detect_encoding(bytes)? {
        Encoding::Component => Cow::Borrowed(bytes),
        Encoding::CoreModule => Cow::Owned(adapt(bytes)?),
    };
    let surface = component_info(&component)?;
    Ok((component, surface))
}

/// What WebAssembly is.
pub(crate) enum Encoding {
    Component,
    /// A module, which is converted to a component.
    CoreModule,
}

/// The imports and exports of each component that a core module is converted to: those of the adapter.
pub(crate) const INFO_OF_ADAPTED: ComponentInfo = ComponentInfo {
    wasi_version: WasiVersion::P2,
    imports_http: false,
    sends_requests: false,
};

/// Returns the adapter and the version of the encoder, which decide what a core module is converted
/// to.
pub(crate) fn adapter() -> [&'static [u8]; 2] {
    [ADAPTER, ENCODER_VERSION.as_bytes()]
}

/// The version of `wit-component`.
const ENCODER_VERSION: &str = "0.254.2";

/// Detects the encoding from the first bytes.
pub(crate) fn detect_encoding(bytes: &[u8]) -> Result<Encoding, LoadError> {
    // Before anything is parsed.
    if bytes.len() > MAX_COMPONENT_BYTES {
        return Err(LoadError::TooLarge { bytes: bytes.len() });
    }
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(match bytes {
            [] => LoadError::Empty,
            // Compiled code of wasmtime (`.cwasm`) has this format, too.
            [0x7f, b'E', b'L', b'F', ..] => LoadError::MachineCode,
            [first, ..] if first.is_ascii_graphic() || first.is_ascii_whitespace() => {
                LoadError::Text
            }
            _ => LoadError::NotWasm,
        });
    };
    match rest.get(..4) {
        Some(CORE_MODULE) => Ok(Encoding::CoreModule),
        Some([_, _, layer @ ..]) if layer == COMPONENT_LAYER => Ok(Encoding::Component),
        _ => Err(LoadError::UnknownVersion),
    }
}

/// Wraps a core module in the WASI preview 1 adapter.
fn adapt(module: &[u8]) -> Result<Vec<u8>, LoadError> {
    let mut unknown = Vec::new();
    let mut has_start = false;
    for payload in Parser::new(0).parse_all(module) {
        match payload.map_err(invalid)? {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import.map_err(invalid)?;
                    // All are collected, so that an author sees them at once.
                    if import.module != PREVIEW1 {
                        unknown.push(format!("{} of {}", import.name, import.module));
                    }
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    has_start |= export.map_err(invalid)?.name == "_start";
                }
            }
            _ => {}
        }
    }
    if !unknown.is_empty() {
        return Err(LoadError::UnknownImports { names: unknown });
    }
    if !has_start {
        return Err(LoadError::NoEntryPoint);
    }
    let encoder = ComponentEncoder::default().validate(true).module(module);
    let encoded = encoder
        .and_then(|encoder| encoder.adapter(PREVIEW1, ADAPTER))
        .and_then(|mut encoder| encoder.encode());
    encoded.map_err(|error| LoadError::Invalid {
        reason: format!("{error:#}"),
    })
}

/// Returns the imports and exports of a component.
pub(crate) fn component_info(component: &[u8]) -> Result<ComponentInfo, LoadError> {
    let mut imports = Vec::new();
    let mut exports = Vec::new();
    let mut depth = 0usize;
    for payload in Parser::new(0).parse_all(component) {
        match payload.map_err(invalid)? {
            // Imports of nested parts are satisfied inside of the component, and exports of them
            // are not its own.
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    imports.push(import.map_err(invalid)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    exports.push(export.map_err(invalid)?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    // Reported by name and before compilation, which is expensive.
    let unknown: Vec<String> = imports
        .iter()
        .filter(|name| {
            !SUPPORTED_INTERFACES
                .iter()
                .any(|offered| name.starts_with(offered))
        })
        .cloned()
        .collect();
    if !unknown.is_empty() {
        return Err(LoadError::UnknownImports { names: unknown });
    }
    let knows_http = imports.iter().any(|name| name.starts_with("wasi:http/"));
    if knows_http && !cfg!(feature = "http") {
        return Err(LoadError::HttpDisabled);
    }
    let sends_requests = imports.iter().any(|name| {
        HTTP_CLIENT_INTERFACES
            .iter()
            .any(|sender| name.starts_with(sender))
    });
    Ok(ComponentInfo {
        wasi_version: wasi_version(&exports)?,
        imports_http: knows_http,
        sends_requests,
    })
}

/// A component of both versions is run with the older one, which is not experimental.
fn wasi_version(exports: &[String]) -> Result<WasiVersion, LoadError> {
    let runs = |prefix: &str| exports.iter().any(|name| name.starts_with(prefix));
    match (runs("wasi:cli/run@0.2."), runs("wasi:cli/run@0.3.")) {
        (true, _) => Ok(WasiVersion::P2),
        (false, true) if cfg!(feature = "wasi-p3") => Ok(WasiVersion::P3),
        (false, true) => Err(LoadError::WasiP3Disabled),
        (false, false) => Err(LoadError::NoEntryPoint),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` passes it")]
fn invalid(error: wasmparser::BinaryReaderError) -> LoadError {
    LoadError::Invalid {
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &[u8] = include_bytes!("../../../examples/skills/csv-check/wasm/skill.wasm");

    #[test]
    fn an_adapted_module_has_the_imports_and_exports_of_the_adapter() {
        let (component, info) = to_component(MODULE).unwrap();
        assert_eq!(info, INFO_OF_ADAPTED);
        assert_eq!(component_info(&component).unwrap(), info);
    }

    #[test]
    fn the_version_of_the_encoder_is_that_of_the_workspace() {
        let lock = include_str!("../../../Cargo.lock");
        let encoder = format!("name = \"wit-component\"\nversion = \"{ENCODER_VERSION}\"\n");
        assert!(lock.contains(&encoder));
    }
}
