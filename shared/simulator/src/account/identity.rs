//! Roles of IAM with what is attached to them, and who of them EKS admits to the cluster.
//!
//! Like subnets and images, a role of nodes is there from the moment of its first use: it is made as
//! docs/install.md makes one, with its access entry. From then on it is what was made of it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use model::ClusterName;
use ports::PortError;

use super::AwsError;
use crate::{
    Sim,
    authorization::ACCOUNT_ID,
    fault::Access::{Read, Write},
    world::World,
};

/// The service-linked role of spot instances, which the account has from the start.
///
/// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html>
const SPOT_ROLE: &str = "AWSServiceRoleForEC2Spot";
const SERVICE_PATH: &str = "/aws-service-role/";
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html>: managed policies of a role.
const POLICIES_MAX: usize = 10;
/// What docs/install.md attaches to a role of nodes.
const NODE_POLICIES: [&str; 4] = [
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
];
/// The type of the access entry of Linux nodes.
pub(super) const LINUX_NODES: &str = "EC2_LINUX";
/// The type of an access entry for Kubernetes groups.
pub(super) const STANDARD: &str = "STANDARD";
/// Types of access entries.
///
/// <https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessEntry.html>
const ENTRY_TYPES: [&str; 7] = [
    STANDARD,
    LINUX_NODES,
    "EC2_WINDOWS",
    "EC2",
    "FARGATE_LINUX",
    "HYBRID_LINUX",
    "HYPERPOD_LINUX",
];

/// A role of IAM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleRecord {
    /// Its name, one for one role.
    pub name: String,
    /// Its path, `/` by default.
    pub path: String,
    /// The service that may take it, such as `ec2.amazonaws.com`.
    pub service: &'static str,
    /// ARNs of the managed policies that are attached to it.
    pub policies: BTreeSet<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl RoleRecord {
    /// Its ARN.
    pub fn arn(&self) -> String {
        format!("arn:aws:iam::{ACCOUNT_ID}:role{}{}", self.path, self.name)
    }
}

/// An access entry of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessEntryRecord {
    /// The ARN of whom it admits.
    pub principal: String,
    /// Such as `EC2_LINUX`.
    pub kind: String,
    /// The groups that the principal has in the cluster.
    pub groups: BTreeSet<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Roles by name, and access entries by the ARN of their principal.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    roles: BTreeMap<String, RoleRecord>,
    entries: BTreeMap<String, AccessEntryRecord>,
}

impl World {
    /// The role called `name`.
    pub(crate) fn role(&self, name: &str) -> Result<RoleRecord, AwsError> {
        let known = self.account.identities.roles.get(name).cloned();
        let spot = || (name == SPOT_ROLE).then(|| self.spot_role());
        known.or_else(spot).ok_or_else(|| {
            let text = format!("The role with name {name} cannot be found.");
            AwsError::new("NoSuchEntity", text)
        })
    }

    fn spot_role(&self) -> RoleRecord {
        let policy = format!("arn:aws:iam::aws:policy{SERVICE_PATH}AWSEC2SpotServiceRolePolicy");
        RoleRecord {
            name: SPOT_ROLE.to_owned(),
            path: format!("{SERVICE_PATH}spot.amazonaws.com/"),
            service: "spot.amazonaws.com",
            policies: [policy].into(),
            created_at: self.settings.start,
        }
    }

    /// Makes the role of nodes called `name` with its access entry, unless it was asked for before.
    pub(super) fn own_role(&mut self, name: &str) {
        if self.role(name).is_ok() {
            return;
        }
        let policy = |policy| format!("arn:aws:iam::aws:policy/{policy}");
        let role = RoleRecord {
            name: name.to_owned(),
            path: "/".to_owned(),
            service: "ec2.amazonaws.com",
            policies: NODE_POLICIES.map(policy).into(),
            created_at: self.now,
        };
        if let Some(kind) = self.settings.join_failure.entry_of_nodes() {
            self.write_entry(role.arn(), kind, BTreeSet::new());
        }
        self.account.identities.roles.insert(name.to_owned(), role);
        self.account.assumptions.insert(format!("IAM role {name}"));
    }

