//! What is sent to CreateFleet, and what its answers mean.

use aws_sdk_ec2::types::{LaunchTemplateAndOverridesResponse, SpotAllocationStrategy as Spot};
use model::{LaunchTemplateName, SubnetId, launch::TemplateVersion};
use testkit::build;

use super::*;
use crate::ec2::text_of;

fn request(capacity_type: CapacityType, is_prioritized: bool) -> FleetRequest {
    let request = build::fleet_request(&build::id("demo"), "demo-1-0");
    FleetRequest { count: 2, capacity_type, is_prioritized, ..request }
}

fn input(capacity_type: CapacityType, is_prioritized: bool) -> CreateFleetInput {
    to_input(&request(capacity_type, is_prioritized)).unwrap().build().unwrap()
}

#[test]
fn a_fleet_is_instant_and_named_by_its_batch() {
    let input = input(CapacityType::Spot, false);
    assert_eq!(input.r#type(), Some(&FleetType::Instant));
    assert_eq!(input.client_token(), Some("demo-1-0"));
    let target = input.target_capacity_specification().unwrap();
    assert_eq!(target.total_target_capacity(), Some(2));
    assert_eq!(target.default_target_capacity_type(), Some(&DefaultTargetCapacityType::Spot));
    let kinds: Vec<_> = input.tag_specifications().iter().map(|s| s.resource_type()).collect();
    let tagged = [ResourceType::Instance, ResourceType::Volume, ResourceType::Fleet];
    assert_eq!(kinds, tagged.iter().map(Some).collect::<Vec<_>>());
}

#[test]
fn every_override_says_where_so_that_errors_can_be_told_apart() {
    let input = input(CapacityType::Spot, false);
    let config = &input.launch_template_configs()[0];
    let template = config.launch_template_specification().unwrap();
    assert_eq!(template.launch_template_name(), Some(build::TEMPLATE));
    assert_eq!(template.version(), Some("$Latest"));
    let expected = FleetLaunchTemplateOverridesRequest::builder()
        .instance_type(InstanceType::M7gLarge)
        .availability_zone("us-west-2a")
        .subnet_id("subnet-a")
        .image_id("ami-1")
        .priority(0.04)
        .build();
    assert_eq!(config.overrides(), [expected]);
}

#[test]
fn the_allocation_strategy_follows_capacity_type_and_overlay() {
    for (is_prioritized, spot, on_demand) in [
        (false, Spot::PriceCapacityOptimized, FleetOnDemandAllocationStrategy::LowestPrice),
        (true, Spot::CapacityOptimizedPrioritized, FleetOnDemandAllocationStrategy::Prioritized),
    ] {
        let sent = input(CapacityType::Spot, is_prioritized);
        assert_eq!(sent.spot_options().unwrap().allocation_strategy(), Some(&spot));
        assert!(sent.on_demand_options().is_none());
        let sent = input(CapacityType::OnDemand, is_prioritized);
        assert_eq!(sent.on_demand_options().unwrap().allocation_strategy(), Some(&on_demand));
        assert!(sent.spot_options().is_none());
    }
}

#[test]
fn reserved_capacity_is_asked_for_as_it_was_bought() {
    for (market, expected) in [
        (ReservationMarket::OnDemand, DefaultTargetCapacityType::OnDemand),
        (ReservationMarket::CapacityBlock, DefaultTargetCapacityType::CapacityBlock),
        (ReservationMarket::Interruptible, DefaultTargetCapacityType::ReservedCapacity),
    ] {
        let wanted = FleetRequest { market, ..request(CapacityType::Reserved, false) };
        let sent = to_input(&wanted).unwrap().build().unwrap();
        let target = sent.target_capacity_specification().unwrap();
        assert_eq!(target.default_target_capacity_type(), Some(&expected));
        let is_interruptible = market == ReservationMarket::Interruptible;
        assert_eq!(sent.reserved_capacity_options().is_some(), is_interruptible);
        let is_on_demand = market == ReservationMarket::OnDemand;
        assert_eq!(sent.on_demand_options().is_some(), is_on_demand);
    }
}

fn overrides() -> LaunchTemplateAndOverridesResponse {
    let overrides = FleetLaunchTemplateOverrides::builder()
        .instance_type(InstanceType::M7gLarge)
        .availability_zone("us-west-2a")
        .image_id("ami-1")
        .build();
    LaunchTemplateAndOverridesResponse::builder().overrides(overrides).build()
}

fn instances(
    ids: &[&str],
    overrides: Option<LaunchTemplateAndOverridesResponse>,
) -> CreateFleetInstance {
    CreateFleetInstance::builder()
        .set_instance_ids(Some(ids.iter().map(|id| (*id).to_owned()).collect()))
        .instance_type(InstanceType::M7gLarge)
        .set_launch_template_and_overrides(overrides)
        .build()
}

#[track_caller]
fn check(output: &CreateFleetOutput, expected: Result<(&[&str], &[&str]), &str>) {
    let entry = from_output(&request(CapacityType::Spot, false), output);
    let outcome = entry.map(|(answer, incomplete)| {
        let ids = answer.instances.iter().map(|instance| instance.id.to_string());
        (ids.collect::<Vec<_>>(), incomplete.iter().map(ToString::to_string).collect::<Vec<_>>())
    });
    let texts = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    let expected = expected.map(|(complete, incomplete)| (texts(complete), texts(incomplete)));
    assert_eq!(outcome, expected.map_err(str::to_owned));
}

#[test]
fn instances_come_sorted_by_id() {
    let output = CreateFleetOutput::builder()
        .instances(instances(&["i-3"], Some(overrides())))
        .instances(instances(&["i-1"], Some(overrides())));
    check(&output.build(), Ok((&["i-1", "i-3"], &[])));
}

#[test]
fn an_instance_that_the_answer_does_not_describe_is_looked_up() {
    let output = CreateFleetOutput::builder().instances(instances(&["i-1"], None));
    check(&output.build(), Ok((&[], &["i-1"])));
}

#[test]
fn more_instances_than_asked_for_are_not_handed_out() {
    let output = CreateFleetOutput::builder()
        .instances(instances(&["i-1", "i-2", "i-3"], Some(overrides())));
    check(&output.build(), Err("3 instances, and 2 were asked for"));
}

#[test]
fn an_error_names_its_offering() {
    let error = CreateFleetError::builder()
        .error_code("InsufficientInstanceCapacity")
        .error_message("none left")
        .launch_template_and_overrides(overrides());
    let expected = FleetError {
        code: "InsufficientInstanceCapacity".to_owned(),
        message: "none left".to_owned(),
        instance_type: Some(InstanceTypeName::new("m7g.large").unwrap()),
        zone: Some(Zone::new("us-west-2a").unwrap()),
    };
    assert_eq!(from_error(&error.build()), expected);
}

#[test]
fn a_cluster_lists_only_what_carries_its_tags() {
    let cluster = ClusterName::new("demo").unwrap();
    let text = |filters: Vec<Filter>| filters.iter().map(text_of).collect::<Vec<_>>().join(" ");
    assert_eq!(
        text(of_cluster(&cluster)),
        "tag-key=karpenter.sh/nodepool tag-key=karpenter.k8s.aws/ec2nodeclass \
         tag:eks:eks-cluster-name=demo \
         instance-state-name=pending,running,shutting-down,stopping,stopped"
    );
    assert_eq!(
        text(in_batch(&cluster, &BatchId::new("demo-1-0").unwrap())),
        "tag:eks:eks-cluster-name=demo tag:karpenter.sh/nodeclaim-batch=demo-1-0"
    );
}

#[test]
fn an_instance_from_a_template_of_ones_own_has_no_network_interface_of_ours() {
    let wanted = |groups: &[&str]| RunRequest {
        template: LaunchTemplateName::new("mine").unwrap(),
        version: TemplateVersion::Number(3),
        instance_type: InstanceTypeName::new("m7g.large").unwrap(),
        subnet: SubnetId::new("subnet-1").unwrap(),
        security_groups: groups.iter().map(|id| id.parse().unwrap()).collect(),
        tags: BTreeMap::new(),
    };
    let run_instances_input = to_run(&wanted(&[])).build().unwrap();
    assert_eq!(
        (run_instances_input.subnet_id(), run_instances_input.network_interfaces().len()),
        (Some("subnet-1"), 0)
    );
    assert_eq!(run_instances_input.launch_template().unwrap().version(), Some("3"));
    let made = to_run(&wanted(&["sg-1"])).build().unwrap();
    let [interface] = made.network_interfaces() else { panic!("{made:?}") };
    assert_eq!((made.subnet_id(), interface.subnet_id()), (None, Some("subnet-1")));
    assert_eq!(interface.groups(), ["sg-1"]);
}
