//! What commits take, and what falls back when a node loses types.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::collections::BTreeSet;

use devices::{Devices, Leaving};
use expect_test::expect;

use super::support::{Words, check, facts, place_key, visit};

#[test]
fn nothing_is_taken_before_a_commit() {
    check(
        "class gpu
        slice s gpu/p all: gpu-0
        claim a: r 1 gpu
        claim b: r 1 gpu",
        "try new-0 p m.x: a
        new-1 p m.x: b
        try new-0 p m.x: a",
        &expect![[r#"
            new-0: m.x
              a: r=gpu/p/gpu-0
            new-1: m.x
              b: r=gpu/p/gpu-0
            new-0: ResourceClaim default/a: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 1 allocated
        "#]],
    );
}

#[test]
fn a_node_may_take_a_device_once_for_each_type() {
    check(
        "class gpu
        slice s gpu/p all: gpu-0
        template p m.y gpu/gpus: gpu-0
        claim a: r 1 gpu
        claim b: r 1 gpu
        claim two: r 2 gpu",
        "new-0 p m.x,m.y: a
        try new-0 p m.x,m.y: b
        try new-1 p m.x: b",
        &expect![[r#"
            new-0: m.x m.y
              a: r=gpu/p/gpu-0
            new-0: m.y
              b: r=~gpu/gpus/gpu-0
            new-1: ResourceClaim default/b: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 1 allocated
        "#]],
    );
}

#[test]
fn a_device_that_one_type_takes_is_there_for_the_nodes_other_types() {
    check(
        "class gpu
        class t4 where model=t4
        slice s gpu/p all: gpu-0 model=l4; gpu-1 model=t4
        template p m.x gpu/gpus: a model=l4
        template p m.y gpu/gpus: a model=t4
        claim a: r 2 gpu; same model
        claim b: r 1 t4",
        "new-0 p m.x,m.y: a
        try new-1 p c.x: b
        new-0 p m.x,m.y: b",
        &expect![[r#"
            new-0: m.x m.y
              a on m.x: r=gpu/p/gpu-0 r=~gpu/gpus/a
              a on m.y: r=gpu/p/gpu-1 r=~gpu/gpus/a
            new-1: ResourceClaim default/b: request r asks for 1 device of DeviceClass t4, and c.x, which comes closest, has none: 1 allocated
            new-0: m.x
              b: r=gpu/p/gpu-1
        "#]],
    );
}

#[test]
fn devices_of_templates_are_each_nodes_own() {
    check(
        "class gpu
        template p m.x gpu/gpus: gpu-0
        claim a: r 1 gpu
        claim b: r 1 gpu",
        "new-0 p m.x: a
        try new-0 p m.x: b
        new-1 p m.x: b",
        &expect![[r#"
            new-0: m.x
              a: r=~gpu/gpus/gpu-0
            new-0: ResourceClaim default/b: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 1 allocated
            new-1: m.x
              b: r=~gpu/gpus/gpu-0
        "#]],
    );
}

#[test]
fn a_device_is_free_when_the_last_type_that_takes_it_falls_out() {
    check(
        "class gpu where model=l4
        slice s gpu/p all: gpu-0 model=l4 link=#1
        template p m.x net/own: nic link=#1
        template p m.y net/own: nic link=#1
        template p c.x net/own: nic link=#2; gpu model=l4 link=#2
        class nic where has link
        claim a: r 1 gpu; q 1 nic; same link
        claim b: r 1 gpu",
        "new-0 p m.x,m.y,c.x: a
        try new-1 p c.y: b
        keep new-0 m.y c.x
        try new-1 p c.y: b
        keep new-0 c.x
        new-1 p c.y: b",
        &expect![[r#"
            new-0: m.x m.y c.x
              a on m.x m.y: r=gpu/p/gpu-0 q=~net/own/nic
              a on c.x: r=~net/own/gpu q=~net/own/nic
            new-1: ResourceClaim default/b: request r asks for 1 device of DeviceClass gpu, and c.y, which comes closest, has none: 1 allocated
            new-1: ResourceClaim default/b: request r asks for 1 device of DeviceClass gpu, and c.y, which comes closest, has none: 1 allocated
            new-1: c.y
              b: r=gpu/p/gpu-0
        "#]],
    );
}

#[test]
fn what_a_type_asked_of_the_node_goes_with_it() {
    check(
        "class nic
        slice s net/p zone=a,b: nic-0 link=#1
        slice t net/q zone=a: nic-0 link=#2
        template p m.x net/own: nic link=#1
        template p m.y net/own: nic link=#2
        claim first: r 2 nic; same link
        claim second: r 1 nic",
        "new-0 p m.x,m.y zone=a,b,c: first
        new-0 p m.x,m.y zone=a,b,c: second
        try new-1 p c.x zone=b: second
        keep new-0 m.y
        try new-1 p c.x zone=b: second",
        &expect![[r#"
            new-0: m.x m.y if topology.kubernetes.io/zone In [a]
              first on m.x: r=net/p/nic-0 r=~net/own/nic
              first on m.y: r=net/q/nic-0 r=~net/own/nic
            new-0: m.x m.y if topology.kubernetes.io/zone In [a]
              second on m.y: r=net/p/nic-0
              second on m.x: r=net/q/nic-0
            new-1: ResourceClaim default/second has devices that this node does not reach
            new-1: c.x if topology.kubernetes.io/zone In [a b]
        "#]],
    );
}

#[test]
fn copies_know_nothing_of_one_another() {
    let facts = facts(
        "class gpu
        slice s gpu/p all: gpu-0
        claim a: r 1 gpu",
    );
    let devices = Devices::new(&facts, &Words);
    let state = devices.begin(&Leaving::default());
    let visit = visit("new-0 p m.x: a");
    let mut trial = state.clone();
    let allocation = devices.allocate(&state, &visit.place(), &visit.claims).unwrap();
    trial.commit(allocation.clone());
    assert_eq!(trial.claims().count(), 1);
    assert_eq!(state.claims().count(), 0);
    let mut other = state.clone();
    other.commit(allocation);
    other.keep_types(visit.key, |_| false);
    assert_eq!(trial.claims().next().unwrap().1.devices.len(), 1);
    assert_eq!(other.claims().next().unwrap().1.devices.len(), 0);
}

#[test]
fn a_node_knows_the_drivers_of_its_devices_over_all_types() {
    let facts = facts(
        "class gpu
        template p m.x gpu/gpus: gpu-0
        template p m.y net/nics: nic-0
        claim a: r 1 gpu
        claim old has disk/p/a for web",
    );
    let devices = Devices::new(&facts, &Words);
    let mut state = devices.begin(&Leaving::default());
    let visit = visit("new-0 p m.x,m.y: a old");
    let allocation = devices.allocate(&state, &visit.place(), &visit.claims).unwrap();
    state.commit(allocation);
    assert_eq!(state.drivers(visit.key), BTreeSet::from(["gpu", "net"]));
    assert_eq!(state.drivers(place_key("new-1")), BTreeSet::new());
}
