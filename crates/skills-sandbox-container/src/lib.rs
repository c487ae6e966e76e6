//! Sandbox for scripts and commands in containers, with the Docker Engine API, which Docker and Podman
//! serve.
//!
//! ```text
//! Job --> RunPlan (plain data) --> create, start --> verify the mounts --> exec --> RunOutput
//!            |                       |                                    |
//!      ContainerRequest              +--> network namespace: the proxy    +--> kill, remove
//! ```
//!
//! A container is created for each run, from an [image](ImageReference) that is selected by its digest
//! and never pulled. Its first process only waits; the program of the run is started in it once the
//! mounts were compared with the granted files and the proxy listens. A launcher that is mounted into
//! the container first installs a filter of system calls, in addition to that of the engine. Containers
//! can be [kept](ContainerSandbox::keep_warm) for further runs of the same caller with the same grants.
//!
//! A program has the files of the image, read-only, and the granted files at their paths. It has no
//! network but a loopback device; granted hosts are reached through the proxy of `skills-egress`, which
//! listens inside the network namespace of the container. That takes access to this namespace: a host
//! process that is root, or Podman without root; else such grants are rejected.
//!
//! This crate must not know what a skill is, and must not choose between backends. Only on Linux: on other
//! systems engines run containers in a virtual machine, where mounts cannot be verified and the launcher
//! is for another system.
#![cfg(target_os = "linux")]

mod connect;
mod container;
mod engine;
mod image;
mod launcher;
mod mounts;
mod namespace;
mod plan;
mod programs;
mod report;
mod request;
mod sandbox;
mod supervise;
#[cfg(test)]
mod tests;
mod warm;

pub use image::{ImageReference, InvalidImageReference};
pub use sandbox::ContainerSandbox;
