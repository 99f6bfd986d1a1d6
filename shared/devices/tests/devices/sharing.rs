//! Devices that several claims share.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::expect;

use super::support::check;

#[test]
fn a_shared_device_is_taken_as_far_as_its_capacity_goes() {
    check(
        "class gpu
        slice s gpu/p all: gpu-0 shared memory:16Gi
        claim a: r 1 gpu with memory=10Gi
        claim b: r 1 gpu with memory=6Gi
        claim c: r 1 gpu with memory=1",
        "new-0 p m.x: a
        new-1 p m.x: b
        new-2 p m.x: c",
        &expect![[r#"
            new-0: m.x
              a: r=gpu/p/gpu-0(memory=10737418240)
            new-1: m.x
              b: r=gpu/p/gpu-0(memory=6442450944)
            new-2: ResourceClaim default/c: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 1 without enough capacity
        "#]],
    );
}

#[test]
fn a_request_may_take_one_shared_device_several_times() {
    check(
        "class gpu
        slice s gpu/p all: gpu-0 shared memory:16Gi
        claim a: r 2 gpu with memory=6Gi; q 1 gpu with memory=4Gi",
        "new-0 p m.x: a",
        &expect![[r#"
            new-0: m.x
              a: r=gpu/p/gpu-0(memory=6442450944) r=gpu/p/gpu-0(memory=6442450944) q=gpu/p/gpu-0(memory=4294967296)
        "#]],
    );
}

#[test]
fn a_capacity_that_the_device_lacks_is_a_refusal() {
    check(
        "class gpu
        slice s gpu/p all: gpu-0 shared memory:16Gi; gpu-1 shared
        claim a: r 1 gpu with cores=1
        claim b: r 2 gpu",
        "new-0 p m.x: a
        new-0 p m.x: b",
        &expect![[r#"
            new-0: ResourceClaim default/a: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 2 without enough capacity
            new-0: m.x
              b: r=gpu/p/gpu-0(memory=17179869184) r=gpu/p/gpu-1()
        "#]],
    );
}

#[test]
fn a_capacity_that_is_left_out_is_the_default_or_all() {
    check(
        "class gpu
        slice s gpu/p all: gpu-0 shared memory:16Gi cores:8/default=2
        claim a: r 1 gpu with memory=1Gi
        claim b: r 1 gpu with cores=1",
        "try new-0 p m.x: a
        try new-0 p m.x: b",
        &expect![[r#"
            new-0: m.x
              a: r=gpu/p/gpu-0(cores=2 memory=1073741824)
            new-0: m.x
              b: r=gpu/p/gpu-0(cores=1 memory=17179869184)
        "#]],
    );
}

#[test]
fn a_share_is_rounded_up_to_a_step_of_the_range() {
    check(
        "class gpu
        slice s gpu/p all: gpu-0 shared memory:32Gi/default=4Gi/min=2Gi/step=3Gi/max=11Gi
        claim a: r 1 gpu with memory=1Gi
        claim b: r 1 gpu with memory=3Gi
        claim c: r 1 gpu with memory=11Gi
        claim d: r 1 gpu with memory=12Gi
        claim e: r 1 gpu",
        "try new-0 p m.x: a
        try new-0 p m.x: b
        try new-0 p m.x: c
        try new-0 p m.x: d
        try new-0 p m.x: e",
        &expect![[r#"
            new-0: m.x
              a: r=gpu/p/gpu-0(memory=2147483648)
            new-0: m.x
              b: r=gpu/p/gpu-0(memory=5368709120)
            new-0: m.x
              c: r=gpu/p/gpu-0(memory=11811160064)
            new-0: ResourceClaim default/d: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 1 without enough capacity
            new-0: m.x
              e: r=gpu/p/gpu-0(memory=4294967296)
        "#]],
    );
}

#[test]
fn a_share_is_rounded_up_to_the_next_of_the_values() {
    check(
        "class gpu
        slice s gpu/p all: gpu-0 shared memory:32Gi/values=4Gi|8Gi
        claim a: r 1 gpu with memory=1Gi
        claim b: r 1 gpu with memory=5Gi
        claim c: r 1 gpu with memory=9Gi
        claim d: r 1 gpu",
        "try new-0 p m.x: a
        try new-0 p m.x: b
        try new-0 p m.x: c
        try new-0 p m.x: d",
        &expect![[r#"
            new-0: m.x
              a: r=gpu/p/gpu-0(memory=4294967296)
            new-0: m.x
              b: r=gpu/p/gpu-0(memory=8589934592)
            new-0: ResourceClaim default/c: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 1 without enough capacity
            new-0: ResourceClaim default/d: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 1 without enough capacity
        "#]],
    );
}

#[test]
fn a_step_of_nothing_is_a_refusal() {
    check(
        "class gpu
        slice s gpu/p all: gpu-0 shared memory:32Gi/min=2Gi/step=0
        claim a: r 1 gpu with memory=3Gi",
        "new-0 p m.x: a",
        &expect![[r#"
            new-0: ResourceClaim default/a: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 1 without enough capacity
        "#]],
    );
}

#[test]
fn a_shared_device_without_capacity_is_shared_without_end() {
    check(
        "class gpu
        slice s gpu/p all: gpu-0 shared
        claim old has gpu/p/gpu-0 for web
        claim a: r 2 gpu
        claim b: r 1 gpu",
        "new-0 p m.x: a
        new-1 p m.x: b",
        &expect![[r#"
            new-0: m.x
              a: r=gpu/p/gpu-0() r=gpu/p/gpu-0()
            new-1: m.x
              b: r=gpu/p/gpu-0()
        "#]],
    );
}

#[test]
fn of_shares_of_a_template_each_type_has_its_own() {
    check(
        "class gpu
        template p m.x gpu/gpus: gpu-0 shared memory:16Gi
        template p m.y gpu/gpus: gpu-0 shared memory:32Gi
        claim a: r 1 gpu with memory=12Gi
        claim b: r 1 gpu with memory=12Gi",
        "new-0 p m.x,m.y: a
        new-0 p m.x,m.y: b
        new-1 p m.x,m.y: b",
        &expect![[r#"
            new-0: m.x m.y
              a: r=~gpu/gpus/gpu-0(memory=12884901888)
            new-0: m.y
              b: r=~gpu/gpus/gpu-0(memory=12884901888)
            new-1: ResourceClaim default/b has devices of another node
        "#]],
    );
}

#[test]
fn the_largest_share_over_types_is_held_until_its_type_falls_out() {
    check(
        "class gpu
        class any
        slice s gpu/p all: gpu-0 model=s shared memory:16Gi
        template p m.x gpu/gpus: own model=s
        template p m.y gpu/gpus: own model=t
        claim a: r 1 any with memory=12Gi where memory>=1; q 1 any where model=s or 1 any with memory=4Gi where memory>=1
        claim b: r 1 gpu with memory=4Gi where memory>=1",
        "new-0 p m.x,m.y: a
        try new-1 p m.x: b
        keep new-0 m.x
        try new-1 p m.x: b",
        &expect![[r#"
            new-0: m.x m.y
              a on m.x: r=gpu/p/gpu-0(memory=12884901888) q/a=~gpu/gpus/own
              a on m.y: r=gpu/p/gpu-0(memory=12884901888) q/b=gpu/p/gpu-0(memory=4294967296)
            new-1: ResourceClaim default/b: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 1 not selected by `memory>=1`, 1 without enough capacity
            new-1: m.x
              b: r=gpu/p/gpu-0(memory=4294967296)
        "#]],
    );
}

#[test]
fn of_the_types_of_a_node_only_one_takes_its_share() {
    check(
        "class gpu
        slice s gpu/p all: gpu-0 shared memory:16Gi
        counters c net/q of=2: card.units=4
        slice t net/q all of=2: nic-[0-1] model=nic -card.units=2
        claim a: r 1 gpu with memory=6Gi where memory>=1; q 1 gpu where model=nic
        claim b: r 1 gpu with memory=10Gi where memory>=1; q 1 gpu where model=nic",
        "new-0 p m.x,m.y,c.x: a
        new-1 p m.x,m.y,c.x: b",
        &expect![[r#"
            new-0: m.x m.y c.x
              a: r=gpu/p/gpu-0(memory=6442450944) q=net/q/nic-0
            new-1: m.x m.y c.x
              b: r=gpu/p/gpu-0(memory=10737418240) q=net/q/nic-1
        "#]],
    );
}
