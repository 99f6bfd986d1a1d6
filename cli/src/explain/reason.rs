//! What a reason or an alarm means, and what to do about it, as the pages in `docs` say it.

use std::{collections::BTreeSet, fmt, io::Write};

use report::{error::CommandError, format::Format, json, screen::Screen};
use serde_json::json;

use crate::near;

/// The page whose tables say what each word means, and what to do about it.
const MEANINGS: Page =
    Page { path: "docs/reference.md", text: include_str!("../../../docs/reference.md") };
/// The page that has a section for each alarm.
const ALARMS: Page =
    Page { path: "docs/operations.md", text: include_str!("../../../docs/operations.md") };
/// The table of [`MEANINGS`] whose words are no reasons.
const LABELS: &str = "labels";

/// A page of the documentation.
#[derive(Clone, Copy)]
struct Page {
    path: &'static str,
    text: &'static str,
}

/// A row of a table in a page.
struct Row {
    /// The name of the table.
    table: &'static str,
    /// The heading above the table.
    heading: &'static str,
    word: &'static str,
    meaning: &'static str,
    /// `None`: the word only says how things are.
    cure: Option<&'static str>,
}

impl Page {
    /// The rows of all its tables that have a name.
    fn rows(self) -> Vec<Row> {
        let (mut rows, mut heading, mut table) = (Vec::new(), "", None);
        for line in self.text.lines() {
            if let Some(text) = line.strip_prefix("## ") {
                heading = text;
            } else if let Some(mark) = line.strip_prefix("<!-- ") {
                table = mark.strip_suffix(" -->").filter(|name| *name != "end");
            } else if let (Some(table), Some(row)) = (table, line.strip_prefix("| `"))
                && let Some((word, text)) = row.split_once("` | ")
            {
                let text = text.trim_end_matches(" |");
                let (meaning, cure) = match text.rsplit_once(" | ") {
                    Some((meaning, cure)) => (meaning, Some(cure).filter(|cure| *cure != "-")),
                    None => (text, None),
                };
                rows.push(Row { table, heading, word, meaning, cure });
            }
        }
        rows
    }

    /// Where the section below `heading` is.
    fn address(self, heading: &str) -> String {
        let plain = heading.to_lowercase().replace(' ', "-");
        let plain: String = plain.chars().filter(|c| c.is_alphanumeric() || *c == '-').collect();
        format!("{}#{plain}", self.path)
    }

    /// The sections of alarms: the heading, which may name several alarms, and the text.
    fn alarms(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let sections = self.text.split("\n### ").skip(1);
        let parted = sections.filter_map(|section| section.split_once('\n'));
        let body = |text: &'static str| text.split("\n## ").next().unwrap_or_default().trim();
        parted
            .map(move |(heading, text)| (heading, body(text)))
            .filter(|(heading, _)| heading.ends_with("Alarm"))
    }
}

/// What one page says of a word. A word may have several: an event and a condition can share a reason.
#[derive(Debug)]
pub(super) struct Section {
    word: String,
    /// The heading of the page, such as `Events`.
    topic: &'static str,
    meaning: String,
    /// `None`: the word only says how things are.
    cure: Option<String>,
    page: String,
}

impl Section {
    /// How `-o name` shows it.
    fn name(&self) -> String {
        super::entry("reason", &self.word)
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.word, self.topic)
    }
}

/// Each word that the pages explain, in the order of the pages.
fn sections() -> Vec<Section> {
    let of_row = |row: Row| Section {
        word: row.word.to_owned(),
        topic: row.heading,
        meaning: plain(MEANINGS, row.meaning),
        cure: row.cure.map(|cure| plain(MEANINGS, cure)),
        page: MEANINGS.address(row.heading),
    };
    let words = MEANINGS.rows().into_iter().filter(|row| row.table != LABELS).map(of_row);
    let alarms = ALARMS.alarms().flat_map(|(heading, text)| {
        heading.split(", ").map(move |word| Section {
            word: word.to_owned(),
            topic: "Alarms",
            meaning: plain(ALARMS, text),
            cure: None,
            page: ALARMS.address(heading),
        })
    });
    words.chain(alarms).collect()
}

/// `text` of `page` without marks of links: `[A pod](#a-pod)` becomes `A pod (docs/page.md#a-pod)`.
fn plain(page: Page, text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, linked)) = rest.split_once('[') {
        let link = linked.split_once("](").and_then(|(name, target)| {
            let (target, after) = target.split_once(')')?;
            Some((name, target, after))
        });
        let Some((name, target, after)) = link else { break };
        let target = match target {
            _ if target.starts_with('#') => format!("{}{target}", page.path),
            _ if target.contains("://") => target.to_owned(),
            _ => format!("docs/{target}"),
        };
        for part in [before, name, " (", &target, ")"] {
            plain.push_str(part);
        }
        rest = after;
    }
    (plain + rest).replace("\\|", "|").replace("**", "")
}

