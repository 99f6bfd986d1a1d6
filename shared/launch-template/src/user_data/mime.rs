//! MIME multipart archives: reading the user's, writing ours.
//!
//! A part can be kept as it is, or with only its content type and its text. Then encoded parts are
//! decoded, because the header that said so is not kept.
//!
//! Karpenter: `pkg/providers/amifamily/bootstrap/mime/mime.go` of the AWS provider.

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// The boundary of what we write, the same as Karpenter's.
const BOUNDARY: &str = "//";

/// A part of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Name, as it is written, and value.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Part {
    /// A part with nothing but a content type.
    pub(super) fn new(content_type: impl Into<String>, body: impl Into<String>) -> Self {
        let headers = vec![("Content-Type".to_owned(), content_type.into())];
        Self { headers, body: body.into() }
    }
}

/// What of the user's parts is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// Every header, and the body as it stands.
    All,
    /// The content type and the decoded body.
    ContentType,
}

/// Why a text is not an archive that can be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum MimeError {
    #[error("it starts like MIME, but line {line} is no header `Name: value`")]
    Header { line: usize },
    #[error("it starts like MIME, but is not multipart: Content-Type must be multipart/mixed")]
    NotMultipart,
    #[error("it is multipart MIME, but its Content-Type names no boundary")]
    NoBoundary,
    #[error("it is multipart MIME, but there is no line `--{boundary}--` that ends it")]
    NotEnded { boundary: String },
    #[error(
        "part {part} of the MIME archive has a line `--{BOUNDARY}`, which ends a part where nodes read \
         it"
    )]
    Delimiter { part: usize },
    #[error("part {part} of the MIME archive: Content-Transfer-Encoding {encoding}: {why}")]
    Encoding { part: usize, encoding: String, why: &'static str },
}

/// Whether `text` is to be read as MIME.
pub(super) fn looks_like_mime(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("MIME-Version:") || text.starts_with("Content-Type:")
}

/// The boundary of an archive whose own header is missing: `text` starts with a line `--BOUNDARY`, and the
/// header of a part follows.
pub(super) fn boundary_without_header(text: &str) -> Option<&str> {
    let mut lines = text.trim_start().lines();
    let boundary = lines.next()?.trim_end().strip_prefix("--").filter(|it| !it.is_empty())?;
    let (name, _) = lines.next()?.split_once(':')?;
    let is_of_part = name.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("content-"));
    is_of_part.then_some(boundary)
}

/// The archive of `parts`, with bare line ends.
pub(super) fn write(parts: &[Part]) -> Result<String, MimeError> {
    let mut out = format!(
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"{BOUNDARY}\"\n\n--{BOUNDARY}"
    );
    for (place, Part { headers, body }) in parts.iter().enumerate() {
        let body = body.replace('\r', "");
        if body.lines().any(is_delimiter) {
            return Err(MimeError::Delimiter { part: place + 1 });
        }
        out.push('\n');
        for (name, value) in headers {
            out.extend([name, ": ", value, "\n"]);
        }
        out.extend(["\n", &body, "\n--", BOUNDARY]);
    }
    out.push_str("--\n");
    Ok(out.replace('\r', ""))
}

/// Whether `line` ends a part of what we write.
fn is_delimiter(line: &str) -> bool {
    let rest = line.strip_prefix("--").and_then(|rest| rest.strip_prefix(BOUNDARY));
    rest.is_some_and(|rest| matches!(rest.trim_end(), "" | "--"))
}

