//! Settings of the functions: what they are called, what they may be, and what they do.
//!
//! One table says all of it. The parameters of `template.yaml`, the environment of the functions and
//! `docs/settings.md` are made of it.
//!
//! Karpenter: `pkg/operator/options/options.go` of the core and of the AWS provider.

mod registry;

use std::{collections::BTreeSet, fmt};

use api::objects::scheduler_config;
use jiff::SignedDuration;
use launch_template::NodeSettings;
use model::{
    default_spread::{DefaultSpread, PodSelectors},
    facts::Facts,
    interruption::RebalanceRecommendations,
    node_class::NodeClass,
    policies::Policies,
    problem::Rule,
    protection,
    wake::WakeKey,
};

use planner::pace::BatchWindow;

use crate::DryRuns;

pub use registry::SETTINGS;

/// What functions are told about how to work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How decisions are made.
    pub policies: Policies,
    /// What concerns all nodes.
    pub nodes: NodeSettings,
    /// What pods without spread constraints get.
    pub default_spread: DefaultSpread,
    /// For how long pods are gathered before nodes are asked for.
    pub batch: BatchWindow,
    /// Between two looks for pending pods while nothing happens.
    pub poll_interval: SignedDuration,
    /// The same while the API server calls `wake`.
    pub wake_rest: SignedDuration,
    /// Whether the stack has `wake`. It is no parameter of its own: the key of `wake` says it.
    pub has_wake: bool,
    /// Whether launches are checked before classes are ready.
    pub dry_runs: DryRuns,
    /// What is done when EC2 recommends to leave a spot instance.
    pub rebalance_recommendations: RebalanceRecommendations,
    /// What is kept of decisions.
    pub record: Record,
    /// Whether annotations of Cluster Autoscaler keep pods and nodes from voluntary disruption.
    pub honors_autoscaler: bool,
    /// Whether zones are left that traffic of the cluster is shifted away from.
    pub heeds_zonal_shifts: bool,
    /// Whether nothing is asked that has no endpoint in a VPC: on-demand prices are those that come with the
    /// program.
    pub is_isolated: bool,
    /// What is a metric of CloudWatch.
    pub metrics: MetricDimensions,
    /// Namespaces in which Karpenter's lease says that Karpenter is in charge.
    pub karpenter_namespaces: BTreeSet<String>,
    /// Of what the paths of `wake` are made, for `wake` and `sweep`. `None` in a stack without `wake`. No setting of the
    /// table, because it is a secret.
    pub wake_key: Option<WakeKey>,
}

/// What of what is measured is a metric of CloudWatch. A collector gets everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricDimensions {
    /// Few, and each for the whole cluster; what else is counted is searched for in logs.
    #[default]
    Cluster,
    /// All, for the cluster and for each NodePool.
    NodePool,
    /// None.
    None,
}

impl Default for Settings {
    /// Karpenter's defaults.
    fn default() -> Self {
        Self {
            policies: Policies::default(),
            nodes: NodeSettings::default(),
            default_spread: DefaultSpread::default(),
            batch: BatchWindow::default(),
            poll_interval: SignedDuration::from_secs(5),
            wake_rest: SignedDuration::from_mins(1),
            has_wake: false,
            dry_runs: DryRuns::default(),
            rebalance_recommendations: RebalanceRecommendations::default(),
            record: Record::default(),
            honors_autoscaler: false,
            heeds_zonal_shifts: false,
            is_isolated: false,
            metrics: MetricDimensions::default(),
            karpenter_namespaces: ["kube-system", "karpenter"].map(str::to_owned).into(),
            wake_key: None,
        }
    }
}

/// What is kept of decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Record {
    /// They themselves: about what, why, and what was not chosen.
    #[default]
    Decisions,
    /// Also all facts that they were made on, so that they can be made again.
    Facts,
}

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The parameter of the stack, such as `PreferencePolicy`.
    pub parameter: &'static str,
    /// The environment variable of the functions.
    pub variable: &'static str,
    /// The environment variable of Karpenter's controller that it stands for.
    pub karpenter: Option<&'static str>,
    /// Its value where nothing is said.
    pub default: &'static str,
    /// What it may be.
    pub allowed: Allowed,
    /// What it does, as a sentence.
    pub meaning: &'static str,
    /// Takes a value; `None` for one that is not allowed.
    set: fn(&mut Settings, &str) -> Option<()>,
}

