//! The contracts of `NodeClasses`, `NodePools` and `AlphaStatuses`: one body for all kinds, because their statuses
//! differ only in their content.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use model::{
    Condition, ConditionKind, ConditionReason,
    buffer::{BufferStatus, ObservedBuffer},
    node_class::{NodeClassStatus, ObservedNodeClass, Subnet},
    node_pool::{ClassReadiness, NodePoolStatus, ObservedNodePool, Registrations, TypeMatch},
    overlay::ObservedOverlay,
    policies::Policies,
    static_hash::{NODE_CLASS, NODE_POOL, StaticHash},
    wake::{ProbeAnswer, WakeFinding},
};
use ports::{AlphaStatuses, Cluster, Fault, NodeClasses, NodePools};

use super::{
    Case, Failure, ensure, same,
    status_world::{StatusWorld, StoredCondition, StoredObject},
};
use crate::build;

/// The status of a case.
#[derive(Clone, Copy, Debug)]
struct Telling {
    /// The day of August on which it was found.
    day: u8,
    /// Of the condition that the case is about.
    status: Option<bool>,
    message: &'static str,
    /// How many of the things that its status counts there are.
    count: u8,
}

const NOT_YET: Telling = Telling { day: 1, status: Some(false), message: "not yet", count: 2 };

/// A port with what it lists and takes.
trait Kind {
    type Seen: Clone;
    /// The hash that is annotated, of kinds that have one.
    const HASH: Option<StaticHash>;
    /// The condition that [`Telling`] is about.
    const CONDITION: ConditionKind;
    async fn seen(&self) -> Result<Vec<Self::Seen>, Failure>;
    async fn tell(&self, seen: &Self::Seen, telling: Telling) -> Result<(), ports::PortError>;
    /// Name, uid, generation.
    fn identity(seen: &Self::Seen) -> (&str, &str, i64);
    /// The status of the condition when it is not known whether it holds.
    const UNKNOWN: Option<bool>;
    /// What the status says of a number, for kinds that count something.
    fn said(count: u8) -> Option<(&'static str, String)>;
}

struct Classes<'a, P>(&'a P);

impl<P: NodeClasses> Kind for Classes<'_, P> {
    type Seen = ObservedNodeClass;
    const HASH: Option<StaticHash> = Some(NODE_CLASS);
    const CONDITION: ConditionKind = ConditionKind::SubnetsReady;
    const UNKNOWN: Option<bool> = None;

    async fn seen(&self) -> Result<Vec<Self::Seen>, Failure> {
        Ok(self.0.observed_classes().await?.items)
    }

    async fn tell(&self, seen: &Self::Seen, telling: Telling) -> Result<(), ports::PortError> {
        let Telling { day, status, message, count } = telling;
        let subnet = |number: u8| Subnet {
            id: build::id(&format!("subnet-{number}")),
            zone: build::id("us-west-2a"),
            zone_id: build::id("usw2-az1"),
            available_ip_address_count: 10,
        };
        let node_class_status = NodeClassStatus {
            subnets: (0..count).map(subnet).collect(),
            hash: Some(7),
            conditions: vec![told(Self::CONDITION, status, message)],
            found_at: on_day(day),
            ..NodeClassStatus::default()
        };
        self.0.update_class_status(seen, &node_class_status).await
    }

    fn identity(seen: &Self::Seen) -> (&str, &str, i64) {
        (seen.class.name.as_str(), &seen.uid, seen.generation)
    }

    fn said(count: u8) -> Option<(&'static str, String)> {
        let ids: Vec<String> = (0..count).map(|number| format!("subnet-{number}")).collect();
        Some(("subnets", ids.join(",")))
    }
}

struct Pools<'a, P>(&'a P);

