//! Selection of the sandbox backend for a program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_egress::UpstreamProxies;
#[cfg(any(
    feature = "wasm",
    all(feature = "native", any(target_os = "linux", target_os = "macos"))
))]
use skills_egress::{Connector, SystemConnector};
use skills_library::{Finders, ProgramSearch, find_interpreter, with_interpreters};
use skills_policy::SandboxChoice;
use skills_sandbox::{EnforcementReport, Sandbox, SandboxError, ScriptType};

use crate::ExecutionMode;

/// Configuration of the built-in WebAssembly backend.
#[cfg(feature = "wasm")]
#[derive(Clone, Default)]
pub struct WasmConfig {
    /// The cache of compiled code on disk.
    pub cache: Option<skills_sandbox_wasm::CodeCache>,
    /// The command that compiles modules in a process of its own.
    pub compile_command: Option<skills_sandbox_wasm::CompileCommand>,
    /// What programs see of time and chance.
    pub profile: skills_sandbox_wasm::WasmProfile,
}
/// Without the WebAssembly backend there is nothing to configure.
#[cfg(not(feature = "wasm"))]
#[derive(Clone, Default)]
pub struct WasmConfig {}

/// How the built-in backends reach hosts.
#[derive(Debug, Clone, Default)]
pub struct NetworkConfig {
    /// The proxies of the user.
    pub upstream: UpstreamProxies,
    /// The file with the certificate authorities of the user; `None` for those of the system, and
    /// for WebAssembly those of browsers.
    pub certificates: Option<PathBuf>,
}

/// The backends of a runtime.
#[derive(Clone, Default)]
pub struct Backends {
    /// For WebAssembly components.
    pub wasm: Option<Arc<dyn Sandbox>>,
    /// For scripts and commands.
    pub native: Option<Arc<dyn Sandbox>>,
    /// For scripts and commands in containers, where that is chosen.
    pub container: Option<Arc<dyn Sandbox>>,
    /// The preferred sandbox.
    pub preferred: SandboxChoice,
    /// The preferred sandboxes of skills, by name.
    pub preferred_by_skill: BTreeMap<String, SandboxChoice>,
    /// Backends for scripts of skills that have interpreters of their own, by skill name.
    by_skill: BTreeMap<String, Arc<dyn Sandbox>>,
    finders: Finders,
}

impl Backends {
    /// Fills in the default backends of this build and this system.
    #[must_use]
    pub fn or_default(
        self,
        scratch: &Path,
        finders: Finders,
        config: WasmConfig,
        network: &NetworkConfig,
    ) -> Self {
        let wasm = self.wasm.or_else(|| wasm(scratch, config, network));
        // A backend of the host application finds its interpreters itself.
        if self.native.is_some() {
            return Self { wasm, ..self };
        }
        let by_skill = finders.by_skill.iter();
        let native = |finder| native(scratch, finder, network);
        Self {
            wasm,
            native: native(&finders.default),
            by_skill: by_skill
                .filter_map(|(skill, finder)| Some((skill.clone(), native(finder)?)))
                .collect(),
            finders,
            ..self
        }
    }

    /// Returns the interpreter that the built-in backend uses for scripts of a type of this skill, if
    /// these are chosen.
    pub(crate) fn interpreter(
        &self,
        skill: &str,
        script_type: ScriptType,
        chosen: &BTreeMap<ScriptType, PathBuf>,
    ) -> Option<PathBuf> {
        self.native.as_ref()?;
        let finder = with_interpreters(self.finders.for_skill(skill), chosen);
        find_interpreter(&finder, script_type)
    }

    /// Probes the backends for scripts, for WebAssembly and, if there is one, for containers, and returns
    /// the restrictions that each would enforce on this machine.
    pub(crate) fn probe(&self) -> Vec<(&'static str, Result<EnforcementReport, SandboxError>)> {
        let native = self.native.as_ref().ok_or_else(native_unavailable);
        let wasm = self.wasm.as_ref().ok_or_else(wasm_unavailable);
        let container = self.container.iter();
        [
            ("scripts", native.and_then(|backend| backend.probe())),
            ("wasm", wasm.and_then(|backend| backend.probe())),
        ]
        .into_iter()
        .chain(container.map(|backend| ("containers", backend.probe())))
        .collect()
    }

    /// Returns the preferred sandbox for the programs of a skill.
    pub(crate) fn preferred(&self, skill: &str) -> SandboxChoice {
        let of_skill = self.preferred_by_skill.get(skill);
        of_skill.copied().unwrap_or(self.preferred)
    }

