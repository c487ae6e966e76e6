//! The open directory of a cache, with the user's key.

use std::sync::{Arc, OnceLock};

use super::directory::Directory;
use super::error::CodeCacheError;
use super::mac::MacKey;

/// The open directory and its key.
#[derive(Debug)]
pub(super) struct OpenStore {
    pub(super) directory: Directory,
    mac_key: OnceLock<MacKey>,
}

impl OpenStore {
    pub(super) fn new(directory: Directory) -> Arc<Self> {
        Arc::new(Self {
            directory,
            mac_key: OnceLock::new(),
        })
    }

    /// Returns the user's key; `None` if there is none yet.
    pub(super) fn mac_key(&self) -> Result<Option<&MacKey>, CodeCacheError> {
        if self.mac_key.get().is_none() {
            // A missing key is not remembered, since another process may create it at any time.
            let Some(key) = MacKey::read(&self.directory)? else {
                return Ok(None);
            };
            return Ok(Some(self.mac_key.get_or_init(|| key)));
        }
        Ok(self.mac_key.get())
    }

    /// Returns the user's key, creating it if there is none.
    pub(super) fn create_mac_key(&self) -> Result<&MacKey, CodeCacheError> {
        if let Some(key) = self.mac_key.get() {
            return Ok(key);
        }
        let key = MacKey::create(&self.directory)?;
        Ok(self.mac_key.get_or_init(|| key))
    }
}
