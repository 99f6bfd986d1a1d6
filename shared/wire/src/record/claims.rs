//! Several claims in one record: what they have in common is said once.

use model::NodeClaim;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{VERSION, claim::ClaimRecordV1};

/// Members of a claim's record.
type Members = Map<String, Value>;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
            let record: ClaimRecordV1 = serde_json::from_value(Value::Object(whole))
                .map_err(|error| format!("claims[{index}]: {error}"))?;
            record.into_claim().map_err(|problem| format!("claims[{index}]: {problem}"))
        };
        self.claims.iter().enumerate().map(read).collect()
    }
}

fn members(claim: &NodeClaim) -> Members {
    match serde_json::to_value(ClaimRecordV1::of(claim)) {
        Ok(Value::Object(members)) => members,
        // A record is an object with texts as keys: there is nothing else that it could become.
        Ok(_) | Err(_) => Members::new(),
    }
}

/// What makes `other` of `first`.
fn difference(first: &Members, mut other: Members) -> Members {
    let lacks = first.keys().filter(|key| !other.contains_key(*key));
    let lacks: Vec<(String, Value)> = lacks.map(|key| (key.clone(), Value::Null)).collect();
    other.retain(|key, member| first.get(key) != Some(member));
    other.extend(lacks);
    other
}
