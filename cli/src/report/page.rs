//! The page around the data.
//!
//! Drawing is done by uPlot, embedded as it is published; `page/README.md` says where it comes from.

use super::Report;

const SHELL: &str = include_str!("page/shell.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");
const UPLOT: &str = include_str!("page/uplot/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("page/uplot/uPlot.min.css");

/// The whole page as text.
pub(crate) fn page(report: &Report) -> serde_json::Result<String> {
    let data = in_script(&serde_json::to_string(report)?);
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
            _ => "",
        });
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
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

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>{{data}}";

    #[test]
    fn what_users_name_is_never_html() {
        let report =
            Report { title: HOSTILE.to_owned(), about: HOSTILE.to_owned(), ..Report::default() };
        let text = page(&report).unwrap();
        assert!(!text.contains("alert(1)</script>"), "it ends the element that it stands in");
        assert!(!text.contains("<img src=x"), "it is an element");
        // It is there all the same, as it was written.
        let (_, data) = text.split_once("id=\"data\">").unwrap();
        let (data, _) = data.split_once("</script>").unwrap();
        let value: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(value["about"], HOSTILE);
    }

    #[test]
    fn the_charts_are_drawn_by_the_version_that_is_named() {
        let readme = include_str!("page/README.md");
        assert!(UPLOT.starts_with("/*! https://github.com/leeoniya/uPlot (v1.6.32) */"));
        assert!(readme.contains("`uplot` 1.6.32"));
        assert!(include_str!("page/uplot/LICENSE").contains("The MIT License"));
    }

    #[test]
    fn a_page_names_nothing_outside() {
        let text = page(&Report::default()).unwrap();
        for mark in ["src=", "href=\"http", "url(", "@import", "fetch(", "XMLHttpRequest", "{{"] {
            assert!(!text.contains(mark), "{mark}");
        }
        assert!(text.contains("default-src 'none'"));
    }
}
