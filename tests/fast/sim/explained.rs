//! What a world leaves when everything in it is gone: each decision is explained by its pods, nodes and
//! claims, with what it says, and without its facts it says that they are gone.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use jiff::{SignedDuration, Timestamp};
use journeyman::{
    explain::{self, ExplainArgs, ExplainedKind},
    records::{self, PackedFacts, Records, RecordsArgs},
    replay::{self, ReplayArgs},
};
use model::{
    NodeClaimName, NodeName, PodKey,
    ledger::{Decision, DecisionKind, Rejected, RejectionReason, Subject},
    recorded::Question,
};
use report::{format::Format, screen::Screen};
use simulator::Sim;

/// What `explain` prints of what is `asked` for in the ledger of `sim`.
pub(crate) fn answer(sim: &Sim, asked: (ExplainedKind, String)) -> String {
    let left = Left::by(sim, &format!("asked-{:?}", std::thread::current().id()));
    let records = left.records().read().expect("the ledger is read");
    left.answer(&records, asked).expect("an answer")
}

/// How many answers there were.
#[derive(Debug, Default)]
pub(crate) struct Explained {
    decisions: usize,
    pods: usize,
    nodes: usize,
    claims: usize,
    /// Alternatives that were not chosen, each with its reason.
    rejected: usize,
    /// Kinds of decisions.
    kinds: BTreeSet<&'static str>,
}

impl Explained {
    pub(crate) fn add(&mut self, other: Self) {
        self.decisions += other.decisions;
        self.pods += other.pods;
        self.nodes += other.nodes;
        self.claims += other.claims;
        self.rejected += other.rejected;
        self.kinds.extend(other.kinds);
    }

    /// That there were enough of each.
    pub(crate) fn check(&self, least: usize) {
        let Self { decisions, pods, nodes, claims, rejected, kinds } = self;
        assert!(least <= *decisions, "{self:?}");
        for count in [pods, nodes, claims] {
            assert!(least / 2 <= *count, "{self:?}");
        }
        assert!(least / 10 <= *rejected, "{self:?}");
        for kind in ["Launch", "Placement", "Disruption", "Interruption", "Refusal"] {
            assert!(kinds.contains(kind), "{kind}: {self:?}");
        }
    }
}

/// The ledger that a world left, in a file.
pub(crate) struct Left {
    path: PathBuf,
    decisions: Vec<Decision>,
    pods: BTreeSet<PodKey>,
    nodes: BTreeSet<NodeName>,
    claims: BTreeSet<NodeClaimName>,
    /// The numbers of the facts that are kept, of all but those that carry commands on.
    looks: BTreeSet<u64>,
}

impl Left {
    /// By `sim`, in a file called `name`.
    pub(crate) fn by(sim: &Sim, name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("left");
        fs::create_dir_all(&folder).expect("a folder for the test");
        let path = folder.join(format!("{name}.json"));
        let (decisions, facts) = (sim.decisions(), sim.recorded_facts());
        let packed = PackedFacts::from(&facts);
        records::write(&path, (sim.now(), &sim.ledger()), &decisions, &packed)
            .expect("the ledger is written");
        let looks = facts.iter().filter(|(_, recorded)| recorded.question != Question::CarryOn);
        Self {
            path,
            decisions,
            pods: sim.pods().into_iter().map(|pod| pod.key).collect(),
            nodes: sim.nodes().into_iter().map(|node| node.name).collect(),
            claims: sim.claims().into_iter().map(|claim| claim.name).collect(),
            looks: looks.map(|(number, _)| *number).collect(),
        }
    }

    /// Whether it was made by a look at pools and nodes. How a command that is begun goes on is decided by the
    /// ledger alone.
    fn is_of_a_look(&self, decision: &Decision) -> bool {
        let number = decision.origin.as_ref().and_then(|origin| origin.recorded);
        number.is_some_and(|number| self.looks.contains(&number))
    }

    fn records(&self) -> RecordsArgs {
        RecordsArgs { ledger: Some(self.path.clone()), ..RecordsArgs::default() }
    }

