//! What terms name.

use model::{SubnetId, Zone, ZoneId, node_class::MatchCriteria};

use super::*;
use crate::testing::now;

fn tags(pairs: &[(&str, &str)]) -> Tags {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn subnet(id: &str, free: u32, own: &[(&str, &str)]) -> (Subnet, Tags) {
    let subnet = Subnet {
        id: SubnetId::new(id).unwrap(),
        zone: Zone::new("us-west-2a").unwrap(),
        zone_id: ZoneId::new("usw2-az1").unwrap(),
        available_ip_address_count: free,
    };
    (subnet, tags(own))
}

#[test]
fn subnets_are_named_by_id_or_by_all_tags_and_sorted_by_room() {
    let all = [
        subnet("subnet-1", 10, &[("team", "a"), ("tier", "private")]),
        subnet("subnet-2", 30, &[("team", "a")]),
        subnet("subnet-3", 30, &[("team", "b"), ("tier", "private-2")]),
        subnet("subnet-4", 99, &[]),
    ];
    let named = |terms: &[SubnetTerm]| {
        let ids = subnets(terms, &all).into_iter().map(|subnet| subnet.id.to_string());
        ids.collect::<Vec<_>>().join(" ")
    };
    let id = |text: &str| SubnetTerm::Id(SubnetId::new(text).unwrap());
    let of = |pairs: &[(&str, &str)]| SubnetTerm::Tags(tags(pairs));
    assert_eq!(named(&[id("subnet-1"), id("subnet-4")]), "subnet-4 subnet-1");
    assert_eq!(named(&[of(&[("team", "a")])]), "subnet-2 subnet-1");
    assert_eq!(named(&[of(&[("team", "a"), ("tier", "private")])]), "subnet-1");
    assert_eq!(named(&[of(&[("team", "*")])]), "subnet-2 subnet-3 subnet-1");
    assert_eq!(named(&[of(&[("tier", "private*")])]), "subnet-3 subnet-1");
    assert_eq!(named(&[of(&[("team", "a")]), id("subnet-1")]), "subnet-2 subnet-1");
    assert_eq!(named(&[of(&[("team", "c")])]), "");
}

#[test]
fn security_groups_are_named_by_id_name_or_tags() {
    let group = |id: &str, name: &str, own: &[(&str, &str)]| SecurityGroup {
        id: SecurityGroupId::new(id).unwrap(),
        name: name.to_owned(),
        tags: tags(own),
    };
    let all = [group("sg-2", "nodes", &[("team", "a")]), group("sg-1", "nodes-extra", &[])];
    let named = |term: SecurityGroupTerm| {
        let ids = security_groups(&[term], &all).into_iter().map(|group| group.id.to_string());
        ids.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(named(SecurityGroupTerm::Id(SecurityGroupId::new("sg-1").unwrap())), "sg-1");
    assert_eq!(named(SecurityGroupTerm::Name("nodes".to_owned())), "sg-2");
    assert_eq!(named(SecurityGroupTerm::Name("nodes*".to_owned())), "sg-1 sg-2");
    assert_eq!(named(SecurityGroupTerm::Tags(tags(&[("team", "a")]))), "sg-2");
}

fn reservation(id: &str, own: &[(&str, &str)]) -> DescribedReservation {
    DescribedReservation {
        reservation: CapacityReservation {
            id: id.to_owned(),
            instance_type: model::InstanceTypeName::new("m7i.large").unwrap(),
            zone: Zone::new("us-west-2a").unwrap(),
            owner: "111122223333".to_owned(),
            match_criteria: MatchCriteria::Open,
            is_capacity_block: false,
            is_interruptible: false,
            is_expiring: false,
            ends_at: None,
            available_count: 1,
        },
        is_active: true,
        tags: tags(own),
    }
}

#[test]
fn reservations_are_named_by_id_tags_owner_and_criteria() {
    let mut other = reservation("cr-2", &[("use", "b")]);
    other.reservation.owner = "444455556666".to_owned();
    other.reservation.match_criteria = MatchCriteria::Targeted;
    let mut inactive = reservation("cr-3", &[("use", "b")]);
    inactive.is_active = false;
    let all = [other, reservation("cr-1", &[("use", "a")]), inactive];
    let named = |term: ReservationTerm| {
        let ids = reservations(&[term], &all, now()).into_iter().map(|one| one.id);
        ids.collect::<Vec<_>>().join(" ")
    };
    let search = |own: &[(&str, &str)], owner: Option<&str>, match_criteria| {
        ReservationTerm::Search { tags: tags(own), owner: owner.map(Into::into), match_criteria }
    };
    assert_eq!(named(ReservationTerm::Id("cr-2".to_owned())), "cr-2");
    assert_eq!(named(ReservationTerm::Id("cr-3".to_owned())), "");
    assert_eq!(named(search(&[("use", "*")], None, None)), "cr-1 cr-2");
    assert_eq!(named(search(&[("use", "*")], Some("111122223333"), None)), "cr-1");
    assert_eq!(named(search(&[], None, Some(MatchCriteria::Targeted))), "cr-2");
    assert_eq!(named(search(&[("use", "a")], None, Some(MatchCriteria::Targeted))), "");
}

#[test]
fn a_capacity_block_expires_forty_minutes_before_its_end() {
    let at = |minutes: i64, is_block: bool| {
        let mut one = reservation("cr-1", &[]);
        one.reservation.is_capacity_block = is_block;
        one.reservation.ends_at = now().checked_add(SignedDuration::from_mins(minutes)).ok();
        let found = reservations(&[ReservationTerm::Id("cr-1".to_owned())], &[one], now());
        found.first().map(|reservation| reservation.is_expiring)
    };
    assert_eq!(at(41, true), Some(false));
    assert_eq!(at(40, true), Some(true));
    assert_eq!(at(1, false), Some(false));
    assert_eq!(at(0, false), None);
}

#[test]
fn a_placement_group_is_named_by_id_or_by_a_name_that_looks_like_one() {
    let group = |id: &str, name: &str| PlacementGroup {
        id: id.to_owned(),
        name: name.to_owned(),
        strategy: model::node_class::PlacementStrategy::Spread,
    };
    let all = [group("pg-1", "pg-2"), group("pg-2", "other"), group("pg-3", "other")];
    let named = |term: &PlacementGroupTerm| placement_group(term, &all).map(|one| one.id.as_str());
    assert_eq!(named(&PlacementGroupTerm::Id("pg-2".to_owned())), Some("pg-2"));
    assert_eq!(named(&PlacementGroupTerm::Name("pg-2".to_owned())), Some("pg-1"));
    assert_eq!(named(&PlacementGroupTerm::Name("other".to_owned())), Some("pg-2"));
    assert_eq!(named(&PlacementGroupTerm::Name("pg-3".to_owned())), None);
}

/// `id name architecture owner created`, dates in days of August.
fn image(text: &str) -> DescribedImage {
    let mut words = text.split(' ');
    let mut next = || words.next().unwrap().to_owned();
    let (id, name, architecture, owner, day) = (next(), next(), next(), next(), next());
    DescribedImage {
        id: ImageId::new(&id).unwrap(),
        name,
        owners: [owner].into(),
        architecture,
        is_available: true,
        created_at: format!("2026-08-{day}T00:00:00Z").parse().ok(),
        deprecated_at: None,
        tags: tags(&[("kubernetes.io/arch", "s390x")]),
    }
}

fn named(terms: &[ImageTerm], all: &[DescribedImage]) -> String {
    let found = images(terms, "1.34", &BTreeMap::new(), all, now()).unwrap();
    found.iter().map(|image| image.id.to_string()).collect::<Vec<_>>().join(" ")
}

fn search(name: Option<&str>, owner: Option<&str>, own: &[(&str, &str)]) -> [ImageTerm; 1] {
    [ImageTerm::Search {
        name: name.map(Into::into),
        owner: owner.map(Into::into),
        tags: tags(own),
    }]
}

#[test]
fn a_name_alone_is_looked_for_among_trusted_owners_and_tags_among_all() {
    let all = [
        image("ami-1 mine x86_64 self 01"),
        image("ami-2 mine arm64 999988887777 02"),
        image("ami-3 mine i386 self 03"),
    ];
    assert_eq!(named(&search(Some("mi*"), None, &[]), &all), "ami-1");
    assert_eq!(named(&search(Some("mi*"), Some("999988887777"), &[]), &all), "ami-2");
    let tagged = search(None, None, &[("kubernetes.io/arch", "*")]);
    assert_eq!(named(&tagged, &all), "ami-2 ami-1");
    let by_id = ["ami-1", "ami-2", "ami-3"].map(|id| ImageTerm::Id(ImageId::new(id).unwrap()));
    assert_eq!(named(&by_id, &all), "ami-2 ami-1");
}

#[test]
fn what_is_not_available_is_not_taken_and_tags_require_nothing() {
    let mut pending = image("ami-1 mine x86_64 self 09");
    pending.is_available = false;
    let all = [pending, image("ami-2 mine x86_64 self 01")];
    let found = images(&search(Some("mine"), None, &[]), "1.34", &BTreeMap::new(), &all, now());
    let found = found.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].requirements.to_string(), "kubernetes.io/arch In [amd64]");
}

