//! Which type is tried, how, and what becomes of the answers.

use model::{
    NodeClassName,
    node_class::{ImageFamily, MaxPods, NodeIdentity},
    node_pool::{Disruption, Limits, NodeClaimTemplate},
};

use super::*;
use crate::testing::{PROFILE, catalog, class, now, requirement, settings, subnet};

const M5: &str = "m5.large amd64 2 8Gi 29 0.096 0.04";
const M6G: &str = "m6g.large arm64 2 8Gi 29 0.077 0.03";
const C5: &str = "c5.large amd64 2 4Gi 29 0.085 0.03";
const T3: &str = "t3.large amd64 2 8Gi 35 0.0832 0.02";
const GPU: &str = "g4dn.xlarge amd64 4 16Gi 29 0.05 0.02 karpenter.k8s.aws/instance-gpu-count=1";

fn pool(name: &str, requirements: &[&str]) -> NodePool {
    NodePool {
        name: NodePoolName::new(name).unwrap(),
        annotations: BTreeMap::new(),
        weight: 0,
        replicas: None,
        limits: Limits::default(),
        template: NodeClaimTemplate {
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            node_class: NodeClassName::new("default").unwrap(),
            requirements: requirements.iter().map(|text| requirement(text)).collect(),
            taints: Vec::new(),
            startup_taints: Vec::new(),
            expire_after: None,
            termination_grace_period: None,
        },
        disruption: Disruption::default(),
        is_deleting: false,
        problems: Vec::new(),
    }
}

/// What is tried for `class` where `types` are sold.
fn tried(
    class: &ResolvedNodeClass,
    types: &[&str],
    pools: &[NodePool],
) -> Result<DryRunRequests, BatchRefusal> {
    let types = crate::offer(&catalog(types), class, &BTreeMap::new(), now());
    dry_run_requests(class, PricedTypes::at_list_prices(&types), pools, &settings(), PROFILE, "1f")
}

#[track_caller]
fn check(family: ImageFamily, types: &[&str], pools: &[NodePool], expected: &str) {
    let tried = tried(&class(family), types, pools).unwrap();
    assert!(
        tried.instances.iter().all(|run_request| run_request.instance_type.as_str() == expected),
        "{tried:?}"
    );
    let choices = tried.fleet.templates.iter().flat_map(|template| &template.overrides);
    assert!(choices.clone().count() > 0);
    assert!(choices.clone().all(|choice| choice.instance_type.as_str() == expected), "{tried:?}");
}

#[test]
fn the_cheapest_type_that_a_pool_may_launch_is_tried() {
    let texts = [M5, M6G, C5, T3];
    let amd = pool("amd", &["arch=amd64"]);
    check(ImageFamily::Al2023, &texts, &[amd], "t3.large");
    let large_only = pool("one", &["type=c5.large"]);
    check(ImageFamily::Al2023, &texts, &[large_only], "c5.large");
    let mut labelled = pool("labelled", &[]);
    labelled.template.labels.insert("kubernetes.io/arch".to_owned(), "arm64".to_owned());
    check(ImageFamily::Al2023, &texts, &[labelled], "m6g.large");
}

#[test]
fn an_ordinary_type_is_tried_where_no_pool_of_the_class_can_launch_any() {
    let texts = [M6G, M5, C5, T3];
    check(ImageFamily::Al2023, &texts, &[], "m5.large");
    let none = pool("none", &["type=x9.large"]);
    check(ImageFamily::Al2023, &texts, &[none], "m5.large");
    let mut others = pool("others", &["type=c5.large"]);
    others.template.node_class = NodeClassName::new("another").unwrap();
    check(ImageFamily::Al2023, &[M6G, C5], &[others], "m6g.large");
    // Where even those are not sold, whatever is.
    check(ImageFamily::Al2023, &[C5, T3], &[], "t3.large");
}

#[test]
fn windows_is_tried_on_an_ordinary_type_whatever_its_pools_want() {
    let large_only = pool("one", &["type=c5.large"]);
    check(ImageFamily::Windows2022, &[M5, C5], &[large_only], "m5.large");
}

#[test]
fn a_type_with_a_gpu_is_tried_only_if_there_is_no_other() {
    let both = pool("both", &["type=g4dn.xlarge,c5.large"]);
    check(ImageFamily::Al2023, &[GPU, C5, M5], &[both], "c5.large");
    let gpus = pool("gpus", &["karpenter.k8s.aws/instance-gpu-count"]);
    check(ImageFamily::Al2023, &[GPU, C5, M5], &[gpus], "g4dn.xlarge");
}

