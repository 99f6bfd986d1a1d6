//! Instance types with offerings.

use std::sync::Arc;

use model::{CapacityType, InstanceType, Offering, Requirement, Requirements, Reservation, labels};

use super::text::{id, price, requirement, resources};

/// An instance type under construction; see [`instance_type`].
#[derive(Clone, Debug)]
pub struct TypeBuilder(InstanceType);

/// An instance type such as `m7g.large` with `capacity`, no overhead and no offering yet: arm64 if
/// its family ends with `g`, linux, in us-west-2, with the labels that follow from its name.
///
/// # Panics
///
/// When a text is wrong.
#[track_caller]
pub fn instance_type(name: &str, capacity: &str) -> TypeBuilder {
    let (family, size) = name.split_once('.').unwrap_or((name, ""));
    let capacity = resources(capacity);
    let arch = if family.ends_with('g') { "arm64" } else { "amd64" };
    let category: String = family.chars().take(1).collect();
    let cpu = capacity.cpu.0.div_ceil(1_000).to_string();
    let memory = (capacity.memory.0 >> 20).to_string();
    let requirements: Requirements = [
        (labels::INSTANCE_TYPE, name),
        (labels::ARCH, arch),
        (labels::OS, "linux"),
        (labels::REGION, "us-west-2"),
        ("karpenter.k8s.aws/instance-category", &category),
        ("karpenter.k8s.aws/instance-family", family),
        ("karpenter.k8s.aws/instance-size", size),
        ("karpenter.k8s.aws/instance-cpu", &cpu),
        ("karpenter.k8s.aws/instance-memory", &memory),
    ]
    .iter()
    .map(|(key, value)| requirement(&format!("{key} In {value}")))
    .chain([requirement("karpenter.k8s.aws/instance-gpu-count DoesNotExist")])
    .collect();
    let (name, overhead) = (id(name), resources(""));
    TypeBuilder(InstanceType { name, requirements, capacity, overhead, offerings: Vec::new() })
}

impl TypeBuilder {
    /// Puts a label's requirement in place of the type's own.
    #[must_use]
    #[track_caller]
    pub fn label(mut self, text: &str) -> Self {
        self.0.requirements.replace(requirement(text));
        self
    }

    /// What the system takes of the capacity.
    #[must_use]
    #[track_caller]
    pub fn overhead(mut self, text: &str) -> Self {
        self.0.overhead = resources(text);
        self
    }

    /// Can be bought on demand in `zone` for `dollars` an hour.
    #[must_use]
    #[track_caller]
    pub fn on_demand(self, zone: &str, dollars: &str) -> Self {
        self.offering(CapacityType::OnDemand, zone, dollars)
    }

    /// Can be bought as spot capacity in `zone` for `dollars` an hour.
    #[must_use]
    #[track_caller]
    pub fn spot(self, zone: &str, dollars: &str) -> Self {
        self.offering(CapacityType::Spot, zone, dollars)
    }

    /// Has `count` instances left of the capacity reservation `id` in `zone`, at next to no price.
    #[must_use]
    #[track_caller]
    pub fn reserved(mut self, zone: &str, id: &str, count: u32) -> Self {
        self = self.offering(CapacityType::Reserved, zone, "0.000001");
        let (id, kind) = (id.to_owned(), "default".to_owned());
        let named = format!("karpenter.k8s.aws/capacity-reservation-id In {id}");
        if let Some(offering) = self.0.offerings.last_mut() {
            let interruptible = false;
            offering.reservation =
                Some(Reservation { id: super::id(&id), kind, interruptible, count });
        }
        self.label(&named).label("karpenter.k8s.aws/capacity-reservation-type In default")
    }

    /// Nothing of it can be bought now.
    #[must_use]
    pub fn unavailable(mut self) -> Self {
        for offering in &mut self.0.offerings {
            offering.is_available = false;
        }
        self
    }

    /// The instance type. The zones of its offerings are its zones, and so are their capacity types.
    #[must_use]
    pub fn build(mut self) -> Arc<InstanceType> {
        let offerings = &self.0.offerings;
        let zones: Vec<&str> = offerings.iter().map(|o| o.zone.as_str()).collect();
        let capacity_types: Vec<&str> =
            offerings.iter().map(|o| o.capacity_type.as_str()).collect();
        let listed = |key: &str, values: Vec<&str>| -> Requirement {
            requirement(&format!("{key} In {}", values.join(" ")))
        };
        let zones = listed(labels::ZONE, zones);
        let capacity_types = listed(labels::CAPACITY_TYPE, capacity_types);
        self.0.requirements.replace(zones);
        self.0.requirements.replace(capacity_types);
        Arc::new(self.0)
    }

    #[track_caller]
    fn offering(mut self, capacity_type: CapacityType, zone: &str, dollars: &str) -> Self {
        self.0.offerings.push(Offering {
            zone: id(zone),
            zone_id: None,
            capacity_type,
            price: price(dollars),
            is_available: true,
            reservation: None,
        });
        self
    }
}
