//! `docs/reference.md` is made of the code: every word that users and tools meet, with what the code says of it.
//!
//! What a word means is the doc comment beside it; the lint `missing_docs` keeps any from lacking one.

use std::{collections::BTreeMap, fmt::Debug};

use expect_test::expect_file;
use model::{
    ConditionKind, DeletionReason,
    disruption::DisruptionReason,
    event::EventReason,
    join::JoinReason,
    ledger::{DecisionKind, RejectionReason},
    validation::FailedCheck,
};
use tests::pages;

use crate::functions::read;

/// The doc comments in the block of `path` that begins with the line `start`, by what they stand before: a
/// variant, or the name of a constant.
fn documented(path: &str, start: &str) -> Vec<(String, String)> {
    let text = read(path);
    let (_, block) = text.split_once(start).unwrap_or_else(|| panic!("{path} has no {start}"));
    let (mut said, mut doc) = (Vec::new(), Vec::new());
    for line in block.lines() {
        if line.starts_with('}') {
            break;
        }
        let line = line.trim();
        if let Some(part) = line.strip_prefix("///") {
            doc.push(part.trim().to_owned());
        } else if !line.is_empty() && !line.starts_with("//") && !line.starts_with("#[") {
            let name = line.strip_prefix("pub const ").unwrap_or(line);
            let name: String =
                name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !doc.is_empty() && !name.is_empty() {
                // The paragraphs after the first are for readers of the code.
                let doc = doc.join(" ");
                said.push((name, doc.split("  ").next().unwrap_or_default().to_owned()));
            }
            doc.clear();
        }
    }
    assert!(!said.is_empty(), "{path}: nothing is said of {start}");
    said
}

/// A table of `words`, each with what `docs` say of the variant that it is.
fn table(words: impl Iterator<Item = (String, String)>, docs: &[(String, String)]) -> String {
    let docs: BTreeMap<&str, &str> =
        docs.iter().map(|(name, doc)| (name.as_str(), doc.as_str())).collect();
    let row = |(variant, word): (String, String)| {
        let doc =
            docs.get(variant.as_str()).unwrap_or_else(|| panic!("nothing is said of {variant}"));
        format!("| `{word}` | {} |\n", doc.replace('|', "\\|"))
    };
    words.map(row).collect()
}

/// The table of an enum: its variants `all`, each with its `word`, and with what the block of `path` that begins with
/// the line `start` says of it.
fn of_enum<T: Debug + Copy>(
    (path, start): (&str, &str),
    all: &[T],
    word: fn(T) -> &'static str,
) -> String {
    let words = all.iter().map(|variant| (format!("{variant:?}"), word(*variant).to_owned()));
    table(words, &documented(path, start))
}

fn events() -> String {
    let block = ("shared/model/src/event.rs", "pub enum EventReason {");
    of_enum(block, &EventReason::ALL, EventReason::as_str)
}

fn conditions() -> String {
    let block = ("shared/model/src/condition.rs", "pub enum ConditionKind {");
    of_enum(block, &ConditionKind::ALL, ConditionKind::as_str)
}

/// Reasons of conditions that are words of their own. Those that another list has are not repeated.
fn condition_reasons() -> String {
    let docs = documented("shared/model/src/condition.rs", "pub enum ConditionReason {");
    let text = read("shared/model/src/condition.rs");
    let (_, block) = text.split_once("pub enum ConditionReason {").expect("the reasons");
    let (block, _) = block.split_once("\n}").expect("their end");
    let is_word = |name: &str| block.lines().any(|line| line.trim() == format!("{name},"));
    let words = docs.iter().filter(|(name, _)| is_word(name));
    let words: Vec<(String, String)> =
        words.map(|(name, _)| (name.clone(), written(&text, name))).collect();
    assert!(words.len() > 10, "{words:?}");
    let checks = ("shared/model/src/validation.rs", "pub enum FailedCheck {");
    table(words.into_iter(), &docs) + &of_enum(checks, &FailedCheck::ALL, FailedCheck::as_str)
}

/// What is written for the variant called `name`, by the match in `text`.
fn written(text: &str, name: &str) -> String {
    let arm = text.split_once(&format!("Self::{name} => \"")).map(|(_, rest)| rest);
    let word = arm.and_then(|rest| rest.split_once('"')).map(|(word, _)| word);
    word.unwrap_or_else(|| panic!("nothing is written for {name}")).to_owned()
}

fn deletion_reasons() -> String {
    let (nested, plain): (Vec<_>, Vec<_>) = DeletionReason::ALL
        .into_iter()
        .partition(|reason| matches!(reason, DeletionReason::Disrupted(_)));
    assert_eq!(nested.len(), DisruptionReason::ALL.len());
    let own_block = ("shared/model/src/claim.rs", "pub enum DeletionReason {");
    let nested_block = ("shared/model/src/disruption.rs", "pub enum DisruptionReason {");
    of_enum(own_block, &plain, DeletionReason::as_str)
        + &of_enum(nested_block, &DisruptionReason::ALL, DisruptionReason::as_str)
}

fn join_reasons() -> String {
    let block = ("shared/model/src/join.rs", "pub enum JoinReason {");
    of_enum(block, &JoinReason::ALL, JoinReason::as_str)
}

