//! Words that pages and outputs do without, because readers stumble over them.

use std::{collections::BTreeMap, fs, path::Path};

use tests::{files, repository};

/// What says the same in other words than Karpenter, Kubernetes and AWS do, or names no agent; in small letters.
const AVOIDED: [&str; 18] = [
    "are respected",
    "are told",
    "given up",
    "gives up",
    "is respected",
    "is told",
    "looks after it",
    "made equal",
    "no place for",
    "nobody",
    "nothing can go",
    "nothing must have happened",
    "promise",
    "so many",
    "somebody",
    "that is there twice",
    "what asks a",
    "whoever",
];

/// Pages in which words of code are no prose: they are not counted in quotes and blocks of code.
const PAGES: [&str; 3] = ["README.md", "CONTRIBUTING.md", "docs"];
/// Outputs, which are counted whole.
const OUTPUTS: [&str; 1] = ["tests/golden/cases"];

/// The text of a page without what stands for code.
fn prose(page: &str) -> String {
    let blocks = page.split("```").step_by(2);
    blocks.flat_map(|block| block.split('`').step_by(2)).collect()
}

fn count(text: &str) -> usize {
    let text = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    AVOIDED.iter().map(|word| text.matches(word).count()).sum()
}

/// How many of the words each file has, without those that have none.
fn counts(root: &Path) -> BTreeMap<String, usize> {
    let below = |folder: &&str| {
        let path = root.join(folder);
        if path.is_file() { vec![path] } else { files(&path, &[".md", ".txt", ".json", ".jsonl"]) }
    };
    let read = |is_page: bool| {
        move |path: std::path::PathBuf| {
            let text = fs::read_to_string(&path).expect("a text can be read");
            let text = if is_page { prose(&text) } else { text };
            let name = path.strip_prefix(root).expect("below the repository").display().to_string();
            (name, count(&text))
        }
    };
    let pages = PAGES.iter().flat_map(below).map(read(true));
    let outputs = OUTPUTS.iter().flat_map(below).map(read(false));
    pages.chain(outputs).filter(|(_, count)| *count > 0).collect()
}

#[test]
fn pages_and_outputs_use_plain_words() {
    let root = repository();
    let wrong: Vec<String> =
        counts(&root).iter().map(|(page, count)| format!("{page}: {count}")).collect();
    assert!(wrong.is_empty(), "words to avoid, {AVOIDED:?}:\n{}", wrong.join("\n"));
}

#[test]
fn words_are_counted_in_prose_only() {
    assert_eq!(count(&prose("It is\ntold Somebody; `promised`\n```\nnobody\n```\n")), 2);
    assert_eq!(count("Promised to nobody."), 2);
}
