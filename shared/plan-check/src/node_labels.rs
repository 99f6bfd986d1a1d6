//! Labels and taints that a claim's kubelet registers its node with, and what labels are made from. They stand on its command line,
//! inside a script, a YAML document or a TOML file, so only what none of them could read as anything
//! but a name may be set.
//!
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set>

use model::{NodeClaim, Taint};

use crate::Violation;

/// Characters of a name, and of a label's or taint's value.
const NAME_LEN_MAX: usize = 63;
/// Characters of the DNS name before the `/` of a key.
const PREFIX_LEN_MAX: usize = 253;

pub(crate) fn check(claim: &NodeClaim, violations: &mut Vec<Violation>) {
    let labels = claim.labels.iter().map(|(key, value)| ("label", key, value));
    let taints = claim
        .taints
        .iter()
        .chain(&claim.startup_taints)
        .map(|Taint { key, value, effect: _ }| ("taint", key, value));
    for (what, key, value) in labels.chain(taints) {
        if !is_key(key) || !is_value(value) {
            let (claim, text) = (claim.name.clone(), format!("{key}={value}"));
            violations.push(Violation::NotALabel { claim, what, text });
        }
    }
    // A node gets one of the values that are listed for a label.
    let listed = claim.requirements.iter().filter(|asked| !asked.is_complement());
    for requirement in listed.filter(|asked| !asked.values().is_empty()) {
        let are_values = requirement.values().iter().all(|value| is_value(value));
        if !is_key(requirement.key().as_str()) || !are_values {
            let (claim, text) = (claim.name.clone(), requirement.to_string());
            violations.push(Violation::NotALabel { claim, what: "requirement", text });
        }
    }
}

fn is_key(text: &str) -> bool {
    let mut parts = text.rsplitn(2, '/');
    let name = parts.next().unwrap_or_default();
    let is_prefix = parts.next().is_none_or(|prefix| {
        prefix.len() <= PREFIX_LEN_MAX && prefix.split('.').all(|part| is_word(part, "-"))
    });
    is_prefix && name.len() <= NAME_LEN_MAX && is_word(name, "-_.")
}

fn is_value(text: &str) -> bool {
    text.is_empty() || text.len() <= NAME_LEN_MAX && is_word(text, "-_.")
}

/// Letters and digits of ASCII at both ends, between them also `inner`.
fn is_word(text: &str, inner: &str) -> bool {
    let is_plain = |c: char| matches!(c, 'a'..='z' | 'A'..='Z' | '0'..='9');
    let ends = [text.chars().next(), text.chars().next_back()];
    ends.into_iter().all(|end| end.is_some_and(is_plain))
        && text.chars().all(|c| is_plain(c) || inner.contains(c))
}