/// Prints what the pages say of `name`; without a name, every word that they explain.
///
/// # Errors
///
/// If no page explains `name`: the error names words that are like it.
pub(super) fn run(
    name: Option<&str>,
    format: Format,
    (screen, out): (Screen, &mut impl Write),
) -> Result<(), CommandError> {
    let sections = sections();
    let Some(name) = name else { return list(&sections, format, (screen, out)) };
    let matching: Vec<&Section> =
        sections.iter().filter(|section| section.word.eq_ignore_ascii_case(name)).collect();
    if matching.is_empty() {
        let words: BTreeSet<&str> = sections.iter().map(|section| section.word.as_str()).collect();
        let near = near::did_you_mean(name, words.into_iter());
        let why = format!(
            "no page explains the reason {name}{near}\n`journeyman explain reason` lists all reasons"
        );
        return Err(CommandError::Refused(why));
    }
    if format == Format::Name {
        return Ok(matching
            .iter()
            .take(1)
            .try_for_each(|section| writeln!(out, "{}", section.name()))?);
    }
    if format.is_document() {
        let sections: Vec<_> = matching.iter().map(|section| in_json(section)).collect();
        return Ok(json::write(
            &json!({"kind": "reason", "name": name, "sections": sections}),
            format,
            out,
        )?);
    }
    for (place, section) in matching.iter().enumerate() {
        if place > 0 {
            writeln!(out)?;
        }
        screen.title(&section.to_string(), out)?;
        section.meaning.lines().try_for_each(|line| screen.text(2, line, out))?;
        if let Some(cure) = &section.cure {
            screen.text(2, &format!("What to do: {cure}"), out)?;
        }
        screen.text(2, &format!("Page: {}", section.page), out)?;
    }
    Ok(())
}

fn in_json(section: &Section) -> serde_json::Value {
    json!({
        "reason": section.word,
        "topic": section.topic,
        "meaning": section.meaning,
        "whatToDo": section.cure,
        "page": section.page,
    })
}

fn list(
    sections: &[Section],
    format: Format,
    (screen, out): (Screen, &mut impl Write),
) -> Result<(), CommandError> {
    if format == Format::Name {
        let names: BTreeSet<String> = sections.iter().map(Section::name).collect();
        return Ok(names.iter().try_for_each(|name| writeln!(out, "{name}"))?);
    }
    if format.is_document() {
        let items: Vec<_> = sections.iter().map(in_json).collect();
        return Ok(json::write(&json!({ "items": items }), format, out)?);
    }
    let row = |section: &Section| {
        let first = section.meaning.lines().next().unwrap_or_default();
        vec![section.word.clone(), first.to_owned()]
    };
    let mut topics: Vec<&str> = Vec::new();
    for section in sections {
        if topics.contains(&section.topic) {
            continue;
        }
        if !topics.is_empty() {
            writeln!(out)?;
        }
        topics.push(section.topic);
        screen.title(section.topic, out)?;
        let of_topic = sections.iter().filter(|other| other.topic == section.topic);
        let rows: Vec<Vec<String>> = of_topic.map(row).collect();
        screen.table(&["REASON", "MEANING"], &rows, out)?;
    }
    Ok(())
}

/// Every reason that the pages explain, each as it is written.
pub fn explained_reasons() -> BTreeSet<String> {
    sections().into_iter().map(|section| section.word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_text_with_the_page() {
        assert_eq!(
            plain(MEANINGS, "See [A pod](#a-pod) and [it](cost.md) `a[0]`."),
            "See A pod (docs/reference.md#a-pod) and it (docs/cost.md) `a[0]`."
        );
        assert_eq!(plain(MEANINGS, "**Yes** a \\| b"), "Yes a | b");
    }

    #[test]
    fn an_alarm_of_a_common_heading_has_its_own_entry() {
        let sections = sections();
        let alarm = sections.iter().find(|section| section.word == "DrainDeadLetterAlarm");
        let alarm = alarm.expect("a section");
        assert!(!alarm.meaning.contains("## "), "{}", alarm.meaning);
        assert!(
            alarm.page.starts_with("docs/operations.md#provisiondeadletteralarm-"),
            "{}",
            alarm.page
        );
    }
}
