//! A small language for clusters: a test reads like the sentence that it proves.
//!
//! ```
//! let facts = testkit::build::world(
//!     "type m7g.large cpu=2 memory=8Gi pods=29 on-demand:us-west-2a=0.0816
//!      pool general weight:10 require:zone=us-west-2a limit:cpu=8
//!      node own cpu=4 memory=8Gi pods=10 zone=us-west-2a taint:team=a:NoSchedule
//!      daemon logs cpu=100m; pods web x2 cpu=500m app=web spread:zone:app=web",
//! );
//! assert_eq!(facts.pods[1].key.to_string(), "default/web-1");
//! ```
//!
//! A *statement* is a line, or part of one that ends with `;`. It says what there is, how it is
//! called, and more in *words*. `pods web x2` are `web-0` and `web-1`. `pod` and `pods`, `node`,
//! `pool`, `daemon` and `type` are also functions, which take what follows the statement's first word.
//! Without `pool` there is the pool `general`.
//!
//! | word | of | what it says |
//! |---|---|---|
//! | `cpu=500m`, `example.com/gpu=1` | pod, daemon | a request |
//! | | node, type | capacity; all of a node's can be allocated |
//! | `team=a`, `zone=us-west-2a` | all | a label, of the nodes where it is about a pool or type |
//! | `label:example.com/rack=b` | all | the same where the label has a domain |
//! | `annotation:key=value` | pod, pool | an annotation |
//! | `select:zone=a` | pod | `nodeSelector` |
//! | `require:zone=a,b&team!=x` | pod | a term of required node affinity; the next one is an alternative |
//! | | pool | its requirements |
//! | `prefer:zone=a:weight=5` | pod | a term of preferred node affinity; the weight is 1 if absent |
//! | `tolerate:team`, `tolerate:*` | pod | tolerates each taint of that name, or every taint |
//! | `near:host:app=web` | pod | affinity by a label of nodes to pods with a label; preferred with `:weight=50` |
//! | `away:zone:app=web` | pod | anti-affinity |
//! | `spread:zone:app=web` | pod | a spread; with `:skew=2`, `:domains=3`, `:soft`, `:honors-taints`, `:ignores-affinity` |
//! | `port:80`, `volume:data` | pod | takes a TCP port of its node; uses a PersistentVolumeClaim |
//! | `claim:gpu` | pod | names a ResourceClaim |
//! | `made:gpu=web-gpu` | pod | names a claim that was made from a template; without a claim behind `=` none is needed |
//! | `on:own` | pod | runs on that node |
//! | `owner:DaemonSet`, `owner:v1/Node`, `owner:` | pod | who controls it, of `apps/v1` if absent |
//! | `do-not-disrupt`, `ready`, `succeeded`, `failed` | pod | what they say |
//! | `terminating:30` | pod | is being deleted, until this number of seconds from now |
//! | `unsupported:what` | pod | asks for what is not supported yet |
//! | `taint:team=a:NoSchedule` | node, pool | a taint; `startup-taint:` likewise |
//! | `weight:10`, `replicas:2`, `limit:cpu=8` | pool | what they say |
//! | `on-demand:zone=price`, `spot:zone=price` | type | an offering |
//! | `reserved:zone=cr-1,2` | type | an offering of two instances left of a capacity reservation |
//! | `unavailable` | type | nothing of it can be bought now |
//! | `overhead:cpu=70m` | type | what the system takes |
//!
//! *Requirements* are words too: `key=a,b`, `key!=a`, `key>5`, `key<=5`, `key` for one that must exist and
//! `!key` for one that must not; `@2` at the end is `minValues`. `&` or white space stands between two.
//! `zone`, `host`, `arch`, `os`, `type`, `pool`, `region` and `paid` are short for the labels of nodes with
//! that meaning (`paid` is the capacity type), wherever a label of a node is named.
//!
//! A word that is wrong ends the test, at the test's own line, and the message names it with the line
//! of the text that it stands in.

use std::{fmt::Display, str::FromStr, sync::Arc};

use model::{
    ResourceName, Resources,
    facts::{ClassOffer, Facts},
    labels,
};

use super::{
    facts::{facts, read_node, read_pool},
    instance_type::read_type,
    pod::{daemon_of, read_pods},
    text::{id, valid},
};

/// Why a word is wrong.
pub(crate) type Read<T> = Result<T, String>;

