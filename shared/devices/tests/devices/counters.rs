//! Counters that devices of a pool share.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::expect;

use super::support::check;

const CARD: &str = "class gpu
    counters c gpu/p of=2: card.memory=16Gi card.units=4
    slice s gpu/p all of=2: whole model=whole -card.memory=16Gi -card.units=4; half-[0-1] model=half -card.memory=8Gi -card.units=2
    claim whole: r 1 gpu where model=whole
    claim half-a: r 1 gpu where model=half
    claim half-b: r 1 gpu where model=half
    claim any: r 1 gpu
    claim both: r 1 gpu where model=whole; q 1 gpu where model=half
    claim halves: r 2 gpu where model=half";

#[test]
fn partitions_share_what_a_card_has() {
    check(
        CARD,
        "new-0 p m.x: half-a
        try new-1 p m.x: whole
        new-1 p m.x: half-b
        try new-2 p m.x: any",
        &expect![[r#"
            new-0: m.x
              half-a: r=gpu/p/half-0
            new-1: ResourceClaim default/whole: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 2 not selected by `model=whole`, 1 without enough of shared counters
            new-1: m.x
              half-b: r=gpu/p/half-1
            new-2: ResourceClaim default/any: request r asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 2 allocated, 1 without enough of shared counters
        "#]],
    );
}

#[test]
fn a_claim_shares_counters_with_itself() {
    check(
        CARD,
        "try new-0 p m.x: both
        try new-0 p m.x: halves",
        &expect![[r#"
            new-0: ResourceClaim default/both: request q asks for 1 device of DeviceClass gpu, and m.x, which comes closest, has none: 1 not selected by `model=half`, 2 without enough of shared counters
            new-0: m.x
              halves: r=gpu/p/half-0 r=gpu/p/half-1
        "#]],
    );
}

#[test]
fn allocated_devices_consume_wherever_their_slices_are_seen() {
    check(
        "class gpu
        counters c gpu/p of=3: card.memory=16Gi
        slice s gpu/p zone=a of=3: half-a -card.memory=8Gi
        slice t gpu/p zone=b of=3: half-b -card.memory=8Gi; whole-b -card.memory=16Gi
        claim old has gpu/p/half-a for web
        claim two: r 2 gpu
        claim one: r 1 gpu",
        "try new-0 p m.x zone=b: two
        try new-0 p m.x zone=b: one",
        &expect![[r#"
            new-0: ResourceClaim default/two: request r asks for 2 devices of DeviceClass gpu, and m.x, which comes closest, has 1: 1 without enough of shared counters
            new-0: m.x if topology.kubernetes.io/zone In [b]
              one: r=gpu/p/half-b
        "#]],
    );
}

#[test]
fn a_spent_counter_of_one_card_leaves_other_cards_alone() {
    check(
        "class gpu
        counters c gpu/p of=2: card-0.units=1 card-1.units=1
        slice s gpu/p all of=2: a -card-0.units=1; b -card-1.units=1
        claim two: r 2 gpu",
        "new-0 p m.x: two",
        &expect![[r#"
            new-0: m.x
              two: r=gpu/p/a r=gpu/p/b
        "#]],
    );
}

#[test]
fn fractions_of_a_counter_add_up() {
    check(
        "class gpu
        counters c gpu/p of=2: card.units=1
        slice s gpu/p all of=2: part-[0-2] -card.units=400m
        claim two: r 2 gpu
        claim three: r 3 gpu",
        "try new-0 p m.x: three
        try new-0 p m.x: two",
        &expect![[r#"
            new-0: ResourceClaim default/three: request r asks for 3 devices of DeviceClass gpu, and m.x, which comes closest, has 2: 1 without enough of shared counters
            new-0: m.x
              two: r=gpu/p/part-0 r=gpu/p/part-1
        "#]],
    );
}

#[test]
fn counters_of_a_template_are_each_nodes_and_types_own() {
    check(
        "class gpu
        template p m.x gpu/gpus card.units=1: a -card.units=1; b -card.units=1
        template p m.y gpu/gpus card.units=2: a -card.units=1; b -card.units=1
        claim a: r 1 gpu
        claim b: r 1 gpu",
        "new-0 p m.x,m.y: a
        try new-1 p m.x,m.y: b
        new-0 p m.x,m.y: b",
        &expect![[r#"
            new-0: m.x m.y
              a: r=~gpu/gpus/a
            new-1: m.x m.y
              b: r=~gpu/gpus/a
            new-0: m.y
              b: r=~gpu/gpus/b
        "#]],
    );
}

#[test]
fn a_template_that_declares_no_counters_gives_no_device_that_consumes() {
    check(
        "class gpu
        template p m.x gpu/gpus: a -card.units=1; b
        claim a: r 1 gpu
        claim b: r 2 gpu",
        "try new-0 p m.x: a
        try new-0 p m.x: b",
        &expect![[r#"
            new-0: m.x
              a: r=~gpu/gpus/b
            new-0: ResourceClaim default/b: request r asks for 2 devices of DeviceClass gpu, and m.x, which comes closest, has 1: 1 without enough of shared counters
        "#]],
    );
}

#[test]
fn over_types_the_most_is_held_and_given_back_with_them() {
    check(
        "class gpu
        class small where model=half
        class large where model=whole
        counters c gpu/p of=2: card.units=4
        slice s gpu/p all of=2: whole model=whole link=#1 -card.units=4; half-[0-1] model=half link=#2 -card.units=2
        template p m.x net/own: nic link=#1 speed=#9
        template p m.y net/own: nic link=#2 speed=#9
        class nic where has speed
        claim a: r 1 large or 1 small; q 1 nic; same link
        claim b: r 1 small",
        "new-0 p m.x,m.y: a
        try new-1 p c.x: b
        keep new-0 m.y
        new-1 p c.x: b",
        &expect![[r#"
            new-0: m.x m.y
              a on m.x: r/a=gpu/p/whole q=~net/own/nic
              a on m.y: r/b=gpu/p/half-0 q=~net/own/nic
            new-1: ResourceClaim default/b: request r asks for 1 device of DeviceClass small, and c.x, which comes closest, has none: 1 allocated, 1 without enough of shared counters
            new-1: c.x
              b: r=gpu/p/half-1
        "#]],
    );
}
