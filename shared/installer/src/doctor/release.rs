//! Releases: that of this command, and that which a stack was deployed from.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{gather::of_cluster, observed::text};
use crate::{
    installation::InstallationArgs,
    live::{AccountClient, LiveAnswer},
};

/// The variable of the functions that names their release; the template of a checkout has none.
pub(super) const VARIABLE: &str = "JOURNEYMAN_RELEASE";

/// The release of this command, such as `1.2.0 (0123456789ab)`; `None` if it was not built as one.
pub fn of_command() -> Option<String> {
    let commit = option_env!("JOURNEYMAN_COMMIT").filter(|commit| !commit.is_empty())?;
    Some(format!("{} ({commit})", env!("CARGO_PKG_VERSION")))
}

/// The releases that `functions` are of, each once; empty for functions of a checkout.
pub fn of_functions(functions: &[Value]) -> BTreeSet<&str> {
    let pointer = format!("/Environment/Variables/{VARIABLE}");
    functions.iter().map(|function| text(function, &pointer)).collect()
}

/// What is wrong if `functions` are of these releases and the command is of `command`; what was not built as a release
/// differs from nothing.
pub fn difference(command: Option<&str>, functions: &BTreeSet<&str>) -> Option<String> {
    let named: Vec<&str> = functions.iter().copied().filter(|name| !name.is_empty()).collect();
    match (named.as_slice(), command) {
        ([], _) => None,
        ([release], Some(command)) if *release != command => Some(format!(
            "The functions are of release {release}, and this command is of {command}."
        )),
        _ if functions.len() > 1 => {
            Some(format!("The functions are of several releases: {}.", in_order(functions)))
        }
        _ => None,
    }
}

/// A line about the stack of the cluster of `place`; `None` if no cluster is meant, or this build cannot ask.
pub fn of_stack(place: &InstallationArgs) -> Option<String> {
    if !cfg!(feature = "live") {
        return None;
    }
    let place = place.found().ok()?;
    let cluster = &place.cluster;
    let functions = AccountClient::open(place.region.as_deref())
        .and_then(|account| of_cluster(account.functions()?, cluster));
    Some(format!("stack of cluster {cluster}: {}", in_words(&functions)))
}

/// What `functions` of one cluster say about their release.
pub fn in_words(functions: &LiveAnswer<Vec<Value>>) -> String {
    match functions {
        Err(why) => format!("cannot be read: {why}"),
        Ok(functions) if functions.is_empty() => {
            "there is none in this account and region".to_owned()
        }
        Ok(functions) => in_order(&of_functions(functions)),
    }
}

fn in_order(releases: &BTreeSet<&str>) -> String {
    let name =
        |release: &&str| if release.is_empty() { "not a release" } else { release }.to_owned();
    releases.iter().map(name).collect::<Vec<_>>().join(", ")
}
