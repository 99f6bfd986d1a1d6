//! Reasons are compared as values. What was put in words for people is not compared again, not
//! searched and not taken apart: a better sentence must not change what is done.
//!
//! A text is what a rendering makes (`.to_string()`, `format!`), and what the fields and variables
//! hold that carry words by their name (`message`, `summary`, …) or by what they are called after
//! (`problem`, `obstacle`, …) once they were made words.

use std::{collections::BTreeSet, fs};

use tests::{files, repository};

/// Fields and variables of ours that hold words for people.
const WORDS: &[&str] = &["message", "summary", "why", "sentence", "explanation"];

/// Things that have words, and are compared themselves.
const REASONS: &[&str] = &[
    "condition",
    "error",
    "fault",
    "finding",
    "note",
    "objection",
    "obstacle",
    "problem",
    "reason",
    "refusal",
    "rejected",
    "rule",
    "violation",
    "voided",
];

/// What makes words of a value, or gives the words out.
const RENDERED: &[&str] = &["to_string()", "in_words()"];

/// What looks into a text.
const SEARCHES: &[&str] = &[
    "contains(",
    "starts_with(",
    "ends_with(",
    "strip_prefix(",
    "strip_suffix(",
    "find(",
    "split_once(",
    "rsplit_once(",
    "split(",
    "matches(",
    "eq_ignore_ascii_case(",
];

/// What stands between a text and what is done with it, and leaves it the same text.
const SAME: &[&str] = &[
    "as_str()",
    "as_deref()",
    "as_ref()",
    "as_bytes()",
    "clone()",
    "trim()",
    "to_owned()",
    "to_lowercase()",
    "unwrap_or_default()",
    "unwrap()",
];

/// Words of others, in which alone stands what was wrong: file, a part of the line, and whose they are.
const FOREIGN: &[(&str, &str, &str)] = &[
    (
        "shared/installer/src/live/failure.rs",
        "does not exist",
        "CloudFormation has one code for a stack that is not there and for input that is wrong",
    ),
    ("shared/aws/src/ec2/dry_run.rs", "IAM Instance Profile", "EC2 has one code for many refusals"),
    (
        "shared/aws/src/ec2/fleet.rs",
        "refusal.message.split",
        "EC2 names the instances that it does not know in its message alone",
    ),
    (
        "shared/launch-template/src/reaction.rs",
        "SPREAD_IS_FULL",
        "EC2 has one code for a full zone and for a full placement group",
    ),
    (
        "shared/cluster/src/eviction.rs",
        "more than one PodDisruptionBudget",
        "a 500 of the API server",
    ),
    (
        "shared/launch-template/src/reaction.rs",
        "message.contains(text)",
        "EC2's codes and messages",
    ),
    (
        "shared/simulator/src/account/refusal.rs",
        "IAM Instance Profile",
        "the simulated EC2's own refusal, as EC2 says it",
    ),
];

/// The source without its tests, its comments and what is in quotes, each line as long as before.
fn code(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    for line in text.lines() {
        let mut code = String::new();
        let (mut quoted, mut before) = (false, ' ');
        for (at, c) in line.char_indices() {
            if !quoted && line[at..].starts_with("//") {
                break;
            }
            let is_literal = before == '\\' || (before == '\'' && !quoted);
            if c == '"' && !is_literal {
                quoted = !quoted;
            }
            code.push(if quoted && c != '"' { '_' } else { c });
            before = if before == '\\' && c == '\\' { ' ' } else { c };
        }
        lines.push(code);
    }
    lines
}

/// Statements of `lines`, without line breaks inside of chains, each with the line that it begins on.
fn statements(lines: &[String]) -> Vec<(usize, String)> {
    let mut entries: Vec<(usize, String)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim();
        match entries.last_mut() {
            Some((_, statement))
                if line.starts_with(['.', '=', '!']) && !line.starts_with("=>") =>
            {
                if line.starts_with(['=', '!']) {
                    statement.push(' ');
                }
                statement.push_str(line);
            }
            _ => entries.push((at + 1, line.to_owned())),
        }
    }
    entries
}

/// The name or call that `text` ends with, and what is before it.
fn last_link(text: &str) -> (&str, &str) {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' if depth == 0 => return (&text[at + 1..], &text[..at]),
            '(' => depth -= 1,
            c if depth == 0 && !c.is_alphanumeric() && c != '_' => {
                let after = at + c.len_utf8();
                return (&text[after..], &text[..after]);
            }
            _ => {}
        }
    }
    (text, "")
}

/// Whether the expression that `text` ends with is words for people.
fn ends_in_words(text: &str) -> bool {
    let mut text = text.trim_end();
    loop {
        let (link, before) = last_link(text);
        if SAME.contains(&link) && before.ends_with('.') {
            text = before.trim_end_matches('.');
            continue;
        }
        if WORDS.contains(&link) {
            return true;
        }
        if !RENDERED.contains(&link) {
            return false;
        }
        // Whose words: an id or a number may be written out and compared.
        let (owner, _) = last_link(before.trim_end_matches('.'));
        let owner = owner.split('(').next().unwrap_or(owner);
        return REASONS.iter().any(|reason| {
            owner == *reason
                || owner.strip_suffix('s') == Some(*reason)
                || owner.ends_with(&format!("_{reason}"))
        });
    }
}

