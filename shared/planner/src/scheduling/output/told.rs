//! What is kept of a plan: which nodes for which pods, where other pods go, and who gets none and why.

use std::collections::BTreeMap;

use model::{
    Function, HourlyPrice, NodeClaim, NodeName, NodePoolName, Plan, PodKey,
    ledger::{Bound, Decision, DecisionKind, Rejected, Subject},
    limits,
    plan::{NewClaim, Placement, Reason, Target, Unplaced},
    words,
};

use super::explain::show;
use crate::scheduling::{problem::Problem, state::State};

/// Records of pods that get no node which one plan makes: those of the most pods.
const REFUSALS_MAX: usize = 8;

/// One decision for each pool that launches: how many nodes, for how many pods, at what price; one for all
/// pods that go onto capacity that is there; and one for all pods that get no node for the same reasons.
pub(super) fn decisions(problem: &Problem<'_>, state: &State, plan: &Plan) -> Vec<Decision> {
    let bounds = bounds(problem, state);
    let mut told = launches(problem, plan, &bounds);
    told.extend(placements(problem, &plan.placements));
    told.extend(refusals(problem, &plan.unplaced, &bounds));
    told
}

fn launches(problem: &Problem<'_>, plan: &Plan, bounds: &[Bound]) -> Vec<Decision> {
    let mut by_pool: BTreeMap<&NodePoolName, Vec<&NewClaim>> = BTreeMap::new();
    for new in &plan.new_claims {
        by_pool.entry(&new.claim.node_pool).or_default().push(new);
    }
    let reasons = plan.unplaced.iter().flat_map(|unplaced| &unplaced.reasons);
    let reasons: BTreeMap<String, &Reason> =
        reasons.map(|reason| (reason.to_string(), reason)).collect();
    let rejected: Vec<Rejected> = reasons
        .values()
        .take(limits::REJECTED_PER_DECISION_MAX)
        .map(|reason| rejected(reason))
        .collect();
    let decision = |(pool, new_claims): (&NodePoolName, Vec<&NewClaim>)| {
        let pods: usize = new_claims.iter().map(|new| new.claim.pods.len()).sum();
        let prices = new_claims.iter().map(|new| new.price);
        let price = prices.fold(HourlyPrice::default(), HourlyPrice::saturating_add);
        let (nodes, pods) = (words::counted(new_claims.len(), "node"), words::counted(pods, "pod"));
        let summary = format!("{pool}: {nodes} for {pods}, from ${price} an hour");
        let who = (Function::Provision, problem.facts.now);
        let bounds = bounds.iter().filter(|bound| bound.node_pool == *pool).cloned().collect();
        Decision {
            rejected: rejected.clone(),
            price_after: Some(price),
            bounds,
            ..created(new_claims, who, summary)
        }
    };
    by_pool.into_iter().map(decision).collect()
}

/// The decision to launch `new_claims`, with what each may become.
pub fn created<'p>(
    new_claims: impl IntoIterator<Item = &'p NewClaim>,
    who: (Function, jiff::Timestamp),
    summary: String,
) -> Decision {
    let new_claims: Vec<&NewClaim> = new_claims.into_iter().collect();
    let claims = new_claims.iter().map(|new| &new.claim);
    let mut decision = Decision::about(DecisionKind::Launch, claims, who, summary);
    for (subject, new) in decision.subjects.iter_mut().zip(new_claims) {
        subject.offering = Some(new.cheapest.clone());
        subject.price = Some(new.price);
    }
    decision
}

fn placements(problem: &Problem<'_>, placements: &[Placement]) -> Option<Decision> {
    if placements.is_empty() {
        return None;
    }
    let claims = &problem.facts.ledger.claims;
    let by_node: BTreeMap<&NodeName, &NodeClaim> =
        claims.values().filter_map(|claim| Some((claim.node.as_ref()?, claim))).collect();
    let subject = |placement: &Placement| {
        let of_node = match &placement.target {
            Target::Claim(name) => claims.get(name),
            Target::Node(node) => by_node.get(node).copied(),
        };
        let known = of_node.map(Subject::of).unwrap_or_default();
        let node = match &placement.target {
            Target::Node(node) => Some(node.clone()),
            Target::Claim(_) => known.node.clone(),
        };
        Subject { node, pods: placement.pods.clone(), ..known }
    };
    let pods: usize = placements.iter().map(|placement| placement.pods.len()).sum();
    let (pods, nodes) = (words::counted(pods, "pod"), words::counted(placements.len(), "node"));
    let summary = format!("{pods} nominated to {nodes}");
    let who = (Function::Provision, problem.facts.now);
    let decision = Decision::about(DecisionKind::Placement, [], who, summary);
    Some(Decision { subjects: placements.iter().map(subject).collect(), ..decision })
}

fn refusals(problem: &Problem<'_>, unplaced: &[Unplaced], bounds: &[Bound]) -> Vec<Decision> {
    let mut groups: BTreeMap<&[Reason], Vec<&PodKey>> = BTreeMap::new();
    for unplaced in unplaced {
        groups.entry(&unplaced.reasons).or_default().push(&unplaced.pod);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, pods)| std::cmp::Reverse(pods.len()));
    let decision = |(reasons, pods): (&[Reason], Vec<&PodKey>)| {
        let first = reasons.first().map(ToString::to_string).unwrap_or_default();
        let others = match reasons.len().saturating_sub(1) {
            0 => String::new(),
            others => format!(" (and {} more)", words::counted(others, "reason")),
        };
        let summary = format!("no node: {first}{others}");
        let who = (Function::Provision, problem.facts.now);
        Decision {
            pods: pods.into_iter().take(limits::PODS_PER_DECISION_MAX).cloned().collect(),
            rejected: reasons
                .iter()
                .take(limits::REJECTED_PER_DECISION_MAX)
                .map(rejected)
                .collect(),
            bounds: bounds.to_vec(),
            ..Decision::about(DecisionKind::Refusal, [], who, summary)
        }
    };
    groups.into_iter().take(REFUSALS_MAX).map(decision).collect()
}

/// `reason` in a record.
pub(crate) fn rejected(reason: &Reason) -> Rejected {
    let what = reason.node_pool.as_ref().map(ToString::to_string);
    Rejected { what, reason: reason.reason, why: reason.text.clone() }
}

/// What the limits of the pools leave.
fn bounds(problem: &Problem<'_>, state: &State) -> Vec<Bound> {
    let of_template = |number| {
        let template = &problem.templates[number];
        // Who replaces nodes from templates counts no limits.
        let left = state.limits.known(number).map(Vec::as_slice).unwrap_or_default();
        template.limits.iter().zip(left).map(move |(limit, left)| {
            let name = limit.name.as_str();
            let most = i64::try_from(limit.most).unwrap_or(i64::MAX);
            Bound {
                node_pool: template.name().clone(),
                what: name.to_owned(),
                left: Some(format!("{} of {}", show(name, *left), show(name, most))),
            }
        })
    };
    let of_caps = |number| {
        let caps = problem.caps(&state.dollars, number).into_iter();
        caps.map(move |cap| Bound {
            node_pool: problem.templates[number].name().clone(),
            what: cap.name().to_owned(),
            left: Some(cap.in_words()),
        })
    };
    let mut bounds: Vec<Bound> = problem.templates.ids().flat_map(of_template).collect();
    bounds.extend(problem.templates.ids().flat_map(of_caps));
    bounds.sort();
    bounds.dedup();
    bounds
}
