//! `journeyman simulate`: manifests and a scenario, played by the functions' own handlers.

pub mod args;
mod drains;
pub mod dumps;
mod html;
mod lanes;
mod objects;
mod record;
mod rollouts;
mod savings;
pub(crate) mod scenario;
mod spending;
mod story;
mod summary;
pub(crate) mod timeline;

use std::{
    collections::BTreeMap,
    io::{self, Write},
    sync::Arc,
};

use dispatch::{Reports, Settings, dispatch_with};
use jiff::{SignedDuration, Timestamp};
use model::{
    ConditionKind, Function, PodKey, RegionCatalog, labels, overlay::ObservedOverlay, plan::Reason,
    policies::Policies,
};
use report::{
    command::RunCommand,
    error::{BadInput, CommandError},
    page,
    progress::ProgressLine,
    screen::{Color, Screen},
};
use simulator::{Action, ClusterObject, Runner, Sim, WakeFaults};

use crate::{
    gates::{self, Gates},
    manifests::{self, InputFile, Loaded},
    options,
    records::{self, PackedFacts},
    simulate::{
        dumps::Dumps, html::Played, objects::Objects, record::Record, scenario::Scenario,
        spending::Spending, summary::Outcome, timeline::Timeline,
    },
};

pub use self::args::SimulateArgs;

/// How long user's own manifests are played when nothing else is said.
const DURATION_DEFAULT: SignedDuration = SignedDuration::from_mins(30);
/// How much virtual time passes between two looks at what happened.
pub(crate) const STEP: SignedDuration = SignedDuration::from_secs(10);

/// What the end of a simulation says about the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulateExit {
    /// Every pod found a place.
    AllPlaced,
    /// Some did not.
    SomeUnplaced,
}

/// Everything that is played.
struct Play {
    loaded: Loaded,
    scenario: Scenario,
    title: String,
    /// The manifests as they are written, if dumps are asked for.
    files: Vec<InputFile>,
}

/// Plays and prints.
pub fn run(args: &SimulateArgs, out: &mut impl Write) -> Result<SimulateExit, CommandError> {
    let mut play = load(args)?;
    let functions = &mut play.scenario.functions;
    let changed = options::set_from_environment(functions)?;
    if !changed.is_empty() {
        play.title = format!("{} With {} from the environment.", play.title, changed.join(", "));
    }
    args.change(functions)?;
    functions.has_wake = args.wake;
    let gates = Gates::OfOption(&functions.policies);
    play.loaded.ignored.extend(manifests::closed_gates(&play.loaded.objects, gates));
    let mut settings = play.scenario.settings(args.seed);
    settings.wake = args.wake.then_some(WakeFaults::NONE);
    settings.default_spread = play.scenario.functions.default_spread.clone();
    if let (false, Some(saved_at)) = (play.scenario.has_start(), play.loaded.saved_at) {
        settings.start = saved_at;
    }
    let (start, end) = (settings.start, end(&play.scenario, args, settings.start)?);
    let catalog = instance_catalog::builtin().map_err(|e| BadInput::one(e.to_string()))?;
    check_zones(&play.loaded.objects, &catalog)?;
    let sim = Sim::new(settings, Arc::new(catalog));
    for findings in std::mem::take(&mut play.loaded.found) {
        sim.act(Action::Find(Box::new(findings)));
    }
    sim.add(std::mem::take(&mut play.loaded.objects));
    play.scenario.schedule(&sim, start)?;
    let mut stage = Stage {
        timeline: Timeline::new(start, args.verbose),
        unplaced: BTreeMap::new(),
        malformed: Vec::new(),
        record: args.html.is_some().then(|| Record::new(start, end)),
        dumps: dumps(args, start, &play)?,
        spending: Spending::default(),
    };
    let stopped = stage.play(&sim, (end, play.scenario.functions.clone()));
    if let Some(path) = &args.ledger {
        let (ledger, facts) = (sim.ledger(), PackedFacts::from(&sim.recorded_facts()));
        records::write(path, (sim.now(), &ledger), &sim.decisions(), &facts)?;
    }
    for warning in scenario::in_vain(&sim.timeline(0), start) {
        Screen::of_stderr().lines(&warning, &mut io::stderr())?;
    }
    // The progress of a run that ended too early is printed, too.
    let end = if stopped.is_err() { sim.now() } else { end };
    let costs = (stage.spending.costs(&sim), end.duration_since(start));
    let (rejected, priced) = overlays(&sim, &play.scenario.functions.policies);
    play.loaded.ignored.extend(rejected);
    let mut outcome =
        Outcome::of(&sim, &stage.unplaced, &stage.malformed, &play.loaded.ignored, costs);
    outcome.assume(priced);
    outcome.assume(drivers(&play.scenario.functions.policies));
    if args.output.is_document() {
        print_document(&stage, &outcome, args, (start, end), out)?;
    } else {
        let screen = Screen::of_stdout(Color::Auto).with_short_nodes();
        screen.text(0, &play.title, out)?;
        writeln!(out)?;
        screen.title("What happened", out)?;
        let lines = stage.timeline.lines(end);
        lines.iter().try_for_each(|line| screen.text(2, line, out))?;
        summary::print(&outcome, (start, end), screen, out)?;
    }
    if let (Some(path), Some(record)) = (&args.html, &stage.record) {
        let (title, timeline, events) = (play.title, &stage.timeline, &sim.timeline(0));
        let played = Played { title, record, events, outcome: &outcome, timeline, end };
        page::write(&played.report(), path)?;
    }
    stopped?;
    Ok(if outcome.unplaced.is_empty() {
        SimulateExit::AllPlaced
    } else {
        SimulateExit::SomeUnplaced
    })
}