#[test]
fn nothing_is_tried_where_nothing_is_sold() {
    let refusal = tried(&class(ImageFamily::Al2023), &[], &[]).unwrap_err().to_string();
    assert!(refusal.contains("no instance type that its images start on"), "{refusal}");
}

#[test]
fn it_is_tried_on_dedicated_hardware_as_soon_as_a_pool_may_use_it() {
    for (requirements, expected) in [
        (&[][..], "default"),
        (&["karpenter.k8s.aws/instance-tenancy=default"], "default"),
        (&["karpenter.k8s.aws/instance-tenancy=default,dedicated"], "dedicated"),
        (&["karpenter.k8s.aws/instance-tenancy=dedicated"], "dedicated"),
    ] {
        let pools = [pool("plain", &[]), pool("other", requirements)];
        let tried = tried(&class(ImageFamily::Al2023), &[M5], &pools).unwrap();
        assert_eq!(tried.template.unwrap().data.tenancy, expected, "{requirements:?}");
    }
}

#[test]
fn one_instance_on_demand_is_tried_in_every_subnet_most_addresses_first() {
    let mut class = class(ImageFamily::Al2023);
    class.subnets.push(subnet("subnet-0c", "us-west-2b", "usw2-az2", 9_000));
    class.subnets.push(subnet("subnet-0d", "us-west-2d", "usw2-az4", 9_999));
    let tried = tried(&class, &[M5], &[pool("general", &[])]).unwrap();
    let subnets: Vec<&str> =
        tried.instances.iter().map(|run_request| run_request.subnet.as_str()).collect();
    assert_eq!(subnets, ["subnet-0c", "subnet-0a", "subnet-0b"], "none where it is not sold");
    let DryRunRequests { template, fleet, instances } = tried;
    let template = template.unwrap();
    assert_eq!((fleet.count, fleet.capacity_type), (1, CapacityType::OnDemand));
    assert_eq!(fleet.token.as_str(), "try-out-1f");
    assert_eq!(fleet.tags.get(labels::NODE_POOL).map(String::as_str), Some("general"));
    for run_request in instances {
        assert_eq!((&run_request.template, &run_request.tags), (&template.name, &fleet.tags));
        assert_eq!(run_request.security_groups, class.security_groups);
    }
}

#[test]
fn user_data_that_is_too_long_is_distinguished_from_what_cannot_be_merged() {
    let mut class = class(ImageFamily::Custom);
    class.class.user_data = Some("x".repeat(16_385));
    let refusal = tried(&class, &[M5], &[]).unwrap_err();
    assert!(matches!(refusal, BatchRefusal::UserDataSize { bytes: 16_385, .. }), "{refusal}");
    let mut broken = self::class(ImageFamily::Bottlerocket);
    broken.class.user_data = Some("[settings".to_owned());
    let refusal = tried(&broken, &[M5], &[]).unwrap_err();
    assert!(matches!(refusal, BatchRefusal::UserData(_)), "{refusal}");
}

fn class_key(class: &ResolvedNodeClass, annotations: &[(&str, &str)], profile: &str) -> String {
    let annotations =
        annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let ids = class.security_groups.iter();
    let groups = ids.map(|id| SecurityGroup { id: id.clone(), name: "nodes".to_owned() });
    let (groups, annotations): (Vec<_>, _) = (groups.collect(), annotations.collect());
    key(&class.class, &annotations, &class.subnets, &groups, &class.images, profile)
}

#[test]
fn whatever_the_answer_depends_on_makes_another_key() {
    let plain = || class(ImageFamily::Al2023);
    let mut texts = vec![
        class_key(&plain(), &[], PROFILE),
        class_key(&plain(), &[("a", "b")], PROFILE),
        class_key(&plain(), &[("a", "c")], PROFILE),
        class_key(&plain(), &[], "another"),
    ];
    let mut changed = |change: &dyn Fn(&mut ResolvedNodeClass)| {
        let mut class = plain();
        change(&mut class);
        texts.push(class_key(&class, &[], PROFILE));
    };
    changed(&|class| drop(class.subnets.pop()));
    changed(&|class| drop(class.security_groups.pop()));
    changed(&|class| drop(class.images.pop()));
    changed(&|class| class.class.detailed_monitoring = Some(true));
    changed(&|class| class.class.kubelet.max_pods = Some(MaxPods::Number(7)));
    changed(&|class| drop(class.class.tags.insert("team".to_owned(), "web".to_owned())));
    let distinct: std::collections::BTreeSet<&String> = texts.iter().collect();
    assert_eq!(distinct.len(), texts.len(), "{texts:?}");
    let mut busier = plain();
    busier.subnets[0].available_ip_address_count = 1;
    assert_eq!(class_key(&busier, &[], PROFILE), texts[0], "addresses come and go");
    let hashed = [("karpenter.k8s.aws/ec2nodeclass-hash", "1"), (NODE_CLASS.version_key, "v4")];
    assert_eq!(class_key(&plain(), &hashed, PROFILE), texts[0], "the look itself writes these");
}

