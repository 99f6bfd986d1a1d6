//! Several claims in one record: what they have in common is said once.

use std::sync::Arc;

use model::NodeClaim;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{VERSION, claim::ClaimRecordV1, claim_value};

/// Members of a claim's record.
type Members = Map<String, Value>;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ClaimsRecordV1 {
    v: u32,
    /// The first is whole.
    claims: Vec<Members>,
}

impl ClaimsRecordV1 {
    pub(super) fn of(claims: &[&NodeClaim]) -> Self {
        let mut claims: Vec<Members> = claims.iter().map(|claim| members(claim)).collect();
        if let Some((first, others)) = claims.split_first_mut() {
            for other in others {
                *other = difference(first, std::mem::take(other));
            }
        }
        Self { v: VERSION, claims }
    }

    pub(super) fn into_claims(self) -> Result<Vec<NodeClaim>, String> {
        let Some(first) = self.claims.first() else { return Ok(Vec::new()) };
        let read = |(index, other): (usize, &Members)| {
            let mut whole = first.clone();
            whole.extend(other.clone());
            whole.retain(|_, member| !member.is_null());
            claim_of(whole).map_err(|problem| format!("claims[{index}]: {problem}"))
        };
        self.claims.iter().enumerate().map(read).collect()
    }
}

fn claim_of(whole: Members) -> Result<NodeClaim, String> {
    let whole = Value::Object(whole);
    let record: ClaimRecordV1 =
        serde_json::from_value(whole.clone()).map_err(|error| error.to_string())?;
    let mut claim = record.into_claim()?;
    if claim_value(&claim) != whole {
        claim.not_understood = Some(Arc::from(whole.to_string()));
    }
    Ok(claim)
}

fn members(claim: &NodeClaim) -> Members {
    match claim_value(claim) {
        Value::Object(members) => members,
        // A record is an object with texts as keys: there is nothing else that it could become.
        _ => Members::new(),
    }
}

/// What makes `other` of `first`.
fn difference(first: &Members, mut other: Members) -> Members {
    let lacks: Vec<(String, Value)> = first
        .keys()
        .filter(|key| !other.contains_key(*key))
        .map(|key| (key.clone(), Value::Null))
        .collect();
    other.retain(|key, member| first.get(key) != Some(member));
    other.extend(lacks);
    other
}
