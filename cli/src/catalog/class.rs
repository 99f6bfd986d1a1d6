//! The EC2NodeClass that instance types are listed for.

use std::path::Path;

use api::{
    files,
    objects::{NodeClassManifest, Object},
};
use dispatch::Settings;
use model::{
    Problem,
    node_class::{ClassStatus, NodeClass, ResolvedNodeClass, ResolvedTemplate, Subnet},
};
use report::error::BadInput;

use super::args::CatalogArgs;
use super::source::Source;
use crate::{cluster_facts, manifests};

/// A class that says nothing but what it must.
const PLAIN: &str = "\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: none
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {a: \"*\"}}]
  securityGroupSelectorTerms: [{tags: {a: \"*\"}}]
";

/// The class of the arguments, or a plain one.
pub(super) fn load(
    args: &CatalogArgs,
    source: &Source,
    settings: &Settings,
) -> Result<ResolvedNodeClass, BadInput> {
    let (text, file) = match &args.node_class {
        Some(path) => (manifests::text(path)?, path.display().to_string()),
        None => (PLAIN.to_owned(), "(built in)".to_owned()),
    };
    let (class, mut status) = only_class(&text, &file, settings)?;
    if let Some(path) = &args.capacity_reservations {
        let left = cluster_facts::reservations_left(&manifests::text(path)?)
            .map_err(|error| unreadable(path, &error))?;
        for reservation in &mut status.reservations {
            reservation.available_count =
                left.get(reservation.id.as_str()).copied().unwrap_or_default();
        }
    }
    if status.subnets.is_empty() {
        status.subnets = everywhere(source);
    }
    Ok(ResolvedNodeClass {
        class,
        subnets: status.subnets,
        security_groups: status.security_groups,
        images: status.images,
        reservations: status.reservations,
        placement_group: None,
        // Nothing is launched: which version it has does not matter.
        launch_template: ResolvedTemplate::Made,
    })
}

/// A subnet in each zone, for a class whose own are not known.
fn everywhere(source: &Source) -> Vec<Subnet> {
    let market = &source.market;
    let subnet = |(number, zone): (usize, model::Zone)| {
        let id = model::SubnetId::new(&format!("subnet-{number}")).ok()?;
        let zone_id =
            market.zones.get(&zone).cloned().or_else(|| model::ZoneId::new(zone.as_str()).ok())?;
        Some(Subnet { id, zone, zone_id, available_ip_address_count: 0 })
    };
    market.all_zones().into_iter().enumerate().filter_map(subnet).collect()
}

fn only_class(
    text: &str,
    file: &str,
    settings: &Settings,
) -> Result<(NodeClass, ClassStatus), BadInput> {
    let manifest = files::read(text, file);
    if !manifest.problems.is_empty() {
        return Err(BadInput(manifest.problems.iter().map(ToString::to_string).collect()));
    }
    let classes = manifest.objects.into_iter().filter_map(|object| match object {
        Object::NodeClass(class) => Some(*class),
        _ => None,
    });
    let mut classes: Vec<NodeClassManifest> = classes.collect();
    match (classes.pop(), classes.is_empty()) {
        (Some(NodeClassManifest { mut class, status, .. }), true) => {
            settings.open_gates([&mut class]);
            check(&class, file)?;
            let name = &class.name;
            let wrong = |problem: Problem| format!("{file}: EC2NodeClass {name}: {problem}");
            let status = status.map_err(|problem| BadInput::one(wrong(*problem)))?;
            Ok((class, status))
        }
        (Some(_), false) => Err(BadInput::one(format!("{file}: has more than one EC2NodeClass"))),
        (None, _) => Err(BadInput::one(format!("{file}: has no EC2NodeClass"))),
    }
}

/// Refuses what would be listed wrong.
fn check(class: &NodeClass, file: &str) -> Result<(), BadInput> {
    let mut problems = class.problems.clone();
    if class.placement_group.is_some() {
        let field = "spec.placementGroupSelector";
        problems.push(Problem::unsupported(field, "(its strategy is not known here)"));
    }
    if problems.is_empty() {
        return Ok(());
    }
    let name = &class.name;
    Err(BadInput(
        problems.iter().map(|text| format!("{file}: EC2NodeClass {name}: {text}")).collect(),
    ))
}

fn unreadable(path: &Path, error: &cluster_facts::BadClusterFacts) -> BadInput {
    BadInput::one(format!("{}: {error}", path.display()))
}