#[test]
fn a_key_never_changes() {
    // It stands in ledgers: another one has EC2 asked about every class once more.
    assert_eq!(class_key(&class(ImageFamily::Al2023), &[], PROFILE), "37324f27f23e5f2d");
}

#[test]
fn what_ec2_forbids_is_reported_with_the_policy_that_is_missing() {
    let class = class(ImageFamily::Al2023).class;
    let failure = |check, words: &str| {
        let tried = DryRunAnswer::Forbidden(words.to_owned());
        let validation = judged(check, &tried, &class, "1f", now()).unwrap();
        assert_eq!(validation.due_at, now() + jiff::SignedDuration::from_mins(30));
        validation.failure.unwrap()
    };
    for (words, expected) in [
        ("… because no permissions boundary allows the ec2:RunInstances action", "a permissions"),
        ("… with an explicit deny in a service control policy", "a service control policy"),
        ("… because no identity-based policy allows it", "no identity-based policy allows it"),
        ("You are not authorized to perform this operation.", "EC2 does not say"),
    ] {
        let (check, text) = failure(FailedCheck::RunInstances, words);
        assert_eq!(check, FailedCheck::RunInstances);
        let (fixed, reason) = text.split_once(": ").unwrap();
        assert!(fixed.contains("ec2:RunInstances") || fixed.contains("may not"), "{text}");
        assert!(text.contains(expected), "{text}: {reason}");
    }
    for check in [FailedCheck::CreateLaunchTemplate, FailedCheck::CreateFleet] {
        assert_eq!(failure(check, "").0, check);
    }
}

#[test]
fn a_profile_that_is_missing_is_waited_for_or_told_by_whose_it_is() {
    let mut class = class(ImageFamily::Al2023).class;
    let missing = DryRunAnswer::NoProfile("Invalid IAM Instance Profile name".to_owned());
    let run = FailedCheck::RunInstances;
    assert_eq!(judged(run, &missing, &class, "1f", now()), None, "it is ours, and new");
    class.identity = NodeIdentity::InstanceProfile("mine".to_owned());
    let validation = judged(run, &missing, &class, "1f", now()).unwrap();
    assert_eq!(validation.due_at, now(), "and looked for again at once");
    let words = "EC2 knows no instance profile `mine`".to_owned();
    assert_eq!(validation.failure, Some((FailedCheck::InstanceProfile, words)));
    let passed = judged(run, &DryRunAnswer::Works, &class, "1f", now()).unwrap();
    assert_eq!(passed.failure, None);
}

#[test]
fn a_launch_template_of_the_users_own_is_tried_as_it_is() {
    use model::{
        LaunchTemplateName,
        launch::TemplateVersion,
        node_class::{ResolvedTemplate, TemplateSource},
    };
    let mut class = class(ImageFamily::Custom);
    let name: LaunchTemplateName = "mine".parse().unwrap();
    let version = TemplateVersion::Number(3);
    class.class.launch_template = TemplateSource::Named(name.clone());
    class.launch_template = ResolvedTemplate::Named { name: name.clone(), version };
    class.security_groups.clear();
    let DryRunRequests { template, fleet, instances } = tried(&class, &[M5], &[]).unwrap();
    assert_eq!(template, None, "none is made");
    let from = &fleet.templates[0];
    assert_eq!((&from.template, from.version), (&name, version));
    assert!(!instances.is_empty());
    for run_request in instances {
        assert_eq!((&run_request.template, run_request.version), (&name, version));
        assert_eq!(run_request.security_groups, Vec::new());
    }
    let words = "Value (x) for parameter iamInstanceProfile.name is invalid.";
    let tried = DryRunAnswer::NoProfile(words.to_owned());
    let validation = judged(FailedCheck::RunInstances, &tried, &class.class, "1f", now()).unwrap();
    assert_eq!(validation.failure, Some((FailedCheck::RunInstances, words.to_owned())));
}
