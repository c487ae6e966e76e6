//! The manifest: the typed fields of the frontmatter.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::error::{FoundDescription, ManifestError, Repr};
use crate::field_names::{RESTRICTION_FIELDS, is_spelling_of};
use crate::field_reader::{FieldReader, Flag};
use crate::frontmatter::Frontmatter;
use crate::invisible::has_visible_text;
use crate::mapping::Mapping;
use crate::warning::{Warning, WarningKind};
use crate::yaml;
use crate::{Extensions, NameRule, ReadingRules, SkillName, ToolPattern};

/// Maximum length of `description` by the specification, in characters.
const DESCRIPTION_MAX_CHARACTERS: usize = 1024;
/// Maximum length of `compatibility` by the specification, in characters.
const COMPATIBILITY_MAX_CHARACTERS: usize = 500;
/// How the placeholders of templates start; in two parts, since our own tasks are searched for it.
const PLACEHOLDER: &str = concat!("[TO", "DO");

/// The parsed and validated frontmatter of a skill.
///
/// The getters return the fields of the Agent Skills specification; fields that clients added are
/// in [`extensions`](Self::extensions), and all fields outside of the specification are kept as
/// written in [`extra`](Self::extra). A manifest only describes what the skill asks for: it grants
/// nothing, and parsing it runs nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    name: Option<SkillName>,
    description: String,
    license: Option<String>,
    compatibility: Option<String>,
    metadata: Map<String, Value>,
    allowed_tools: Vec<ToolPattern>,
    user_invocable: bool,
    model_invocable: bool,
    unparsed: Vec<&'static str>,
    extensions: Option<Box<Extensions>>,
    extra: Map<String, Value>,
}

impl Manifest {
    /// Parses the fields; a field that cannot be parsed is dropped with a warning and never grants
    /// anything.
    ///
    /// Frontmatter that is not valid YAML is repaired where possible: values that do not parse are
    /// quoted, or else `name` and `description` are recovered from their lines. Each step is a
    /// warning with line and column.
    ///
    /// ```
    /// use skills_manifest::{FrontmatterScan, Manifest, WarningKind};
    ///
    /// let file = b"---\nname: pdf\ndescription: Fills forms.\nallowed-tools: Read Bash(qpdf:*)\n---\n";
    /// let frontmatter = FrontmatterScan::parse_file(file)?;
    /// let (manifest, warnings) = Manifest::from_frontmatter(&frontmatter)?;
    /// assert_eq!(manifest.allowed_tools()[1].pattern(), Some("qpdf:*"));
    /// assert!(warnings.is_empty() && manifest.model_invocable());
    ///
    /// let file = b"---\ndescription: Fills forms.\nallowed-tools: 7\n---\n";
    /// let (manifest, _) = Manifest::from_frontmatter(&FrontmatterScan::parse_file(file)?)?;
    /// assert_eq!(manifest.unparsed_restrictions(), ["allowed-tools"]);
    /// assert!(!manifest.model_invocable());
    /// # Ok::<(), skills_manifest::ManifestError>(())
    /// ```
    ///
    /// # Errors
    /// [`ManifestError`] if no description can be recovered, a limit of the parser is exceeded, or
    /// `name`, `description` or a restriction occurs twice. The error carries the warnings that
    /// precede it.
    pub fn from_frontmatter(
        frontmatter: &Frontmatter<'_>,
    ) -> Result<(Self, Vec<Warning>), ManifestError> {
        Self::from_frontmatter_with(frontmatter, ReadingRules::default())
    }

    /// Parses the fields as a client does, without a body that could replace a description.
    ///
    /// # Errors
    /// As [`from_frontmatter`](Self::from_frontmatter), and if `rules` reject the file.
    pub fn from_frontmatter_with(
        frontmatter: &Frontmatter<'_>,
        rules: ReadingRules,
    ) -> Result<(Self, Vec<Warning>), ManifestError> {
        Self::parse_with(frontmatter, &[], rules)
    }

