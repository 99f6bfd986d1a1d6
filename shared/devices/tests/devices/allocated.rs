//! What the cluster has allocated already, and what leaving pods and nodes free.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::expect;

use super::support::check;

#[test]
fn a_device_of_an_allocated_claim_is_taken() {
    check(
        "class gpu
        slice s gpu/p all: gpu-[0-1]
        claim old has gpu/p/gpu-0 for web
        claim new: r 1 gpu
        claim more: r 1 gpu",
        "new-0 p m.x: new
        new-0 p m.x: more",
        &expect![[r#"
            new-0: m.x
              new: r=gpu/p/gpu-1
            new-0: ResourceClaim default/more: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 2 allocated
        "#]],
    );
}

#[test]
fn a_device_is_free_when_all_of_its_pods_leave() {
    check(
        "class gpu
        slice s gpu/p all: gpu-0
        claim old has gpu/p/gpu-0 for web-1 web-2: r 1 gpu
        claim new: r 1 gpu",
        "leaving pods=web-1
        try new-0 p m.x: new
        leaving pods=web-1,web-2
        try new-0 p m.x: new",
        &expect![[r#"
            new-0: ResourceClaim default/new: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 1 allocated
            new-0: m.x
              new: r=gpu/p/gpu-0
        "#]],
    );
}

#[test]
fn a_claim_of_leaving_pods_is_allocated_anew_and_once() {
    check(
        "class gpu
        slice s gpu/p all: gpu-0
        claim old has gpu/p/gpu-0 on zone=a for web: r 1 gpu",
        "leaving pods=web
        new-0 p m.x zone=b: old
        new-1 p m.x zone=b: old",
        &expect![[r#"
            new-0: m.x
              old: r=gpu/p/gpu-0
            new-1: m.x
        "#]],
    );
}

#[test]
fn what_another_object_or_nothing_has_reserved_stays() {
    check(
        "class gpu
        slice s gpu/p all: gpu-[0-1]
        claim of-another has gpu/p/gpu-0 for web other
        claim of-nothing has gpu/p/gpu-1
        claim new: r 1 gpu",
        "leaving pods=web
        new-0 p m.x: new",
        &expect![[r#"
            new-0: ResourceClaim default/new: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 2 allocated
        "#]],
    );
}

#[test]
fn shares_of_leaving_pods_are_free() {
    check(
        "class gpu
        slice s gpu/p all: gpu-0 shared memory:16Gi
        claim web has gpu/p/gpu-0@memory=8Gi for web
        claim db has gpu/p/gpu-0@memory=4Gi for db
        claim new: r 1 gpu with memory=10Gi",
        "try new-0 p m.x: new
        leaving pods=db
        try new-0 p m.x: new
        leaving pods=web
        try new-0 p m.x: new",
        &expect![[r#"
            new-0: ResourceClaim default/new: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 1 without enough capacity
            new-0: ResourceClaim default/new: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 1 without enough capacity
            new-0: m.x
              new: r=gpu/p/gpu-0(memory=10737418240)
        "#]],
    );
}

#[test]
fn slices_of_a_node_count_only_while_it_is_initialized_and_stays() {
    check(
        "class gpu
        initialized node-a
        slice a gpu/a node=node-a owner=node-a: gpu-0
        slice b gpu/b node=node-b owner=node-b: gpu-0
        template p m.x gpu/gpus: gpu-0
        claim new: r 1 gpu",
        "try node-a p m.x: new
        try node-b p m.x: new
        try node-b p m.x fresh: new
        leaving nodes=node-a
        try node-a p m.x: new",
        &expect![[r#"
            node-a: m.x
              new: r=gpu/a/gpu-0
            node-b: ResourceClaim default/new: request r asks for 1 device of DeviceClass gpu, and no device of this class is known of any instance type that fits the pod
            node-b: m.x
              new: r=~gpu/gpus/gpu-0
            node-a: ResourceClaim default/new: request r asks for 1 device of DeviceClass gpu, and no device of this class is known of any instance type that fits the pod
        "#]],
    );
}

#[test]
fn the_slices_of_a_leaving_node_are_missed_in_its_pool() {
    check(
        "class gpu
        initialized node-a
        slice a gpu/p all owner=node-a of=2: gpu-0
        slice b gpu/p all of=2: gpu-1
        claim new: r 1 gpu",
        "try new-0 p m.x: new
        leaving nodes=node-a
        try new-0 p m.x: new",
        &expect![[r#"
            new-0: m.x
              new: r=gpu/p/gpu-0
            new-0: ResourceClaim default/new: request r asks for 1 device of DeviceClass gpu, and no device of this class is known of any instance type that fits the pod; pool gpu/p is incomplete (1 of 2 ResourceSlices)
        "#]],
    );
}

#[test]
fn counters_of_a_freed_device_are_free() {
    check(
        "class gpu
        counters c gpu/p of=2: card.memory=16Gi
        slice s gpu/p all of=2: whole -card.memory=16Gi; half-[0-1] -card.memory=8Gi
        claim old has gpu/p/half-0 for web
        claim new: r 1 gpu",
        "try new-0 p m.x: new
        leaving pods=web
        try new-0 p m.x: new",
        &expect![[r#"
            new-0: m.x
              new: r=gpu/p/half-1
            new-0: m.x
              new: r=gpu/p/whole
        "#]],
    );
}
