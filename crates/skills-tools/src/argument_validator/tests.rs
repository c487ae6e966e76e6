//! Tests of the validation of arguments.

use jsonschema::PatternOptions;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::schema::input_schema;

#[track_caller]
fn check(properties: Value, arguments: &Value, expected: &str) {
    let error = ArgumentValidator::new(&input_schema(properties, &[]))
        .unwrap()
        .validate(arguments)
        .unwrap_err();
    assert_eq!(error.message, format!("invalid arguments: {expected}"));
}

#[test]
fn long_values_do_not_hide_the_reason() {
    let properties = json!({"a": {"type": "string", "maxLength": 3}, "b": {"type": "array", "items": {"maxLength": 3}}});
    check(
        properties.clone(),
        &json!({"a": "x".repeat(10_000)}),
        "/a: the value is longer than 3 characters",
    );
    check(
        properties.clone(),
        &json!({"a": "abcd"}),
        "/a: \"abcd\" is longer than 3 characters",
    );
    check(
        properties,
        &json!({"b": ["x".repeat(10_000)]}),
        "/b/0: the value is longer than 3 characters",
    );
}

#[test]
fn long_names_are_truncated_and_invisible_characters_escaped() {
    let properties = json!({"a": {"additionalProperties": {"type": "string"}}});
    let expected = format!("/a/{}…: 1 is not of type \"string\"", "x".repeat(97));
    check(
        properties.clone(),
        &json!({"a": {"x".repeat(10_000): 1}}),
        &expected,
    );
    check(
        properties.clone(),
        &json!({"a": {"\u{202e}": 1}}),
        "/a/\\u{202e}: 1 is not of type \"string\"",
    );
    let unexpected = "Additional properties are not allowed ('\\u{200b}\\n' was unexpected)";
    check(properties, &json!({"\u{200b}\n": 1}), unexpected);
    let typed = json!({"a": {"type": "integer"}});
    check(
        typed,
        &json!({"a": "\u{202e}\\d"}),
        "/a: \"\\u{202e}\\\\d\" is not of type \"integer\"",
    );
}

#[test]
fn further_mistakes_are_counted() {
    let properties = json!({"a": {"items": {"type": "string"}}});
    let expected = |count: usize| {
        (0..count)
            .map(|at| format!("/a/{at}: 1 is not of type \"string\""))
            .collect::<Vec<_>>()
            .join("; ")
    };
    check(
        properties.clone(),
        &json!({"a": [1, 1, 1, 1, 1]}),
        &expected(5),
    );
    check(
        properties,
        &json!({"a": [1, 1, 1, 1, 1, 1, 1]}),
        &format!("{}; and 2 more", expected(5)),
    );
}

#[test]
fn each_mistake_has_its_text() {
    let mistake = |schema: Value, value: Value| {
        let error = ArgumentValidator::new(&schema).unwrap().validate(&value);
        error
            .unwrap_err()
            .message
            .replacen("invalid arguments: ", "", 1)
    };
    let texts = [
        mistake(json!({"type": ["string", "null"]}), json!(1)),
        mistake(json!({"enum": ["a", 1]}), json!("b")),
        mistake(json!({"minLength": 1}), json!("")),
        mistake(json!({"pattern": "^a"}), json!("b")),
        mistake(json!({"minItems": 2}), json!([1])),
        mistake(json!({"maxItems": 1}), json!([1, 2])),
        mistake(json!({"uniqueItems": true}), json!([1, 1.0])),
        mistake(json!({"maxProperties": 1}), json!({"a": 1, "b": 2})),
        mistake(
            json!({"additionalProperties": false}),
            json!({"a": 1, "b": 2}),
        ),
        mistake(json!({"required": ["a"]}), json!({})),
        mistake(json!({"minimum": 2}), json!(1)),
        mistake(json!({"maximum": 2}), json!(2.5)),
        mistake(json!({"exclusiveMinimum": 1}), json!(1)),
        mistake(json!({"exclusiveMaximum": 1}), json!(1)),
        mistake(json!({"multipleOf": 0.1}), json!(0.35)),
    ];
    insta::assert_snapshot!(texts.join("\n"), @r#"
    1 is not of type ["string","null"]
    "b" is not one of "a", 1
    "" is shorter than 1 character
    "b" does not match `^a`
    has less than 2 items
    has more than 1 item
    has equal items
    has 2 properties, at most 1 are allowed
    Additional properties are not allowed ('a', 'b' were unexpected)
    "a" is a required property
    1 is less than 2
    2.5 is greater than 2
    1 is not greater than 1
    1 is not less than 1
    0.35 is not a multiple of 0.1
    "#);
}

#[test]
fn large_numbers_are_compared_exactly() {
    let is_valid = |schema: Value, value: Value| {
        let validator = ArgumentValidator::new(&schema).unwrap();
        validator.validate(&value).is_ok()
    };
    let bound = json!({"maximum": 9_007_199_254_740_992.0});
    assert!(is_valid(bound.clone(), json!(9_007_199_254_740_992_i64)));
    assert!(!is_valid(bound, json!(9_007_199_254_740_993_i64)));
    assert!(!is_valid(
        json!({"multipleOf": 2.0}),
        json!(2_251_799_813_685_249_i64)
    ));
    assert!(!is_valid(
        json!({"multipleOf": 0.01}),
        json!(9_000_000_000_000.005)
    ));
    assert!(is_valid(json!({"multipleOf": 0.01}), json!(0.07)));
}

/// A call has as many mistakes as values; the work for them is bounded.
#[test]
fn no_value_is_checked_after_a_thousand_mistakes() {
    let schema = json!({"items": {"type": "string"}});
    let validator = ArgumentValidator::new(&schema).unwrap();
    let error = validator.validate(&vec![1; 5000].into()).unwrap_err();
    assert!(error.message.ends_with("; and 995 or more others"));
}

#[test]
fn unknown_keywords_and_invalid_patterns_are_errors() {
    let is_valid = |schema: Value| ArgumentValidator::new(&schema).is_ok();
    assert!(is_valid(json!({"type": "object", "x-derived": "click"})));
    assert!(!is_valid(json!({"oneOf": []})));
    assert!(!is_valid(
        json!({"properties": {"a": {"items": {"not": {}}}}})
    ));
    assert!(!is_valid(json!({"additionalProperties": {"pattern": "("}})));
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-3i64..4).prop_map(Value::from),
        (-8i32..9).prop_map(|number| Value::from(f64::from(number) / 4.0)),
        Just(json!(-0.0)),
        Just(json!(u64::MAX)),
        Just(json!(i64::MIN)),
        Just(json!(1e300)),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        "[aé1 ]{0,3}".prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 16, 4, |inner| {
        let properties = prop::collection::btree_map("[a-c/]{1,2}", inner.clone(), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            properties.prop_map(|properties| properties.into_iter().collect()),
        ]
    })
}

