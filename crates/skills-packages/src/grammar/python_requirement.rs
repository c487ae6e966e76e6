//! Requirements of Python packages (PEP 508).
//!
//! What the library cannot parse safely is refused before it is called:
//!
//! - It panics for a name that ends with `-`, `_` or `.`, for non-ASCII characters in markers, for
//!   local versions in the comparisons of markers, and for numbers near the maximum.
//! - It reads the environment and the working directory for URLs, and panics without the latter.
//! - It recurses for each parenthesis of a marker, and takes exponential time in the number of
//!   comparisons. It holds a lock meanwhile, and a panic would disable it for the whole process.
//!   Displaying a marker takes longer than parsing it, so markers are displayed as written.

use std::fmt;

use pep508_rs::{
    MarkerEnvironment, MarkerEnvironmentBuilder, MarkerTree, Requirement, VersionOrUrl,
};

use super::{PythonVersion, catch_panic};

/// Maximum length of a requirement, in bytes.
const MAX_BYTES: usize = 4_096;
/// Maximum number of words in the quotes of a marker: each is compared with a value of the system.
const MAX_COMPARISONS: usize = 24;
/// Maximum nesting of the parentheses of a marker.
const MAX_DEPTH: usize = 32;
/// Maximum number of digits of a number in a marker. The library adds 1 to numbers of 64 bits.
const MAX_DIGITS: usize = 18;

/// A requirement of a Python package from an index.
///
/// Displayed in its normalized form, with markers as written: `rich>=2 ; python_version >= '3.8'`.
///
/// ```
/// use skills_packages::PythonRequirement;
///
/// let requirement = PythonRequirement::parse("Py_PDF [crypto] >=4").unwrap();
/// assert_eq!(requirement.to_string(), "py-pdf[crypto]>=4");
/// assert_eq!(requirement.name(), "py-pdf");
/// assert!(PythonRequirement::parse("pypdf. >=4").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonRequirement {
    name: String,
    text: String,
    parsed: Requirement,
}

/// A text that is not a requirement of a package from an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct InvalidRequirement {
    reason: &'static str,
    package_of_url: Option<String>,
}

/// The values of markers on one system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonSystem(MarkerEnvironment);

impl PythonRequirement {
    /// Parses a requirement.
    ///
    /// # Errors
    /// Fails for a text that is not a requirement, for one with a URL, and for one that the library
    /// cannot parse safely: more than 4,096 bytes, or markers with more than 24 comparisons, with
    /// parentheses nested more than 32 times, or with control characters or characters that are not ASCII.
    pub fn parse(text: &str) -> Result<Self, InvalidRequirement> {
        check(text)?;
        let parse = || {
            let parsed: Requirement = text.parse().ok()?;
            let without_markers = Requirement {
                marker: MarkerTree::TRUE,
                ..parsed.clone()
            };
            Some((parsed, without_markers.to_string()))
        };
        let result = catch_panic(parse).ok_or_else(|| invalid("the parser failed"))?;
        let (parsed, mut canonical) = result.ok_or_else(|| invalid(EXPECTED))?;
        if let Some((_, markers)) = text.split_once(';') {
            canonical.push_str(" ; ");
            canonical.push_str(markers.trim_ascii());
        }
        Ok(Self {
            name: normalize_name(parsed.name.as_ref()),
            text: canonical,
            parsed,
        })
    }

    /// Returns the normalized name of the package.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if it requires extras of the package.
    #[must_use]
    pub fn has_extras(&self) -> bool {
        !self.parsed.extras.is_empty()
    }

    /// Returns true if its markers hold on a system, without extras.
    #[must_use]
    pub fn applies_to(&self, system: &PythonSystem) -> bool {
        // What cannot be decided is required.
        catch_panic(|| self.parsed.evaluate_markers(&system.0, &[])).unwrap_or(true)
    }

    /// Returns true if it is required on a system by the extras of another requirement, and not
    /// without them.
    #[must_use]
    pub fn is_required_by_extras_of(&self, other: &Self, system: &PythonSystem) -> bool {
        let extras = &other.parsed.extras;
        let applies = catch_panic(|| self.parsed.evaluate_markers(&system.0, extras));
        applies.unwrap_or(true) && !self.applies_to(system)
    }

    /// Returns true if it accepts a version; `None` stands for a version that is not known, which is
    /// accepted only if every one is.
    #[must_use]
    pub fn accepts(&self, version: Option<&PythonVersion>) -> bool {
        match (&self.parsed.version_or_url, version) {
            (None, _) => true,
            (Some(VersionOrUrl::VersionSpecifier(specifiers)), Some(version)) => {
                catch_panic(|| specifiers.contains(version.inner())).unwrap_or(false)
            }
            _ => false,
        }
    }
}

impl fmt::Display for PythonRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl InvalidRequirement {
    /// Returns the normalized name of the package if the text names one with a URL.
    #[must_use]
    pub fn package_of_url(&self) -> Option<&str> {
        self.package_of_url.as_deref()
    }
}

