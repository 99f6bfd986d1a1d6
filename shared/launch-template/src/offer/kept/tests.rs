//! What is kept is never told from what is worked out anew.

use model::{
    CapacityType, InstanceTypeName, OfferingKey, Zone,
    node_class::{ImageFamily, MaxPods},
};

use super::*;
use crate::{
    offer,
    testing::{catalog, class, described, now, subnet},
};

const T3: &str = "t3.large amd64 2 7577Mi 35 0.0832 0.03";
const M7G: &str = "m7g.large arm64 2 7577Mi 29 0.0816 0.03";

/// `offers` must say what `offer` says; and whether a type was kept from the answer before.
#[track_caller]
fn check(
    offers: &Offers,
    catalog: &Arc<RegionCatalog>,
    class: &ResolvedNodeClass,
    unavailable_offerings: &BTreeMap<OfferingKey, Timestamp>,
    before: &[Arc<InstanceType>],
) -> (Vec<Arc<InstanceType>>, Vec<bool>) {
    let ledger =
        Snapshot { unavailable_offerings: unavailable_offerings.clone(), ..Snapshot::default() };
    let types = offers.offer(catalog, class, &ledger, now());
    assert_eq!(types, offer(catalog, class, unavailable_offerings, now()));
    let is_kept = |t: &Arc<InstanceType>| before.iter().any(|other| Arc::ptr_eq(t, other));
    let kept = types.iter().map(is_kept).collect();
    (types, kept)
}

fn cooling_t3() -> BTreeMap<OfferingKey, Timestamp> {
    let key = OfferingKey {
        capacity_type: CapacityType::Spot,
        instance_type: InstanceTypeName::new("t3.large").unwrap(),
        zone: Zone::new("us-west-2a").unwrap(),
    };
    BTreeMap::from([(key, "2026-08-01T12:00:01Z".parse().unwrap())])
}

#[test]
fn only_types_that_are_unavailable_are_made_anew_and_come_back() {
    let (offers, catalog) = (Offers::default(), Arc::new(catalog(&[M7G, T3])));
    let class = class(ImageFamily::Al2023);
    let (first, _) = check(&offers, &catalog, &class, &BTreeMap::new(), &[]);
    let (_, kept) = check(&offers, &catalog, &class, &cooling_t3(), &first);
    assert_eq!(kept, [true, false]);
    let (_, kept) = check(&offers, &catalog, &class, &BTreeMap::new(), &first);
    assert_eq!(kept, [true, true]);
}

#[test]
fn nothing_is_offered_in_a_zone_that_is_left() {
    let (offers, catalog) = (Offers::default(), Arc::new(catalog(&[M7G, T3])));
    let class = class(ImageFamily::Al2023);
    let offered = |until: &str, zone: &str| {
        let mut ledger = Snapshot::default();
        let until = until.parse().unwrap();
        ledger.head.shifted_zones = [(Zone::new(zone).unwrap(), until)].into();
        let types = offers.offer(&catalog, &class, &ledger, now());
        let offerings = types.iter().flat_map(|instance_type| &instance_type.offerings);
        let available = offerings.filter(|offering| offering.is_available);
        available.map(|offering| offering.zone.clone()).collect::<std::collections::BTreeSet<_>>()
    };
    let usual = offered("2026-08-01T12:00:01Z", "us-west-2z");
    let zone = Zone::new("us-west-2a").unwrap();
    assert!(usual.contains(&zone));
    let left = offered("2026-08-01T12:00:01Z", "us-west-2a");
    assert_eq!(left, usual.iter().filter(|other| **other != zone).cloned().collect());
    // Its end has come.
    assert_eq!(offered("2026-08-01T12:00:00Z", "us-west-2a"), usual);
}

