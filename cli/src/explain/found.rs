//! Which records concern what is explained.

use std::collections::BTreeSet;

use model::{
    NodeClaim, NodeClaimName, NodeName,
    ledger::{Decision, DecisionKind, Rejected, RejectionReason, Subject},
};
use report::output::dollars;

use super::{ExplainedKind, rollout};
use crate::records::{Records, is_about_any, names_of};

/// What is explained, by all of its names.
struct Meant {
    kind: ExplainedKind,
    name: String,
    claims: BTreeSet<NodeClaimName>,
    nodes: BTreeSet<NodeName>,
}

impl Meant {
    /// Whether `subject` is one of its claims or nodes.
    fn has(&self, subject: &Subject) -> bool {
        subject.claim.as_ref().is_some_and(|claim| self.claims.contains(claim))
            || subject.node.as_ref().is_some_and(|node| self.nodes.contains(node))
    }

    /// Whether `what`, which may list several with commas, names it or one of its claims or nodes.
    fn is_named(&self, what: &str) -> bool {
        names(what, &self.name)
            || self.claims.iter().any(|claim| names(what, claim.as_str()))
            || self.nodes.iter().any(|node| names(what, node.as_str()))
    }

    /// Whether `decision` is about it.
    fn is_concerned(&self, decision: &Decision) -> bool {
        let name = self.name.as_str();
        let has_subject = || decision.subjects.iter().any(|subject| self.has(subject));
        let mut rejected = decision.rejected.iter().filter_map(|other| other.what.as_deref());
        match self.kind {
            ExplainedKind::Reason => false,
            ExplainedKind::Pod => decision.all_pods().any(|pod| pod.to_string() == name),
            ExplainedKind::NodePool => {
                decision.node_pool.as_ref().is_some_and(|pool| pool.as_str() == name)
                    || has_subject()
                    || rejected.any(|what| what == name)
                    || (decision.kind == DecisionKind::NonDisruption
                        && decision.bounds.iter().any(|bound| bound.node_pool.as_str() == name))
            }
            ExplainedKind::Node | ExplainedKind::NodeClaim => {
                has_subject() || rejected.any(|what| self.is_named(what))
            }
        }
    }
}

/// What is known of something.
pub(crate) struct Explained<'r> {
    meant: Meant,
    /// How it is now, in sentences.
    pub(crate) state: Vec<String>,
    /// Its claims that are not gone.
    pub(crate) claims: Vec<&'r NodeClaim>,
    /// The decisions that concern it, the newest first.
    pub(crate) decisions: Vec<&'r Decision>,
}

impl Explained<'_> {
    pub(crate) fn is_unknown(&self) -> bool {
        self.claims.is_empty() && self.decisions.is_empty()
    }

    /// Whether `subject` is what is explained. A NodePool's are all of them.
    pub(super) fn is_about(&self, subject: &Subject) -> bool {
        match self.meant.kind {
            ExplainedKind::NodePool | ExplainedKind::Reason => true,
            ExplainedKind::Pod => is_it(subject, ExplainedKind::Pod, &self.meant.name),
            ExplainedKind::Node | ExplainedKind::NodeClaim => self.meant.has(subject),
        }
    }

    /// Whether `what`, which may list several with commas, names what is explained. For a NodePool all does.
    pub(super) fn is_named(&self, what: &str) -> bool {
        self.meant.kind == ExplainedKind::NodePool || self.meant.is_named(what)
    }
}

/// What `records` say of the `kind` called `name`.
pub(crate) fn explained<'r>(
    records: &'r Records,
    kind: ExplainedKind,
    name: &str,
) -> Explained<'r> {
    let meant = meant(records, kind, name);
    let is_concerned = |decision: &&Decision| meant.is_concerned(decision);
    let decisions: Vec<&Decision> = records.decisions.iter().filter(is_concerned).collect();
    let alive: Vec<&NodeClaim> =
        records.claims.values().filter(|claim| meant.claims.contains(&claim.name)).collect();
    let state = match kind {
        ExplainedKind::Reason => Vec::new(),
        ExplainedKind::Pod => of_pod(records, &decisions, name),
        ExplainedKind::Node | ExplainedKind::NodeClaim => {
            of_claims(records, &alive, &meant.claims, &decisions)
        }
        ExplainedKind::NodePool => {
            let nodes = model::words::counted(alive.len(), "NodeClaim");
            let prices = alive.iter().filter_map(|claim| Some(claim.instance.as_ref()?.price));
            let price: u128 = prices.map(|price| u128::from(price.nanos())).sum();
            let mut lines = vec![format!("{nodes}, {} an hour", dollars(price))];
            lines.extend(rollout::of_pool(records, name, &alive));
            lines
        }
    };
    Explained { meant, state, claims: alive, decisions }
}

