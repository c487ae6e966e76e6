//! IPv4 addresses in all spellings that resolvers accept.

use std::net::Ipv4Addr;

/// Parses an IPv4 address as the C library does: one to four numbers, which can be octal (`0251`) or
/// hexadecimal (`0xa9`), of which the last one fills the rest: `127.1`, `0x7f.1`, `2130706433`.
pub(crate) fn parse_ipv4(text: &str) -> Option<Ipv4Addr> {
    let numbers: Option<Vec<u32>> = text.split('.').map(number).collect();
    let numbers = numbers?;
    let (last, first) = numbers.split_last()?;
    let last_bits = 32_u32.checked_sub(8 * u32::try_from(first.len()).ok()?)?;
    let fits = first.iter().all(|number| *number <= 255)
        && last_bits > 0
        && u64::from(*last) < 1 << last_bits;
    let bytes = first.iter().zip([24, 16, 8]);
    let high = bytes.fold(0, |high, (byte, shift)| high | byte << shift);
    fits.then(|| Ipv4Addr::from(high | last))
}

fn number(text: &str) -> Option<u32> {
    let lower = text.to_ascii_lowercase();
    let (digits, radix) = match lower.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None if lower.len() > 1 && lower.starts_with('0') => (&*lower, 8),
        None => (&*lower, 10),
    };
    // The library accepts a sign, resolvers do not.
    u32::from_str_radix(digits, radix)
        .ok()
        .filter(|_| !digits.starts_with('+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_the_c_library() {
        for (text, address) in [
            ("127.0.0.1", Some("127.0.0.1")),
            ("127.1", Some("127.0.0.1")),
            ("0X7F.1", Some("127.0.0.1")),
            ("0177.0.0.1", Some("127.0.0.1")),
            ("2130706433", Some("127.0.0.1")),
            ("10.1.2", Some("10.1.0.2")),
            ("10.65535.1", None),
            ("255.255.255.255", Some("255.255.255.255")),
            ("1.2.65535", Some("1.2.255.255")),
            ("1.2.65536", None),
            ("1.16777215", Some("1.255.255.255")),
            ("1.16777216", None),
            ("256.1", None),
            ("1.2.3.256", None),
            ("1.2.3.4.0", None),
            ("1.2.3.4.5", None),
            ("4294967295", Some("255.255.255.255")),
            ("4294967296", None),
            ("0", Some("0.0.0.0")),
            ("08", None),
            ("0x", None),
            ("+1", None),
            ("0x+1", None),
            ("1..2", None),
            ("", None),
            ("a.example", None),
        ] {
            let parsed = parse_ipv4(text).map(|address| address.to_string());
            assert_eq!(parsed.as_deref(), address, "{text}");
        }
    }
}
