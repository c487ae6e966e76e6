//! What a job has of its user: language, time zone and certificate authorities.

use std::path::{Path, PathBuf};

use skills_policy::NetworkGrant;

use crate::{Job, Locale};

/// The variables by which programs find a file with certificate authorities.
///
/// All but `NODE_EXTRA_CA_CERTS` name it instead of the authorities of the system, as the user's
/// own programs have it.
const CERTIFICATE_VARIABLES: [&str; 14] = [
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "CURL_CA_BUNDLE",
    "DENO_CERT",
    "GIT_SSL_CAINFO",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "HTTPLIB2_CA_CERTS",
    "NODE_EXTRA_CA_CERTS",
    "NPM_CONFIG_CAFILE",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
    "WEBSOCKET_CLIENT_CA_BUNDLE",
    "npm_config_cafile",
];

impl Job {
    /// Sets the language and the time zone of the user. Containers get the time zone alone, since
    /// an image has languages of its own; WebAssembly gets none.
    pub fn locale(mut self, locale: Locale) -> Self {
        self.locale = locale;
        self
    }

    /// Returns the language and the time zone of the user.
    #[must_use]
    pub fn user_locale(&self) -> &Locale {
        &self.locale
    }

    /// Sets a file with the certificate authorities of the user, as an absolute path without
    /// symlinks. A program with granted hosts may read it, like those of the system, and finds it
    /// by `SSL_CERT_FILE` and the like. Only the Linux backend does this.
    pub fn certificate_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.certificates = Some(path.into());
        self
    }

    /// Returns the file with the certificate authorities of the user, if hosts are granted.
    #[must_use]
    pub fn certificates(&self) -> Option<&Path> {
        match self.grants().network() {
            NetworkGrant::None => None,
            _ => self.certificates.as_deref(),
        }
    }

    /// Returns the variables by which a program finds this file.
    #[must_use]
    pub fn certificate_variables(&self) -> Vec<(String, String)> {
        let file = self.certificates().and_then(Path::to_str);
        let variables = file.into_iter().flat_map(|file| {
            let named = CERTIFICATE_VARIABLES.into_iter();
            named.map(|name| (name.to_owned(), file.to_owned()))
        });
        variables.collect()
    }

    /// Returns the variables of the language, with `default` as `LANG` if the user sets none. Other
    /// variables that the job sets itself are not among them.
    #[must_use]
    pub fn languages(&self, default: &str) -> Vec<(String, String)> {
        let is_own = |name: &str| self.filtered_envs().any(|(own, _)| own == name);
        let mut languages = self.locale.languages(default);
        languages.retain(|(name, _)| name == "LANG" || !is_own(name));
        languages
    }
}
