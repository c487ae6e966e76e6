//! Verification of certificates.

use super::lab::{Below, Generation, Lab, OK, PUBLIC, Script};

#[tokio::test]
async fn a_host_with_a_valid_certificate_is_reached_without_being_asked_for_tls() {
    let lab = Lab::new(&["a.example"]);
    lab.serve(443, Below::Tls, Script::Answer(OK.to_owned()))
        .await;
    for generation in Generation::ALL {
        // Without a scheme, `https` is used.
        for scheme in ["https", ""] {
            let said = lab.fetch(*generation, &[scheme, "A.example.", "/"]).await;
            assert_eq!(
                said.text, "200 [content-length=2] 2 \"hi\"",
                "{generation:?}"
            );
            assert_eq!(lab.went().1, ["93.184.216.34:443"]);
            assert_eq!(
                lab.requests(),
                ["GET / HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n"]
            );
        }
    }
}

#[tokio::test]
async fn hosts_without_a_valid_certificate_are_rejected() {
    let lab = Lab::new(&["*.example", PUBLIC]);
    lab.name("b.example", &[&[PUBLIC]]);
    let other = Lab::public(&["a.example"]);
    let expired = Lab::new(&["a.example"]);
    lab.serve(443, Below::Tls, Script::Answer(OK.to_owned()))
        .await;
    other
        .serve(443, Below::Tls, Script::Answer(OK.to_owned()))
        .await;
    expired
        .serve(443, Below::ExpiredTls, Script::Answer(OK.to_owned()))
        .await;
    for generation in Generation::ALL {
        for (what, lab, host) in [
            ("another name", &lab, "b.example"),
            ("an address", &lab, PUBLIC),
            ("unknown authority", &other, "a.example"),
            ("expired", &expired, "a.example"),
        ] {
            let said = lab.fetch(*generation, &["https", host, "/secret"]).await;
            assert_eq!(said.text, "TlsCertificateError", "{generation:?} {what}");
            assert_eq!(
                said.seen,
                format!("reached {host} (1); rejected {host}: host has no valid certificate (1)")
            );
            assert_eq!(
                lab.requests(),
                Vec::<String>::new(),
                "{generation:?} {what}"
            );
        }
    }
}

#[tokio::test]
async fn hosts_that_do_not_speak_tls_are_rejected() {
    let lab = Lab::new(&["a.example"]);
    lab.serve(
        443,
        Below::Nothing,
        Script::Greet("SSH-2.0-OpenSSH\r\n".to_owned()),
    )
    .await;
    for generation in Generation::ALL {
        let said = lab
            .fetch(*generation, &["https", "a.example", "/secret"])
            .await;
        assert_eq!(said.text, "TlsProtocolError", "{generation:?}");
        assert_eq!(
            said.seen,
            "reached a.example (1); rejected a.example: port 443 requires TLS (1)"
        );
    }
}
