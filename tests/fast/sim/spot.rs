//! Notices to spot instances, by seeds: replacements are created at once, nodes are empty before they are taken,
//! no pod is asked to leave twice.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use dispatch::Reports;
use jiff::{SignedDuration, Timestamp};
use model::{NodeName, Pod, PodKey};
use simulator::{
    Action, Chance, Disorder, Happening, Sim, Span, SpotTarget, TimelineEvent, WorldSettings,
};

use crate::{
    storm::{any_of, play_seeds},
    world::{minute, node_class, runner, sim_of},
};

/// From a notice to the replacement's being in the ledger.
const NOMINATED_WITHIN: SignedDuration = SignedDuration::from_secs(5);
/// All nodes of the beginning are ready by then.
const SETTLED: i64 = 10;

/// A NodePool that nothing but notices disturbs.
const POOL: &str = r"
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  disruption: {consolidateAfter: Never}
  template:
    spec:
      expireAfter: Never
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
";

/// Workloads of any size, some of whose pods take long to end, must not be disrupted or have a budget.
fn manifests(chance: &mut Chance) -> String {
    let mut text = format!("{POOL}---\n{}", node_class());
    for number in 0..3 + chance.below(4) {
        let replicas = 1 + chance.below(8);
        let millis = 200 + 100 * chance.below(16);
        let seconds = any_of(&[5, 30, 60, 100, 300], chance);
        let annotation = match chance.below(5) {
            0 => "karpenter.sh/do-not-disrupt: \"true\"",
            _ => "",
        };
        write!(
            text,
            r"---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web-{number}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web-{number}}}}}
  template:
    metadata: {{annotations: {{{annotation}}}, labels: {{app: web-{number}}}}}
    spec:
      terminationGracePeriodSeconds: {seconds}
      containers: [{{name: c, image: i, resources: {{requests: {{cpu: {millis}m, memory: 1Gi}}}}}}]
"
        )
        .expect("a text takes a text");
        let most = any_of(&[None, None, Some("0"), Some("1"), Some("50%")], chance);
        if let Some(most) = most {
            write!(
                text,
                r"---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: web-{number}}}
spec: {{maxUnavailable: {most}, selector: {{matchLabels: {{app: web-{number}}}}}}}
"
            )
            .expect("a text takes a text");
        }
    }
    text
}

/// A notice, and until when its node has to be empty.
struct Notice {
    at: Timestamp,
    ends_at: Timestamp,
    node: NodeName,
}

fn notices(timeline: &[TimelineEvent]) -> Vec<Notice> {
    let notices = timeline.iter().filter_map(|event| match &event.happening {
        Happening::SpotNotice { node, ends_at, .. } => {
            Some(Notice { at: event.at, ends_at: *ends_at, node: node.clone()? })
        }
        _ => None,
    });
    notices.collect()
}

/// When a pod was last nominated to a node, or got a claim.
type Nominated = BTreeMap<PodKey, Timestamp>;

/// Adds what functions decided since.
fn note_nominations(reports: &Reports, nominated: &mut Nominated) {
    for decided in reports.take() {
        let Some(plan) = decided.report.plan else { continue };
        let claims = plan.new_claims.into_iter().flat_map(|new| new.claim.pods);
        let placed = plan.placements.into_iter().flat_map(|placement| placement.pods);
        nominated.extend(claims.chain(placed).map(|pod| (pod, decided.at)));
    }
}

/// Pods of a node that got its notice five seconds ago, and pods that wait for as long, without a place.
fn late_nominations(sim: &Sim, nominated: &Nominated, notices: &[Notice]) -> Vec<String> {
    let now = sim.now();
    let answered =
        notices.iter().filter(|notice| now.duration_since(notice.at) == NOMINATED_WITHIN);
    let late = answered.flat_map(|notice| {
        let is_late = move |pod: &Pod| match &pod.node {
            Some(node) => {
                let is_known = nominated.get(&pod.key).is_some_and(|at| notice.at <= *at);
                *node == notice.node && !pod.is_terminating() && !is_known
            }
            None => pod.created_at + NOMINATED_WITHIN <= now && !nominated.contains_key(&pod.key),
        };
        sim.pods().into_iter().filter(is_late)
    });
    late.map(|pod| format!("no node is nominated for {} at {now}", pod.key)).collect()
}