    /// A role whose policies may be changed: those that AWS made may not.
    fn own_policies(&mut self, role: &str) -> Result<&mut BTreeSet<String>, AwsError> {
        if self.role(role)?.path.starts_with(SERVICE_PATH) {
            let text = format!(
                "Cannot perform the operation on the protected role '{role}' - this role is only modifiable by AWS"
            );
            return Err(AwsError::new("UnmodifiableEntity", text));
        }
        let known = self.account.identities.roles.get_mut(role).map(|role| &mut role.policies);
        known.ok_or_else(|| AwsError::new("NoSuchEntity", format!("role {role}")))
    }

    fn attach_policy(&mut self, role: &str, policy: &str) -> Result<(), AwsError> {
        let policies = self.own_policies(role)?;
        if !policy.starts_with("arn:aws:iam::") || !policy.contains(":policy/") {
            return Err(AwsError::new("InvalidInput", format!("ARN {policy} is not valid.")));
        }
        if policies.len() >= POLICIES_MAX && !policies.contains(policy) {
            let text = format!("Cannot exceed quota for PoliciesPerRole: {POLICIES_MAX}");
            return Err(AwsError::new("LimitExceeded", text));
        }
        policies.insert(policy.to_owned());
        Ok(())
    }

    fn detach_policy(&mut self, role: &str, policy: &str) -> Result<(), AwsError> {
        if self.own_policies(role)?.remove(policy) {
            return Ok(());
        }
        Err(AwsError::new("NoSuchEntity", format!("Policy {policy} was not found.")))
    }

    /// Writes the access entry of `principal` over whatever it had.
    fn write_entry(
        &mut self,
        principal: String,
        kind: &str,
        mut groups: BTreeSet<String>,
    ) -> AccessEntryRecord {
        if kind != STANDARD && kind != "EC2" {
            groups.insert("system:nodes".to_owned());
        }
        let entry = AccessEntryRecord {
            principal: principal.clone(),
            kind: kind.to_owned(),
            groups,
            created_at: self.now,
        };
        self.account.identities.entries.insert(principal, entry.clone());
        entry
    }

    /// The type of the access entry of the role called `role`.
    pub(super) fn entry_of_role(&self, role: &str) -> Option<&str> {
        let role = self.account.identities.roles.get(role)?;
        let entry = self.account.identities.entries.get(&role.arn())?;
        Some(&entry.kind)
    }

    fn create_entry(&mut self, entry: NewEntry<'_>) -> Result<AccessEntryRecord, AwsError> {
        let NewEntry { principal, kind, groups } = entry;
        let invalid = |text: &str| Err(AwsError::new("InvalidParameterException", text));
        let kind = kind.unwrap_or(STANDARD);
        if !self.account.identities.roles.values().any(|role| role.arn() == principal) {
            return invalid("The specified principalArn is invalid: invalid principal.");
        }
        if !ENTRY_TYPES.contains(&kind) {
            return invalid("The specified type is not supported.");
        }
        if kind != STANDARD && !groups.is_empty() {
            return invalid(
                "Kubernetes groups can only be given to access entries of type STANDARD.",
            );
        }
        if self.account.identities.entries.contains_key(principal) {
            let text = "The specified access entry resource is already in use on this cluster.";
            return Err(AwsError::new("ResourceInUseException", text));
        }
        Ok(self.write_entry(principal.to_owned(), kind, groups))
    }
}

/// An access entry that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry<'a> {
    /// The ARN of whom it admits.
    pub principal: &'a str,
    /// Such as `EC2_LINUX`; `STANDARD` by default.
    pub kind: Option<&'a str>,
    /// The groups that the principal gets in the cluster.
    pub groups: BTreeSet<String>,
}

