//! Settings of the functions, at work.

use dispatch::Settings;
use jiff::SignedDuration;
use model::{ConditionKind, default_spread::DefaultSpread, labels};
use simulator::{Happening, Sim, WorldSettings};

use crate::world::{MANIFESTS, drift, minute, runner_with, sim, sim_of};

/// Settings as parameters of the stack say them.
pub(crate) fn settings(parameters: &[(&str, &str)]) -> Settings {
    let value = |name: &str| {
        let known = parameters.iter().find(|(parameter, _)| *parameter == name);
        known.map(|(_, value)| (*value).to_owned())
    };
    Settings::read(|setting| setting.parameter, value).expect("the settings are sound")
}

/// How long the first launch takes in a new world.
fn first_launch(parameters: &[(&str, &str)]) -> SignedDuration {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner_with(&sim, settings(parameters));
    runner.run_until(minute(5)).expect("nothing unsafe happens");
    let timeline = sim.timeline(0);
    let of = |is_it: fn(&Happening) -> bool| {
        timeline.iter().find(|event| is_it(&event.happening)).expect("it happened").at
    };
    let waits = of(|happening| matches!(happening, Happening::PodUnschedulable { .. }));
    of(|happening| matches!(happening, Happening::InstanceLaunched { .. })).duration_since(waits)
}

#[test]
fn pods_are_gathered_for_as_long_as_the_settings_say() {
    let usual = first_launch(&[]);
    let longer = first_launch(&[("BatchIdleDuration", "20s"), ("BatchMaxDuration", "30s")]);
    assert!(usual + SignedDuration::from_secs(10) < longer, "{usual:#} and {longer:#}");
    // The window ends where no pod has come for so long, and at the latest with the maximum.
    let bounded = first_launch(&[("BatchIdleDuration", "20s"), ("BatchMaxDuration", "5s")]);
    assert!(bounded + SignedDuration::from_secs(10) < longer, "{bounded:#} and {longer:#}");
}

/// How many instances the usual pods take.
fn launched(parameters: &[(&str, &str)]) -> u32 {
    let sim = sim_of(WorldSettings::default(), &MANIFESTS.replace("cpu: 900m", "cpu: 100m"));
    let (mut runner, _reports) = runner_with(&sim, settings(parameters));
    runner.run_until(minute(5)).expect("nothing unsafe happens");
    sim.summary().launched.values().sum()
}

#[test]
fn nodes_are_reckoned_with_the_memory_that_the_settings_leave_them() {
    let (usual, less) = (launched(&[]), launched(&[("VmMemoryOverheadPercent", "0.6")]));
    assert!(usual < less, "{usual} and {less} instances");
}

/// Pods without spread constraints are to be spread over zones.
const SPREAD: &str = "podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: \
                      topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]}";

/// Pods without spread constraints are rather spread over zones.
pub(crate) const SPREAD_ANYWAY: &str = "podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: \
                                        topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}]}";

/// Some minutes of the usual world with default spread constraints.
pub(crate) fn spread() -> Sim {
    let functions = settings(&[("SchedulerConfig", SPREAD)]);
    let default_spread = functions.default_spread.clone();
    let sim = sim(WorldSettings { default_spread, ..WorldSettings::default() });
    let (mut runner, _reports) = runner_with(&sim, functions);
    runner.run_until(minute(8)).expect("nothing unsafe happens");
    sim
}

/// How many pods of the Deployment `web` are in each zone that has any.
fn pods_by_zone(sim: &Sim) -> Vec<usize> {
    let mut zones = std::collections::BTreeMap::<String, usize>::new();
    let nodes = sim.nodes();
    for pod in
        sim.pods().iter().filter(|pod| pod.spec.labels.get("app").is_some_and(|a| a == "web"))
    {
        let node = nodes.iter().find(|node| Some(&node.name) == pod.node.as_ref());
        let zone = node.and_then(|node| node.labels.get(labels::ZONE)).expect("it has a zone");
        *zones.entry(zone.clone()).or_default() += 1;
    }
    zones.into_values().collect()
}

#[test]
fn pods_without_constraints_are_spread_as_the_scheduler_is_configured() {
    let spread = spread();
    let zones = spread.zones().len();
    assert!(1 < zones);
    assert_eq!(pods_by_zone(&spread), vec![12 / zones; zones], "each zone has as many");
    assert_eq!(spread.pods_waiting(), 0);
    // Each workload is spread by itself, and nothing was launched that is not needed.
    assert_eq!(spread.check_liveness(), Vec::<String>::new());
    let plain = sim(WorldSettings::default());
    let (mut runner, _reports) = runner_with(&plain, Settings::default());
    runner.run_until(minute(8)).expect("nothing unsafe happens");
    assert_ne!(pods_by_zone(&plain), pods_by_zone(&spread));
    assert_eq!(Settings::default().default_spread, DefaultSpread::default());
}

