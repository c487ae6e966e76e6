//! Verification of certificates.

use super::fixture::{Generation, HttpFixture, OK, PUBLIC, Security, ServerBehavior};

#[tokio::test]
async fn https_hosts_with_a_valid_certificate_are_reached() {
    let fixture = HttpFixture::new(&["a.example"]);
    fixture
        .serve(443, Security::Tls, ServerBehavior::Respond(OK.to_owned()))
        .await;
    for generation in Generation::ALL {
        // Without a scheme, `https` is used.
        for scheme in ["https", ""] {
            let result = fixture
                .fetch(*generation, &[scheme, "A.example.", "/"])
                .await;
            assert_eq!(
                result.text, "200 [content-length=2] 2 \"hi\"",
                "{generation:?}"
            );
            assert_eq!(fixture.take_connections().1, ["93.184.216.34:443"]);
            assert_eq!(
                fixture.requests(),
                ["GET / HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n"]
            );
        }
    }
}

#[tokio::test]
async fn hosts_without_a_valid_certificate_are_rejected() {
    let fixture = HttpFixture::new(&["*.example", PUBLIC]);
    fixture.name("b.example", &[&[PUBLIC]]);
    let other = HttpFixture::public(&["a.example"]);
    let expired = HttpFixture::new(&["a.example"]);
    fixture
        .serve(443, Security::Tls, ServerBehavior::Respond(OK.to_owned()))
        .await;
    other
        .serve(443, Security::Tls, ServerBehavior::Respond(OK.to_owned()))
        .await;
    expired
        .serve(
            443,
            Security::ExpiredTls,
            ServerBehavior::Respond(OK.to_owned()),
        )
        .await;
    for generation in Generation::ALL {
        for (what, fixture, host) in [
            ("another name", &fixture, "b.example"),
            ("an address", &fixture, PUBLIC),
            ("unknown authority", &other, "a.example"),
            ("expired", &expired, "a.example"),
        ] {
            let result = fixture
                .fetch(*generation, &["https", host, "/secret"])
                .await;
            assert_eq!(result.text, "TlsCertificateError", "{generation:?} {what}");
            assert_eq!(
                result.network,
                format!("reached {host} (1); rejected {host}: host has no valid certificate (1)")
            );
            assert_eq!(
                fixture.requests(),
                Vec::<String>::new(),
                "{generation:?} {what}"
            );
        }
    }
}

#[tokio::test]
async fn hosts_that_do_not_speak_tls_are_rejected() {
    let fixture = HttpFixture::new(&["a.example"]);
    fixture
        .serve(
            443,
            Security::Plain,
            ServerBehavior::SendFirst("SSH-2.0-OpenSSH\r\n".to_owned()),
        )
        .await;
    for generation in Generation::ALL {
        let result = fixture
            .fetch(*generation, &["https", "a.example", "/secret"])
            .await;
        assert_eq!(result.text, "TlsProtocolError", "{generation:?}");
        assert_eq!(
            result.network,
            "reached a.example (1); rejected a.example: port 443 requires TLS (1)"
        );
    }
}
