//! Each filter by itself: what stays of a catalog for a claim.

use expect_test::{Expect, expect};
use model::{NodeClaim, Requirement, node_class::ImageFamily};

use super::*;
use crate::testing::{catalog, claim, class, instance_type, now, requirement, resources, wrapped};

const BOTH: &str = "paid=on-demand,spot";
const LARGE: &str = "m7i.large amd64 2 8Gi 29 0.10 0.04";
const XLARGE: &str = "m7i.xlarge amd64 4 16Gi 58 0.20 0.08";
const ARM: &str = "m7g.large arm64 2 8Gi 29 0.08 0.03";
const METAL: &str = "m7i.metal-24xl amd64 96 384Gi 737 0.01 0.01";
const GPU: &str = "g5.xlarge amd64 4 16Gi 58 0.02 0.01 nvidia.com/gpu=1";

#[track_caller]
fn check_claim(types: &[&str], claim: &NodeClaim, expected: &Expect) {
    let catalog = catalog(types);
    let types = crate::offer(
        &catalog,
        &class(ImageFamily::Al2023),
        &std::collections::BTreeMap::new(),
        now(),
    );
    let shown = match candidates(claim, &types, MinValuesPolicy::Strict) {
        Err(why) => wrapped(&format!("refused: {why}")),
        Ok(candidates) => {
            let mut lines: Vec<String> = candidates.iter().map(show).collect();
            lines.push(format!("launched {}", capacity_type(&candidates)));
            lines.join("\n")
        }
    };
    expected.assert_eq(&format!("{}\n", shown.trim_end()));
}

#[track_caller]
fn check(types: &[&str], requirements: &[&str], expected: &Expect) {
    check_claim(types, &claim(requirements, types), expected);
}

fn show(candidate: &Candidate<'_>) -> String {
    let offering = |o: &&Offering| format!("\n  {}/{} {}", o.capacity_type, o.zone, o.price);
    let offerings: String = candidate.offerings.iter().map(offering).collect();
    format!("{}{offerings}", candidate.instance_type.name)
}

