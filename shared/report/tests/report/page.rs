//! What users named is never HTML, and a page needs nothing beside it.

use std::io::Read;

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::read::GzDecoder;
use report::{contents::PageData, page::page};

const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>{{data}}";

#[test]
fn what_users_name_is_never_html() {
    let report =
        PageData { title: HOSTILE.to_owned(), about: HOSTILE.to_owned(), ..PageData::default() };
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
fn what_is_large_is_packed_and_nothing_is_lost() {
    let about = HOSTILE.repeat(2_000);
    let report = PageData { about: about.clone(), ..PageData::default() };
    let text = page(&report).unwrap();
    assert!(text.len() < about.len(), "{} bytes", text.len());
    assert!(!text.contains("alert(2)"));
    let (_, data) = text.split_once("data-packed=\"gzip\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let mut json = String::new();
    let bytes = STANDARD.decode(data).unwrap();
    GzDecoder::new(bytes.as_slice()).read_to_string(&mut json).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["about"], about);
}

#[test]
fn the_charts_are_drawn_by_the_version_that_is_named() {
    let readme = include_str!("../../src/page/README.md");
    assert!(
        include_str!("../../src/page/uplot/uPlot.iife.min.js")
            .starts_with("/*! https://github.com/leeoniya/uPlot (v1.6.32) */")
    );
    assert!(readme.contains("`uplot` 1.6.32"));
    assert!(include_str!("../../src/page/uplot/LICENSE").contains("The MIT License"));
}

#[test]
fn a_page_names_nothing_outside() {
    let text = page(&PageData::default()).unwrap();
    for mark in ["src=", "href=\"http", "url(", "@import", "fetch(", "XMLHttpRequest", "{{"] {
        assert!(!text.contains(mark), "{mark}");
    }
    assert!(text.contains("default-src 'none'"));
}
