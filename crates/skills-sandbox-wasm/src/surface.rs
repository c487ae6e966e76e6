//! What a component or module asks for and offers, read without compiling it.

use std::borrow::Cow;

use wasmparser::{Parser, Payload};
use wit_component::ComponentEncoder;

use crate::{LoadError, MAX_COMPONENT_BYTES};

const MAGIC: &[u8] = b"\0asm";
/// The fifth to eighth byte: version and layer.
const CORE_MODULE: &[u8] = &[1, 0, 0, 0];
const COMPONENT_LAYER: &[u8] = &[1, 0];
/// The only module that a core module may import from: the first generation of WASI.
const PREVIEW1: &str = "wasi_snapshot_preview1";
/// The interfaces that may be asked for.
const OFFERED: [&str; 7] = [
    "wasi:cli/",
    "wasi:clocks/",
    "wasi:filesystem/",
    "wasi:http/",
    "wasi:io/",
    "wasi:random/",
    "wasi:sockets/",
];

/// The interfaces that send requests.
const SENDERS: [&str; 3] = [
    "wasi:http/client@",
    "wasi:http/handler@",
    "wasi:http/outgoing-handler@",
];

/// The generation of WASI by which a component is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    Preview2,
    Preview3,
}

/// What a component asks for and offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Surface {
    pub(crate) generation: Generation,
    /// Whether it asks for anything of HTTP.
    pub(crate) knows_http: bool,
    /// Whether it can send requests; one that only knows the types of HTTP cannot.
    pub(crate) sends_requests: bool,
}

/// Makes a component of the bytes, if it is none yet, and says what it asks for.
pub(crate) fn component(bytes: &[u8]) -> Result<(Cow<'_, [u8]>, Surface), LoadError> {
    let component = match sniff(bytes)? {
        Form::Component => Cow::Borrowed(bytes),
        Form::CoreModule => Cow::Owned(adapt(bytes)?),
    };
    let surface = surface(&component)?;
    Ok((component, surface))
}

/// Says whether the bytes begin as a component does, which needs no adapter.
pub(crate) fn is_component(bytes: &[u8]) -> bool {
    matches!(sniff(bytes), Ok(Form::Component))
}

enum Form {
    Component,
    CoreModule,
}

/// Says what the bytes are by how they begin.
fn sniff(bytes: &[u8]) -> Result<Form, LoadError> {
    if bytes.len() > MAX_COMPONENT_BYTES {
        return Err(LoadError::TooLarge { bytes: bytes.len() });
    }
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(match bytes {
            [] => LoadError::Empty,
            [0x7f, b'E', b'L', b'F', ..] => LoadError::MachineCode,
            [first, ..] if first.is_ascii_graphic() || first.is_ascii_whitespace() => {
                LoadError::Text
            }
            _ => LoadError::Foreign,
        });
    };
    match rest.get(..4) {
        Some(CORE_MODULE) => Ok(Form::CoreModule),
        Some([_, _, layer @ ..]) if layer == COMPONENT_LAYER => Ok(Form::Component),
        _ => Err(LoadError::UnknownVersion),
    }
}

/// Puts the adapter of the first generation of WASI around a core module.
fn adapt(module: &[u8]) -> Result<Vec<u8>, LoadError> {
    let (mut unknown, mut has_start) = (Vec::new(), false);
    for payload in Parser::new(0).parse_all(module) {
        match payload.map_err(invalid)? {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import.map_err(invalid)?;
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
        return Err(LoadError::NoRun);
    }
    let adapter = wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER;
    let encoder = ComponentEncoder::default().validate(true).module(module);
    let encoded = encoder
        .and_then(|encoder| encoder.adapter(PREVIEW1, adapter))
        .and_then(|mut encoder| encoder.encode());
    encoded.map_err(|error| LoadError::Invalid {
        reason: format!("{error:#}"),
    })
}

fn surface(component: &[u8]) -> Result<Surface, LoadError> {
    let (mut imports, mut exports, mut depth) = (Vec::new(), Vec::new(), 0usize);
    for payload in Parser::new(0).parse_all(component) {
        match payload.map_err(invalid)? {
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
    let unknown: Vec<String> = imports
        .iter()
        .filter(|name| !OFFERED.iter().any(|offered| name.starts_with(offered)))
        .cloned()
        .collect();
    if !unknown.is_empty() {
        return Err(LoadError::UnknownImports { names: unknown });
    }
    let knows_http = imports.iter().any(|name| name.starts_with("wasi:http/"));
    if knows_http && !cfg!(feature = "http") {
        return Err(LoadError::WithoutHttp);
    }
    let sends_requests = imports
        .iter()
        .any(|name| SENDERS.iter().any(|sender| name.starts_with(sender)));
    Ok(Surface {
        generation: generation(&exports)?,
        knows_http,
        sends_requests,
    })
}

/// A component of both generations is run by the older one, which is not experimental.
fn generation(exports: &[String]) -> Result<Generation, LoadError> {
    let runs = |prefix: &str| exports.iter().any(|name| name.starts_with(prefix));
    match (runs("wasi:cli/run@0.2."), runs("wasi:cli/run@0.3.")) {
        (true, _) => Ok(Generation::Preview2),
        (false, true) if cfg!(feature = "wasi-p3") => Ok(Generation::Preview3),
        (false, true) => Err(LoadError::WithoutPreview3),
        (false, false) => Err(LoadError::NoRun),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` passes it")]
fn invalid(error: wasmparser::BinaryReaderError) -> LoadError {
    LoadError::Invalid {
        reason: error.to_string(),
    }
}
