//! Karpenter's own answers, played in this process: `tests/proof/README.md` says what they are.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "helpers of tests fail loudly; what a JSON value lacks is null"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read as _,
    path::{Path, PathBuf},
    sync::Mutex,
};

use journeyman::{
    authority::AuthorityArgs,
    hash::{self, HashArgs},
    options::{MoreManifests, SetArgs},
    plan::{self, PlanArgs},
    render::{self, RenderArgs},
};
use model::{
    RegionCatalog,
    facts::Facts,
    policies::{ConsolidationSearch, Packing},
    recorded::Question,
};
use report::{format::Format, screen::Screen};
use scheduling::Paid;
use serde::Deserialize;
use serde_json::Value;
use tests::repository;

#[path = "proof/adoption.rs"]
mod adoption;
#[path = "foreseen.rs"]
mod differences;
#[path = "proof/disruption.rs"]
mod disruption;
#[path = "proof/scheduling.rs"]
mod scheduling;

/// One scenario, and Karpenter's answer.
#[derive(Deserialize)]
struct Entry {
    name: String,
    scenario: Scenario,
    #[serde(default)]
    files: BTreeMap<String, String>,
    expected: Value,
}

impl Entry {
    /// Its manifests, as a file in `folder`.
    fn manifests(&self, folder: &Path) -> PathBuf {
        let path = folder.join(self.name.replace('/', "-")).with_extension("yaml");
        std::fs::write(&path, &self.files["manifests.yaml"]).expect("a file for the test");
        path
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Scenario {
    instance_types: Option<String>,
    now: Option<String>,
    #[serde(default)]
    flags: BTreeMap<String, String>,
}

fn unpacked(name: &str) -> String {
    let path = repository().join("tests/proof").join(name);
    let packed = std::fs::read(&path).expect("a packed file");
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut text).expect("text");
    text
}

/// The catalogs, as files that a command reads, and as what they say.
struct Catalogs(BTreeMap<String, (PathBuf, RegionCatalog)>);

impl Catalogs {
    fn unpacked(folder: &Path) -> Self {
        let catalog = |name: &str| {
            let text = unpacked(&format!("{name}.json.gz"));
            let path = folder.join(format!("{name}.json"));
            std::fs::write(&path, &text).expect("a file for the test");
            (name.to_owned(), (path, instance_catalog::read(&text).expect("a catalog")))
        };
        Self(["reserved", "small", "us-west-2"].map(catalog).into())
    }