/// The claims and nodes that are meant. A claim that is gone is known by what was decided about it.
fn meant(records: &Records, kind: ExplainedKind, name: &str) -> Meant {
    let (mut claims, mut nodes) = (BTreeSet::new(), BTreeSet::new());
    if kind == ExplainedKind::Pod {
        return Meant { kind, name: name.to_owned(), claims, nodes };
    }
    let alive = records.claims.values().map(|claim| {
        let is_of_pool = kind == ExplainedKind::NodePool && claim.node_pool.as_str() == name;
        (Subject::of(claim), is_of_pool)
    });
    let told = records.decisions.iter().flat_map(|decision| {
        let is_of_pool = kind == ExplainedKind::NodePool
            && decision.node_pool.as_ref().is_some_and(|pool| pool.as_str() == name);
        decision.subjects.iter().map(move |subject| (subject.clone(), is_of_pool))
    });
    let subjects: Vec<(Subject, bool)> = alive.chain(told).collect();
    for (subject, is_of_pool) in &subjects {
        if *is_of_pool || (kind != ExplainedKind::NodePool && is_it(subject, kind, name)) {
            claims.extend(subject.claim.clone());
        }
    }
    for (subject, _) in &subjects {
        if subject.claim.as_ref().is_some_and(|claim| claims.contains(claim)) {
            nodes.extend(subject.node.clone());
        }
    }
    // A node without a NodeClaim may be named, too.
    if kind == ExplainedKind::Node {
        nodes.extend(NodeName::new(name).ok());
    }
    Meant { kind, name: name.to_owned(), claims, nodes }
}

/// The names of what `records` know of the `kind` that begin with `start` as a whole word: the pods of a Deployment by its
/// name, a node by its name without the domain. What was decided last comes first.
pub(super) fn names_that_begin(records: &Records, kind: ExplainedKind, start: &str) -> Vec<String> {
    let goes_on = |name: &String| {
        name.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
    };
    all_names(records, kind).into_iter().filter(goes_on).collect()
}

/// The names of everything of the `kind` that `records` mention, each once. What was decided last comes first.
pub(super) fn all_names(records: &Records, kind: ExplainedKind) -> Vec<String> {
    let decided = records.decisions.iter().flat_map(|decision| named_in(decision, kind));
    let alive = records.claims.values().filter_map(|claim| match kind {
        ExplainedKind::Pod | ExplainedKind::Reason => None,
        ExplainedKind::Node => claim.node.as_ref().map(ToString::to_string),
        ExplainedKind::NodeClaim => Some(claim.name.to_string()),
        ExplainedKind::NodePool => Some(claim.node_pool.to_string()),
    });
    let mut seen = BTreeSet::new();
    decided.chain(alive).filter(|name| seen.insert(name.clone())).collect()
}

/// What of the `kind` is a subject of `decision`, by name.
fn named_in(decision: &Decision, kind: ExplainedKind) -> Vec<String> {
    let subjects = decision.subjects.iter();
    match kind {
        ExplainedKind::Pod => decision.all_pods().map(ToString::to_string).collect(),
        ExplainedKind::Node => {
            subjects.filter_map(|subject| Some(subject.node.as_ref()?.to_string())).collect()
        }
        ExplainedKind::NodeClaim => {
            subjects.filter_map(|subject| Some(subject.claim.as_ref()?.to_string())).collect()
        }
        ExplainedKind::NodePool => decision.node_pool.iter().map(ToString::to_string).collect(),
        ExplainedKind::Reason => Vec::new(),
    }
}