    /// Parses a whole file, or its first 64 KiB, as a client does.
    ///
    /// # Errors
    /// As [`from_frontmatter`](Self::from_frontmatter), and if `rules` reject the file.
    pub fn from_file(
        bytes: &[u8],
        rules: ReadingRules,
    ) -> Result<(Self, Vec<Warning>), ManifestError> {
        let frontmatter = rules.missing_description.scan_file(bytes)?;
        let body = bytes.get(frontmatter.body_offset()..).unwrap_or_default();
        Self::parse_with(&frontmatter, body, rules)
    }

    /// Parses the fields; `body` may replace a missing description.
    pub(crate) fn parse_with(
        frontmatter: &Frontmatter<'_>,
        body: &[u8],
        rules: ReadingRules,
    ) -> Result<(Self, Vec<Warning>), ManifestError> {
        rules.delimiters.check(frontmatter)?;
        let mut fields = read_fields(frontmatter)?;
        let name = parse_name(&mut fields, rules.name)?;
        let description = match parse_description(&mut fields) {
            Some(description) => description,
            None => match rules.missing_description.substitute(body) {
                Some((text, source)) => {
                    fields.warn("description", WarningKind::NoDescription(source));
                    text
                }
                None => return Err(missing_description(frontmatter, &mut fields)),
            },
        };
        let license = fields.take_text("license");
        let compatibility = parse_compatibility(&mut fields);
        let metadata = parse_metadata(&mut fields);
        let allowed_tools = fields.parse_allowed_tools();
        let hidden_from_users = parse_restricting_flag(&mut fields, "user-invocable", Flag::False);
        let hidden_from_models =
            parse_restricting_flag(&mut fields, "disable-model-invocation", Flag::True);
        let extensions = Extensions::parse(&mut fields, &metadata);
        fields.check_invisible(frontmatter.yaml());
        let FieldReader {
            map,
            warnings,
            unparsed,
            ..
        } = fields;
        let manifest = Self {
            name,
            description,
            license,
            compatibility,
            metadata,
            allowed_tools,
            // Not affected by other unparsed restrictions: a user names a skill deliberately, and
            // its scripts do not run anyway.
            user_invocable: !hidden_from_users,
            // Whatever the unparsed restriction says, a skill that the model cannot choose obeys
            // it.
            model_invocable: !hidden_from_models && unparsed.is_empty(),
            unparsed,
            extensions,
            // Collecting anew drops the capacity of the fields that were taken: catalogs keep
            // thousands of manifests.
            extra: map.into_iter().collect(),
        };
        Ok((manifest, warnings))
    }

    /// Validates the frontmatter and returns its `name` without building a manifest.
    ///
    /// `None` means that only [`from_frontmatter`](Self::from_frontmatter) can decide whether the
    /// skill loads. If it is `Some`, `from_frontmatter` succeeds with the same name. This is about
    /// ten times faster, since it allocates only the name; it covers the plain YAML that nearly all
    /// skills are written in.
    ///
    /// ```
    /// use skills_manifest::{FrontmatterScan, Manifest};
    ///
    /// let plain = FrontmatterScan::parse_file(b"---\nname: pdf\ndescription: Fills forms.\n---\n")?;
    /// let peek = Manifest::peek_name(&plain).and_then(|peek| peek.name);
    /// assert_eq!(peek.as_ref().map(|name| name.as_str()), Some("pdf"));
    ///
    /// let flow = FrontmatterScan::parse_file(b"---\n{name: pdf, description: Fills forms.}\n---\n")?;
    /// assert_eq!(Manifest::peek_name(&flow), None);
    /// # Ok::<(), skills_manifest::ManifestError>(())
    /// ```
    #[must_use]
    pub fn peek_name(frontmatter: &Frontmatter<'_>) -> Option<Peek> {
        let raw = yaml::peek_name(frontmatter.yaml())?;
        Some(Peek {
            name: raw.and_then(|name| SkillName::new(&name).ok()),
        })
    }

