//! What each EC2NodeClass offers.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use api::objects::NodeClassManifest;
use launch_template::{NodeSettings, VolumePrice, images_of_types, volume_price};
use model::{
    HourlyPrice, ImageId, InstanceType, InstanceTypeName, NodeClassName, Problem, RegionCatalog,
    Zone,
    condition::NotReady,
    facts::ClassOffer,
    labels,
    node_class::{
        ClassStatus, Image, NodeClass, Obstacle, ResolvedNodeClass, ResolvedTemplate, Subnet,
    },
    policies::Policies,
};
use report::error::BadInput;

use super::args::PlanArgs;
use super::input::Loaded;
use crate::{assumed, catalog::source, cluster_facts, manifests, validate};

/// What can be bought.
#[derive(Default)]
pub(super) struct Offers {
    pub(super) classes: BTreeMap<NodeClassName, ClassOffer>,
    /// The image that each type starts from, by class, of classes whose status selects images.
    pub(super) images: BTreeMap<NodeClassName, BTreeMap<InstanceTypeName, ImageId>>,
    /// Of these, the ones that canaries start from instead.
    pub(super) candidates: BTreeMap<NodeClassName, BTreeMap<InstanceTypeName, ImageId>>,
    /// Whether AWS said what it offers, so that what is missing is not offered.
    pub(super) is_whole: bool,
    /// What a node of each class costs beside its instance, where that is known.
    pub(super) charges: BTreeMap<NodeClassName, HourlyPrice>,
    /// What was taken for granted, because no object says it.
    pub(super) assumptions: Vec<String>,
    /// What of the classes plays no part.
    pub(super) notes: Vec<String>,
}

/// The offers of all classes: of the file's types as they are, else of those of the region as nodes of
/// each class would have them; and those types.
pub(super) fn load(
    args: &PlanArgs,
    loaded: &Loaded,
    policies: &Policies,
) -> Result<(Offers, RegionCatalog), BadInput> {
    let (mut offers, catalog) = if let Some(path) = &args.instance_types {
        let catalog = instance_catalog::read(&manifests::text(path)?)
            .map_err(|error| BadInput::one(format!("{}: {error}", path.display())))?;
        (of_file(&catalog, loaded, policies), catalog)
    } else {
        let (catalog, is_whole) = catalog(args)?;
        let offers = of_region(args, loaded, &catalog)?;
        (Offers { is_whole, ..offers }, catalog)
    };
    offers.notes.extend(validate::elsewhere(&loaded.node_pools, &catalog));
    offers.charge(loaded, &catalog.region);
    offers.images = images(&offers.classes, loaded, |_, _| true);
    offers.candidates =
        images(&offers.classes, loaded, |status, image| status.candidates.contains(&image.id));
    Ok((offers, catalog))
}

/// The images that the statuses of classes select and that are `meant`, by the types that start from them.
fn images(
    classes: &BTreeMap<NodeClassName, ClassOffer>,
    loaded: &Loaded,
    is_meant: fn(&ClassStatus, &Image) -> bool,
) -> BTreeMap<NodeClassName, BTreeMap<InstanceTypeName, ImageId>> {
    let of_class = |read: &NodeClassManifest| {
        let status = read.status.as_ref().ok()?;
        let images = status.images.iter().filter(|image| is_meant(status, image));
        let images: Vec<Image> = images.cloned().collect();
        let ClassOffer::Ready(types) = classes.get(&read.class.name)? else { return None };
        let types = types.iter().map(AsRef::as_ref);
        (!images.is_empty()).then(|| (read.class.name.clone(), images_of_types(&images, types)))
    };
    loaded.node_classes.iter().filter_map(|(read, _)| of_class(read)).collect()
}

impl Offers {
    /// Prices the volumes of classes that can be launched from, as they are sold in `region`.
    fn charge(&mut self, loaded: &Loaded, region: &str) {
        for (read, _) in &loaded.node_classes {
            let name = &read.class.name;
            if !matches!(self.classes.get(name), Some(ClassOffer::Ready(_))) {
                continue;
            }
            let VolumePrice { hourly, remarks } = volume_price(&read.class, region);
            self.assumptions
                .extend(remarks.iter().map(|remark| format!("EC2NodeClass {name}: {remark}")));
            self.charges.extend(hourly.map(|price| (name.clone(), price)));
        }
    }
}

