//! What each EC2NodeClass offers.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use model::{
    ImageId, NodeClassName, RegionCatalog, Requirement, SubnetId,
    facts::ClassOffer,
    labels,
    node_class::{Image, NodeClass, Obstacle, ResolvedNodeClass, ResolvedTemplate, Subnet},
};

use super::input::Loaded;
use crate::{args::PlanArgs, manifests, manifests::BadInput};

/// What can be bought.
pub(super) struct Offers {
    pub(super) classes: BTreeMap<NodeClassName, ClassOffer>,
}

/// The offers of all classes: of the file's types as they are, else of the built-in ones as nodes of
/// each class would have them.
pub(super) fn load(args: &PlanArgs, loaded: &Loaded, now: Timestamp) -> Result<Offers, BadInput> {
    let catalog = match &args.instance_types {
        Some(path) => instance_catalog::read(&manifests::text(path)?)
            .map_err(|error| BadInput::one(format!("{}: {error}", path.display())))?,
        None => instance_catalog::builtin().map_err(|error| BadInput::one(error.to_string()))?,
    };
    let mut classes = BTreeMap::new();
    for (class, not_ready) in &loaded.node_classes {
        // Types of a file are taken as they are: what the class lacks to make them is no matter.
        let filter = class.problems.iter().filter(|_| args.instance_types.is_none());
        let map = filter.cloned().map(Obstacle::Problem);
        let obstacles: Vec<Obstacle> =
            map.chain(not_ready.clone().map(Obstacle::NotReady)).collect();
        let offer = if !obstacles.is_empty() {
            ClassOffer::NotReady(obstacles)
        } else if args.instance_types.is_some() {
            ClassOffer::Ready(catalog.instance_types.iter().map(Arc::clone).collect())
        } else {
            let resolved = assumed(class, &catalog)?;
            ClassOffer::Ready(launch_template::offer(&catalog, &resolved, &BTreeMap::new(), now))
        };
        classes.insert(class.name.clone(), offer);
    }
    if args.instance_types.is_some() {
        let types = || catalog.instance_types.iter().map(Arc::clone).collect();
        for name in refused(loaded) {
            classes.entry(name).or_insert_with(|| ClassOffer::Ready(types()));
        }
    }
    Ok(Offers { classes })
}

/// The class as if its selectors found a subnet in every zone of the catalog and an image for every
/// architecture: which they would find in an account cannot be known here.
fn assumed(class: &NodeClass, catalog: &RegionCatalog) -> Result<ResolvedNodeClass, BadInput> {
    let mut subnets = Vec::new();
    for (index, (zone, zone_id)) in catalog.zones.iter().enumerate() {
        subnets.push(Subnet {
            id: made_up(SubnetId::new(&format!("subnet-{index:08}")))?,
            zone: zone.clone(),
            zone_id: zone_id.clone(),
            available_ip_address_count: u32::MAX,
        });
    }
    let mut images = Vec::new();
    for (index, architecture) in ["amd64", "arm64"].into_iter().enumerate() {
        let architecture = Requirement::of_label(labels::ARCH, architecture);
        images.push(Image {
            id: made_up(ImageId::new(&format!("ami-{index:08}")))?,
            name: String::new(),
            created_at: None,
            deprecated_at: None,
            requirements: [made_up(architecture)?].into_iter().collect(),
        });
    }
    // Windows runs on one architecture only.
    images.truncate(if class.image_family.is_windows() { 1 } else { 2 });
    Ok(ResolvedNodeClass {
        class: class.clone(),
        subnets,
        security_groups: Vec::new(),
        images,
        reservations: Vec::new(),
        placement_group: None,
        // Nothing is launched: which version it has does not matter.
        launch_template: ResolvedTemplate::Made,
    })
}

fn made_up<T, E: ToString>(id: Result<T, E>) -> Result<T, BadInput> {
    id.map_err(|error| BadInput::one(error.to_string()))
}

/// Classes that could not be read: nothing could be launched as they say, but they are there.
fn refused(loaded: &Loaded) -> impl Iterator<Item = NodeClassName> {
    let objects = loaded.problems.iter().filter_map(|problem| problem.object.as_ref());
    let classes = objects.filter(|object| object.kind == "EC2NodeClass");
    classes.filter_map(|class| NodeClassName::new(&class.name).ok())
}