impl RunCommand for SimulateArgs {
    fn run(&self, _: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        let exit = run(self, &mut { out })?;
        Ok(!(self.strict && exit == SimulateExit::SomeUnplaced))
    }
}

fn load(args: &SimulateArgs) -> Result<Play, BadInput> {
    let scenario = match &args.scenario {
        Some(path) => Some(Scenario::load(path)?),
        None => None,
    };
    let paths = [args.more.after(&args.manifests), args.more_manifests.clone()].concat();
    if paths.is_empty() {
        let files = story::manifests();
        let loaded = manifests::parse(&files)?;
        let scenario = match scenario {
            Some(scenario) => scenario,
            None => story::scenario()?,
        };
        let title = "The built-in story: examples/story, in a simulated account and cluster.";
        return Ok(Play { loaded, scenario, title: title.to_owned(), files });
    }
    let (mut loaded, files) = if args.dumps.is_some() {
        let files = manifests::files(&paths, args.more.depth())?;
        (manifests::parse(&files)?, files)
    } else {
        (manifests::load(&paths, args.more.depth())?, Vec::new())
    };
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let title = format!("{}, in a simulated account and cluster.", names.join(", "));
    let scenario = scenario.unwrap_or_default();
    scenario.check_classes(&loaded.objects)?;
    loaded.ignored.extend(scenario.ignored.iter().cloned());
    Ok(Play { loaded, scenario, title, files })
}

/// The NodeOverlays of the end that are not applied, each with why, and what is assumed of the prices of the others.
fn overlays(sim: &Sim, policies: &Policies) -> (Vec<String>, Vec<String>) {
    let (mut rejected, mut applied) = (Vec::new(), Vec::new());
    for ObservedOverlay { overlay, .. } in sim.observed_overlays() {
        let conditions = sim.overlay_record(&overlay.name).map(|record| record.conditions);
        let failed = conditions.into_iter().flatten().find(|condition| {
            condition.kind == ConditionKind::ValidationSucceeded && condition.status == Some(false)
        });
        match failed {
            Some(failed) => rejected.push(gates::rejected(&overlay.name, failed.message)),
            None => applied.push(overlay),
        }
    }
    (rejected, gates::priced(&applied, policies))
}

/// The drivers of devices that are assumed to run on the nodes, as `policies` have gates for them.
fn drivers(policies: &Policies) -> Vec<String> {
    let gates = [
        ("DRANVIDIAGPU", policies.dra_nvidia_gpu, "gpu.nvidia.com", "GPUs"),
        ("DRAEFA", policies.dra_efa, model::dynamic_resources::EFA_DRIVER, "EFA interfaces"),
    ];
    let open = gates.into_iter().filter(|(_, is_open, ..)| *is_open);
    let driver = |(gate, _, driver, devices)| {
        format!(
            "driver {driver} runs on every node with {devices} and publishes them ({gate}=true)"
        )
    };
    open.map(driver).collect()
}

/// What writes dumps, if they are asked for.
fn dumps(args: &SimulateArgs, start: Timestamp, play: &Play) -> Result<Option<Dumps>, BadInput> {
    let Some(folder) = &args.dumps else { return Ok(None) };
    let every = options::duration("--every", &args.every)?;
    if every < STEP {
        return Err(BadInput::one(format!("--every: `{}` must be at least 10s", args.every)));
    }
    let objects = Objects::new(start, &play.files, play.scenario.changes(start)?)?;
    Dumps::new(folder, every, start, objects).map(Some)
}