    /// Returns the backend for a program of a skill, which can have interpreters of its own. A
    /// program without its backend fails and never runs in a weaker one.
    pub(crate) fn for_run(
        &self,
        skill: &str,
        mode: &ExecutionMode,
        sandbox: SandboxChoice,
    ) -> Result<&Arc<dyn Sandbox>, SandboxError> {
        match (sandbox, mode, self.by_skill.get(skill)) {
            (SandboxChoice::Container, ..) => self.container_for(mode),
            (SandboxChoice::Native, ExecutionMode::Wasm { .. }, _) => Err(wrong_sandbox(
                "native",
                "it runs scripts and commands, and this is a WebAssembly module",
            )),
            (
                SandboxChoice::Wasm,
                ExecutionMode::Native { .. } | ExecutionMode::Command { .. },
                _,
            ) => Err(wrong_sandbox(
                "wasm",
                "it runs WebAssembly modules, and this is a script or a command",
            )),
            (_, ExecutionMode::Native { .. }, Some(backend)) => Ok(backend),
            _ => self.for_mode(mode),
        }
    }

    fn container_for(&self, mode: &ExecutionMode) -> Result<&Arc<dyn Sandbox>, SandboxError> {
        if matches!(mode, ExecutionMode::Wasm { .. }) {
            return Err(wrong_sandbox(
                "container",
                "it runs scripts and commands, and this is a WebAssembly module",
            ));
        }
        self.container.as_ref().ok_or_else(container_unavailable)
    }

    /// Returns the backend for a program in the sandbox of its kind.
    pub(crate) fn for_mode(&self, mode: &ExecutionMode) -> Result<&Arc<dyn Sandbox>, SandboxError> {
        match mode {
            ExecutionMode::Wasm { .. } => self.wasm.as_ref().ok_or_else(wasm_unavailable),
            ExecutionMode::Native { .. } | ExecutionMode::Command { .. } => {
                self.native.as_ref().ok_or_else(native_unavailable)
            }
        }
    }
}

#[cfg(any(
    feature = "wasm",
    all(feature = "native", any(target_os = "linux", target_os = "macos"))
))]
impl NetworkConfig {
    fn connector(&self) -> Arc<dyn Connector> {
        Arc::new(SystemConnector::through(self.upstream.clone()))
    }
}

fn wrong_sandbox(sandbox: &'static str, reason: &'static str) -> SandboxError {
    SandboxError::rejected(sandbox, reason)
}

fn container_unavailable() -> SandboxError {
    SandboxError::unavailable(
        "the container backend",
        "no engine and image are configured",
        "set `container-image` to the image of the containers, or select another sandbox",
    )
}

#[cfg(feature = "wasm")]
fn wasm(scratch: &Path, config: WasmConfig, network: &NetworkConfig) -> Option<Arc<dyn Sandbox>> {
    use skills_sandbox_wasm::WasmSandbox;
    let sandbox = WasmSandbox::new(scratch)
        .profile(config.profile)
        .connector(network.connector());
    let certificates = network.certificates.iter();
    let sandbox = certificates.fold(sandbox, WasmSandbox::certificate_file);
    let sandbox = config
        .cache
        .into_iter()
        .fold(sandbox, WasmSandbox::code_cache);
    Some(Arc::new(
        config
            .compile_command
            .into_iter()
            .fold(sandbox, WasmSandbox::compile_command),
    ))
}

#[cfg(not(feature = "wasm"))]
fn wasm(
    _scratch: &Path,
    _config: WasmConfig,
    _network: &NetworkConfig,
) -> Option<Arc<dyn Sandbox>> {
    None
}

#[cfg(all(feature = "native", target_os = "linux"))]
fn native(
    scratch: &Path,
    finder: &ProgramSearch,
    network: &NetworkConfig,
) -> Option<Arc<dyn Sandbox>> {
    Some(Arc::new(
        skills_sandbox_linux::LinuxSandbox::new(scratch)
            .program_finder(finder.clone())
            .connector(network.connector()),
    ))
}

#[cfg(all(feature = "native", target_os = "macos"))]
fn native(
    scratch: &Path,
    finder: &ProgramSearch,
    network: &NetworkConfig,
) -> Option<Arc<dyn Sandbox>> {
    Some(Arc::new(
        skills_sandbox_seatbelt::SeatbeltSandbox::new(scratch)
            .program_finder(finder.clone())
            .connector(network.connector()),
    ))
}

#[cfg(not(all(feature = "native", any(target_os = "linux", target_os = "macos"))))]
fn native(
    _scratch: &Path,
    _finder: &ProgramSearch,
    _network: &NetworkConfig,
) -> Option<Arc<dyn Sandbox>> {
    None
}

fn wasm_unavailable() -> SandboxError {
    SandboxError::unavailable(
        "the WebAssembly backend",
        "this program was built without support for it",
        "enable the feature `wasm` of skills-runtime",
    )
}

fn native_unavailable() -> SandboxError {
    // The feature helps only where a backend exists.
    if cfg!(any(target_os = "linux", target_os = "macos")) {
        let reason = "this program was built without support for it";
        return SandboxError::unavailable(
            "the backend for scripts",
            reason,
            "enable the feature `native` of skills-runtime",
        );
    }
    SandboxError::unsupported_platform(std::env::consts::OS)
}