impl<P: NodePools> Kind for Pools<'_, P> {
    type Seen = ObservedNodePool;
    const HASH: Option<StaticHash> = Some(NODE_POOL);
    const CONDITION: ConditionKind = ConditionKind::NodeClassReady;
    // Karpenter: `pkg/controllers/nodepool/readiness/controller.go`.
    const UNKNOWN: Option<bool> = Some(false);

    async fn seen(&self) -> Result<Vec<Self::Seen>, Failure> {
        Ok(self.0.observed_pools().await?.items)
    }

    async fn tell(&self, seen: &Self::Seen, telling: Telling) -> Result<(), ports::PortError> {
        let Telling { day, status, message, count } = telling;
        let node_class = match status {
            Some(true) => ClassReadiness::Ready,
            Some(false) => {
                let (reason, message) = (ConditionReason::SubnetsNotFound, message.to_owned());
                ClassReadiness::NotReady { reason, message }
            }
            None => ClassReadiness::Unknown,
        };
        let mut seen = seen.clone();
        seen.pool.annotations.insert(NODE_POOL.key.to_owned(), "7".to_owned());
        let node_pool_status = NodePoolStatus {
            node_class,
            node_class_generation: Some(1),
            nodes: u64::from(count),
            resources: build::resources("cpu=2"),
            registrations: Registrations::default(),
            quotas: BTreeSet::new(),
            types: TypeMatch::Some,
            wake: WakeFinding::Absent,
            found_at: on_day(day),
        };
        self.0.update_pool_status(&seen, &node_pool_status).await
    }

    fn identity(seen: &Self::Seen) -> (&str, &str, i64) {
        (seen.pool.name.as_str(), &seen.uid, seen.generation)
    }

    fn said(count: u8) -> Option<(&'static str, String)> {
        Some(("nodes", count.to_string()))
    }
}

struct Overlays<'a, P>(&'a P);

impl<P: AlphaStatuses> Kind for Overlays<'_, P> {
    type Seen = ObservedOverlay;
    const HASH: Option<StaticHash> = None;
    const CONDITION: ConditionKind = ConditionKind::ValidationSucceeded;
    const UNKNOWN: Option<bool> = None;

    async fn seen(&self) -> Result<Vec<Self::Seen>, Failure> {
        Ok(self.0.observed_overlays().await?.items)
    }

    async fn tell(&self, seen: &Self::Seen, telling: Telling) -> Result<(), ports::PortError> {
        let Telling { day, status, message, .. } = telling;
        let validation = told(Self::CONDITION, status, message);
        self.0.update_overlay_status(seen, &validation, on_day(day)).await
    }

    fn identity(seen: &Self::Seen) -> (&str, &str, i64) {
        (seen.overlay.name.as_str(), &seen.uid, seen.generation)
    }

    fn said(_: u8) -> Option<(&'static str, String)> {
        None
    }
}

struct Buffers<'a, P>(&'a P);

impl<P: AlphaStatuses + Cluster> Kind for Buffers<'_, P> {
    type Seen = ObservedBuffer;
    const HASH: Option<StaticHash> = None;
    const CONDITION: ConditionKind = ConditionKind::ReadyForProvisioning;
    const UNKNOWN: Option<bool> = None;

    async fn seen(&self) -> Result<Vec<Self::Seen>, Failure> {
        let policies = Policies { capacity_buffer: true, ..Policies::default() };
        Ok(self.0.surroundings(&policies).await?.buffers)
    }

    async fn tell(&self, seen: &Self::Seen, telling: Telling) -> Result<(), ports::PortError> {
        let Telling { day, status, message, count } = telling;
        let buffer_status = BufferStatus {
            replicas: Some(count.into()),
            template: Some((build::id("spare"), 1)),
            conditions: vec![told(Self::CONDITION, status, message)],
            ..BufferStatus::default()
        };
        self.0.update_buffer_status(seen, &buffer_status, on_day(day)).await?;
        // The next list brings what was written.
        let policies = Policies { capacity_buffer: true, ..Policies::default() };
        let listed = self.0.surroundings(&policies).await?.buffers;
        let listed = listed.into_iter().find(|listed| listed.key == seen.key);
        let is_there = listed.is_some_and(|listed| {
            listed.status_generation == Some(seen.generation)
                && listed.status.replicas == buffer_status.replicas
                && listed.status.template == buffer_status.template
        });
        if is_there { Ok(()) } else { Err(ports::PortError::new("list it", Fault::Permanent)) }
    }

    fn identity(seen: &Self::Seen) -> (&str, &str, i64) {
        (seen.key.name.as_str(), &seen.uid, seen.generation)
    }

    fn said(count: u8) -> Option<(&'static str, String)> {
        Some(("replicas", count.to_string()))
    }
}

