//! CreateFleet: what it launches, what it refuses, and that repeating it changes nothing.
//!
//! Both strategies come down to the cheapest offering with capacity, by the catalog's prices; ties
//! go to the type, then to the zone, that sorts first. Real fleets weigh spot capacity as well.

use std::collections::BTreeMap;

use super::{
    AwsError, Held, Inherited, InstanceRecord, ReservationPreference, template::no_template,
};
use crate::{
    made_up,
    timeline::Happening,
    world::{Event, World},
};
use model::{
    BatchId, CapacityType, HourlyPrice, ImageId, InstanceId, LaunchTemplateName, OfferingKey,
    SubnetId,
    duration::later,
    launch::{FleetAnswer, FleetError, FleetInstance, FleetOverride, FleetRequest, InstanceState},
};

/// What instances that were there before were launched from, and under which token.
pub(crate) const INHERITED: &str = "inherited";

/// EC2's code for an offering that is sold out.
const NO_CAPACITY: &str = "InsufficientInstanceCapacity";

/// Requests by token, with what they brought; how many each token ever launched.
#[derive(Debug, Default)]
pub(crate) struct Launches {
    requests: BTreeMap<BatchId, (FleetRequest, FleetAnswer)>,
    pub(crate) instances: BTreeMap<BatchId, u32>,
}

/// An override that something can be launched from.
struct Choice<'a> {
    template: &'a LaunchTemplateName,
    wanted: &'a FleetOverride,
    preference: ReservationPreference,
    offering: OfferingKey,
    /// Outside of reservations that are paid for anyway.
    price: HourlyPrice,
}

impl World {
    pub(crate) fn launch(&mut self, request: &FleetRequest) -> Result<FleetAnswer, AwsError> {
        if self.settings.sabotage.forget_ledger_in_token {
            let token = self.without_ledger(&request.token);
            return self.launch_under(&FleetRequest { token, ..request.clone() });
        }
        self.launch_under(request)
    }

    /// `token` without the part that says of which ledger it is.
    fn without_ledger(&mut self, token: &BatchId) -> BatchId {
        let cluster = self.settings.cluster.clone();
        let ledger = self.ledger.cluster(&cluster).head.ledger.as_ref();
        let part = ledger.map_or_else(String::new, |ledger| format!("-{ledger}-"));
        made_up(BatchId::new(&token.as_str().replace(&part, "-")))
    }

    fn launch_under(&mut self, request: &FleetRequest) -> Result<FleetAnswer, AwsError> {
        if let Some((first, answer)) = self.account.launches.requests.get(&request.token)
            && !self.settings.sabotage.ignore_client_token
        {
            if first == request {
                return Ok(answer.clone());
            }
            let text = "the client token was used with another request";
            return Err(AwsError::new("IdempotentParameterMismatch", text));
        }
        self.check_request(request)?;
        let answer = self.fulfil(request);
        self.check_launch(request, &answer);
        let entry = (request.clone(), answer.clone());
        self.account.launches.requests.insert(request.token.clone(), entry);
        Ok(answer)
    }

    pub(crate) fn check_request(&mut self, request: &FleetRequest) -> Result<(), AwsError> {
        let most = self.settings.limits.quotas.instances_per_fleet;
        if let Some(most) = most.filter(|most| *most < request.count) {
            let text = format!("a fleet has {most} instances at most, not {}", request.count);
            return Err(AwsError::new("InvalidFleetConfiguration", text));
        }
        for template in &request.templates {
            self.wanted_template(template)?;
            for wanted in &template.overrides {
                let subnet = &wanted.subnet;
                // The account owns whatever is asked for, and a subnet is in one zone for ever.
                let zones = self.account.subnets.entry(subnet.clone());
                let zone = zones.or_insert_with(|| wanted.zone.clone());
                if *zone != wanted.zone {
                    let problem = format!("subnet {subnet} is in {zone}, not in {}", wanted.zone);
                    return Err(AwsError::new("InvalidFleetConfiguration", problem));
                }
            }
        }
        if request.templates.iter().all(|template| template.overrides.is_empty()) {
            let problem = "there is nothing to choose from";
            return Err(AwsError::new("InvalidFleetConfiguration", problem));
        }
        Ok(())
    }

    /// What EC2 has against an instance from `template`.
    pub(crate) fn check_run(&self, template: &LaunchTemplateName) -> Result<(), AwsError> {
        let known = self.account.templates.get(template).ok_or_else(|| no_template(template))?;
        let problem = known.instance_profile.as_deref().and_then(|name| self.profile_problem(name));
        problem.map_or(Ok(()), Err)
    }

