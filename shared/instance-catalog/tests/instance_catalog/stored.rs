//! What is read back is what was stored.

use std::{
    io::{Read as _, Write as _},
    sync::Arc,
};

use instance_catalog::stored::{decode, encode};
use model::{
    Bytes, CapacityType, HourlyPrice, InstanceType, Millicores, Offering, Operator, RegionCatalog,
    Requirement, Requirements, Reservation, Resources, Values,
    instance_type_info::StoredRegionCatalog, requirement::Value,
};
use proptest::prelude::*;

use flate2::{Compression, read::GzDecoder, write::GzEncoder};

/// The kind and the version, which the unpacked bytes of each stored catalog start with.
const HEAD: &[u8] = b"\x12journeyman-catalog\x01";

fn packed(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn builtin() -> StoredRegionCatalog {
    let found_at = "2026-08-01T12:00:00.25Z".parse().unwrap();
    StoredRegionCatalog { catalog: instance_catalog::builtin().unwrap(), found_at }
}

#[test]
fn every_built_in_type_reads_back_as_it_was_stored_and_all_are_small() {
    let parts = builtin();
    let stored = encode(&parts).unwrap();
    assert!(stored.len() < 200_000, "{} bytes", stored.len());
    let read = decode(&stored).unwrap();
    assert_eq!(read.catalog.instance_types.len(), 1_309);
    assert!(read == parts);
}

#[test]
fn the_same_is_stored_as_the_same_bytes() {
    assert!(encode(&builtin()).unwrap() == encode(&builtin()).unwrap());
}

#[test]
fn what_is_of_a_class_or_no_list_is_refused() {
    let mut parts = builtin();
    let refused = |parts: &StoredRegionCatalog| encode(parts).unwrap_err().to_string();
    let first = Arc::clone(&parts.catalog.instance_types[0]);
    let change = |parts: &mut StoredRegionCatalog, change: &dyn Fn(&mut InstanceType)| {
        let mut instance_type = InstanceType::clone(&first);
        change(&mut instance_type);
        parts.catalog.instance_types[0] = Arc::new(instance_type);
    };
    let bounded = Requirement::new("cpu", Operator::Gt, ["4"]).unwrap();
    change(&mut parts, &|instance_type| instance_type.requirements.replace(bounded.clone()));
    assert_eq!(refused(&parts), "catalog: a1.2xlarge: `cpu Gt 4` is no list");
    let id = "cr-1".parse().unwrap();
    let reservation =
        Reservation { id, kind: "default".to_owned(), interruptible: false, count: 1 };
    change(&mut parts, &|instance_type| {
        instance_type.offerings[0].reservation = Some(reservation.clone());
    });
    let problem = "catalog: a1.2xlarge: a reserved offering is not of a region";
    assert_eq!(refused(&parts), problem);
}

#[test]
fn what_is_cut_off_or_of_another_kind_or_version_is_refused() {
    let stored = encode(&builtin()).unwrap();
    assert!(decode(&stored[..stored.len() / 2]).is_err());
    let mut plain = Vec::new();
    GzDecoder::new(stored.as_slice()).read_to_end(&mut plain).unwrap();
    for length in (0..plain.len()).step_by(9_973) {
        assert!(decode(&packed(&plain[..length])).is_err(), "{length}");
    }
    assert!(plain.starts_with(HEAD));
    let mut later = plain.clone();
    later[HEAD.len() - 1] += 1;
    let error = decode(&packed(&later)).unwrap_err().to_string();
    assert_eq!(error, "catalog: the stored one is not a `journeyman-catalog` of version 1");
    assert!(decode(b"journeyman-catalog").is_err());
    assert!(decode(include_bytes!("../../data/instance-shapes.tsv.gz")).is_err());
}

fn text() -> impl Strategy<Value = String> {
    "[a-z0-9é.-]{1,8}"
}

fn resources() -> impl Strategy<Value = Resources> {
    let extended = proptest::collection::btree_map("[a-z]{1,4}/[a-z]{1,4}", any::<u64>(), 0..3);
    (any::<[u64; 4]>(), extended).prop_map(|([cpu, memory, disk, pods], extended)| Resources {
        cpu: Millicores(cpu),
        memory: Bytes(memory),
        ephemeral_storage: Bytes(disk),
        pods,
        extended: extended.into_iter().map(|(name, n)| (name.parse().unwrap(), n)).collect(),
    })
}

fn offering() -> impl Strategy<Value = Offering> {
    let kind = prop_oneof![Just(CapacityType::Spot), Just(CapacityType::OnDemand)];
    (text(), proptest::option::of(text()), kind, any::<u64>(), any::<bool>()).prop_map(
        |(zone, id, capacity_type, price, is_available)| Offering {
            zone: zone.parse().unwrap(),
            zone_id: id.map(|id| id.parse().unwrap()),
            capacity_type,
            price: HourlyPrice::from_nanos(price),
            is_available,
            reservation: None,
        },
    )
}

fn instance_type() -> impl Strategy<Value = InstanceType> {
    let values = proptest::collection::btree_set(text(), 0..4);
    let labels = proptest::collection::btree_map(text(), values, 0..6);
    let offerings = proptest::collection::vec(offering(), 0..4);
    ("[a-z]{1,3}[0-9]\\.[a-z]{1,5}", labels, resources(), resources(), offerings).prop_map(
        |(name, labels, capacity, overhead, offerings)| InstanceType {
            name: name.parse().unwrap(),
            requirements: Requirements::of_distinct(labels.into_iter().map(|(key, values)| {
                let values: Values = values.into_iter().map(Value::from).collect();
                Requirement::listed(key.parse().unwrap(), values)
            })),
            capacity,
            overhead,
            offerings,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_catalog_reads_back_as_it_was_stored(
        types in proptest::collection::vec(instance_type(), 0..6),
        region in text(),
        seconds in 0_i64..4_000_000_000,
    ) {
        let descriptions = instance_catalog::builtin_market().unwrap().1.into_iter().take(types.len());
        let catalog = RegionCatalog {
            region,
            zones: types.iter().flat_map(|instance_type| &instance_type.offerings)
                .filter_map(|o| Some((o.zone.clone(), o.zone_id.clone()?))).collect(),
            instance_types: types.into_iter().map(Arc::new).collect(),
            descriptions: descriptions.map(|info| (info.name.clone(), Arc::new(info))).collect(),
        };
        let found_at = jiff::Timestamp::from_second(seconds).unwrap();
        let parts = StoredRegionCatalog { catalog, found_at };
        prop_assert_eq!(decode(&encode(&parts).unwrap()).unwrap(), parts);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let plain = [HEAD, b"\x09us-west-2\x142026-08-01T12:00:00Z", &bytes].concat();
        drop(decode(&packed(&plain)));
    }
}
