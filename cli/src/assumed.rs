//! What is taken for granted of a class without a status: what its selectors would find in an account
//! cannot be known here, so they find something everywhere.

use launch_template::instance_profile_name;
use model::{
    ImageId, RegionCatalog, Requirement, SecurityGroupId, SubnetId, Zone, ZoneId, image_alias,
    labels,
    node_class::{
        ClassStatus, ClusterSettings, Image, ImageTerm, NodeClass, NodeIdentity, Subnet,
        TemplateSource,
    },
};
use report::error::BadInput;
use simulator::WorldSettings;

/// A subnet in every zone of the region, with room for any number of nodes.
pub(crate) fn subnets(catalog: &RegionCatalog) -> Result<Vec<Subnet>, BadInput> {
    let subnet = |(index, (zone, zone_id)): (usize, (&Zone, &ZoneId))| {
        Ok(Subnet {
            id: made_up(SubnetId::new(&format!("subnet-{index:08}")))?,
            zone: zone.clone(),
            zone_id: zone_id.clone(),
            available_ip_address_count: u32::MAX,
        })
    };
    catalog.zones.iter().enumerate().map(subnet).collect()
}

/// An image for every architecture that the class's family runs on, as the class names it, and those in words.
pub(crate) fn images(class: &NodeClass) -> Result<(Vec<Image>, &'static str), BadInput> {
    // Windows runs on one architecture only.
    let (number, words) =
        if class.image_family.is_windows() { (1, "amd64") } else { (2, "amd64 and arm64") };
    let image = |(index, architecture): (usize, &str)| {
        let architecture = Requirement::of_label(labels::ARCH, architecture);
        Ok(Image {
            id: match class.image_terms.get(index).or_else(|| class.image_terms.first()) {
                Some(ImageTerm::Id(id)) => id.clone(),
                _ => made_up(ImageId::new(&format!("ami-{index:08}")))?,
            },
            name: String::new(),
            created_at: None,
            deprecated_at: None,
            requirements: [made_up(architecture)?].into_iter().collect(),
        })
    };
    let images = ["amd64", "arm64"].into_iter().take(number).enumerate().map(image);
    Ok((images.collect::<Result<_, _>>()?, words))
}

/// Whether AWS builds the images that `class` names by an alias for the Kubernetes version of the simulated cluster,
/// and if not, why.
pub(crate) fn check_aliases(class: &NodeClass) -> Result<(), String> {
    let kubernetes_version = WorldSettings::default().kubernetes_version;
    for term in &class.image_terms {
        if let ImageTerm::Alias { family, version } = term {
            image_alias::parameters(*family, version, &kubernetes_version)?;
        }
    }
    Ok(())
}

/// The status that `class` would have where its selectors find something everywhere; what of it is
/// taken for granted, in words.
pub(crate) fn status(
    class: &NodeClass,
    catalog: &RegionCatalog,
    cluster: &ClusterSettings,
) -> Result<(ClassStatus, Vec<String>), BadInput> {
    let (images, architectures) = images(class)?;
    let about = |what: String| format!("EC2NodeClass {}: {what}", class.name);
    let mut assumptions = vec![
        about(format!("a subnet in every zone of {}", catalog.region)),
        about(format!("an image for {architectures}")),
        about("one security group".to_owned()),
    ];
    let profile = match &class.identity {
        NodeIdentity::InstanceProfile(name) => name.clone(),
        NodeIdentity::Role(role) => {
            let name = instance_profile_name(cluster, role, &class.name);
            assumptions.push(about(format!("the instance profile {name} of the role {role}")));
            name
        }
    };
    let status = ClassStatus {
        subnets: subnets(catalog)?,
        security_groups: vec![made_up(SecurityGroupId::new("sg-00000000"))?],
        images,
        instance_profile: (class.launch_template == TemplateSource::Made).then_some(profile),
        ..ClassStatus::default()
    };
    Ok((status, assumptions))
}

fn made_up<T, E: ToString>(id: Result<T, E>) -> Result<T, BadInput> {
    id.map_err(|error| BadInput::one(error.to_string()))
}
