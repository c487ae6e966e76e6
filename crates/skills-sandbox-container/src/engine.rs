//! What the container engine and the image are.

use std::collections::BTreeSet;
use std::path::Path;

use bollard::models::{ImageInspect, SystemInfo, SystemInfoCgroupVersionEnum, SystemVersion};
use skills_sandbox::SandboxError;

use crate::ImageReference;

/// The name of this backend in errors and reports.
pub(crate) const BACKEND: &str = "container";

/// The product that serves the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Product {
    Docker,
    Podman,
}

/// Facts about an engine that decide how a container is created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EngineFacts {
    pub(crate) product: Product,
    /// The name and version, for reports.
    pub(crate) version: String,
    pub(crate) is_rootless: bool,
    pub(crate) runtimes: BTreeSet<String>,
    pub(crate) default_runtime: String,
    has_seccomp: bool,
    has_limits: bool,
}

impl EngineFacts {
    /// Takes the answers of the engine. `socket_owner` is the user that the socket belongs to.
    pub(crate) fn new(version: &SystemVersion, info: &SystemInfo, socket_owner: u32) -> Self {
        let engine = version.components.iter().flatten().next();
        let product = match engine {
            Some(component) if component.name.contains("Podman") => Product::Podman,
            _ => Product::Docker,
        };
        let name = match product {
            Product::Docker => "Docker",
            Product::Podman => "Podman",
        };
        let options: Vec<&str> = info
            .security_options
            .iter()
            .flatten()
            .map(String::as_str)
            .collect();
        let has = |wanted: &str| {
            options.iter().any(|option| {
                option
                    .split(',')
                    .any(|part| part == format!("name={wanted}"))
            })
        };
        let is_unconfined = options
            .iter()
            .any(|option| option.contains("name=seccomp") && option.contains("unconfined"));
        let runtimes = info.runtimes.iter().flatten();
        // Podman does not report it in each version.
        let is_rootless = has("rootless") || (product == Product::Podman && socket_owner != 0);
        // Such engines accept limits, and ignore them.
        let ignores_limits =
            is_rootless && info.cgroup_version == Some(SystemInfoCgroupVersionEnum::_1);
        Self {
            product,
            version: format!("{name} {}", version.version.as_deref().unwrap_or("unknown")),
            is_rootless,
            runtimes: runtimes.map(|(name, _)| name.clone()).collect(),
            default_runtime: info.default_runtime.clone().unwrap_or_default(),
            has_seccomp: has("seccomp") && !is_unconfined,
            // Podman does not report the limit of processes.
            has_limits: info.memory_limit == Some(true)
                && info.pids_limit != Some(false)
                && !ignores_limits,
        }
    }

    #[cfg(test)]
    pub(crate) fn for_tests(product: Product, is_rootless: bool) -> Self {
        Self {
            product,
            version: "Engine 1.2".to_owned(),
            is_rootless,
            runtimes: BTreeSet::from(["runc".to_owned()]),
            default_runtime: "runc".to_owned(),
            has_seccomp: true,
            has_limits: true,
        }
    }

    /// Checks that the engine enforces what a run relies on, and knows the runtime.
    pub(crate) fn check(&self, runtime: Option<&str>) -> Result<(), SandboxError> {
        if !self.has_seccomp {
            return Err(SandboxError::unavailable(
                "the system call filter of the container engine",
                format!("{} runs containers without seccomp", self.version),
                "enable the default seccomp profile of the engine",
            ));
        }
        if !self.has_limits {
            return Err(SandboxError::unavailable(
                "the memory and process limits of the container engine",
                format!("{} does not enforce them", self.version),
                "delegate the cgroup controllers `memory` and `pids` to the engine, or run it as root",
            ));
        }
        match runtime {
            Some(runtime) if !self.runtimes.contains(runtime) => Err(SandboxError::unavailable(
                "the container runtime",
                format!(
                    "{} has no runtime `{}`, only {}",
                    self.version,
                    runtime.escape_debug(),
                    self.runtimes.iter().cloned().collect::<Vec<_>>().join(", ")
                ),
                "configure the runtime in the engine, or select another one",
            )),
            _ => Ok(()),
        }
    }
}

/// Facts about an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImageFacts {
    /// The identifier by which a container is created: `sha256:` and digits.
    pub(crate) id: String,
    /// As engines name it, such as `amd64`.
    pub(crate) architecture: String,
    /// The directories in which programs are searched.
    pub(crate) search_path: Vec<String>,
    /// The directories for which the engine would create volumes on the disk of the host.
    pub(crate) volumes: Vec<String>,
}

/// The search path of engines for images that set none.
const DEFAULT_SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