fn kinds() -> String {
    let block = ("shared/model/src/ledger/decision.rs", "pub enum DecisionKind {");
    of_enum(block, &DecisionKind::ALL, DecisionKind::as_str)
}

fn rejections() -> String {
    let block = ("shared/model/src/ledger/rejection.rs", "\nrejection_reasons! {");
    of_enum(block, RejectionReason::ALL, RejectionReason::as_str)
}

/// Labels, annotations and tags that Karpenter does not have.
fn labels() -> String {
    let docs = documented("shared/model/src/labels.rs", "well-known-labels>\n");
    let text = read("shared/model/src/labels.rs");
    let value = |name: &str| {
        let (_, rest) = text.split_once(&format!("pub const {name}: &str ="))?;
        let (_, rest) = rest.split_once('"')?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let words = docs.iter().filter_map(|(name, _)| Some((name.clone(), value(name)?)));
    let is_ours = |word: &str| {
        // What only other labels start with is no label.
        (word.starts_with("journeyman/") && !word.ends_with('-'))
            || [model::labels::MANAGED_BY, model::labels::BATCH_TAG].contains(&word)
    };
    let words: Vec<_> = words.filter(|(_, word)| is_ours(word)).collect();
    assert!(words.len() > 10, "{words:?}");
    table(words.into_iter(), &docs)
}

/// `rows` as the table `name` of the page, each with what `page` says is to be done.
fn with_cures(page: &str, name: &str, rows: &str) -> String {
    let cures = pages::last_cells(page, name);
    let row = |row: &str| {
        let word = row.split('`').nth(1).unwrap_or_default();
        format!("{row} {} |\n", cures.get(word).unwrap_or(&""))
    };
    let rows: String = rows.lines().map(row).collect();
    format!("| reason | meaning | what to do |\n|---|---|---|\n{rows}")
}

/// Karpenter's words for what EC2 says to a launch; the page says by hand what each means.
fn launch_reasons() -> Vec<String> {
    let text = read("shared/model/src/claim/message.rs");
    let (_, block) = text.split_once("const LAUNCH_REASONS: ").expect("the words");
    let (block, _) = block.split_once("\n    ];").expect("their end");
    block.lines().filter_map(|line| line.split('"').nth(1)).map(str::to_owned).collect()
}

/// The tables of words with a cure.
fn reasons() -> [(&'static str, String); 5] {
    [
        ("events", events()),
        ("condition reasons", condition_reasons()),
        ("join reasons", join_reasons()),
        ("deletion reasons", deletion_reasons()),
        ("rejections", rejections()),
    ]
}

fn with_tables(page: &str) -> String {
    let others = [
        ("conditions", "type", conditions()),
        ("decisions", "kind", kinds()),
        ("labels", "name", labels()),
    ];
    let others =
        others.map(|(name, head, rows)| (name, format!("| {head} | meaning |\n|---|---|\n{rows}")));
    let reasons = reasons().map(|(name, rows)| (name, with_cures(page, name, &rows)));
    let mut text = page.to_owned();
    for (name, table) in others.into_iter().chain(reasons) {
        text = pages::with_table(&text, name, &table);
    }
    text
}

#[test]
fn the_reference_says_every_word() {
    let page = read("docs/reference.md");
    expect_file!["../../../docs/reference.md"].assert_eq(&with_tables(&page));
}

/// What is to be done about a reason is written by hand, in the last column of its row; `-` if nothing is.
#[test]
fn every_reason_has_a_cure() {
    let page = read("docs/reference.md");
    for (name, _) in reasons() {
        for row in pages::table(&page, name).lines().skip(2) {
            let cure = row.rsplit('|').nth(1).unwrap_or_default().trim();
            assert!(cure == "-" || cure.len() > 7, "{row}: no cure");
        }
    }
}

#[test]
fn the_reference_has_each_word_for_a_failed_launch() {
    let page = read("docs/reference.md");
    let table = pages::table(&page, "launch reasons");
    let words: Vec<&str> = table.lines().skip(2).filter_map(|row| row.split('`').nth(1)).collect();
    assert_eq!(words, launch_reasons());
}

/// Words that the program writes as a reason, or by which people search for one, each as it is written.
#[test]
fn each_reason_is_explained_by_the_command() {
    let explained = journeyman::explain::explained_reasons();
    let conditions = condition_reasons();
    let conditions = conditions.lines().filter_map(|row| row.split('`').nth(1));
    let launches = launch_reasons();
    let written = EventReason::ALL
        .iter()
        .map(|reason| reason.as_str())
        .chain(ConditionKind::ALL.iter().map(|kind| kind.as_str()))
        .chain(JoinReason::ALL.iter().map(|reason| reason.as_str()))
        .chain(DeletionReason::ALL.iter().map(|reason| reason.as_str()))
        .chain(FailedCheck::ALL.iter().map(|check| check.as_str()))
        .chain(RejectionReason::ALL.iter().map(|reason| reason.as_str()))
        .chain(DecisionKind::ALL.iter().map(|kind| kind.as_str()))
        .chain(launches.iter().map(String::as_str))
        .chain(conditions);
    let missing: Vec<&str> = written.filter(|word| !explained.contains(*word)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
