//! Which pools count, and which of their devices a node reaches.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::expect;

use model::dynamic_resources::SliceDevice;

use super::support::{check, facts, played};

#[test]
fn only_slices_of_the_highest_generation_count() {
    check(
        "class gpu
        slice new gpu/p all gen=2: gpu-1
        slice old gpu/p all gen=1: gpu-0
        claim a: r 1 gpu
        claim b: r 1 gpu",
        "new-0 p m.x: a
        new-0 p m.x: b",
        &expect![[r#"
            new-0: m.x
              a: r=gpu/p/gpu-1
            new-0: ResourceClaim default/b: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 1 allocated
        "#]],
    );
}

#[test]
fn an_incomplete_pool_gives_no_device() {
    check(
        "class gpu
        slice a gpu/p all of=2: gpu-0
        slice b gpu/q all gen=3 of=2: gpu-0
        slice c gpu/q all gen=2: gpu-1
        claim a: r 1 gpu",
        "new-0 p m.x: a",
        &expect![[r#"
            new-0: ResourceClaim default/a: request r asks for 1 device of DeviceClass gpu, and no device of this class is known of any instance type that fits the pod; pool gpu/p is incomplete (1 of 2 ResourceSlices); pool gpu/q is incomplete (1 of 2 ResourceSlices)
        "#]],
    );
}

#[test]
fn slices_that_a_node_does_not_reach_complete_its_pool() {
    check(
        "class gpu
        slice a gpu/p zone=a of=2: gpu-0
        slice b gpu/p zone=b of=2: gpu-1
        claim a: r 1 gpu",
        "new-0 p m.x zone=b: a",
        &expect![[r#"
            new-0: m.x if topology.kubernetes.io/zone In [b]
              a: r=gpu/p/gpu-1
        "#]],
    );
}

#[test]
fn too_many_slices_are_no_complete_pool() {
    check(
        "class gpu
        slice a gpu/p all of=1: gpu-0
        slice b gpu/p all of=1: gpu-1
        claim a: r 1 gpu",
        "new-0 p m.x: a",
        &expect![[r#"
            new-0: ResourceClaim default/a: request r asks for 1 device of DeviceClass gpu, and no device of this class is known of any instance type that fits the pod; pool gpu/p is incomplete (2 of 1 ResourceSlices)
        "#]],
    );
}

#[test]
fn a_pool_is_invalid_if_a_name_is_there_twice() {
    check(
        "class gpu
        slice a gpu/p all of=2: gpu-0
        slice b gpu/p all of=2: gpu-0
        counters c gpu/q of=3: card.memory=1
        counters d gpu/q of=3: card.memory=1
        slice e gpu/q all of=3: gpu-0
        claim a: r 1 gpu",
        "new-0 p m.x: a",
        &expect![[r#"
            new-0: ResourceClaim default/a: request r asks for 1 device of DeviceClass gpu, and no device of this class is known of any instance type that fits the pod; pool gpu/p is invalid (device names and counter sets must be unique, and consumed counters must be declared); pool gpu/q is invalid (device names and counter sets must be unique, and consumed counters must be declared)
        "#]],
    );
}

#[test]
fn one_name_on_two_nodes_makes_no_pool_invalid() {
    check(
        "class gpu
        initialized node-a node-b
        slice a gpu/p node=node-a owner=node-a of=2: gpu-0
        slice b gpu/p node=node-b owner=node-b of=2: gpu-0
        claim a: r 1 gpu
        claim b: r 1 gpu",
        "node-a p m.x: a
        node-b p m.x: b",
        &expect![[r#"
            node-a: m.x
              a: r=gpu/p/gpu-0
            node-b: ResourceClaim default/b: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 1 allocated
        "#]],
    );
}

#[test]
fn a_pool_is_invalid_if_a_device_consumes_what_nothing_declares() {
    check(
        "class gpu
        counters c gpu/p of=2: card.memory=16Gi
        slice s gpu/p all of=2: gpu-0 -card.memory=1Gi; gpu-1 -card.slices=1
        counters d gpu/q of=3: card.memory=16Gi
        slice t gpu/q zone=a of=3: gpu-0 -card.memory=1Gi
        slice u gpu/q zone=b of=3: gpu-1 -chip.memory=1Gi
        claim a: r 1 gpu",
        "new-0 p m.x zone=a: a",
        &expect![[r#"
            new-0: ResourceClaim default/a: request r asks for 1 device of DeviceClass gpu, and no device of this class is known of any instance type that fits the pod; pool gpu/p is invalid (device names and counter sets must be unique, and consumed counters must be declared); pool gpu/q is invalid (device names and counter sets must be unique, and consumed counters must be declared)
        "#]],
    );
}

#[test]
fn a_slice_of_a_node_is_seen_there_only() {
    check(
        "class gpu
        initialized node-a
        slice a gpu/a node=node-a: gpu-0
        claim a: r 1 gpu",
        "try new-0 p m.x: a
        try node-b p m.x: a
        try node-a p m.x: a",
        &expect![[r#"
            new-0: ResourceClaim default/a: request r asks for 1 device of DeviceClass gpu, and no device of this class is known of any instance type that fits the pod
            node-b: ResourceClaim default/a: request r asks for 1 device of DeviceClass gpu, and no device of this class is known of any instance type that fits the pod
            node-a: m.x
              a: r=gpu/a/gpu-0
        "#]],
    );
}

#[test]
fn a_slice_with_a_selector_is_seen_where_any_term_matches() {
    check(
        "class nic
        slice a net/p rack=r1: nic-0
        claim a: r 1 nic",
        "try new-0 p m.x: a
        try new-0 p m.x rack=r2: a
        try new-0 p m.x rack=r1,r2: a",
        &expect![[r#"
            new-0: ResourceClaim default/a: request r asks for 1 device of DeviceClass nic, and no device of this class is known of any instance type that fits the pod
            new-0: ResourceClaim default/a: request r asks for 1 device of DeviceClass nic, and no device of this class is known of any instance type that fits the pod
            new-0: m.x if rack In [r1]
              a: r=net/p/nic-0
        "#]],
    );
}

#[test]
fn devices_that_select_nodes_one_by_one_are_seen_nowhere() {
    check(
        "class gpu
        slice a gpu/p per-device: gpu-0
        claim a: r 1 gpu",
        "new-0 p m.x: a",
        &expect![[r#"
            new-0: ResourceClaim default/a: request r asks for 1 device of DeviceClass gpu, and no device of this class is known of any instance type that fits the pod
        "#]],
    );
}

#[test]
fn devices_of_a_slice_with_counters_do_not_count() {
    let mut facts = facts(
        "class gpu
        counters c gpu/p: card.memory=16Gi
        claim a: r 1 gpu",
    );
    let device = SliceDevice { name: "gpu-0".into(), ..SliceDevice::default() };
    facts.slices[0].devices.push(device);
    expect![[r#"
        new-0: ResourceClaim default/a: request r asks for 1 device of DeviceClass gpu, and no device of this class is known of any instance type that fits the pod
    "#]]
    .assert_eq(&played(&facts, "new-0 p m.x: a"));
}

#[test]
fn what_a_device_asks_of_the_node_is_added_and_narrows_the_rest() {
    check(
        "class nic
        slice a net/a zone=a: nic-0
        slice b net/b zone=b: nic-0
        slice c net/c zone=b: nic-0
        claim one: r 1 nic
        claim two: r 2 nic",
        "try new-0 p m.x zone=a,b: one
        try new-0 p m.x zone=a,b: two
        try new-0 p m.x: two
        try new-0 p m.x zone=a: two",
        &expect![[r#"
            new-0: m.x if topology.kubernetes.io/zone In [a]
              one: r=net/a/nic-0
            new-0: m.x if topology.kubernetes.io/zone In [b]
              two: r=net/b/nic-0 r=net/c/nic-0
            new-0: m.x if topology.kubernetes.io/zone In [b]
              two: r=net/b/nic-0 r=net/c/nic-0
            new-0: ResourceClaim default/two: request r asks for 2 devices of DeviceClass nic, and m.x, which comes closest, has 1
        "#]],
    );
}