/// Whether the expression that `text` begins with is words for people.
fn begins_with_words(text: &str) -> bool {
    let text = text.trim_start().trim_start_matches(['&', '*']);
    let text = text.strip_prefix("Some(").unwrap_or(text).trim_start_matches(['&', '*']);
    let mut depth = 0_u32;
    let end = text.char_indices().find(|(_, c)| match c {
        '(' => {
            depth += 1;
            false
        }
        ')' if depth == 0 => true,
        ')' => {
            depth -= 1;
            false
        }
        c => depth == 0 && !c.is_alphanumeric() && !"_.:".contains(*c),
    });
    ends_in_words(&text[..end.map_or(text.len(), |(at, _)| at)])
}

/// Whether `text` begins with a variant of an enum, as `Why::Pending` is.
fn is_variant(text: &str) -> bool {
    let is_upper = |word: &str| word.starts_with(|c: char| c.is_ascii_uppercase());
    let path = text.trim_start();
    let end = path.find(|c: char| !c.is_alphanumeric() && c != ':' && c != '_');
    let mut words = path[..end.unwrap_or(path.len())].rsplit("::");
    // A constant is shouted.
    let variant = words.next().unwrap_or_default();
    is_upper(variant)
        && variant.contains(|c: char| c.is_ascii_lowercase())
        && words.next().is_some_and(is_upper)
}

/// Whether `statement` compares or searches words.
fn compares_words(statement: &str) -> bool {
    let compared = ["==", "!="].iter().any(|operator| {
        statement.match_indices(operator).any(|(at, _)| {
            let (left, right) = (&statement[..at], &statement[at + operator.len()..]);
            // To ask for none, or for one variant of an enum, is no comparison of words.
            let is_value = right.trim_start().starts_with("None") || is_variant(right);
            !is_value && (ends_in_words(left) || begins_with_words(right))
        })
    });
    let searched = SEARCHES.iter().any(|search| {
        statement
            .match_indices(&format!(".{search}"))
            .any(|(at, _)| ends_in_words(&statement[..at]))
    });
    // `texts.contains(&problem.to_string())`
    let sought = statement
        .match_indices(".contains(")
        .any(|(at, mark)| begins_with_words(&statement[at + mark.len()..]));
    let matched = statement
        .strip_prefix("match ")
        .or_else(|| statement.split_once(" match ").map(|(_, rest)| rest))
        .and_then(|rest| rest.strip_suffix(" {"))
        // Only a `str` has words to match; a message of a queue is no text.
        .filter(|subject| subject.ends_with("as_str()") || subject.ends_with("as_deref()"))
        .is_some_and(ends_in_words);
    compared || searched || sought || matched
}

/// Whether a file is a test, or what only tests use.
fn is_test(path: &str) -> bool {
    path.ends_with("tests.rs")
        || path.ends_with("testing.rs")
        || path.contains("_tests/")
        || ["/tests/", "/testing/", "/benches/", "/testkit/"].iter().any(|part| path.contains(part))
}

#[test]
fn no_rendered_reason_is_compared() {
    let root = repository();
    let (mut wrong, mut used, mut read) = (Vec::new(), BTreeSet::new(), 0);
    for folder in ["cli", "functions", "shared"] {
        for file in files(&root.join(folder), &[".rs"]) {
            let path = file.strip_prefix(&root).expect("below").to_string_lossy().into_owned();
            if is_test(&path) {
                continue;
            }
            let text = fs::read_to_string(&file).expect("a source can be read");
            let raw: Vec<&str> = text.lines().collect();
            read += 1;
            for (line, statement) in statements(&code(&text)) {
                if !compares_words(&statement) {
                    continue;
                }
                let near = raw[line - 1..raw.len().min(line + 2)].join("\n");
                let foreign =
                    FOREIGN.iter().find(|(of, part, _)| *of == path && near.contains(part));
                match foreign {
                    Some((of, _, _)) => drop(used.insert(*of)),
                    None => wrong.push(format!("{path}:{line}: {}", raw[line - 1].trim())),
                }
            }
        }
    }
    assert!(read > 300, "only {read} sources were read");
    wrong.extend(
        FOREIGN
            .iter()
            .filter(|(of, ..)| !used.contains(of))
            .map(|(of, ..)| format!("{of}: unlist it")),
    );
    assert!(wrong.is_empty(), "words are compared; compare values:\n{}", wrong.join("\n"));
}

#[test]
fn comparisons_of_words_are_recognized() {
    let is_found = |text: &str| statements(&code(text)).iter().any(|(_, it)| compares_words(it));
    for text in [
        r#"if condition.message == "x" {"#,
        "claim.message.as_deref() != Some(message)",
        "is_new(a) && Some(wanted.as_str()) != claim.message.as_deref()",
        r#"problem.to_string() == "spec.x: it is wrong""#,
        "all.retain(|p| p.problem.to_string() != TEXT);",
        r#"reason.to_string().contains("budget")"#,
        "obstacle\n    .to_string()\n    .starts_with(\"no\")",
        "if texts.contains(&problem.to_string()) {",
        "if why.contains(problem) {",
        r#"let Some((reason, text)) = message.split_once(": ") else {"#,
        "match condition.message.as_str() {",
        "condition.message == words::GONE",
        r#"self.last_error.to_string().contains("throttl")"#,
        "let same = claim.message\n    == other;",
    ] {
        assert!(is_found(text), "{text}");
    }
    for text in [
        "condition.reason == ConditionReason::NodeNotReady",
        "names.contains(&node.name.to_string())",
        r#"if a == b { // message == "x""#,
        r#"let text = "message == 1";"#,
        "id.to_string() == other",
        "messages.len() == 1",
        "if claim.message.is_some() {",
        "claim.message == None",
        "wanted.why == Why::Pending && why != model::pod::Why::Supposed",
        "match message {",
        "#[cfg(test)]\nmod tests {\n    fn f() { a.message == \"x\" }\n}",
    ] {
        assert!(!is_found(text), "{text}");
    }
}
