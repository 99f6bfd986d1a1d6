//! What EC2's checks say of instances, and which events it scheduled.

use model::{
    InstanceId,
    interruption::{StatusProblem, StatusReport},
    launch::InstanceState,
};

use super::{InstanceRecord, SpotTarget};
use crate::world::World;

impl World {
    /// From now on a check of an instance fails.
    pub(crate) fn fail_check(&mut self, target: &SpotTarget, is_of_host: bool) {
        let since = Some(self.now);
        let problem = if is_of_host {
            StatusProblem::SystemCheck { since }
        } else {
            StatusProblem::InstanceCheck { since }
        };
        if let Some(instance) = self.chosen(target, InstanceRecord::is_live) {
            self.report(&instance, problem);
        }
    }

    /// From now on EC2 reports `problem` of `instance`.
    pub(super) fn report(&mut self, instance: &InstanceId, problem: StatusProblem) {
        if let Some(record) = self.account.instances.get_mut(instance) {
            record.status.push(problem);
        }
    }

    /// What is wrong with instances that run.
    pub(crate) fn impaired(&self) -> Vec<StatusReport> {
        let records = self.account.instances.values();
        let running = records.filter(|record| record.state() == InstanceState::Running);
        let mut reports: Vec<StatusReport> = running
            .flat_map(|record| {
                let report = |problem: &StatusProblem| StatusReport {
                    instance: record.id.clone(),
                    problem: *problem,
                };
                record.status.iter().map(report)
            })
            .collect();
        reports.sort();
        reports
    }
}
