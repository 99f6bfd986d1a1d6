//! What the records say of nodes and pods.

use std::collections::BTreeSet;

use model::{
    NodeClaim, PodKey,
    ledger::{Decision, Subject},
};
use report::output::{dollars, natural};
use serde_json::json;

use super::{GetArgs, Listed, age, claims, spared};
use crate::records::{Records, known};

/// Nodes of NodeClaims that are not gone.
pub(super) fn nodes(records: &Records, args: &GetArgs, is_wide: bool) -> Listed {
    let mut heads = vec!["NAME", "NODEPOOL", "PHASE", "TYPE", "CAPACITY", "ZONE", "AGE"];
    if is_wide {
        heads.extend(["NODECLAIM", "INSTANCE", "PRICE/H"]);
    }
    let spared = spared(is_wide, &["ZONE", "CAPACITY", "AGE"]);
    let mut listed = Listed { heads, spared, ..Listed::default() };
    let joined = claims(records, args).filter_map(|claim| Some((claim.node.as_ref()?, claim)));
    let mut joined: Vec<_> = joined.collect();
    joined.sort_by(|(a, _), (b, _)| natural(a.as_str(), b.as_str()));
    for (node, claim) in joined {
        let NodeClaim { name, node_pool, phase, created_at, .. } = claim;
        let text = |text: Option<String>| text.unwrap_or_default();
        let instance = claim.instance.as_ref();
        let kind = instance.map(|instance| instance.instance_type.to_string());
        let capacity = instance.map(|instance| instance.capacity_type.to_string());
        let zone = instance.map(|instance| instance.zone.to_string());
        let mut row = vec![
            node.to_string(),
            node_pool.to_string(),
            phase.to_string(),
            text(kind),
            text(capacity),
            text(zone),
            age(*created_at, records.at),
        ];
        if is_wide {
            row.push(name.to_string());
            row.push(text(instance.map(|instance| instance.id.to_string())));
            row.push(text(instance.map(|instance| dollars(instance.price.nanos().into()))));
        }
        let mut document = crate::records::claim(claim);
        if let Some(members) = document.as_object_mut() {
            members.remove("node");
            members.insert("name".to_owned(), json!(node.as_str()));
            members.insert("nodeClaim".to_owned(), json!(name.as_str()));
        }
        listed.push(row, document, format!("node/{node}"));
    }
    listed
}

/// Pods that decisions name, each with its newest decision, the newest first.
pub(super) fn pods(records: &Records, args: &GetArgs, is_wide: bool) -> Listed {
    let mut heads = vec!["NAMESPACE", "NAME", "DECISION", "NODE", "NODECLAIM", "AGE"];
    if is_wide {
        heads.extend(["ID", "SUMMARY"]);
    }
    let spared = spared(is_wide, &["NODECLAIM", "AGE"]);
    let mut listed = Listed { heads, spared, ..Listed::default() };
    let is_asked =
        |decision: &&Decision| args.node_pool.is_none() || decision.node_pool == args.node_pool;
    let named = records.decisions.iter().filter(is_asked).flat_map(|decision| {
        let of_subjects = decision.subjects.iter();
        let of_subjects = of_subjects
            .flat_map(|subject| subject.pods.iter().map(move |pod| (pod, Some(subject))));
        let alone = decision.pods.iter().map(|pod| (pod, None));
        of_subjects.chain(alone).map(move |(pod, subject)| (pod, subject, decision))
    });
    let mut seen = BTreeSet::new();
    let newest = named.filter(|(pod, ..)| seen.insert(*pod));
    for (pod, subject, decision) in newest.take(args.limit) {
        let node = subject.and_then(|subject| node_of(records, subject));
        let claim = subject.and_then(|subject| subject.claim.as_ref()).map(ToString::to_string);
        let PodKey { namespace, name } = pod;
        let mut row = vec![
            namespace.to_string(),
            name.to_string(),
            decision.kind.as_str().to_owned(),
            node.clone().unwrap_or_default(),
            claim.clone().unwrap_or_default(),
            age(decision.last_at, records.at),
        ];
        if is_wide {
            row.extend([decision.short_id(), decision.summary.clone()]);
        }
        let document = known(json!({
            "namespace": namespace.as_str(),
            "name": name.as_str(),
            "decision": decision.kind.as_str(),
            "decisionId": decision.short_id(),
            "time": decision.last_at.to_string(),
            "node": node,
            "nodeClaim": claim,
            "summary": decision.summary,
        }));
        listed.push(row, document, format!("pod/{pod}"));
    }
    listed
}

/// The node of `subject`: when it was decided, it may not have joined yet.
fn node_of(records: &Records, subject: &Subject) -> Option<String> {
    let joined = || records.claims.get(subject.claim.as_ref()?)?.node.as_ref();
    subject.node.as_ref().or_else(joined).map(ToString::to_string)
}
