//! What EC2 has of the networks that nodes and functions are put into.

use aws::Connection;
use model::{
    ClusterName,
    join::{JoinNetwork, JoiningInstance},
    node_class::NodeClass,
};
use ports::{Discovery as _, Forensics as _};

use super::AccountClient;
use crate::live::{LiveAnswer, failure::of_port};

impl AccountClient {
    /// How many subnets and how many security groups the terms of `class` select.
    pub(crate) fn selected(&self, class: &NodeClass) -> LiveAnswer<(usize, usize)> {
        let account = self.adapters()?;
        let discovery = account.discovery(account.clusters(Connection::default()));
        let selected = self.runtime.block_on(async {
            let subnets = discovery.subnets(&class.subnet_terms).await?;
            let groups = discovery.security_groups(&class.security_group_terms).await?;
            Ok((subnets.len(), groups.len()))
        });
        selected.map_err(|error| of_port("ec2", &error))
    }

    /// What lies between `place` and the API server of the cluster called `cluster`.
    pub(crate) fn network(
        &self,
        cluster: &str,
        place: &JoiningInstance,
    ) -> LiveAnswer<JoinNetwork> {
        let cluster = ClusterName::new(cluster).map_err(|error| error.to_string())?;
        let forensics = self.adapters()?.forensics();
        let network = self.runtime.block_on(forensics.network(&cluster, place));
        network.map_err(|error| of_port("ec2", &error))
    }
}