/// Which values a setting may have.
#[derive(Clone, Debug, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A whole number, at least and at most.
    Whole(u32, u32),
    /// A duration of Go, at least and at most these seconds.
    Duration(u32, u32),
    /// A decimal, 0 to 1.
    Share,
    /// A decimal number of dollars.
    Dollars,
    /// A decimal number of dollars, or `none`.
    DollarsOrNone,
    /// What Karpenter takes as `SCHEDULER_CONFIG`, in YAML or JSON.
    SchedulerConfig,
    /// Names of namespaces, separated by commas.
    Namespaces,
    /// Feature gates that functions carry out, each with `=true` or `=false`, separated by commas.
    Gates,
}

/// The gates that functions carry out, by name.
pub fn gates() -> impl Iterator<Item = &'static str> {
    Policies::default().gates().into_iter().map(|(name, _)| name)
}

impl Allowed {
    /// What a value must be that `value` is not, and what is wrong with it where that can be named.
    fn broken_by(self, value: &str) -> String {
        match self {
            Self::SchedulerConfig => {
                let why = scheduler_config::read(value).err().unwrap_or_default();
                format!("{self}: {why}")
            }
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Allowed {
    /// As the end of a sentence that begins with `must be`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneOf(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                write!(f, "{}", quoted.join(" or "))
            }
            Self::Whole(least, most) => write!(f, "a whole number from {least} to {most}"),
            Self::Duration(least, most) => {
                write!(f, "a duration such as `1.5s` from {least}s to {most}s")
            }
            Self::Share => f.write_str("a decimal such as `0.075` from 0 to 1"),
            Self::Dollars => f.write_str("a decimal number of dollars such as `0.01`"),
            Self::DollarsOrNone => {
                f.write_str("a decimal number of dollars such as `12.5`, or `none`")
            }
            Self::SchedulerConfig => {
                f.write_str("`podTopologySpread.defaultConstraints` in YAML or JSON")
            }
            Self::Namespaces => f.write_str("a list of namespaces such as `kube-system,karpenter`"),
            Self::Gates => {
                let gates: Vec<&str> = gates().collect();
                let gates = gates.join(", ");
                write!(f, "a list such as `SpotToSpotConsolidation=true` of the gates {gates}")
            }
        }
    }
}

/// A value that a setting may not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: `{value}` is not {rule}")]
pub struct InvalidSetting {
    /// The variable, or what else it was read from.
    pub name: String,
    /// What was given.
    pub value: String,
    /// What it must be.
    pub rule: String,
}

impl Settings {
    /// Makes of `facts` what the settings say of their pods, nodes and buffers. `selectors` are read only if there are
    /// default spread constraints.
    pub fn apply_to(&self, facts: &mut Facts, selectors: &PodSelectors) {
        if self.honors_autoscaler {
            protection::honor_on_pods(&mut facts.pods);
            protection::honor_on_nodes(facts.nodes.values_mut());
        }
        self.default_spread.apply(&mut facts.pods, selectors);
        let buffers = &mut facts.surroundings.capacity_buffers;
        self.default_spread.apply_to_buffers(buffers, selectors);
    }

    /// Makes of `classes`, which were read as if all gates are off, what they are with the gates.
    pub fn open_gates<'c>(&self, classes: impl IntoIterator<Item = &'c mut NodeClass>) {
        for class in classes {
            if self.policies.node_class_cel {
                launch_template::open_expressions(class);
            }
            if self.policies.dra_nvidia_gpu {
                class.problems.retain(|problem| problem.rule != Rule::GpuSharingDisabled);
            }
        }
    }

    /// Reads settings by `get`; what it does not have is as by default, and so is an empty text.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, in the order of the page.
    pub fn read(
        name: impl Fn(&Setting) -> &str,
        get: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Vec<InvalidSetting>> {
        let (mut settings, mut wrong) = (Self::default(), Vec::new());
        for setting in &SETTINGS {
            let name = name(setting);
            let Some(value) = get(name).filter(|value| !value.is_empty()) else { continue };
            wrong.extend(settings.change(setting, name, &value).err());
        }
        if wrong.is_empty() { Ok(settings) } else { Err(wrong) }
    }

    /// Changes one setting to `value`, which was read from `name`. A value that is not allowed changes nothing.
    pub fn change(
        &mut self,
        setting: &Setting,
        name: &str,
        value: &str,
    ) -> Result<(), InvalidSetting> {
        (setting.set)(self, value).ok_or_else(|| InvalidSetting {
            name: name.to_owned(),
            value: value.to_owned(),
            rule: setting.allowed.broken_by(value),
        })
    }
}

#[cfg(test)]
mod tests;