#[test]
fn labels_zones_and_capacity_types_must_be_allowed() {
    check(
        &[LARGE, ARM],
        &["arch=arm64", "zone=us-west-2b", BOTH],
        &expect![[r"
            m7g.large
              on-demand/us-west-2b 0.0800
              spot/us-west-2b 0.0300
            launched spot
        "]],
    );
}

#[test]
fn requests_must_fit_without_overhead() {
    let mut claim = claim(&["paid=on-demand"], &[LARGE, XLARGE]);
    claim.requests = resources("cpu=1950m");
    check_claim(
        &[LARGE, XLARGE],
        &claim,
        &expect![[r"
            m7i.xlarge
              on-demand/us-west-2a 0.2000
              on-demand/us-west-2b 0.2000
            launched on-demand
        "]],
    );
}

#[test]
fn only_types_that_the_claim_names_are_taken() {
    check_claim(
        &[LARGE, XLARGE],
        &claim(&["paid=on-demand"], &[XLARGE]),
        &expect![[r"
            m7i.xlarge
              on-demand/us-west-2a 0.2000
              on-demand/us-west-2b 0.2000
            launched on-demand
        "]],
    );
}

#[test]
fn nothing_that_fits_is_refused() {
    check(
        &[LARGE],
        &["arch=arm64"],
        &expect![[r"
            refused: of the 1 instance types of the claim none fits its requirements and
            requests and is available
        "]],
    );
}

#[test]
fn metal_and_accelerators_are_left_out_while_there_are_others() {
    check(
        &[LARGE, METAL, GPU],
        &["paid=on-demand"],
        &expect![[r"
            m7i.large
              on-demand/us-west-2a 0.1000
              on-demand/us-west-2b 0.1000
            launched on-demand
        "]],
    );
}

#[test]
fn metal_and_accelerators_stay_when_there_is_nothing_else() {
    check(
        &[METAL, GPU],
        &["paid=on-demand"],
        &expect![[r"
            m7i.metal-24xl
              on-demand/us-west-2a 0.0100
              on-demand/us-west-2b 0.0100
            g5.xlarge
              on-demand/us-west-2a 0.0200
              on-demand/us-west-2b 0.0200
            launched on-demand
        "]],
    );
}

#[test]
fn spot_dearer_than_the_cheapest_on_demand_goes_and_equal_stays() {
    check(
        &[LARGE, "m5.large amd64 2 8Gi 29 0.30 0.10", "m4.large amd64 2 8Gi 29 - 0.11"],
        &[BOTH],
        &expect![[r"
            m7i.large
              on-demand/us-west-2a 0.1000
              on-demand/us-west-2b 0.1000
              spot/us-west-2a 0.0400
              spot/us-west-2b 0.0400
            m5.large
              on-demand/us-west-2a 0.3000
              on-demand/us-west-2b 0.3000
              spot/us-west-2a 0.1000
              spot/us-west-2b 0.1000
            launched spot
        "]],
    );
}

#[test]
fn without_cheap_spot_the_launch_is_on_demand() {
    check(
        &["m7i.large amd64 2 8Gi 29 0.10 0.50"],
        &[BOTH],
        &expect![[r"
            m7i.large
              on-demand/us-west-2a 0.1000
              on-demand/us-west-2b 0.1000
            launched on-demand
        "]],
    );
}

#[test]
fn spot_alone_may_cost_what_it_wants() {
    check(
        &["m7i.large amd64 2 8Gi 29 0.10 0.50"],
        &["paid=spot"],
        &expect![[r"
            m7i.large
              spot/us-west-2a 0.5000
              spot/us-west-2b 0.5000
            launched spot
        "]],
    );
}

fn with_min_values(text: &str, min_values: u32) -> Requirement {
    requirement(text).with_min_values(Some(min_values))
}

#[test]
fn min_values_keep_what_is_dear_or_exotic() {
    let dear = "m7i.large amd64 2 8Gi 29 0.10 0.50";
    let mut claim = claim(&[BOTH], &[dear, METAL]);
    claim.requirements.add(with_min_values("type", 2));
    check_claim(
        &[dear, METAL],
        &claim,
        &expect![[r"
            m7i.metal-24xl
              on-demand/us-west-2a 0.0100
              on-demand/us-west-2b 0.0100
              spot/us-west-2a 0.0100
              spot/us-west-2b 0.0100
            m7i.large
              on-demand/us-west-2a 0.1000
              on-demand/us-west-2b 0.1000
              spot/us-west-2a 0.5000
              spot/us-west-2b 0.5000
            launched spot
        "]],
    );
}

#[test]
fn min_values_that_the_types_do_not_reach_are_refused() {
    let mut claim = claim(&[BOTH], &[LARGE, XLARGE]);
    let families = with_min_values("karpenter.k8s.aws/instance-family", 2);
    claim.requirements.add(families);
    check_claim(
        &[LARGE, XLARGE],
        &claim,
        &expect![[r"
            refused: the 2 cheapest instance types have fewer different values than
            minValues asks for of karpenter.k8s.aws/instance-family
        "]],
    );
}

#[test]
fn the_sixty_cheapest_types_stay() {
    let texts: Vec<String> =
        (100..200).map(|n| format!("m{n}.large amd64 2 8Gi 29 0.{} -", 300 - n)).collect();
    let types: Vec<_> = texts.iter().map(|text| instance_type(text)).collect();
    let names: Vec<&str> = texts.iter().map(String::as_str).collect();
    let ranked = candidates(&claim(&[], &names), &types, MinValuesPolicy::Strict).unwrap();
    let names: Vec<&str> = ranked.iter().map(|c| c.instance_type.name.as_str()).collect();
    assert_eq!((names.len(), names[0], names[59]), (60, "m199.large", "m140.large"));
}
