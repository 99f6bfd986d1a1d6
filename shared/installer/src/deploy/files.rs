//! The files of a release: a template, and the zips of the functions that it names.

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use report::error::BadInput;
use sha2::{Digest as _, Sha256};

/// The template's file in a release.
pub const TEMPLATE: &str = "template.yaml";

/// The template of the release in `folder`.
///
/// # Errors
///
/// If it cannot be read, or names no zips: `template.yaml` of a checkout does not.
pub fn template(folder: &Path) -> Result<String, BadInput> {
    let file = folder.join(TEMPLATE);
    let text = std::fs::read_to_string(&file)
        .map_err(|error| BadInput::one(format!("{}: {error}", file.display())))?;
    if zips(&text).is_empty() {
        return Err(BadInput::one(format!(
            "{}: the template of a checkout, not of a release: deploy it with sam deploy",
            file.display()
        )));
    }
    Ok(text)
}

/// Names of the zips in `template`, such as `wake-arm64-SHA256.zip`.
pub fn zips(template: &str) -> BTreeSet<&str> {
    let is_of_name =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let words = template.split(|letter| !is_of_name(letter));
    words.filter(|word| checksum(word).is_some()).collect()
}

/// Those of `zips` that run on `architecture`, in their order.
pub fn of_architecture<'a>(zips: &BTreeSet<&'a str>, architecture: &str) -> Vec<&'a str> {
    let part = format!("-{architecture}-");
    zips.iter().copied().filter(|name| name.contains(&part)).collect()
}

/// The content of the zip `name` in `folder`.
///
/// # Errors
///
/// If it cannot be read, or does not have the checksum of its name.
pub fn zip(folder: &Path, name: &str) -> Result<Vec<u8>, BadInput> {
    let file = folder.join(name);
    let content = std::fs::read(&file)
        .map_err(|error| BadInput::one(format!("{}: {error}", file.display())))?;
    if checksum(name) != Some(sha256(&content).as_str()) {
        let why = "its content does not have the checksum of its name: download the release again";
        return Err(BadInput::one(format!("{}: {why}", file.display())));
    }
    Ok(content)
}

/// The checksum of `template`, whatever white space an answer of CloudFormation has behind it.
pub fn digest(template: &str) -> String {
    sha256(template.trim_end().as_bytes())
}

/// The key below `prefix` of the template with this [`digest`]: another template has another key.
pub fn template_key(prefix: &str, digest: &str) -> String {
    format!("{prefix}template-{digest}.yaml")
}

/// Checks the beginning of keys: names with a slash behind each, which need no encoding in a URL.
///
/// # Errors
///
/// If it is something else.
pub fn check_prefix(prefix: &str) -> Result<(), BadInput> {
    let is_of_name =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let is_name = |name: &str| !name.is_empty() && name.chars().all(is_of_name);
    match prefix.strip_suffix('/') {
        None if prefix.is_empty() => Ok(()),
        Some(names) if names.split('/').all(is_name) => Ok(()),
        _ => Err(BadInput::one(format!(
            "--prefix {prefix}: must be empty, or letters, digits, `-`, `_`, `.` and `/` with a `/` at its end"
        ))),
    }
}

/// The checksum in the name of a zip: 64 hexadecimal digits before `.zip`.
fn checksum(name: &str) -> Option<&str> {
    let (_, checksum) = name.strip_suffix(".zip")?.rsplit_once('-')?;
    let is_digit = |letter: char| matches!(letter, '0'..='9' | 'a'..='f');
    (checksum.len() == 64 && checksum.chars().all(is_digit)).then_some(checksum)
}

fn sha256(content: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(content) {
        // Writing to a text does not fail.
        let _ok = write!(text, "{byte:02x}");
    }
    text
}
