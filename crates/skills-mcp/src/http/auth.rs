//! Authentication by bearer tokens.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use http::header::{AUTHORIZATION, COOKIE, HeaderMap, PROXY_AUTHORIZATION};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::access_log::AccessLogFields;
use super::body_budget::BodyBudget;
use super::error::{HttpError, Repr};
use super::headers::{SESSION_ID, single_value};
use super::limits::HttpLimits;
use super::principal_limits::PrincipalLimits;
use super::rejection::Rejection;
use super::token::BearerToken;
use crate::Principal;

/// Maps bearer tokens to principals.
///
/// Stores digests only: they have equal length, so a comparison in constant time reveals neither a
/// secret nor its length.
#[derive(Debug)]
pub(super) enum Authenticator {
    /// No token is required.
    Anonymous(Arc<PrincipalLimits>),
    /// One of these tokens is required.
    Tokens(Vec<(TokenDigest, Arc<PrincipalLimits>)>),
}

impl Authenticator {
    /// Creates an authenticator for tokens with different names and secrets. Without tokens, all
    /// requests are accepted.
    pub(super) fn new(tokens: &[BearerToken], limits: &HttpLimits) -> Result<Self, HttpError> {
        for (index, token) in tokens.iter().enumerate() {
            let name = token.name().to_owned();
            for other in &tokens[..index] {
                if other.name() == name {
                    return Err(Repr::DuplicateTokenName { name }.into());
                }
                // One secret with two names would have an arbitrary principal.
                if other.expose_secret() == token.expose_secret() {
                    let (first, second) = (other.name().to_owned(), name);
                    return Err(Repr::DuplicateTokenSecret { first, second }.into());
                }
            }
        }
        let body_budget = BodyBudget::new(tokens.len(), limits.max_request_body_bytes);
        let with_limits =
            |principal| Arc::new(PrincipalLimits::new(principal, limits, &body_budget));
        if tokens.is_empty() {
            return Ok(Self::Anonymous(with_limits(Principal::local())));
        }
        let keys = tokens.iter().map(|token| {
            let digest = Sha256::digest(token.expose_secret()).into();
            (digest, with_limits(Principal::new(token.name())))
        });
        Ok(Self::Tokens(keys.collect()))
    }

    /// Returns the number of principals.
    pub(super) fn principal_count(&self) -> usize {
        match self {
            Self::Anonymous(_) => 1,
            Self::Tokens(keys) => keys.len(),
        }
    }

    /// Returns the principal of a request, with its limits.
    fn authenticate(&self, headers: &HeaderMap) -> Result<&Arc<PrincipalLimits>, Rejection> {
        match self {
            Self::Anonymous(principal_limits) => Ok(principal_limits),
            Self::Tokens(keys) => find_token(keys, bearer_token(headers)?),
        }
    }
}

/// Layer that authenticates a request. Later layers and the protocol handler read its principal
/// from here and from nowhere else.
pub(super) async fn authenticate(
    State(authenticator): State<Arc<Authenticator>>,
    Extension(log): Extension<Arc<AccessLogFields>>,
    mut request: Request,
) -> Result<Request, Rejection> {
    let limits = Arc::clone(authenticator.authenticate(request.headers())?);
    log.principal(&limits.principal);
    strip_credentials(request.headers_mut());
    request.extensions_mut().insert(limits.principal.clone());
    request.extensions_mut().insert(limits);
    Ok(request)
}

/// Removes credentials, so that handlers cannot log them.
fn strip_credentials(headers: &mut HeaderMap) {
    for name in [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE] {
        headers.remove(name);
    }
    if let Some(session) = headers.get_mut(SESSION_ID) {
        session.set_sensitive(true);
    }
}

type TokenDigest = [u8; 32];

/// Returns the token of the only `Authorization` header, whose scheme is `Bearer` in any case.
fn bearer_token(headers: &HeaderMap) -> Result<&[u8], Rejection> {
    // With two headers, a proxy could have checked the other one.
    let Some(field) = single_value(headers, &AUTHORIZATION)? else {
        return Err(Rejection::MissingToken);
    };
    let (scheme, token) = field
        .as_bytes()
        .split_at_checked("Bearer ".len())
        .ok_or(Rejection::MissingToken)?;
    if scheme.eq_ignore_ascii_case(b"bearer ") {
        Ok(token.trim_ascii())
    } else {
        Err(Rejection::MissingToken)
    }
}

/// Compares with every token, also after a match, so that the time is constant.
fn find_token<'a>(
    keys: &'a [(TokenDigest, Arc<PrincipalLimits>)],
    token: &[u8],
) -> Result<&'a Arc<PrincipalLimits>, Rejection> {
    let presented: TokenDigest = Sha256::digest(token).into();
    // No early return: the position of the matching token must not be measurable.
    let mut found = None;
    for (known, principal_limits) in keys {
        if bool::from(known.ct_eq(&presented)) {
            found = Some(principal_limits);
        }
    }
    found.ok_or(Rejection::InvalidToken)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0123456789abcdef0123456789abcdef";
    const TWO: &str = "fedcba9876543210fedcba9876543210";

    fn check(authorization: &[&str]) -> Result<String, Rejection> {
        let tokens = [
            BearerToken::new("ci", ONE).unwrap(),
            BearerToken::new("laptop", TWO).unwrap(),
        ];
        let ring = Authenticator::new(&tokens, &HttpLimits::default()).unwrap();
        let headers = authorization
            .iter()
            .map(|value| (AUTHORIZATION, value.parse().unwrap()))
            .collect();
        ring.authenticate(&headers)
            .map(|account| account.principal.to_string())
    }

    #[test]
    fn tokens_identify_principals() {
        assert_eq!(check(&[&format!("Bearer {ONE}")]), Ok("ci".to_owned()));
        assert_eq!(check(&[&format!("bEARER  {TWO}")]), Ok("laptop".to_owned()));
    }

    #[test]
    fn other_credentials_are_rejected() {
        for none in [
            &[][..],
            &[""],
            &["Bearer"],
            &[ONE],
            &[&format!("Basic {ONE}")],
            &[&format!("Bearer:{ONE}")],
        ] {
            assert_eq!(check(none), Err(Rejection::MissingToken), "{none:?}");
        }
        for wrong in [
            "Bearer  ",
            "Bearer x",
            &format!("Bearer {}", &ONE[..31]),
            &format!("Bearer {ONE}0"),
            &format!("Bearer {ONE},{TWO}"),
        ] {
            assert_eq!(check(&[wrong]), Err(Rejection::InvalidToken), "{wrong:?}");
        }
        let twice = format!("Bearer {ONE}");
        assert_eq!(
            check(&[&twice, &twice]),
            Err(Rejection::DuplicateHeader(AUTHORIZATION))
        );
    }

    #[test]
    fn duplicate_tokens_are_rejected() {
        let ring = |tokens: &[(&str, &str)]| {
            let tokens: Vec<_> = tokens
                .iter()
                .map(|(name, secret)| BearerToken::new(name, secret).unwrap())
                .collect();
            Authenticator::new(&tokens, &HttpLimits::default())
                .map(|_| ())
                .map_err(|error| error.to_string())
        };
        assert_eq!(
            ring(&[("ci", ONE), ("ci", TWO)]),
            Err("duplicate token name `ci`".to_owned())
        );
        assert_eq!(
            ring(&[("ci", ONE), ("laptop", ONE)]),
            Err("tokens `ci` and `laptop` have the same secret".to_owned())
        );
    }
}