#[test]
fn nodes_have_what_the_settings_leave_them() {
    let (catalog, class) = (Arc::new(described(&[T3])), class(ImageFamily::Al2023));
    let of = |settings: NodeSettings| {
        let types = Offers::with(settings).offer(&catalog, &class, &Snapshot::default(), now());
        (types[0].capacity.memory.0 >> 20, types[0].capacity.pods)
    };
    let usual = NodeSettings::default();
    assert_eq!(of(usual), (7577, 29));
    let memory_overhead = crate::Share::parse("0.5").unwrap();
    assert_eq!(of(NodeSettings { memory_overhead, reserved_enis: 1, ..usual }), (4096, 20));
}

#[test]
fn free_addresses_change_nothing_and_another_zone_does() {
    let (offers, catalog) = (Offers::default(), Arc::new(catalog(&[T3])));
    let mut class = class(ImageFamily::Al2023);
    let (first, _) = check(&offers, &catalog, &class, &BTreeMap::new(), &[]);
    class.subnets[0].available_ip_address_count += 1;
    let (_, kept) = check(&offers, &catalog, &class, &BTreeMap::new(), &first);
    assert_eq!(kept, [true]);
    class.subnets.truncate(1);
    let (_, kept) = check(&offers, &catalog, &class, &BTreeMap::new(), &first);
    assert_eq!(kept, [false]);
    class.subnets = vec![subnet("subnet-9", "us-west-2b", "usw2-az2", 9)];
    check(&offers, &catalog, &class, &BTreeMap::new(), &first);
}

#[test]
fn another_class_image_or_catalog_is_looked_at_anew() {
    let (offers, first_catalog) = (Offers::default(), Arc::new(catalog(&[T3])));
    let first_class = class(ImageFamily::Al2023);
    let (first, _) = check(&offers, &first_catalog, &first_class, &BTreeMap::new(), &[]);
    let mut changed = first_class.clone();
    changed.class.kubelet.max_pods = Some(MaxPods::Number(10));
    let (_, kept) = check(&offers, &first_catalog, &changed, &BTreeMap::new(), &first);
    assert_eq!(kept, [false]);
    let mut imageless = first_class.clone();
    imageless.images.clear();
    let (none, _) = check(&offers, &first_catalog, &imageless, &BTreeMap::new(), &first);
    assert!(none.is_empty());
    let other = Arc::new(catalog(&[M7G, T3]));
    check(&offers, &other, &first_class, &BTreeMap::new(), &first);
}

#[test]
fn a_class_too_many_forgets_the_others() {
    let (offers, catalog) = (Offers::default(), Arc::new(catalog(&[T3])));
    let mut class = class(ImageFamily::Al2023);
    for index in 0..=CLASSES_MAX {
        class.class.name = NodeClassName::new(&format!("class-{index}")).unwrap();
        check(&offers, &catalog, &class, &BTreeMap::new(), &[]);
    }
    assert_eq!(offers.kept.borrow().len(), 1);
}

#[test]
fn a_measurement_changes_its_type_once_and_for_no_longer_than_it_is_known() {
    let (offers, catalog) = (Offers::default(), Arc::new(catalog(&[M7G, T3])));
    let class = class(ImageFamily::Al2023);
    let key = MeasuredKey {
        instance_type: InstanceTypeName::new("t3.large").unwrap(),
        image: class.images[0].id.clone(),
    };
    let measured = BTreeMap::from([(key, Bytes::from_mebibytes(7_000))]);
    let ledger = Snapshot { measured, ..Snapshot::default() };
    let first = offers.offer(&catalog, &class, &Snapshot::default(), now());
    let second = offers.offer(&catalog, &class, &ledger, now());
    assert!(Arc::ptr_eq(&first[0], &second[0]) && !Arc::ptr_eq(&first[1], &second[1]));
    assert_eq!(second[1].capacity.memory, Bytes::from_mebibytes(7_000));
    let third = offers.offer(&catalog, &class, &ledger, now());
    assert!(
        second.iter().zip(&third).all(|(instance_type, other)| Arc::ptr_eq(instance_type, other))
    );
    assert_eq!(offers.offer(&catalog, &class, &Snapshot::default(), now()), first);
}
