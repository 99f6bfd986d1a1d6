//! What EC2 has of the networks that nodes and functions are put into.

use aws::{AwsForensics, Connection, Ec2Discovery};
use model::{
    ClusterName,
    join::{JoinNetwork, JoiningInstance},
    node_class::{SecurityGroupTerm, SubnetTerm},
};
use ports::{Discovery as _, Forensics as _};

use super::Account;
use crate::live::{Answer, failure::of_port};

impl Account {
    fn discovery(&self) -> Answer<Ec2Discovery> {
        let account = self.adapters()?;
        Ok(account.discovery(account.clusters(Connection::default())))
    }

    /// How many subnets `terms` select.
    pub(crate) fn subnets(&self, terms: &[SubnetTerm]) -> Answer<usize> {
        let discovery = self.discovery()?;
        let subnets = self.runtime.block_on(discovery.subnets(terms));
        subnets.map(|subnets| subnets.len()).map_err(|error| of_port("ec2", &error))
    }

    /// How many security groups `terms` select.
    pub(crate) fn security_groups(&self, terms: &[SecurityGroupTerm]) -> Answer<usize> {
        let discovery = self.discovery()?;
        let groups = self.runtime.block_on(discovery.security_groups(terms));
        groups.map(|groups| groups.len()).map_err(|error| of_port("ec2", &error))
    }

    /// What lies between `place` and the API server of the cluster called `cluster`.
    pub(crate) fn network(&self, cluster: &str, place: &JoiningInstance) -> Answer<JoinNetwork> {
        let cluster = ClusterName::new(cluster).map_err(|error| error.to_string())?;
        let forensics: AwsForensics = self.adapters()?.forensics();
        let network = self.runtime.block_on(forensics.network(&cluster, place));
        network.map_err(|error| of_port("ec2", &error))
    }
}