    fn answer(
        &self,
        records: &Records,
        (kind, name): (ExplainedKind, String),
    ) -> Result<String, String> {
        let args = ExplainArgs {
            kind,
            name: Some(name),
            namespace: "default".to_owned(),
            records: self.records(),
            limit: usize::MAX,
            output: Format::Wide,
            html: None,
        };
        let mut out = Vec::new();
        explain::show(records, &args, Screen::default(), &mut out)
            .map_err(|error| error.to_string())?;
        String::from_utf8(out).map_err(|error| error.to_string())
    }

    /// Asks for every decision by the first pod, the first node and the first claim of it that are gone. What is
    /// wrong with an answer, if anything.
    pub(crate) fn explained(&self) -> Result<Explained, String> {
        let records = self.records().read().map_err(|error| error.to_string())?;
        let answer = |kind: ExplainedKind, name: String| self.answer(&records, (kind, name));
        let mut asked = Explained::default();
        for decision in &self.decisions {
            let subjects = || decision.subjects.iter();
            let pod = decision.all_pods().find(|pod| !self.pods.contains(*pod));
            let node = subjects().filter_map(|subject| subject.node.as_ref());
            let node = node.into_iter().find(|node| !self.nodes.contains(*node));
            let claim = subjects().filter_map(|subject| subject.claim.as_ref());
            let claim = claim.into_iter().find(|claim| !self.claims.contains(*claim));
            if let Some(pod) = pod {
                says(decision, &answer(ExplainedKind::Pod, pod.to_string())?)?;
                asked.pods += 1;
            }
            if let Some(node) = node {
                says(decision, &answer(ExplainedKind::Node, node.to_string())?)?;
                asked.nodes += 1;
            }
            if let Some(claim) = claim {
                let text = answer(ExplainedKind::NodeClaim, claim.to_string())?;
                says(decision, &text)?;
                if !text.contains(&format!("NodeClaim {claim} is gone")) {
                    return Err(format!("{claim} is gone, and it is not said:\n{text}"));
                }
                asked.claims += 1;
            }
            if pod.is_some() || node.is_some() || claim.is_some() {
                asked.decisions += 1;
                asked.kinds.insert(decision.kind.as_str());
                asked.rejected += decision.rejected.len();
            }
        }
        Ok(asked)
    }

    /// That no decision lacks what its kind must say, and that what stands is said once for as long as it is
    /// remembered. What is wrong with one, if anything.
    pub(crate) fn complete(&self) -> Result<(), String> {
        let mut standing: BTreeMap<u64, Timestamp> = BTreeMap::new();
        for decision in self.decisions.iter().rev() {
            let lacks = |what: &str| Err(format!("{}: lacks {what}: {decision:#?}", decision.id()));
            match &decision.origin {
                Some(from) if !from.version.is_empty() && !from.delivery.is_empty() => {}
                _ => return lacks("its origin"),
            }
            let is_typed = |rejected: &Rejected| {
                rejected.reason != RejectionReason::Other && !rejected.why.is_empty()
            };
            if !decision.rejected.iter().all(is_typed) {
                return lacks("the reason of an alternative");
            }
            let is_priced = |its: &Subject| its.price.is_some() && its.offering.is_some();
            match decision.kind {
                DecisionKind::Launch if decision.price_after.is_none() => return lacks("a price"),
                DecisionKind::Launch if !decision.subjects.iter().all(is_priced) => {
                    return lacks("the price of a node");
                }
                DecisionKind::Launch if decision.bounds.is_empty() => return lacks("limits"),
                DecisionKind::Disruption if decision.price_before.is_none() => {
                    return lacks("the price before");
                }
                DecisionKind::Disruption
                    if decision.bounds.is_empty() && self.is_of_a_look(decision) =>
                {
                    return lacks("budgets");
                }
                DecisionKind::Refusal | DecisionKind::NonDisruption
                    if decision.rejected.is_empty() =>
                {
                    return lacks("why");
                }
                DecisionKind::Interruption | DecisionKind::Termination
                    if decision.subjects.is_empty() =>
                {
                    return lacks("what it is about");
                }
                _ => {}
            }
            if decision.kind.is_standing() {
                let last = standing.insert(decision.content(), decision.last_at);
                // A look that was cut off before its end may have said it under another name.
                let hour = SignedDuration::from_hours(1);
                if last.is_some_and(|last| decision.at.duration_since(last) < hour) {
                    return Err(format!("{}: is said twice: {decision:#?}", decision.id()));
                }
            }
        }
        Ok(())
    }

