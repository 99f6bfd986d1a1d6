//! Whole launches: templates and fleet request for a claim.

use expect_test::{Expect, expect};
use model::{
    HourlyPrice, ImageId,
    launch::LaunchTemplateData,
    node_class::{BlockDevice, ImageFamily, MaxPods},
};

use super::*;
use crate::testing::{
    PROFILE, catalog, claim, class, ipv6_settings, now, resources, settings, subnet, wrapped,
};

mod named;
mod options;

const BOTH: &str = "paid=on-demand,spot";
const ON_DEMAND: &str = "paid=on-demand";
const LARGE: &str = "m7i.large amd64 2 8Gi 29 0.1008 0.04";
const XLARGE: &str = "m7i.xlarge amd64 4 16Gi 58 0.2016 0.08";
const ARM: &str = "m7g.large arm64 2 8Gi 29 0.0816 0.03";

#[track_caller]
fn launch(claim: &NodeClaim, class: &ResolvedNodeClass, types: &[&str]) -> Launch {
    try_launch(claim, class, types).unwrap()
}

fn try_launch(
    claim: &NodeClaim,
    class: &ResolvedNodeClass,
    types: &[&str],
) -> Result<Launch, BatchRefusal> {
    let types = crate::offer(&catalog(types), class, &BTreeMap::new(), now());
    requests(std::slice::from_ref(claim), class, &types, &settings(), PROFILE)
}

fn al2023() -> ResolvedNodeClass {
    class(ImageFamily::Al2023)
}

#[track_caller]
fn check_request(request: &FleetRequest, expected: &Expect) {
    let mut lines = vec![format!(
        "{} x{} {}{}{}",
        request.token,
        request.count,
        request.capacity_type,
        if request.is_prioritized { " prioritized" } else { "" },
        request.context.as_ref().map(|context| format!(" {context}")).unwrap_or_default()
    )];
    for template in &request.templates {
        lines.push("template".to_owned());
        lines.extend(template.overrides.iter().map(|o| {
            format!("  {} {} {} {} {}", o.instance_type, o.zone, o.subnet, o.image, o.price)
        }));
    }
    lines.push(String::new());
    expected.assert_eq(&lines.join("\n"));
}

#[track_caller]
fn refused(claim: &NodeClaim, class: &ResolvedNodeClass, types: &[&str], expected: &Expect) {
    expected.assert_eq(&wrapped(&try_launch(claim, class, types).unwrap_err().to_string()));
}

