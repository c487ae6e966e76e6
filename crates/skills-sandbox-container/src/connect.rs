//! Connections to the engine.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use bollard::errors::Error;
use bollard::{API_DEFAULT_VERSION, Docker};
use skills_sandbox::SandboxError;

use crate::ImageReference;
use crate::engine::{EngineFacts, ImageFacts};
use crate::launcher;

/// How long a request may take, in seconds, without the output of a program.
const TIMEOUT_SECONDS: u64 = 60;

/// What to do without an engine.
const ENGINE_HINT: &str =
    "start Docker or `podman system service`, and set its socket (`container-socket`)";

/// A connection, with the facts that do not change while the engine runs.
#[derive(Clone)]
pub(crate) struct Engine {
    pub(crate) client: Docker,
    pub(crate) facts: EngineFacts,
    pub(crate) image: ImageFacts,
}

impl Engine {
    /// Connects to the socket, and checks engine and image.
    pub(crate) async fn connect(
        socket: &Path,
        image: &ImageReference,
        runtime: Option<&str>,
    ) -> Result<Self, SandboxError> {
        let path = socket.to_string_lossy();
        let client = Docker::connect_with_unix(&path, TIMEOUT_SECONDS, API_DEFAULT_VERSION)
            .map_err(|error| unreachable_error(socket, &error))?;
        // Engines reject versions that are newer than their own.
        let client = client
            .negotiate_version()
            .await
            .map_err(|error| unreachable_error(socket, &error))?;
        let version = client
            .version()
            .await
            .map_err(|error| unreachable_error(socket, &error))?;
        let info = client
            .info()
            .await
            .map_err(|error| unreachable_error(socket, &error))?;
        let facts = EngineFacts::new(&version, &info, owner_of(socket));
        facts.check(runtime)?;
        let image = find_image(&client, image).await?;
        if !launcher::exists_for(&image.architecture) {
            return Err(SandboxError::unavailable(
                "the launcher of programs in containers",
                format!("the image is for the architecture `{}`", image.architecture),
                "use an image for the architecture of this host, x86-64 or AArch64",
            ));
        }
        Ok(Self {
            client,
            facts,
            image,
        })
    }
}

/// Returns the user that a socket belongs to. One that was just used exists.
fn owner_of(socket: &Path) -> u32 {
    let metadata = socket.metadata();
    metadata.map_or(0, |metadata| metadata.uid())
}

async fn find_image(
    client: &Docker,
    reference: &ImageReference,
) -> Result<ImageFacts, SandboxError> {
    match client.inspect_image(reference.as_str()).await {
        Ok(image) => ImageFacts::new(&image, reference),
        Err(Error::DockerResponseServerError {
            status_code: 404, ..
        }) => Err(SandboxError::unavailable(
            "the container image",
            format!("the engine has no image `{reference}`"),
            "pull the image with the engine; it is never pulled by a run",
        )),
        Err(error) => Err(setup_error("inspecting the image", error)),
    }
}

fn unreachable_error(socket: &Path, error: &Error) -> SandboxError {
    SandboxError::unavailable(
        "the container engine",
        format!("cannot use {}: {error}", socket.display()),
        ENGINE_HINT,
    )
}

/// Creates the error of a request that failed before the program was started.
pub(crate) fn setup_error(step: &'static str, error: Error) -> SandboxError {
    SandboxError::setup(step, io::Error::other(error))
}
