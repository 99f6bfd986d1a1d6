//! What an installation puts into a cluster.

use api::karpenter::crd;
use model::policies::Policies;
use serde_json::Value;

use super::LiveAnswer;

/// Roles and bindings for the groups `journeyman:<function>`, and their priority, as YAML documents. A test derives
/// them from what the functions call.
const ROLES: &str = include_str!("../../../../deploy/rbac.yaml");

/// The role that the gate `PodDeletionCostManagement` needs beside them.
const DELETION_COSTS: &str = include_str!("../../../../deploy/pod-deletion-costs.yaml");

/// Objects of ours, as a command prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manifests {
    /// Definitions of Karpenter's kinds.
    Crds,
    /// The functions' rights.
    Rbac,
    /// Their rights behind the gate `PodDeletionCostManagement`.
    DeletionCosts,
}

impl Manifests {
    /// Every object of an installation, definitions first.
    pub fn all(roles: RoleArgs) -> LiveAnswer<Vec<Value>> {
        let mut objects = Self::Crds.objects()?;
        objects.extend(roles.objects()?);
        Ok(objects)
    }

    /// The command that prints them.
    pub const fn command(self) -> &'static str {
        match self {
            Self::Crds => "crds",
            Self::Rbac => "rbac",
            Self::DeletionCosts => "rbac --pod-deletion-costs",
        }
    }

    /// The roles as YAML documents; empty of definitions: each of them has a file of its own.
    const fn text(self) -> &'static str {
        match self {
            Self::Crds => "",
            Self::Rbac => ROLES,
            Self::DeletionCosts => DELETION_COSTS,
        }
    }

    /// The objects, in the order in which they are applied.
    pub fn objects(self) -> LiveAnswer<Vec<Value>> {
        match self {
            Self::Crds => Ok(crd::all().into_iter().map(|(_, definition)| definition).collect()),
            Self::Rbac | Self::DeletionCosts => serde_saphyr::from_multiple(self.text())
                .map_err(|error| format!("{}: {error}", self.command())),
        }
    }
}

/// Which roles the functions have in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct RoleArgs {
    /// With the right to patch pods, for the gate PodDeletionCostManagement.
    #[arg(long)]
    pub pod_deletion_costs: bool,
}

impl RoleArgs {
    /// The roles that functions need which decide by `policies`.
    pub const fn of(policies: &Policies) -> Self {
        Self { pod_deletion_costs: policies.pod_deletion_cost_management }
    }

    fn manifests(self) -> impl Iterator<Item = Manifests> {
        let more = self.pod_deletion_costs.then_some(Manifests::DeletionCosts);
        [Manifests::Rbac].into_iter().chain(more)
    }

    /// The roles as YAML documents.
    pub fn text(self) -> String {
        self.manifests().map(Manifests::text).collect()
    }

    /// The roles as objects.
    pub fn objects(self) -> LiveAnswer<Vec<Value>> {
        let objects: LiveAnswer<Vec<Vec<Value>>> =
            self.manifests().map(Manifests::objects).collect();
        Ok(objects?.concat())
    }
}
