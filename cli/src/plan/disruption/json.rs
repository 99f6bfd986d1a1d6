//! The answer for machines, in the schema of the conformance data.

use std::collections::BTreeMap;

use model::{
    HourlyPrice, OfferingKey,
    disruption::{Method, Replacement},
    plan::Target,
};
use planner::{
    disruption::{Destination, Finding, Proposal},
    foreseen::DisruptionStep,
};
use report::json::Dollars;
use serde::Serialize;

use super::{Found, staying};
use crate::plan::{
    Remarks,
    args::View,
    json::{Entry, entries},
};

/// The whole answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'a> {
    /// Whose decisions these are.
    view: &'static str,
    /// What is disrupted before a method is asked, whatever runs on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ahead: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<String>,
    methods: BTreeMap<&'static str, Option<Action<'a>>>,
    first: Option<&'static str>,
    /// What the function `disrupt` would commit next, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    next: Vec<Commit<'a>>,
    ineligible: Vec<Refused<'a>>,
    /// The nodes that have drifted, and why.
    drifted: BTreeMap<&'a str, &'a str>,
    eligible: BTreeMap<&'static str, Vec<&'a str>>,
    budgets: BTreeMap<&'a str, BTreeMap<&'static str, Option<u64>>>,
    /// Every node that is not disrupted now, and why.
    stays: Vec<Stays<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    voided: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    errors: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thorough: Option<Wider<'a>>,
    /// What the input does not say, and what would.
    unknown: &'a [String],
    /// What is left out, and why.
    left_out: &'a [String],
    /// What was taken for granted, because no object says it.
    assumptions: &'a [String],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Action<'a> {
    candidates: Vec<&'a str>,
    replacements: Vec<New<'a>>,
    moves: Vec<Moved<'a>>,
    price_before: Dollars,
    price_after: Dollars,
    reasons: BTreeMap<&'a str, &'a str>,
    rejected: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drain_seconds: Option<BTreeMap<&'a str, Option<i64>>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Commit<'a> {
    /// Why the nodes are disrupted.
    reason: &'static str,
    /// The method that found them; missing where they are terminated without a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'static str>,
    /// In the order in which their pods are moved.
    node_claims: Vec<&'a str>,
    /// Those of the NodeClaims that have a node.
    nodes: Vec<&'a str>,
    replacements: Vec<New<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct New<'a> {
    node_pool: &'a str,
    instance_types: Vec<&'a str>,
    requirements: Vec<Entry<'a>>,
    cheapest: Option<Cheapest<'a>>,
    pods: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Cheapest<'a> {
    instance_type: &'a str,
    zone: &'a str,
    capacity_type: &'static str,
    price_per_hour: Dollars,
}

#[derive(Debug, Serialize)]
struct Moved<'a> {
    pod: String,
    from: &'a str,
    to: String,
}

#[derive(Debug, Serialize)]
struct Refused<'a> {
    node: &'a str,
    reason: String,
}

#[derive(Debug, Serialize)]
struct Stays<'a> {
    node: &'a str,
    /// The reason that decides.
    reason: String,
    /// What every method says.
    methods: BTreeMap<&'static str, String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Wider<'a> {
    command: Option<Action<'a>>,
    saving_per_hour: Dollars,
    compatible_saving_per_hour: Dollars,
    examined: u64,
    is_complete: bool,
}

