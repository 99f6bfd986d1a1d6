//! The stories.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use model::{ClaimPhase, Function, NodeClaimName, NodeName};
use simulator::{Action, Chance, Happening, Sim, SpotTarget, TimelineEvent, api_server_away};

use super::{
    karpenter,
    report::{self, Requests},
    world::{self, are_initialized, are_tagged, cluster, initialized},
};

const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// Nodes that are wanted at once.
pub(crate) fn burst(nodes: u32) {
    report::heading(&format!("{nodes} nodes wanted at once"));
    let mut cluster = cluster(1);
    cluster.pass(SignedDuration::from_secs(90));
    let before = cluster.meter();
    cluster.scale(nodes);
    let taken = cluster.until(HOUR, are_initialized(nodes));
    report::duration("until all are initialized", taken);
    report::line("initialized", initialized(&cluster.sim));
    report::line("dead letters", cluster.sim.dead_letters().len());
    let tagged = cluster.until(HOUR, are_tagged);
    report::duration("until their instances are tagged, more", tagged);
    let mut theirs = Requests::new();
    karpenter::launch(&mut theirs, nodes.into(), 0);
    karpenter::idle(&mut theirs, seconds(taken) + seconds(tagged), nodes.into(), 1);
    report::usage(&cluster.meter().since(&before), nodes, &theirs);
}

/// Half of the nodes are taken back within ten seconds.
pub(crate) fn spot(nodes: u32) {
    let notices = nodes / 2;
    report::heading(&format!("{notices} spot notices within ten seconds on {nodes} nodes"));
    let mut cluster = cluster(1);
    cluster.pass(SignedDuration::from_secs(90));
    cluster.scale(nodes);
    cluster.until(HOUR, are_initialized(nodes));
    cluster.pass(SignedDuration::from_mins(10));
    let (before, events) = (cluster.meter(), cluster.sim.timeline(0).len());
    let nodes_before = nodes_of(&cluster.sim);
    interrupt(&cluster.sim, notices);
    cluster.pass(SignedDuration::from_secs(15));
    let taken = cluster.until(HOUR, are_initialized(nodes));
    report::duration("until all are initialized again", taken);
    reactions(&cluster.sim.timeline(events), &nodes_before, notices);
    report::line("dead letters", cluster.sim.dead_letters().len());
    report::line("pods lost", cluster.sim.summary().pods_lost);
    report::line("pods evicted", cluster.sim.summary().evictions);
    let mut theirs = Requests::new();
    karpenter::notices(&mut theirs, notices.into());
    karpenter::launch(&mut theirs, notices.into(), 10);
    karpenter::terminate(&mut theirs, notices.into(), notices.into(), 10, 40);
    karpenter::idle(&mut theirs, seconds(taken), nodes.into(), 1);
    report::usage(&cluster.meter().since(&before), nodes, &theirs);
}

/// This number of spot instances get their notice within ten seconds.
fn interrupt(sim: &Sim, notices: u32) {
    let mut chance = Chance::new(7);
    for claim in sim.claims().iter().take(usize::try_from(notices).unwrap()) {
        let Some(instance) = &claim.instance else { continue };
        let millis = i64::try_from(chance.below(10_000)).unwrap();
        let at = sim.now().checked_add(SignedDuration::from_millis(millis)).unwrap();
        sim.at(at, Action::InterruptSpot(SpotTarget::Instance(instance.id.clone())));
    }
}

/// The node of each claim that has one.
fn nodes_of(sim: &Sim) -> BTreeMap<NodeClaimName, NodeName> {
    let claims = sim.claims().into_iter();
    claims.filter_map(|claim| Some((claim.name, claim.node?))).collect()
}

