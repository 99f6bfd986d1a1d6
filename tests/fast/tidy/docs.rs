//! The pages of `docs`: all of them are in the book, and what pages link to is there.

use std::{collections::BTreeSet, fs, path::Path};

use tests::{files, repository};

use crate::functions::read;

/// Folders whose pages are checked, and pages beside them.
const FOLDERS: [&str; 4] = ["docs", "examples", "tests/behaviours", "tests/proof"];
const PAGES: [&str; 2] = ["README.md", "CONTRIBUTING.md"];

/// The targets of the links in `page`, without its blocks of code.
fn links(page: &str) -> Vec<&str> {
    let prose = page.split("```").step_by(2);
    let targets = prose.flat_map(|text| text.split("](").skip(1));
    targets.filter_map(|rest| rest.split(')').next()).collect()
}

/// What GitHub and mdBook call the headings of `page` in addresses.
fn anchors(page: &str) -> BTreeSet<String> {
    let prose: String = page.split("```").step_by(2).collect();
    let headings = prose.lines().filter_map(|line| line.trim_start_matches('#').strip_prefix(' '));
    let anchor = |heading: &str| -> String {
        let kept = |c: &char| c.is_alphanumeric() || [' ', '-', '_'].contains(c);
        heading
            .to_lowercase()
            .chars()
            .filter(kept)
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    headings.map(anchor).collect()
}

/// What is wrong with a link to `target` on a page in `folder`; `None` if it leads somewhere.
fn problem(folder: &Path, page: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = folder.join(path);
    if !path.is_empty() && !file.exists() {
        return Some(format!("{target}: no such file"));
    }
    if anchor.is_empty() {
        return None;
    }
    let text = if path.is_empty() { Ok(page.to_owned()) } else { fs::read_to_string(&file) };
    let has_heading = text.is_ok_and(|text| anchors(&text).contains(anchor));
    (!has_heading).then(|| format!("{target}: no such heading"))
}

#[test]
fn every_link_leads_somewhere() {
    let root = repository();
    let inside = FOLDERS.iter().flat_map(|folder| files(&root.join(folder), &[".md"]));
    let pages: Vec<_> = inside.chain(PAGES.map(|page| root.join(page))).collect();
    assert!(pages.len() > 20, "only {} pages were read", pages.len());
    let mut wrong = Vec::new();
    for path in pages {
        let page = fs::read_to_string(&path).expect("a page can be read");
        let folder = path.parent().expect("a page is in a folder");
        let problems = links(&page).into_iter().filter_map(|link| problem(folder, &page, link));
        let name = path.strip_prefix(&root).expect("below the repository").display().to_string();
        wrong.extend(problems.map(|problem| format!("{name}: {problem}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn links_and_headings_are_read() {
    let page = "# A b, `c`: d\n[x](y.md#z) and\n```\n[no](no.md)\n# no\n```\n[w](#a-b-c-d)\n";
    assert_eq!(links(page), ["y.md#z", "#a-b-c-d"]);
    assert_eq!(anchors(page), BTreeSet::from(["a-b-c-d".to_owned()]));
    assert_eq!(problem(&repository(), page, "#a-b-c-d"), None);
    assert!(problem(&repository(), page, "#e").is_some());
    assert!(problem(&repository(), page, "gone.md").is_some());
}

#[test]
fn the_book_has_every_page() {
    let summary = read("docs/SUMMARY.md");
    let listed: Vec<&str> = links(&summary);
    let root = repository().join("docs");
    let name = |path: std::path::PathBuf| -> String {
        path.strip_prefix(&root).expect("in docs").display().to_string()
    };
    let pages = files(&root, &[".md"]).into_iter().map(name).filter(|page| page != "SUMMARY.md");
    let pages: BTreeSet<String> = pages.collect();
    let entries: BTreeSet<String> = listed.iter().map(|page| (*page).to_owned()).collect();
    assert_eq!(entries.len(), listed.len(), "a page is listed twice");
    assert_eq!(entries, pages, "docs/SUMMARY.md lists the pages of docs");
}
