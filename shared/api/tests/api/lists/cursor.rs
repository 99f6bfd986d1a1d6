//! What the cursor passes over is what `serde_json` takes for JSON.

use proptest::prelude::*;
use serde::de::IgnoredAny;

use std::borrow::Cow;

use api::lists::pods::cursor::{JsonCursor, Member};

fn is_skipped(text: &str) -> bool {
    let mut cursor = JsonCursor::new(text);
    cursor.skip().is_some() && cursor.end().is_some()
}

#[track_caller]
fn check(text: &str) {
    let expected = serde_json::from_str::<IgnoredAny>(text).is_ok();
    assert_eq!(is_skipped(text), expected, "{text}");
}

#[test]
fn json_is_passed_over_and_nothing_else() {
    for text in [
        "",
        " ",
        "{}",
        "[ ]",
        " null\n",
        "nul",
        "nulll",
        "tru",
        "true",
        "false]",
        "0",
        "00",
        "01",
        "-",
        "-0",
        "-1.5e+3",
        "1.",
        ".5",
        "1e",
        "1e5x",
        "1E-7",
        "+1",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1",
        "]",
        "{\"a\":1,}",
        "{\"a\" : [ {} , 1 ] }",
        "{\"a\"}",
        "{a:1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1}}",
        "\"",
        "\"a",
        "\"a\\\"",
        "\"a\\\"\"",
        "\"\\u00e4\"",
        "\"\\u00g4\"",
        "\"\\u12\"",
        "\"\\x\"",
        "\"tab\there\"",
        "\"123456\n\"",
        "\"\u{7f}\u{e4}\u{1f600}\"",
        "\"1234567\\\\\"",
        "\"\u{0}\"",
        "\"eight by\"",
        "\"sixteen bytes ab\"",
        "1 2",
        "\u{a0}1",
    ] {
        check(text);
    }
    let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    check(&deep(60));
    assert!(!is_skipped(&deep(70)), "left to serde_json");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn whatever_a_text_is_both_say_the_same(
        parts in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"", "\\", "\"a\":", "\"key\"", "1", "-", "0", ".5", "e9",
            "null", "true", " ", "\n", "\u{1}", "\u{e4}", "u00e4", "\"long text of 20 b\"", "{}", "[]",
        ]), 0..12),
    ) {
        check(&parts.concat());
    }
}

#[test]
fn a_member_like_the_one_before_is_not_looked_at_again() {
    let read = |text: &'static str, before: &Member<'static, ()>, calls: &mut u32| {
        let mut member = Member::default();
        let mut cursor = JsonCursor::new(text);
        member.read(&mut cursor, before, |cursor| {
            *calls += 1;
            cursor.skip()
        })?;
        let rest = cursor.rest();
        Some((member, rest))
    };
    let mut calls = 0;
    let (object, _) = read(r#"{"a": [1]} , "#, &Member::default(), &mut calls).unwrap();
    let (again, rest) = read(r#" {"a": [1]}, 1"#, &object, &mut calls).unwrap();
    assert_eq!((again.text(), rest, calls), (Some(r#"{"a": [1]}"#), ", 1", 1));
    let (other, _) = read(r#"{"a": [2]}"#, &object, &mut calls).unwrap();
    assert_eq!((other.text(), calls), (Some(r#"{"a": [2]}"#), 2));
    // A number may go on.
    let (member, _) = read("1", &Member::default(), &mut calls).unwrap();
    let (twelve, _) = read("12", &member, &mut calls).unwrap();
    assert_eq!((twelve.text(), calls), (Some("12"), 4));
    let (null, _) = read("null,", &object, &mut calls).unwrap();
    assert_eq!((null.text(), calls), (None, 4));
    let mut twice = object.clone();
    assert!(twice.read(&mut JsonCursor::new("1"), &Member::default(), JsonCursor::skip).is_none());
}

#[test]
fn keys_are_plain_and_texts_are_what_they_mean() {
    let mut keys = Vec::new();
    let mut cursor = JsonCursor::new(r#" { "a" : "x\u00e4\n" , "b":"y" }"#);
    let read = cursor.members(|key, cursor| {
        keys.push((key, cursor.text()?));
        Some(())
    });
    assert!(read.is_some() && cursor.end().is_some());
    assert_eq!(keys, [("a", Cow::from("x\u{e4}\n")), ("b", Cow::from("y"))]);
    assert!(JsonCursor::new(r#"{"\u0061":1}"#).members(|_, cursor| cursor.skip()).is_none());
}
