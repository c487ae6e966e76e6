//! How sources on web servers are reached.

mod agents;
mod client;
pub(crate) mod credentials;
mod options;
mod private_host;
mod resolver;
pub(crate) mod response;
mod roots;

pub use options::{Lookup, WebOptions};
pub use private_host::{InvalidHost, PrivateHost};

pub(crate) use client::Client;
pub(crate) use response::{check_status, failed};
