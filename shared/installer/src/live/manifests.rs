//! What an installation puts into a cluster.

use api::karpenter::crd;
use serde_json::Value;

use super::LiveAnswer;

/// Roles and bindings for the groups `journeyman:<function>`, and their priority, as YAML documents. A test derives
/// them from what the functions call.
pub const ROLES: &str = include_str!("../../../../deploy/rbac.yaml");

/// Objects of ours, as a command prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manifests {
    /// Definitions of Karpenter's kinds.
    Crds,
    /// The functions' rights.
    Rbac,
}

impl Manifests {
    /// Every object of an installation, definitions first.
    pub fn all() -> LiveAnswer<Vec<Value>> {
        let mut objects = Self::Crds.objects()?;
        objects.extend(Self::Rbac.objects()?);
        Ok(objects)
    }

    /// The command that prints them.
    pub const fn command(self) -> &'static str {
        match self {
            Self::Crds => "crds",
            Self::Rbac => "rbac",
        }
    }

    /// The objects, in the order in which they are applied.
    pub fn objects(self) -> LiveAnswer<Vec<Value>> {
        match self {
            Self::Crds => Ok(crd::all().into_iter().map(|(_, definition)| definition).collect()),
            Self::Rbac => serde_saphyr::from_multiple(ROLES)
                .map_err(|error| format!("deploy/rbac.yaml: {error}")),
        }
    }
}
