//! What an EC2NodeClass selects, from its status: `resolve` looked, and no other function does.
//!
//! Karpenter: `pkg/cloudprovider/cloudprovider.go` of the AWS provider: a launch takes subnets,
//! security groups and images from the status, and no class whose `Ready` is not true or is about
//! another generation. Only instances left in reservations, and free addresses before a launch, are read
//! anew, from the caches of `pkg/providers/{subnet,capacityreservation}`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{
    ReservationId, SubnetId,
    condition::NotReady,
    launch::TemplateVersion,
    node_class::{
        CapacityReservation, ClassStatus, ListedNodeClass, NodeClass, Obstacle, ResolvedNodeClass,
        ResolvedTemplate, SecurityGroup, Subnet, TemplateSource,
    },
};

use crate::{
    readiness::{Selected, own_obstacles, resolved},
    selection::usable_reservations,
};

/// What of that which classes select changes with every launch: it is asked when it is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// How many addresses are free in each subnet, where that was asked for. One that is not listed then is
    /// gone.
    pub free_addresses: Option<BTreeMap<SubnetId, u32>>,
    /// How many instances each capacity reservation still takes. One that is not listed is over.
    pub reservations_left: BTreeMap<ReservationId, u32>,
}

/// The class that is `listed` with all that its status says that it selects, or what stands against
/// launching from it. It is not guessed what a class selects whose status does not say it.
pub fn of_status(
    listed: &ListedNodeClass,
    live: &Live,
    now: Timestamp,
) -> Result<Box<ResolvedNodeClass>, Vec<Obstacle>> {
    let class = &listed.class;
    let mut obstacles = own_obstacles(class);
    obstacles.extend(listed.not_ready.clone().map(Obstacle::NotReady));
    match &listed.status {
        Some(status) if obstacles.is_empty() => selected(class, status, live, now)
            .map_err(|why| vec![Obstacle::NotReady(why)])
            .and_then(|selected| resolved(class, selected)),
        None if obstacles.is_empty() => Err(vec![Obstacle::NotReady(NotReady::Unseen)]),
        _ => Err(obstacles),
    }
}

/// What `class` selects, by its `status`: that of the present generation.
pub fn selected(
    class: &NodeClass,
    status: &ClassStatus,
    live: &Live,
    now: Timestamp,
) -> Result<Selected, NotReady> {
    let missing = |what: &str| NotReady::Unreadable(format!("it does not say {what}"));
    let launch_template = match (&class.launch_template, status.launch_template_version) {
        (TemplateSource::Made, _) => ResolvedTemplate::Made,
        (TemplateSource::Named(name), Some(version)) => ResolvedTemplate::Named {
            name: name.clone(),
            version: TemplateVersion::Number(version),
        },
        (TemplateSource::Named(_), None) => {
            return Err(missing("which version of its launch template was looked at"));
        }
    };
    let placement_group = match &class.placement_group {
        None => None,
        Some(_) if status.placement_group.is_none() => {
            return Err(missing("which placement group it selects"));
        }
        Some(_) => status.placement_group.clone(),
    };
    let subnets = status.subnets.iter().filter_map(|subnet| match &live.free_addresses {
        None => Some(subnet.clone()),
        Some(free) => {
            let available_ip_address_count = *free.get(&subnet.id)?;
            Some(Subnet { available_ip_address_count, ..subnet.clone() })
        }
    });
    let mut subnets: Vec<Subnet> = subnets.collect();
    subnets.sort_by(|subnet, other| subnet.id.cmp(&other.id));
    let left = |id: &ReservationId| live.reservations_left.get(id).copied();
    let reservations = status.reservations.iter().filter_map(|reservation| {
        let available_count = left(&reservation.id)?;
        Some(CapacityReservation { available_count, ..reservation.clone() })
    });
    let groups = status.security_groups.iter();
    Ok(Selected {
        subnets,
        security_groups: groups
            .map(|id| SecurityGroup { id: id.clone(), name: String::new() })
            .collect(),
        images: Ok(status.images.clone()),
        reservations: usable_reservations(reservations.collect(), now),
        placement_group: Ok(placement_group),
        launch_template: Ok(launch_template),
    })
}

#[cfg(test)]
mod tests;