fn no_entry() -> AwsError {
    let text = "The specified principalArn could not be found. You can view your available access entries with \
                'list-access-entries'.";
    AwsError::new("ResourceNotFoundException", text)
}

impl Sim {
    /// GetRole of IAM.
    pub async fn get_role(&self, name: &str) -> Result<RoleRecord, PortError> {
        const NAME: &str = "GetRole";
        self.step((NAME, Read), name, |world| world.role(name).map_err(|e| e.of(NAME))).await
    }

    /// ListAttachedRolePolicies of IAM: ARNs, sorted.
    pub async fn list_attached_role_policies(&self, role: &str) -> Result<Vec<String>, PortError> {
        const NAME: &str = "ListAttachedRolePolicies";
        let listed = |world: &mut World| {
            let role = world.role(role).map_err(|refusal| refusal.of(NAME))?;
            Ok(role.policies.into_iter().collect())
        };
        self.step((NAME, Read), role, listed).await
    }

    /// AttachRolePolicy of IAM: `policy` is an ARN. One that is attached already stays so.
    pub async fn attach_role_policy(&self, role: &str, policy: &str) -> Result<(), PortError> {
        const NAME: &str = "AttachRolePolicy";
        let attach = |world: &mut World| world.attach_policy(role, policy).map_err(|e| e.of(NAME));
        self.step((NAME, Write), role, attach).await
    }

    /// DetachRolePolicy of IAM: `policy` is an ARN.
    pub async fn detach_role_policy(&self, role: &str, policy: &str) -> Result<(), PortError> {
        const NAME: &str = "DetachRolePolicy";
        let detach = |world: &mut World| world.detach_policy(role, policy).map_err(|e| e.of(NAME));
        self.step((NAME, Write), role, detach).await
    }

    /// ListAccessEntries of EKS: ARNs of the principals, sorted.
    pub async fn list_access_entries(
        &self,
        cluster: &ClusterName,
    ) -> Result<Vec<String>, PortError> {
        const NAME: &str = "ListAccessEntries";
        self.step((NAME, Read), cluster, |world| {
            world.described_cluster(cluster).map_err(|refusal| refusal.of(NAME))?;
            Ok(world.account.identities.entries.keys().cloned().collect())
        })
        .await
    }

    /// DescribeAccessEntry of EKS: that of the `principal` with this ARN.
    pub async fn describe_access_entry(
        &self,
        cluster: &ClusterName,
        principal: &str,
    ) -> Result<AccessEntryRecord, PortError> {
        const NAME: &str = "DescribeAccessEntry";
        self.step((NAME, Read), cluster, |world| {
            world.described_cluster(cluster).map_err(|refusal| refusal.of(NAME))?;
            let entry = world.account.identities.entries.get(principal).cloned();
            entry.ok_or_else(|| no_entry().of(NAME))
        })
        .await
    }

    /// CreateAccessEntry of EKS.
    pub async fn create_access_entry(
        &self,
        cluster: &ClusterName,
        entry: NewEntry<'_>,
    ) -> Result<AccessEntryRecord, PortError> {
        const NAME: &str = "CreateAccessEntry";
        self.step((NAME, Write), cluster, |world| {
            world.described_cluster(cluster).map_err(|refusal| refusal.of(NAME))?;
            world.create_entry(entry).map_err(|refusal| refusal.of(NAME))
        })
        .await
    }

    /// DeleteAccessEntry of EKS: that of the `principal` with this ARN.
    pub async fn delete_access_entry(
        &self,
        cluster: &ClusterName,
        principal: &str,
    ) -> Result<(), PortError> {
        const NAME: &str = "DeleteAccessEntry";
        self.step((NAME, Write), cluster, |world| {
            world.described_cluster(cluster).map_err(|refusal| refusal.of(NAME))?;
            let gone = world.account.identities.entries.remove(principal);
            gone.map(drop).ok_or_else(|| no_entry().of(NAME))
        })
        .await
    }
}