impl PythonSystem {
    /// Returns the values on this system for CPython with this minor version of Python 3; `None` if
    /// the library does not accept them.
    #[must_use]
    pub fn of_host(minor_version: u32) -> Option<Self> {
        let version = format!("3.{minor_version}");
        let full = format!("{version}.0");
        let (system, platform) = match std::env::consts::OS {
            "macos" => ("Darwin", "darwin"),
            "windows" => ("Windows", "win32"),
            _ => ("Linux", "linux"),
        };
        let machine = match (std::env::consts::OS, std::env::consts::ARCH) {
            ("macos", "aarch64") => "arm64",
            (_, machine) => machine,
        };
        let builder = MarkerEnvironmentBuilder {
            implementation_name: "cpython",
            implementation_version: &full,
            os_name: if cfg!(windows) { "nt" } else { "posix" },
            platform_machine: machine,
            platform_python_implementation: "CPython",
            platform_release: "",
            platform_system: system,
            platform_version: "",
            python_full_version: &full,
            python_version: &version,
            sys_platform: platform,
        };
        MarkerEnvironment::try_from(builder).ok().map(Self)
    }
}

/// Returns the normalized form of a package name, by which an index knows it: lowercase, with one
/// `-` for each run of `-`, `_` and `.`.
#[must_use]
pub fn normalize_name(name: &str) -> String {
    let mut normalized = String::with_capacity(name.len());
    for character in name.chars() {
        if !"-_.".contains(character) {
            normalized.extend(character.to_lowercase());
        } else if !normalized.ends_with('-') {
            normalized.push('-');
        }
    }
    normalized
}

/// The reason for texts that the grammar excludes.
const EXPECTED: &str = "expected a name with versions, such as `pypdf>=4`";

fn invalid(reason: &'static str) -> InvalidRequirement {
    InvalidRequirement {
        reason,
        package_of_url: None,
    }
}

/// Refuses what the library is not called with.
fn check(text: &str) -> Result<(), InvalidRequirement> {
    if text.len() > MAX_BYTES {
        return Err(invalid("more than 4,096 bytes"));
    }
    let (name, rest) = split_name(text.trim_ascii_start());
    let rest = without_extras(rest.trim_ascii_start())?.trim_ascii_start();
    if !is_name(name) {
        return Err(invalid(EXPECTED));
    }
    match rest.bytes().next() {
        None | Some(b'(' | b'<' | b'=' | b'>' | b'~' | b'!' | b';') => {}
        Some(b'@') => {
            return Err(InvalidRequirement {
                reason: "not from an index",
                package_of_url: Some(normalize_name(name)),
            });
        }
        Some(_) => return Err(invalid(EXPECTED)),
    }
    if !rest.is_ascii() {
        return Err(invalid("it has characters that are not ASCII"));
    }
    // A line end in quotes would start another line in the files that package managers get.
    if text
        .bytes()
        .any(|byte| byte.is_ascii_control() && byte != b'\t')
    {
        return Err(invalid("it has control characters"));
    }
    match rest.split_once(';') {
        Some((_, markers)) => check_markers(markers),
        None => Ok(()),
    }
}

/// Splits a text after the characters that a name can have.
fn split_name(text: &str) -> (&str, &str) {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let end = text.bytes().position(|byte| !is_part(byte));
    // Each byte before that position is a character.
    text.split_at(end.unwrap_or(text.len()))
}

fn is_name(text: &str) -> bool {
    let is_end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    is_end(text.bytes().next()) && is_end(text.bytes().last())
}

/// Returns the text after the list of extras, if there is one.
fn without_extras(text: &str) -> Result<&str, InvalidRequirement> {
    let Some(list) = text.strip_prefix('[') else {
        return Ok(text);
    };
    let (extras, rest) = list.split_once(']').ok_or_else(|| invalid(EXPECTED))?;
    let mut names = extras.split(',').map(str::trim_ascii);
    let is_extra = |name: &str| is_name(name) && split_name(name).1.is_empty();
    let is_list = extras.trim_ascii().is_empty() || names.all(is_extra);
    is_list.then_some(rest).ok_or_else(|| invalid(EXPECTED))
}