    fn of(&self, scenario: &Scenario) -> &(PathBuf, RegionCatalog) {
        let name = scenario.instance_types.as_deref().unwrap_or("small");
        self.0.get(name).expect("a catalog that is packed")
    }
}

fn plan_args(scenario: &Scenario, catalog: &Path, manifests: PathBuf) -> PlanArgs {
    let flag = |name: &str| scenario.flags.get(name).map(String::as_str);
    PlanArgs {
        manifests: vec![manifests],
        instance_types: Some(catalog.to_owned()),
        now: scenario.now.clone(),
        preference_policy: flag("preference-policy").map(ToOwned::to_owned),
        min_values_policy: flag("min-values-policy").map(ToOwned::to_owned),
        set: SetArgs {
            feature_gates: flag("feature-gates").unwrap_or_default().to_owned(),
            ..SetArgs::default()
        },
        legacy_node_repair: flag("legacy-node-repair") == Some("true"),
        output: Format::Json,
        rounds: 1,
        ..PlanArgs::default()
    }
}

fn render_args(entry: &Entry, manifests: PathBuf) -> RenderArgs {
    let cluster = manifests.with_extension("json");
    std::fs::write(&cluster, &entry.files["cluster.json"]).expect("a file for the test");
    let flags = &entry.scenario.flags;
    RenderArgs {
        manifests: vec![manifests],
        from: Some(repository().join("tests/proof/ec2")),
        cluster_facts: Some(cluster),
        now: entry.scenario.now.clone(),
        settings: SetArgs {
            feature_gates: flags.get("feature-gates").cloned().unwrap_or_default(),
            aws_feature_gates: flags.get("aws-feature-gates").cloned().unwrap_or_default(),
            reserved_enis: flags.get("reserved-enis").cloned(),
            vm_memory_overhead_percent: flags.get("vm-memory-overhead-percent").cloned(),
            ..SetArgs::default()
        },
        min_values_policy: flags.get("min-values-policy").cloned(),
        output: Format::Json,
        ..RenderArgs::default()
    }
}

/// What is wrong with our answer; nothing if it is Karpenter's. What it costs is added to `paid` where
/// Karpenter's cost varies.
fn faults(
    entry: &Entry,
    catalogs: &Catalogs,
    folder: &Path,
    paid: &Mutex<Vec<Paid>>,
) -> Vec<String> {
    let kind = entry.name.split('/').next().unwrap_or_default();
    let manifests = entry.manifests(folder);
    let (path, catalog) = catalogs.of(&entry.scenario);
    let mut out = Vec::new();
    let answer = match kind {
        "hashes" => {
            let args = HashArgs {
                manifests: vec![manifests],
                authority: AuthorityArgs {
                    ca_bundle: entry.scenario.flags.get("ca-bundle").cloned(),
                    cluster_facts: None,
                },
                against: Vec::new(),
                more: MoreManifests::default(),
                strict: false,
                output: Format::Json,
            };
            hash::run(&args, Screen::default(), &mut out).map(|_| ())
        }
        "render" => render::run(&render_args(entry, manifests), Screen::default(), &mut out),
        _ => {
            let args = PlanArgs {
                disruption: kind == "disruption",
                ..plan_args(&entry.scenario, path, manifests)
            };
            let screen = Screen::default();
            plan::run(&args, screen, &mut out, (screen, &mut Vec::new())).map(|_| ())
        }
    };
    if entry.expected["error"] == Value::Bool(true) {
        let is_refused = answer.is_err();
        return if is_refused { Vec::new() } else { vec!["it must be refused".to_owned()] };
    }
    if let Err(error) = answer {
        return vec![error.to_string()];
    }
    let mut answer: Value = serde_json::from_slice(&out).expect("the answer is JSON");
    // Of Karpenter's answers none has a version or warns.
    for member in ["schemaVersion", "warnings"] {
        answer.as_object_mut().and_then(|members| members.remove(member));
    }
    match kind {
        "hashes" | "render" if answer == entry.expected => Vec::new(),
        "hashes" | "render" => vec![format!("expected {}, got {answer}", entry.expected)],
        "disruption" => disruption::faults(&entry.expected, &answer),
        _ => {
            let gates = entry.scenario.flags.get("feature-gates").map_or("", String::as_str);
            let sells_reserved = !gates.contains("ReservedCapacity=false");
            paid.lock().expect("no test panics").extend(scheduling::paid(&entry.expected, &answer));
            scheduling::faults((catalog, sells_reserved), &entry.expected, &answer)
        }
    }
}

/// Where Karpenter's answers cost now more, now less: in sum less than its mean. (That none costs more
/// than its worst is looked at one by one.)
fn check_prices(paid: &[Paid]) {
    assert!(30 < paid.len(), "Karpenter's price varies in {} scenarios only", paid.len());
    let sum = |price: fn(&Paid) -> u64| paid.iter().map(price).sum::<u64>();
    let (ours, mean, worst) = (sum(|p| p.ours), sum(|p| p.mean), sum(|p| p.worst));
    let dearer = paid.iter().filter(|p| p.mean < p.ours).count();
    let cheaper = paid.iter().filter(|p| p.ours < p.mean).count();
    println!(
        "{} scenarios in nano-dollars per hour: ours {ours}, Karpenter's mean {mean}, its worst \
         {worst}; cheaper than its mean {cheaper}, dearer {dearer}",
        paid.len()
    );
    assert!(ours < mean && dearer < cheaper, "dearer than Karpenter's mean");
}

/// The scenarios, and a folder of the test's own for what commands read.
fn entries(test: &str) -> (Vec<Entry>, PathBuf) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let packed = unpacked("answers.jsonl.gz");
    let entries: Vec<Entry> =
        packed.lines().map(|line| serde_json::from_str(line).expect("a scenario")).collect();
    assert!(400 < entries.len(), "only {} scenarios are packed", entries.len());
    (entries, folder)
}

/// The scenarios in which Karpenter decides otherwise, by name, with the reason.
fn exceptions() -> BTreeMap<String, String> {
    let path = repository().join("tests/conformance-exceptions.json");
    let text = std::fs::read_to_string(path).expect("the exceptions");
    serde_json::from_str(&text).expect("JSON")
}

