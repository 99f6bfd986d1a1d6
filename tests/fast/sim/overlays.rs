//! NodeOverlays: what a plan counts on is what is launched.

use model::{
    CapacityType, HourlyPrice, NodeClaim, Problem, Requirements, labels, overlay::NodeOverlay,
};
use simulator::{
    Action, ClusterObject, ConditionRecord, Happening, Injection, Sim, WorldSettings, first_calls,
};

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

/// Conditions of the overlay called `name`, with their reasons.
fn conditions(sim: &Sim, name: &str) -> Vec<String> {
    let record = sim.overlay_record(&name.parse().expect("a name")).expect("it is there");
    let shown = |condition: &ConditionRecord| {
        let ConditionRecord { kind, status, reason, message, .. } = condition;
        format!("{kind}={status:?} {reason} {message}").trim_end().to_owned()
    };
    record.conditions.iter().map(shown).collect()
}

#[test]
fn an_overlay_says_whether_it_is_in_use_and_why_not() {
    let sim = cheap();
    let dear = CHEAP.replace("name: cheap", "name: dear").replace("-90%", "+10%");
    add_manifests(&sim, &dear);
    sim.add(vec![ClusterObject::NodeOverlay(NodeOverlay {
        name: "bad".parse().expect("a name"),
        weight: 0,
        requirements: Requirements::default(),
        price: None,
        capacity: None,
        problems: vec![Problem::unusable("spec.requirements[0].key", "it is restricted")],
    })]);
    // What is refused of one overlay keeps no other from its status.
    sim.add_rule(Box::new(|call, _| {
        let is_meant = call.operation == "AlphaStatuses.update_overlay_status";
        let is_refused = is_meant && call.subject == "bad" && call.now < minute(5);
        if is_refused { Injection::FailBefore(Fault::Permanent) } else { Injection::Pass }
    }));
    let (mut runner, _) = runner_with(&sim, settings(&[("FeatureGates", "NodeOverlay=true")]));
    runner.run_until(minute(4)).expect("nothing unsafe happens");
    let in_use = ["ValidationSucceeded=Some(true) ValidationSucceeded", "Ready=Some(true) Ready"];
    assert_eq!(conditions(&sim, "dear"), in_use);
    let [validation, ready] = <[String; 2]>::try_from(conditions(&sim, "cheap")).expect("two");
    let why = "Conflict it conflicts with NodeOverlay dear of the same weight: the price of";
    assert!(validation.starts_with(&format!("ValidationSucceeded=Some(false) {why}")), "{ready}");
    assert!(ready.starts_with("Ready=Some(false)"), "{ready}");
    assert_eq!(conditions(&sim, "bad"), [] as [&str; 0]);
    let writes = |name: &str| sim.overlay_record(&name.parse().expect("a name")).map(|r| r.writes);
    let before = writes("cheap");
    sim.act(Action::DeleteNodeOverlay("dear".parse().expect("a name")));
    runner.run_until(minute(7)).expect("nothing unsafe happens");
    assert_eq!(conditions(&sim, "cheap"), in_use);
    assert_eq!(writes("cheap"), before.map(|count| count + 1), "only what changed is written");
    let bad = conditions(&sim, "bad").join(", ");
    assert!(bad.starts_with("ValidationSucceeded=Some(false) RuntimeValidation"), "{bad}");
    assert!(bad.contains("spec.requirements[0].key: it is restricted"), "{bad}");
}

#[test]
fn a_status_of_overlays_that_roles_of_an_older_release_refuse_fails_nothing() {
    for call in ["AlphaStatuses.observed_overlays", "AlphaStatuses.update_overlay_status"] {
        let sim = cheap();
        sim.add_rule(first_calls(call, 100, Injection::FailBefore(Fault::Permanent)));
        let (mut runner, _) = runner_with(&sim, settings(&[("FeatureGates", "NodeOverlay=true")]));
        runner.run_until(minute(5)).expect("nothing unsafe happens");
        assert_eq!(conditions(&sim, "cheap"), [] as [&str; 0], "{call}");
        let events = sim.timeline(0).into_iter().map(|event| event.happening);
        let failed: Vec<_> = events.filter(|h| matches!(h, Happening::CallFailed { .. })).collect();
        assert_eq!(failed, [], "{call}");
    }
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
