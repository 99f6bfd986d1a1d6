//! Quotas: how much may run at once, whatever the market has.

use model::{CapacityType, OfferingKey};

use super::{AwsError, InstanceRecord};
use crate::world::World;

impl World {
    /// Why one more instance of `offering` would be too many for the account, if it is so.
    ///
    /// <https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html>
    pub(super) fn quota_problem(&self, offering: &OfferingKey) -> Option<AwsError> {
        let quotas = self.settings.limits.quotas;
        let is_spot = offering.capacity_type == CapacityType::Spot;
        let quota = if is_spot { quotas.spot_vcpus } else { quotas.on_demand_vcpus }?;
        let records = self.account.instances.values().filter(|record| record.is_live());
        let same_market = records
            .filter(|record| (record.offering.capacity_type == CapacityType::Spot) == is_spot);
        let vcpus = |record: &InstanceRecord| self.vcpus(&record.offering);
        let running: u64 = same_market.map(vcpus).sum();
        if running + self.vcpus(offering) <= quota {
            return None;
        }
        Some(if is_spot {
            let text = "Max spot instance count exceeded";
            AwsError::new("MaxSpotInstanceCountExceeded", text)
        } else {
            let text = format!("You have requested more vCPU capacity than your limit of {quota}");
            AwsError::new("VcpuLimitExceeded", text)
        })
    }

    /// Why one more launch template would be too many for the account, if it is so.
    ///
    /// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/launch-template-restrictions.html>
    pub(super) fn template_quota_problem(&self) -> Option<AwsError> {
        let most = self.settings.limits.quotas.launch_templates?;
        let text = format!("there are {most} launch templates already");
        let is_full = most <= self.account.templates.len();
        is_full.then(|| AwsError::new("MaxTemplateLimitExceeded", text))
    }

    fn vcpus(&self, offering: &OfferingKey) -> u64 {
        let instance_type = self.catalog.instance_type(&offering.instance_type);
        instance_type.map_or(0, |instance_type| instance_type.capacity.cpu.0 / 1_000)
    }
}
