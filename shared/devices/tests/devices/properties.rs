//! What holds in every world, however small and odd.

mod worlds;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use devices::{AllocatedDevice, DevicePlaceKey, DeviceRefusal, Devices, Leaving};
use model::{
    InstanceTypeName, Quantity,
    dynamic_resources::{
        DeviceAsk, DeviceCount, DeviceFacts, DeviceId, RequestKind, ResourceClaim, SliceDevice,
    },
};
use proptest::prelude::*;
use worlds::{Sketch, worlds};

use super::{
    judge::{Got, Gotten, Visited, gotten, violations},
    support::{Words, facts, played, visit},
};

/// A device that may be tried, whether or not it is in reach.
struct Known<'f> {
    id: DeviceId,
    device: &'f SliceDevice,
    is_template: bool,
}

fn known<'f>(facts: &'f DeviceFacts, visit: &super::support::Visit) -> Vec<Known<'f>> {
    let id = |driver: &Arc<str>, pool: &Arc<str>, device: &SliceDevice| DeviceId {
        driver: Arc::clone(driver),
        pool: Arc::clone(pool),
        device: Arc::clone(&device.name),
    };
    let published = facts.slices.iter().flat_map(|slice| {
        slice.devices.iter().map(|device| {
            let id = id(&slice.driver, &slice.pool.name, device);
            Known { id, device, is_template: false }
        })
    });
    let place = visit.place();
    let known = facts.templates.get(place.node_pool).and_then(|types| types.get(&place.types[0]));
    let slices = known.into_iter().flat_map(|known| &known.slices);
    let templates = slices.flat_map(|slice| {
        slice.devices.iter().map(|device| {
            let id = id(&slice.driver, &slice.pool, device);
            Known { id, device, is_template: true }
        })
    });
    let mut seen = BTreeSet::new();
    let devices = published.chain(templates);
    devices.filter(|known| seen.insert((known.id.clone(), known.is_template))).collect()
}

/// What a request takes of a device; worlds have no policies but defaults.
fn share(ask: &DeviceAsk, device: &SliceDevice) -> Option<BTreeMap<String, Quantity>> {
    let share = |(name, capacity): (&String, &model::dynamic_resources::DeviceCapacity)| {
        let default = capacity.policy.as_ref().and_then(|policy| policy.default);
        let share = ask.capacity.get(name).copied().or(default).unwrap_or(capacity.value);
        (name.clone(), share)
    };
    device.allows_multiple_allocations.then(|| device.capacity.iter().map(share).collect())
}

/// Every way to choose alternatives: the slots of all requests, each with its name.
fn slots(claim: &ResourceClaim) -> Vec<Vec<(String, &DeviceAsk)>> {
    let mut ways: Vec<Vec<(String, &DeviceAsk)>> = vec![Vec::new()];
    for request in &claim.requests {
        let asks: Vec<(String, &DeviceAsk)> = match &request.kind {
            RequestKind::Exactly(ask) => vec![(request.name.clone(), ask)],
            RequestKind::FirstAvailable(list) => {
                list.iter().map(|(sub, ask)| (format!("{}/{sub}", request.name), ask)).collect()
            }
            RequestKind::Unsupported => Vec::new(),
        };
        let count = |ask: &DeviceAsk| match ask.count {
            DeviceCount::Exact(count) => count,
            DeviceCount::All => 0,
        };
        let mut longer = Vec::new();
        for (way, (name, ask)) in ways.iter().flat_map(|way| asks.iter().map(move |ask| (way, ask)))
        {
            let mut way = way.clone();
            way.extend(std::iter::repeat_n((name.clone(), *ask), count(ask)));
            longer.push(way);
        }
        ways = longer;
    }
    ways
}

/// Whether any device for each slot makes the judge content: all of them are tried.
fn is_possible(
    facts: &DeviceFacts,
    before: &Gotten,
    visited: &Visited,
    (claim, place, name): (&ResourceClaim, DevicePlaceKey, &InstanceTypeName),
) -> bool {
    let known = known(facts, &visited[&place]);
    let is_right = |devices: Vec<AllocatedDevice>| {
        let mut gotten = before.clone();
        let devices = BTreeMap::from([(name.clone(), devices)]);
        gotten.insert(claim.key.clone(), Got { place, devices });
        violations(facts, &Leaving::default(), &gotten, visited).is_empty()
    };
    slots(claim).into_iter().any(|way| {
        let choices = known.len().pow(u32::try_from(way.len()).unwrap());
        (0..choices).any(|mut choice| {
            let devices = way.iter().map(|(request, ask)| {
                let device = &known[choice % known.len()];
                choice /= known.len();
                AllocatedDevice {
                    id: device.id.clone(),
                    is_template: device.is_template,
                    request: request.clone(),
                    consumed: share(ask, device.device),
                }
            });
            is_right(devices.collect())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The judge looks at every allocation as the steps are played.
    #[test]
    fn the_judge_agrees_and_the_order_of_facts_does_not_matter(sketch in worlds()) {
        let Sketch { world, steps } = &sketch;
        let world_facts = facts(world);
        let mut other = world_facts.clone();
        other.slices.reverse();
        other.claims.reverse();
        other.classes.reverse();
        prop_assert_eq!(played(&world_facts, steps), played(&other, steps));
    }

    /// Where the answer is a shortage, no choice of devices would do; where it is none, one does.
    #[test]
    fn what_is_not_found_is_not_there(sketch in worlds()) {
        let facts = facts(&sketch.world);
        let devices = Devices::new(&facts, &Words);
        let mut state = devices.begin(&Leaving::default());
        let mut visited = Visited::new();
        for line in sketch.steps.lines().filter(|line| !line.starts_with("leaving ")) {
            if line.starts_with("keep ") {
                continue;
            }
            let mut visit = visit(line);
            visit.keep_first_claim_and_type();
            if !visit.follow(&visited) {
                continue;
            }
            let (key, name) = (visit.key, visit.place().types[0].clone());
            let claim = visit.claims[0].clone();
            let claim = facts.claims.iter().find(|known| known.key == claim).unwrap();
            let answer = devices.allocate(&state, &visit.place(), &visit.claims);
            if let Ok(allocation) = &answer {
                visit.note(allocation);
            }
            let before = gotten(&state);
            let is_open = claim.allocation.is_none() && !before.contains_key(&claim.key);
            let has_all = claim.requests.iter().any(|request| match &request.kind {
                RequestKind::Exactly(ask) => ask.count == DeviceCount::All,
                RequestKind::FirstAvailable(list) => {
                    list.iter().any(|(_, ask)| ask.count == DeviceCount::All)
                }
                RequestKind::Unsupported => true,
            });
            visited.insert(key, visit);
            match answer {
                Ok(allocation) => state.commit(allocation),
                Err(DeviceRefusal::Shortage(shortage)) if is_open && !has_all => {
                    let possible = is_possible(&facts, &before, &visited, (claim, key, &name));
                    prop_assert!(!possible, "{shortage}\n{}\n{line}", sketch.world);
                }
                Err(_) => {}
            }
        }
    }
}
