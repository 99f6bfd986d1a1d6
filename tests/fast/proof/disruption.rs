//! Whether an answer of `plan --disruption` is Karpenter's.

use std::collections::{BTreeMap, BTreeSet};

use model::{disruption::Method, labels};
use serde_json::Value;

use super::scheduling::{amount, list, price, requirements, texts};

/// What is compared of a replacement.
type Replacement = (String, BTreeSet<String>, [BTreeSet<String>; 2], u64);

/// What is different; nothing if the answer is Karpenter's.
pub(crate) fn faults(expected: &Value, actual: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let variants = expected.get("variants").filter(|variants| !is_nothing(variants));
    for method in Method::ALL.map(Method::as_str) {
        let (want, got) = (&expected["methods"][method], &actual["methods"][method]);
        match variants.and_then(|variants| variants.get(method)) {
            None => faults.extend(exactly(method, want, got, &expected["facts"])),
            Some(seen) => faults.extend(among(method, seen, got, expected)),
        }
    }
    let mut methods = Method::ALL.map(Method::as_str).into_iter();
    let acting = methods.find(|method| !actual["methods"][*method].is_null());
    let first = if variants.is_some() { acting } else { expected["first"].as_str() };
    if actual["first"].as_str() != first {
        faults.push(format!("first: expected {first:?}, got {}", actual["first"]));
    }
    let ineligible = |answer: &Value| -> BTreeSet<String> {
        let nodes = list(&answer["ineligible"]).filter_map(|entry| entry["node"].as_str());
        nodes.map(str::to_owned).collect()
    };
    let (want, got) = (ineligible(expected), ineligible(actual));
    if want != got {
        faults.push(format!("ineligible: expected {want:?}, got {got:?}"));
    }
    for (pool, reasons) in actual["budgets"].as_object().into_iter().flatten() {
        for (reason, left) in reasons.as_object().into_iter().flatten() {
            let want = expected["budgets"].get(pool).and_then(|budget| budget.get(reason));
            if want.is_some_and(|want| want != left) {
                faults
                    .push(format!("budget of {pool} for {reason}: expected {want:?}, got {left}"));
            }
        }
    }
    faults
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}

fn names(action: &Value) -> BTreeSet<&str> {
    texts(&action["candidates"]).collect()
}

fn exactly(method: &str, want: &Value, got: &Value, facts: &Value) -> Option<String> {
    if is_nothing(want) || is_nothing(got) {
        let are_alike = is_nothing(want) && is_nothing(got);
        return (!are_alike).then(|| format!("{method}: expected {want}, got {got}"));
    }
    let shape = |action: &Value| -> Vec<Replacement> {
        let is_of_pool = list(&want["replacements"])
            .any(|replacement| list(&replacement["instanceTypes"]).next().is_none());
        let replacements = list(&action["replacements"]);
        let mut compared: Vec<Replacement> = replacements
            .map(|raw| replacement(raw, facts, is_of_pool || method == "static-drift"))
            .collect();
        compared.sort();
        compared
    };
    let is_same = names(want) == names(got)
        && want["decision"] == got["decision"]
        && (want["drainSeconds"].is_null() || want["drainSeconds"] == got["drainSeconds"])
        && shape(want) == shape(got);
    (!is_same).then(|| {
        format!(
            "{method}: expected {:?} → {:?}, got {:?} → {:?}",
            names(want),
            shape(want),
            names(got),
            shape(got)
        )
    })
}

fn replacement(raw: &Value, facts: &Value, is_of_pool: bool) -> Replacement {
    let pool = raw["nodePool"].as_str().unwrap_or_default().to_owned();
    if is_of_pool {
        return (pool, BTreeSet::new(), [BTreeSet::new(), BTreeSet::new()], 0);
    }
    let requirements = requirements(&raw["requirements"]);
    let left = |key: &str, all: &Value| -> BTreeSet<String> {
        let asked = requirements.get(key);
        let allowed = texts(all).filter(|value| asked.is_none_or(|asked| asked.has(value)));
        allowed.map(str::to_owned).collect()
    };
    let types = texts(&raw["instanceTypes"]).map(str::to_owned).collect();
    let zones = left(labels::ZONE, &facts["zones"]);
    (pool, types, [zones, left(labels::CAPACITY_TYPE, &facts["capacityTypes"])], price(raw))
}

/// Karpenter's answer varies: ours is one of those that were seen, or no worse.
fn among(method: &str, seen: &Value, got: &Value, expected: &Value) -> Option<String> {
    let facts = &expected["facts"];
    if list(seen).any(|variant| exactly(method, variant, got, facts).is_none()) {
        return None;
    }
    let nodes = &facts["nodes"];
    let pools = |action: &Value| {
        let mut pools: BTreeMap<String, usize> = BTreeMap::new();
        for name in texts(&action["candidates"]) {
            *pools.entry(nodes[name]["nodePool"].to_string()).or_default() += 1;
        }
        pools
    };
    let eligible: BTreeSet<&str> = texts(&expected["eligible"][method]).collect();
    let chosen: Vec<&Value> = list(seen).filter(|variant| !is_nothing(variant)).collect();
    let comes = |action: &Value| -> u64 { list(&action["replacements"]).map(price).sum() };
    let is_good = !names(got).is_empty()
        && names(got).is_subset(&eligible)
        && match method {
            "emptiness" | "static-drift" => chosen.iter().any(|known| pools(known) == pools(got)),
            "drift" => {
                let most = chosen.iter().map(|known| comes(known)).max();
                chosen.iter().any(|known| names(known) == names(got)) && Some(comes(got)) <= most
            }
            _ => {
                let paid =
                    texts(&got["candidates"]).map(|name| amount(&nodes[name]["pricePerHour"]));
                let saved = paid.sum::<u64>().saturating_sub(comes(got));
                amount(&expected["savings"][method]["min"]) <= saved + 1
            }
        };
    (!is_good).then(|| format!("{method}: {got} is none of Karpenter's answers, and not as good"))
}