/// Refuses markers by their size and by what they contain.
fn check_markers(markers: &str) -> Result<(), InvalidRequirement> {
    let (mut quote, mut words, mut depth, mut digits) = (None, 0, 0, 0);
    for byte in markers.bytes() {
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        match (quote, byte) {
            (Some(open), _) if byte == open => quote = None,
            (None, b'"' | b'\'') => {
                quote = Some(byte);
                words += 1;
            }
            (Some(_), _) if byte.is_ascii_whitespace() => words += 1,
            (None, b'(') => depth += 1,
            (None, b')') => depth = usize::saturating_sub(depth, 1),
            // Comparisons ignore local versions.
            (_, b'+') => return Err(invalid("its markers have a local version")),
            _ => {}
        }
        if words > MAX_COMPARISONS {
            return Err(invalid("its markers have more than 24 comparisons"));
        }
        if depth > MAX_DEPTH {
            return Err(invalid("its markers are nested more than 32 times"));
        }
        if digits > MAX_DIGITS {
            return Err(invalid(
                "its markers have a number with more than 18 digits",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reason(text: &str) -> &'static str {
        match PythonRequirement::parse(text) {
            Ok(_) => "parsed",
            Err(invalid) => invalid.reason,
        }
    }

    #[test]
    fn a_requirement_that_the_library_cannot_parse_is_refused() {
        let cases = [
            "b; python_version<\"3\"é",
            "b; os_name==\"a\"or\"éé\"==os_name",
            "b; sys_platform == 'é'",
            "typer.==1",
            "typer-;os_name==''",
            "a[x.]",
            "a[x,y_]>=1",
            "$HOME/x",
            "a /$HOME",
            "a @ é",
            "b; implementation_version not in '1+a' and implementation_version<'2'",
            "b; python_version > '3.18446744073709551615'",
            "b\0",
            "b; os_name == 'a\n--index-url https://evil.example'",
        ];
        let found = cases.map(|text| format!("{}: {}", text.escape_debug(), reason(text)));
        insta::assert_snapshot!(found.join("\n"), @r#"
        b; python_version<\"3\"é: it has characters that are not ASCII
        b; os_name==\"a\"or\"éé\"==os_name: it has characters that are not ASCII
        b; sys_platform == \'é\': it has characters that are not ASCII
        typer.==1: expected a name with versions, such as `pypdf>=4`
        typer-;os_name==\'\': expected a name with versions, such as `pypdf>=4`
        a[x.]: expected a name with versions, such as `pypdf>=4`
        a[x,y_]>=1: expected a name with versions, such as `pypdf>=4`
        $HOME/x: expected a name with versions, such as `pypdf>=4`
        a /$HOME: expected a name with versions, such as `pypdf>=4`
        a @ é: not from an index
        b; implementation_version not in \'1+a\' and implementation_version<\'2\': its markers have a local version
        b; python_version > \'3.18446744073709551615\': its markers have a number with more than 18 digits
        b\0: expected a name with versions, such as `pypdf>=4`
        b; os_name == \'a\n--index-url https://evil.example\': it has control characters
        "#);
        let nested = format!("a; {}os_name==''{}", "(".repeat(1_000), ")".repeat(1_000));
        assert_eq!(reason(&nested), "its markers are nested more than 32 times");
        let long = format!("a; os_name=='{}'", "x".repeat(MAX_BYTES));
        assert_eq!(reason(&long), "more than 4,096 bytes");
        // The library is not disabled by any of them.
        assert_eq!(reason("b; python_version < '3'"), "parsed");
    }

    #[test]
    fn requirements_of_real_packages_are_parsed() {
        for text in [
            "  pypdf >= 4 , < 5 ",
            "httpx[http2,socks] (>=0.27)",
            "a[ ]",
            "a[ x , Y.z ]; extra == 'x'",
            "greenlet>=1; python_version < \"3.14\" and (platform_machine == \"aarch64\" or \
             (platform_machine == \"ppc64le\" or (platform_machine == \"x86_64\" or \
             (platform_machine == \"amd64\" or (platform_machine == \"AMD64\" or \
             (platform_machine == \"win32\" or platform_machine == \"WIN32\"))))))",
            "tzdata; python_version in '3.7 3.8 3.9'",
            "torch==2.1.0+cpu",
        ] {
            assert_eq!(reason(text), "parsed", "{text}");
        }
    }

    #[test]
    fn the_time_of_markers_is_bounded() {
        // Each pair doubles the size of the decision diagram of the library, and, with the operators
        // exchanged, the length of its text.
        for [inner, outer] in [["and", "or"], ["or", "and"]] {
            let pairs = |count: usize| {
                let pair = |n| format!("(extra == 'a{n}' {inner} extra == 'b{n}')");
                let pairs: Vec<String> = (0..count).map(pair).collect();
                format!("x; {}", pairs.join(&format!(" {outer} ")))
            };
            assert_eq!(reason(&pairs(12)), "parsed");
            assert_eq!(
                reason(&pairs(13)),
                "its markers have more than 24 comparisons"
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_library_panic(
            text in "(a|[.-]|\\[|\\]|,|@|;|==|<|>=|~=|not in| in | and | or |\\(|\\)|'|\"|extra|\
                     python_version|python_full_version|implementation_version|os_name|\
                     platform_machine|[0-9]{1,20}|\\.\\*|\\+|[ab3.]{1,3}|é| ){0,40}",
            markers in "(; ?(python_version|extra|os_name|implementation_version) ?(==|<|>|~=|!=|===| in | not in )\
                        ?'(3|3\\.1|3\\.\\*|a|1\\.2a1|3 4\\.5)'( and | or |and'|é)?){0,4}",
        ) {
            for text in [text.clone(), format!("a {markers}"), format!("a ;{text}")] {
                let result = PythonRequirement::parse(&text);
                if let Err(invalid) = &result {
                    prop_assert_ne!(invalid.reason, "the parser failed", "{}", text);
                }
                if let Ok(requirement) = result {
                    let again = PythonRequirement::parse(&requirement.to_string());
                    let again = again.map(|again| again.name).map_err(|error| error.reason);
                    prop_assert_eq!(again, Ok(requirement.name), "{}", text);
                }
            }
        }
    }
}
