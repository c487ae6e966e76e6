//! The certificate authorities that a program may read.

use skills_policy::NetworkGrant;
use skills_sandbox::Job;

use crate::path_rule::{PathAccess, PathRule};

/// Certificates of authorities of the system. `/etc/ssl` itself is not listed, since
/// `/etc/ssl/private` contains private keys.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
];

/// Returns rules for the authorities of the system and for those of the user, if hosts are granted.
pub(crate) fn certificate_rules(job: &Job) -> Vec<PathRule> {
    if *job.grants().network() == NetworkGrant::None {
        return Vec::new();
    }
    let of_system = SYSTEM.map(|path| PathRule::system(path, PathAccess::Read));
    let of_user = job.certificates().into_iter();
    let of_user = of_user.map(|file| PathRule::granted(file, PathAccess::Read));
    of_system.into_iter().chain(of_user).collect()
}