/// The statements of a text, each with the number of its line.
pub(crate) fn statements(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let parts = text.lines().zip(1..).flat_map(|(line, number)| {
        line.split(';').map(move |statement| (number, statement.trim()))
    });
    parts.filter(|(_, statement)| !statement.is_empty())
}

/// `read` of every statement, which is wrong with the number of its line.
pub(crate) fn each_statement<T>(text: &str, mut read: impl FnMut(&str) -> Read<T>) -> Read<Vec<T>> {
    statements(text)
        .map(|(line, statement)| read(statement).map_err(|error| format!("line {line}: {error}")))
        .collect()
}

/// `read` of every word, which is wrong with the word.
pub(crate) fn each_word(text: &str, mut read: impl FnMut(&str) -> Read<()>) -> Read<()> {
    text.split_whitespace()
        .try_for_each(|word| read(word).map_err(|error| format!("`{word}`: {error}")))
}

/// The first word, and the rest.
pub(crate) fn first(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once(char::is_whitespace).unwrap_or((text, ""))
}

/// A value of any type that has a text.
pub(crate) fn parsed<T: FromStr>(text: &str) -> Read<T>
where
    T::Err: Display,
{
    text.parse().map_err(|error| format!("{error}"))
}

/// The parts of `key=value`.
pub(crate) fn pair(text: &str) -> Read<(&str, &str)> {
    text.split_once('=').ok_or_else(|| "it is not `key=value`".to_owned())
}

/// The same as a label.
pub(crate) fn owned_pair(text: &str) -> Read<(String, String)> {
    pair(text).map(|(key, value)| (key.to_owned(), value.to_owned()))
}

/// What a word with neither `:` nor a known name says: an amount, or a label.
pub(crate) enum Plain<'w> {
    Amount(&'w str),
    Label(&'w str, &'w str),
}

/// A word such as `cpu=1` or `team=a`.
pub(crate) fn plain(word: &str) -> Read<Plain<'_>> {
    let (key, value) = word.split_once('=').ok_or("nothing is called that")?;
    let is_amount =
        key.contains('/') || matches!(key, "cpu" | "memory" | "ephemeral-storage" | "pods");
    Ok(if is_amount { Plain::Amount(word) } else { Plain::Label(key, value) })
}

/// Sets an amount such as `cpu=500m`.
pub(crate) fn set_amount(resources: &mut Resources, word: &str) -> Read<()> {
    let (name, amount) = pair(word)?;
    let name: ResourceName = parsed(name)?;
    resources.set_quantity(&name, amount).map_err(|error| error.to_string())
}

/// The label of nodes that a short name stands for.
pub(crate) fn long(key: &str) -> &str {
    match key {
        "arch" => labels::ARCH,
        "host" => labels::HOSTNAME,
        "os" => labels::OS,
        "paid" => labels::CAPACITY_TYPE,
        "pool" => labels::NODE_POOL,
        "region" => labels::REGION,
        "type" => labels::INSTANCE_TYPE,
        "zone" => labels::ZONE,
        other => other,
    }
}

/// The cluster that a text describes, at noon, otherwise as [`facts`] makes it.
///
/// # Panics
///
/// When a word is wrong.
#[must_use]
#[track_caller]
pub fn world(text: &str) -> Facts {
    valid(read_world(text))
}

/// The same, or which word is wrong and why.
///
/// # Errors
///
/// The line, the word and what is wrong with it.
pub fn read_world(text: &str) -> Read<Facts> {
    let (mut world, mut types, mut pools) = (facts(Vec::new()), Vec::new(), Vec::new());
    each_statement(text, |statement| {
        let (what, rest) = first(statement);
        match what {
            "pod" | "pods" => world.pods.extend(read_pods(rest)?),
            "node" => {
                let node = read_node(rest)?;
                world.nodes.insert(node.name.clone(), node);
            }
            "pool" => pools.push(read_pool(rest)?),
            "daemon" => world.daemon_sets.push(daemon_of(rest)?),
            "type" => types.push(Arc::new(read_type(rest)?)),
            _ => return Err(format!("`{what}`: a statement starts with what there is")),
        }
        Ok(())
    })?;
    if !pools.is_empty() {
        world.node_pools = pools;
    }
    types.sort_by(|a, b| a.name.cmp(&b.name));
    world.classes = Some([(id("default"), ClassOffer::Ready(types))].into());
    Ok(world)
}
