//! CapacityBuffers: room that is kept whether a pod needs it now or not.

use std::{collections::BTreeMap, sync::Arc};

use journeyman::manifests;
use model::{
    ClaimPhase, PodKey, PodSpec,
    buffer::{BufferTarget, CapacityBuffer},
};
use ports::Fault;
use simulator::{BufferReferent, ClusterObject, Injection, Sim, WorldSettings};

use crate::{
    settings::settings,
    world::{MANIFESTS, minute, runner_with, scale, sim, sim_of, workload},
};

/// The pods of the Deployment `web`, of which none is wanted at first.
pub(crate) fn spec(manifests_text: &str) -> Arc<PodSpec> {
    let texts = [manifests::InputFile::named("world.yaml", manifests_text)];
    let objects = manifests::parse(&texts).expect("the manifests are sound").objects;
    let specs = objects.into_iter().filter_map(|object| match object {
        ClusterObject::Workload(story) if story.key() == workload("web") => Some(story.spec),
        _ => None,
    });
    specs.last().expect("the workload is there")
}

/// No pod runs, and there is to be room for a number of pods of `web`.
fn buffered(replicas: u32) -> Sim {
    let text =
        MANIFESTS.replace("replicas: 12", "replicas: 0").replace("replicas: 3", "replicas: 0");
    let sim = sim_of(WorldSettings::default(), &text);
    sim.add(vec![buffer("spare", replicas)]);
    sim
}

/// Room for a number of pods of `web`.
fn buffer(name: &str, replicas: u32) -> ClusterObject {
    let PodKey { namespace, name } = key(name);
    let buffer = CapacityBuffer {
        uid: format!("uid-{name}").parse().expect("a uid"),
        namespace,
        name,
        replicas: Some(replicas),
        percentage: None,
        limits: BTreeMap::new(),
        target: BufferTarget::Template(spec(MANIFESTS)),
    };
    ClusterObject::CapacityBuffer { refers_to: None, buffer }
}

fn key(name: &str) -> PodKey {
    let namespace = workload("web").namespace;
    PodKey { namespace, name: name.parse().expect("a name") }
}

/// The usual world, with two buffers.
pub(crate) fn beside_others() -> Sim {
    let sim = sim(WorldSettings::default());
    sim.add(vec![buffer("spare", 2), buffer("little", 1)]);
    sim
}

/// Some minutes of it.
pub(crate) fn played() -> Sim {
    let sim = beside_others();
    let (mut runner, _) = runner_with(&sim, settings(&[("FeatureGates", "CapacityBuffer=true")]));
    runner.run_until(minute(6)).expect("nothing unsafe happens");
    sim
}

/// Number of pods and conditions that the status of a buffer says, with their reasons.
fn status(sim: &Sim, name: &str) -> String {
    let Some((record, status)) = sim.buffer_record(&key(name)) else { return "none".to_owned() };
    let conditions: Vec<String> = record
        .conditions
        .iter()
        .map(|c| format!("{}={:?} {}", c.kind, c.status, c.reason))
        .collect();
    let replicas = status.replicas.map(|count| count.to_string()).unwrap_or_default();
    format!("{replicas} {}", conditions.join(", "))
}

#[test]
fn a_buffer_says_whether_its_room_is_there_and_why_not() {
    let sim = buffered(6);
    let template = ClusterObject::PodTemplate(key("small"), spec(MANIFESTS));
    let ClusterObject::CapacityBuffer { buffer: missing, .. } = buffer("missing", 2) else {
        return;
    };
    let why = "there is no PodTemplate `small`".to_owned();
    let missing = CapacityBuffer { target: BufferTarget::Missing(why), ..missing };
    let refers_to = Some(BufferReferent::Template(key("small")));
    let missing = ClusterObject::CapacityBuffer { buffer: missing, refers_to };
    sim.add(vec![missing, buffer("none", 0), buffer("refused", 1)]);
    sim.add_rule(Box::new(|call, _| {
        let is_meant = call.operation == "AlphaStatuses.update_buffer_status";
        let is_refused = is_meant && call.subject.ends_with("/refused");
        if is_refused { Injection::FailBefore(Fault::Permanent) } else { Injection::Pass }
    }));
    let (mut runner, _) = runner_with(&sim, settings(&[("FeatureGates", "CapacityBuffer=true")]));
    let mut seen = Vec::new();
    for second in 0..=180 {
        let at = minute(0) + jiff::SignedDuration::from_secs(second);
        runner.run_until(at).expect("nothing unsafe happens");
        let now = status(&sim, "spare");
        if seen.last() != Some(&now) {
            seen.push(now);
        }
    }
    let ready = "ReadyForProvisioning=Some(true) Resolved";
    assert_eq!(
        seen,
        [
            " ".to_owned(),
            format!("6 {ready}, Provisioning=Some(false) RequiresNewCapacity"),
            format!("6 {ready}, Provisioning=Some(true) FitsExistingCapacity"),
        ]
    );
    let unready = "Provisioning=Some(false) NotReadyForProvisioning";
    assert_eq!(
        status(&sim, "missing"),
        format!(" ReadyForProvisioning=Some(false) PodTemplateNotFound, {unready}")
    );
    assert_eq!(status(&sim, "none"), format!("0 {ready}, Provisioning=Some(false) BufferEmpty"));
    assert_eq!(status(&sim, "refused"), " ", "and no other status waits for it");
    let writes = |name: &str| sim.buffer_record(&key(name)).expect("it is there").0.writes;
    let before = (writes("spare"), writes("none"), writes("missing"));
    runner.run_until(minute(6)).expect("nothing unsafe happens");
    let after = (writes("spare"), writes("none"), writes("missing"));
    assert_eq!(after, before, "only what changed is written");
    sim.add(vec![template]);
    runner.run_until(minute(9)).expect("nothing unsafe happens");
    assert_eq!(
        status(&sim, "missing"),
        format!("2 {ready}, Provisioning=Some(true) FitsExistingCapacity")
    );
    let (_, status) = sim.buffer_record(&key("missing")).expect("it is there");
    assert_eq!(status.template, Some((key("small").name, 1)));
}

fn ready(sim: &Sim) -> usize {
    sim.claims().iter().filter(|claim| claim.phase == ClaimPhase::Initialized).count()
}

#[test]
fn a_buffer_has_its_room_while_no_pod_waits_and_again_after_pods_took_it() {
    let sim = buffered(6);
    sim.at(minute(15), scale("web", 6));
    let (mut runner, _) = runner_with(&sim, settings(&[("FeatureGates", "CapacityBuffer=true")]));
    let mut nodes = Vec::new();
    for minutes in [4, 14, 16, 25] {
        runner.run_until(minute(minutes)).expect("nothing unsafe happens");
        nodes.push(ready(&sim));
    }
    // No method disrupts nodes that are empty only because they are kept free.
    assert!(0 < nodes[0] && nodes[0] == nodes[1], "{nodes:?}");
    // Pods that come find their room at once, and as much is made again.
    assert_eq!(sim.summary().pods_waiting, 0);
    assert!(nodes[0] < nodes[3], "{nodes:?}");
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
}

#[test]
fn behind_a_closed_gate_a_buffer_is_left_alone() {
    let sim = buffered(6);
    let (mut runner, _) = runner_with(&sim, settings(&[]));
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    assert_eq!(ready(&sim), 0);
}
