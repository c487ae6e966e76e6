//! Sandbox for scripts and commands in containers, with the Docker Engine API, which Docker and Podman
//! serve.
//!
//! ```text
//! Job --> ContainerPlan (plain data) --> create, start --> verify the mounts --> exec --> RunOutput
//!              |                             |                                    |
//!        ContainerRequest                    +--> network namespace: the proxy    +--> kill, remove
//! ```
//!
//! A container is created for each run, from an [image](ImageReference) that is selected by its digest
//! and never pulled. Its first process only waits; the program of the run is started in it once the
//! mounts were compared with the granted files and the proxy listens. A launcher that is mounted into
//! the container installs a filter of system calls before, in addition to that of the engine. Containers can be
//! [kept](ContainerSandbox::keep_warm) for further runs of the same caller with the same grants.
//!
//! A program has the files of the image, read-only, and the granted files at their paths. It has no
//! network but a loopback device; granted hosts are reached through the proxy of `skills-egress`, which
//! listens inside the network namespace of the container. That takes access to this namespace: a host
//! process that is root, or Podman without root; else such grants are rejected.
//!
//! This crate must not know what a skill is, and must not choose between backends. On Unix only.

#[cfg(unix)]
mod connect;
#[cfg(unix)]
mod container;
#[cfg(unix)]
mod engine;
mod image;
#[cfg(unix)]
mod launcher;
#[cfg(unix)]
mod mounts;
#[cfg(unix)]
mod namespace;
#[cfg(unix)]
mod plan;
#[cfg(unix)]
mod programs;
#[cfg(unix)]
mod report;
#[cfg(unix)]
mod request;
#[cfg(unix)]
mod sandbox;
#[cfg(unix)]
mod supervise;
#[cfg(all(test, unix))]
mod tests;
#[cfg(unix)]
mod warm;

pub use image::{ImageReference, InvalidImageReference};
#[cfg(unix)]
pub use sandbox::ContainerSandbox;

/// The name of this backend in errors and reports.
#[cfg(unix)]
pub(crate) const BACKEND: &str = "container";
