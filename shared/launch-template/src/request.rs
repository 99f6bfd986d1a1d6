//! The launch templates and the fleet request for one batch of claims.
//!
//! It decides what to ask EC2 for; it does not ask.
//!
//! Karpenter: `pkg/providers/instance/instance.go` of the AWS provider.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{
    CapacityType, InstanceType, InstanceTypeInfo, InstanceTypeName, LaunchTemplateName, NodeClaim,
    NodeClaimName, NodeClassName, NodePoolName, OfferingKey, SubnetId, Zone, labels,
    launch::{
        FleetOverride, FleetRequest, FleetTemplate, LaunchTemplate, LaunchTemplateData,
        TemplateVersion,
    },
    node_class::{ClusterSettings, MaxPods, Obstacle, ResolvedNodeClass, ResolvedTemplate, Subnet},
    policies::MinValuesPolicy,
};

use crate::{
    family,
    filter::{candidates, capacity_type},
    name::resource_tags,
    readiness::{Findings, readiness},
    template::{
        block_devices, claim_labels, interfaces, is_ipv6, launch_template, placement,
        sends_http_protocol_ipv6, tenancy,
    },
    user_data::{Node, user_data},
};

mod group;

use group::{Group, groups};

/// What to send to EC2 for one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The launch templates that are made first, each name once; none for one of the user's own.
    pub templates: Vec<LaunchTemplate>,
    /// The fleet request.
    pub request: FleetRequest,
}

/// Why a batch cannot be launched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchRefusal {
    /// No offering that the claims allow is available now. Karpenter's insufficient capacity.
    #[error("{}no capacity: {why}", of_pool(node_pool))]
    NoCapacity {
        /// The pool of the claims.
        node_pool: NodePoolName,
        /// What left none.
        why: String,
    },
    /// No image starts on any of the instance types.
    #[error("EC2NodeClass `{class}`: spec.amiSelectorTerms: {why}")]
    NoImage {
        /// The class.
        class: NodeClassName,
        /// Which images there are, and that none starts on the types.
        why: String,
    },
    /// The class or the cluster is not ready; waiting may help.
    #[error("EC2NodeClass `{class}` is not ready: {}", Obstacle::in_words(obstacles))]
    NotReady {
        /// The class.
        class: NodeClassName,
        /// What stands against launches; never empty.
        obstacles: Vec<Obstacle>,
    },
    /// There is no claim to launch.
    #[error("a batch has no claims")]
    NoClaims,
    /// A name or a label that is made here breaks a rule, for this reason.
    #[error("{0}")]
    InvalidName(String),
    /// A label or taint of the claims that Kubernetes does not take: no kubelet could register with it.
    #[error("NodeClaim `{claim}`: {wrong} is not one that Kubernetes takes")]
    NotALabel {
        /// The first of the claims.
        claim: NodeClaimName,
        /// The key or value, and where it stands.
        wrong: String,
    },
    /// `spec.userData` cannot be merged.
    #[error("{0}")]
    UserData(String),
    /// `spec.userData` is too long with what is added to it.
    #[error(
        "EC2NodeClass `{class}`: spec.userData: with what is added to it, it has {bytes} bytes; EC2 \
         takes at most {bytes_max} before base64 (move parts of it to the image or to a file that it \
         fetches)"
    )]
    UserDataSize {
        /// The class.
        class: NodeClassName,
        /// What it has.
        bytes: usize,
        /// What EC2 takes.
        bytes_max: usize,
    },
}

/// The NodePool before what is said of its claims; nothing where a user made them.
fn of_pool(node_pool: &NodePoolName) -> String {
    if node_pool.is_none() { String::new() } else { format!("NodePool `{node_pool}`: ") }
}

/// The launch templates and the fleet request for `claims`, one batch: alike but for their names,
/// at least one. `types` are those of [`crate::offer`] for the same class. `instance_profile` is not
/// looked at where nodes are launched from a launch template of the user's own.
///
/// The same arguments give the same answer, so that a repeated request with the batch's token is
/// EC2's repeated request. Its count is the batch's size, whatever became of single claims.
pub fn requests(
    claims: &[NodeClaim],
    class: &ResolvedNodeClass,
    types: &[Arc<InstanceType>],
    settings: &ClusterSettings,
    instance_profile: &str,
) -> Result<Launch, BatchRefusal> {
    requests_with(
        claims,
        class,
        PricedTypes::at_list_prices(types),
        settings,
        instance_profile,
        MinValuesPolicy::Strict,
    )
}

/// What EC2 says of instance types.
type Descriptions = BTreeMap<InstanceTypeName, Arc<InstanceTypeInfo>>;