/// Types of a file are taken as they are: what a class lacks to make them is no matter. Where no reserved capacity is
/// bought, they have none, as those that `catalog` finds.
fn of_file(catalog: &RegionCatalog, loaded: &Loaded, policies: &Policies) -> Offers {
    let bought: Vec<Arc<InstanceType>> = catalog
        .instance_types
        .iter()
        .map(|instance_type| {
            if policies.reserved_capacity {
                Arc::clone(instance_type)
            } else {
                Arc::new(instance_type.without_reservations())
            }
        })
        .collect();
    let types = || ClassOffer::Ready(bought.clone());
    let offer = |read: &NodeClassManifest, not_ready: &Option<NotReady>| {
        let obstacles: Vec<Obstacle> = not_ready
            .clone()
            .map(Obstacle::NotReady)
            .into_iter()
            .chain(read.class.is_deleting.then_some(Obstacle::Terminating))
            .collect();
        if obstacles.is_empty() { types() } else { ClassOffer::NotReady(obstacles) }
    };
    let read = loaded.node_classes.iter();
    let mut classes: BTreeMap<NodeClassName, ClassOffer> =
        read.map(|(read, not_ready)| (read.class.name.clone(), offer(read, not_ready))).collect();
    for name in refused(loaded) {
        classes.entry(name).or_insert_with(types);
    }
    Offers { classes, ..Offers::default() }
}

fn of_region(
    args: &PlanArgs,
    loaded: &Loaded,
    catalog: &RegionCatalog,
) -> Result<Offers, BadInput> {
    let settings = args.settings()?.nodes;
    let left = match &args.capacity_reservations {
        Some(path) => Some(
            cluster_facts::reservations_left(&manifests::text(path)?)
                .map_err(|error| BadInput::one(format!("{}: {error}", path.display())))?,
        ),
        None => None,
    };
    let (assumptions, notes) = (BTreeSet::new(), Vec::new());
    let mut region = Region { catalog, settings, left, assumptions, notes };
    let mut classes = BTreeMap::new();
    for (read, not_ready) in &loaded.node_classes {
        classes.insert(read.class.name.clone(), region.offer(read, not_ready.as_ref())?);
    }
    for name in refused(loaded) {
        let obstacle = Obstacle::Problem(Problem::unusable("", "it could not be read"));
        classes.entry(name).or_insert_with(|| ClassOffer::NotReady(vec![obstacle]));
    }
    region.note_nodes(loaded);
    let (assumptions, notes) = (region.assumptions.into_iter().collect(), region.notes);
    Ok(Offers { classes, assumptions, notes, ..Offers::default() })
}

/// The built-in types and prices, or those that AWS says of another region; and whether AWS said them.
fn catalog(args: &PlanArgs) -> Result<(RegionCatalog, bool), BadInput> {
    let builtin = instance_catalog::builtin().map_err(|error| BadInput::one(error.to_string()))?;
    match args.region.as_deref().filter(|region| *region != builtin.region) {
        Some(region) => {
            let source = source::live("plan --region", Some(region))?;
            Ok((source.catalog(&[], &NodeSettings::default()), true))
        }
        None => Ok((builtin, false)),
    }
}

/// What a region sells, and what was noticed of the classes that are there.
struct Region<'a> {
    catalog: &'a RegionCatalog,
    /// Of all nodes.
    settings: NodeSettings,
    /// Instances that are left, by capacity reservation.
    left: Option<BTreeMap<String, u32>>,
    assumptions: BTreeSet<String>,
    notes: Vec<String>,
}

