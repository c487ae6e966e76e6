//! Scalars that are a number in some versions of YAML only.

/// Returns true if an unquoted scalar is a number for some YAML parsers, and text or another number
/// for others.
///
/// YAML 1.1 has octal numbers with a leading zero, binary numbers, underscores and base 60, and
/// requires a point and a sign in numbers with an exponent; YAML 1.2 has `0o` instead.
pub(super) fn is_ambiguous_number(scalar: &str) -> bool {
    is_number_in_any_version(scalar) && !is_number_in_every_version(scalar)
}

/// Returns true if a scalar is the same number in every version of YAML.
fn is_number_in_every_version(scalar: &str) -> bool {
    if let Some(digits) = scalar.strip_prefix("0x") {
        return (1..=16).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    let unsigned = scalar.strip_prefix(['-', '+']).unwrap_or(scalar);
    let (mantissa, exponent) = unsigned
        .split_once(['e', 'E'])
        .map_or((unsigned, None), |(mantissa, exponent)| {
            (mantissa, Some(exponent))
        });
    let Some((whole, fraction)) = mantissa.split_once('.') else {
        return exponent.is_none()
            && is_canonical_integer(mantissa)
            // Parsers disagree about longer integers: error, float or big integer.
            && (scalar.parse::<i64>().is_ok() || scalar.parse::<u64>().is_ok());
    };
    // Without a whole part, YAML 1.1 requires digits after the point and allows no sign.
    let has_whole = if whole.is_empty() {
        !fraction.is_empty() && unsigned == scalar
    } else {
        is_canonical_integer(whole)
    };
    // YAML 1.1 requires the sign of an exponent: `1.5e3` is text there.
    let has_sign = |exponent: &str| exponent.starts_with(['-', '+']);
    has_whole
        && is_digits(fraction)
        && exponent.is_none_or(has_sign)
        && scalar.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Returns true if a scalar is a number in at least one version of YAML.
fn is_number_in_any_version(scalar: &str) -> bool {
    let unsigned = scalar.strip_prefix(['-', '+']).unwrap_or(scalar);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return false;
    }
    let bare = unsigned.replace('_', "").to_ascii_lowercase();
    match (bare.get(..2), bare.get(2..)) {
        (Some("0b"), Some(digits)) => has_digits_of(2, digits),
        (Some("0o"), Some(digits)) => has_digits_of(8, digits),
        (Some("0x"), Some(digits)) => has_digits_of(16, digits),
        _ => bare.parse::<f64>().is_ok() || is_sexagesimal(&bare),
    }
}

/// Returns true if a scalar is a number in base 60, such as `12:30` or `1:30:00.5`.
fn is_sexagesimal(bare: &str) -> bool {
    let (whole, fraction) = bare.split_once('.').unwrap_or((bare, ""));
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    !first.is_empty()
        && is_digits(first)
        && !rest.is_empty()
        && rest.iter().all(|digit| is_sexagesimal_digit(digit))
        && is_digits(fraction)
}

fn is_sexagesimal_digit(text: &str) -> bool {
    (1..=2).contains(&text.len())
        && is_digits(text)
        && text.parse::<u8>().is_ok_and(|value| value < 60)
}

/// Returns true if a text is digits without a leading zero.
fn is_canonical_integer(whole: &str) -> bool {
    !whole.is_empty() && is_digits(whole) && (whole == "0" || !whole.starts_with('0'))
}

fn has_digits_of(base: u32, text: &str) -> bool {
    text.chars().all(|c| c.is_digit(base))
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_versions_are_not_ambiguous() {
        for scalar in [
            "0",
            "12",
            "-3",
            "+12",
            "-0",
            "18446744073709551615",
            "1.10",
            "5.",
            ".5",
            "-0.5",
            "1.5e+3",
            "2.0E-7",
            "0x1F",
            "0xdeadbeef",
        ] {
            assert!(
                is_number_in_every_version(scalar)
                    && is_number_in_any_version(scalar)
                    && !is_ambiguous_number(scalar),
                "{scalar}"
            );
        }
    }

    #[test]
    fn numbers_of_some_versions_are_ambiguous() {
        let octal_and_such = [
            "0b11",
            "-0x1F",
            "+0x1F",
            "0X1F",
            "017",
            "08",
            "-017",
            "0o17",
            "0b_",
            "00.5",
            "0x1_F",
            "0x1FFFFFFFFFFFFFFFF",
        ];
        let others = [
            "1_000",
            "1_0.5",
            "1e400",
            "1.5e+400",
            "1e3",
            "1.5e3",
            "1E+3",
            "-.5",
            "12:30",
            "1:30:00.5",
            "-1:05",
            "1234567e12",
            "36893488147419103232",
        ];
        for scalar in octal_and_such.iter().chain(&others) {
            assert!(is_ambiguous_number(scalar), "{scalar}");
        }
    }

    #[test]
    fn text_in_all_versions_is_not_ambiguous() {
        for scalar in [
            "",
            "-",
            ".",
            "..",
            "_1",
            "1.2.3",
            "v1.0",
            "2024-01-01",
            "12:60",
            "a:30",
            "1a:30",
            "12:+5",
            "12:30.x",
            "1.5e+",
            "1.5e+x",
            "0b12",
            "0o8",
            "0xg",
            "1e",
            "e3",
            "inf",
            "nan",
            "1 000",
            "12 : 30",
        ] {
            assert!(!is_ambiguous_number(scalar), "{scalar}");
        }
    }
}
