//! What an API server stores under our definitions is read, and what of it is not used as it stands is
//! either what Karpenter does not use, too, or a row of `docs/compatibility.md`.

use std::{collections::BTreeSet, fs, path::Path};

use api::{karpenter::crd, lists};
use model::Problem;
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};

mod cel;
mod objects;
pub(crate) mod server;

/// How many objects of each kind are read …
const COUNT: usize = 400;
/// … and at most, until each place of the schema was in one and each row below was met.
const COUNT_MAX: usize = 4_000;

/// Why a stored field is not used as it stands.
#[derive(Clone, Copy, Debug)]
enum Because {
    /// Karpenter's own validation, or what it looks up, stops it, too: where that is.
    Karpenter(&'static str),
    /// Journeyman decides otherwise: how the row of `docs/compatibility.md` begins.
    Row(&'static str),
}
use Because::{Karpenter, Row};

const VALIDATION: Because = Karpenter("pkg/apis/v1/nodeclaim_validation.go");
const OVERLAYS: Because = Karpenter("pkg/apis/v1alpha1/nodeoverlay_validation.go");
const TERMS: Because = Row("a term of an EC2NodeClass that");
const NUMBERS: Because = Row("a number that the API server stores and");
const COST: Because = Row("packing pods so that the nodes cost least, caps in dollars, ");
const NAMES: Because = Row("a NodePool or EC2NodeClass with a name of");
const TEMPLATE: Because = Row("your own launch template");

/// Kind, field, and why.
type Difference = (&'static str, &'static str, Because);

/// Fields of items with problems. The field of a problem that is about an annotation is empty.
const PROBLEMS: &[Difference] = &[
    ("NodePool", "annotation journeyman/max-dollars-per-hour", COST),
    ("NodePool", "annotation journeyman/max-node-share", COST),
    ("NodePool", "annotation journeyman/packing", COST),
    ("NodePool", "metadata.name", NAMES),
    ("NodePool", "spec.limits", NUMBERS),
    ("NodePool", "spec.template.metadata.labels", VALIDATION),
    ("NodePool", "spec.template.spec.nodeClassRef", Karpenter("pkg/utils/nodepool/nodepool.go")),
    ("NodePool", "spec.template.spec.requirements", VALIDATION),
    ("NodePool", "spec.template.spec.startupTaints", VALIDATION),
    ("NodePool", "spec.template.spec.taints", VALIDATION),
    ("NodeOverlay", "spec.capacity", NUMBERS),
    ("NodeOverlay", "spec.price", NUMBERS),
    ("NodeOverlay", "spec.priceAdjustment", NUMBERS),
    ("NodeOverlay", "spec.requirements", OVERLAYS),
    ("EC2NodeClass", "metadata.annotations", TEMPLATE),
    ("EC2NodeClass", "metadata.name", NAMES),
    ("EC2NodeClass", "spec.amiSelectorTerms", TERMS),
    ("EC2NodeClass", "spec.blockDeviceMappings.ebs", NUMBERS),
    ("EC2NodeClass", "spec.capacityReservationSelectorTerms", TERMS),
    ("EC2NodeClass", "spec.kubelet", Row("`spec.kubelet` of an EC2NodeClass")),
    ("EC2NodeClass", "spec.securityGroupSelectorTerms", TERMS),
    ("EC2NodeClass", "spec.subnetSelectorTerms", TERMS),
    ("EC2NodeClass", "spec", TEMPLATE),
];

/// Fields for which an object is not read.
const UNREADABLE: &[Difference] = &[
    ("NodeClaim", "spec.resources.requests", NUMBERS),
    ("NodeClaim", "metadata.labels[karpenter.sh/nodepool]", Row("a NodeClaim whose label")),
    ("EC2NodeClass", "spec", Row("an EC2NodeClass without `spec`")),
];

/// What reading a list of `object` brings: whether it is an item, what is wrong with it as one, and why it is
/// none.
#[derive(Debug, Default)]
struct Read {
    is_item: bool,
    problems: Vec<Problem>,
    unreadable: Vec<String>,
}

impl Read {
    fn of<T>(page: Result<lists::Page<T>, lists::Error>, problems: fn(&T) -> &[Problem]) -> Self {
        let page = page.unwrap();
        Self {
            is_item: !page.items.is_empty(),
            problems: page.items.iter().flat_map(problems).cloned().collect(),
            unreadable: page.malformed.into_iter().map(|malformed| malformed.problem).collect(),
        }
    }
}

/// What each list that the functions read brings of `object`.
fn read(kind: &str, object: &Value) -> Vec<Read> {
    let body = json!({"items": [object]}).to_string();
    let body = body.as_bytes();
    match kind {
        "NodePool" => vec![
            Read::of(lists::node_pool_list(body), |pool| &pool.problems),
            Read::of(lists::observed_node_pool_list(body), |observed| &observed.pool.problems),
        ],
        "EC2NodeClass" => vec![
            Read::of(lists::node_class_list(body), |listed| &listed.class.problems),
            Read::of(lists::observed_node_class_list(body), |observed| &observed.class.problems),
        ],
        "NodeClaim" => vec![
            Read::of(lists::node_claim_list(body), |_| &[]),
            Read::of(lists::synced_node_claim_list(body), |_| &[]),
        ],
        "NodeOverlay" => vec![Read::of(lists::node_overlay_list(body), |it| &it.problems)],
        "CapacityBuffer" => vec![Read::of(lists::capacity_buffer_list(body), |_| &[])],
        other => panic!("no list of {other}"),
    }
}

/// Whether `object` is for another provider, whose objects some lists leave out.
fn is_foreign(object: &Value) -> bool {
    ["/spec/nodeClassRef", "/spec/template/spec/nodeClassRef"].iter().any(|path| {
        let reference = object.pointer(path);
        reference.is_some_and(|reference| {
            reference["group"] != "karpenter.k8s.aws" || reference["kind"] != "EC2NodeClass"
        })
    })
}

/// `spec.taints.key: …` of `spec.taints[0].key: …`.
fn without_indices(complaint: &str) -> String {
    let mut parts = complaint.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| match part.split_once(']') {
        Some((index, rest)) if index.parse::<usize>().is_ok() => plain + rest,
        _ => plain + "[" + part,
    })
}

/// What rows are about: items with problems, or objects that are not read.
const PROBLEM: &str = "a problem of";
const REFUSAL: &str = "unread for";

/// The first of `rows` for the field of `complaint`, which stands before its rule.
fn row(rows: &[Difference], kind: &str, complaint: &str) -> Option<&'static str> {
    let complaint = without_indices(complaint);
    let is_about = |(of, field, _): &&Difference| {
        let rest = complaint.strip_prefix(field).filter(|_| *of == kind);
        rest.is_some_and(|rest| rest.starts_with([':', '.', '[', ' ']))
    };
    rows.iter().find(is_about).map(|(_, field, _)| *field)
}

