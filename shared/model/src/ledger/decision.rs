//! Decisions, as they are kept: what was decided about what, why, and what was not chosen.

use std::{collections::BTreeSet, fmt};

use jiff::Timestamp;

use super::{Counters, Digest, RejectionReason, digest};
use crate::{
    Function, HourlyPrice, InstanceId, NodeClaim, NodeClaimName, NodeName, NodePoolName,
    OfferingKey, PodKey, limits,
};

/// What kind of decision it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum DecisionKind {
    /// NodeClaims are created: for pods, static NodePools, or NodeClaims that users made.
    Launch,
    /// Pods are nominated to existing or launching nodes.
    Placement,
    /// Pods cannot be scheduled, or a static NodePool cannot grow.
    Refusal,
    /// Nodes are disrupted by choice.
    Disruption,
    /// Nodes that a method checked and did not disrupt.
    NonDisruption,
    /// A disruption command is rolled back; its nodes remain.
    RollBack,
    /// AWS takes an instance, or an instance fails.
    Interruption,
    /// Nodes that must end: expired, deleted, ended, or never joined.
    Termination,
    /// NodeClaims that got no instance are deleted.
    Withdrawal,
    /// Unknown instances become NodeClaims.
    Adoption,
    /// Written by another release.
    #[default]
    Other,
}

impl DecisionKind {
    /// Every one.
    pub const ALL: [Self; 11] = [
        Self::Launch,
        Self::Placement,
        Self::Refusal,
        Self::Disruption,
        Self::NonDisruption,
        Self::RollBack,
        Self::Interruption,
        Self::Termination,
        Self::Withdrawal,
        Self::Adoption,
        Self::Other,
    ];

    /// The word in records, such as `NonDisruption`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Launch => "Launch",
            Self::Placement => "Placement",
            Self::Refusal => "Refusal",
            Self::Disruption => "Disruption",
            Self::NonDisruption => "NonDisruption",
            Self::RollBack => "RollBack",
            Self::Interruption => "Interruption",
            Self::Termination => "Termination",
            Self::Withdrawal => "Withdrawal",
            Self::Adoption => "Adoption",
            Self::Other => "Other",
        }
    }

    /// The kind called `text`; [`Self::Other`] if it is unknown.
    pub fn parse(text: &str) -> Self {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).unwrap_or_default()
    }

    /// Whether the claims of such a decision are disrupted or terminated.
    pub const fn ends_claims(self) -> bool {
        matches!(self, Self::Disruption | Self::Interruption | Self::Termination | Self::Withdrawal)
    }

    /// Whether nothing follows from it: the same may be decided again and again, and is kept once.
    pub const fn is_standing(self) -> bool {
        matches!(self, Self::Placement | Self::Refusal | Self::NonDisruption)
    }
}

/// What a decision is about: a claim, a node, or both of them once they belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// The claim; `None` is a node that no claim is known of.
    pub claim: Option<NodeClaimName>,
    /// The node, once it joined.
    pub node: Option<NodeName>,
    /// The instance, once there is one.
    pub instance: Option<InstanceId>,
    /// What it is, or the cheapest that it may become.
    pub offering: Option<OfferingKey>,
    /// What that costs.
    pub price: Option<HourlyPrice>,
    /// The pods that it is for, that were on it or that go onto it.
    pub pods: Vec<PodKey>,
}

impl Subject {
    /// What `claim` says of itself.
    pub fn of(claim: &NodeClaim) -> Self {
        let instance = claim.instance.as_ref();
        Self {
            claim: Some(claim.name.clone()),
            node: claim.node.clone(),
            instance: instance.map(|instance| instance.id.clone()),
            offering: instance.map(crate::claim::LaunchedInstance::offering),
            price: instance.map(|instance| instance.price),
            pods: claim.pods.clone(),
        }
    }
}

