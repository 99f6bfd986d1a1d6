//! What a page shows: data in its order. What users named stands in it as data and is never taken for HTML.

use std::collections::BTreeMap;

use serde::Serialize;

/// All that a page shows, in its order. What is empty is left out of it.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageData {
    /// What it is about.
    pub title: String,
    /// What was looked at, in a sentence.
    pub about: String,
    /// Numbers above all else.
    pub figures: Vec<Figure>,
    /// Charts over time.
    pub charts: Vec<Chart>,
    /// What prices are compared; `None` where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<CostView>,
    /// Who bears the cost; `None` where nothing costs anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<CostView>,
    /// Which pods are on which nodes; `None` where there is no node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packing: Option<PackingView>,
    /// The lives of nodes; `None` where nothing was played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lanes: Option<Lanes>,
    /// Rollouts over time; `None` without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollouts: Option<RolloutLanes>,
    /// Tables.
    pub tables: Vec<PageTable>,
    /// What happened; `None` where nothing was played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<PageTimeline>,
    /// What the answer rests on and what was left out.
    pub notes: Vec<Notes>,
}

/// A number that comes first.
#[derive(Debug, Serialize)]
pub struct Figure {
    /// What is counted.
    pub name: &'static str,
    /// The number in words.
    pub value: String,
    /// What belongs to it; may be empty.
    pub more: String,
}

impl Figure {
    /// A figure of these.
    pub fn new(name: &'static str, value: String, more: String) -> Self {
        Self { name, value, more }
    }
}

/// How a chart is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// Areas on top of each other: parts of a whole.
    Stack,
    /// Lines that stay until the next point.
    Lines,
    /// Bars on top of each other: what happened within each step.
    Bars,
    /// A mark for each value: there is not always one.
    Points,
}

/// Numbers over time.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Chart {
    /// Its title.
    pub title: &'static str,
    /// What it shows, in a sentence.
    pub about: String,
    /// The unit that the values are parts of: `$`.
    pub unit: &'static str,
    /// How many of the values are one unit: 1,000,000 for micro-dollars.
    pub per: u64,
    /// How it is drawn.
    pub style: Style,
    /// Seconds since 1970.
    pub at: Vec<i64>,
    /// What is drawn; each has a value for each time.
    pub series: Vec<Series>,
    /// The same in other measures, among which a reader chooses; the first is the one above. May be empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<Measure>,
}

/// What a chart is drawn in.
#[derive(Debug, Serialize)]
pub struct Measure {
    /// What a reader chooses.
    pub name: &'static str,
    /// As of [`Chart`].
    pub unit: &'static str,
    /// As of [`Chart`].
    pub per: u64,
    /// As of [`Chart`]; empty of the first.
    pub series: Vec<Series>,
}

/// One line, one area, or the bars of one color.
#[derive(Debug, Serialize)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// At each time; `None` where there is nothing to say.
    pub values: Vec<Option<u64>>,
}

/// Tables of costs with bars.
#[derive(Debug, Serialize)]
pub struct CostView {
    /// What is shown, in sentences.
    pub about: String,
    /// Heads of the cells of each row, after its name.
    pub heads: Vec<&'static str>,
    /// Tables, of which a reader sees one.
    pub groups: Vec<CostGroup>,
}

/// A table of costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CostGroup {
    /// What its rows are.
    pub name: &'static str,
    /// What costs most comes first.
    pub rows: Vec<CostBar>,
}

/// A row of costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CostBar {
    /// Who bears it.
    pub name: String,
    /// Of the cost of all, in tenths of a per cent.
    pub share: u64,
    /// What of that pods requested, in tenths of a per cent of the cost of all.
    pub requested: u64,
    /// A cell for each head.
    pub cells: Vec<String>,
}

/// Which pods are on which nodes, at one or several times.
#[derive(Debug, Default, Serialize)]
pub struct PackingView {
    /// What it shows, in a sentence.
    pub about: String,
    /// Workloads and what each of their pods requests.
    pub workloads: Vec<PackedWorkload>,
    /// Sentences that pods and nodes refer to by their places.
    pub texts: Vec<String>,
    /// In the order of time.
    pub moments: Vec<Moment>,
}

/// What pods of a workload request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PackedWorkload {
    /// Its name.
    pub name: String,
    /// Millicores.
    pub cpu: u64,
    /// Bytes.
    pub memory: u64,
}

/// All nodes at a time.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Moment {
    /// Its name.
    pub name: String,
    /// Seconds since 1970; `None` where it is no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// At most 400.
    pub nodes: Vec<PackedNode>,
    /// Nodes that are left out, because there are too many.
    pub nodes_left_out: usize,
}

/// A node, and what is on it.
#[derive(Debug, Serialize)]
pub struct PackedNode {
    /// Its name.
    pub name: String,
    /// Its offering; empty where that is not known.
    pub kind: String,
    /// Its NodePool; empty where it has none.
    pub pool: String,
    /// Micro-dollars for an hour; `None` is not known.
    pub price: Option<u64>,
    /// Allocatable millicores.
    pub cpu: u64,
    /// Allocatable bytes.
    pub memory: u64,
    /// What would become of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
    /// Why it is there, and why it stays.
    pub why: Vec<usize>,
    /// Pods on it.
    pub pods: Vec<PackedPod>,
}

