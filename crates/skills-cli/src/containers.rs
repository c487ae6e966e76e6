//! The sandbox of programs, and containers.

use skills_runtime::{Builder, SandboxChoice};

use crate::process_environment::Environment;
use crate::settings::SandboxSettings;

/// The sandboxes by the words of `--sandbox`.
pub(crate) const SANDBOXES: [(&str, &str, SandboxChoice); 4] = [
    (
        "auto",
        "Of WebAssembly for modules, else of the operating system",
        SandboxChoice::Auto,
    ),
    (
        "native",
        "Of the operating system, for scripts and commands",
        SandboxChoice::Native,
    ),
    ("wasm", "Of WebAssembly, for modules", SandboxChoice::Wasm),
    (
        "container",
        "A container of Docker or Podman, for scripts and commands",
        SandboxChoice::Container,
    ),
];

/// Configures the sandbox of the settings, and the backend for containers.
pub(crate) fn configure(
    builder: Builder,
    settings: &SandboxSettings,
    #[cfg_attr(
        not(all(feature = "container", target_os = "linux")),
        expect(unused_variables, reason = "to find the engine")
    )]
    environment: &Environment,
) -> anyhow::Result<Builder> {
    let builder = builder.sandbox(settings.choice);
    let builder = settings
        .of_skills
        .iter()
        .fold(builder, |builder, (skill, choice)| {
            builder.skill_sandbox(skill, *choice)
        });
    #[cfg(all(feature = "container", target_os = "linux"))]
    let builder = engine::with_containers(builder, settings, environment)?;
    Ok(builder)
}

#[cfg(all(feature = "container", target_os = "linux"))]
mod engine {
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::time::Duration;

    use skills_runtime::{Builder, ContainerSandbox, SystemConnector};

    use crate::error::CommandError;
    use crate::process_environment::Environment;
    use crate::settings::{ENGINE_VARIABLE, SandboxSettings};

    /// Where Podman of root and Docker listen.
    const SYSTEM_SOCKETS: [&str; 2] = ["/run/podman/podman.sock", "/var/run/docker.sock"];

    /// Adds the backend, if the settings name an image.
    pub(super) fn with_containers(
        builder: Builder,
        settings: &SandboxSettings,
        environment: &Environment,
    ) -> anyhow::Result<Builder> {
        let Some(image) = &settings.image else {
            return Ok(builder);
        };
        let image = image
            .parse()
            .map_err(|error| CommandError::input(format!("{error}")))?;
        let socket = settings.socket.clone();
        let socket = socket.unwrap_or_else(|| find_socket(environment));
        let sandbox = ContainerSandbox::new(socket, image, &environment.temp_dir().path)
            .connector(Arc::new(SystemConnector::through(
                environment.upstream_proxies().0,
            )))
            .keep_warm(Duration::from_secs(settings.keep_seconds));
        let sandbox = settings
            .runtime
            .iter()
            .fold(sandbox, |sandbox, name| sandbox.runtime(name));
        Ok(builder.container_sandbox(Arc::new(sandbox)))
    }

    /// Returns the first socket that exists; the last one if there is none, which a run reports.
    fn find_socket(environment: &Environment) -> PathBuf {
        let of_variable = environment
            .variable(ENGINE_VARIABLE)
            .and_then(|value| value.to_str()?.strip_prefix("unix://"));
        let of_user = environment
            .path("XDG_RUNTIME_DIR")
            .map(|directory| directory.join("podman/podman.sock"));
        let mut all: Vec<PathBuf> = of_variable.map(PathBuf::from).into_iter().collect();
        all.extend(of_user);
        all.extend(SYSTEM_SOCKETS.map(PathBuf::from));
        let found = all.iter().find(|socket| socket.exists()).cloned();
        found.unwrap_or_else(|| SYSTEM_SOCKETS[1].into())
    }
}
