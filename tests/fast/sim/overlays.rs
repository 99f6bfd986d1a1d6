//! NodeOverlays: what a plan counts on is what is launched.

use model::{CapacityType, HourlyPrice, NodeClaim, labels};
use simulator::{Injection, Sim, WorldSettings, first_calls};

use crate::{
    settings::settings,
    world::{MANIFESTS, add_manifests, minute, runner_with, sim, sim_of},
};
use ports::Fault;

const CHEAP: &str = r#"
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: cheap}
spec:
  requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
  priceAdjustment: "-90%"
"#;

/// Of the types in the world, one has the device.
const FUSE: &str = r#"
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: fuse}
spec:
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m7i.xlarge]}]
  capacity: {smarter-devices/fuse: "20"}
"#;

/// The usual world, in which on-demand is cheapest.
pub(crate) fn cheap() -> Sim {
    let sim = sim(WorldSettings::default());
    add_manifests(&sim, CHEAP);
    sim
}

/// Ten minutes of a world, in which the first three lists of overlays for `launch` fail.
fn played_with_failures(sim: Sim) -> Sim {
    let failing = Injection::FailBefore(Fault::Transient);
    sim.add_rule(first_calls("Cluster.node_overlays", 3, failing));
    let (mut runner, _) = runner_with(&sim, settings(&[("FeatureGates", "NodeOverlay=true")]));
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    sim
}

pub(crate) fn played() -> Sim {
    played_with_failures(cheap())
}

fn is_annotated(claim: &NodeClaim, name: &str) -> bool {
    claim.annotations.get(name).is_some_and(|value| value == "true")
}

#[test]
fn what_an_overlay_makes_cheapest_is_launched_and_costs_what_ec2_bills() {
    let claims = played().claims();
    assert!(!claims.is_empty());
    for claim in claims {
        assert!(is_annotated(&claim, labels::PRICE_OVERLAY_APPLIED), "{}", claim.name);
        let launched = claim.instance.expect("an instance");
        assert_eq!(launched.capacity_type, CapacityType::OnDemand, "{}", claim.name);
        // A tenth of it is the overlay's.
        let dear = HourlyPrice::parse_dollars("0.08").expect("a price");
        assert!(launched.price > dear, "{}", launched.price);
    }
}

#[test]
fn a_type_is_launched_for_what_an_overlay_adds_to_it_and_its_room_is_counted_at_once() {
    let device = "limits: {smarter-devices/fuse: \"1\"}";
    let text = MANIFESTS
        .replace("replicas: 3", "replicas: 0")
        .replace("cpu: 900m, memory: 1Gi}", &format!("cpu: 300m, memory: 1Gi}}, {device}"));
    assert!(text.contains(device));
    let sim = sim_of(WorldSettings::default(), &text);
    add_manifests(&sim, FUSE);
    let sim = played_with_failures(sim);
    let claims = sim.claims();
    let shown: Vec<String> = claims
        .iter()
        .map(|claim| {
            let instance = claim.instance.as_ref().map(|launched| launched.instance_type.as_str());
            let device = claim.capacity.get("smarter-devices/fuse");
            format!("{} {device}", instance.unwrap_or("nothing"))
        })
        .collect();
    assert_eq!(shown, ["m7i.xlarge 20"]);
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
}
