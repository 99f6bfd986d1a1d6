//! The contracts of `Discovery`, `Templates` and `Fleet` around capacity reservations.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    BatchId, CapacityType, ClusterName, InstanceId, labels,
    launch::{
        FleetAnswer, FleetOverride, FleetRequest, FleetTemplate, Instance, LaunchTemplate,
        ReservationMarket, ReservationTarget, TemplateVersion,
    },
    node_class::{CapacityReservation, MatchCriteria, ReservationTerm},
};
use ports::{Discovery, Fleet, Templates};

use super::{ATTEMPTS_MAX, Case, Failure, ensure, same};
use crate::build;

/// What reservations are tested with.
#[derive(Clone, Debug)]
pub struct ReservationWorld {
    /// The cluster that launches are for.
    pub cluster: ClusterName,
    /// A reservation for targeted launches, with nothing in it, that nothing else is in the way of.
    pub targeted: CapacityReservation,
    /// An open one for the same type and zone. It is the account's only other one.
    pub open: CapacityReservation,
    /// What the first is tagged with, and the second is not.
    pub tags: BTreeMap<String, String>,
    /// What may be launched, in the type and the zone of both.
    pub choice: FleetOverride,
    /// What tokens start with: new to the account.
    pub token_prefix: String,
}

impl ReservationWorld {
    /// Two reservations of two instances each, with ids that no account has by chance.
    pub fn of(cluster: ClusterName) -> Self {
        Self {
            cluster,
            targeted: build::reservation("cr-0a", MatchCriteria::Targeted),
            open: build::reservation("cr-0b", MatchCriteria::Open),
            tags: BTreeMap::from([("team".to_owned(), "a".to_owned())]),
            choice: build::fleet_override(),
            token_prefix: "suite".to_owned(),
        }
    }
}

struct Subject<'a, D, T, F, W> {
    discovery: &'a D,
    templates: &'a T,
    fleet: &'a F,
    world: &'a ReservationWorld,
    wait: &'a W,
}

/// Runs every case. `wait` passes some time, real or virtual, in which listings catch up; `cancel`
/// ends the targeted reservation. Whatever is launched is terminated.
pub async fn reservations<D: Discovery, T: Templates, F: Fleet, W: AsyncFn()>(
    discovery: &D,
    templates: &T,
    fleet: &F,
    world: &ReservationWorld,
    wait: &W,
    cancel: impl AsyncFnOnce(),
) -> Vec<Case> {
    let subject = &Subject { discovery, templates, fleet, world, wait };
    vec![
        Case::of("a reservation is found by its id", subject.by_id().await),
        Case::of("an id that is not there finds nothing", subject.by_no_id().await),
        Case::of("tags, owner and criteria must hold all at once", subject.by_search().await),
        Case::of("terms are alternatives, and find each once", subject.alternatives().await),
        Case::of("a launch takes from what is left, its end gives back", subject.counted().await),
        Case::of("what does not fit is refused by name", subject.exceeded().await),
        Case::of("who wants none is in no open one", subject.none().await),
        Case::of("at its end what runs goes on on demand", subject.ended(cancel).await),
    ]
}

