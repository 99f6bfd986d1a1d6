//! Launch templates of the user's own, which nodes are launched from as they are.
//!
//! Karpenter: `spec.provider.launchTemplate` of v1alpha5, and `spec.launchTemplate` of v1alpha1
//! AWSNodeTemplates (`pkg/cloudprovider/aws/instance.go` of those releases).

use std::{collections::BTreeSet, fmt};

use crate::{ConditionReason, ImageId, LaunchTemplateName, launch::TemplateVersion};

/// Where the launch templates of a class come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TemplateSource {
    /// They are made from what the class says.
    #[default]
    Made,
    /// The user's own: image, user data, instance profile, security groups and volumes are in it.
    Named(LaunchTemplateName),
}

/// What nodes of a class are launched from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedTemplate {
    /// Launch templates that are made for each launch.
    Made,
    /// This one of the user's own, which is never changed and never deleted.
    Named {
        /// Its name.
        name: LaunchTemplateName,
        /// The version that was resolved; the newest if none was.
        version: TemplateVersion,
    },
}

/// What EC2 says about the newest version of a launch template, as far as launches need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedTemplate {
    /// Its name.
    pub name: LaunchTemplateName,
    /// The number of the version.
    pub version: u64,
    /// Its image; one that it names by an SSM parameter is looked up.
    pub image: Option<ImageId>,
    /// What it sets although every launch chooses it anew.
    pub sets: BTreeSet<TemplateSetting>,
}

/// A member of a launch template that stands against choosing instance types and subnets freely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TemplateSetting {
    /// `InstanceType`
    InstanceType,
    /// `InstanceRequirements`
    InstanceRequirements,
    /// `NetworkInterfaces`: EC2 takes no subnet beside them.
    NetworkInterfaces,
    /// `InstanceMarketOptions`: the fleet request says how instances are paid for.
    InstanceMarketOptions,
    /// `Placement.Tenancy` other than `default`.
    Tenancy,
}

impl TemplateSetting {
    /// EC2's name for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InstanceType => "InstanceType",
            Self::InstanceRequirements => "InstanceRequirements",
            Self::NetworkInterfaces => "NetworkInterfaces",
            Self::InstanceMarketOptions => "InstanceMarketOptions",
            Self::Tenancy => "Placement.Tenancy",
        }
    }
}

impl fmt::Display for TemplateSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why nodes cannot be launched from a launch template of the user's own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateProblem {
    /// There is none of that name.
    #[error("launch template `{0}` is not there")]
    NotFound(LaunchTemplateName),
    /// It names no image, without which EC2 launches nothing.
    #[error("launch template `{name}`, version {version}: ImageId is missing")]
    NoImage {
        /// The name of the launch template.
        name: LaunchTemplateName,
        /// Its newest version.
        version: u64,
    },
    /// It sets what each launch chooses anew.
    #[error(
        "launch template `{name}`, version {version}: sets {}, which a launch chooses: take it out",
        shown(sets)
    )]
    Sets {
        /// The name of the launch template.
        name: LaunchTemplateName,
        /// Its newest version.
        version: u64,
        /// The members that are set.
        sets: BTreeSet<TemplateSetting>,
    },
}

impl TemplateProblem {
    /// The reason of the conditions that it makes false.
    pub const fn reason(&self) -> ConditionReason {
        match self {
            Self::NotFound(_) => ConditionReason::LaunchTemplateNotFound,
            Self::NoImage { .. } | Self::Sets { .. } => ConditionReason::LaunchTemplateInvalid,
        }
    }
}

fn shown(sets: &BTreeSet<TemplateSetting>) -> String {
    sets.iter().map(|setting| setting.as_str()).collect::<Vec<_>>().join(", ")
}
