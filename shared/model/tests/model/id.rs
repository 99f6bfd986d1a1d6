//! Ids and names: one type each, checked when they enter, cheap to copy around.

use model::{
    id::*,
    ledger::{Counters, Head},
};

/// The head of a ledger with the longest names.
fn late() -> Head {
    let counters = Counters { arrivals: u64::MAX - 1, departures: 0 };
    Head { ledger: Some(LedgerId::new("zzzzzzzz").unwrap()), counters, ..Head::default() }
}

#[test]
fn an_id_names_its_kind_and_rule_when_refused() {
    let error = InstanceId::new("m7g.large").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`m7g.large` is not a valid instance id: it must be `i-` followed by lower-case letters, digits or hyphens"
    );
}

#[test]
fn claim_names_fit_a_label_and_differ_by_index() {
    let pool = NodePoolName::new(&"a".repeat(200)).unwrap();
    let names: Vec<_> =
        (0..40).map(|index| NodeClaimName::derived(&pool, &late(), index)).collect();
    assert!(names.iter().all(|name| NodeClaimName::new(name.as_str()).is_ok()));
    assert!(names.iter().all(|name| is_label_value(name.as_str())));
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn a_claim_may_be_of_the_pool_that_its_name_begins_with() {
    let dashes = format!("aa{}b", "-".repeat(40));
    for pool in ["a", "general", "long-name-".repeat(6).trim_end_matches('-'), &dashes] {
        let pool = NodePoolName::new(pool).unwrap();
        let name = NodeClaimName::derived(&pool, &late(), u32::MAX);
        assert!(name.may_be_of(&pool), "{name} of {pool}");
        assert!(!name.may_be_of(&NodePoolName::new("other").unwrap()), "{name}");
    }
}

#[test]
fn a_client_token_fits_ec2() {
    let cluster = ClusterName::new(&"c".repeat(100)).unwrap();
    assert!(BatchId::derived(&cluster, &late(), u32::MAX).as_str().len() <= 64);
}

#[test]
fn a_batch_names_the_arrivals_of_its_commit() {
    let late = late();
    let early = Head { counters: Counters { arrivals: 35, departures: 7 }, ..Head::default() };
    for cluster in ["demo", "a-1-2", &"c".repeat(100)] {
        let cluster = ClusterName::new(cluster).unwrap();
        for head in [&early, &late] {
            let batch = BatchId::derived(&cluster, head, 40);
            assert_eq!(batch.arrivals(), Some(head.counters.arrivals + 1), "{batch}");
        }
    }
    assert_eq!(BatchId::new("object").unwrap().arrivals(), None);
}

#[test]
fn a_provider_id_gives_its_instance_back() {
    let zone = Zone::new("us-west-2a").unwrap();
    let instance = InstanceId::new("i-0123456789abcdef0").unwrap();
    assert_eq!(ProviderId::of_instance(&zone, &instance).instance(), Some(instance));
    assert_eq!(ProviderId::new("fargate://x").unwrap().instance(), None);
}

#[test]
fn qualified_names_follow_kubernetes() {
    for good in ["cpu", "nvidia.com/gpu", "a_b.c-d", "x"] {
        assert!(is_qualified_name(good), "{good}");
    }
    for bad in ["", "/gpu", "Nvidia_/gpu", "a/b/c", "-a", "a/", &"x".repeat(64)] {
        assert!(!is_qualified_name(bad), "{bad}");
    }
}