fn told(kind: ConditionKind, status: Option<bool>, message: &str) -> Condition {
    match status {
        Some(true) => Condition::holds(kind),
        Some(false) => Condition::fails(kind, ConditionReason::SubnetsNotFound, message),
        None => Condition::unknown(kind, ConditionReason::AwaitingReconciliation, message),
    }
}

fn on_day(day: u8) -> Timestamp {
    build::at(&format!("2026-08-{day:02}T12:00:00Z"))
}

struct Subject<'a, K, W> {
    kind: K,
    world: &'a W,
    prefix: &'a str,
}

/// Runs every case of `NodeClasses`, with objects whose names start with `prefix`.
pub async fn node_classes<P: NodeClasses, W: StatusWorld>(
    port: &P,
    world: &W,
    prefix: &str,
) -> Vec<Case> {
    Subject { kind: Classes(port), world, prefix }.cases().await
}

/// Runs every case of `NodePools`, with objects whose names start with `prefix`.
pub async fn node_pools<P: NodePools, W: StatusWorld>(
    port: &P,
    world: &W,
    prefix: &str,
) -> Vec<Case> {
    let subject = Subject { kind: Pools(port), world, prefix };
    let mut cases = subject.cases().await;
    cases.extend([
        Case::of("the condition of wake comes, stays and goes", subject.wake_condition().await),
        Case::of("a probe that calls no wake is silent", silence(port).await),
    ]);
    cases
}

async fn silence<P: NodePools>(port: &P) -> Result<(), Failure> {
    same("the answer", &port.probe_wake().await?, &ProbeAnswer::Silent)
}

/// Runs every case of `AlphaStatuses` about NodeOverlays, with objects whose names start with `prefix`.
pub async fn node_overlays<P: AlphaStatuses, W: StatusWorld>(
    port: &P,
    world: &W,
    prefix: &str,
) -> Vec<Case> {
    Subject { kind: Overlays(port), world, prefix }.cases().await
}

/// Runs every case of `AlphaStatuses` about CapacityBuffers, with objects whose names start with `prefix`.
pub async fn capacity_buffers<P: AlphaStatuses + Cluster, W: StatusWorld>(
    port: &P,
    world: &W,
    prefix: &str,
) -> Vec<Case> {
    Subject { kind: Buffers(port), world, prefix }.cases().await
}

impl<P: NodePools, W: StatusWorld> Subject<'_, Pools<'_, P>, W> {
    async fn wake_condition(&self) -> Result<(), Failure> {
        let (name, seen) = self.made("wake").await?;
        let answered = WakeFinding::Probed(ProbeAnswer::Answered);
        let port = self.kind.0;
        port.update_wake_condition(&seen, &answered, on_day(1)).await?;
        let stored = self.stored(&name).await?;
        let kind = ConditionKind::WakeHealthy;
        same("its status", &Self::condition(&stored, kind)?.status, &Some(true))?;
        port.update_wake_condition(&seen, &answered, on_day(2)).await?;
        same("what is stored", &self.stored(&name).await?, &stored)?;
        port.update_wake_condition(&seen, &WakeFinding::Absent, on_day(3)).await?;
        let conditions = self.stored(&name).await?.conditions;
        same("whether it is there", &conditions.contains_key(kind.as_str()), &false)
    }
}

