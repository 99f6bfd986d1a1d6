//! Nodes that have less memory than was estimated.

use std::collections::BTreeMap;

use model::InstanceTypeName;
use simulator::{Action, Sim, WorldSettings};

use crate::world::{minute, runner, scale, sim};

/// A pod that the estimate puts on types of 8 GiB, whose nodes have no room for it.
const HOG: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: hog}
spec:
  replicas: 1
  selector: {matchLabels: {app: hog}}
  template:
    metadata: {labels: {app: hog}}
    spec:
      containers: [{name: hog, image: hog, resources: {requests: {cpu: 100m, memory: 6500Mi}}}]
";

fn hogs(settings: WorldSettings) -> Sim {
    let sim = sim(settings);
    sim.act(scale("web", 0));
    sim.act(scale("store", 0));
    let texts = [journeyman::manifests::InputFile::named("hog.yaml", HOG)];
    let objects = journeyman::manifests::parse(&texts).expect("the manifest is sound").objects;
    sim.act(Action::Add(objects));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(30)).expect("nothing unsafe happens");
    sim
}

fn launched(sim: &Sim) -> BTreeMap<InstanceTypeName, u32> {
    let mut launched = BTreeMap::new();
    for (offering, count) in sim.summary().launched {
        *launched.entry(offering.instance_type).or_default() += count;
    }
    launched
}

#[test]
fn a_type_that_has_less_memory_is_not_chosen_for_the_same_pod_again() {
    let estimated = hogs(WorldSettings::default());
    assert_eq!(estimated.summary().pods_waiting, 0);
    let small = |name: &InstanceTypeName| {
        ["c7g.xlarge", "c7i.xlarge", "m7g.large", "m7i.large"].contains(&name.as_str())
    };
    assert_eq!(launched(&estimated).values().sum::<u32>(), 1, "{:?}", launched(&estimated));
    assert!(launched(&estimated).keys().all(small), "{:?}", launched(&estimated));
    let real = hogs(WorldSettings { node_memory_per_mille: 900, ..WorldSettings::default() });
    assert_eq!(real.summary().pods_waiting, 0);
    let launched = launched(&real);
    assert!(launched.iter().all(|(name, count)| !small(name) || *count == 1), "{launched:?}");
    assert!(launched.keys().any(small) && launched.keys().any(|name| !small(name)), "{launched:?}");
    assert_eq!(real.check_liveness(), Vec::<String>::new());
}
