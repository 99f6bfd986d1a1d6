//! A report as one page of HTML that needs nothing beside it.
//!
//! Drawing is done by uPlot, embedded as it is published; `page/README.md` says where it comes from.

use std::{fs, io::Write, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, write::GzEncoder};

use crate::{contents::PageData, error::BadInput};

const SHELL: &str = include_str!("page/shell.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");
const UPLOT: &str = include_str!("page/uplot/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("page/uplot/uPlot.min.css");

/// Bytes of JSON from which on data is packed: what is smaller stays readable.
const PACKED_FROM: usize = 100_000;

/// The whole page as text.
pub fn page(report: &PageData) -> serde_json::Result<String> {
    let json = serde_json::to_string(report)?;
    let (packed, data) = match (PACKED_FROM < json.len()).then(|| packed(&json)).flatten() {
        Some(data) => (" data-packed=\"gzip\"", data),
        None => ("", in_script(&json)),
    };
    let title = escaped(&report.title);
    let mut text = String::with_capacity(data.len() + 128 * 1024);
    let mut rest = SHELL;
    // Each place is filled once: what is put in is not looked at again.
    while let Some((before, after)) = rest.split_once("{{") {
        text.push_str(before);
        let Some((name, after)) = after.split_once("}}") else { break };
        text.push_str(match name {
            "title" => &title,
            "style" => STYLE,
            "uplot-style" => UPLOT_STYLE,
            "uplot" => UPLOT,
            "script" => SCRIPT,
            "data" => &data,
            "packed" => packed,
            _ => "",
        });
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

/// `json` as gzip in base64, which a browser unpacks; `None` where that fails.
fn packed(json: &str) -> Option<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(json.as_bytes()).ok()?;
    Some(STANDARD.encode(encoder.finish().ok()?))
}

/// JSON that cannot end the element that it stands in, nor begin another one.
///
/// <https://html.spec.whatwg.org/multipage/scripting.html#restrictions-for-contents-of-script-elements>
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Text as HTML.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
    html
}

/// Writes the page to `path`: a reader finds the older file or the whole new one. An error names the option
/// `--html`.
pub fn write(report: &PageData, path: &Path) -> Result<(), BadInput> {
    let wrong =
        |error: std::io::Error| BadInput::one(format!("--html {}: {error}", path.display()));
    let text = page(report).map_err(|error| wrong(error.into()))?;
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    fs::write(&part, text).and_then(|()| fs::rename(&part, path)).map_err(wrong)
}