impl<K: Kind, W: StatusWorld> Subject<'_, K, W> {
    async fn cases(&self) -> Vec<Case> {
        vec![
            Case::of(
                "what is written is there, and written again nothing changes",
                self.told().await,
            ),
            Case::of("a time moves only with its status", self.times().await),
            Case::of("what is not said any more goes", self.replaced().await),
            Case::of("the hash is annotated, and theirs stays", self.annotated().await),
            Case::of("an annotation of theirs hinders no write", self.theirs().await),
            Case::of("another spec is another generation, and conflicts", self.changed().await),
            Case::of("a namesake is another object, and conflicts", self.namesake().await),
            Case::of("what is gone is not found", self.gone().await),
        ]
    }

    async fn seen(&self, name: &str) -> Result<Option<K::Seen>, Failure> {
        let seen = self.kind.seen().await?;
        Ok(seen.into_iter().find(|seen| K::identity(seen).0 == name))
    }

    /// A new object as it is listed.
    async fn made(&self, name: &str) -> Result<(String, K::Seen), Failure> {
        let name = format!("{}-{name}", self.prefix);
        same("what is seen", &self.seen(&name).await?.is_some(), &false)?;
        self.world.make(&name).await;
        let seen =
            self.seen(&name).await?.ok_or_else(|| Failure(format!("{name} is not listed")))?;
        same("its generation", &K::identity(&seen).2, &1)?;
        Ok((name, seen))
    }

    async fn stored(&self, name: &str) -> Result<StoredObject, Failure> {
        let stored = self.world.stored(name).await;
        stored.ok_or_else(|| Failure(format!("there is no {name}")))
    }

    /// Tells, and looks at what is stored then.
    async fn after(
        &self,
        name: &str,
        seen: &K::Seen,
        telling: Telling,
    ) -> Result<StoredObject, Failure> {
        self.kind.tell(seen, telling).await?;
        let stored = self.stored(name).await?;
        if let Some((key, wanted)) = K::said(telling.count) {
            same(key, &stored.said.get(key), &Some(&wanted))?;
        }
        Ok(stored)
    }

    fn condition(stored: &StoredObject, kind: ConditionKind) -> Result<StoredCondition, Failure> {
        let condition = stored.conditions.get(kind.as_str()).cloned();
        condition.ok_or_else(|| Failure(format!("it has no {kind}: {:?}", stored.conditions)))
    }

    fn check_condition(stored: &StoredObject, telling: Telling, since: u8) -> Result<(), Failure> {
        let condition = Self::condition(stored, K::CONDITION)?;
        same("its status", &condition.status, &telling.status.or(K::UNKNOWN))?;
        if telling.status == Some(false) {
            same("its reason", &&*condition.reason, &"SubnetsNotFound")?;
            same("its message", &&*condition.message, &telling.message)?;
        }
        same("its time", &condition.since, &on_day(since))
    }

    async fn told(&self) -> Result<(), Failure> {
        let (name, seen) = self.made("told").await?;
        let first = self.after(&name, &seen, NOT_YET).await?;
        Self::check_condition(&first, NOT_YET, 1)?;
        let again = self.after(&name, &seen, NOT_YET).await?;
        same("the object", &again, &first)?;
        // That it was looked at another day is nothing to write.
        let later = self.after(&name, &seen, Telling { day: 2, ..NOT_YET }).await?;
        same("the object", &later, &first)?;
        same("its generation", &self.seen(&name).await?.map(|s| K::identity(&s).2), &Some(1))?;
        self.world.delete(&name).await;
        Ok(())
    }

    async fn times(&self) -> Result<(), Failure> {
        let (name, seen) = self.made("times").await?;
        self.after(&name, &seen, NOT_YET).await?;
        let otherwise = Telling { day: 2, message: "still not", ..NOT_YET };
        Self::check_condition(&self.after(&name, &seen, otherwise).await?, otherwise, 1)?;
        let holds = Telling { day: 3, status: Some(true), message: "", ..NOT_YET };
        Self::check_condition(&self.after(&name, &seen, holds).await?, holds, 3)?;
        let holds = Telling { day: 4, ..holds };
        Self::check_condition(&self.after(&name, &seen, holds).await?, holds, 3)?;
        let unknown = Telling { day: 5, status: None, ..NOT_YET };
        Self::check_condition(&self.after(&name, &seen, unknown).await?, unknown, 5)?;
        self.world.delete(&name).await;
        Ok(())
    }

    async fn replaced(&self) -> Result<(), Failure> {
        let (name, seen) = self.made("replaced").await?;
        self.after(&name, &seen, Telling { count: 3, ..NOT_YET }).await?;
        self.after(&name, &seen, Telling { count: 1, ..NOT_YET }).await?;
        self.world.delete(&name).await;
        Ok(())
    }

    async fn annotated(&self) -> Result<(), Failure> {
        let (name, seen) = self.made("annotated").await?;
        self.world.annotate(&name, "example.com/theirs", "kept").await;
        let stored = self.after(&name, &seen, NOT_YET).await?;
        let hash = K::HASH.map(|hash| hash.annotations("7"));
        let mut wanted: BTreeMap<String, String> = hash.into_iter().flatten().collect();
        wanted.insert("example.com/theirs".to_owned(), "kept".to_owned());
        same("the annotations", &stored.annotations, &wanted)?;
        self.world.delete(&name).await;
        Ok(())
    }

    async fn theirs(&self) -> Result<(), Failure> {
        let (name, seen) = self.made("theirs").await?;
        self.after(&name, &seen, NOT_YET).await?;
        let before = self.stored(&name).await?.revision;
        self.world.annotate(&name, "example.com/theirs", "1").await;
        let between = self.stored(&name).await?.revision;
        ensure(between != before, || "a write is another revision".to_owned())?;
        self.after(&name, &seen, Telling { count: 1, ..NOT_YET }).await?;
        let again = self.seen(&name).await?;
        same("its generation", &again.map(|seen| K::identity(&seen).2), &Some(1))?;
        self.world.delete(&name).await;
        Ok(())
    }

    /// A status about `seen` is refused, and changes nothing.
    async fn refused(&self, name: &str, seen: &K::Seen, wanted: Fault) -> Result<(), Failure> {
        let before = self.world.stored(name).await;
        let answer = self.kind.tell(seen, Telling { day: 9, count: 9, ..NOT_YET }).await;
        same("the answer", &answer.map_err(|error| error.fault), &Err(wanted))?;
        same("the object", &self.world.stored(name).await, &before)
    }

    async fn changed(&self) -> Result<(), Failure> {
        let (name, seen) = self.made("changed").await?;
        self.after(&name, &seen, NOT_YET).await?;
        self.world.change_spec(&name).await;
        self.refused(&name, &seen, Fault::Conflict).await?;
        let now = self.seen(&name).await?.ok_or_else(|| Failure("it is gone".to_owned()))?;
        let ((_, first_uid, _), (_, uid, generation)) = (K::identity(&seen), K::identity(&now));
        same("its uid", &uid, &first_uid)?;
        same("its generation", &generation, &2)?;
        self.after(&name, &now, Telling { count: 1, ..NOT_YET }).await?;
        self.world.delete(&name).await;
        Ok(())
    }

    async fn namesake(&self) -> Result<(), Failure> {
        let (name, seen) = self.made("namesake").await?;
        self.after(&name, &seen, NOT_YET).await?;
        self.world.delete(&name).await;
        self.world.make(&name).await;
        let now = self.seen(&name).await?.ok_or_else(|| Failure("it is gone".to_owned()))?;
        ensure(K::identity(&now).1 != K::identity(&seen).1, || "it has the same uid".to_owned())?;
        let stored = self.stored(&name).await?;
        same("what was told of the other", &stored.conditions, &BTreeMap::new())?;
        self.refused(&name, &seen, Fault::Conflict).await?;
        self.world.delete(&name).await;
        Ok(())
    }

    async fn gone(&self) -> Result<(), Failure> {
        let (name, seen) = self.made("gone").await?;
        self.world.delete(&name).await;
        same("what is seen", &self.seen(&name).await?.is_some(), &false)?;
        self.refused(&name, &seen, Fault::NotFound).await
    }
}
