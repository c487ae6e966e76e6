//! The certificate authorities of the user, for programs.

/// The variables by which programs find a file with certificate authorities.
///
/// All but `NODE_EXTRA_CA_CERTS` name it instead of the authorities of the system, as the user's own
/// programs have it.
const VARIABLES: [&str; 14] = [
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

/// Returns the variables that name a file.
pub(crate) fn variables(file: &str) -> impl Iterator<Item = (String, String)> {
    VARIABLES
        .into_iter()
        .map(move |name| (name.to_owned(), file.to_owned()))
}
