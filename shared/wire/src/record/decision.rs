//! A decision as it is stored.

use jiff::Timestamp;
use model::{
    Function, NodeClaimName, NodePoolName,
    ledger::{Decision, Rejected},
};
use serde::{Deserialize, Serialize};

use super::parts;

/// Version 1 of a stored decision. Prices are in nano-dollars per hour.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DecisionRecordV1 {
    v: u32,
    at: Timestamp,
    function: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node_pool: Option<String>,
    claims: Vec<String>,
    summary: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rejected: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    price_before: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    price_after: Option<u64>,
}

impl DecisionRecordV1 {
    pub(super) fn of(decision: &Decision) -> Self {
        Self {
            v: super::VERSION,
            at: decision.at,
            function: decision.function.as_str().to_owned(),
            node_pool: decision.node_pool.as_ref().map(ToString::to_string),
            claims: parts::texts(&decision.claims),
            summary: decision.summary.clone(),
            rejected: parts::texts(&decision.rejected),
            price_before: decision.price_before.map(model::HourlyPrice::nanos),
            price_after: decision.price_after.map(model::HourlyPrice::nanos),
        }
    }

    pub(super) fn into_decision(self) -> Result<Decision, String> {
        Ok(Decision {
            at: self.at,
            function: parts::known(&self.function, "function", Function::parse)?,
            node_pool: self
                .node_pool
                .map(|name| parts::id(&name, NodePoolName::new))
                .transpose()?,
            claims: parts::ids(&self.claims, NodeClaimName::new)?,
            summary: self.summary,
            rejected: self.rejected.into_iter().map(|why| Rejected { what: None, why }).collect(),
            price_before: self.price_before.map(parts::price),
            price_after: self.price_after.map(parts::price),
        })
    }
}
