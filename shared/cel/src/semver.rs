//! Semantic versions.
//!
//! <https://semver.org/spec/v2.0.0.html>, as Kubernetes reads them (`pkg/cel/library/semverlib.go` of its API server).

/// A semantic version without its build: versions are compared by their precedence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Semver {
    /// The first number.
    pub major: u64,
    /// The second.
    pub minor: u64,
    /// The third.
    pub patch: u64,
    /// A release comes after what precedes it.
    is_release: bool,
    before_release: Vec<Identifier>,
}

/// A part of what stands behind `-`. Numbers come before words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl Semver {
    /// The version that `text` is: `1.2.3`, `1.2.3-rc.1+build`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '.');
        let (major, minor, end) = (number(parts.next()?)?, number(parts.next()?)?, parts.next()?);
        let (end, build) = end.split_once('+').map_or((end, None), |(end, b)| (end, Some(b)));
        let (patch, before) = end.split_once('-').map_or((end, None), |(end, b)| (end, Some(b)));
        if build.is_some_and(|build| !build.split('.').all(is_identifier)) {
            return None;
        }
        let before_release =
            before.into_iter().flat_map(|before| before.split('.')).map(identifier);
        Some(Self {
            major,
            minor,
            patch: number(patch)?,
            is_release: before.is_none(),
            before_release: before_release.collect::<Option<_>>()?,
        })
    }

    /// As [`Self::parse`], but for a `v` before it, numbers that are left out and zeros before them: `v1.02`.
    pub fn parse_tolerant(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
        if parts.len() < 3 && parts.last()?.contains(['+', '-']) {
            return None;
        }
        parts.resize(3, "0".to_owned());
        Self::parse(&parts.join("."))
    }
}

fn without_zeros(part: &str) -> String {
    if part.len() < 2 {
        return part.to_owned();
    }
    let number = part.trim_start_matches('0');
    let zero = if number.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "0" };
    format!("{zero}{number}")
}

fn number(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let has_zero = text.len() > 1 && text.starts_with('0');
    if is_number && !has_zero { text.parse().ok() } else { None }
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn identifier(text: &str) -> Option<Identifier> {
    if !is_identifier(text) {
        None
    } else if text.bytes().all(|byte| byte.is_ascii_digit()) {
        number(text).map(Identifier::Number)
    } else {
        Some(Identifier::Word(text.to_owned()))
    }
}
