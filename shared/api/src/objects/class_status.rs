//! The `status` of EC2NodeClasses: what a controller found for a class.
//!
//! Karpenter's AWS provider: `pkg/apis/v1/ec2nodeclass_status.go`.

use model::{
    ImageId, InstanceTypeName, Problem, Requirement, Requirements, ReservationId, SecurityGroupId,
    SubnetId, Zone, ZoneId, labels,
    node_class::{CapacityReservation, ClassStatus, Image, Subnet},
};

use crate::{
    document::field::{Complaints, Field, Unknown},
    karpenter::word::Words,
};

/// Reads `status` of `object`, and the annotations beside it, which are there for those who need them:
/// what is wrong with them is the first error, and no fault of the object.
pub(crate) fn read(object: &Field<'_>) -> Result<ClassStatus, Box<Problem>> {
    let complaints = Complaints::new(Unknown::Ignored);
    let root = Field::root(object.tree(), &complaints);
    let mut status = ClassStatus::default();
    let fields = root.fields().and_then(|mut fields| fields.get("status"));
    if let Some(mut fields) = fields.and_then(|field| field.fields()) {
        let mut items = |key: &'static str| fields.get(key).and_then(|f| f.list());
        let subnets = items("subnets").unwrap_or_default();
        status.subnets = subnets.iter().filter_map(subnet).collect();
        let groups = items("securityGroups").unwrap_or_default();
        status.security_groups = groups.iter().filter_map(security_group).collect();
        let images = items("amis").unwrap_or_default();
        status.images = images.iter().filter_map(image).collect();
        let reservations = items("capacityReservations").unwrap_or_default();
        status.reservations = reservations.iter().filter_map(reservation).collect();
        let profile = fields.get("instanceProfile").and_then(|field| field.text());
        status.instance_profile = profile.filter(|name| !name.is_empty()).map(ToOwned::to_owned);
    }
    let metadata = root.fields().and_then(|mut fields| fields.get("metadata")?.fields());
    let annotations = metadata.and_then(|mut metadata| metadata.get("annotations")?.fields());
    if let Some(mut annotations) = annotations {
        let group = annotations.get(labels::SELECTED_PLACEMENT_GROUP);
        status.placement_group = group.and_then(|field| field.parsed(str::parse));
        let version = annotations.get(labels::LAUNCH_TEMPLATE_VERSION);
        status.launch_template_version = version.and_then(|field| field.parsed(str::parse));
        let candidates = annotations.get(labels::CANDIDATE_IMAGES);
        let images = |text: &str| text.split(',').map(ImageId::new).collect::<Result<_, _>>();
        status.candidates = candidates.and_then(|field| field.parsed(images)).unwrap_or_default();
    }
    match complaints.into_list().into_iter().next() {
        Some(complaint) => Err(Box::new(complaint.problem)),
        None => Ok(status),
    }
}

fn subnet(item: &Field<'_>) -> Option<Subnet> {
    let mut fields = item.fields()?;
    let (id, zone) = (fields.require("id")?, fields.require("zone")?);
    // Statuses that Karpenter wrote before 1.0 have no zone id.
    let zone_id = fields.get("zoneID").unwrap_or_else(|| zone.clone());
    Some(Subnet {
        id: id.parsed(SubnetId::new)?,
        zone: zone.parsed(Zone::new)?,
        zone_id: zone_id.parsed(ZoneId::new)?,
        available_ip_address_count: 0,
    })
}

fn security_group(item: &Field<'_>) -> Option<SecurityGroupId> {
    item.fields()?.require("id")?.parsed(SecurityGroupId::new)
}

fn image(item: &Field<'_>) -> Option<Image> {
    let mut fields = item.fields()?;
    let id = fields.require("id")?.parsed(ImageId::new)?;
    let name = fields.get("name").and_then(|field| field.text()).unwrap_or_default();
    let requirements =
        fields.get("requirements").and_then(|field| field.list()).unwrap_or_default();
    let requirements: Option<Requirements> = requirements.iter().map(requirement).collect();
    Some(Image {
        id,
        name: name.to_owned(),
        created_at: None,
        deprecated_at: None,
        requirements: requirements?,
    })
}

fn requirement(item: &Field<'_>) -> Option<Requirement> {
    let mut fields = item.fields()?;
    let key = fields.require("key").and_then(|field| field.text_not_empty());
    let operator = fields.require("operator").and_then(|field| field.choice(Words::WORDS));
    let values = fields.get("values").map_or(Some(Vec::new()), |field| field.texts());
    item.accept(Requirement::new(key?, operator?, values?.iter().copied()))
}

fn reservation(item: &Field<'_>) -> Option<CapacityReservation> {
    let mut fields = item.fields()?;
    let id = fields.require("id")?.parsed(ReservationId::new)?;
    let instance_type = fields.require("instanceType")?.parsed(InstanceTypeName::new)?;
    let zone = fields.require("availabilityZone")?.parsed(Zone::new)?;
    let owner = fields.get("ownerID").and_then(|field| field.text()).unwrap_or_default().to_owned();

    let match_criteria = fields.get("instanceMatchCriteria").and_then(|f| f.choice(Words::WORDS));
    let kinds = &[("default", false), ("capacity-block", true)];
    let kind = fields.get("reservationType").and_then(|field| field.choice(kinds));
    let interruptible = fields.get("interruptible").and_then(|field| field.boolean());
    let states = &[("active", false), ("expiring", true)];
    let state = fields.get("state").and_then(|field| field.choice(states));
    let ends_at = fields.get("endTime").and_then(|field| field.parsed(str::parse));
    Some(CapacityReservation {
        id,
        instance_type,
        zone,
        owner,
        match_criteria: match_criteria.unwrap_or_default(),
        is_capacity_block: kind.unwrap_or_default(),
        is_interruptible: interruptible.unwrap_or_default(),
        is_expiring: state.unwrap_or_default(),
        ends_at,
        available_count: 0,
    })
}