impl ImageFacts {
    /// Checks that an image is the one of the reference.
    pub(crate) fn new(
        image: &ImageInspect,
        reference: &ImageReference,
    ) -> Result<Self, SandboxError> {
        let found = image.id.clone().unwrap_or_default();
        let id = match found.strip_prefix("sha256:") {
            Some(_) => found,
            None => format!("sha256:{found}"),
        };
        let is_named = image
            .repo_digests
            .iter()
            .flatten()
            .any(|known| known.ends_with(reference.digest()));
        if id != reference.digest() && !is_named {
            return Err(SandboxError::rejected(
                BACKEND,
                format!("the engine returned the image `{id}` for `{reference}`"),
            ));
        }
        let environment = image.config.as_ref().and_then(|config| config.env.as_ref());
        let search_path = environment
            .into_iter()
            .flatten()
            .find_map(|variable| variable.strip_prefix("PATH="))
            .unwrap_or(DEFAULT_SEARCH_PATH);
        let volumes = image
            .config
            .as_ref()
            .and_then(|config| config.volumes.as_ref());
        let volumes = volumes.into_iter().flatten();
        Ok(Self {
            id,
            architecture: image.architecture.clone().unwrap_or_default(),
            search_path: search_path
                .split(':')
                .filter(|directory| Path::new(directory).is_absolute())
                .map(str::to_owned)
                .collect(),
            volumes: volumes.cloned().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use bollard::models::{ImageConfig, SystemVersionComponents};

    use super::*;

    fn facts(product: &str, options: &[&str]) -> EngineFacts {
        let version = SystemVersion {
            version: Some("1.2".to_owned()),
            components: Some(vec![SystemVersionComponents {
                name: product.to_owned(),
                ..Default::default()
            }]),
            ..Default::default()
        };
        let info = SystemInfo {
            security_options: Some(options.iter().map(|option| (*option).to_owned()).collect()),
            memory_limit: Some(true),
            runtimes: Some([("runc".to_owned(), Default::default())].into()),
            ..Default::default()
        };
        EngineFacts::new(&version, &info, 0)
    }

    #[test]
    fn engines_without_a_filter_or_limits_are_rejected() {
        let podman = facts(
            "Podman Engine",
            &["name=seccomp,profile=default", "name=rootless"],
        );
        assert_eq!(
            (podman.product, podman.is_rootless),
            (Product::Podman, true)
        );
        assert!(podman.check(Some("runc")).is_ok());
        assert!(podman.check(Some("runsc")).is_err());
        let docker = facts("Engine", &["name=seccomp,profile=builtin"]);
        assert_eq!(
            (docker.product, docker.is_rootless),
            (Product::Docker, false)
        );
        for options in [&["name=apparmor"][..], &["name=seccomp,profile=unconfined"]] {
            assert!(facts("Engine", options).check(None).is_err(), "{options:?}");
        }
        let unlimited = EngineFacts {
            has_limits: false,
            ..docker
        };
        assert!(unlimited.check(None).is_err());
    }

    #[test]
    fn an_engine_without_root_that_ignores_limits_is_rejected() {
        let version = SystemVersion {
            components: Some(vec![SystemVersionComponents {
                name: "Podman Engine".to_owned(),
                ..Default::default()
            }]),
            ..Default::default()
        };
        let mut info = SystemInfo {
            security_options: Some(vec!["name=seccomp,profile=default".to_owned()]),
            memory_limit: Some(true),
            cgroup_version: Some(SystemInfoCgroupVersionEnum::_1),
            ..Default::default()
        };
        let check = |info: &SystemInfo, owner| EngineFacts::new(&version, info, owner).check(None);
        assert!(check(&info, 0).is_ok());
        let error = check(&info, 1000).unwrap_err();
        assert!(
            error.to_string().contains("does not enforce them"),
            "{error}"
        );
        info.cgroup_version = Some(SystemInfoCgroupVersionEnum::_2);
        assert!(check(&info, 1000).is_ok());
        assert!(EngineFacts::new(&version, &info, 1000).is_rootless);
    }

    #[test]
    fn an_image_must_have_the_digest() {
        let digest = format!("sha256:{}", "ab".repeat(32));
        let reference: ImageReference = format!("python@{digest}").parse().unwrap();
        let image = |id: &str, named: &str| ImageInspect {
            id: Some(id.to_owned()),
            repo_digests: Some(vec![named.to_owned()]),
            config: Some(ImageConfig {
                env: Some(vec!["PATH=/usr/local/bin:bin:/bin".to_owned()]),
                ..Default::default()
            }),
            ..Default::default()
        };
        let found = ImageFacts::new(&image("cd", &format!("python@{digest}")), &reference);
        assert_eq!(found.unwrap().search_path, ["/usr/local/bin", "/bin"]);
        assert!(ImageFacts::new(&image(&digest, ""), &reference).is_ok());
        assert!(ImageFacts::new(&image("cd", "python@sha256:00"), &reference).is_err());
    }
}
