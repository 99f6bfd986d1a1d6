//! What each EC2NodeClass offers.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use model::{NodeClassName, facts::ClassOffer};

use super::input::Loaded;
use crate::{args::PlanArgs, manifests, manifests::BadInput};

/// What can be bought.
pub(super) struct Offers {
    pub(super) classes: BTreeMap<NodeClassName, ClassOffer>,
}

/// The offers of all classes: of the file's types as they are, else of the built-in ones as nodes of
/// each class would have them.
pub(super) fn load(args: &PlanArgs, loaded: &Loaded, _now: Timestamp) -> Result<Offers, BadInput> {
    let catalog = match &args.instance_types {
        Some(path) => api::catalog::read(&manifests::text(path)?)
            .map_err(|error| BadInput::one(format!("{}: {error}", path.display())))?,
        None => api::catalog::builtin().map_err(|error| BadInput::one(error.to_string()))?,
    };
    let mut classes = BTreeMap::new();
    for (class, not_ready) in &loaded.node_classes {
        // Types of a file are taken as they are: what the class lacks to make them is no matter.
        let own = class.problems.iter().filter(|_| args.instance_types.is_none());
        let problems: Vec<String> = own.chain(not_ready).cloned().collect();
        let offer = if problems.is_empty() {
            ClassOffer::Ready(catalog.instance_types.iter().map(Arc::clone).collect())
        } else {
            ClassOffer::NotReady(problems)
        };
        classes.insert(class.name.clone(), offer);
    }
    if args.instance_types.is_some() {
        let types = || catalog.instance_types.iter().map(Arc::clone).collect();
        for name in refused(loaded) {
            classes.entry(name).or_insert_with(|| ClassOffer::Ready(types()));
        }
    }
    Ok(Offers { classes })
}

/// Classes that could not be read: nothing could be launched as they say, but they are there.
fn refused(loaded: &Loaded) -> impl Iterator<Item = NodeClassName> {
    let names = loaded.problems.iter().filter_map(|one| one.object.strip_prefix("EC2NodeClass "));
    names.filter_map(|name| NodeClassName::new(name).ok())
}
