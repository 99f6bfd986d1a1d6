//! Whether `plan` and `plan --disruption` say what functions commit on the same facts.

use std::collections::BTreeMap;

use journeyman::plan::{self, PlanArgs, args::View};
use model::{
    NodeClaimName, Plan, Requirements,
    disruption::{Progress, Replacement},
    facts::Facts,
    labels,
};
use report::format::Format;
use serde_json::Value;

/// What `plan` prints about `facts`.
fn printed(facts: &Facts, disruption: bool) -> Value {
    let args = PlanArgs {
        disruption,
        view: Some(View::Journeyman),
        output: Format::Json,
        rounds: 1,
        ..PlanArgs::default()
    };
    let mut out = Vec::new();
    plan::show(&args, (facts, true), &mut out).expect("an answer");
    serde_json::from_slice(&out).expect("the answer is JSON")
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The workloads of pods by the names of the pods, and how many pods of each: replicas are alike.
fn workloads<'a>(pods: impl Iterator<Item = &'a str>) -> String {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in pods {
        *numbers.entry(pod.rsplit_once('-').map_or(pod, |(workload, _)| workload)).or_default() +=
            1;
    }
    format!("{numbers:?}")
}

/// The requirements of a new claim as the answer has them, in order. Its instance types stand beside them.
fn requirements(list: &Value) -> String {
    let entry = |entry: &Value| {
        let values = texts(&entry["values"]).join(",");
        format!("{} {} {values}", entry["key"], entry["operator"])
    };
    let entries = list.as_array().into_iter().flatten();
    let entries = entries.filter(|entry| entry["key"] != labels::INSTANCE_TYPE);
    let mut entries: Vec<String> = entries.map(entry).collect();
    entries.sort();
    entries.join("; ")
}

fn requirements_of(requirements: &Requirements) -> String {
    let entry = |requirement: &model::Requirement| {
        let entry = |(operator, values): (model::Operator, Vec<String>)| {
            format!("\"{}\" \"{}\" {}", requirement.key(), operator.as_str(), values.join(","))
        };
        requirement.entries().into_iter().map(entry).collect::<Vec<String>>()
    };
    let others =
        |requirement: &&model::Requirement| requirement.key().as_str() != labels::INSTANCE_TYPE;
    let mut entries: Vec<String> = requirements.iter().filter(others).flat_map(entry).collect();
    entries.sort();
    entries.join("; ")
}

fn replacement_of(replacement: &Replacement) -> String {
    let types: Vec<String> = replacement.instance_types.iter().map(ToString::to_string).collect();
    let pods: Vec<String> = replacement.pods.iter().map(ToString::to_string).collect();
    let requirements = requirements_of(&replacement.requirements);
    format!(
        "{} ({}) {requirements} for {}",
        replacement.node_pool,
        types.join(" "),
        workloads(pods.iter().map(String::as_str))
    )
}

fn replacement(value: &Value) -> String {
    format!(
        "{} ({}) {} for {}",
        value["nodePool"].as_str().unwrap_or_default(),
        texts(&value["instanceTypes"]).join(" "),
        requirements(&value["requirements"]),
        workloads(texts(&value["pods"]).into_iter())
    )
}

/// The commits that an answer of `plan --disruption` names, in order, a line for each.
fn foreseen(answer: &Value) -> Vec<String> {
    let line = |commit: &Value| {
        let replacements = commit["replacements"].as_array().into_iter().flatten().map(replacement);
        format!(
            "{}: {} → {}",
            commit["reason"].as_str().unwrap_or_default(),
            texts(&commit["nodeClaims"]).join(" "),
            replacements.collect::<Vec<String>>().join(", "),
        )
    };
    answer["next"].as_array().into_iter().flatten().map(line).collect()
}

/// What `plan` disrupts, as [`foreseen`] has it.
pub(crate) fn committed(plan: &Plan) -> Vec<String> {
    let line = |reason: &str, claims: Vec<&NodeClaimName>, replacements: &[Replacement]| {
        let names: Vec<&str> = claims.into_iter().map(NodeClaimName::as_str).collect();
        let replacements: Vec<String> = replacements.iter().map(replacement_of).collect();
        format!("{reason}: {} → {}", names.join(" "), replacements.join(", "))
    };
    let begun = plan.started.values().filter(|command| {
        !matches!(command.progress, Progress::Moved { .. } | Progress::RolledBack { .. })
    });
    let begun = begun.map(|command| {
        let reason = command.method.reason().as_str();
        line(reason, command.candidates.iter().collect(), &command.replacements)
    });
    let mut deleted: BTreeMap<&str, Vec<&NodeClaimName>> = BTreeMap::new();
    for change in &plan.changes {
        if let Some(deletion) = &change.deletion {
            deleted.entry(deletion.reason.as_str()).or_default().push(&change.name);
        }
    }
    let deleted = deleted.into_iter().map(|(reason, claims)| line(reason, claims, &[]));
    begun.chain(deleted).collect()
}

/// A new claim: everything but its name, which only the ledger can say.
fn created(plan: &Plan) -> Vec<String> {
    let line = |new: &model::plan::NewClaim| {
        let claim = &new.claim;
        let types: Vec<String> = new.possible.iter().map(ToString::to_string).collect();
        let pods: Vec<String> = claim.pods.iter().map(ToString::to_string).collect();
        let requirements = requirements_of(&claim.requirements);
        let (pool, types) = (&claim.node_pool, types.join(" "));
        format!(
            "{pool} ({types}) {requirements} for {}",
            workloads(pods.iter().map(String::as_str))
        )
    };
    plan.new_claims.iter().map(line).collect()
}

/// What is wrong with what is foreseen on `facts`, which `disrupt` looked at before it made `plans`.
pub(crate) fn disruption_differs(facts: &Facts, plans: &[&Plan]) -> Option<String> {
    let made: Vec<String> = plans.iter().flat_map(|plan| committed(plan)).collect();
    let answer = printed(facts, true);
    let mut said = foreseen(&answer);
    // What comes after a commit that frees nodes or ends a command is not made yet.
    let is_over = plans.iter().all(|plan| plan.started.is_empty() && plan.ended.is_empty());
    if !made.is_empty() || !is_over {
        said.truncate(made.len());
    }
    (made != said).then(|| format!("made {made:#?}, foreseen {said:#?}"))
}

/// What is wrong with what is foreseen on `facts`, on which `provision` made `plan`.
pub(crate) fn creation_differs(facts: &Facts, plan: &Plan) -> Option<String> {
    let answer = printed(facts, false);
    let is_static = plan.new_claims.iter().all(|new| new.claim.pods.is_empty());
    let list = if is_static { "staticNodeClaims" } else { "newNodeClaims" };
    let said: Vec<String> =
        answer.get(list).and_then(Value::as_array).into_iter().flatten().map(replacement).collect();
    let made = created(plan);
    (made != said).then(|| format!("made {made:#?}, foreseen {said:#?}"))
}
