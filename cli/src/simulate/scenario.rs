//! Scenarios: what happens when, and how the simulated world is.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use dispatch::Settings;
use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, HourlyPrice, InstanceTypeName, Namespace, NodeClaimName, NodeClassName, NodeName,
    NodePoolName, ObjectName, OfferingKey, PodKey, Zone,
};
use report::{error::BadInput, output::elapsed};
use serde::Deserialize;
use simulator::{
    Action, ClusterObject, DeviceDrivers, Happening, JoinFailure, Sim, SpotTarget, TimelineEvent,
    WorldSettings,
};

use super::objects::Change;
use crate::{
    manifests::{self, Depth, InputFile},
    options::{duration, setting},
};

/// What happens when.
#[derive(Debug, Default)]
pub(crate) struct Scenario {
    /// How long it is played.
    pub(crate) end: Option<SignedDuration>,
    start: Option<Timestamp>,
    never_joins_per_mille: u32,
    join_failure: JoinFailure,
    /// How the functions work.
    pub(crate) functions: Settings,
    actions: Vec<(SignedDuration, Action)>,
    /// What events apply and delete.
    changes: Vec<(SignedDuration, Change)>,
    /// What of applied files plays no part, in words.
    pub(crate) ignored: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    start: Option<String>,
    end: Option<String>,
    #[serde(default)]
    never_joins_per_mille: u32,
    /// A cause that the simulated account knows, such as `NoRoute`, or what the console says.
    never_joins_because: Option<String>,
    /// By the names of the stack's parameters.
    #[serde(default)]
    settings: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    events: Vec<WrittenEvent>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenEvent {
    at: String,
    scale: Option<WrittenScale>,
    apply: Option<PathBuf>,
    delete: Option<WrittenDelete>,
    interrupt_spot: Option<String>,
    terminate_instance: Option<String>,
    capacity: Option<WrittenCapacity>,
    price: Option<WrittenPrice>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenScale {
    workload: String,
    replicas: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenDelete {
    kind: String,
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenCapacity {
    instance_type: String,
    zone: String,
    capacity_type: String,
    instances: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenPrice {
    instance_type: String,
    zone: String,
    capacity_type: String,
    price_per_hour: String,
}

/// The settings that are `written` by the names of the stack's parameters.
fn functions(written: &BTreeMap<String, serde_json::Value>) -> Result<Settings, String> {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for (name, value) in written {
        setting(name)?;
        let text = match value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        texts.insert(name, text);
    }
    Settings::read(|setting| setting.parameter, |name| texts.get(name).cloned())
        .map_err(|wrong| wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

/// The cause called `text`, or a console that says it.
fn join_failure(text: String) -> JoinFailure {
    let known = JoinFailure::TOLD.into_iter().find(|failure| format!("{failure:?}") == text);
    known.unwrap_or(JoinFailure::Console(text))
}

impl Scenario {
    /// Reads a file; paths in it are relative to it.
    pub(crate) fn load(path: &Path) -> Result<Self, BadInput> {
        let text = manifests::text(path)?;
        let folder = path.parent().unwrap_or_else(|| Path::new("."));
        Self::parse(&text, &path.display().to_string(), folder)
    }

    /// Reads `text`, which came from `file`; paths in it are relative to `folder`.
    pub(crate) fn parse(text: &str, file: &str, folder: &Path) -> Result<Self, BadInput> {
        let written: Written = serde_saphyr::from_str(text)
            .map_err(|error| BadInput::one(format!("{file}: {error}")))?;
        let start = match &written.start {
            Some(text) => Some(text.parse::<Timestamp>().map_err(|error| {
                BadInput::one(format!("{file}: start: `{text}` is not a time: {error}"))
            })?),
            None => None,
        };
        let end = match &written.end {
            Some(text) => Some(duration(&format!("{file}: end"), text)?),
            None => None,
        };
        let functions = functions(&written.settings)
            .map_err(|why| BadInput::one(format!("{file}: settings: {why}")))?;
        let (mut actions, mut changes, mut ignored) = (Vec::new(), Vec::new(), Vec::new());
        for (index, event) in written.events.iter().enumerate() {
            let place = format!("{file}: events[{index}]");
            let at = duration(&format!("{place}.at"), &event.at)?;
            let applied = event.applied(folder)?;
            actions.push((at, event.action(&place, applied.as_deref(), &mut ignored)?));
            changes.extend(event.change(&place, applied)?.map(|change| (at, change)));
        }
        let never_joins_per_mille = written.never_joins_per_mille;
        let join_failure = written.never_joins_because.map(join_failure).unwrap_or_default();
        Ok(Self {
            end,
            start,
            never_joins_per_mille,
            join_failure,
            functions,
            actions,
            changes,
            ignored,
        })
    }

    /// Whether it says when it starts.
    pub(crate) fn has_start(&self) -> bool {
        self.start.is_some()
    }

    /// The world that it starts in.
    pub(crate) fn settings(&self, seed: u64) -> WorldSettings {
        let mut settings = WorldSettings::with_seed(seed);
        settings.start = self.start.unwrap_or(settings.start);
        settings.never_joins_per_mille = self.never_joins_per_mille;
        settings.join_failure = self.join_failure.clone();
        settings.device_drivers = DeviceDrivers::of(&self.functions.policies);
        // It is not read here, and a week of it is long.
        settings.trace = simulator::Trace::Dropped;
        settings
    }

    /// Whether each applied NodePool has its EC2NodeClass among `objects` or among what is applied, now or later.
    pub(crate) fn check_classes(&self, objects: &[ClusterObject]) -> Result<(), BadInput> {
        let applied = || {
            self.actions.iter().flat_map(|(_, action)| match action {
                Action::Add(objects) => objects.as_slice(),
                _ => &[],
            })
        };
        let classes: BTreeSet<&NodeClassName> = objects
            .iter()
            .chain(applied())
            .filter_map(|object| match object {
                ClusterObject::NodeClass(class) => Some(&class.name),
                _ => None,
            })
            .collect();
        let without = applied().filter_map(|object| match object {
            ClusterObject::NodePool(pool) => {
                let class = &pool.template.node_class;
                let is_missing = pool.problems.is_empty() && !classes.contains(class);
                is_missing.then(|| {
                    format!(
                        "events: apply: NodePool {}: there is no EC2NodeClass `{class}`",
                        pool.name
                    )
                })
            }
            _ => None,
        });
        let missing: Vec<String> = without.collect();
        if missing.is_empty() { Ok(()) } else { Err(BadInput(missing)) }
    }

    /// Lets everything happen in its time.
    pub(crate) fn schedule(&self, sim: &Sim, start: Timestamp) -> Result<(), BadInput> {
        for (after, action) in &self.actions {
            sim.at(time(start, *after)?, action.clone());
        }
        Ok(())
    }

    /// What it applies and deletes, and when.
    pub(super) fn changes(&self, start: Timestamp) -> Result<Vec<(Timestamp, Change)>, BadInput> {
        let changes = self.changes.iter();
        changes.map(|(after, change)| Ok((time(start, *after)?, change.clone()))).collect()
    }
}

fn time(start: Timestamp, after: SignedDuration) -> Result<Timestamp, BadInput> {
    start.checked_add(after).map_err(|error| BadInput::one(format!("events: at: {error}")))
}

/// A warning for each of `happened` that a scenario has happen to something that is not there.
pub(super) fn in_vain(happened: &[TimelineEvent], start: Timestamp) -> Vec<String> {
    let warning = |event: &TimelineEvent| match &event.happening {
        Happening::Planned { what, is_in_vain: true } => Some(format!(
            "warning: events: at {}: {what}: changes nothing, it is not there",
            elapsed(start, event.at)
        )),
        _ => None,
    };
    happened.iter().filter_map(warning).collect()
}

impl WrittenEvent {
    /// The files that it applies; `None` if it applies none.
    fn applied(&self, folder: &Path) -> Result<Option<Vec<InputFile>>, BadInput> {
        let paths = self.apply.as_ref().map(|path| [folder.join(path)]);
        paths.map(|paths| manifests::files(&paths, Depth::Files)).transpose()
    }

    /// What it does to objects that were applied; `applied` are its files.
    fn change(
        &self,
        place: &str,
        applied: Option<Vec<InputFile>>,
    ) -> Result<Option<Change>, BadInput> {
        if let Some(files) = applied {
            return Ok(Some(Change::Apply(files)));
        }
        let Some(WrittenDelete { kind, name }) = &self.delete else { return Ok(None) };
        let key = pod_key(&format!("{place}.delete.name"), name)?;
        Ok(Some(Change::Delete(kind.clone(), key)))
    }

    /// The one thing that it says; `applied` are its files.
    fn action(
        &self,
        place: &str,
        applied: Option<&[InputFile]>,
        ignored: &mut Vec<String>,
    ) -> Result<Action, BadInput> {
        let mut actions = Vec::new();
        if let Some(scale) = &self.scale {
            let workload = pod_key(&format!("{place}.scale.workload"), &scale.workload)?;
            actions.push(Action::Scale { workload, replicas: scale.replicas });
        }
        if let Some(files) = applied {
            let loaded = manifests::parse_part(files)?;
            ignored.extend(loaded.ignored);
            actions.push(Action::Add(loaded.objects));
        }
        if let Some(delete) = &self.delete {
            actions.push(delete.action(&format!("{place}.delete"))?);
        }
        if let Some(text) = &self.interrupt_spot {
            let target = target(&format!("{place}.interruptSpot"), text)?;
            actions.push(Action::InterruptSpot(target));
        }
        if let Some(text) = &self.terminate_instance {
            let target = target(&format!("{place}.terminateInstance"), text)?;
            actions.push(Action::TerminateInstance(target));
        }
        if let Some(capacity) = &self.capacity {
            let WrittenCapacity { instance_type, zone, capacity_type, instances } = capacity;
            let place = format!("{place}.capacity");
            let offering = offering(&place, instance_type, zone, capacity_type)?;
            actions.push(Action::SetCapacity { offering, instances: *instances });
        }
        if let Some(price) = &self.price {
            let WrittenPrice { instance_type, zone, capacity_type, price_per_hour } = price;
            let place = format!("{place}.price");
            let offering = offering(&place, instance_type, zone, capacity_type)?;
            let price = HourlyPrice::parse_dollars(price_per_hour)
                .map_err(|e| BadInput::one(format!("{place}.pricePerHour: {e}")))?;
            actions.push(Action::SetPrice { offering, price });
        }
        match (actions.pop(), actions.is_empty()) {
            (Some(action), true) => Ok(action),
            (None, _) => Err(BadInput::one(format!("{place}: says only when, not what happens"))),
            (Some(_), false) => Err(BadInput::one(format!("{place}: one event is one thing"))),
        }
    }
}

impl WrittenDelete {
    fn action(&self, place: &str) -> Result<Action, BadInput> {
        let name = format!("{place}.name");
        Ok(match self.kind.as_str() {
            "NodePool" => Action::DeleteNodePool(id(&name, NodePoolName::new(&self.name))?),
            "NodeClaim" => Action::DeleteNodeClaim(id(&name, NodeClaimName::new(&self.name))?),
            "EC2NodeClass" => Action::DeleteNodeClass(id(&name, NodeClassName::new(&self.name))?),
            "Deployment" | "StatefulSet" | "Job" | "ReplicaSet" | "Pod" => {
                Action::DeleteWorkload(pod_key(&name, &self.name)?)
            }
            "DaemonSet" => Action::DeleteDaemonSet(pod_key(&name, &self.name)?),
            "PodDisruptionBudget" => Action::DeleteDisruptionBudget(pod_key(&name, &self.name)?),
            "CapacityBuffer" => Action::DeleteCapacityBuffer(pod_key(&name, &self.name)?),
            "NodeOverlay" => Action::DeleteNodeOverlay(id(&name, ObjectName::new(&self.name))?),
            other => {
                return Err(BadInput::one(format!(
                    "{place}.kind: `{other}` cannot be deleted; there are NodePool, NodeClaim, EC2NodeClass, \
                     NodeOverlay, CapacityBuffer, Deployment, StatefulSet, Job, ReplicaSet, Pod, DaemonSet, \
                     PodDisruptionBudget"
                )));
            }
        })
    }
}

fn id<T>(place: &str, id: Result<T, model::id::InvalidId>) -> Result<T, BadInput> {
    id.map_err(|error| BadInput::one(format!("{place}: {error}")))
}

/// `namespace/name`, or `name` in the namespace `default`.
fn pod_key(place: &str, text: &str) -> Result<PodKey, BadInput> {
    let (namespace, name) = text.split_once('/').unwrap_or(("default", text));
    let namespace = id(place, Namespace::new(namespace))?;
    Ok(PodKey { namespace, name: id(place, ObjectName::new(name))? })
}

fn target(place: &str, text: &str) -> Result<SpotTarget, BadInput> {
    Ok(match text {
        "oldest" => SpotTarget::Oldest,
        "any" => SpotTarget::Any,
        node => SpotTarget::Node(id(place, NodeName::new(node))?),
    })
}

fn offering(
    place: &str,
    instance_type: &str,
    zone: &str,
    capacity_type: &str,
) -> Result<OfferingKey, BadInput> {
    let capacity_type = CapacityType::parse(capacity_type).ok_or_else(|| {
        BadInput::one(format!(
            "{place}.capacityType: `{capacity_type}` is none of spot, on-demand, reserved"
        ))
    })?;
    Ok(OfferingKey {
        capacity_type,
        instance_type: id(&format!("{place}.instanceType"), InstanceTypeName::new(instance_type))?,
        zone: id(&format!("{place}.zone"), Zone::new(zone))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, problem: &str) {
        let error = Scenario::parse(text, "s.yaml", Path::new(".")).unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
    }

    #[test]
    fn what_is_wrong_names_place_and_rule() {
        check(
            "events: [{at: 5x, scale: {workload: web, replicas: 1}}]",
            "s.yaml: events[0].at: `5x` is not a duration",
        );
        check("events: [{at: 5m}]", "s.yaml: events[0]: says only when");
        check(
            "events: [{at: 5m, delete: {kind: Service, name: x}}]",
            "events[0].delete.kind: `Service` cannot be deleted",
        );
        check(
            "events: [{at: 5m, interruptSpot: any, terminateInstance: any}]",
            "one event is one thing",
        );
        check("events: [{at: 5m, explode: true}]", "explode");
        check("end: -5m", "s.yaml: end: `-5m` must not be negative");
        check(
            "settings: {PollIntervalSeconds: 0}",
            "s.yaml: settings: PollIntervalSeconds: `0` is not a whole number from 1 to 60",
        );
        check(
            "settings: {Patience: low}",
            "s.yaml: settings: `Patience` is no setting: there are FeatureGates",
        );
        check("start: noon", "s.yaml: start: `noon` is not a time");
    }

    #[test]
    fn every_kind_of_event_is_read() {
        let text = r#"
end: 1h
events:
  - {at: 1m, scale: {workload: web, replicas: 3}}
  - {at: 2m, interruptSpot: oldest}
  - {at: 3m, capacity: {instanceType: m7g.large, zone: us-west-2a, capacityType: spot, instances: 0}}
  - {at: 4m, price: {instanceType: m7g.large, zone: us-west-2a, capacityType: spot, pricePerHour: "0.05"}}
  - {at: 5m, delete: {kind: Deployment, name: default/web}}
  - {at: 6m, terminateInstance: any}
  - {at: 7m, delete: {kind: PodDisruptionBudget, name: web}}
  - {at: 8m, delete: {kind: NodeOverlay, name: cheap}}
"#;
        let scenario = Scenario::parse(text, "s.yaml", Path::new(".")).unwrap();
        assert_eq!(scenario.actions.len(), 8);
        assert_eq!(scenario.end, Some(SignedDuration::from_hours(1)));
    }

    #[test]
    fn a_scenario_says_why_machines_never_join() {
        for (text, expected) in [
            ("NoRoute", JoinFailure::NoRoute),
            ("out of luck", JoinFailure::Console("out of luck".to_owned())),
        ] {
            let text = format!("{{neverJoinsPerMille: 500, neverJoinsBecause: {text}}}");
            let scenario = Scenario::parse(&text, "s.yaml", Path::new(".")).unwrap();
            assert_eq!(scenario.settings(1).join_failure, expected);
        }
    }
}
