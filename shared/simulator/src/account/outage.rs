//! Outages of a whole zone: EC2 launches nothing there, and the checks of what runs there fail.

use model::{InstanceId, OfferingKey, Zone, interruption::StatusProblem, launch::Instance};

use super::InstanceRecord;
use crate::world::World;

impl World {
    /// From now on `zone` has no capacity, and the hosts of what runs there fail their check.
    pub(crate) fn begin_outage(&mut self, zone: Zone) {
        let records = self.account.instances.values().filter(|record| record.is_live());
        let there = records.filter(|record| record.offering.zone == zone);
        let instances: Vec<InstanceId> = there.map(|record| record.id.clone()).collect();
        for instance in instances {
            self.report(&instance, StatusProblem::SystemCheck { since: Some(self.now) });
        }
        self.account.outages.insert(zone);
    }

    /// `zone` has capacity again. Hosts that failed stay as they are.
    pub(crate) fn end_outage(&mut self, zone: &Zone) {
        self.account.outages.remove(zone);
    }

    /// Whether the zone of `offering` is away.
    pub(super) fn is_away(&self, offering: &OfferingKey) -> bool {
        self.account.outages.contains(&offering.zone)
    }

    /// What is pending or runs and passes its checks, as it is at present, sorted by id.
    pub(crate) fn working(&self) -> Vec<Instance> {
        let is_working = |record: &&InstanceRecord| {
            let is_planned = |problem: &StatusProblem| *problem == StatusProblem::ScheduledEvent;
            record.is_live() && record.status.iter().all(is_planned)
        };
        let records = self.account.instances.values().filter(is_working);
        let kept = self.settings.terminated_listed_for;
        records.filter_map(|record| record.described_at(self.now, self.now, kept)).collect()
    }
}
