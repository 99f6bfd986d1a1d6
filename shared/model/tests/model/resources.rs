//! Bundles of resources: what containers request, what nodes have.

use model::{Bytes, ResourceName, resources::*};

fn resources(amounts: &[(&str, &str)]) -> Resources {
    let mut resources = Resources::default();
    for (name, text) in amounts {
        resources.set_quantity(&ResourceName::new(name).unwrap(), text).unwrap();
    }
    resources
}

#[test]
fn running_short_is_a_value() {
    let node = resources(&[("cpu", "2"), ("memory", "4Gi"), ("nvidia.com/gpu", "1")]);
    let pod = resources(&[("cpu", "500m"), ("nvidia.com/gpu", "1")]);
    let left = node.checked_sub(&pod).unwrap();
    assert_eq!(left.to_string(), "cpu 1500m, memory 4Gi");
    assert_eq!(left.checked_sub(&pod), None);
}

#[test]
fn zero_requests_always_fit() {
    assert!(resources(&[("example.com/thing", "0")]).fits_in(&Resources::default()));
}

#[test]
fn sums_and_maxima_are_by_resource() {
    let a = resources(&[("cpu", "1"), ("example.com/a", "1")]);
    let b = resources(&[("cpu", "3"), ("example.com/b", "2")]);
    assert_eq!(a.saturating_add(&b).to_string(), "cpu 4, example.com/a 1, example.com/b 2");
    assert_eq!(a.larger(&b).to_string(), "cpu 3, example.com/a 1, example.com/b 2");
    assert_eq!(a.saturating_sub(&b).to_string(), "example.com/a 1");
}

#[test]
fn memory_in_millibytes_rounds_up() {
    assert_eq!(resources(&[("memory", "100m")]).memory, Bytes(1));
}
