//! CapacityBuffers: room that is kept whether a pod needs it now or not.

use std::{collections::BTreeMap, sync::Arc};

use journeyman::manifests;
use model::{
    ClaimPhase, PodSpec,
    buffer::{BufferTarget, CapacityBuffer},
};
use simulator::{ClusterObject, Sim, WorldSettings};

use crate::{
    settings::settings,
    world::{MANIFESTS, minute, runner_with, scale, sim_of, workload},
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

/// Nobody runs, and there is to be room for so many pods of `web`.
fn buffered(replicas: u32) -> Sim {
    let text =
        MANIFESTS.replace("replicas: 12", "replicas: 0").replace("replicas: 3", "replicas: 0");
    let sim = sim_of(WorldSettings::default(), &text);
    sim.add(vec![ClusterObject::CapacityBuffer {
        refers_to: None,
        buffer: CapacityBuffer {
            namespace: workload("web").namespace,
            name: "spare".parse().expect("a name"),
            uid: "spare-uid".parse().expect("a uid"),
            replicas: Some(replicas),
            percentage: None,
            limits: BTreeMap::new(),
            target: BufferTarget::Template(spec(&text)),
        },
    }]);
    sim
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
    // Nobody gives up nodes that are empty only because they are kept free.
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