impl Region<'_> {
    fn offer(
        &mut self,
        read: &NodeClassManifest,
        not_ready: Option<&NotReady>,
    ) -> Result<ClassOffer, BadInput> {
        let problems = read.class.problems.iter().cloned().map(Obstacle::Problem);
        let mut obstacles: Vec<Obstacle> =
            problems.chain(not_ready.cloned().map(Obstacle::NotReady)).collect();
        obstacles.extend(read.class.is_deleting.then_some(Obstacle::Terminating));
        let status = match &read.status {
            Ok(status) => status.clone(),
            Err(problem) => {
                obstacles.push(Obstacle::Problem(Problem::clone(problem)));
                ClassStatus::default()
            }
        };
        if status.images.is_empty()
            && let Err(why) = assumed::check_aliases(&read.class)
        {
            obstacles.push(Obstacle::Problem(Problem::unusable("spec.amiSelectorTerms", why)));
        }
        let failure =
            launch_template::expression_failure(self.catalog, &read.class, &self.settings);
        obstacles.extend(failure.map(|problem| Obstacle::Problem(*problem)));
        if !obstacles.is_empty() {
            return Ok(ClassOffer::NotReady(obstacles));
        }
        let resolved = self.resolved(&read.class, status)?;
        if let Err(refusal) = launch_template::check_user_data(&resolved) {
            let problem = Problem::unusable("", refusal.to_string());
            return Ok(ClassOffer::NotReady(vec![Obstacle::Problem(problem)]));
        }
        let types = launch_template::types_of(self.catalog, &resolved, &self.settings);
        Ok(ClassOffer::Ready(types))
    }

    /// The class with what its status names. Without a status it is as if its selectors found a subnet
    /// in every zone and an image for every architecture: which they would find in an account cannot
    /// be known here.
    fn resolved(
        &mut self,
        class: &NodeClass,
        status: ClassStatus,
    ) -> Result<ResolvedNodeClass, BadInput> {
        let name = &class.name;
        let ClassStatus { mut subnets, mut images, mut reservations, .. } = status;
        let region = &self.catalog.region;
        if subnets.is_empty() {
            subnets = assumed::subnets(self.catalog)?;
            self.assumptions
                .insert(format!("EC2NodeClass {name}: a subnet in every zone of {region}"));
        } else {
            self.check_region(class, &subnets)?;
        }
        for subnet in &mut subnets {
            subnet.available_ip_address_count = u32::MAX;
        }
        if images.is_empty() {
            let architectures;
            (images, architectures) = assumed::images(class)?;
            self.assumptions.insert(format!("EC2NodeClass {name}: an image for {architectures}"));
        }
        for reservation in &mut reservations {
            let left = self.left.as_ref().and_then(|left| left.get(reservation.id.as_str()));
            reservation.available_count = left.copied().unwrap_or_default();
        }
        if self.left.is_none() && !reservations.is_empty() {
            let ids: Vec<&str> =
                reservations.iter().map(|reservation| reservation.id.as_str()).collect();
            self.notes.push(format!(
                "EC2NodeClass {name}: capacity reservations are planned as full ({}): its status does \
                 not say how many instances are left, --capacity-reservations does",
                ids.join(", ")
            ));
        }
        Ok(ResolvedNodeClass {
            class: class.clone(),
            subnets,
            security_groups: Vec::new(),
            images,
            reservations,
            placement_group: None,
            // Nothing is launched: which version it has does not matter.
            launch_template: ResolvedTemplate::Made,
        })
    }

    /// Refuses a class whose subnets are all elsewhere: types and prices would be those of a region
    /// that it has nothing to do with.
    fn check_region(&self, class: &NodeClass, subnets: &[Subnet]) -> Result<(), BadInput> {
        let zones: BTreeSet<&Zone> = subnets.iter().map(|subnet| &subnet.zone).collect();
        let is_known = |zone: &&Zone| {
            self.catalog.zones.contains_key(*zone)
                || zone.as_str().starts_with(self.catalog.region.as_str())
        };
        if zones.iter().any(is_known) {
            return Ok(());
        }
        let zones: Vec<&str> = zones.into_iter().map(Zone::as_str).collect();
        let (name, zones, region) = (&class.name, zones.join(", "), &self.catalog.region);
        let theirs = zones.split(',').next().and_then(region_of).unwrap_or("REGION");
        Err(BadInput::one(format!(
            "EC2NodeClass {name}: its subnets are in {zones}, and the instance types are those of \
             {region}: give --region {theirs}, which asks AWS, or --instance-types"
        )))
    }

    /// Nodes of another region than the types are of.
    fn note_nodes(&mut self, loaded: &Loaded) {
        let region = &self.catalog.region;
        let mut elsewhere: BTreeMap<&str, u64> = BTreeMap::new();
        for node in &loaded.nodes {
            let theirs = node.labels.get(labels::REGION).filter(|theirs| *theirs != region);
            if let Some(theirs) = theirs {
                *elsewhere.entry(theirs).or_default() += 1;
            }
        }
        for (theirs, number) in elsewhere {
            let nodes = report::output::count(number, "node");
            self.notes.push(format!(
                "{nodes} of {theirs}: instance types and prices are those of {region}; give --region \
                 {theirs}, which asks AWS, or --instance-types"
            ));
        }
    }
}

/// `eu-west-1` of `eu-west-1a`.
fn region_of(zone: &str) -> Option<&str> {
    zone.strip_suffix(|letter: char| letter.is_ascii_lowercase())
}

/// Classes that could not be read: nothing could be launched as they say, but they are there.
fn refused(loaded: &Loaded) -> impl Iterator<Item = NodeClassName> {
    let objects = loaded.problems.iter().filter_map(|problem| problem.object.as_ref());
    let classes = objects.filter(|object| object.kind == "EC2NodeClass");
    classes.filter_map(|class| NodeClassName::new(&class.name).ok())
}
