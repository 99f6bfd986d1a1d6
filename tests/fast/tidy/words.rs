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

/// What code does without in names and texts, too: "create a NodeClaim", "delete", "disrupt", "relax" are Karpenter's
/// words; a user, a controller, a function or another program is the agent.
const AVOIDED_IN_CODE: [&str; 12] = [
    "gave up",
    "give up",
    "given up",
    "gives up",
    "giving up",
    "is told",
    "made equal",
    "nobody",
    "promis",
    "so many",
    "somebody",
    "whoever",
];

/// Files of code with such words, how many, and why.
const KEPT_IN_CODE: [(&str, usize, &str); 7] = [
    ("shared/aws/src/dynamodb/golden_tests.rs", 1, "the name of a stored item"),
    ("shared/model/src/claim.rs", 1, "the code of a phase in the table"),
    ("shared/model/src/claim/conditions.rs", 1, "the code of a state in the table"),
    ("shared/model/src/ledger/rejection.rs", 1, "a reason as earlier releases wrote it"),
    ("shared/model/tests/model/claim.rs", 2, "codes in the table"),
    ("shared/model/tests/model/ledger/rejection.rs", 1, "a reason as earlier releases wrote it"),
    ("shared/wire/src/record/tests.rs", 2, "a phase as it stands in the table"),
];

/// Pages in which words of code are no prose: they are not counted in quotes and blocks of code.
const PAGES: [&str; 3] = ["README.md", "CONTRIBUTING.md", "docs"];
/// Outputs, which are counted whole.
const OUTPUTS: [&str; 2] = ["tests/golden/cases", "cli/tests/terminal/screens"];

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

/// How many of the words `code` has: `given_up`, `GivenUp` and `given-up` are words as well.
fn count_in_code(code: &str) -> usize {
    let mut words = String::new();
    let mut last = ' ';
    for letter in code.chars() {
        let is_gap = letter.is_whitespace() || "_-/!".contains(letter);
        let begins = letter.is_uppercase() && last.is_lowercase();
        if (is_gap || begins) && !words.ends_with(' ') {
            words.push(' ');
        }
        if !is_gap {
            words.extend(letter.to_lowercase());
        }
        last = letter;
    }
    AVOIDED_IN_CODE.iter().map(|word| words.matches(word).count()).sum()
}

#[test]
fn code_uses_plain_words() {
    let root = repository();
    let paths = ["cli", "functions", "shared", "tests", "tools"]
        .iter()
        .flat_map(|folder| files(&root.join(folder), &[".rs"]))
        .filter(|path| !path.ends_with("tests/fast/tidy/words.rs"));
    let mut counts = BTreeMap::new();
    for path in paths {
        let name = path.strip_prefix(&root).expect("below the repository").display().to_string();
        let code = fs::read_to_string(&path).expect("a file of code can be read");
        counts.insert(name, count_in_code(&code));
    }
    counts.retain(|_, count| 0 < *count);
    let kept = KEPT_IN_CODE.map(|(file, count, _)| (file.to_owned(), count));
    assert_eq!(counts, BTreeMap::from(kept), "words to avoid: {AVOIDED_IN_CODE:?}");
}

#[test]
fn words_are_counted_in_names_and_across_lines() {
    assert_eq!(
        count_in_code("fn given_up() { ClaimGivenUp; PROMISED; \"given-up\"; give(up) }"),
        4
    );
    assert_eq!(count_in_code("/// What it is\n/// told of so\n//! many.\nfn nobodys_way() {}"), 3);
    assert_eq!(count_in_code("// It gives\n    /// up its Promise.\n"), 2);
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
