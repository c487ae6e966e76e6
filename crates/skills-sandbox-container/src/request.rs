//! The request that creates a container, as plain data.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use bollard::models::{
    ContainerCreateBody, HealthConfig, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig,
    Mount, MountBindOptions, MountBindOptionsPropagationEnum, MountType, ResourcesUlimits,
};
use skills_policy::ResourceLimits;
use skills_process::KeyFiles;

use crate::engine::{EngineFacts, Product};
use crate::launcher;
use crate::mounts::ContainerMount;

/// The fewest processes that a container may have: the runtime itself needs some to start a program.
const MIN_PROCESSES: u64 = 32;
/// Size of the shared memory of the processes of a run, in bytes.
const SHARED_MEMORY_BYTES: i64 = 64 << 20;
/// A processor, in billionths.
const NANO_CPUS_OF_ONE: i64 = 1_000_000_000;
/// Processes of the same user in all containers. Engines set a value that some hosts reject.
const USER_PROCESSES: i64 = 16_384;
/// Pending signals and timers.
const PENDING_SIGNALS: i64 = 1_024;
/// Variables by which engines pass on their own proxy, which can contain a password.
const PROXY_VARIABLES: [&str; 8] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

/// Everything that decides a container. Equal requests, up to the name, create equal containers.
///
/// Values of variables are not in it: they are in the request that starts the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContainerRequest {
    /// The identifier of the image.
    pub(crate) image: String,
    /// The runtime, or `None` for that of the engine.
    pub(crate) runtime: Option<String>,
    pub(crate) user: ContainerUser,
    pub(crate) mounts: Vec<ContainerMount>,
    /// The files that some mounts cover. The kernel removes the mount over a file that is replaced, so
    /// a kept container does not cover others.
    pub(crate) keys: KeyFiles,
    /// The path of the scratch space.
    pub(crate) scratch: PathBuf,
    /// Directories that the engine would otherwise make writable on the disk of the host, or without a
    /// limit.
    pub(crate) volumes: Vec<PathBuf>,
    pub(crate) limits: ResourceLimits,
    /// The first process, which waits until it is killed, or for so many seconds.
    pub(crate) waiting_program: String,
    pub(crate) max_seconds: u64,
    pub(crate) labels: BTreeMap<String, String>,
}

/// The user of the processes in a container: outside, always the one of the host process, so that
/// written files belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContainerUser {
    /// User and group inside.
    pub(crate) ids: (u32, u32),
    /// Whether Podman maps the user to the same number inside.
    pub(crate) keeps_id: bool,
}

impl ContainerUser {
    pub(crate) fn new(facts: &EngineFacts, (user, group): (u32, u32)) -> Self {
        match (facts.product, facts.is_rootless) {
            (_, false) => Self {
                ids: (user, group),
                keeps_id: false,
            },
            (Product::Podman, true) => Self {
                ids: (user, group),
                keeps_id: user != 0,
            },
            // Its root is the user of the engine.
            (Product::Docker, true) => Self {
                ids: (0, 0),
                keeps_id: false,
            },
        }
    }
}

impl ContainerRequest {
    /// Returns the maximum number of processes and threads, with the waiting one.
    pub(crate) fn max_processes(&self) -> u64 {
        self.limits.processes.saturating_add(1).max(MIN_PROCESSES)
    }

    /// Returns the body of the request to the engine. `input` is a directory of this container only, so
    /// it is not part of the value.
    pub(crate) fn body(&self, input: &Path) -> ContainerCreateBody {
        let (user, group) = self.user.ids;
        ContainerCreateBody {
            image: Some(self.image.clone()),
            user: Some(format!("{user}:{group}")),
            hostname: Some("sandbox".to_owned()),
            // The image's own program never runs.
            entrypoint: Some(vec![self.waiting_program.clone()]),
            cmd: Some(vec![self.max_seconds.to_string()]),
            env: Some(PROXY_VARIABLES.map(|name| format!("{name}=")).into()),
            working_dir: Some("/".to_owned()),
            labels: Some(self.labels.clone().into_iter().collect()),
            stop_timeout: Some(1),
            // A program of the image would run beside that of the run.
            healthcheck: Some(HealthConfig {
                test: Some(vec!["NONE".to_owned()]),
                ..Default::default()
            }),
            host_config: Some(self.host_config(input)),
            ..Default::default()
        }
    }

    fn host_config(&self, input: &Path) -> HostConfig {
        let input = ContainerMount {
            source: input.to_owned(),
            target: Path::new(launcher::DIRECTORY).join(launcher::INPUT),
            is_writable: false,
        };
        let memory = to_i64(self.limits.memory_bytes);
        HostConfig {
            network_mode: Some("none".to_owned()),
            readonly_rootfs: Some(true),
            tmpfs: Some(self.scratch_mounts()),
            mounts: Some(self.mounts.iter().chain([&input]).map(bind_mount).collect()),
            cap_drop: Some(vec!["ALL".to_owned()]),
            privileged: Some(false),
            security_opt: Some(vec!["no-new-privileges".to_owned()]),
            userns_mode: self.user.keeps_id.then(|| "keep-id".to_owned()),
            cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
            ipc_mode: Some("private".to_owned()),
            shm_size: Some(SHARED_MEMORY_BYTES.min(memory)),
            pids_limit: Some(to_i64(self.max_processes())),
            memory: Some(memory),
            // The sum of memory and swap, so no swap is used.
            memory_swap: Some(memory),
            nano_cpus: Some(NANO_CPUS_OF_ONE),
            ulimits: Some(self.ulimits()),
            log_config: Some(HostConfigLogConfig {
                typ: Some("none".to_owned()),
                ..Default::default()
            }),
            runtime: self.runtime.clone(),
            ..Default::default()
        }
    }

    /// Returns the file systems in memory, which count as memory of the run.
    fn scratch_mounts(&self) -> HashMap<String, String> {
        let options = format!(
            "rw,noexec,nosuid,nodev,mode=1777,size={}",
            self.limits.scratch_bytes
        );
        let paths = [&self.scratch].into_iter().chain(&self.volumes);
        paths
            .map(|path| (path.display().to_string(), options.clone()))
            .collect()
    }

    fn ulimits(&self) -> Vec<ResourcesUlimits> {
        let limit = |name: &str, value: i64| ResourcesUlimits {
            name: Some(name.to_owned()),
            soft: Some(value),
            hard: Some(value),
        };
        vec![
            // With 1 the kernel does not even start a handler, which ignores 0.
            limit("core", 1),
            limit("fsize", to_i64(self.limits.file_bytes)),
            limit("nofile", to_i64(self.limits.open_files)),
            limit("nproc", USER_PROCESSES),
            // All processes of a run together use one processor until the deadline.
            limit(
                "cpu",
                to_i64(self.limits.wall_time.as_secs().saturating_add(1)),
            ),
            // Counted for all processes of the user on the host.
            limit("memlock", 0),
            limit("msgqueue", 0),
            limit("rtprio", 0),
            limit("sigpending", PENDING_SIGNALS),
        ]
    }
}

fn bind_mount(mount: &ContainerMount) -> Mount {
    Mount {
        typ: Some(MountType::BIND),
        source: Some(mount.source.display().to_string()),
        target: Some(mount.target.display().to_string()),
        read_only: Some(!mount.is_writable),
        bind_options: Some(MountBindOptions {
            propagation: Some(MountBindOptionsPropagationEnum::RPRIVATE),
            // With those below it a read-only directory could have writable ones on some engines.
            non_recursive: Some(true),
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn to_i64(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
