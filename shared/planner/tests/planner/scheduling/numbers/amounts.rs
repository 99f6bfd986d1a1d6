//! Resources as arrays: every resource that some pod requests has a place, the same everywhere.

use model::{Millicores, ResourceName, Resources};
use planner::{
    index::id::TypeId,
    scheduling::{launchable::offer::Types, numbers::amounts::*},
};

#[test]
fn amounts_go_there_and_back() {
    let mut requests = Resources { pods: 1, ..Resources::default() };
    requests.set(&ResourceName::new("nvidia.com/gpu").unwrap(), 2);
    let index = ResourceIndex::of([&requests]);
    assert_eq!(index.len(), 5);
    assert_eq!(index.resources(&index.amounts(&requests)), requests);
}

#[test]
fn the_smallest_of_many_is_by_resource() {
    let mut gpu = Resources { pods: 9, ..Resources::default() };
    gpu.set(&ResourceName::new("nvidia.com/gpu").unwrap(), 2);
    let plain = Resources { pods: 5, cpu: Millicores(7), ..Resources::default() };
    let whole: Whole = [&gpu, &plain].into_iter().collect();
    let [first, second] = [0, 1].map(TypeId::nth);
    let chosen = |ids: &[TypeId]| Types::of(2, |id| ids.contains(&id));
    assert_eq!(whole.smallest(&chosen(&[first])), gpu);
    assert_eq!(whole.smallest(&chosen(&[second])), plain);
    let both = whole.smallest(&chosen(&[first, second]));
    assert_eq!(both, Resources { pods: 5, ..Resources::default() });
    assert_eq!(whole.smallest(&chosen(&[])), Resources::default());
}

#[test]
fn nothing_fits_an_overcommitted_node() {
    assert!(fits(&[1, 0], &[1, 0]));
    assert!(!fits(&[2, 0], &[1, 0]));
    assert!(!fits(&[1, 0], &[1, -1]));
}