/// Every place of `schema` that an object may have something at.
fn places(schema: &Value, path: &str, all: &mut BTreeSet<String>) {
    all.insert(path.to_owned());
    for (key, member) in schema["properties"].as_object().into_iter().flatten() {
        places(member, &format!("{path}.{key}"), all);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(key).filter(|inner| inner.is_object()) {
            places(inner, &format!("{path}[]"), all);
        }
    }
}

/// The places of `schema` at which `value` has something.
fn seen(schema: &Value, value: &Value, path: &str, all: &mut BTreeSet<String>) {
    all.insert(path.to_owned());
    let each = format!("{path}[]");
    for item in value.as_array().into_iter().flatten() {
        seen(&schema["items"], item, &each, all);
    }
    for (key, value) in value.as_object().into_iter().flatten() {
        match (schema["properties"].get(key), schema.get("additionalProperties")) {
            (Some(member), _) => seen(member, value, &format!("{path}.{key}"), all),
            (None, Some(inner)) => seen(inner, value, &each, all),
            (None, None) => {}
        }
    }
}

/// Makes and reads objects of the kind of `definition`: what is wrong, and what none of them had.
fn check(runner: &mut TestRunner, definition: &Value) -> BTreeSet<String> {
    let kind = definition["spec"]["names"]["kind"].as_str().unwrap();
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let (mut wanted, mut had, mut wrong) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    places(schema, "", &mut wanted);
    for (what, rows) in [(PROBLEM, PROBLEMS), (REFUSAL, UNREADABLE)] {
        let fields = rows.iter().filter(|(of, ..)| *of == kind);
        wanted.extend(fields.map(|(_, field, _)| format!("{what} {field}")));
    }
    let strategy = objects::objects(definition);
    for number in 0..COUNT_MAX {
        if COUNT <= number && wanted.is_subset(&had) {
            break;
        }
        let object = strategy.new_tree(runner).unwrap().current();
        seen(schema, &object, "", &mut had);
        for read in read(kind, &object) {
            let refusals = read.unreadable.iter().flat_map(|why| why.split("; "));
            let refusals = refusals.map(|why| (REFUSAL, UNREADABLE, why.to_owned()));
            let problems = read.problems.iter().map(|problem| {
                let text = problem.to_string();
                (PROBLEM, PROBLEMS, text.trim_start_matches("not supported yet: ").to_owned())
            });
            for (what, rows, complaint) in refusals.chain(problems) {
                match row(rows, kind, &complaint) {
                    Some(field) => had.insert(format!("{what} {field}")),
                    None => wrong.insert(format!("{kind}: {what} {complaint}")),
                };
            }
            if !read.is_item && read.unreadable.is_empty() && !is_foreign(&object) {
                wrong.insert(format!("{kind} is lost: {object}"));
            }
        }
    }
    wrong.extend(wanted.difference(&had).map(|what| format!("no {kind} had {what}")));
    wrong
}

#[test]
fn what_an_api_server_stores_is_read() {
    let config = Config { max_local_rejects: 10_000_000, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let definitions = crd::all();
    let wrong = definitions.iter().flat_map(|(_, definition)| check(&mut runner, definition));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn each_difference_in_what_is_read_is_documented() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = ["docs/compatibility.md", "tests/behaviours/differences.md"];
    let page = pages.map(|page| fs::read_to_string(root.join(page)).unwrap()).concat();
    for (kind, field, because) in PROBLEMS.iter().chain(UNREADABLE) {
        let is_named = match because {
            Karpenter(source) => source.starts_with("pkg/"),
            Row(subject) => page.contains(&format!("\n| {subject}")),
        };
        assert!(is_named, "{kind} {field}: {because:?}");
    }
}
