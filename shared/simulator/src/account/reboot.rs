//! Instances that boot again.

use model::InstanceId;

use crate::{Sim, world::World};

impl World {
    /// An instance boots again: its node is silent until it is back, and the boot cures what a boot can cure.
    ///
    /// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RebootInstances.html>: the request on one that is
    /// terminated changes nothing.
    pub(crate) fn reboot(&mut self, instance: &InstanceId) {
        let Some(record) = self.account.instances.get_mut(instance).filter(|known| known.is_live())
        else {
            return;
        };
        record.reboots = record.reboots.saturating_add(1);
        if let Some(node) = self.cluster.node_of_instance.get(instance).cloned() {
            self.node_reboots(&node);
        }
    }
}

impl Sim {
    /// How often an instance was rebooted; 0 for one that the account does not have.
    pub fn reboots(&self, instance: &InstanceId) -> u64 {
        self.with(|world| world.account.instances.get(instance).map_or(0, |record| record.reboots))
    }
}