    /// Returns a manifest without fields and with every restriction set, for a skill whose file
    /// cannot be parsed.
    ///
    /// It fails closed: neither users nor models can invoke the skill, and its scripts do not run.
    #[must_use]
    pub fn unreadable() -> Self {
        Self {
            name: None,
            description: String::new(),
            license: None,
            compatibility: None,
            metadata: Map::new(),
            allowed_tools: Vec::new(),
            user_invocable: false,
            model_invocable: false,
            unparsed: RESTRICTION_FIELDS.to_vec(),
            extensions: None,
            extra: Map::new(),
        }
    }

    /// Returns `name`, or `None` if it is missing or invalid; callers then use the name of the
    /// directory.
    #[must_use]
    pub fn name(&self) -> Option<&SkillName> {
        self.name.as_ref()
    }

    /// Returns `description` as written: possibly of several lines, of any length; blank only with
    /// [`MissingDescription::Empty`](crate::MissingDescription::Empty).
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns `license` as written: a name or a reference to a bundled file.
    #[must_use]
    pub fn license(&self) -> Option<&str> {
        self.license.as_deref()
    }

    /// Returns `compatibility` as written: the environment that the skill needs, as text for
    /// people.
    #[must_use]
    pub fn compatibility(&self) -> Option<&str> {
        self.compatibility.as_deref()
    }

    /// Returns `metadata`, empty if it is missing.
    ///
    /// The specification allows text values only, but many skills nest mappings, so values keep
    /// their types.
    #[must_use]
    pub fn metadata(&self) -> &Map<String, Value> {
        &self.metadata
    }

    /// Returns `allowed-tools`: the tools that the skill asks for, in the order of the file.
    ///
    /// Empty if the field is missing, empty or invalid.
    #[must_use]
    pub fn allowed_tools(&self) -> &[ToolPattern] {
        &self.allowed_tools
    }

    /// Returns `user-invocable`: true if it is missing, false if it cannot be parsed.
    #[must_use]
    pub fn user_invocable(&self) -> bool {
        self.user_invocable
    }

    /// Returns true if the model may choose the skill by itself: `disable-model-invocation` is not
    /// true, and every declared restriction could be parsed.
    #[must_use]
    pub fn model_invocable(&self) -> bool {
        self.model_invocable
    }

    /// Returns the names of the declared restrictions that could not be parsed.
    ///
    /// Scripts of a skill that has any must not run.
    #[must_use]
    pub fn unparsed_restrictions(&self) -> &[&'static str] {
        &self.unparsed
    }

    /// Returns the typed form of the fields that clients added to the specification.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        static EMPTY: LazyLock<Extensions> = LazyLock::new(Extensions::default);
        self.extensions.as_deref().unwrap_or(&EMPTY)
    }

    /// Returns all fields outside of the specification as written, in the order of the file.
    ///
    /// Fields that [`extensions`](Self::extensions) covers are included, so that a program that
    /// rewrites a skill loses none of them.
    #[must_use]
    pub fn extra(&self) -> &Map<String, Value> {
        &self.extra
    }
}

/// The result of [`Manifest::peek_name`]: the frontmatter is certainly valid.
///
/// It contains only what a scan needs to list a skill and to find duplicates of its name; a full
/// parse is needed for everything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peek {
    /// The value that [`Manifest::name`] returns after a full parse.
    pub name: Option<SkillName>,
}

/// Parses the mapping and marks the restrictions that may have been missed.
fn read_fields<'a>(frontmatter: &'a Frontmatter<'a>) -> Result<FieldReader<'a>, ManifestError> {
    let mapping = Mapping::parse(frontmatter)?;
    let mut fields = FieldReader::new(mapping, frontmatter);
    mark_trailing_restrictions(&mut fields, frontmatter);
    mark_merged_restrictions(&mut fields);
    Ok(fields)
}

/// Marks the restrictions that the text after an inferred end declares and the fields lack.
///
/// The end may be too early, and the fields after it may restrict the skill.
fn mark_trailing_restrictions(fields: &mut FieldReader<'_>, frontmatter: &Frontmatter<'_>) {
    for field in crate::repair::declared_restrictions(&frontmatter.trailing) {
        if !fields.map.contains_key(field) {
            fields.mark_unparsed(field);
        }
    }
}