impl<D: Discovery, T: Templates, F: Fleet, W: AsyncFn()> Subject<'_, D, T, F, W> {
    async fn found(
        &self,
        terms: &[ReservationTerm],
        wanted: &[&CapacityReservation],
    ) -> Result<(), Failure> {
        let capacity_reservations = self.discovery.reservations(terms).await?;
        let mut wanted: Vec<CapacityReservation> = wanted.iter().copied().cloned().collect();
        wanted.sort_by(|capacity_reservation, other| capacity_reservation.id.cmp(&other.id));
        same("what is found", &capacity_reservations, &wanted)
    }

    async fn by_id(&self) -> Result<(), Failure> {
        let ReservationWorld { targeted, open, .. } = self.world;
        for capacity_reservation in [targeted, open] {
            self.found(
                &[ReservationTerm::Id(capacity_reservation.id.clone())],
                &[capacity_reservation],
            )
            .await?;
        }
        Ok(())
    }

    async fn by_no_id(&self) -> Result<(), Failure> {
        self.found(&[ReservationTerm::Id(build::id("cr-0nowhere"))], &[]).await
    }

    async fn by_search(&self) -> Result<(), Failure> {
        let ReservationWorld { targeted, open, tags, .. } = self.world;
        let search = |tags: &BTreeMap<String, String>, owner: &str, criteria| {
            [ReservationTerm::Search {
                tags: tags.clone(),
                owner: (!owner.is_empty()).then(|| owner.to_owned()),
                match_criteria: criteria,
            }]
        };
        let any: BTreeMap<String, String> =
            tags.keys().map(|key| (key.clone(), "*".to_owned())).collect();
        let (owner, none) = (targeted.owner.as_str(), BTreeMap::new());
        self.found(&search(tags, "", None), &[targeted]).await?;
        self.found(&search(&any, "", None), &[targeted]).await?;
        self.found(&search(&none, owner, None), &[targeted, open]).await?;
        self.found(&search(&none, owner, Some(MatchCriteria::Open)), &[open]).await?;
        self.found(&search(tags, owner, Some(MatchCriteria::Targeted)), &[targeted]).await?;
        self.found(&search(tags, owner, Some(MatchCriteria::Open)), &[]).await?;
        self.found(&search(&none, "000000000000", None), &[]).await
    }

    async fn alternatives(&self) -> Result<(), Failure> {
        let ReservationWorld { targeted, open, tags, .. } = self.world;
        let tagged =
            ReservationTerm::Search { tags: tags.clone(), owner: None, match_criteria: None };
        let ids = [targeted, open]
            .map(|capacity_reservation| ReservationTerm::Id(capacity_reservation.id.clone()));
        self.found(&[&ids[..], &[tagged]].concat(), &[targeted, open]).await
    }

    /// A launch template for the targeted reservation, or for none.
    fn template(&self, is_reserved: bool) -> LaunchTemplate {
        let name = if is_reserved { "karpenter.k8s.aws/71" } else { "karpenter.k8s.aws/72" };
        let mut template = build::template(name);
        template.data.image = self.world.choice.image.clone();
        template.data.reservation = is_reserved.then(|| ReservationTarget {
            id: self.world.targeted.id.clone(),
            market: ReservationMarket::OnDemand,
        });
        template
    }

    async fn launch(
        &self,
        name: &str,
        count: u32,
        is_reserved: bool,
    ) -> Result<FleetAnswer, Failure> {
        let template = self.template(is_reserved);
        self.templates.ensure(&template).await?;
        let ReservationWorld { cluster, choice, token_prefix, .. } = self.world;
        let token: BatchId = build::id(&format!("{token_prefix}-{name}"));
        let tags = [
            (labels::CLUSTER_NAME_TAG, cluster.as_str()),
            (labels::NODE_POOL, "general"),
            (labels::BATCH_TAG, token.as_str()),
        ];
        let capacity_type =
            if is_reserved { CapacityType::Reserved } else { CapacityType::OnDemand };
        let request = FleetRequest {
            tags: tags.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
            token,
            count,
            capacity_type,
            market: ReservationMarket::OnDemand,
            is_prioritized: false,
            context: None,
            templates: vec![FleetTemplate {
                template: template.name,
                version: TemplateVersion::Latest,
                overrides: vec![choice.clone()],
            }],
        };
        Ok(self.fleet.launch(&request).await?)
    }

    async fn end(&self, answer: &FleetAnswer) -> Result<(), Failure> {
        Ok(self.fleet.terminate(&ids(answer)).await?)
    }

    /// Waits until this number of instances fits into `one`.
    async fn left(
        &self,
        capacity_reservation: &CapacityReservation,
        wanted: u32,
    ) -> Result<(), Failure> {
        let terms = [ReservationTerm::Id(capacity_reservation.id.clone())];
        let mut left = None;
        for _ in 0..ATTEMPTS_MAX {
            let capacity_reservations = self.discovery.reservations(&terms).await?;
            left = capacity_reservations
                .first()
                .map(|capacity_reservation| capacity_reservation.available_count);
            if left == Some(wanted) {
                return Ok(());
            }
            (self.wait)().await;
        }
        Err(Failure(format!(
            "{left:?} fit into {}, it should be {wanted}",
            capacity_reservation.id
        )))
    }

    /// The instances, once all of them are as they should be, or as they are at last.
    async fn described(
        &self,
        answer: &FleetAnswer,
        is_right: impl Fn(&Instance) -> bool,
    ) -> Result<(), Failure> {
        let ids = ids(answer);
        let mut running = Vec::new();
        for _ in 0..ATTEMPTS_MAX {
            running = self.fleet.describe(&ids).await?;
            if running.len() == ids.len() && running.iter().all(&is_right) {
                return Ok(());
            }
            (self.wait)().await;
        }
        Err(Failure(format!("the instances are {running:?}")))
    }

    async fn counted(&self) -> Result<(), Failure> {
        let ReservationWorld { targeted, open, .. } = self.world;
        let answer = self.launch("counted", 1, true).await?;
        ensure(answer.instances.len() == 1, || format!("one was asked for: {answer:?}"))?;
        self.described(&answer, |instance| {
            instance.capacity_type == CapacityType::Reserved
                && instance.reservation.as_ref() == Some(&targeted.id)
        })
        .await?;
        self.left(targeted, targeted.available_count - 1).await?;
        self.left(open, open.available_count).await?;
        self.end(&answer).await?;
        self.left(targeted, targeted.available_count).await
    }

    async fn exceeded(&self) -> Result<(), Failure> {
        let targeted = &self.world.targeted;
        let fits = targeted.available_count;
        let answer = self.launch("exceeded", fits + 1, true).await?;
        let codes: BTreeSet<&str> = answer.errors.iter().map(|error| &*error.code).collect();
        self.left(targeted, 0).await?;
        let brought = answer.instances.len();
        let codes = format!("{codes:?}");
        self.end(&answer).await?;
        self.left(targeted, fits).await?;
        same("what it brought", &u32::try_from(brought).ok(), &Some(fits))?;
        same("the codes", &codes.as_str(), &r#"{"ReservationCapacityExceeded"}"#)
    }

    async fn none(&self) -> Result<(), Failure> {
        let open = &self.world.open;
        let answer = self.launch("none", 1, false).await?;
        ensure(answer.instances.len() == 1, || format!("one was asked for: {answer:?}"))?;
        self.described(&answer, |instance| {
            instance.capacity_type == CapacityType::OnDemand && instance.reservation.is_none()
        })
        .await?;
        self.left(open, open.available_count).await?;
        self.end(&answer).await
    }

    async fn ended(&self, cancel: impl AsyncFnOnce()) -> Result<(), Failure> {
        let targeted = &self.world.targeted;
        let answer = self.launch("ended", 1, true).await?;
        self.described(&answer, |instance| instance.reservation.is_some()).await?;
        cancel().await;
        self.described(&answer, |instance| {
            instance.capacity_type == CapacityType::OnDemand && instance.reservation.is_none()
        })
        .await?;
        self.found(&[ReservationTerm::Id(targeted.id.clone())], &[]).await?;
        self.end(&answer).await
    }
}

fn ids(answer: &FleetAnswer) -> Vec<InstanceId> {
    answer.instances.iter().map(|instance| instance.id.clone()).collect()
}
