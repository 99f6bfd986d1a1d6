//! What an installation puts into a cluster.

use api::karpenter::crd;
use serde_json::Value;

use super::Answer;
use crate::rbac;

/// Objects of ours, as a command prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manifests {
    /// Definitions of Karpenter's kinds.
    Crds,
    /// The functions' rights.
    Rbac,
}

impl Manifests {
    /// Every object of an installation, definitions first.
    pub(crate) fn all() -> Answer<Vec<Value>> {
        let mut objects = Self::Crds.objects()?;
        objects.extend(Self::Rbac.objects()?);
        Ok(objects)
    }

    /// The command that prints them.
    pub(crate) const fn command(self) -> &'static str {
        match self {
            Self::Crds => "crds",
            Self::Rbac => "rbac",
        }
    }

    /// The objects, in the order in which they are applied.
    pub(crate) fn objects(self) -> Answer<Vec<Value>> {
        match self {
            Self::Crds => Ok(crd::all().into_iter().map(|(_, definition)| definition).collect()),
            Self::Rbac => serde_saphyr::from_multiple(rbac::ROLES)
                .map_err(|error| format!("deploy/rbac.yaml: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::Kind;

    #[test]
    fn every_object_of_an_installation_is_of_a_kind_that_is_known() {
        for manifests in [Manifests::Crds, Manifests::Rbac] {
            let objects = manifests.objects().unwrap();
            assert!(!objects.is_empty());
            assert!(objects.iter().all(|object| Kind::of(object).is_some()), "{manifests:?}");
        }
    }
}