/// Nodes and NodeClaims of a saved cluster must be where the simulated account is.
pub(crate) fn check_zones(
    objects: &[ClusterObject],
    catalog: &RegionCatalog,
) -> Result<(), BadInput> {
    let elsewhere = objects.iter().find_map(|object| {
        let zone = match object {
            ClusterObject::Node(story) => story.node.labels.get(labels::ZONE)?.as_str(),
            ClusterObject::NodeClaim(claim) => claim.instance.as_ref()?.zone.as_str(),
            _ => return None,
        };
        (!catalog.zones.contains_key(zone)).then_some((object, zone))
    });
    let Some((object, zone)) = elsewhere else { return Ok(()) };
    let region = &catalog.region;
    Err(BadInput::one(format!("{object}: is in {zone}, and the simulated account in {region}")))
}

fn end(scenario: &Scenario, args: &SimulateArgs, start: Timestamp) -> Result<Timestamp, BadInput> {
    let given = match &args.duration {
        Some(text) => Some(options::duration("--duration", text)?),
        None => None,
    };
    let length = given.or(scenario.end).unwrap_or(DURATION_DEFAULT);
    start.checked_add(length).map_err(|error| BadInput::one(format!("--duration: {error}")))
}

/// What is kept while a simulation is played.
struct Stage {
    timeline: Timeline,
    /// Why pods found no place when they were last looked at.
    unplaced: BTreeMap<PodKey, Vec<Reason>>,
    /// Objects that could not be read.
    malformed: Vec<String>,
    /// What a report shows, if one is asked for.
    record: Option<Record>,
    /// Writes dumps, if they are asked for.
    dumps: Option<Dumps>,
    /// Who bears what is spent.
    spending: Spending,
}

/// Whole seconds from `start` to `at`.
pub(crate) fn seconds(start: Timestamp, at: Timestamp) -> u64 {
    u64::try_from(at.duration_since(start).as_secs()).unwrap_or_default()
}

impl Stage {
    fn play(
        &mut self,
        sim: &Sim,
        (end, functions): (Timestamp, Settings),
    ) -> Result<(), CommandError> {
        let reports = Reports::default();
        let progress = ProgressLine::new("playing");
        let start = sim.now();
        let mut runner = Runner::new(sim, dispatch_with(sim, &reports, functions));
        let mut seen = 0;
        let mut outcome = Ok(());
        self.spending.look(sim, true);
        if let Some(dumps) = &mut self.dumps {
            dumps.look(sim, &sim.timeline(0))?;
        }
        while outcome.is_ok() && sim.now() < end {
            let until = sim.now().checked_add(STEP).map_or(end, |next| next.min(end));
            outcome = runner.run_until(until);
            let events = sim.timeline(seen);
            seen += events.len();
            let decided = reports.take();
            self.note(&decided);
            self.spending.look(sim, !events.is_empty());
            if let Some(record) = &mut self.record {
                record.look(sim, &events, &decided);
            }
            let dumps = self.dumps.as_mut().map_or(Ok(()), |dumps| dumps.look(sim, &events));
            self.timeline.add(events, &decided);
            dumps?;
            progress.at("playing", seconds(start, sim.now()), seconds(start, end));
        }
        if let Some(record) = &mut self.record {
            record.close(sim);
        }
        outcome.map_err(|stopped| CommandError::Stopped(stopped.to_string()))
    }

    fn note(&mut self, decided: &[dispatch::Decided]) {
        for decided in decided {
            for malformed in &decided.report.malformed {
                let text = format!("{}: {}", malformed.object, malformed.problem);
                if !self.malformed.contains(&text) {
                    self.malformed.push(text);
                }
            }
            if decided.function != Function::Provision {
                continue;
            }
            let Some(plan) = &decided.report.plan else { continue };
            let placed = plan.new_claims.iter().map(|new| &new.claim.pods);
            for pod in placed.chain(plan.placements.iter().map(|p| &p.pods)).flatten() {
                self.unplaced.remove(pod);
            }
            for unplaced in &plan.unplaced {
                self.unplaced.insert(unplaced.pod.clone(), unplaced.reasons.clone());
            }
        }
    }
}

fn print_document(
    stage: &Stage,
    outcome: &Outcome,
    args: &SimulateArgs,
    (start, end): (Timestamp, Timestamp),
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let document = serde_json::json!({
        "seed": args.seed,
        "start": start.to_string(),
        "end": end.to_string(),
        "timeline": stage.timeline.json(),
        "summary": summary::json(outcome),
    });
    Ok(report::json::write(&document, args.output, out)?)
}