/// How long after each notice its claim was deleted, and the next claim was created.
fn reactions(timeline: &[TimelineEvent], nodes: &BTreeMap<NodeClaimName, NodeName>, notices: u32) {
    let mut told = BTreeMap::new();
    let (mut lags, mut created) = (Vec::new(), Vec::new());
    for event in timeline {
        match &event.happening {
            Happening::SpotNotice { node: Some(node), .. } => {
                told.insert(node, event.at);
            }
            Happening::ClaimDeleted { claim, .. } => {
                let told_at = nodes.get(claim).and_then(|node| told.get(node));
                lags.extend(told_at.map(|told_at| event.at.duration_since(*told_at)));
            }
            Happening::ClaimCreated { .. } => created.push(event.at),
            _ => {}
        }
    }
    lags.sort();
    report::line("claims deleted", format!("{} of {notices}", lags.len()));
    report::duration("deleted after its notice, p50", report::percentile(&lags, 50));
    report::duration("deleted after its notice, longest", lags.last().copied());
    // The nth new claim belongs to the nth notice.
    let mut times: Vec<_> = told.into_values().collect();
    times.sort();
    let mut lags: Vec<SignedDuration> =
        times.iter().zip(&created).map(|(told_at, at)| at.duration_since(*told_at)).collect();
    lags.sort();
    report::line("replacements created", created.len());
    report::duration("created after its notice, p50", report::percentile(&lags, 50));
    report::duration("created after its notice, longest", lags.last().copied());
}

/// The API server is away for five minutes amid a burst and notices.
pub(crate) fn outage(nodes: u32) {
    report::heading(&format!("API server away for five minutes amid {nodes} launches and notices"));
    let mut cluster = cluster(1);
    cluster.pass(SignedDuration::from_secs(90));
    cluster.scale(nodes / 2);
    cluster.until(HOUR, are_initialized(nodes / 2));
    cluster.until(HOUR, are_tagged);
    let before = cluster.meter();
    cluster.scale(nodes);
    cluster.pass(SignedDuration::from_secs(20));
    let began = cluster.now();
    let until = began.checked_add(SignedDuration::from_mins(5)).unwrap();
    cluster.sim.add_rule(api_server_away(began, until));
    interrupt(&cluster.sim, nodes / 10);
    cluster.pass(SignedDuration::from_mins(5));
    let taken = cluster.until(HOUR, are_initialized(nodes));
    report::duration("until all are initialized, after it is back", taken);
    report::line("initialized", initialized(&cluster.sim));
    report::line("dead letters", cluster.sim.dead_letters().len());
    let mut theirs = Requests::new();
    karpenter::notices(&mut theirs, (nodes / 10).into());
    karpenter::launch(&mut theirs, (nodes / 2 + nodes / 10).into(), 10);
    karpenter::terminate(&mut theirs, (nodes / 10).into(), (nodes / 10).into(), 10, 40);
    karpenter::idle(&mut theirs, seconds(taken) + 320, nodes.into(), 1);
    report::usage(&cluster.meter().since(&before), nodes, &theirs);
}

/// A webhook refuses every eviction of one pod, while a tenth of the nodes is taken back.
pub(crate) fn webhook(nodes: u32) {
    let notices = (nodes / 10).max(2);
    report::heading(&format!("a webhook refuses one eviction of {notices} drains"));
    let mut cluster = cluster(2);
    cluster.pass(SignedDuration::from_secs(90));
    cluster.scale(nodes * 2);
    cluster.until(HOUR, are_initialized(nodes));
    cluster.pass(SignedDuration::from_mins(3));
    let before = cluster.meter();
    let claims = cluster.sim.claims();
    let first = claims.first().and_then(|claim| claim.node.clone()).unwrap();
    let pod = cluster.sim.pods().into_iter().find(|pod| pod.node.as_ref() == Some(&first));
    cluster.sim.act(Action::RefuseEvictions(pod.unwrap().key));
    interrupt(&cluster.sim, notices);
    let gone = |sim: &Sim| {
        sim.claims().iter().filter(|claim| claim.phase == ClaimPhase::Deleting).count() <= 1
    };
    cluster.pass(SignedDuration::from_secs(15));
    let taken = cluster.until(HOUR, gone);
    report::duration("until all others are gone", taken);
    report::line("evictions", cluster.sim.summary().evictions);
    report::line("dead letters", cluster.sim.dead_letters().len());
    let mut theirs = Requests::new();
    karpenter::notices(&mut theirs, notices.into());
    karpenter::terminate(&mut theirs, notices.into(), u64::from(notices) * 2, 10, 40);
    report::usage(&cluster.meter().since(&before), notices, &theirs);
}