#[test]
fn an_older_image_that_is_not_deprecated_beats_a_newer_one_that_is() {
    let deprecated = |text: &str| DescribedImage {
        deprecated_at: now().checked_sub(SignedDuration::from_secs(1)).ok(),
        ..image(text)
    };
    let best = |all: &[DescribedImage]| named(&search(Some("*"), None, &[]), all);
    let old = image("ami-1 a x86_64 self 01");
    assert_eq!(best(&[deprecated("ami-2 b x86_64 self 09"), old.clone()]), "ami-1");
    assert_eq!(best(&[deprecated("ami-2 b x86_64 self 01"), old.clone()]), "ami-1");
    let both = [deprecated("ami-2 b x86_64 self 01"), deprecated("ami-3 a x86_64 self 02")];
    assert_eq!(best(&both), "ami-3");
    assert_eq!(best(&[old, image("ami-2 b x86_64 self 01")]), "ami-2");
    let later = DescribedImage {
        deprecated_at: now().checked_add(SignedDuration::from_secs(1)).ok(),
        ..image("ami-9 a x86_64 self 02")
    };
    assert_eq!(best(&[later, image("ami-1 b x86_64 self 01")]), "ami-9");
}

#[test]
fn an_alias_has_an_image_for_each_variant_whose_parameter_is_known() {
    let folder = "/aws/service/eks/optimized-ami/1.32/amazon-linux-2";
    let parameters: BTreeMap<String, String> = [
        (format!("{folder}/recommended/image_id"), "ami-1".to_owned()),
        (format!("{folder}-gpu/recommended/image_id"), "ami-2".to_owned()),
    ]
    .into();
    let all = [image("ami-1 std x86_64 amazon 01"), image("ami-2 gpu x86_64 amazon 02")];
    let terms = [ImageTerm::Alias {
        family: model::node_class::ImageFamily::Al2,
        version: "latest".to_owned(),
    }];
    let found = images(&terms, "1.32", &parameters, &all, now()).unwrap();
    let ids: Vec<&str> = found.iter().map(|image| image.id.as_str()).collect();
    assert_eq!(ids, ["ami-2", "ami-2", "ami-1"], "one image for GPUs and one for Neuron");
    let refused = images(&terms, "1.33", &parameters, &all, now());
    let why = "`al2@latest` is not built for Kubernetes 1.33 and later: use al2023";
    assert_eq!(refused.unwrap_err(), why, "what reports it says UnsupportedAlias");
}

#[test]
fn an_ssm_parameter_that_is_not_there_is_left_out() {
    let all = [image("ami-1 std x86_64 amazon 01")];
    let parameters = [("/mine".to_owned(), "ami-1".to_owned())].into();
    let terms = ["/mine", "/gone"].map(|name| ImageTerm::SsmParameter(name.to_owned()));
    let found = images(&terms, "1.34", &parameters, &all, now()).unwrap();
    assert_eq!(found.len(), 1);
}
