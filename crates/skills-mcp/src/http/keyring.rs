//! Who a request is from.

use std::sync::Arc;

use http::header::{AUTHORIZATION, HeaderMap};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::Limits;
use super::account::Account;
use super::error::{HttpError, Repr};
use super::headers::once;
use super::refusal::Refusal;
use super::room::Room;
use super::token::Token;
use crate::principal::Principal;

/// The tokens that are taken, and whose they are.
///
/// Only the digests are kept: they have one length, so that comparing them tells nothing about a
/// secret, nor how long it is.
#[derive(Debug)]
pub(super) enum Keyring {
    /// No token is asked for.
    Open(Arc<Account>),
    /// One of these must be shown.
    Tokens(Vec<(Sum, Arc<Account>)>),
}

impl Keyring {
    /// Makes the ring of some tokens, which have different names and secrets; without any, the
    /// server is open.
    pub(super) fn new(tokens: &[Token], limits: &Limits) -> Result<Self, HttpError> {
        for (index, token) in tokens.iter().enumerate() {
            for other in &tokens[..index] {
                if other.name() == token.name() {
                    return Err(Repr::SameName {
                        name: token.name().to_owned(),
                    }
                    .into());
                }
                if other.reveal() == token.reveal() {
                    return Err(Repr::SameSecret {
                        first: other.name().to_owned(),
                        second: token.name().to_owned(),
                    }
                    .into());
                }
            }
        }
        let room = Room::new(tokens.len(), limits.max_body_bytes);
        let account = |principal| Arc::new(Account::new(principal, limits, &room));
        if tokens.is_empty() {
            return Ok(Self::Open(account(Principal::local())));
        }
        let key = |token: &Token| {
            (
                Sha256::digest(token.reveal()).into(),
                account(Principal::named(token.name())),
            )
        };
        Ok(Self::Tokens(tokens.iter().map(key).collect()))
    }

    /// Returns how many principals there are.
    pub(super) fn principals(&self) -> usize {
        match self {
            Self::Open(_) => 1,
            Self::Tokens(keys) => keys.len(),
        }
    }

    /// Returns whose request it is.
    pub(super) fn account(&self, headers: &HeaderMap) -> Result<&Arc<Account>, Refusal> {
        match self {
            Self::Open(account) => Ok(account),
            Self::Tokens(keys) => find(keys, bearer(headers)?),
        }
    }
}

type Sum = [u8; 32];

/// Returns the token of the one `Authorization` field, whose scheme is `Bearer` in any case.
fn bearer(headers: &HeaderMap) -> Result<&[u8], Refusal> {
    let Some(field) = once(headers, &AUTHORIZATION)? else {
        return Err(Refusal::NoToken);
    };
    let (scheme, token) = field
        .as_bytes()
        .split_at_checked("Bearer ".len())
        .ok_or(Refusal::NoToken)?;
    if scheme.eq_ignore_ascii_case(b"bearer ") {
        Ok(token.trim_ascii())
    } else {
        Err(Refusal::NoToken)
    }
}

/// Compares with every key, found or not, so that the time tells nothing.
fn find<'a>(keys: &'a [(Sum, Arc<Account>)], token: &[u8]) -> Result<&'a Arc<Account>, Refusal> {
    let shown: Sum = Sha256::digest(token).into();
    let mut found = None;
    for (sum, account) in keys {
        if bool::from(sum.ct_eq(&shown)) {
            found = Some(account);
        }
    }
    found.ok_or(Refusal::WrongToken)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0123456789abcdef0123456789abcdef";
    const TWO: &str = "fedcba9876543210fedcba9876543210";

    fn check(authorization: &[&str]) -> Result<String, Refusal> {
        let tokens = [
            Token::new("ci", ONE).unwrap(),
            Token::new("laptop", TWO).unwrap(),
        ];
        let ring = Keyring::new(&tokens, &Limits::default()).unwrap();
        let headers = authorization
            .iter()
            .map(|value| (AUTHORIZATION, value.parse().unwrap()))
            .collect();
        ring.account(&headers)
            .map(|account| account.principal.to_string())
    }

    #[test]
    fn tokens_say_who_asks() {
        assert_eq!(check(&[&format!("Bearer {ONE}")]), Ok("ci".to_owned()));
        assert_eq!(check(&[&format!("bEARER  {TWO}")]), Ok("laptop".to_owned()));
    }

    #[test]
    fn nothing_else_does() {
        for none in [
            &[][..],
            &[""],
            &["Bearer"],
            &[ONE],
            &[&format!("Basic {ONE}")],
            &[&format!("Bearer:{ONE}")],
        ] {
            assert_eq!(check(none), Err(Refusal::NoToken), "{none:?}");
        }
        for wrong in [
            "Bearer  ",
            "Bearer x",
            &format!("Bearer {}", &ONE[..31]),
            &format!("Bearer {ONE}0"),
            &format!("Bearer {ONE},{TWO}"),
        ] {
            assert_eq!(check(&[wrong]), Err(Refusal::WrongToken), "{wrong:?}");
        }
        let twice = format!("Bearer {ONE}");
        assert_eq!(
            check(&[&twice, &twice]),
            Err(Refusal::Repeated(AUTHORIZATION))
        );
    }

    #[test]
    fn tokens_that_cannot_be_told_apart_are_refused() {
        let ring = |tokens: &[(&str, &str)]| {
            let tokens: Vec<_> = tokens
                .iter()
                .map(|(name, secret)| Token::new(name, secret).unwrap())
                .collect();
            Keyring::new(&tokens, &Limits::default())
                .map(|_| ())
                .map_err(|error| error.to_string())
        };
        assert_eq!(
            ring(&[("ci", ONE), ("ci", TWO)]),
            Err("two tokens have the name ci".to_owned())
        );
        assert_eq!(
            ring(&[("ci", ONE), ("laptop", ONE)]),
            Err("the tokens ci and laptop are the same".to_owned())
        );
    }
}