/// What bounded a decision: a limit of a NodePool or a disruption budget, in words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bound {
    /// The NodePool.
    pub node_pool: NodePoolName,
    /// The resource that is limited, or `budget <reason>`.
    pub what: String,
    /// How much of it was left before the decision; `None` is that nothing bounds it.
    pub left: Option<String>,
}

/// On what a decision was made, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// A digest of all that was looked at: equal facts have equal digests.
    pub facts: u64,
    /// The counters of the ledger that was looked at.
    pub counters: Counters,
    /// The delivery that the function answered.
    pub delivery: String,
    /// The version of the program.
    pub version: String,
    /// Under which number the facts themselves are kept ([`crate::recorded`]); `None` where they are not.
    pub recorded: Option<u64>,
}

/// Why something was decided, kept for 90 days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What kind of decision it is.
    pub kind: DecisionKind,
    /// When it was decided, for the first time.
    pub at: Timestamp,
    /// How often the same was decided, if it is a decision that stands.
    pub count: u32,
    /// When it was decided for the last time.
    pub last_at: Timestamp,
    /// The function that decided.
    pub function: Function,
    /// The NodePool of all claims that it is about; `None` when they have several, or there is none.
    pub node_pool: Option<NodePoolName>,
    /// What it is about.
    pub subjects: Vec<Subject>,
    /// Pods that it is about and that no subject has: those that get no place.
    pub pods: Vec<PodKey>,
    /// What was chosen and why, in a sentence.
    pub summary: String,
    /// What was rejected, each with its reason.
    pub rejected: Vec<Rejected>,
    /// What the nodes that are disrupted cost in one hour; `None` when that is not known.
    pub price_before: Option<HourlyPrice>,
    /// What the nodes that are launched cost in one hour; `None` when none is.
    pub price_after: Option<HourlyPrice>,
    /// The limits and budgets that it was made under.
    pub bounds: Vec<Bound>,
    /// On what it was made; `None` before it is committed, and of records of earlier releases.
    pub origin: Option<Origin>,
}

/// Something that a decision did not choose.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rejected {
    /// What it is: a node, several, a claim, a NodePool. `None` is that the reason stands for itself.
    pub what: Option<String>,
    /// Why it was not chosen, as a word.
    pub reason: RejectionReason,
    /// Why it was not chosen, in words that a user understands.
    pub why: String,
}

impl Rejected {
    /// The names that it is about: `what` lists several with commas.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.what.iter().flat_map(|what| what.split(", "))
    }
}

impl From<&str> for Rejected {
    fn from(why: &str) -> Self {
        Self { why: why.to_owned(), ..Self::default() }
    }
}