    /// Launches as many as there is capacity for, cheapest offering first.
    fn fulfil(&mut self, request: &FleetRequest) -> FleetAnswer {
        let mut choices: Vec<Choice<'_>> = Vec::new();
        let mut answer = FleetAnswer::default();
        let overrides = request.templates.iter().flat_map(|template| {
            template.overrides.iter().map(move |wanted| (&template.template, wanted))
        });
        for (template, wanted) in overrides {
            match self.choice(request, template, wanted) {
                Ok(choice) => choices.push(choice),
                Err(refusal) => answer.errors.push(error(&refusal, wanted)),
            }
        }
        choices.sort_by_key(|choice| {
            let wanted = choice.wanted;
            let price = if request.is_prioritized { wanted.price } else { choice.price };
            (price, &wanted.instance_type, &wanted.zone)
        });
        let mut missing = request.count;
        for choice in choices {
            let mut refusal = None;
            while missing > 0 && refusal.is_none() {
                match self.place_for(&choice) {
                    Ok(held) => {
                        answer.instances.push(self.launch_one(request, &choice, held));
                        missing -= 1;
                    }
                    Err(problem) => refusal = Some(problem),
                }
            }
            let Some(refusal) = refusal else { break };
            answer.errors.push(error(&refusal, choice.wanted));
            if refusal.code == NO_CAPACITY {
                self.happened(Happening::OfferingUnavailable { offering: choice.offering });
            }
        }
        answer.instances.sort_by(|a, b| a.id.cmp(&b.id));
        answer
    }