/// Nothing happens for an hour at a hundredth, a tenth and all of `nodes`.
pub(crate) fn idle(nodes: u32) {
    for nodes in [nodes / 100, nodes / 10, nodes] {
        let nodes = nodes.max(1);
        report::heading(&format!("an hour of {nodes} nodes in which nothing happens"));
        let mut cluster = cluster(1);
        cluster.pass(SignedDuration::from_secs(90));
        cluster.scale(nodes);
        cluster.until(HOUR, are_initialized(nodes));
        // Until more pods are no longer expected.
        cluster.pass(SignedDuration::from_mins(15));
        let before = cluster.meter();
        cluster.pass(HOUR);
        let used = cluster.meter().since(&before);
        let mut theirs = Requests::new();
        karpenter::idle(&mut theirs, 3_600, nodes.into(), 1);
        report::usage(&used, nodes, &theirs);
        report::bill(&cluster.sim.bill(&used, HOUR));
    }
}

/// Pods that each need a node come at random times.
pub(crate) fn latency(pods: u32) {
    report::heading(&format!("{pods} pods that come at random times"));
    let mut cluster = cluster(1);
    cluster.pass(SignedDuration::from_secs(90));
    let mut chance = Chance::new(11);
    let mut at = cluster.now();
    for replicas in 1..=pods {
        let millis = i64::try_from(20_000 + chance.below(20_000)).unwrap();
        at = at.checked_add(SignedDuration::from_millis(millis)).unwrap();
        cluster.sim.at(at, Action::Scale { workload: world::web(), replicas });
    }
    let events = cluster.sim.timeline(0).len();
    let long = at.duration_since(cluster.now()).saturating_add(SignedDuration::from_mins(2));
    cluster.pass(long);
    let (mut waiting, mut lags) = (None, Vec::new());
    for event in cluster.sim.timeline(events) {
        match event.happening {
            Happening::PodUnschedulable { .. } => waiting = Some(event.at),
            Happening::InstanceLaunched { .. } => {
                lags.extend(waiting.take().map(|since| event.at.duration_since(since)));
            }
            _ => {}
        }
    }
    lags.sort();
    report::line("pods that got a node", lags.len());
    report::duration("from unschedulable to CreateFleet, p50", report::percentile(&lags, 50));
    report::duration("from unschedulable to CreateFleet, p99", report::percentile(&lags, 99));
}

/// Some hours of a day of many nodes with twenty pods each, of which some come and go.
pub(crate) fn day(nodes: u32, hours: u32) {
    report::heading(&format!("{hours} hours of {nodes} nodes and {} pods", nodes * 20));
    let mut cluster = world::raised_cluster(nodes, 20);
    cluster.pass(SignedDuration::from_secs(90));
    cluster.scale(nodes * 20);
    let taken = cluster.until(HOUR, are_initialized(nodes));
    report::duration("until all are initialized", taken);
    cluster.until(HOUR, are_tagged);
    let before = cluster.meter();
    for hour in 0..hours {
        // Two in a hundred come and go.
        let pods = if hour % 2 == 0 { nodes * 20 } else { nodes * 20 + nodes * 2 / 5 };
        cluster.scale(pods);
        cluster.pass(HOUR);
    }
    let used = cluster.meter().since(&before);
    let mut theirs = Requests::new();
    karpenter::idle(&mut theirs, u64::from(hours) * 3_600, nodes.into(), 1);
    for _ in 0..hours / 2 {
        karpenter::launch(&mut theirs, u64::from(nodes / 50), 0);
        // Empty nodes go by one command, and others by the next, once the first is validated. One pod is evicted
        // from each of the others.
        let half = u64::from(nodes / 100);
        karpenter::terminate(&mut theirs, half, 0, 0, 40);
        karpenter::terminate(&mut theirs, half, half, 0, 40);
    }
    report::usage(&used, nodes, &theirs);
    let longest = used.invocations().get(&Function::Disrupt).map(|count| count.longest_millis);
    report::line("longest look of disrupt, ms", longest.unwrap_or_default());
    report::bill(&cluster.sim.bill(&used, SignedDuration::from_hours(hours.into())));
}

fn seconds(taken: Option<SignedDuration>) -> u64 {
    taken.and_then(|taken| u64::try_from(taken.as_secs()).ok()).unwrap_or(3_600)
}
