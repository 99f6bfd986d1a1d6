//! A decision as it is stored.

use jiff::Timestamp;
use model::{
    CapacityType, Function, InstanceId, InstanceTypeName, NodeClaimName, NodeName, NodePoolName,
    OfferingKey, Zone,
    ledger::{Bound, Counters, Decision, DecisionKind, Origin, Rejected, RejectionReason, Subject},
};
use serde::{Deserialize, Serialize};

use super::parts;

/// Version 1 of a stored decision. Prices are in nano-dollars per hour.
///
/// The first release wrote `at`, `function`, `node_pool`, `claims`, `summary`, texts as `rejected` and the
/// prices. It reads what is written now with no claims and with nothing rejected.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DecisionRecordV1 {
    v: u32,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    kind: String,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_at: Option<Timestamp>,
    function: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node_pool: Option<String>,
    /// Of the first release.
    #[serde(default)]
    claims: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    about: Vec<SubjectV1>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pods: Vec<String>,
    summary: String,
    /// Of the first release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rejected: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    alternatives: Vec<RejectedV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    price_before: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    price_after: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bounds: Vec<BoundV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<OriginV1>,
}

/// What it is about.
#[derive(Debug, Serialize, Deserialize)]
struct SubjectV1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capacity_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    price: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pods: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct RejectedV1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    what: Option<String>,
    reason: String,
    why: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct BoundV1 {
    node_pool: String,
    what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct OriginV1 {
    facts: String,
    arrivals: u64,
    departures: u64,
    delivery: String,
    version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recorded: Option<String>,
}

impl DecisionRecordV1 {
    pub(super) fn of(decision: &Decision) -> Self {
        let is_repeated = decision.count != 1 || decision.last_at != decision.at;
        Self {
            v: super::VERSION,
            kind: decision.kind.as_str().to_owned(),
            at: decision.at,
            count: is_repeated.then_some(decision.count),
            last_at: is_repeated.then_some(decision.last_at),
            function: decision.function.as_str().to_owned(),
            node_pool: decision.node_pool.as_ref().map(ToString::to_string),
            claims: Vec::new(),
            about: decision.subjects.iter().map(SubjectV1::of).collect(),
            pods: parts::texts(&decision.pods),
            summary: decision.summary.clone(),
            rejected: Vec::new(),
            alternatives: decision.rejected.iter().map(RejectedV1::of).collect(),
            price_before: decision.price_before.map(model::HourlyPrice::nanos),
            price_after: decision.price_after.map(model::HourlyPrice::nanos),
            bounds: decision.bounds.iter().map(BoundV1::of).collect(),
            origin: decision.origin.as_ref().map(OriginV1::of),
        }
    }

    pub(super) fn into_decision(self) -> Result<Decision, String> {
        let mut subjects = Vec::new();
        for name in &self.claims {
            let claim = Some(parts::id(name, NodeClaimName::new)?);
            subjects.push(Subject { claim, ..Subject::default() });
        }
        for subject in self.about {
            subjects.push(subject.into_subject()?);
        }
        let mut rejected: Vec<Rejected> =
            self.rejected.iter().map(|why| why.as_str().into()).collect();
        rejected.extend(self.alternatives.into_iter().map(RejectedV1::into_rejected));
        let pods = self.pods.iter().map(|text| parts::pod_key(text)).collect::<Result<_, _>>()?;
        Ok(Decision {
            kind: DecisionKind::parse(&self.kind),
            at: self.at,
            count: self.count.unwrap_or(1),
            last_at: self.last_at.unwrap_or(self.at),
            function: parts::known(&self.function, "function", Function::parse)?,
            node_pool: optional(self.node_pool.as_deref(), NodePoolName::new)?,
            subjects,
            pods,
            summary: self.summary,
            rejected,
            price_before: self.price_before.map(parts::price),
            price_after: self.price_after.map(parts::price),
            bounds: self.bounds.into_iter().map(BoundV1::into_bound).collect::<Result<_, _>>()?,
            origin: self.origin.map(OriginV1::into_origin).transpose()?,
        })
    }
}

fn optional<T>(
    text: Option<&str>,
    read: impl Fn(&str) -> Result<T, model::id::InvalidId>,
) -> Result<Option<T>, String> {
    text.map(|text| parts::id(text, &read)).transpose()
}

impl SubjectV1 {
    fn of(subject: &Subject) -> Self {
        let offering = subject.offering.as_ref();
        Self {
            claim: subject.claim.as_ref().map(ToString::to_string),
            node: subject.node.as_ref().map(ToString::to_string),
            instance: subject.instance.as_ref().map(ToString::to_string),
            capacity_type: offering.map(|offering| offering.capacity_type.as_str().to_owned()),
            instance_type: offering.map(|offering| offering.instance_type.to_string()),
            zone: offering.map(|offering| offering.zone.to_string()),
            price: subject.price.map(model::HourlyPrice::nanos),
            pods: parts::texts(&subject.pods),
        }
    }

    fn into_subject(self) -> Result<Subject, String> {
        let offering = match (self.capacity_type, self.instance_type, self.zone) {
            (Some(capacity_type), Some(instance_type), Some(zone)) => Some(OfferingKey {
                capacity_type: parts::known(&capacity_type, "capacity type", CapacityType::parse)?,
                instance_type: parts::id(&instance_type, InstanceTypeName::new)?,
                zone: parts::id(&zone, Zone::new)?,
            }),
            _ => None,
        };
        Ok(Subject {
            claim: optional(self.claim.as_deref(), NodeClaimName::new)?,
            node: optional(self.node.as_deref(), NodeName::new)?,
            instance: optional(self.instance.as_deref(), InstanceId::new)?,
            offering,
            price: self.price.map(parts::price),
            pods: self.pods.iter().map(|text| parts::pod_key(text)).collect::<Result<_, _>>()?,
        })
    }
}

impl RejectedV1 {
    fn of(rejected: &Rejected) -> Self {
        let Rejected { what, reason, why } = rejected;
        Self { what: what.clone(), reason: reason.as_str().to_owned(), why: why.clone() }
    }

    fn into_rejected(self) -> Rejected {
        Rejected { what: self.what, reason: RejectionReason::parse(&self.reason), why: self.why }
    }
}

impl BoundV1 {
    fn of(bound: &Bound) -> Self {
        let Bound { node_pool, what, left } = bound;
        Self { node_pool: node_pool.to_string(), what: what.clone(), left: left.clone() }
    }

    fn into_bound(self) -> Result<Bound, String> {
        let node_pool = parts::id(&self.node_pool, NodePoolName::new)?;
        Ok(Bound { node_pool, what: self.what, left: self.left })
    }
}

impl OriginV1 {
    fn of(origin: &Origin) -> Self {
        let Counters { arrivals, departures } = origin.counters;
        Self {
            facts: format!("{:016x}", origin.facts),
            arrivals,
            departures,
            delivery: origin.delivery.clone(),
            version: origin.version.clone(),
            recorded: origin.recorded.map(|number| format!("{number:016x}")),
        }
    }

    fn into_origin(self) -> Result<Origin, String> {
        let number = |text: &str| {
            let number = u64::from_str_radix(text, 16);
            number.map_err(|_| format!("`{text}` is not the digest of facts"))
        };
        let facts = number(&self.facts)?;
        let recorded = self.recorded.as_deref().map(number).transpose()?;
        let counters = Counters { arrivals: self.arrivals, departures: self.departures };
        let (delivery, version) = (self.delivery, self.version);
        Ok(Origin { facts, counters, delivery, version, recorded })
    }
}
