//! `journeyman validate`: what an API server or Karpenter would find wrong with manifests.

mod devices;
mod together;
mod warnings;
mod windows;
mod zones;

pub(crate) use self::{windows::is_endless, zones::elsewhere};
use crate::options::{MoreManifests, SetArgs};
use report::command::RunCommand;
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
    path::PathBuf,
};

use api::{document::Diagnostic, objects::Object};
use report::{
    error::CommandError,
    format::Format,
    output::{count, thousands},
    progress::ProgressLine,
    screen::Screen,
};

use serde_json::{Value, json};

use self::warnings::Findings;
use crate::manifests::{self, Read};

/// Options of `validate`.
#[derive(Clone, Debug, clap::Args)]
pub struct ValidateArgs {
    /// Manifests: files, directories, or `-`.
    #[arg(value_name = "DIR|FILE", required_unless_present = "filenames")]
    pub manifests: Vec<PathBuf>,
    /// More of them, as kubectl takes them.
    #[command(flatten)]
    pub more: MoreManifests,
    /// Settings of the functions.
    #[command(flatten)]
    pub set: SetArgs,
    /// Output format.
    #[arg(short, long, value_name = "FORMAT", value_parser = Format::one_of(Format::DOCUMENT), default_value_t)]
    pub output: Format,
}

/// Prints every problem, and last the summary. `true`: there is no problem; there may be warnings.
pub fn run(
    args: &ValidateArgs,
    screen: Screen,
    out: &mut impl Write,
) -> Result<bool, CommandError> {
    let reading = ProgressLine::new("reading");
    let files = manifests::files(&args.more.after(&args.manifests), args.more.depth())?;
    let settings = args.set.read(&[])?;
    let mut read = Read::of(&files);
    read.open_gates(&settings);
    let (mut problems, elsewhere) = read.problems_and_elsewhere();
    // As a person reads the files: from above.
    let mut order = BTreeMap::new();
    for (place, problem) in problems.iter().enumerate() {
        order.entry(problem.file.clone()).or_insert(place);
    }
    problems.sort_by_key(|problem| (order.get(&problem.file).copied(), problem.line));
    let Findings { warnings, refusals, unchecked } =
        warnings::findings(&read.manifests, &files, &settings)?;
    let number = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
    let of_refusals = refusals.iter().map(|(file, _)| file);
    let wrong: BTreeSet<&String> =
        problems.iter().map(|problem| &problem.file).chain(of_refusals).collect();
    let wrong_count = problems.len() + refusals.len();
    let is_right = wrong_count == 0;
    let unchecked: Vec<String> = elsewhere.into_iter().chain(unchecked).collect();
    let foreign = read.foreign().map(ToString::to_string);
    let left_out: Vec<String> = foreign.chain(read.notes.iter().cloned()).collect();
    drop(reading);
    let verdict = match (wrong_count, warnings.len()) {
        (0, 0) if kinds(&read).is_empty() => "no Kubernetes object found".to_owned(),
        (0, 0) if unchecked.is_empty() => "nothing is wrong".to_owned(),
        (0, 0) => "nothing is wrong in what was checked".to_owned(),
        (0, warnings) => count(number(warnings), "warning"),
        (problems, _) => {
            let (problems, of) = (count(number(problems), "problem"), wrong.len());
            if of == files.len() { problems } else { format!("{problems} in {of} of them") }
        }
    };
    if args.output.is_document() {
        let document = json!({
            "files": files.len(),
            "problems": problems.iter().map(in_json).collect::<Vec<_>>(),
            "refused": refusals.iter().map(|(_, text)| text).collect::<Vec<_>>(),
            "warnings": warnings,
            "notChecked": unchecked,
            "leftOut": left_out,
            "objects": kinds(&read),
        });
        report::json::write(&document, args.output, out)?;
        return Ok(is_right);
    }
    let (mut found, mut kinds) = (Vec::new(), Vec::new());
    for problem in &problems {
        screen.text(0, &problem.to_string(), &mut found)?;
    }
    for (_, refusal) in &refusals {
        screen.text(0, refusal, &mut found)?;
    }
    print_kinds(&read, screen, &mut kinds)?;
    let mut sections = vec![found, kinds];
    let parts = [("Warnings", &warnings), ("Not checked", &unchecked), ("Left out", &left_out)];
    for (title, texts) in parts.into_iter().filter(|(_, texts)| !texts.is_empty()) {
        let mut section = Vec::new();
        screen.title(title, &mut section)?;
        texts.iter().try_for_each(|text| screen.text(2, text, &mut section))?;
        sections.push(section);
    }
    for section in sections.iter().filter(|section| !section.is_empty()) {
        out.write_all(section)?;
        writeln!(out)?;
    }
    screen.title(&format!("{}: {verdict}", count(number(files.len()), "file")), out)?;
    Ok(is_right)
}

impl RunCommand for ValidateArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        run(self, screen, &mut { out })
    }
}

/// A problem for programs.
fn in_json(problem: &Diagnostic) -> Value {
    let Diagnostic { file, line, object, problem, cure, .. } = problem;
    json!({
        "file": file,
        "line": line,
        "kind": object.as_ref().map(|object| &object.kind),
        "name": object.as_ref().map(|object| &object.name),
        "field": problem.field,
        "rule": problem.rule.to_string(),
        "cure": cure,
    })
}

/// How many objects of each kind could be read.
fn kinds(read: &Read) -> BTreeMap<&str, u64> {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for object in read.manifests.iter().flat_map(|manifest| &manifest.objects) {
        *kinds.entry(kind_of(object)).or_default() += 1;
    }
    kinds
}

fn print_kinds(read: &Read, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    let rows: Vec<Vec<String>> = kinds(read)
        .into_iter()
        .map(|(kind, number)| vec![kind.to_owned(), thousands(number.into())])
        .collect();
    if rows.is_empty() { Ok(()) } else { screen.table(&["KIND", "READ"], &rows, out) }
}

fn kind_of(object: &Object) -> &str {
    match object {
        Object::NodePool(_) => "NodePool",
        Object::NodeClass(_) => "EC2NodeClass",
        Object::NodeClaim(_) | Object::StandaloneClaim(_) => "NodeClaim",
        Object::NodeOverlay(_) => "NodeOverlay",
        Object::CapacityBuffer(_) => "CapacityBuffer",
        Object::Node(_) => "Node",
        Object::Pod(_) => "Pod",
        Object::Workload(workload) => workload.kind.as_str(),
        Object::DaemonSet(..) => "DaemonSet",
        Object::PodTemplate(..) => "PodTemplate",
        Object::Volume(..) => "PersistentVolume",
        Object::VolumeClaim(..) => "PersistentVolumeClaim",
        Object::ResourceSlice(_) => "ResourceSlice",
        Object::DeviceClass(_) => "DeviceClass",
        Object::ResourceClaim(_) => "ResourceClaim",
        Object::ClaimTemplate(_) => "ResourceClaimTemplate",
        Object::StorageClass(_) => "StorageClass",
        Object::CsiNode(..) => "CSINode",
        Object::Namespace(..) => "Namespace",
        Object::PriorityClass(_) => "PriorityClass",
        Object::RuntimeClass(_) => "RuntimeClass",
        Object::LimitRange(_) => "LimitRange",
        Object::Admitter(admitter) => admitter.kind,
        Object::Service(_) => "Service",
        Object::ReplicationController(_) => "ReplicationController",
        Object::DisruptionBudget(..) => "PodDisruptionBudget",
        Object::Event(_) => "Event",
        Object::Other { kind, .. } => kind,
    }
}
