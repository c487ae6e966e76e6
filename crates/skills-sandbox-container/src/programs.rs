//! Search for programs in an image, without running anything of it.

use bollard::Docker;
use bollard::errors::Error;
use bollard::query_parameters::ContainerArchiveInfoOptionsBuilder;
use skills_sandbox::SandboxError;

use crate::connect::setup_error;
use crate::engine::ImageFacts;
use crate::plan::WantedProgram;

/// Any execute permission, in a mode.
const EXECUTE_BITS: u32 = 0o111;

/// Returns the path of a program in a container that was created from the image.
///
/// # Errors
/// Fails if the image has no program with one of the names.
pub(crate) async fn find_program(
    client: &Docker,
    container: &str,
    image: &ImageFacts,
    wanted: &WantedProgram,
) -> Result<String, SandboxError> {
    let names = match wanted {
        WantedProgram::Path(path) => return Ok(path.display().to_string()),
        WantedProgram::Named(names) => names,
    };
    for name in names {
        for directory in &image.search_path {
            let path = format!("{directory}/{name}");
            if is_program(client, container, &path).await? {
                return Ok(path);
            }
        }
    }
    let directories = format!("{} of the image", image.search_path.join(", "));
    let name = names.first().map_or("", String::as_str);
    Err(SandboxError::program_not_found(name, &directories))
}

/// Returns true if an executable file or a symlink is at a path of a container.
async fn is_program(client: &Docker, container: &str, path: &str) -> Result<bool, SandboxError> {
    let options = ContainerArchiveInfoOptionsBuilder::default()
        .path(path)
        .build();
    match client
        .get_container_archive_info(container, Some(options))
        .await
    {
        Ok(found) => Ok(!found.link_target.is_empty() || found.file_mode & EXECUTE_BITS != 0),
        Err(Error::DockerResponseServerError {
            status_code: 404, ..
        }) => Ok(false),
        Err(error) => Err(setup_error("searching a program in the image", error)),
    }
}
