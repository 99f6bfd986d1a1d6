//! How instances end, and which EC2 does not let end.

use std::collections::BTreeSet;

use model::{InstanceId, Zone};

use super::AwsError;
use crate::world::World;

impl World {
    /// An instance ends for this reason of EC2's.
    pub(crate) fn end_because(&mut self, instance: &InstanceId, reason: &str) {
        if let Some(record) = self.account.instances.get_mut(instance) {
            record.end_reason = Some(reason.to_owned());
        }
        self.end_instance(instance);
    }

    /// Terminates instances at a caller's request. One with termination protection is refused, and with it all
    /// of its zone.
    ///
    /// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_TerminateInstances.html>
    pub(crate) fn terminate(&mut self, instances: &[InstanceId]) -> Result<(), AwsError> {
        let zone_of = |id: &InstanceId| Some(self.account.instances.get(id)?.offering.zone.clone());
        let protected = || instances.iter().filter(|id| self.account.protected.contains(*id));
        let zones: BTreeSet<Option<Zone>> = protected().map(zone_of).collect();
        let refused = protected().next().cloned();
        let ended: Vec<InstanceId> =
            instances.iter().filter(|id| !zones.contains(&zone_of(id))).cloned().collect();
        self.end_instances(&ended);
        let Some(id) = refused else { return Ok(()) };
        let message = format!(
            "The instance '{id}' may not be terminated. Modify its 'disableApiTermination' instance attribute and try \
             again."
        );
        Err(AwsError::new("OperationNotPermitted", message))
    }
}