impl fmt::Display for Rejected {
    /// `node-1: it is not initialized`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            Some(what) => write!(f, "{what}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl Decision {
    /// A decision of `function` about `claims`: `summary`, with nothing rejected and no prices.
    pub fn about<'c>(
        kind: DecisionKind,
        claims: impl IntoIterator<Item = &'c NodeClaim>,
        (function, at): (Function, Timestamp),
        summary: String,
    ) -> Self {
        let (mut subjects, mut pools) = (Vec::new(), BTreeSet::new());
        for claim in claims {
            subjects.push(Subject::of(claim));
            pools.insert(&claim.node_pool);
        }
        let only = pools
            .first()
            .filter(|pool| pools.len() == 1 && !pool.is_none())
            .map(|pool| (*pool).clone());
        Self {
            kind,
            at,
            count: 1,
            last_at: at,
            function,
            node_pool: only,
            subjects,
            pods: Vec::new(),
            summary,
            rejected: Vec::new(),
            price_before: None,
            price_after: None,
            bounds: Vec::new(),
            origin: None,
        }
    }

    /// Whether it only says that nothing was looked at.
    pub fn is_void(&self) -> bool {
        self.kind == DecisionKind::NonDisruption && self.rejected.is_empty()
    }

    /// The claims that it is about.
    pub fn claims(&self) -> impl Iterator<Item = &NodeClaimName> {
        self.subjects.iter().filter_map(|subject| subject.claim.as_ref())
    }

    /// The pods that it is about.
    pub fn all_pods(&self) -> impl Iterator<Item = &PodKey> {
        self.pods.iter().chain(self.subjects.iter().flat_map(|subject| &subject.pods))
    }

    /// What it says, whenever it is said: equal numbers are the same decision.
    pub fn content(&self) -> u64 {
        let mut digest = Digest::default();
        digest.add(format_args!("{} {} {}", self.kind.as_str(), self.function, self.summary));
        for subject in &self.subjects {
            subject.claim.iter().for_each(|claim| digest.add(claim));
            subject.node.iter().for_each(|node| digest.add(node));
        }
        // Pods that get no node for the same reasons are one decision, whichever they are now.
        if !matches!(self.kind, DecisionKind::Refusal | DecisionKind::NonDisruption) {
            self.all_pods().for_each(|pod| digest.add(pod));
        }
        for rejected in &self.rejected {
            // Why a node stays is the same decision while only figures in the reason move: prices, counts, times.
            match self.kind {
                DecisionKind::NonDisruption => {
                    digest.add(rejected.what.as_deref().unwrap_or_default());
                    digest.add(WithoutFigures(&rejected.why));
                }
                _ => digest.add(rejected),
            }
        }
        digest.0
    }

    /// Its unique id: it sorts by time.
    pub fn id(&self) -> String {
        // Nine digits always, so that ids sort by time.
        format!("{:.9}#{}", self.at, self.short_id())
    }

    /// The part of the id that people type.
    pub fn short_id(&self) -> String {
        format!("{:016x}", self.content() ^ digest(self.at.to_string().as_bytes()))
    }

    /// The decision in records that each fit an item of the table: the number of claims and pods in each is limited.
    pub fn split(self) -> Vec<Self> {
        let mut pods = self.all_pods().count();
        if self.subjects.len() <= SUBJECTS_PER_RECORD_MAX && pods <= limits::PODS_PER_ITEM_MAX {
            return vec![self];
        }
        let empty = || Self { subjects: Vec::new(), pods: Vec::new(), ..self.clone() };
        let mut parts = vec![empty()];
        pods = 0;
        for subject in &self.subjects {
            pods += subject.pods.len();
            let is_full = parts.last().is_none_or(|part| {
                let any = !part.subjects.is_empty();
                let subjects = part.subjects.len() + 1;
                any && (SUBJECTS_PER_RECORD_MAX < subjects || limits::PODS_PER_ITEM_MAX < pods)
            });
            if is_full {
                pods = subject.pods.len();
                parts.push(empty());
            }
            parts.last_mut().into_iter().for_each(|part| part.subjects.push(subject.clone()));
        }
        let pods = self.pods.iter().take(limits::PODS_PER_DECISION_MAX).cloned().collect();
        parts.push(Self { pods, ..empty() });
        parts.retain(|part| !part.subjects.is_empty() || !part.pods.is_empty());
        parts
    }
}

/// Claims that one record tells of.
const SUBJECTS_PER_RECORD_MAX: usize = 250;

/// Which decisions are read: the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionQuery {
    /// Only those before this [`Decision::id`]; `None` begins with the newest.
    pub before: Option<String>,
    /// Only those of this time or later.
    pub since: Option<Timestamp>,
    /// How many at most.
    pub limit: usize,
}

/// Decisions that were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionPage {
    /// They, newest first.
    pub decisions: Vec<Decision>,
    /// Records that cannot be read, and why.
    pub unreadable: Vec<super::UnreadableItem>,
    /// What the next page is before; `None` is that there is no other.
    pub next: Option<String>,
}

/// A text with one `#` for each number in it.
struct WithoutFigures<'a>(&'a str);

impl fmt::Display for WithoutFigures<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
            let (before, number) = rest.split_at(start);
            let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | ':');
            f.write_str(before)?;
            f.write_str("#")?;
            rest = number.trim_start_matches(is_of_number);
        }
        f.write_str(rest)
    }
}
