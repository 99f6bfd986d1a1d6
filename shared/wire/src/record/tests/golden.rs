//! Records that `tests/golden/ledger-N` keeps are read, and written again as releases with format N read them.

use std::fs;

use model::ledger::LedgerFormat;

use super::super::*;

/// The record `text`, read and written again.
fn again(kind: &str, text: &str) -> Result<String, Error> {
    Ok(match kind {
        "claim" => {
            let claim = decode_claim(text)?;
            assert_eq!(claim.not_understood, None, "{text}");
            encode_claim(&claim)
        }
        "claims" => encode_claims(&decode_claims(text)?.iter().collect::<Vec<_>>()),
        "command" => encode_command(&decode_command(text)?),
        "decision" => encode_decision(&decode_decision(text)?),
        "pulse" => encode_pulse(&decode_pulse(text)?),
        "refusals" => encode_refusals(&decode_refusals(text)?),
        "registrations" => encode_registrations(&decode_registrations(text)?),
        "retry" => encode_retry(decode_retry(text)?),
        "verdict" => encode_validation(&decode_validation(text)?),
        kind => panic!("{kind}: which records are these?"),
    })
}

/// Whether `written` has every member of `kept`, each with its value.
fn has_all(written: &Value, kept: &Value) -> bool {
    match (written, kept) {
        (Value::Object(written), Value::Object(kept)) => kept
            .iter()
            .all(|(name, kept)| written.get(name).is_some_and(|written| has_all(written, kept))),
        (Value::Array(written), Value::Array(kept)) => {
            written.len() == kept.len()
                && written.iter().zip(kept).all(|(written, kept)| has_all(written, kept))
        }
        (written, kept) => written == kept,
    }
}

#[test]
fn the_ledger_of_each_format_is_read_and_ours_is_written_as_it_was() {
    let LedgerFormat { writes, reads } = LedgerFormat::OURS;
    for format in reads {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden");
        let records = fs::read_to_string(format!("{folder}/ledger-{format}/records.tsv")).unwrap();
        assert!(records.lines().count() > 30, "format {format}");
        for line in records.lines() {
            let (kind, kept) = line.split_once('\t').unwrap();
            let written = again(kind, kept).unwrap_or_else(|error| panic!("{kept}: {error}"));
            let as_value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            let is_same = has_all(&as_value(&written), &as_value(kept));
            assert!(format != writes || is_same, "{kind}: {kept} became {written}");
        }
    }
}

#[test]
fn a_member_that_is_missing_or_other_is_seen() {
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let kept = value(r#"{"a":[{"b":1}],"c":"x"}"#);
    assert!(has_all(&value(r#"{"a":[{"b":1,"new":2}],"c":"x"}"#), &kept));
    for other in
        [r#"{"a":[{"b":2}],"c":"x"}"#, r#"{"a":[],"c":"x"}"#, r#"{"a":[{"b":1}]}"#, r#"{"a":"x"}"#]
    {
        assert!(!has_all(&value(other), &kept), "{other}");
    }
}
