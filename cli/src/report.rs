//! A report: one page of HTML that needs nothing beside it, for people.
//!
//! What is shown is worked out here, in Rust, and thinned so that a browser draws it at once; the page
//! only draws. Names that users gave go into it as data and are never taken for HTML.

pub(crate) mod packing;
mod page;
pub(crate) mod series;

use std::{collections::BTreeMap, fs, path::Path};

use serde::Serialize;

pub(crate) use self::page::page;
use crate::manifests::BadInput;

/// All that a page shows, in its order. What is empty is left out of it.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub(crate) title: String,
    /// What was looked at, in a sentence.
    pub(crate) about: String,
    pub(crate) figures: Vec<Figure>,
    pub(crate) charts: Vec<Chart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) packing: Option<Packing>,
    pub(crate) tables: Vec<Table>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeline: Option<Timeline>,
    /// What the answer rests on and what was left out.
    pub(crate) notes: Vec<Notes>,
}

/// A number that comes first.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    /// What belongs to it; may be empty.
    pub(crate) more: String,
}

impl Figure {
    pub(crate) fn new(name: &'static str, value: String, more: String) -> Self {
        Self { name, value, more }
    }
}

/// How a chart is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Style {
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
pub(crate) struct Chart {
    pub(crate) title: &'static str,
    /// What it shows, in a sentence.
    pub(crate) about: String,
    /// Of which the values are so many parts: `$`.
    pub(crate) unit: &'static str,
    pub(crate) per: u64,
    pub(crate) style: Style,
    /// Seconds since 1970.
    pub(crate) at: Vec<i64>,
    pub(crate) series: Vec<Series>,
}

/// One line, one area, or the bars of one color.
#[derive(Debug, Serialize)]
pub(crate) struct Series {
    pub(crate) name: String,
    /// At each time; `None` where there is nothing to say.
    pub(crate) values: Vec<Option<u64>>,
}

/// Which pods are on which nodes, at one or several times.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Packing {
    /// What it shows, in a sentence.
    pub(crate) about: String,
    /// Workloads and what each of their pods requests.
    pub(crate) workloads: Vec<PackedWorkload>,
    /// Sentences that pods and nodes refer to by their places.
    pub(crate) texts: Vec<String>,
    pub(crate) moments: Vec<Moment>,
}

/// What pods of a workload request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct PackedWorkload {
    pub(crate) name: String,
    /// Millicores.
    pub(crate) cpu: u64,
    /// Bytes.
    pub(crate) memory: u64,
}

/// All nodes at a time.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Moment {
    pub(crate) name: String,
    pub(crate) nodes: Vec<PackedNode>,
    /// Nodes that are left out, because there are too many.
    pub(crate) nodes_left_out: usize,
}

/// A node, and what is on it.
#[derive(Debug, Serialize)]
pub(crate) struct PackedNode {
    pub(crate) name: String,
    /// Its offering; empty where that is not known.
    pub(crate) kind: String,
    pub(crate) pool: String,
    /// Micro-dollars for an hour; `None` is not known.
    pub(crate) price: Option<u64>,
    /// Allocatable millicores and bytes.
    pub(crate) cpu: u64,
    pub(crate) memory: u64,
    /// Why it is there, and why it stays.
    pub(crate) why: Vec<usize>,
    pub(crate) pods: Vec<PackedPod>,
}

/// A pod: its name without namespace, its workload, and why it is there.
#[derive(Debug, Serialize)]
pub(crate) struct PackedPod(pub(crate) String, pub(crate) usize, pub(crate) usize);

/// Rows for people.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) heads: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// What happened, in lines.
#[derive(Debug, Serialize)]
pub(crate) struct Timeline {
    /// What is in it, in a sentence.
    pub(crate) about: String,
    pub(crate) kinds: Vec<&'static str>,
    /// Time, the place of the kind, what is said.
    pub(crate) lines: Vec<(String, usize, String)>,
}

/// Sentences under a title.
#[derive(Debug, Serialize)]
pub(crate) struct Notes {
    pub(crate) title: &'static str,
    pub(crate) lines: Vec<String>,
}

impl Notes {
    /// Those that have any.
    pub(crate) fn some(title: &'static str, lines: &[String]) -> Option<Self> {
        (!lines.is_empty()).then(|| Self { title, lines: lines.to_vec() })
    }
}

/// Things that are said or named often: each is kept once and named by its place.
#[derive(Debug)]
pub(crate) struct Interned<T>(BTreeMap<T, usize>);

impl<T: Ord> Default for Interned<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Ord> Interned<T> {
    /// The place of `value`.
    pub(crate) fn place(&mut self, value: T) -> usize {
        let next = self.0.len();
        *self.0.entry(value).or_insert(next)
    }

    /// All, by place.
    pub(crate) fn into_values(self) -> Vec<T> {
        let mut values: Vec<(usize, T)> = self.0.into_iter().map(|(v, place)| (place, v)).collect();
        values.sort_by_key(|(place, _)| *place);
        values.into_iter().map(|(_, value)| value).collect()
    }
}

/// Nano-dollars as micro-dollars, rounded half up: what prices are in a page.
pub(crate) fn micros(nanos: u128) -> u64 {
    u64::try_from((nanos + 500) / 1_000).unwrap_or(u64::MAX)
}

/// Writes the page to `path`, whole or not at all.
pub(crate) fn write(report: &Report, path: &Path) -> Result<(), BadInput> {
    let wrong =
        |error: std::io::Error| BadInput::one(format!("--html {}: {error}", path.display()));
    let text = page(report).map_err(|error| wrong(error.into()))?;
    // Whoever has the older page open does not get half of this one.
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    fs::write(&part, text).and_then(|()| fs::rename(&part, path)).map_err(wrong)
}
