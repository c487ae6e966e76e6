//! The example `conformance`, which the official suite tests in place of the real server.

use std::collections::BTreeSet;

const REAL: &str = include_str!("../../src/connection.rs");
const FIXTURES: &str = include_str!("../../examples/conformance/fixtures.rs");

/// Returns the methods of the implementation of `ServerHandler` in a source file, with their text.
fn handler_methods(source: &str) -> Vec<(&str, &str)> {
    let start = source.find("impl ServerHandler for ").unwrap();
    let end = source[start..].find("\n}\n").unwrap();
    let method = |text| {
        let (_, rest) = str::split_once(text, "fn ")?;
        Some((rest.split_once('(')?.0, text))
    };
    let methods = source[start..start + end].split("\n    }\n");
    methods.filter_map(method).collect()
}

/// A method of the real server that the fixtures did not forward would be tested by nothing.
#[test]
fn the_fixtures_forward_every_method_of_the_real_server() {
    let real: BTreeSet<_> = handler_methods(REAL)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert!(
        real.contains("call_tool") && real.contains("on_custom_request"),
        "{real:?}"
    );
    let forwards = |(name, text): (_, &str)| {
        let text: String = text.split_whitespace().collect();
        text.contains(&format!("self.ours.{name}(")).then_some(name)
    };
    let forwarded = handler_methods(FIXTURES)
        .into_iter()
        .filter_map(forwards)
        .collect();
    let hidden: Vec<_> = real.difference(&forwarded).collect();
    assert!(hidden.is_empty(), "not forwarded: {hidden:?}");
}
