//! `journeyman render`: what EC2 would be asked for, for a NodePool, its EC2NodeClass and a cluster.

pub mod args;
mod compare;
mod input;
mod json;
mod text;

use std::{
    collections::BTreeMap,
    fmt,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use dispatch::Settings;
use launch_template::{Launch, NodeSettings, PricedTypes};
use model::{
    InstanceType, InstanceTypeName, NodeClaim, Problem, Resources, node_class::ResolvedNodeClass,
    node_pool::NodePool, overlay::NodeOverlay, policies::Policies,
};
use report::{
    command::RunCommand,
    error::{BadInput, CommandError},
    screen::Screen,
};

use crate::{
    cluster_facts,
    gates::{self, Gates},
};

pub use self::args::RenderArgs;

/// What would be launched, and what it is worked out from.
pub(crate) struct Rendered {
    launch: Launch,
    types: BTreeMap<InstanceTypeName, InstanceType>,
    settings: NodeSettings,
    /// The drift hash of the NodePool; `None` without one.
    pool_hash: Option<String>,
    /// The drift hash of the EC2NodeClass in this cluster.
    class_hash: Option<String>,
    /// What in the user data nodes will not do, and which NodeOverlays change nothing.
    warnings: Vec<String>,
    /// What was taken for granted, because no object says it.
    assumptions: Vec<String>,
}

impl Rendered {
    /// What a node of the type called `name` has for pods.
    fn allocatable(&self, name: &InstanceTypeName) -> Option<Resources> {
        self.types.get(name).map(InstanceType::allocatable)
    }
}

/// Renders and prints.
pub fn run(args: &RenderArgs, screen: Screen, out: &mut impl Write) -> Result<(), CommandError> {
    if args.cluster_facts_template {
        return Ok(out.write_all(cluster_facts::TEMPLATE.as_bytes())?);
    }
    if let [old, new] = args.diff.as_slice() {
        let with = |file: &PathBuf| {
            let mut files = args.more.after(&args.manifests);
            files.push(file.clone());
            rendered(args, &files)
        };
        let (old, new) = (with(old)?, with(new)?);
        let (changes, drift) = (compare::compare(&old, &new), compare::drift(&old, &new));
        if args.output.is_document() {
            json::difference(&changes, &drift, args.output, out)?;
        } else {
            text::difference(&changes, &drift, screen, out)?;
        }
        return Ok(());
    }
    let rendered = rendered(args, &args.more.after(&args.manifests))?;
    if args.output.is_document() {
        json::write(&rendered, args.output, out)?;
    } else {
        text::write(&rendered, screen, out)?;
    }
    Ok(())
}

impl RunCommand for RenderArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        run(self, screen, &mut { out })?;
        Ok(true)
    }
}

/// What would be launched for the objects in `files`.
fn rendered(args: &RenderArgs, files: &[PathBuf]) -> Result<Rendered, CommandError> {
    let all_settings = args.settings()?;
    let Some(facts) = &args.cluster_facts else {
        return Err(BadInput::one("--cluster-facts: is missing").into());
    };
    let asked = input::Asked {
        files: (files, args.more.depth()),
        facts,
        from: args.from.as_deref(),
        node_pool: args.node_pool.as_deref(),
    };
    let input = input::load(&asked, &all_settings)?;
    let Settings { nodes: settings, policies, .. } = all_settings;
    let input::Input {
        catalog,
        class,
        mut claim,
        cluster,
        profile,
        assumptions,
        pool_hash,
        pools,
        overlays,
    } = input;
    let class_hash =
        class.class.hash.map(|hash| hash.with_ca_bundle(&cluster.ca_bundle).to_string());
    let mut types = launch_template::all_types(&catalog, &class, &settings)
        .map_err(|problem| unlisted(&class, &problem))?;
    if let Some(name) = &args.instance_type {
        types.retain(|offered| offered.instance_type.name.as_str() == name);
        if types.is_empty() {
            let (class, region) = (&class.class.name, &catalog.region);
            return Err(BadInput::one(format!(
                "--type: there is no instance type `{name}` for nodes of EC2NodeClass {class} in {region}"
            ))
            .into());
        }
    }
    claim.instance_types = types.iter().map(|offered| offered.instance_type.name.clone()).collect();
    let types: Vec<_> = types.into_iter().map(|offered| Arc::new(offered.instance_type)).collect();
    let (overlaid, mut warnings) = overlaid(&claim, &pools, &overlays, &types, &policies);
    let sold = PricedTypes {
        types: overlaid.as_deref().unwrap_or(&types),
        listed: &types,
        descriptions: Some(&catalog.descriptions),
    };
    let user_data = launch_template::user_data_warnings(&class.class).into_iter();
    warnings.extend(user_data.map(|text| format!("spec.userData: {text}")));
    let claims = [*claim];
    let launch = launch_template::requests_with(
        &claims,
        &class,
        sold,
        &cluster,
        &profile,
        policies.min_values,
    )
    .map_err(|refusal| CommandError::Refused(refusal.to_string()))?;
    let types = sold
        .types
        .iter()
        .map(|instance_type| (instance_type.name.clone(), InstanceType::clone(instance_type)));
    Ok(Rendered {
        launch,
        types: types.collect(),
        settings,
        pool_hash,
        class_hash,
        warnings,
        assumptions,
    })
}

/// What NodeOverlays make of the `types` that `claim` may become, `None` if nothing; and those that change nothing, with
/// why.
fn overlaid(
    claim: &NodeClaim,
    pools: &[NodePool],
    overlays: &[NodeOverlay],
    types: &[Arc<InstanceType>],
    policies: &Policies,
) -> (Option<Vec<Arc<InstanceType>>>, Vec<String>) {
    if !policies.node_overlay {
        return (None, gates::without_effect(overlays, [], Gates::OfOption(policies)));
    }
    if !pools.iter().any(|pool| pool.name == claim.node_pool) {
        let why = format!("NodePool {} of the NodeClaim is not in the files", claim.node_pool);
        let of_overlay =
            |overlay: &NodeOverlay| format!("NodeOverlay {} changes nothing: {why}", overlay.name);
        return (None, overlays.iter().map(of_overlay).collect());
    }
    let mut applied = planner::overlays_on(pools, overlays, |_| Some(types));
    let of_pool = applied.pools.remove(&claim.node_pool);
    let rejected = applied.rejected.into_iter();
    let rejected = rejected.map(|(name, why)| format!("NodeOverlay {name} changes nothing: {why}"));
    (of_pool.map(|overlaid| overlaid.types), rejected.collect())
}

/// That the types cannot be listed as nodes of `class`, because of `problem`.
fn unlisted(class: &ResolvedNodeClass, problem: &Problem) -> BadInput {
    BadInput::one(format!("EC2NodeClass {}: {problem}", class.class.name))
}

fn unreadable(path: &Path, error: &impl fmt::Display) -> BadInput {
    BadInput::one(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
