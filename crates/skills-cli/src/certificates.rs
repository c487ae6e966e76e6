//! The certificate authorities of the user, for programs.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use skills_runtime::Builder;
use skills_store::trusted_file::{self, Privacy};

use crate::context::Context;
use crate::error::CommandError;

/// The variable by which other programs of the user find them.
const VARIABLE: &str = "SSL_CERT_FILE";
/// Maximum size of a file, in bytes. The authorities of a system have less than 300 KB.
const MAX_BYTES: u64 = 4 << 20;

/// Sets the file with certificate authorities: the given one, else that of the settings, else that
/// of the variable.
///
/// # Errors
/// Fails if the file of the option or of the settings cannot be used. That of the variable is left
/// out then, with a warning, since it is not only for this command.
pub(crate) fn configure(
    builder: Builder,
    given: Option<&Path>,
    context: &Context,
) -> anyhow::Result<Builder> {
    let given = given.or(context.settings()?.ca_file.as_deref());
    if let Some(path) = given {
        return Ok(builder.certificate_file(check(path)?));
    }
    let Some(path) = context.environment.path(VARIABLE) else {
        return Ok(builder);
    };
    match check(&path) {
        Ok(path) => Ok(builder.certificate_file(path)),
        Err(error) => {
            context.output.status(&format!(
                "warning: programs do not get `{VARIABLE}`: {error:#}"
            ));
            Ok(builder)
        }
    }
}

/// Returns the resolved path of a file that programs may read: one with certificates and nothing
/// else.
fn check(path: &Path) -> anyhow::Result<PathBuf> {
    let shown = path.display();
    let bytes = trusted_file::read(path, MAX_BYTES, Privacy::Readable)?;
    let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    // Files with a certificate often have its key, too.
    if has(b"PRIVATE KEY") {
        let message = format!("`{shown}` has a private key, which programs must not read");
        return Err(CommandError::input(message)
            .with_help("name a file that has only certificates")
            .into());
    }
    if !has(b"-----BEGIN CERTIFICATE-----") && !has(b"-----BEGIN TRUSTED CERTIFICATE-----") {
        return Err(CommandError::input(format!("`{shown}` has no certificate in PEM")).into());
    }
    path.canonicalize()
        .with_context(|| CommandError::input(format!("cannot resolve `{shown}`")))
}