fn keyword(inner: BoxedStrategy<Value>) -> impl Strategy<Value = (&'static str, Value)> {
    const TYPES: [&str; 7] = [
        "null", "boolean", "string", "array", "object", "number", "integer",
    ];
    let limit = || (0u64..4).prop_map(Value::from);
    let pattern = prop::sample::select(vec!["^a", r"\d", r"^\w*$", "[^a]", "a|1$"]);
    let step = prop::sample::select(vec![json!(1), json!(2), json!(0.25), json!(0.5)]);
    let sizes = prop::sample::select(vec![
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "maxProperties",
    ]);
    let bounds = prop::sample::select(vec![
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
    ]);
    let names = prop::collection::btree_set("[a-c]", 0..3);
    let others = prop_oneof![any::<bool>().prop_map(Value::from), inner.clone()];
    let properties = prop::collection::btree_map("[a-c]", inner.clone(), 0..3);
    prop_oneof![
        prop::sample::select(TYPES.to_vec()).prop_map(|name| ("type", name.into())),
        prop::sample::subsequence(TYPES.to_vec(), 1..4).prop_map(|names| ("type", names.into())),
        prop::collection::vec(value(), 1..4).prop_map(|values| ("enum", values.into())),
        (sizes, limit()),
        (bounds, number()),
        step.prop_map(|step| ("multipleOf", step)),
        pattern.prop_map(|pattern| ("pattern", pattern.into())),
        any::<bool>().prop_map(|is_unique| ("uniqueItems", is_unique.into())),
        names.prop_map(|names| ("required", names.into_iter().collect())),
        properties.prop_map(|properties| ("properties", properties.into_iter().collect())),
        others.prop_map(|others| ("additionalProperties", others)),
        inner.prop_map(|items| ("items", items)),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    let empty = Just(json!({})).boxed();
    empty.prop_recursive(3, 24, 4, |inner| {
        prop::collection::vec(keyword(inner.boxed()), 0..4).prop_map(|keywords| {
            keywords
                .into_iter()
                .map(|(k, v)| (k.to_owned(), v))
                .collect()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The same values are valid as for a library that implements all of JSON Schema.
    #[test]
    fn validates_as_json_schema_says(schema in schema(), values in prop::collection::vec(value(), 8)) {
        let library = jsonschema::draft202012::options()
            .with_pattern_options(PatternOptions::regex())
            .build(&schema)
            .unwrap();
        let validator = ArgumentValidator::new(&schema).unwrap();
        for value in values {
            let is_valid = validator.validate(&value).is_ok();
            prop_assert_eq!(is_valid, library.is_valid(&value), "{} {}", schema, value);
        }
    }
}

#[test]
fn an_unknown_property_is_named_with_the_near_one() {
    let schema = json!({"type": "object", "additionalProperties": false, "properties": {"command": {}, "name": {}}});
    let validator = ArgumentValidator::new(&schema).unwrap();
    let check = |given: Value, expected: &str| {
        let message = validator.validate(&given).unwrap_err().message;
        assert_eq!(
            message.strip_prefix("invalid arguments: Additional properties are not allowed "),
            Some(expected)
        );
    };
    check(
        json!({"comand": 1}),
        "('comand' was unexpected); did you mean `command`?",
    );
    check(
        json!({"nmae": 1, "zzz": 1}),
        "('nmae', 'zzz' were unexpected); did you mean `name`?",
    );
    check(json!({"cmd": 1}), "('cmd' was unexpected)");
    // No guess is longer than a name of the schema, whatever is sent.
    let many: Value = (0..900)
        .map(|index| (format!("comman{index}"), json!(1)))
        .collect();
    let message = validator.validate(&many).unwrap_err().message;
    assert!(message.len() < 1_500, "{}", message.len());
}