    /// What an override comes to, unless something is wrong with it.
    fn choice<'a>(
        &self,
        request: &FleetRequest,
        template: &'a LaunchTemplateName,
        wanted: &'a FleetOverride,
    ) -> Result<Choice<'a>, AwsError> {
        if let Some(problem) = self.problem(template, wanted) {
            return Err(problem);
        }
        let known = self.account.templates.get(template);
        let preference = known.map(|known| known.preference.clone()).unwrap_or_default();
        let mut offering = key(request, wanted);
        if self.target(&preference, &offering, request.market)?.is_some() {
            offering.capacity_type = CapacityType::Reserved;
        }
        let price = self.price_of(&offering).ok_or_else(|| {
            AwsError::new("Unsupported", "the instance type is not offered in the zone")
        })?;
        Ok(Choice { template, wanted, preference, offering, price })
    }

    /// The reservation in which one more instance of a choice would run, if any; the error is that
    /// there is no capacity.
    fn place_for(&self, choice: &Choice<'_>) -> Result<Option<Held>, AwsError> {
        let held = self.held(&choice.preference, &choice.offering)?;
        let is_open = held.is_some() && choice.offering.capacity_type != CapacityType::Reserved;
        let has_place = is_open || self.has_capacity(&choice.offering);
        if has_place && !self.is_away(&choice.offering) {
            return self.quota_problem(&choice.offering).map_or(Ok(held), Err);
        }
        let text = "there is no capacity left for the instance type in the zone";
        Err(AwsError::new(NO_CAPACITY, text))
    }

    /// What keeps an override from being launched at all: its image or its profile.
    fn problem(&self, template: &LaunchTemplateName, wanted: &FleetOverride) -> Option<AwsError> {
        if self.account.deregistered.contains(&wanted.image) {
            let text = format!("The image id '[{}]' does not exist", wanted.image);
            return Some(AwsError::new("InvalidAMIID.NotFound", text));
        }
        let profile = self.account.templates.get(template)?.instance_profile.as_deref()?;
        self.profile_problem(profile)
    }

    /// The price of an offering, if it is sold. What is reserved is paid for anyway.
    pub(super) fn price_of(&self, offering: &OfferingKey) -> Option<HourlyPrice> {
        let instance_type = self.catalog.instance_type(&offering.instance_type)?;
        if offering.capacity_type == CapacityType::Reserved {
            let capacity_type = CapacityType::OnDemand;
            let on_demand = OfferingKey { capacity_type, ..offering.clone() };
            return instance_type.offering(&on_demand).map(|_| HourlyPrice::default());
        }
        let sold = instance_type.offering(offering)?;
        sold.is_available.then_some(sold.price)
    }

    /// Whether one more instance of `offering` may run.
    pub(crate) fn has_capacity(&self, offering: &OfferingKey) -> bool {
        let live = self.account.live.get(offering).copied().unwrap_or_default();
        self.account.capacity.get(offering).is_none_or(|capacity| live < *capacity)
    }

    fn launch_one(
        &mut self,
        request: &FleetRequest,
        choice: &Choice<'_>,
        held: Option<Held>,
    ) -> FleetInstance {
        let now = self.now;
        let id = self.new_instance_id();
        let Choice { template, wanted, preference, offering, price } = choice;
        let price = if held.is_some() { HourlyPrice::default() } else { *price };
        let capacity = self.catalog.instance_type(&wanted.instance_type);
        let capacity = capacity.map(|t| t.capacity.clone()).unwrap_or_default();
        let tags = request.tags.iter().map(|(k, v)| (k.clone(), vec![(now, v.clone())]));
        let known = self.account.templates.get(*template);
        let record = InstanceRecord {
            id: id.clone(),
            offering: offering.clone(),
            image: wanted.image.clone(),
            subnet: wanted.subnet.clone(),
            security_groups: known.map(|known| known.security_groups.clone()),
            template: LaunchTemplateName::clone(template),
            launched_at: now,
            token: request.token.clone(),
            capacity,
            preference: preference.clone(),
            held,
            tags: tags.collect(),
            status: Vec::new(),
            end_reason: None,
            states: vec![(now, InstanceState::Pending)],
            reboots: 0,
            price,
            accrued: 0,
            accrued_until: now,
        };
        self.account.instances.insert(id.clone(), record);
        for count in [&mut self.account.live, &mut self.account.launched] {
            *count.entry(offering.clone()).or_default() += 1;
        }
        self.happened(Happening::InstanceLaunched {
            instance: id.clone(),
            offering: offering.clone(),
            price,
        });
        let runs_after = self.chances.account.within(self.settings.instance_runs_after);
        self.after(runs_after, Event::InstanceRuns(id.clone()));
        let joins_after = self.chances.account.within(self.settings.node_joins_after);
        if !self.chances.account.per_mille(self.settings.never_joins_per_mille) {
            self.after(joins_after, Event::NodeJoins(id.clone()));
        }
        FleetInstance {
            id,
            instance_type: wanted.instance_type.clone(),
            zone: wanted.zone.clone(),
            image: wanted.image.clone(),
        }
    }

    /// An instance that was launched before the world began, and that runs.
    pub(crate) fn inherit(&mut self, inherited: Inherited) {
        let Inherited { id, offering, subnet, image, launched_at, capacity, tags } = inherited;
        let price = self.price_of(&offering).unwrap_or_default();
        // However late it was launched, listings show it at the start.
        let listed_at = launched_at.min(later(self.now, -self.settings.listing_lag));
        let record = InstanceRecord {
            id: id.clone(),
            image: image.unwrap_or_else(|| made_up(ImageId::new("ami-00000000"))),
            subnet: subnet.unwrap_or_else(|| made_up(SubnetId::new("subnet-00000000"))),
            security_groups: None,
            template: made_up(LaunchTemplateName::new(INHERITED)),
            launched_at,
            token: made_up(BatchId::new(INHERITED)),
            capacity,
            preference: ReservationPreference::default(),
            held: None,
            tags: tags.into_iter().map(|(k, v)| (k, vec![(listed_at, v)])).collect(),
            status: Vec::new(),
            end_reason: None,
            states: vec![(listed_at, InstanceState::Running)],
            reboots: 0,
            price,
            accrued: 0,
            accrued_until: self.now,
            offering: offering.clone(),
        };
        self.account.instances.insert(id, record);
        *self.account.live.entry(offering).or_default() += 1;
    }

    fn new_instance_id(&mut self) -> InstanceId {
        loop {
            let number = self.chances.account.number();
            let id = made_up(InstanceId::new(&format!("i-0{number:016x}")));
            if !self.account.instances.contains_key(&id) {
                return id;
            }
        }
    }

    /// Notes what must never be: more instances than claims, or a pool above its limits.
    fn check_launch(&mut self, request: &FleetRequest, answer: &FleetAnswer) {
        let new = u32::try_from(answer.instances.len()).unwrap_or(u32::MAX);
        let token = &request.token;
        let launched = self.account.launches.instances.entry(token.clone()).or_default();
        *launched = launched.saturating_add(new);
        let launched = *launched;
        let wanted = self.ledger.batch_size(token).unwrap_or(request.count).min(request.count);
        if launched > wanted {
            let text =
                format!("{launched} instances were launched for the {wanted} claims of {token}");
            self.violations.push(text);
        }
        let first = answer.instances.first().and_then(|i| self.account.instances.get(&i.id));
        if let Some(pool) = first.and_then(InstanceRecord::node_pool) {
            let problem = self.exceeded_limit(&pool);
            self.violations.extend(problem);
        }
    }
}

fn key(request: &FleetRequest, wanted: &FleetOverride) -> OfferingKey {
    OfferingKey {
        capacity_type: request.capacity_type,
        instance_type: wanted.instance_type.clone(),
        zone: wanted.zone.clone(),
    }
}

fn error(refusal: &AwsError, wanted: &FleetOverride) -> FleetError {
    FleetError {
        code: refusal.code.to_owned(),
        message: format!("{}: {} in {}", refusal.message, wanted.instance_type, wanted.zone),
        instance_type: Some(wanted.instance_type.clone()),
        zone: Some(wanted.zone.clone()),
    }
}