/// A world whose pods Cluster Autoscaler must not evict, with `life` as the life of its nodes, after 30 minutes. Nodes of
/// arm64 drift from the eighth minute on.
fn unsafe_to_evict(life: &str, parameters: &[(&str, &str)]) -> Sim {
    let text = MANIFESTS
        .replace(
            "metadata: {labels: {app: web}}",
            "metadata: {annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: \"false\"}, \
             labels: {app: web}}",
        )
        .replace("replicas: 3", "replicas: 0")
        .replace("expireAfter: Never", life);
    let sim = sim_of(WorldSettings::default(), &text);
    let (mut runner, _reports) = runner_with(&sim, settings(parameters));
    if life == "expireAfter: Never" {
        drift(&sim, minute(8));
    }
    runner.run_until(minute(30)).expect("nothing unsafe happens");
    sim
}

#[test]
fn annotations_of_cluster_autoscaler_protect_where_a_setting_says_so() {
    let honor = [("AutoscalerAnnotations", "honor")];
    let evictions = |parameters: &[(&str, &str)]| {
        unsafe_to_evict("expireAfter: Never", parameters).summary().evictions
    };
    assert!(0 < evictions(&[]), "drift moves pods");
    assert_eq!(evictions(&honor), 0);
    // A drain waits for such pods as long as it may.
    let removed = |parameters: &[(&str, &str)]| {
        let life = "expireAfter: 8m\n      terminationGracePeriod: 10m";
        let events = unsafe_to_evict(life, parameters).timeline(0).into_iter();
        let is_removed = |happening: &Happening| matches!(happening, Happening::NodeRemoved { .. });
        events.filter(|event| is_removed(&event.happening)).map(|event| event.at).min()
    };
    let (usual, honored) =
        (removed(&[]).expect("it expires"), removed(&honor).expect("it expires"));
    assert!(usual + SignedDuration::from_mins(7) < honored, "{usual} and {honored}");
}

/// The usual world, whose class has `kubelet`.
fn with_kubelet(kubelet: &str) -> Sim {
    let role = "  role: KarpenterNodeRole-simulated\n";
    sim_of(
        WorldSettings::default(),
        &MANIFESTS.replace(role, &format!("{role}  kubelet: {kubelet}\n")),
    )
}

/// Why the class is not validated after some minutes; empty if it is.
fn fault(kubelet: &str, parameters: &[(&str, &str)]) -> String {
    let sim = with_kubelet(kubelet);
    let (mut runner, _reports) = runner_with(&sim, settings(parameters));
    runner.run_until(minute(5)).expect("nothing unsafe happens");
    let status = sim.class_status(&testkit::build::id("default")).expect("it was told");
    let mut conditions = status.conditions.iter();
    let validation = conditions
        .find(|condition| condition.kind == ConditionKind::ValidationSucceeded)
        .expect("a condition");
    let launched: u32 = sim.summary().launched.values().sum();
    assert_eq!(validation.status == Some(true), launched > 0, "{kubelet}: {validation:?}");
    if launched > 0 { String::new() } else { validation.reason.to_string() }
}

#[test]
fn expressions_of_a_class_decide_what_its_nodes_reserve() {
    let gate = [("FeatureGates", "NodeClassCEL=true")];
    let right = "{maxPods: 'min(max_pods, vcpus * 2)', kubeReserved: {cpu: 'vcpus * 50'}}";
    for (kubelet, parameters, expected) in [
        (right, &gate[..], ""),
        (right, &[], "KubeletExpressionsDisabled"),
        ("{maxPods: 'min(110,'}", &gate, "KubeletExpressionInvalid"),
        ("{systemReserved: {memory: 'vcpus - 3'}}", &gate, "KubeletExpressionEvaluationFailed"),
        ("{maxPods: '100 / (vcpus - 2)'}", &gate, "KubeletExpressionEvaluationFailed"),
        ("{maxPods: 20}", &[], ""),
    ] {
        assert_eq!(fault(kubelet, parameters), expected, "{kubelet}");
    }
    let sim = with_kubelet(right);
    let (mut runner, _reports) = runner_with(&sim, settings(&gate));
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    assert_eq!(sim.summary().pods_waiting, 0);
    for node in sim.nodes() {
        let (cores, reserved) =
            (node.capacity.cpu.0 / 1_000, node.capacity.cpu.0 - node.allocatable.cpu.0);
        assert_eq!((node.capacity.pods, reserved), (cores * 2, cores * 50), "{}", node.name);
    }
}