/// Marks the restrictions that a merge key (`<<`) would bring into the mapping.
fn mark_merged_restrictions(fields: &mut FieldReader<'_>) {
    // Merge keys are not part of YAML 1.2. Ignoring one must not lift a restriction that a client
    // with a YAML 1.1 parser would apply.
    if let Some(Value::Object(merged)) = fields.map.get("<<").cloned() {
        fields.warn("<<", WarningKind::MergeKey);
        for field in RESTRICTION_FIELDS {
            if merged.keys().any(|key| is_spelling_of(key, field)) {
                fields.mark_unparsed(field);
            }
        }
    }
}

/// Parses `name` by the rule of a client, which may reject the file.
fn parse_name(
    fields: &mut FieldReader<'_>,
    rule: NameRule,
) -> Result<Option<SkillName>, ManifestError> {
    let raw = fields.take_text("name");
    let text = match rule.read(raw.as_deref()) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(raw.and_then(|text| validate_name(fields, &text))),
        Err(problem) => {
            let line = fields.line_of("name");
            return Err(Repr::NameRejected { problem, line }.into());
        }
    };
    Ok(validate_name(fields, &text))
}

/// Returns a name with the warnings about it; `None` if it is not valid.
fn validate_name(fields: &mut FieldReader<'_>, text: &str) -> Option<SkillName> {
    match SkillName::new(text) {
        Ok(name) => {
            for violation in name.spec_violations() {
                fields.warn("name", WarningKind::NameViolatesSpec(violation));
            }
            Some(name)
        }
        Err(error) => {
            fields.warn("name", WarningKind::InvalidName(error));
            None
        }
    }
}

/// Returns the error for frontmatter without the only required field: without it, a model cannot
/// know when to use the skill.
fn missing_description(
    frontmatter: &Frontmatter<'_>,
    fields: &mut FieldReader<'_>,
) -> ManifestError {
    let line = fields.line_of("description");
    let found = match frontmatter.raw_value("description") {
        Some(value) if value.starts_with('#') => FoundDescription::Comment,
        Some(value) if value.starts_with(PLACEHOLDER) => FoundDescription::Placeholder,
        _ => FoundDescription::Nothing,
    };
    ManifestError::from(Repr::MissingDescription { line, found })
        .with_warnings(std::mem::take(&mut fields.warnings))
}

/// Parses `description`; `None` if it is missing or shows nothing.
fn parse_description(fields: &mut FieldReader<'_>) -> Option<String> {
    let text = fields
        .take_text("description")
        .filter(|text| has_visible_text(text))?;
    fields.check_text("description", &text, DESCRIPTION_MAX_CHARACTERS);
    fields.check_comment("description", &text);
    Some(text)
}

fn parse_compatibility(fields: &mut FieldReader<'_>) -> Option<String> {
    let text = fields.take_text("compatibility")?;
    fields.check_text("compatibility", &text, COMPATIBILITY_MAX_CHARACTERS);
    Some(text)
}

/// Parses `metadata`: a mapping, or JSON5 text of one, which some hubs write.
fn parse_metadata(fields: &mut FieldReader<'_>) -> Map<String, Value> {
    match fields.take("metadata") {
        None => Map::new(),
        Some(Value::Object(map)) => map,
        Some(Value::String(text)) => match crate::json5::parse(&text) {
            Some(Value::Object(map)) => map,
            _ => {
                fields.warn(
                    "metadata",
                    WarningKind::InvalidMetadataJson { key: String::new() },
                );
                Map::new()
            }
        },
        Some(value) => {
            fields.warn_wrong_type("metadata", "a mapping", &value);
            Map::new()
        }
    }
}

/// Parses a flag and returns whether it has the `restricting` value.
///
/// A value that cannot be parsed counts as the restricting one.
fn parse_restricting_flag(
    fields: &mut FieldReader<'_>,
    key: &'static str,
    restricting: Flag,
) -> bool {
    match fields.parse_flag(key) {
        None => false,
        Some(Flag::Unparsed) => {
            fields.mark_unparsed(key);
            true
        }
        Some(flag) => flag == restricting,
    }
}