/// Here a claim has no condition `Consolidatable`, which Karpenter waits for; of an adopted claim it is worked out.
const WITHOUT_CONSOLIDATABLE: &str = "disruption/repair-empty-node";

#[test]
fn what_karpenter_left_is_adopted_and_treated_as_karpenter_would() {
    let (entries, folder) = entries("adoption");
    let catalogs = Catalogs::unpacked(&folder);
    let exceptions = exceptions();
    let of_disruption = entries.iter().filter(|entry| {
        entry.name.starts_with("disruption/")
            && !exceptions.contains_key(&entry.name)
            && entry.name != WITHOUT_CONSOLIDATABLE
    });
    let mut adopted = 0;
    let mut wrong = Vec::new();
    for entry in of_disruption {
        let manifests = entry.manifests(&folder);
        let (path, catalog) = catalogs.of(&entry.scenario);
        let args = PlanArgs { disruption: true, ..plan_args(&entry.scenario, path, manifests) };
        let mut facts = plan::read_facts(&args).expect("facts");
        if !adoption::adopt(&mut facts, catalog) {
            continue;
        }
        adopted += 1;
        let mut out = Vec::new();
        // The lists of scenarios are cut to what they are about.
        plan::show(&args, (&facts, false), &mut out).expect("an answer");
        let answer = serde_json::from_slice(&out).expect("the answer is JSON");
        let faults = disruption::faults(&entry.expected, &answer);
        wrong
            .extend((!faults.is_empty()).then(|| format!("{}: {}", entry.name, faults.join("; "))));
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(100 < adopted, "only {adopted} scenarios have claims that can be adopted");
}

/// How many scenarios, spread over all of them, are checked, unless `JOURNEYMAN_SEEDS` names another number.
const CHECKED_DEFAULT: u64 = 20;

/// What the check before the commit would refuse of what is decided in the scenario, packed either way.
fn violations(entry: &Entry, catalogs: &Catalogs, folder: &Path) -> Vec<String> {
    let manifests = entry.manifests(folder);
    let args = plan_args(&entry.scenario, &catalogs.of(&entry.scenario).0, manifests);
    let Ok(mut facts) = plan::read_facts(&args) else {
        let is_refused = entry.expected["error"] == Value::Bool(true);
        return (!is_refused).then(|| "it cannot be read".to_owned()).into_iter().collect();
    };
    let mut refused = Vec::new();
    for packing in [Packing::Karpenter, Packing::Cheapest] {
        facts.policies.packing = packing;
        let disrupt = Question::Disrupt { unseen: BTreeSet::new(), from: None };
        for question in [Question::Provision, disrupt] {
            let plan = planner::answer(&facts, &question, &planner::Memory::default()).plan;
            let broken = plan_check::violations(&facts, &plan);
            refused
                .extend(broken.iter().map(|rule| format!("{}, {packing:?}: {rule}", entry.name)));
        }
    }
    refused
}

#[test]
fn what_is_decided_passes_the_check_before_the_commit() {
    let (entries, folder) = entries("checked");
    let catalogs = Catalogs::unpacked(&folder);
    let kinds = ["disruption/", "scheduling/"];
    let is_decided = |entry: &&Entry| kinds.iter().any(|kind| entry.name.starts_with(kind));
    let decided: Vec<&Entry> = entries.iter().filter(is_decided).collect();
    let number = tests::variable("JOURNEYMAN_SEEDS").unwrap_or(CHECKED_DEFAULT);
    let step = (decided.len() / usize::try_from(number).expect("few")).max(1);
    let played: Vec<&&Entry> = decided.iter().step_by(step).collect();
    println!("{} of {} scenarios decided", played.len(), decided.len());
    let refused: Vec<String> =
        played.iter().flat_map(|entry| violations(entry, &catalogs, &folder)).collect();
    assert!(refused.is_empty(), "{} are refused:\n{}", refused.len(), refused.join("\n"));
}

/// What `plan` and `plan --disruption` say of `facts`, which are called `name`, and functions would not do.
fn unforeseen(name: &str, mut facts: Facts) -> Vec<String> {
    let mut differ = Vec::new();
    for consolidation in [ConsolidationSearch::Karpenter, ConsolidationSearch::Thorough] {
        facts.policies.consolidation = consolidation;
        let disrupt = Question::Disrupt { unseen: BTreeSet::new(), from: None };
        let plan = planner::answer(&facts, &disrupt, &planner::Memory::default()).plan;
        let why = differences::disruption_differs(&facts, &[&plan]);
        differ.extend(why.map(|why| format!("{name}, {consolidation:?}: {why}")));
    }
    for packing in [Packing::Karpenter, Packing::Cheapest] {
        facts.policies.packing = packing;
        let plan = planner::answer(&facts, &Question::Provision, &planner::Memory::default()).plan;
        let why = differences::creation_differs(&facts, &plan);
        differ.extend(why.map(|why| format!("{name}, {packing:?}: {why}")));
    }
    differ
}

#[test]
fn what_plan_says_of_scenarios_is_what_functions_decide() {
    let (entries, folder) = entries("foreseen");
    let catalogs = Catalogs::unpacked(&folder);
    let is_played = |entry: &&Entry| entry.name.starts_with("disruption/");
    let played: Vec<&Entry> = entries.iter().filter(is_played).collect();
    assert!(100 < played.len(), "only {} scenarios of disruption are packed", played.len());
    let unforeseen = |entry: &&Entry| {
        let catalog = &catalogs.of(&entry.scenario).0;
        let args = plan_args(&entry.scenario, catalog, entry.manifests(&folder));
        plan::read_facts(&args).map_or_else(|_| Vec::new(), |facts| unforeseen(&entry.name, facts))
    };
    let differ: Vec<String> = played.iter().flat_map(unforeseen).collect();
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}

/// The facts of the case in `folder`; `None` where `plan` refuses its objects.
fn facts_of_case(folder: &Path) -> Option<Facts> {
    let facts = folder.join("facts.json");
    let args = PlanArgs {
        manifests: vec![folder.join("manifests.yaml")],
        authority: AuthorityArgs {
            cluster_facts: facts.exists().then_some(facts),
            ..AuthorityArgs::default()
        },
        now: Some("2026-11-26T12:00:00Z".to_owned()),
        ..PlanArgs::default()
    };
    plan::read_facts(&args).ok()
}

#[test]
fn what_plan_says_of_cases_is_what_functions_decide() {
    let cases = repository().join("tests/golden/cases");
    let folders = std::fs::read_dir(cases)
        .expect("the cases are there")
        .map(|entry| entry.expect("an entry").path());
    let folders: BTreeSet<PathBuf> = folders.collect();
    let decided = |folder: &PathBuf| Some((folder.display().to_string(), facts_of_case(folder)?));
    let decided: Vec<(String, Facts)> = folders.iter().filter_map(decided).collect();
    assert!(
        folders.len() < decided.len() + 8,
        "only {} of {} cases can be read",
        decided.len(),
        folders.len()
    );
    let differ: Vec<String> =
        decided.into_iter().flat_map(|(name, facts)| unforeseen(&name, facts)).collect();
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}

#[test]
fn karpenters_answers_are_ours() {
    let (entries, folder) = entries("proof");
    let catalogs = Catalogs::unpacked(&folder);
    let exceptions = exceptions();
    let (next, wrong) = (Mutex::new(entries.iter()), Mutex::new(BTreeMap::new()));
    let paid = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(entry) = { next.lock().expect("no test panics").next() } {
                    let faults = faults(entry, &catalogs, &folder, &paid);
                    if !faults.is_empty() {
                        wrong.lock().expect("no test panics").insert(entry.name.clone(), faults);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no test panics");
    let unexpected: Vec<String> = wrong
        .iter()
        .filter(|(name, _)| !exceptions.contains_key(*name))
        .map(|(name, faults)| format!("{name}: {}", faults.join("; ")))
        .collect();
    assert!(unexpected.is_empty(), "{} differ:\n{}", unexpected.len(), unexpected.join("\n"));
    // `compare` plays more than is packed.
    let played: BTreeSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let idle: BTreeSet<&String> = exceptions
        .keys()
        .filter(|name| played.contains(name.as_str()) && !wrong.contains_key(*name))
        .collect();
    assert!(idle.is_empty(), "these are no exceptions any more: {idle:?}");
    check_prices(&paid.into_inner().expect("no test panics"));
}
