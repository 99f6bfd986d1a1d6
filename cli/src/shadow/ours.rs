//! Journeyman: what it would have done, played to the functions' own handlers on a simulated account.

use std::sync::Arc;

use dispatch::{Decided, Reports, Settings, dispatch_with};
use jiff::{SignedDuration, Timestamp};
use model::{HourlyPrice, RegionCatalog};
use report::{
    error::{BadInput, CommandError},
    progress::ProgressLine,
};
use simulator::{ClusterObject, Runner, Sim, TimelineEvent, Trace, WorldSettings};

use super::{
    Side, demand,
    dumps::{self, Dump},
    html::Ends,
    incidents::Incidents,
    side,
};
use crate::{
    least::Least,
    simulate::{STEP, check_zones, seconds, timeline::Timeline},
};

/// For how long it is played before the first dump where it takes nothing over: until it has nodes of its own.
const WARM_UP: SignedDuration = SignedDuration::from_hours(1);

/// Plays the demand of `dumps`, from the nodes of the first one, and what happened to their nodes. Where no NodeClaim says
/// which nodes Karpenter launched, it has none of them, and begins early enough to have its own.
pub(super) fn play(
    dumps: &[Dump],
    seed: u64,
    catalog: &Arc<RegionCatalog>,
    (incidents, notes): (&mut Incidents, &mut Vec<String>),
    progress: &ProgressLine,
) -> Result<(Side, Ends, Vec<Option<HourlyPrice>>), CommandError> {
    let Some(first) = dumps.first() else { return Err(BadInput::one("there is no dump").into()) };
    let takes_over = dumps.iter().any(Dump::has_claims);
    let objects = start(first, takes_over, notes);
    check_zones(&objects, catalog)?;
    let warm_up = if takes_over { SignedDuration::ZERO } else { WARM_UP };
    let start = first.at.checked_sub(warm_up).unwrap_or(first.at);
    let mut settings = WorldSettings { start, ..WorldSettings::with_seed(seed) };
    settings.trace = Trace::Dropped;
    let sim = Sim::new(settings, Arc::clone(catalog));
    sim.add(objects);
    for pair in dumps.windows(2) {
        let [from, to] = pair else { continue };
        for (at, action) in demand::between(from, to) {
            sim.at(at, action);
        }
    }
    let end = dumps.last().map_or(first.at, |dump| dump.at);
    let reports = Reports::default();
    let mut runner = Runner::new(&sim, dispatch_with(&sim, &reports, Settings::default()));
    let (mut least, mut bounds) = (Least::default(), Vec::new());
    let (mut look, mut ours) = (Look::of(first.at), Vec::new());
    for dump in dumps {
        while sim.now() < dump.at {
            let step = sim.now().checked_add(STEP).map_or(dump.at, |next| next.min(dump.at));
            let until = incidents.next(sim.now()).map_or(step, |at| at.min(step));
            runner
                .run_until(until)
                .map_err(|stopped| CommandError::Stopped(stopped.to_string()))?;
            look.events(sim.timeline(look.seen), &reports.take());
            incidents.play(&sim);
            progress.at("playing", seconds(start, sim.now()), seconds(start, end));
        }
        ours.push(dumped(&sim));
        bounds.push(least.price(&sim, side::paid_for(dump, catalog)));
    }
    let lines = look.timeline.told(end).into_iter();
    let lines = lines.map(|(at, kind, text)| (at, kind, format!("Journeyman: {text}"))).collect();
    // What has no price could not be bought here.
    let side = side::of((&ours, catalog), &mut Incidents::default(), &mut Vec::new());
    let ends =
        Ends { nodes: sim.nodes(), pods: sim.pods(), claims: sim.claims(), running: sim.running() };
    Ok((Side { lines, ..side }, ends, bounds))
}

/// What is there at the start.
fn start(first: &Dump, takes_over: bool, notes: &mut Vec<String>) -> Vec<ClusterObject> {
    if takes_over {
        return first.objects.clone();
    }
    let words = "The dumps have no NodeClaim: Journeyman starts an hour earlier without any nodes";
    notes.push(words.to_owned());
    let mut objects = first.objects.clone();
    objects
        .retain(|object| !matches!(object, ClusterObject::Node(_) | ClusterObject::NodeClaim(_)));
    for object in &mut objects {
        if let ClusterObject::Workload(workload) = object {
            workload.started.clear();
        }
    }
    objects
}

/// What is seen while it is played.
struct Look {
    timeline: Timeline,
    from: Timestamp,
    seen: usize,
}

impl Look {
    fn of(from: Timestamp) -> Self {
        Self { timeline: Timeline::new(from, false), from, seen: 0 }
    }

    fn events(&mut self, events: Vec<TimelineEvent>, decided: &[Decided]) {
        self.seen += events.len();
        // What comes before the first dump is not compared.
        let later = events.into_iter().filter(|event| event.at >= self.from).collect();
        let decided: Vec<Decided> =
            decided.iter().filter(|decided| decided.at >= self.from).cloned().collect();
        self.timeline.add(later, &decided);
    }
}

/// What a dump of `sim` would show now.
fn dumped(sim: &Sim) -> Dump {
    let mut pods = sim.pods();
    pods.retain(|pod| !pod.is_terminal());
    let claims = sim.claims();
    Dump {
        at: sim.now(),
        nodes: sim.nodes(),
        ended: dumps::ended(&claims),
        claims,
        pods,
        events: Vec::new(),
        has_events: false,
        objects: Vec::new(),
        notes: Vec::new(),
    }
}
