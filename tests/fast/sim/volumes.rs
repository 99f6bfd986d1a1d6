//! Volumes of nodes that are deleted: waited for after the last pod, until the claim's deadline.

use model::{
    NodeClaim, NodeName,
    claim::{VolumeState, VolumesDetached},
    labels,
};
use ports::Fault;
use simulator::{Action, Happening, Injection, Sim, WorldSettings, first_calls};

use crate::world::{MANIFESTS, minute, runner, sim_of};

const STORAGE: &str = r"
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gp3}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
";
const TEMPLATES: &str = "\n  volumeClaimTemplates: [{metadata: {name: data}, spec: \
    {accessModes: [ReadWriteOnce], storageClassName: gp3, resources: {requests: {storage: 1Gi}}}}]\n";

/// The usual world, whose StatefulSet has a volume for each pod; what its NodePool says beside that.
fn world(template: &str) -> Sim {
    let text = with_volumes(MANIFESTS)
        .replace("expireAfter: Never", &format!("expireAfter: Never{template}"));
    sim_of(WorldSettings::default(), &text)
}

/// `manifests` with a volume for each pod of the StatefulSet `store`.
pub(crate) fn with_volumes(manifests: &str) -> String {
    let text =
        manifests.replace("  serviceName: store\n", &format!("  serviceName: store{TEMPLATES}"));
    assert!(text.contains("volumeClaimTemplates"));
    format!("{text}{STORAGE}")
}

/// The pods of `store` run; a user deletes the claim of the node of the first of them, and why its
/// volume is not detached has `changed` before.
fn deleted(sim: &Sim, changed: impl FnOnce(&Sim, &NodeClaim)) -> NodeClaim {
    let (mut runner, _reports) = runner(sim);
    runner.run_until(minute(6)).expect("nothing unsafe happens");
    let claim = of_store(sim);
    changed(sim, &claim);
    sim.act(Action::DeleteNodeClaim(claim.name.clone()));
    claim
}

/// The claim of the node of the first pod of `store`.
fn of_store(sim: &Sim) -> NodeClaim {
    let pods = sim.pods();
    let store = pods.iter().find(|pod| pod.key.name.as_str() == "store-0").expect("a pod");
    let node = store.node.clone().expect("it runs");
    let claim = sim.claims().into_iter().find(|claim| claim.node.as_ref() == Some(&node));
    claim.expect("its claim")
}

/// A user deletes the NodeClaim of the first pod of `store`.
pub(crate) fn delete_its_node(sim: &Sim) {
    sim.act(Action::DeleteNodeClaim(of_store(sim).name));
}

fn run_until(sim: &Sim, minutes: i64) {
    let (mut runner, _reports) = runner(sim);
    runner.run_until(minute(minutes)).expect("nothing unsafe happens");
}

const VOLUME: &str = "pvc-default-data-store-0";

fn held(sim: &Sim, _: &NodeClaim) {
    sim.act(Action::HoldVolume(VOLUME.to_owned()));
}

fn found(sim: &Sim, claim: &NodeClaim) -> Option<NodeClaim> {
    sim.claims().into_iter().find(|stored| stored.name == claim.name)
}

fn attachment(claim: &NodeClaim) -> String {
    let node = claim.node.as_ref().map(NodeName::to_string).unwrap_or_default();
    format!("csi-{VOLUME}-{node}")
}

fn is_ending(sim: &Sim, claim: &NodeClaim) -> bool {
    let id = claim.instance.as_ref().map(|instance| instance.id.clone());
    sim.timeline(0).into_iter().any(|event| match event.happening {
        Happening::InstanceEnding { instance } => Some(instance) == id,
        _ => false,
    })
}

#[test]
fn an_instance_ends_once_its_volumes_are_detached() {
    let sim = world("");
    let claim = deleted(&sim, |_, _| {});
    run_until(&sim, 12);
    // That nothing was attached when it ended is what the simulated world watches over.
    assert!(is_ending(&sim, &claim) && found(&sim, &claim).is_none());
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    assert_eq!(sim.dead_letters(), Vec::new());
}

#[test]
fn a_volume_that_stays_attached_holds_the_instance_and_the_claim_says_so() {
    let sim = world("");
    let claim = deleted(&sim, held);
    run_until(&sim, 15);
    let waits = found(&sim, &claim).expect("it waits");
    let state = waits.conditions.volumes.map(|VolumesDetached { state, .. }| state);
    assert_eq!(state, Some(VolumeState::Awaited));
    assert!(waits.conditions.drained_since.is_some());
    let why = waits.message.as_ref().map(ToString::to_string);
    assert_eq!(why, Some(format!("volumes are still attached: {VOLUME}")));
    assert!(!is_ending(&sim, &claim));
    // Told once, however often it is looked at.
    let written = waits.version;
    sim.act(Action::DeleteVolumeAttachment(attachment(&claim)));
    assert!(written < claim.version + 6, "{written} after {}", claim.version);
    run_until(&sim, 17);
    assert!(is_ending(&sim, &claim) && found(&sim, &claim).is_none());
}

#[test]
fn after_the_deadline_no_volume_is_waited_for() {
    let sim = world("\n      terminationGracePeriod: 3m");
    let claim = deleted(&sim, held);
    run_until(&sim, 9);
    assert!(!is_ending(&sim, &claim));
    run_until(&sim, 15);
    assert!(is_ending(&sim, &claim) && found(&sim, &claim).is_none());
}

#[test]
fn attachments_that_cannot_be_read_hold_the_instance() {
    let sim = world("");
    let claim = deleted(&sim, |sim, _| {
        let denied = Injection::FailBefore(Fault::Permanent);
        sim.add_rule(first_calls("Cluster.volume_attachments", 10_000, denied));
    });
    run_until(&sim, 12);
    let waits = found(&sim, &claim).expect("it waits");
    let why = waits.message.as_ref().map(ToString::to_string).unwrap_or_default();
    assert!(why.starts_with("look for volumes failed"), "{why}");
    assert!(!is_ending(&sim, &claim));
    sim.stop_faults();
    run_until(&sim, 18);
    assert!(is_ending(&sim, &claim) && found(&sim, &claim).is_none());
}

/// A world whose pods with volumes tolerate the taint of nodes that go.
pub(crate) fn tolerating() -> Sim {
    let text = "terminationGracePeriodSeconds: 5\n      containers:\n        - {name: store";
    let tolerant =
        format!("tolerations: [{{key: {}, operator: Exists}}]\n      ", labels::DISRUPTED_TAINT);
    let manifests = MANIFESTS.replace(text, &format!("{tolerant}{text}"));
    assert!(manifests != MANIFESTS);
    sim_of(WorldSettings::default(), &with_volumes(&manifests))
}

/// The volume of a pod that tolerates the taint stays attached, and the node goes all the same.
pub(crate) fn staying() -> Sim {
    let sim = tolerating();
    let claim = deleted(&sim, |_, _| {});
    run_until(&sim, 12);
    assert!(is_ending(&sim, &claim));
    sim
}

#[test]
fn the_volume_of_a_pod_that_stays_is_not_waited_for() {
    staying();
}