/// The instance types that a batch may become, twice in the same order.
#[derive(Clone, Copy, Debug)]
pub struct PricedTypes<'a> {
    /// With the prices and the capacity that NodeOverlays give them. What is chosen, and in which order EC2 is asked
    /// for it, follows these.
    pub types: &'a [Arc<InstanceType>],
    /// As [`crate::offer`] has them: at EC2's prices.
    pub listed: &'a [Arc<InstanceType>],
    /// What EC2 says of them, for the expressions of their class.
    pub descriptions: Option<&'a Descriptions>,
}

impl<'a> PricedTypes<'a> {
    /// Types that no overlay changes.
    pub fn at_list_prices(types: &'a [Arc<InstanceType>]) -> Self {
        Self { types, listed: types, descriptions: None }
    }

    /// Whether an overlay gives a price to something that is asked for `claim`. EC2 would choose by its own prices unless
    /// it is given priorities. If no overlay is at hand, the claim says whether one priced it.
    fn is_repriced(
        &self,
        claim: &NodeClaim,
        templates: &[FleetTemplate],
        capacity_type: CapacityType,
    ) -> bool {
        if std::ptr::eq(self.types, self.listed) {
            return claim.is_marked(labels::PRICE_OVERLAY_APPLIED);
        }
        let is_repriced = |wanted: &FleetOverride| {
            let (instance_type, zone) = (wanted.instance_type.clone(), wanted.zone.clone());
            let key = OfferingKey { capacity_type, instance_type, zone };
            let listed = self.listed.iter().find(|listed| listed.name == key.instance_type);
            let listed = listed.and_then(|listed| listed.offering(&key));
            listed.is_some_and(|listed| listed.price != wanted.price)
        };
        templates.iter().flat_map(|template| &template.overrides).any(is_repriced)
    }
}

/// The same, where NodeOverlays may have changed types, and `minValues` that cannot be reached may be no reason to
/// refuse.
pub fn requests_with(
    claims: &[NodeClaim],
    class: &ResolvedNodeClass,
    sold: PricedTypes<'_>,
    settings: &ClusterSettings,
    instance_profile: &str,
    min_values: MinValuesPolicy,
) -> Result<Launch, BatchRefusal> {
    let Some(claim) = claims.first() else {
        return Err(BatchRefusal::NoClaims);
    };
    check_ready(claim, class)?;
    let no_capacity = |why| BatchRefusal::NoCapacity { node_pool: claim.node_pool.clone(), why };
    let candidates = candidates(claim, sold.types, min_values).map_err(no_capacity)?;
    let capacity_type = capacity_type(&candidates);
    let batch = Batch { claim, class, settings, capacity_type, instance_profile };
    let subnets = subnet_of_zones(&class.subnets);
    let mut templates = BTreeMap::new();
    let mut fleet_templates = Vec::new();
    let grouped = groups(&candidates, claim, class, capacity_type, sold.descriptions)?;
    for group in &grouped {
        let overrides = overrides(group, capacity_type, &subnets);
        if overrides.is_empty() {
            continue;
        }
        match &class.launch_template {
            ResolvedTemplate::Made => {
                let template = launch_template(batch.template_data(group)?);
                fleet_templates.push(FleetTemplate {
                    template: template.name.clone(),
                    version: TemplateVersion::Latest,
                    overrides,
                });
                templates.insert(template.name.clone(), template);
            }
            ResolvedTemplate::Named { name, version } => {
                add_to_named(&mut fleet_templates, name, *version, overrides);
            }
        }
    }
    if fleet_templates.is_empty() {
        let why = "no subnet of the EC2NodeClass is in a zone of an available offering";
        return Err(no_capacity(why.to_owned()));
    }
    let size = u32::try_from(claims.len()).unwrap_or(u32::MAX);
    let is_relaxed = claim.is_marked(labels::MIN_VALUES_RELAXED);
    let request = FleetRequest {
        token: claim.batch.clone(),
        count: claim.batch_size.max(size),
        capacity_type,
        market: grouped.first().map(Group::market).unwrap_or_default(),
        is_prioritized: sold.is_repriced(claim, &fleet_templates, capacity_type),
        context: class.class.context.clone().filter(|_| !is_relaxed),
        templates: fleet_templates,
        tags: batch.tags(),
    };
    Ok(Launch { templates: templates.into_values().collect(), request })
}

/// All groups are launched from the one template: what tells them apart is not in it.
fn add_to_named(
    templates: &mut Vec<FleetTemplate>,
    name: &LaunchTemplateName,
    version: TemplateVersion,
    overrides: Vec<FleetOverride>,
) {
    if let Some(FleetTemplate { overrides: all, .. }) = templates.first_mut() {
        all.extend(overrides);
        all.sort();
        return;
    }
    templates.push(FleetTemplate { template: name.clone(), version, overrides });
}

/// What all launch templates of a batch have in common.
struct Batch<'a> {
    claim: &'a NodeClaim,
    class: &'a ResolvedNodeClass,
    settings: &'a ClusterSettings,
    capacity_type: CapacityType,
    instance_profile: &'a str,
}

