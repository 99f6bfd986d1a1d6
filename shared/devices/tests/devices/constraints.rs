//! What devices of a claim have in common.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::expect;

use super::support::check;

#[test]
fn the_first_device_pins_the_value() {
    check(
        "class gpu
        slice s gpu/p all: a numa=#0; b numa=#1; c numa=#1
        claim two: r 2 gpu; same numa
        claim three: r 3 gpu; same numa",
        "try new-0 p m.x: two
        try new-0 p m.x: three",
        &expect![[r#"
            new-0: m.x
              two: r=gpu/p/b r=gpu/p/c
            new-0: ResourceClaim default/three: request r asks for 3 devices of DeviceClass gpu, and m.x, which comes closest, has 2: 1 with another numa or none
        "#]],
    );
}

#[test]
fn values_of_two_types_differ() {
    check(
        "class gpu
        slice s gpu/p all: a x=1; b x=#1; c x=@1
        claim a: r 2 gpu; same x",
        "new-0 p m.x: a",
        &expect![[r#"
            new-0: ResourceClaim default/a: request r asks for 2 devices of DeviceClass gpu, and m.x, which comes closest, has 1: 2 with another x or none
        "#]],
    );
}

#[test]
fn a_name_without_domain_is_in_the_drivers_own() {
    check(
        "class gpu
        slice s gpu.example.com/p all: a numa=#0
        slice t net.example.com/p all: b gpu.example.com/numa=#0; c numa=#0
        claim a: r 2 gpu; same gpu.example.com/numa
        claim b: r 1 gpu where has numa; q 1 gpu; same numa",
        "try new-0 p m.x: a
        try new-0 p m.x: b",
        &expect![[r#"
            new-0: m.x
              a: r=gpu.example.com/p/a r=net.example.com/p/b
            new-0: m.x
              b: r=gpu.example.com/p/a q=net.example.com/p/c
        "#]],
    );
}

#[test]
fn a_constraint_is_about_requests_or_their_alternatives() {
    check(
        "class gpu where model=gpu
        class nic where model=nic
        slice s gpu/p all: a model=gpu numa=#0; b model=gpu numa=#1; c model=nic numa=#1; d model=nic numa=#2
        claim all: g 1 gpu; n 2 nic; same numa
        claim parent: g 1 gpu or 2 gpu; n 1 nic; same numa of g n
        claim alternative: g 1 gpu or 2 gpu; n 1 nic; same numa of g/b n",
        "try new-0 p m.x: all
        try new-0 p m.x: parent
        try new-0 p m.x: alternative",
        &expect![[r#"
            new-0: ResourceClaim default/all: request n asks for 2 devices of DeviceClass nic, and m.x, which comes closest, has 1: 1 with another numa or none
            new-0: m.x
              parent: g/a=gpu/p/b n=gpu/p/c
            new-0: m.x
              alternative: g/a=gpu/p/a n=gpu/p/c
        "#]],
    );
}

#[test]
fn constraints_hold_together() {
    check(
        "class gpu
        slice s gpu/p all: a numa=#0 model=t4; b numa=#0 model=l4; c numa=#1 model=t4; d numa=#1 model=t4
        claim a: r 2 gpu; same numa; same model",
        "new-0 p m.x: a",
        &expect![[r#"
            new-0: m.x
              a: r=gpu/p/c r=gpu/p/d
        "#]],
    );
}

#[test]
fn devices_of_a_template_may_be_bound_instead() {
    check(
        "class gpu
        template p m.x gpu/gpus: a; b; c; d
        bind p m.x pcie gpu/gpus/a gpu/gpus/b
        bind p m.x pcie gpu/gpus/b gpu/gpus/c
        bind p m.x pcie gpu/gpus/d
        template q m.x gpu/gpus: a; b; c; d
        claim three: r 3 gpu; same pcie
        claim four: r 4 gpu; same pcie
        claim other: r 2 gpu; same numa",
        "try new-0 p m.x: three
        try new-0 p m.x: four
        try new-0 p m.x: other
        try new-0 q m.x: three",
        &expect![[r#"
            new-0: m.x
              three: r=~gpu/gpus/a r=~gpu/gpus/b r=~gpu/gpus/c
            new-0: ResourceClaim default/four: request r asks for 4 devices of DeviceClass gpu, and m.x, which comes closest, has 3: 1 with another pcie or none
            new-0: ResourceClaim default/other: request r asks for 2 devices of DeviceClass gpu, and m.x, which comes closest, has none: 4 with another numa or none
            new-0: ResourceClaim default/three: request r asks for 3 devices of DeviceClass gpu, and m.x, which comes closest, has none: 4 with another pcie or none
        "#]],
    );
}

#[test]
fn bindings_and_values_never_mix() {
    check(
        "class gpu
        template p m.x gpu/gpus: a pcie=r1; b; c; d pcie=r1
        bind p m.x pcie gpu/gpus/a gpu/gpus/b gpu/gpus/c
        claim two: r 2 gpu; same pcie
        claim three: r 3 gpu; same pcie
        claim bound: r 1 gpu; q 1 gpu where has pcie; same pcie",
        "try new-0 p m.x: two
        try new-0 p m.x: three
        try new-0 p m.x: bound",
        &expect![[r#"
            new-0: m.x
              two: r=~gpu/gpus/a r=~gpu/gpus/d
            new-0: ResourceClaim default/three: request r asks for 3 devices of DeviceClass gpu, and m.x, which comes closest, has 2: 2 with another pcie or none
            new-0: m.x
              bound: r=~gpu/gpus/a q=~gpu/gpus/d
        "#]],
    );
}

#[test]
fn a_type_knows_nothing_of_what_the_type_before_it_pinned() {
    check(
        "class gpu
        template p m.x gpu/gpus: [0-1] numa=#0
        template p m.y gpu/gpus: [0-1] numa=#1
        claim a: r 2 gpu; same numa",
        "new-0 p m.x,m.y: a",
        &expect![[r#"
            new-0: m.x m.y
              a: r=~gpu/gpus/0 r=~gpu/gpus/1
        "#]],
    );
}