/// Pods that are on a node a second before it is taken, and were not told to be gone by then: the API server
/// hears of their end a moment after it was worked out.
fn late_drains(sim: &Sim, notices: &[Notice]) -> Vec<String> {
    let now = sim.now();
    let (second, moment) = (SignedDuration::from_secs(1), SignedDuration::from_millis(500));
    let is_near = |notice: &&Notice| notice.ends_at.duration_since(now) == second;
    let late = notices.iter().filter(is_near).flat_map(|notice| {
        let pods = sim.pods().into_iter().filter(|pod| pod.node.as_ref() == Some(&notice.node));
        pods.filter(|pod| pod.deleted_at.is_none_or(|gone_by| notice.ends_at + moment < gone_by))
    });
    late.map(|pod| format!("{} is there at {now}, until {:?}", pod.key, pod.deleted_at)).collect()
}

/// Pods that were asked to leave twice, or came to a node that was to be taken, or went down with it.
fn moved_wrongly(timeline: &[TimelineEvent], notices: &[Notice]) -> Vec<String> {
    let mut evicted: BTreeSet<&PodKey> = BTreeSet::new();
    let mut problems = Vec::new();
    for event in timeline {
        match &event.happening {
            Happening::PodEvicted { pod, node } if !evicted.insert(pod) => {
                problems.push(format!("{pod} was evicted twice, the second time from {node}"));
            }
            Happening::PodLost { pod, node } => problems.push(format!("{pod} was lost on {node}")),
            Happening::PodBound { pod, node } => {
                let is_leaving = |notice: &&Notice| {
                    notice.node == *node && notice.at + NOMINATED_WITHIN < event.at
                };
                if notices.iter().any(|notice| is_leaving(&notice)) {
                    problems.push(format!("{pod} came to {node}, which is taken"));
                }
            }
            _ => {}
        }
    }
    problems
}

/// Up to four nodes get a notice within three minutes, whatever they are.
fn give_notices(sim: &Sim, chance: &mut Chance) {
    let mut nodes: Vec<NodeName> = sim.nodes().into_iter().map(|node| node.name).collect();
    for _ in 0..=chance.below(4) {
        if nodes.is_empty() {
            break;
        }
        let node = nodes.swap_remove(chance.index(nodes.len()));
        let seconds = i64::try_from(chance.below(180)).expect("a few minutes");
        let at = minute(SETTLED) + SignedDuration::from_secs(seconds);
        sim.at(at, Action::InterruptSpot(SpotTarget::Node(node)));
    }
}

fn outcome(seed: u64) -> Result<(), String> {
    let mut chance = Chance::new(seed).child("spot");
    let settings = WorldSettings {
        disorder: Disorder { duplicated_per_mille: 50, ..Disorder::default() },
        // As long as their grace periods, most of them.
        pod_ends_after: Span::from_secs(1, 400),
        ..WorldSettings::with_seed(seed)
    };
    let sim = sim_of(settings, &manifests(&mut chance));
    let (mut runner, reports) = runner(&sim);
    let mut now = minute(SETTLED);
    let mut run_until = |time| runner.run_until(time).map_err(|stopped| stopped.to_string());
    run_until(now)?;
    give_notices(&sim, &mut chance);
    let (mut problems, mut nominated) = (Vec::new(), Nominated::new());
    while now < minute(16) {
        now += SignedDuration::from_secs(1);
        run_until(now)?;
        let notices = notices(&sim.timeline(0));
        note_nominations(&reports, &mut nominated);
        problems.extend(late_nominations(&sim, &nominated, &notices));
        problems.extend(late_drains(&sim, &notices));
    }
    run_until(minute(25))?;
    let timeline = sim.timeline(0);
    let notices = notices(&timeline);
    problems.extend(sim.check_liveness());
    problems.extend(sim.check_node_claims());
    if notices.is_empty() {
        problems.push("no node got a notice".to_owned());
    }
    problems.extend(moved_wrongly(&timeline, &notices));
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

#[test]
fn notices_are_answered_at_once_and_nodes_are_empty_before_they_are_taken() {
    play_seeds(6, outcome);
}