impl Batch<'_> {
    fn tags(&self) -> BTreeMap<String, String> {
        resource_tags(&self.class.class, &self.settings.name, &self.claim.node_pool)
    }

    /// The labels that the node gets: the claim's and its capacity type.
    fn labels(&self) -> BTreeMap<String, String> {
        let mut node_labels = claim_labels(self.claim);
        node_labels.insert(labels::CAPACITY_TYPE.to_owned(), self.capacity_type.to_string());
        node_labels
    }

    fn template_data(&self, group: &Group<'_>) -> Result<LaunchTemplateData, BatchRefusal> {
        let Self { claim, settings, .. } = *self;
        let class = &self.class.class;
        let kubelet = group.kubelet(&class.kubelet);
        let node = Node {
            claim: &claim.name,
            class: self.class,
            kubelet: &kubelet,
            max_pods: match class.kubelet.max_pods {
                Some(MaxPods::Number(number)) => number.into(),
                Some(MaxPods::Expression(_)) | None => group.pods,
            },
            settings,
            labels: self.labels(),
            taints: claim.taints.iter().chain(&claim.startup_taints).cloned().collect(),
        };
        Ok(LaunchTemplateData {
            image: group.image.id.clone(),
            user_data: user_data(&node)?,
            instance_profile: self.instance_profile.to_owned(),
            block_devices: block_devices(class, family::default_block_devices(class.image_family)),
            metadata_options: class.metadata_options.clone(),
            sends_http_protocol_ipv6: sends_http_protocol_ipv6(settings),
            detailed_monitoring: class.detailed_monitoring.unwrap_or_default(),
            interfaces: interfaces(class, group.adapters),
            security_groups: self.class.security_groups.clone(),
            associate_public_ip_address: class.associate_public_ip_address,
            ip_prefix_count: class.ip_prefix_count,
            is_ipv6: is_ipv6(settings),
            connection_tracking: class.connection_tracking,
            nested_virtualization: class.nested_virtualization,
            runs_enclaves: class.enclaves.unwrap_or_default(),
            tenancy: tenancy(claim).to_owned(),
            placement_group: placement(self.class, claim),
            reservation: group.reservation.clone(),
            tags: self.tags(),
            is_spot: self.capacity_type == CapacityType::Spot,
        })
    }
}

/// Whether something stands against launching `claim` from the class.
fn check_ready(claim: &NodeClaim, class: &ResolvedNodeClass) -> Result<(), BatchRefusal> {
    let name = &class.class.name;
    if class.class.is_deleting {
        let why = format!("EC2NodeClass `{name}` is being deleted");
        return Err(BatchRefusal::NoCapacity { node_pool: claim.node_pool.clone(), why });
    }
    let ready = readiness(&class.class, &Findings::of_resolved(class), None);
    if !ready.obstacles().is_empty() {
        let obstacles = ready.obstacles().to_vec();
        return Err(BatchRefusal::NotReady { class: name.clone(), obstacles });
    }
    Ok(())
}

/// For each zone the subnet with the most free addresses; ties go to the one that stands first.
fn subnet_of_zones(subnets: &[Subnet]) -> BTreeMap<&Zone, &SubnetId> {
    let mut best: BTreeMap<&Zone, &Subnet> = BTreeMap::new();
    for subnet in subnets {
        let free = subnet.available_ip_address_count;
        match best.get(&subnet.zone) {
            Some(kept) if kept.available_ip_address_count >= free => {}
            _ => {
                best.insert(&subnet.zone, subnet);
            }
        }
    }
    best.into_iter().map(|(zone, subnet)| (zone, &subnet.id)).collect()
}

/// One override for each type and zone that has an offering of the capacity type and a subnet.
fn overrides(
    group: &Group<'_>,
    capacity_type: CapacityType,
    subnets: &BTreeMap<&Zone, &SubnetId>,
) -> Vec<FleetOverride> {
    let mut fleet_overrides: Vec<FleetOverride> = Vec::new();
    for candidate in &group.candidates {
        let name = &candidate.instance_type.name;
        let mut zones = BTreeSet::new();
        let chosen = candidate
            .offerings
            .iter()
            .filter(|offering| offering.capacity_type == capacity_type && group.covers(offering));
        for offering in chosen.filter(|offering| zones.insert(&offering.zone)) {
            let Some(subnet) = subnets.get(&offering.zone) else {
                continue;
            };
            fleet_overrides.push(FleetOverride {
                instance_type: name.clone(),
                zone: offering.zone.clone(),
                subnet: (*subnet).clone(),
                image: group.image.id.clone(),
                price: offering.price,
            });
        }
    }
    fleet_overrides.sort();
    fleet_overrides
}

#[cfg(test)]
mod tests;