/// Whether `subject` itself is the `kind` called `name`.
pub(super) fn is_it(subject: &Subject, kind: ExplainedKind, name: &str) -> bool {
    match kind {
        ExplainedKind::Pod => subject.pods.iter().any(|pod| pod.to_string() == name),
        ExplainedKind::Node => {
            subject.node.as_ref().is_some_and(|node| node.as_str() == name)
                || subject.instance.as_ref().is_some_and(|id| id.as_str() == name)
        }
        ExplainedKind::NodeClaim => {
            subject.claim.as_ref().is_some_and(|claim| claim.as_str() == name)
        }
        ExplainedKind::NodePool | ExplainedKind::Reason => false,
    }
}

/// Whether `what`, which may list several with commas, names `name`.
fn names(what: &str, name: &str) -> bool {
    what.split(", ").any(|known| known == name)
}

/// Whether the claims of a decision of this `kind` are disrupted or terminated, or may be: by a later release.
pub(super) fn ends(kind: DecisionKind) -> bool {
    kind.ends_claims() || kind == DecisionKind::Other
}

fn of_pod(records: &Records, decisions: &[&Decision], name: &str) -> Vec<String> {
    let place = decisions.iter().find_map(|decision| {
        let goes = matches!(decision.kind, DecisionKind::Launch | DecisionKind::Placement);
        let mut its = decision.subjects.iter().filter(|s| is_it(s, ExplainedKind::Pod, name));
        its.next().filter(|_| goes)
    });
    let Some(place) = place else { return vec!["no node was found for it yet".to_owned()] };
    let Some(claim) = &place.claim else {
        let node = place.node.as_ref().map(ToString::to_string).unwrap_or_default();
        return vec![format!("nominated to node {node}")];
    };
    let alive = records.claims.get(claim);
    let state = match alive {
        Some(claim) => match &claim.node {
            Some(node) => format!("{}, node {node}", claim.phase),
            None => claim.phase.to_string(),
        },
        None => "it does not exist any more".to_owned(),
    };
    let mut lines = vec![format!("nominated to NodeClaim {claim}: {state}")];
    lines.extend(alive.iter().flat_map(|claim| rollout::of_claim(records, claim)));
    lines.push(format!("more about it: journeyman explain nodeclaim {claim}"));
    lines
}

/// Why `claim` is not disrupted: the newest decision that says it. Of decisions of one look, one about a rollout: the node
/// has drifted then, and other methods concern it less.
fn not_disrupted(claim: &NodeClaim, decisions: &[&Decision]) -> Option<String> {
    if claim.is_deleting() {
        return None;
    }
    let names = names_of(claim).collect();
    let reasons = decisions.iter().filter_map(|decision| {
        let rejected = decision.rejected.iter().find(|rejected| is_about_any(rejected, &names))?;
        Some((decision.last_at, rejected))
    });
    let is_rollout = |rejected: &Rejected| rejected.reason == RejectionReason::Rollout;
    let (at, rejected) = reasons.max_by_key(|(at, rejected)| (*at, is_rollout(rejected)))?;
    Some(format!(
        "NodeClaim {} is not disrupted: {} (decided at {at:.0})",
        claim.name, rejected.why
    ))
}

fn of_claims(
    records: &Records,
    alive: &[&NodeClaim],
    claims: &BTreeSet<NodeClaimName>,
    decisions: &[&Decision],
) -> Vec<String> {
    let mut lines = Vec::new();
    for claim in alive {
        let node = claim.node.as_ref().map(|node| format!(", node {node}")).unwrap_or_default();
        let instance = claim.instance.as_ref().map(|instance| {
            let (kind, zone) = (instance.capacity_type, &instance.zone);
            let price = dollars(instance.price.nanos().into());
            format!(", {} {kind} in {zone}, {price} an hour", instance.instance_type)
        });
        let (name, phase) = (&claim.name, claim.phase);
        lines.push(format!("NodeClaim {name} is {phase}{node}{}", instance.unwrap_or_default()));
        lines.extend(claim.message.as_ref().map(|message| format!("it says: {message}")));
        lines.extend(rollout::of_claim(records, claim));
        lines.extend(not_disrupted(claim, decisions));
    }
    for gone in claims.iter().filter(|name| alive.iter().all(|claim| claim.name != **name)) {
        let last = decisions.iter().find(|decision| {
            let its = decision.claims().any(|claim| claim == gone);
            its && ends(decision.kind)
        });
        let why = last.map(|last| format!(": {:.0} {}", last.at, last.summary));
        lines.push(format!("NodeClaim {gone} is gone{}", why.unwrap_or_default()));
    }
    lines
}
