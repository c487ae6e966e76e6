//! How sources are fetched, whatever their kind is.

use url::Url;

use crate::error::InstallError;
use crate::progress::Progress;
use crate::signature::SignatureRules;
use crate::web::Client;
use crate::{FetchLimits, GitOptions, WebOptions};

/// What a [`Fetcher`](crate::Fetcher) passes to the kind of a source: clients, limits and rules.
#[derive(Debug, Clone)]
pub(crate) struct FetchOptions {
    pub(crate) git: GitOptions,
    pub(crate) web: WebOptions,
    /// Whether the credentials of git are used for web servers.
    pub(crate) has_credentials: bool,
    pub(crate) limits: FetchLimits,
    pub(crate) signatures: SignatureRules,
    pub(crate) progress: Progress,
}

impl FetchOptions {
    pub(crate) fn new(git: GitOptions) -> Self {
        Self {
            git,
            web: WebOptions::default(),
            has_credentials: false,
            limits: FetchLimits::default(),
            signatures: SignatureRules::default(),
            progress: Progress::default(),
        }
    }

    /// Returns how git is started, with reports of progress.
    pub(crate) fn git(&self) -> GitOptions {
        self.git.clone().progress(self.progress.clone())
    }

    /// Returns a client for a source, and its parsed URL.
    pub(crate) fn client(&self, url: &str) -> Result<(Client, Url), InstallError> {
        let parsed =
            Url::parse(url).map_err(|error| InstallError::fetch(url, error.to_string()))?;
        let web = self.web.clone().progress(self.progress.clone());
        let git = self.has_credentials.then(|| self.git.clone());
        Ok((Client::new(&web, &self.limits, &parsed, git)?, parsed))
    }
}