/// The answer to what was asked.
pub(super) fn document<'a>(found: &'a Found<'_>, said: &'a Remarks) -> Document<'a> {
    let outlook = &found.outlook;
    let answer = |method: Method| outlook.answers.get(&method);
    let method = |method: Method| (method.as_str(), answer(method).and_then(action));
    let eligible = |method: Method| {
        let nodes = answer(method).into_iter().flat_map(|answer| &answer.eligible);
        (method.as_str(), nodes.map(model::NodeName::as_str).collect())
    };
    let asked = Method::ALL
        .into_iter()
        .filter(|method| *method != Method::Repair || answer(*method).is_some());
    let ineligible = outlook.ineligible.iter();
    let voided = outlook.answers.iter().filter_map(|(method, answer)| {
        let (_, voided) = answer.voided.as_ref()?;
        Some((method.as_str(), voided.to_string()))
    });
    let errors = outlook
        .answers
        .iter()
        .filter_map(|(method, answer)| Some((method.as_str(), answer.error.as_ref()?.to_string())));
    let budgets = outlook.budgets.iter().map(|(pool, budgets)| {
        let map = budgets.iter().map(|(reason, left)| (reason.as_str(), *left));
        (pool.as_str(), map.collect())
    });
    Document {
        view: match found.view {
            View::Karpenter => "karpenter",
            View::Journeyman => "journeyman",
        },
        ahead: found.ahead_lines(),
        unknown: &found.unknown,
        waiting: outlook.waiting.as_ref().map(ToString::to_string),
        methods: asked.clone().map(method).collect(),
        first: found.proposal().map(|proposal| proposal.command.method.as_str()),
        next: found.next.iter().map(|step| commit(found, step)).collect(),
        ineligible: ineligible
            .map(|(node, reason)| Refused { node, reason: reason.to_string() })
            .collect(),
        drifted: outlook
            .drifted
            .iter()
            .map(|(node, reason)| (node.as_str(), reason.as_str()))
            .collect(),
        eligible: asked.map(eligible).collect(),
        budgets: budgets.collect(),
        stays: staying::of(found)
            .into_iter()
            .map(|stays| Stays {
                node: stays.node.as_str(),
                reason: stays.reason,
                methods: staying::said(found, stays.node),
            })
            .collect(),
        voided: voided.collect(),
        errors: errors.collect(),
        thorough: found.thorough.as_ref().map(|thorough| Wider {
            command: thorough.proposal.as_ref().map(shown),
            saving_per_hour: thorough
                .proposal
                .as_ref()
                .map_or_else(HourlyPrice::default, Proposal::saving)
                .into(),
            compatible_saving_per_hour: thorough.compatible_saving.into(),
            examined: thorough.examined,
            is_complete: thorough.left.is_none(),
        }),
        left_out: &said.left_out,
        assumptions: &said.assumptions,
    }
}

fn commit<'a>(found: &'a Found<'_>, step: &'a DisruptionStep) -> Commit<'a> {
    let claim = |name| found.facts.ledger.claims.get(name);
    let node = |name| Some(claim(name)?.node.as_ref()?.as_str());
    Commit {
        reason: step.reason.as_str(),
        method: step.proposal.as_ref().map(|proposal| proposal.command.method.as_str()),
        node_claims: step.claims.iter().map(model::NodeClaimName::as_str).collect(),
        nodes: step.claims.iter().filter_map(node).collect(),
        replacements: step.replacements.iter().map(new).collect(),
    }
}

fn action(answer: &Finding) -> Option<Action<'_>> {
    answer.proposal.as_ref().map(shown)
}

fn shown(proposal: &Proposal) -> Action<'_> {
    let to = |to: &Destination| match to {
        Destination::Existing(Target::Node(node)) => node.to_string(),
        Destination::Existing(Target::Claim(claim)) => claim.to_string(),
        Destination::Replacement(place) => format!("replacement {place}"),
    };
    let moves = proposal.moves.iter().map(|pod_move| Moved {
        pod: pod_move.pod.to_string(),
        from: pod_move.from.as_str(),
        to: to(&pod_move.to),
    });
    let drains = proposal
        .disrupted
        .iter()
        .map(|disrupted| (disrupted.node.as_str(), disrupted.drain.map(|drain| drain.as_secs())));
    let reasons = proposal
        .disrupted
        .iter()
        .map(|disrupted| (disrupted.node.as_str(), disrupted.reason.as_str()));
    Action {
        candidates: proposal.nodes().map(model::NodeName::as_str).collect(),
        replacements: proposal.command.replacements.iter().map(new).collect(),
        moves: moves.collect(),
        price_before: proposal.price_before.into(),
        price_after: proposal.price_after.into(),
        reasons: reasons.collect(),
        rejected: &proposal.rejected,
        decision: proposal.is_terminate_first.then_some("terminate-first"),
        drain_seconds: (proposal.command.method == Method::Repair).then(|| drains.collect()),
    }
}

fn new(replacement: &Replacement) -> New<'_> {
    let types = replacement.instance_types.iter();
    New {
        node_pool: replacement.node_pool.as_str(),
        instance_types: types.map(model::InstanceTypeName::as_str).collect(),
        requirements: entries(&replacement.requirements),
        cheapest: replacement.cheapest.as_ref().map(cheapest),
        pods: replacement.pods.iter().map(ToString::to_string).collect(),
    }
}

fn cheapest((key, price): &(OfferingKey, HourlyPrice)) -> Cheapest<'_> {
    Cheapest {
        instance_type: key.instance_type.as_str(),
        zone: key.zone.as_str(),
        capacity_type: key.capacity_type.as_str(),
        price_per_hour: (*price).into(),
    }
}