#[test]
fn spot_goes_to_the_cheapest_subnets_of_every_zone_by_image_and_pods() {
    let mut class = al2023();
    class.subnets.push(subnet("subnet-0c", "us-west-2b", "usw2-az2", 3_001));
    class.subnets.push(subnet("subnet-0d", "us-west-2a", "usw2-az1", 4_000));
    let types = [LARGE, XLARGE, ARM];
    let launch = launch(&claim(&[BOTH], &types), &class, &types);
    check_request(
        &launch.request,
        &expect![[r"
        golden-1-0 x1 spot
        template
          m7i.large us-west-2a subnet-0a ami-0a01 0.0400
          m7i.large us-west-2b subnet-0c ami-0a01 0.0400
        template
          m7i.xlarge us-west-2a subnet-0a ami-0a01 0.0800
          m7i.xlarge us-west-2b subnet-0c ami-0a01 0.0800
        template
          m7g.large us-west-2a subnet-0a ami-0a02 0.0300
          m7g.large us-west-2b subnet-0c ami-0a02 0.0300
    "]],
    );
    let names: Vec<_> = launch.request.templates.iter().map(|t| t.template.clone()).collect();
    let made: BTreeSet<_> = launch.templates.iter().map(|t| t.name.clone()).collect();
    assert_eq!(made, names.into_iter().collect());
    assert!(launch.templates.iter().all(|template| template.data.is_spot));
}

#[test]
fn on_demand_in_one_zone() {
    let claim = claim(&[ON_DEMAND, "zone=us-west-2b"], &[LARGE]);
    check_request(
        &launch(&claim, &al2023(), &[LARGE]).request,
        &expect![[r"
        golden-1-0 x1 on-demand
        template
          m7i.large us-west-2b subnet-0b ami-0a01 0.1008
    "]],
    );
}

#[test]
fn a_batch_is_one_request_with_its_token_and_size() {
    let mut first = claim(&[ON_DEMAND], &[LARGE]);
    first.batch_size = 3;
    let class = al2023();
    let types = crate::offer(&catalog(&[LARGE]), &class, &BTreeMap::new(), now());
    let second = NodeClaim { batch_index: 1, ..first.clone() };
    let both = [first.clone(), second];
    let of_both = requests(&both, &class, &types, &settings(), PROFILE).unwrap();
    assert_eq!((of_both.request.count, of_both.request.token.as_str()), (3, "golden-1-0"));
    // The third claim is gone already: the request is the same all the same.
    assert_eq!(of_both, launch(&first, &class, &[LARGE]));
}

#[test]
fn a_context_is_passed_on_unless_min_values_are_relaxed() {
    let mut class = al2023();
    class.class.context = Some("context-1".to_owned());
    let mut claim = claim(&[ON_DEMAND, "zone=us-west-2a"], &[LARGE]);
    let context = |claim: &NodeClaim| launch(claim, &class, &[LARGE]).request.context;
    assert_eq!(context(&claim).as_deref(), Some("context-1"));
    claim.annotations.insert(labels::MIN_VALUES_RELAXED.to_owned(), "true".to_owned());
    assert_eq!(context(&claim), None);
}

/// [`LARGE`] at `price` where it is bought as `capacity_type`, by an overlay.
fn repriced(capacity_type: CapacityType, price: &str) -> FleetRequest {
    let class = al2023();
    let listed = crate::offer(&catalog(&[LARGE]), &class, &BTreeMap::new(), now());
    let mut types = listed.clone();
    for instance_type in &mut types {
        let offerings = Arc::make_mut(instance_type).offerings.iter_mut();
        for offering in offerings.filter(|offering| offering.capacity_type == capacity_type) {
            offering.price = HourlyPrice::parse_dollars(price).unwrap();
        }
    }
    let sold = PricedTypes { types: &types, listed: &listed, descriptions: None };
    let claim = claim(&[BOTH, "zone=us-west-2a"], &[LARGE]);
    let strict = MinValuesPolicy::Strict;
    requests_with(&[claim], &class, sold, &settings(), PROFILE, strict).unwrap().request
}

#[test]
fn what_an_overlay_makes_cheaper_is_asked_for_and_by_priority() {
    check_request(
        &repriced(CapacityType::OnDemand, "0.01"),
        &expect![[r"
        golden-1-0 x1 on-demand prioritized
        template
          m7i.large us-west-2a subnet-0a ami-0a01 0.0100
    "]],
    );
    check_request(
        &repriced(CapacityType::Spot, "0.05"),
        &expect![[r"
        golden-1-0 x1 spot prioritized
        template
          m7i.large us-west-2a subnet-0a ami-0a01 0.0500
    "]],
    );
}

#[test]
fn a_claim_says_that_an_overlay_priced_it_where_no_overlay_is_at_hand() {
    let mut claim = claim(&[ON_DEMAND], &[LARGE]);
    claim.annotations.insert(labels::PRICE_OVERLAY_APPLIED.to_owned(), "true".to_owned());
    assert!(launch(&claim, &al2023(), &[LARGE]).request.is_prioritized);
}

#[test]
fn ec2_chooses_where_no_overlay_prices_what_is_asked_for() {
    check_request(
        &repriced(CapacityType::OnDemand, "0.2"),
        &expect![[r"
        golden-1-0 x1 spot
        template
          m7i.large us-west-2a subnet-0a ami-0a01 0.0400
    "]],
    );
}

fn template(class: &ResolvedNodeClass, settings: &ClusterSettings) -> LaunchTemplate {
    let claim = claim(&[ON_DEMAND], &[LARGE]);
    let types = crate::offer(&catalog(&[LARGE]), class, &BTreeMap::new(), now());
    let mut launch = requests(&[claim], class, &types, settings, PROFILE).unwrap();
    launch.templates.remove(0)
}

#[test]
fn a_launch_template_says_what_the_class_says() {
    let mut class = al2023();
    class.class.tags.insert("Name".to_owned(), "mine".to_owned());
    class.class.detailed_monitoring = Some(true);
    class.class.associate_public_ip_address = Some(false);
    class.class.ip_prefix_count = Some(0);
    let made = template(&class, &settings());
    let data = LaunchTemplateData { user_data: "…".to_owned(), ..made.data };
    expect![[r#"
        LaunchTemplateData {
            image: "ami-0a01",
            user_data: "…",
            instance_profile: "golden_12345678901234567890",
            block_devices: [
                BlockDevice {
                    device_name: Some(
                        "/dev/xvda",
                    ),
                    is_root: false,
                    size: Some(
                        Bytes(
                            21474836480,
                        ),
                    ),
                    volume_type: Some(
                        "gp3",
                    ),
                    encrypted: Some(
                        true,
                    ),
                    delete_on_termination: None,
                    iops: None,
                    throughput: None,
                    initialization_rate: None,
                    kms_key_id: None,
                    snapshot_id: None,
                },
            ],
            metadata_options: MetadataOptions {
                http_endpoint: true,
                http_protocol_ipv6: false,
                http_put_response_hop_limit: 1,
                http_tokens_required: true,
            },
            sends_http_protocol_ipv6: true,
            detailed_monitoring: true,
            interfaces: [
                Interface {
                    card: None,
                    device: 0,
                    kind: None,
                },
            ],
            security_groups: [
                "sg-0a",
                "sg-0b",
            ],
            associate_public_ip_address: Some(
                false,
            ),
            ip_prefix_count: Some(
                0,
            ),
            is_ipv6: false,
            connection_tracking: None,
            nested_virtualization: None,
            runs_enclaves: false,
            tenancy: "default",
            placement_group: None,
            reservation: None,
            tags: {
                "Name": "mine",
                "eks:eks-cluster-name": "golden",
                "karpenter.k8s.aws/ec2nodeclass": "default",
                "karpenter.sh/nodepool": "general",
                "kubernetes.io/cluster/golden": "owned",
            },
            is_spot: false,
        }
    "#]]
    .assert_debug_eq(&data);
}

#[test]
fn a_class_without_volumes_gets_the_familys() {
    let volumes = |family: ImageFamily| {
        let devices = template(&class(family), &settings()).data.block_devices;
        let shown = devices.iter().map(|device| {
            let size = device.size.map(|size| size.to_string()).unwrap_or_default();
            format!("{} {size}", device.device_name.as_deref().unwrap_or_default())
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(volumes(ImageFamily::Al2023), "/dev/xvda 20Gi");
    assert_eq!(volumes(ImageFamily::Bottlerocket), "/dev/xvda 6Gi, /dev/xvdb 20Gi");
}

#[test]
fn own_volumes_replace_the_familys_and_a_zero_is_not_sent() {
    let mut class = al2023();
    let block_device =
        BlockDevice { iops: Some(0), throughput: Some(250), ..BlockDevice::default() };
    class.class.block_devices = vec![block_device.clone()];
    let sent = template(&class, &settings()).data.block_devices;
    assert_eq!(sent, [BlockDevice { iops: None, ..block_device }]);
}

#[test]
fn an_ipv6_cluster_is_known_by_its_dns_address() {
    assert!(template(&al2023(), &ipv6_settings()).data.is_ipv6);
    assert!(!template(&al2023(), &settings()).data.is_ipv6);
    let isolated = ClusterSettings { region: "us-iso-east-1".to_owned(), ..settings() };
    assert!(!template(&al2023(), &isolated).data.sends_http_protocol_ipv6);
}

#[test]
fn a_launch_template_keeps_its_name_until_something_in_it_changes() {
    let name = |change: &dyn Fn(&mut ResolvedNodeClass)| {
        let mut class = al2023();
        change(&mut class);
        template(&class, &settings()).name
    };
    let changes: [&dyn Fn(&mut ResolvedNodeClass); 12] = [
        &|_| {},
        &|class| class.class.name = NodeClassName::new("other").unwrap(),
        &|class| class.class.tags = [("a".to_owned(), "b".to_owned())].into(),
        &|class| class.class.user_data = Some("#!/bin/sh\nexit\n".to_owned()),
        &|class| class.class.kubelet.max_pods = Some(MaxPods::Number(7)),
        &|class| class.class.metadata_options.http_put_response_hop_limit = 2,
        &|class| class.class.detailed_monitoring = Some(true),
        &|class| class.class.associate_public_ip_address = Some(true),
        &|class| class.class.ip_prefix_count = Some(1),
        &|class| class.class.block_devices = vec![BlockDevice::default()],
        &|class| class.security_groups.truncate(1),
        &|class| class.images[0].id = ImageId::new("ami-0b01").unwrap(),
    ];
    let names: BTreeSet<_> = changes.iter().map(|change| name(change)).collect();
    assert_eq!(names.len(), changes.len());
    // What only the fleet request has does not make another template.
    assert_eq!(name(&|_| {}), name(&|class| class.class.context = Some("x".to_owned())));
    assert_eq!(name(&|_| {}), name(&|class| class.subnets.truncate(1)));
    expect!["karpenter.k8s.aws/3401304833514284814"].assert_eq(name(&|_| {}).as_str());
}

#[test]
fn what_stands_against_a_launch_is_named() {
    let large = claim(&[ON_DEMAND], &[LARGE]);
    let with = |change: &dyn Fn(&mut ResolvedNodeClass)| {
        let mut class = al2023();
        change(&mut class);
        class
    };
    let check = |class: &ResolvedNodeClass, expected: Expect| {
        refused(&large, class, &[LARGE], &expected);
    };
    check(
        &with(&|class| class.class.is_deleting = true),
        expect![[r"
        NodePool `general`: no capacity: EC2NodeClass `default` is being deleted
    "]],
    );
    check(
        &with(&|class| {
            class.class.problems =
                ["one", "two"].map(|rule| model::Problem::unusable("", rule)).into();
        }),
        expect![[r"
        EC2NodeClass `default` is not ready: one; two
    "]],
    );
    check(
        &with(&|class| {
            let term = model::node_class::PlacementGroupTerm::Name("together".to_owned());
            class.class.placement_group = Some(term);
        }),
        expect![[r"
            EC2NodeClass `default` is not ready: PlacementGroupNotFound:
            spec.placementGroupSelector selects no placement group
        "]],
    );
    check(
        &with(&|class| class.subnets.clear()),
        expect![[r"
            EC2NodeClass `default` is not ready: SubnetsNotFound: spec.subnetSelectorTerms
            select no subnet
        "]],
    );
    check(
        &with(&|class| class.security_groups.clear()),
        expect![[r"
            EC2NodeClass `default` is not ready: SecurityGroupsNotFound:
            spec.securityGroupSelectorTerms select no security group
        "]],
    );
    check(
        &with(&|class| class.images.clear()),
        expect![[r"
            EC2NodeClass `default` is not ready: AMINotFound: spec.amiSelectorTerms select
            no image
        "]],
    );
    check(
        &with(&|class| class.class.user_data = Some("MIME-Version: 1".into())),
        expect![[r"
        EC2NodeClass `default`: spec.userData: it starts like MIME, but is not
        multipart: Content-Type must be multipart/mixed
    "]],
    );
}

#[test]
fn a_claim_that_no_type_suits_is_refused() {
    let mut efa = claim(&[ON_DEMAND], &[LARGE]);
    efa.requests = resources("vpc.amazonaws.com/efa=1");
    refused(
        &efa,
        &al2023(),
        &[LARGE],
        &expect![[r"
        NodePool `general`: no capacity: of the 1 instance types of the claim none fits
        its requirements and requests and is available
    "]],
    );
    refused(
        &claim(&[ON_DEMAND], &[]),
        &al2023(),
        &[LARGE],
        &expect![[r"
        NodePool `general`: no capacity: of the 0 instance types of the claim none fits
        its requirements and requests and is available
    "]],
    );
}

#[test]
fn types_without_an_image_or_a_subnet_are_no_launch() {
    let claim = claim(&[ON_DEMAND], &[LARGE]);
    let types = crate::offer(&catalog(&[LARGE]), &al2023(), &BTreeMap::new(), now());
    let mut other = al2023();
    other.images.retain(|image| image.id.as_str() == "ami-0a02");
    let claims = [claim];
    let refusal = requests(&claims, &other, &types, &settings(), PROFILE).unwrap_err();
    expect![[r"
        EC2NodeClass `default`: spec.amiSelectorTerms: none of ami-0a02 starts on the
        instance types
    "]]
    .assert_eq(&wrapped(&refusal.to_string()));
    let mut elsewhere = al2023();
    elsewhere.subnets = vec![subnet("subnet-0d", "us-west-2d", "usw2-az4", 1)];
    let refusal = requests(&claims, &elsewhere, &types, &settings(), PROFILE).unwrap_err();
    expect![[r"
        NodePool `general`: no capacity: no subnet of the EC2NodeClass is in a zone of
        an available offering
    "]]
    .assert_eq(&wrapped(&refusal.to_string()));
}