/// What would become of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// It would be disrupted.
    Goes,
    /// It would be launched.
    Comes,
}

/// A pod: its name without namespace, its workload, and why it is there.
#[derive(Debug, Serialize)]
pub struct PackedPod(pub String, pub usize, pub usize);

/// The lives of nodes, a bar for each from its launch to its end.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lanes {
    /// What it shows, in a sentence.
    pub about: String,
    /// Seconds since 1970: where the bars begin and end at most.
    pub from: i64,
    /// The same of the end.
    pub to: i64,
    /// In the order of their launch; at most [`LANES_MAX`].
    pub rows: Vec<Lane>,
    /// Those that are left out, because there are too many.
    pub left_out: usize,
}

/// Lanes that a page has at most: a page stays small.
pub const LANES_MAX: usize = 600;

/// The life of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lane {
    /// The node's name; its NodeClaim's where it never joined.
    pub name: String,
    /// Its names in the timeline: NodeClaim, instance and node.
    pub names: Vec<String>,
    /// Its NodePool.
    pub pool: String,
    /// Its offering; empty where no instance was launched.
    pub kind: String,
    /// Micro-dollars for an hour; `None` is not known.
    pub price: Option<u64>,
    /// Seconds since 1970: its launch.
    pub from: i64,
    /// When it was disrupted or withdrawn; `None` where it stays.
    pub going: Option<i64>,
    /// When its instance was gone; `None` where it runs at the end.
    pub to: Option<i64>,
    /// Why it came.
    pub came: String,
    /// Why it went: the reason in a word, and the decision. Empty where it stays.
    pub went: Vec<String>,
    /// What happened to it: seconds since its launch, negative before it, and the kind of line, in the order of
    /// time. A timeline in which one line is about many nodes names only some of them. May be empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<(i64, &'static str)>,
}

/// Rollouts over time, a bar for each part.
#[derive(Debug, Serialize)]
pub struct RolloutLanes {
    /// What it shows, in a sentence.
    pub about: String,
    /// Seconds since 1970: where the bars begin and end at most.
    pub from: i64,
    /// The same of the end.
    pub to: i64,
    /// What parts of a rollout are called.
    pub kinds: Vec<&'static str>,
    /// NodePools that had a rollout.
    pub rows: Vec<RolloutLane>,
}

/// The rollouts of one NodePool.
#[derive(Debug, Serialize)]
pub struct RolloutLane {
    /// The NodePool.
    pub pool: String,
    /// Its EC2NodeClass.
    pub class: String,
    /// In the order of time.
    pub spans: Vec<RolloutSpan>,
}

/// A part of a rollout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RolloutSpan {
    /// The place of what it is in [`RolloutLanes::kinds`].
    pub kind: usize,
    /// Seconds since 1970.
    pub from: i64,
    /// The same of its end.
    pub to: i64,
    /// What is known of it; may be empty.
    pub text: String,
}

/// Rows for people.
#[derive(Debug, Serialize)]
pub struct PageTable {
    /// What it is about.
    pub title: String,
    /// One for each column.
    pub heads: Vec<&'static str>,
    /// A cell for each column.
    pub rows: Vec<Vec<String>>,
}

/// Lines that a timeline has at most: a page stays small.
pub const LINES_MAX: usize = 4_000;

/// What happened, in lines.
#[derive(Debug, Serialize)]
pub struct PageTimeline {
    /// What is in it, in a sentence.
    pub about: String,
    /// Seconds since 1970: what the times of lines are counted from.
    pub start: i64,
    /// Kinds of lines, which a reader can hide.
    pub kinds: Vec<&'static str>,
    /// Time, the place of the kind, what is said.
    pub lines: Vec<(String, usize, String)>,
}

/// Sentences under a title.
#[derive(Debug, Serialize)]
pub struct Notes {
    /// Its title.
    pub title: &'static str,
    /// Sentences.
    pub lines: Vec<String>,
}

impl Notes {
    /// Those that have any.
    pub fn some(title: &'static str, lines: &[String]) -> Option<Self> {
        (!lines.is_empty()).then(|| Self { title, lines: lines.to_vec() })
    }
}

/// Things that are said or named often: each is kept once and named by its place.
#[derive(Debug)]
pub struct Interned<T>(BTreeMap<T, usize>);

impl<T: Ord> Default for Interned<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Ord> Interned<T> {
    /// The place of `value`.
    pub fn place(&mut self, value: T) -> usize {
        let next = self.0.len();
        *self.0.entry(value).or_insert(next)
    }

    /// Each value with its place, in the order of the values.
    pub fn iter(&self) -> impl Iterator<Item = (&T, usize)> {
        self.0.iter().map(|(value, place)| (value, *place))
    }

    /// All, by place.
    pub fn into_values(self) -> Vec<T> {
        let mut values: Vec<(usize, T)> = self.0.into_iter().map(|(v, place)| (place, v)).collect();
        values.sort_by_key(|(place, _)| *place);
        values.into_iter().map(|(_, value)| value).collect()
    }
}

/// Nano-dollars as micro-dollars, rounded half up: what prices are in a page.
pub fn micros(nanos: u128) -> u64 {
    u64::try_from((nanos + 500) / 1_000).unwrap_or(u64::MAX)
}