/// The parts of the archive `text`.
pub(super) fn parse(text: &str, keep: Keep) -> Result<Vec<Part>, MimeError> {
    let text = text.replace('\r', "");
    let skipped = text.lines().take_while(|line| line.trim().is_empty()).count();
    let lines: Vec<&str> = text.lines().skip(skipped).collect();
    let head = headers(&lines, skipped)?;
    let content_type = head.get("content-type").unwrap_or_default();
    if !content_type.trim().to_ascii_lowercase().starts_with("multipart/") {
        return Err(MimeError::NotMultipart);
    }
    let boundary = boundary(content_type).ok_or(MimeError::NoBoundary)?;
    let (start, end) = (format!("--{boundary}"), format!("--{boundary}--"));
    let mut parts: Vec<(usize, Vec<&str>)> = Vec::new();
    // A boundary that nothing follows ends an archive as well, without its last two dashes: Go's
    // reader, which is Karpenter's, takes it so.
    let last = lines.iter().rposition(|line| !line.trim().is_empty());
    for (index, line) in lines.iter().enumerate().skip(head.lines) {
        let is_last = last == Some(index) && !parts.is_empty();
        if line.trim_end() == end || is_last && line.trim_end() == start {
            let parts = parts.into_iter().enumerate();
            let read = parts.map(|(part, (first, lines))| read_part(part + 1, &lines, first, keep));
            return read.collect();
        }
        if line.trim_end() == start {
            parts.push((skipped + index + 1, Vec::new()));
        } else if let Some((_, lines)) = parts.last_mut() {
            lines.push(line);
        }
    }
    Err(MimeError::NotEnded { boundary })
}

fn read_part(part: usize, lines: &[&str], before: usize, keep: Keep) -> Result<Part, MimeError> {
    let head = headers(lines, before)?;
    let body = lines.get(head.lines..).unwrap_or_default().join("\n");
    if keep == Keep::All {
        let named = head.fields.into_iter().map(|(name, value)| (canonical(&name), value));
        let mut headers: Vec<_> = named.collect();
        headers.sort();
        return Ok(Part { headers, body });
    }
    let encoding = head.get("content-transfer-encoding").unwrap_or_default().trim();
    let wrong = |why| MimeError::Encoding { part, encoding: encoding.to_owned(), why };
    let body = match encoding.to_ascii_lowercase().as_str() {
        "" | "7bit" | "8bit" | "binary" => body,
        "base64" => {
            let packed: String = body.split_ascii_whitespace().collect();
            let bytes = STANDARD.decode(packed).map_err(|_| wrong("it is not valid base64"))?;
            String::from_utf8(bytes).map_err(|_| wrong("it does not hold UTF-8 text"))?
        }
        _ => return Err(wrong("not supported yet (7bit, 8bit, binary and base64 are)")),
    };
    // RFC 2046: a part that does not say what it is, is plain text.
    let content_type = head.get("content-type").unwrap_or("text/plain").trim().to_owned();
    Ok(Part::new(content_type, body))
}

/// `content-type` as `Content-Type`.
fn canonical(name: &str) -> String {
    let mut is_first = true;
    let letter = |c: char| {
        let letter = if is_first { c.to_ascii_uppercase() } else { c };
        is_first = c == '-';
        letter
    };
    name.chars().map(letter).collect()
}

/// Headers by lower-case name, and how many lines they take with the empty one after them.
#[derive(Debug, Default)]
struct Headers {
    fields: Vec<(String, String)>,
    lines: usize,
}

impl Headers {
    fn get(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        fields.find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Reads headers up to the first empty line; a line that starts with white space goes on with the
/// one above it. `before` lines of the text came before `lines`.
fn headers(lines: &[&str], before: usize) -> Result<Headers, MimeError> {
    let mut headers = Headers::default();
    for (index, line) in lines.iter().enumerate() {
        headers.lines = index + 1;
        if line.trim().is_empty() {
            break;
        }
        let wrong = MimeError::Header { line: before + index + 1 };
        if line.starts_with([' ', '\t']) {
            let (_, value) = headers.fields.last_mut().ok_or(wrong)?;
            value.push(' ');
            value.push_str(line.trim());
        } else {
            let (name, value) = line.split_once(':').ok_or(wrong)?;
            headers.fields.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    Ok(headers)
}

/// The parameter `boundary` of a content type, with or without quotes.
fn boundary(content_type: &str) -> Option<String> {
    let is_boundary = |name: &str| name.trim().eq_ignore_ascii_case("boundary");
    let rest = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, _) = parameter.split_once('=')?;
        is_boundary(name).then_some(name)
    })?;
    let (_, after) = content_type.split_once(&format!("{rest}="))?;
    let after = after.trim_start();
    let value = match after.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?.0,
        None => after.split([';', ' ']).next()?,
    };
    (!value.is_empty()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests;
