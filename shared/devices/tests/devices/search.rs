//! The order in which devices are tried, and what one type asks of the next.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::expect;

use super::support::check;

#[test]
fn published_devices_come_first_by_driver_and_pool() {
    check(
        "class gpu
        slice z gpu/b all: gpu-[0-1]
        slice y gpu/a all: gpu-1; gpu-0
        slice x net/a all: nic-0
        template p m.x gpu/gpus: gpu-0
        claim a: r 6 gpu",
        "new-0 p m.x: a",
        &expect![[r#"
            new-0: m.x
              a: r=gpu/a/gpu-1 r=gpu/a/gpu-0 r=gpu/b/gpu-0 r=gpu/b/gpu-1 r=net/a/nic-0 r=~gpu/gpus/gpu-0
        "#]],
    );
}

#[test]
fn types_without_the_devices_are_left_out() {
    check(
        "class gpu
        template p m.x gpu/gpus: gpu-0
        template p m.y gpu/gpus: gpu-[0-1]
        template q m.x gpu/gpus: gpu-[0-1]
        claim a: r 2 gpu",
        "try new-0 p m.x,m.y,c.x: a
        try new-0 q m.x,m.y: a
        try new-0 p m.x,c.x: a",
        &expect![[r#"
            new-0: m.y
              a: r=~gpu/gpus/gpu-0 r=~gpu/gpus/gpu-1
            new-0: m.x
              a: r=~gpu/gpus/gpu-0 r=~gpu/gpus/gpu-1
            new-0: ResourceClaim default/a: request r asks for 2 devices of DeviceClass gpu, and m.x, which comes closest, has 1
        "#]],
    );
}

#[test]
fn a_node_that_is_initialized_has_no_devices_of_templates() {
    check(
        "class gpu
        template p m.x gpu/gpus: gpu-0
        claim a: r 1 gpu",
        "try node-a p m.x: a
        try node-a p m.x fresh: a",
        &expect![[r#"
            node-a: ResourceClaim default/a: request r asks for 1 device of DeviceClass gpu, and no device of this class is known of any instance type that fits the pod
            node-a: m.x
              a: r=~gpu/gpus/gpu-0
        "#]],
    );
}

#[test]
fn the_first_alternative_that_leads_to_a_whole_solution_is_taken() {
    check(
        "class gpu
        class big where memory>=40Gi
        slice s gpu/p all: gpu-0 memory:80Gi; gpu-1 memory:16Gi
        claim a: r 2 big or 1 big or 1 gpu
        claim b: r 1 big or 1 gpu; q 1 big",
        "try new-0 p m.x: a
        try new-0 p m.x: b",
        &expect![[r#"
            new-0: m.x
              a: r/b=gpu/p/gpu-0
            new-0: m.x
              b: r/b=gpu/p/gpu-1 q=gpu/p/gpu-0
        "#]],
    );
}

#[test]
fn a_claim_gives_way_to_the_next_claim_of_the_pod() {
    check(
        "class gpu
        class big where memory>=40Gi
        slice s gpu/p all: gpu-0 memory:80Gi; gpu-1 memory:16Gi
        claim any: r 1 gpu
        claim large: r 1 big",
        "try new-0 p m.x: any large
        try new-0 p m.x: any large any",
        &expect![[r#"
            new-0: m.x
              any: r=gpu/p/gpu-1
              large: r=gpu/p/gpu-0
            new-0: m.x
              any: r=gpu/p/gpu-1
              large: r=gpu/p/gpu-0
        "#]],
    );
}

#[test]
fn what_one_type_asks_of_the_node_the_next_must_bear() {
    check(
        "class gpu
        class nic where has speed
        slice a net/a zone=a: nic-0 speed=#1
        slice b net/b zone=b: nic-0 speed=#2
        template p m.x net/own: nic-9 speed=#1
        claim a: r 1 nic; q 1 gpu
        claim same: r 1 nic; q 1 gpu; same speed
        template p m.y gpu/gpus: gpu-0 speed=#1
        template p c.x gpu/gpus: gpu-0 speed=#2",
        "try new-0 p m.y,c.x zone=a,b: same
        try new-0 p c.x,m.y zone=a,b: same
        try new-0 p c.x,m.y zone=a,b: a",
        &expect![[r#"
            new-0: m.y if topology.kubernetes.io/zone In [a]
              same: r=net/a/nic-0 q=~gpu/gpus/gpu-0
            new-0: c.x if topology.kubernetes.io/zone In [b]
              same: r=net/b/nic-0 q=~gpu/gpus/gpu-0
            new-0: c.x m.y if topology.kubernetes.io/zone In [a]
              a: r=net/a/nic-0 q=~gpu/gpus/gpu-0
        "#]],
    );
}

#[test]
fn a_search_that_is_too_long_says_so() {
    check(
        "class gpu
        slice s gpu/p all: gpu-[0-29] shared memory:1Gi/default=0; gpu-x model=t4
        claim a: r 6 gpu; q 2 gpu where model=t4",
        "try new-0 p m.x,m.y: a",
        &expect![[r#"
            new-0: found no devices for the ResourceClaims in 100000 tries: ask for fewer devices or select them more closely
        "#]],
    );
}

#[test]
fn what_was_found_before_a_search_is_too_long_counts() {
    check(
        "class gpu
        template p m.x gpu/gpus: gpu-y model=t4
        slice s gpu/p all: gpu-[0-29] shared memory:1Gi/default=0; gpu-x model=t4
        claim a: r 6 gpu; q 2 gpu where model=t4",
        "try new-0 p m.x,m.y: a",
        &expect![[r#"
            new-0: m.x (cut)
              a: r=gpu/p/gpu-0(memory=0) r=gpu/p/gpu-0(memory=0) r=gpu/p/gpu-0(memory=0) r=gpu/p/gpu-0(memory=0) r=gpu/p/gpu-0(memory=0) r=gpu/p/gpu-0(memory=0) q=gpu/p/gpu-x q=~gpu/gpus/gpu-y
        "#]],
    );
}

#[test]
fn without_a_type_there_is_no_search() {
    let facts = super::support::facts("class gpu\nclaim a: r 1 gpu");
    let devices = devices::Devices::new(&facts, &super::support::Words);
    let visit = super::support::visit("new-0 p m.x: a");
    let place = devices::DevicePlace { types: &[], ..visit.place() };
    let state = devices.begin(&devices::Leaving::default());
    let refusal = devices.allocate(&state, &place, &visit.claims).unwrap_err();
    assert_eq!(refusal, devices::DeviceRefusal::NoInstanceType);
}