    /// Deletes the facts, and asks for every decision again. What is wrong with an answer, if anything.
    pub(crate) fn without_facts(&self) -> Result<(), String> {
        let whole = fs::read_to_string(&self.path).map_err(|error| error.to_string())?;
        let kept: Vec<&str> = whole.lines().filter(|line| !line.contains("\"facts#")).collect();
        fs::write(&self.path, kept.join("\n")).map_err(|error| error.to_string())?;
        for decision in &self.decisions {
            let args = ReplayArgs {
                id: decision.id(),
                records: self.records(),
                with: Vec::new(),
                output: Format::Table,
                html: None,
            };
            let Some(number) = decision.origin.as_ref().and_then(|origin| origin.recorded) else {
                continue;
            };
            let wanted = format!(
                "the facts of decision {} are not there any more: facts {number:016x} were deleted",
                decision.short_id()
            );
            match replay::run(&args, Screen::default(), &mut Vec::new()) {
                Err(error) if error.to_string().contains(&wanted) => {}
                other => return Err(format!("{}: {other:?}, not {wanted}", decision.id())),
            }
        }
        Ok(())
    }
}

/// Whether `answer` has all that `decision` says: what was decided, by whom, why, what it cost, and what was not
/// chosen and why.
fn says(decision: &Decision, answer: &str) -> Result<(), String> {
    let id = decision.short_id();
    let from =
        answer.find(&format!(", id {id}")).ok_or_else(|| format!("{id} is not in\n{answer}"))?;
    // The part of this decision ends with its id.
    let part = answer.get(..from).unwrap_or_default();
    let part = part.rsplit_once("\n\n").map_or(part, |(_, part)| part);
    let mut wanted = vec![
        decision.kind.as_str().to_owned(),
        decision.summary.clone(),
        format!("by {}", decision.function),
    ];
    if decision.count > 1 {
        wanted.push(format!("decided {} times", model::words::many(decision.count as usize)));
    }
    let named = |subject: &Subject| subject.claim.as_ref().map(ToString::to_string);
    let is_shown = |subject: &&Subject| part.contains(&named(subject).unwrap_or_default());
    if !decision.subjects.is_empty() && !decision.subjects.iter().any(|its| is_shown(&its)) {
        return Err(format!("{id}: no subject is in\n{part}"));
    }
    let is_said = |rejected: &Rejected| {
        // What was not chosen for the same reason shares a line.
        let end = format!("{} ({})", rejected.why, rejected.reason.as_str());
        let what = rejected.what.clone().unwrap_or_default();
        let mut lines = part.lines().filter_map(|line| line.trim().strip_prefix("not chosen: "));
        lines.any(|line| line.ends_with(&end) && line.contains(&what))
    };
    if !decision.rejected.is_empty() && !decision.rejected.iter().any(is_said) {
        return Err(format!("{id}: nothing that was not chosen is in\n{part}"));
    }
    if let (Some(_), Some(_)) = (decision.price_before, decision.price_after) {
        wanted.push("price: $".to_owned());
    }
    wanted
        .extend(decision.bounds.iter().map(|bound| format!("{} {}", bound.node_pool, bound.what)));
    if let Some(origin) = &decision.origin {
        wanted.push(format!("facts {:016x}", origin.facts));
        wanted.push(format!("by {} {}", decision.function, origin.version));
    }
    match wanted.iter().find(|text| !part.contains(text.as_str())) {
        Some(missing) => Err(format!("{id}: `{missing}` is not in\n{part}")),
        None => Ok(()),
    }
}
