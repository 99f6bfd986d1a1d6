//! Which device is missing, in words.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::expect;

use super::support::check;

#[test]
fn a_shortage_says_what_became_of_the_other_devices() {
    check(
        "class gpu where has model
        initialized node-a
        slice s gpu/p all: a model=t4; b model=l4 numa=#1; c model=l4 numa=#0; d model=l4 numa=#0; e; f model=l4 numa=#0 shared
        slice t gpu/q all of=2: a model=l4
        slice u gpu/r zone=b: a model=l4 numa=#0
        slice v gpu/s zone=c: a model=l4 numa=#0
        claim old has gpu/p/c for web
        claim new: z 1 gpu where model=t4; r 4 gpu with memory=1Gi where model=l4; same numa of r",
        "new-0 p m.x zone=b,c: new",
        &expect![[r#"
            new-0: ResourceClaim default/new: request r asks for 4 devices of DeviceClass gpu, and m.x, which comes closest, has 2: 1 not selected by `model=l4`, 1 allocated, 1 without enough capacity, 1 with another numa or none, 1 out of reach; pool gpu/q is incomplete (1 of 2 ResourceSlices)
        "#]],
    );
}

#[test]
fn the_type_that_came_furthest_is_named() {
    check(
        "class gpu
        template p m.x gpu/gpus: a
        template p m.y gpu/gpus: a; b; c
        template p c.x gpu/gpus: a; b
        claim a: r 4 gpu",
        "new-0 p m.x,m.y,c.x,c.y: a",
        &expect![[r#"
            new-0: ResourceClaim default/a: request r asks for 4 devices of DeviceClass gpu, and m.y, which comes closest, has 3
        "#]],
    );
}

#[test]
fn counters_are_named() {
    check(
        "class gpu
        counters c gpu/p of=2: card.units=1
        slice s gpu/p all of=2: a -card.units=1; b -card.units=1
        claim a: r 2 gpu",
        "new-0 p m.x: a",
        &expect![[r#"
            new-0: ResourceClaim default/a: request r asks for 2 devices of DeviceClass gpu, and m.x, which comes closest, has 1: 1 without enough of shared counters
        "#]],
    );
}
