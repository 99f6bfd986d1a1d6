//! Why machines do not join, and what can be seen of it from outside: their console and their role.

use model::{InstanceId, interruption::StatusProblem, join::NodeAccess, launch::InstanceState};

use super::{AwsError, InstanceRecord};
use crate::world::World;

/// What keeps machines from joining that never do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum JoinFailure {
    /// Nobody can tell: the console is empty.
    #[default]
    Silent,
    /// The cluster has no access entry for their role.
    NoAccessEntry,
    /// The cluster has an access entry for their role that is not one of nodes.
    WrongRole,
    /// There is no way from their subnet to the API server.
    NoRoute,
    /// Their image is for another architecture.
    WrongArchitecture,
    /// Their user data has an error of syntax.
    BrokenUserData,
    /// Their role may not give pods addresses.
    NoCniPermission,
    /// Their role may not pull images.
    NoImagePermission,
    /// Their user data names another cluster.
    WrongCluster,
    /// Their user data has the certificate of another cluster.
    WrongCertificate,
    /// Names are not resolved in their network.
    NoDns,
    /// Their disk is too small.
    FullDisk,
    /// Their kernel does not start.
    Panic,
    /// Their console says this.
    Console(String),
}

impl JoinFailure {
    /// Those that can be told from outside, without [`Self::Console`].
    pub const TOLD: [Self; 12] = [
        Self::NoAccessEntry,
        Self::WrongRole,
        Self::NoRoute,
        Self::WrongArchitecture,
        Self::BrokenUserData,
        Self::NoCniPermission,
        Self::NoImagePermission,
        Self::WrongCluster,
        Self::WrongCertificate,
        Self::NoDns,
        Self::FullDisk,
        Self::Panic,
    ];

    /// What the console says, as the programs on a node write it.
    fn console(&self) -> &str {
        match self {
            Self::Silent => "",
            Self::NoAccessEntry | Self::WrongRole => {
                "[   21.4] kubelet[2101]: E0105 08:00:41 kubelet_node_status.go:107] \"Unable to register node with \
                 API server\" err=\"Unauthorized\""
            }
            Self::NoRoute => {
                "[   52.0] kubelet[2101]: E0105 08:01:12 kubelet_node_status.go:107] \"Unable to register node with \
                 API server\" err=\"Post \\\"https://eks.test/api/v1/nodes\\\": dial tcp 10.0.0.10:443: i/o timeout\""
            }
            Self::WrongArchitecture => {
                "[    9.8] systemd[1480]: kubelet.service: Failed to execute /usr/bin/kubelet: Exec format error"
            }
            Self::BrokenUserData => {
                "[   12.1] cloud-init[1203]: /var/lib/cloud/instance/scripts/part-001: line 7: syntax error near \
                 unexpected token `fi'\n[   12.2] cloud-init[1203]: Failed to run module scripts-user"
            }
            Self::NoCniPermission => {
                "[   44.0] aws-k8s-agent[3020]: ipamd: failed to assign addresses: operation error EC2: \
                 AssignPrivateIpAddresses, StatusCode: 403, api error UnauthorizedOperation"
            }
            Self::NoImagePermission => {
                "[   30.3] containerd[1901]: failed to resolve reference \
                 \"602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/pause:3.10\": 403 Forbidden"
            }
            Self::WrongCluster => {
                "[   11.0] nodeadm[1310]: operation error EKS: DescribeCluster, ResourceNotFoundException: No cluster \
                 found for name: other."
            }
            Self::WrongCertificate => {
                "[   22.9] kubelet[2101]: E0105 08:00:43 reflector.go:150] failed to list *v1.Node: tls: failed to \
                 verify certificate: x509: certificate signed by unknown authority"
            }
            Self::NoDns => {
                "[   23.5] kubelet[2101]: E0105 08:00:44 reflector.go:150] failed to list *v1.Node: dial tcp: lookup \
                 eks.test on 10.0.0.2:53: no such host"
            }
            Self::FullDisk => {
                "[   33.7] containerd[1901]: write /var/lib/containerd/ingest/1: no space left on device"
            }
            Self::Panic => {
                "[    1.9] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)"
            }
            Self::Console(text) => text,
        }
    }

    fn lacks_entry(&self) -> bool {
        *self == Self::NoAccessEntry
    }
}

impl World {
    fn looked_at(&self, instance: &InstanceId) -> Result<&InstanceRecord, AwsError> {
        let known = self.account.instances.get(instance);
        known.ok_or_else(|| {
            let text = format!("The instance ID '{instance}' does not exist");
            AwsError::new("InvalidInstanceID.NotFound", text)
        })
    }

    /// What the console of `instance` says; one whose node joined has nothing to say.
    pub(crate) fn console(&self, instance: &InstanceId) -> Result<String, AwsError> {
        let record = self.looked_at(instance)?;
        let has_joined = self.cluster.node_of_instance.contains_key(&record.id);
        let text = if has_joined { "" } else { self.settings.join_failure.console() };
        Ok(text.to_owned())
    }

    /// Which checks of `instance` fail.
    pub(crate) fn checks(&self, instance: &InstanceId) -> Vec<StatusProblem> {
        let known = self.account.instances.get(instance);
        let running = known.filter(|record| record.state() == InstanceState::Running);
        let Some(record) = running else { return Vec::new() };
        let is_check = |problem: &&StatusProblem| **problem != StatusProblem::ScheduledEvent;
        record.status.iter().filter(is_check).copied().collect()
    }

    /// How the role of `instance` stands to the cluster.
    pub(crate) fn access(&self, instance: &InstanceId) -> Result<NodeAccess, AwsError> {
        let record = self.looked_at(instance)?;
        let role =
            self.profile_of(record).and_then(|name| self.account.profiles.get(&name)?.role.clone());
        let Some(role) = role else { return Ok(NodeAccess::NoRole) };
        let has_entry = self.access_entries().contains(&role);
        Ok(if has_entry { NodeAccess::Entry(role) } else { NodeAccess::NoEntry(role) })
    }

    /// The instance profile that `record` was launched with.
    pub(crate) fn profile_of(&self, record: &InstanceRecord) -> Option<String> {
        self.account.templates.get(&record.template)?.instance_profile.clone()
    }

    /// The roles that have an access entry, sorted: all that instances can have, unless they lack it.
    pub(crate) fn access_entries(&self) -> Vec<String> {
        if self.settings.join_failure.lacks_entry() {
            return Vec::new();
        }
        let roles = self.account.profiles.values().filter_map(|known| known.role.clone());
        let roles: std::collections::BTreeSet<String> = roles.collect();
        roles.into_iter().collect()
    }
}
