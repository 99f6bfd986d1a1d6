//! Classes, selectors and how many devices a claim asks for.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::expect;

use super::support::check;

#[test]
fn a_class_must_exist() {
    check(
        "slice s gpu/p all: gpu-0
        claim a: r 1 gpu
        claim b: r 1 gpu or 1 nic",
        "new-0 p m.x: a
        new-0 p m.x: b",
        &expect![[r#"
            new-0: ResourceClaim default/a: request r: DeviceClass gpu does not exist
            new-0: ResourceClaim default/b: request r/a: DeviceClass gpu does not exist
        "#]],
    );
}

#[test]
fn selectors_of_class_and_request_must_all_select() {
    check(
        "class gpu where has model
        slice s gpu/p all: gpu-0 memory:80Gi; gpu-1 model=t4 memory:16Gi; gpu-2 model=h100 memory:80Gi
        claim a: r 1 gpu where memory>=40Gi
        claim b: r 1 gpu where memory>=40Gi and model=t4",
        "new-0 p m.x: a
        new-0 p m.x: b",
        &expect![[r#"
            new-0: m.x
              a: r=gpu/p/gpu-2
            new-0: ResourceClaim default/b: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 1 not selected by `memory>=40Gi`, 1 not selected by `model=t4`
        "#]],
    );
}

#[test]
fn an_expression_that_does_not_compile_fails_the_claim() {
    check(
        "class gpu
        class odd where unknown-selector
        slice s gpu/p all: gpu-0
        claim a: r 1 gpu where broken
        claim b: r 1 gpu or 1 gpu where broken
        claim c: r 1 odd",
        "new-0 p m.x: a
        new-0 p m.x: b
        new-0 p m.x: c",
        &expect![[r#"
            new-0: ResourceClaim default/a: request r: selector `broken` does not compile: a word is missing
            new-0: ResourceClaim default/b: request r/b: selector `broken` does not compile: a word is missing
            new-0: ResourceClaim default/c: request r: only CEL selectors are supported
        "#]],
    );
}

#[test]
fn an_expression_that_fails_for_a_device_selects_it_not() {
    check(
        "class gpu
        slice s gpu/p all: gpu-0; gpu-1 model=t4
        claim a: r 1 gpu where model=t4",
        "new-0 p m.x: a",
        &expect![[r#"
            new-0: m.x
              a: r=gpu/p/gpu-1
        "#]],
    );
}

#[test]
fn an_expression_that_fails_for_a_device_fails_a_claim_for_all() {
    check(
        "class gpu
        slice s gpu/p all: gpu-0 model=t4; gpu-1
        template p m.x gpu/gpus: gpu-0
        claim a: r all gpu where model=t4
        claim b: r all gpu where has model and model=t4",
        "try new-0 p m.x: a
        try new-0 p m.x: b",
        &expect![[r#"
            new-0: ResourceClaim default/a: request r: selector `model=t4` failed for device gpu/p/gpu-1: no such key: model
            new-0: m.x
              b: r=gpu/p/gpu-0
        "#]],
    );
}

#[test]
fn other_constraints_and_requests_fail_the_claim() {
    check(
        "class gpu
        slice s gpu/p all: gpu-0
        claim a: r 1 gpu; constraint distinctAttribute
        claim b: r",
        "new-0 p m.x: a
        new-0 p m.x: b",
        &expect![[r#"
            new-0: ResourceClaim default/a: constraint distinctAttribute is not supported: only matchAttribute is
            new-0: ResourceClaim default/b: request r: only `exactly` and `firstAvailable` are supported
        "#]],
    );
}

#[test]
fn a_claim_gets_32_devices_at_most() {
    check(
        "class gpu
        slice s gpu/p all: gpu-[0-39]
        claim most: r 31 gpu; q 1 gpu
        claim more: r 31 gpu; q 2 gpu
        claim all: r all gpu",
        "try new-0 p m.x: more
        try new-0 p m.x: all
        try new-0 p m.x: most",
        &expect![[r#"
            new-0: ResourceClaim default/more: 33 devices are more than 32, the maximum of a ResourceClaim
            new-0: ResourceClaim default/all: 40 devices are more than 32, the maximum of a ResourceClaim
            new-0: m.x
              most: r=gpu/p/gpu-0 r=gpu/p/gpu-1 r=gpu/p/gpu-2 r=gpu/p/gpu-3 r=gpu/p/gpu-4 r=gpu/p/gpu-5 r=gpu/p/gpu-6 r=gpu/p/gpu-7 r=gpu/p/gpu-8 r=gpu/p/gpu-9 r=gpu/p/gpu-10 r=gpu/p/gpu-11 r=gpu/p/gpu-12 r=gpu/p/gpu-13 r=gpu/p/gpu-14 r=gpu/p/gpu-15 r=gpu/p/gpu-16 r=gpu/p/gpu-17 r=gpu/p/gpu-18 r=gpu/p/gpu-19 r=gpu/p/gpu-20 r=gpu/p/gpu-21 r=gpu/p/gpu-22 r=gpu/p/gpu-23 r=gpu/p/gpu-24 r=gpu/p/gpu-25 r=gpu/p/gpu-26 r=gpu/p/gpu-27 r=gpu/p/gpu-28 r=gpu/p/gpu-29 r=gpu/p/gpu-30 q=gpu/p/gpu-31
        "#]],
    );
}

#[test]
fn of_alternatives_the_smallest_counts_before_the_search_and_each_in_it() {
    check(
        "class gpu
        slice s gpu/p all: gpu-[0-39]
        claim a: r 30 gpu; q 4 gpu or 2 gpu
        claim b: r 30 gpu; q 4 gpu or 3 gpu",
        "try new-0 p m.x: a
        try new-0 p m.x: b",
        &expect![[r#"
            new-0: m.x
              a: r=gpu/p/gpu-0 r=gpu/p/gpu-1 r=gpu/p/gpu-2 r=gpu/p/gpu-3 r=gpu/p/gpu-4 r=gpu/p/gpu-5 r=gpu/p/gpu-6 r=gpu/p/gpu-7 r=gpu/p/gpu-8 r=gpu/p/gpu-9 r=gpu/p/gpu-10 r=gpu/p/gpu-11 r=gpu/p/gpu-12 r=gpu/p/gpu-13 r=gpu/p/gpu-14 r=gpu/p/gpu-15 r=gpu/p/gpu-16 r=gpu/p/gpu-17 r=gpu/p/gpu-18 r=gpu/p/gpu-19 r=gpu/p/gpu-20 r=gpu/p/gpu-21 r=gpu/p/gpu-22 r=gpu/p/gpu-23 r=gpu/p/gpu-24 r=gpu/p/gpu-25 r=gpu/p/gpu-26 r=gpu/p/gpu-27 r=gpu/p/gpu-28 r=gpu/p/gpu-29 q/b=gpu/p/gpu-30 q/b=gpu/p/gpu-31
            new-0: ResourceClaim default/b: 33 devices are more than 32, the maximum of a ResourceClaim
        "#]],
    );
}

#[test]
fn a_type_with_too_many_devices_is_left_out() {
    check(
        "class gpu
        slice s gpu/p all: gpu-[0-1]
        template p m.x gpu/gpus: gpu-[0-29]
        template p m.y gpu/gpus: gpu-[0-30]
        claim a: r all gpu",
        "try new-0 p m.x,m.y: a
        try new-0 p m.y: a",
        &expect![[r#"
            new-0: m.x
              a: r=gpu/p/gpu-0 r=gpu/p/gpu-1 r=~gpu/gpus/gpu-0 r=~gpu/gpus/gpu-1 r=~gpu/gpus/gpu-2 r=~gpu/gpus/gpu-3 r=~gpu/gpus/gpu-4 r=~gpu/gpus/gpu-5 r=~gpu/gpus/gpu-6 r=~gpu/gpus/gpu-7 r=~gpu/gpus/gpu-8 r=~gpu/gpus/gpu-9 r=~gpu/gpus/gpu-10 r=~gpu/gpus/gpu-11 r=~gpu/gpus/gpu-12 r=~gpu/gpus/gpu-13 r=~gpu/gpus/gpu-14 r=~gpu/gpus/gpu-15 r=~gpu/gpus/gpu-16 r=~gpu/gpus/gpu-17 r=~gpu/gpus/gpu-18 r=~gpu/gpus/gpu-19 r=~gpu/gpus/gpu-20 r=~gpu/gpus/gpu-21 r=~gpu/gpus/gpu-22 r=~gpu/gpus/gpu-23 r=~gpu/gpus/gpu-24 r=~gpu/gpus/gpu-25 r=~gpu/gpus/gpu-26 r=~gpu/gpus/gpu-27 r=~gpu/gpus/gpu-28 r=~gpu/gpus/gpu-29
            new-0: ResourceClaim default/a: request r asks for all devices of DeviceClass gpu, and m.y, which comes closest, has some that the claim cannot get: 33 above 32, the maximum of a ResourceClaim
        "#]],
    );
}

#[test]
fn a_claim_for_all_gets_published_devices_and_those_of_the_type() {
    check(
        "class gpu where has model
        slice s gpu/p all: gpu-0 model=t4; nic-0
        template p m.x gpu/gpus: gpu-[0-1] model=t4; nic-0
        template p m.y gpu/gpus: nic-0
        claim a: r all gpu",
        "new-0 p m.x,m.y,c.x: a",
        &expect![[r#"
            new-0: m.x m.y c.x
              a on c.x m.y: r=gpu/p/gpu-0
              a on m.x: r=gpu/p/gpu-0 r=~gpu/gpus/gpu-0 r=~gpu/gpus/gpu-1
        "#]],
    );
}

#[test]
fn a_claim_for_all_gets_all_or_nothing() {
    check(
        "class gpu
        slice s gpu/p all: gpu-[0-2]
        claim one: r 1 gpu
        claim all: r all gpu",
        "new-0 p m.x: one
        new-1 p m.x: all",
        &expect![[r#"
            new-0: m.x
              one: r=gpu/p/gpu-0
            new-1: ResourceClaim default/all: request r asks for all devices of DeviceClass gpu, and m.x, which comes closest, has some that the claim cannot get: 1 allocated
        "#]],
    );
}

#[test]
fn a_claim_for_all_of_nothing_fails() {
    check(
        "class gpu where has model
        slice s gpu/p all: gpu-0
        claim a: r all gpu
        claim b: r all gpu or 1 nic
        class nic",
        "try new-0 p m.x: a
        try new-0 p m.x: b",
        &expect![[r#"
            new-0: ResourceClaim default/a: request r asks for all devices of DeviceClass gpu, and m.x, which comes closest, has none: 1 not selected
            new-0: m.x
              b: r/b=gpu/p/gpu-0
        "#]],
    );
}

#[test]
fn a_claim_for_all_waits_for_every_pool_that_the_node_sees() {
    check(
        "class gpu
        slice a gpu/p all: gpu-0
        slice b net/q zone=b of=2: nic-0
        slice c net/r node=node-c of=2: nic-0
        claim a: r all gpu",
        "try new-0 p m.x zone=a: a
        try new-0 p m.x zone=b: a
        try node-c p m.x zone=a: a",
        &expect![[r#"
            new-0: m.x
              a: r=gpu/p/gpu-0
            new-0: ResourceClaim default/a: request r is for all devices, but pool net/q is incomplete (1 of 2 ResourceSlices)
            node-c: ResourceClaim default/a: request r is for all devices, but pool net/r is incomplete (1 of 2 ResourceSlices)
        "#]],
    );
}

#[test]
fn every_node_sees_a_pool_with_counters() {
    check(
        "class gpu
        slice a gpu/p all: gpu-0
        counters b net/q of=3: card.memory=1
        slice c net/q node=node-c of=3: nic-0
        claim a: r all gpu
        claim b: r 1 gpu",
        "try new-0 p m.x: a
        try new-0 p m.x: b",
        &expect![[r#"
            new-0: ResourceClaim default/a: request r is for all devices, but pool net/q is incomplete (2 of 3 ResourceSlices)
            new-0: m.x
              b: r=gpu/p/gpu-0
        "#]],
    );
}
