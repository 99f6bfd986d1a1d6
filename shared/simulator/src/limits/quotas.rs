//! How much there may be of what is bought and made.

/// Quotas of one account in one region; `None` is as much as one likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// vCPUs of on-demand and reserved instances that run at once. Default: `None`, because AWS starts an
    /// account at 5 and raises that with its use: no figure stands for all
    /// (<https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html>). An
    /// offering beyond it is refused with `VcpuLimitExceeded`.
    pub on_demand_vcpus: Option<u64>,
    /// vCPUs of spot instances that run at once. Default: `None`, for the same reason. An offering
    /// beyond it is refused with `MaxSpotInstanceCountExceeded`.
    pub spot_vcpus: Option<u64>,
    /// Launch templates of the region; one more is refused with `MaxTemplateLimitExceeded`. Default:
    /// 5,000 (<https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/launch-template-restrictions.html>).
    pub launch_templates: Option<usize>,
    /// Instances of one fleet; a request for more is refused. Default: 10,000
    /// (<https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/fleet-quotas.html>).
    pub instances_per_fleet: Option<u32>,
    /// Invocations of all functions at the same time. Default: 1,000
    /// (<https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>).
    pub concurrent_invocations: Option<usize>,
}

impl Quotas {
    /// No quota.
    pub const UNLIMITED: Self = Self {
        on_demand_vcpus: None,
        spot_vcpus: None,
        launch_templates: None,
        instances_per_fleet: None,
        concurrent_invocations: None,
    };
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            launch_templates: Some(5_000),
            instances_per_fleet: Some(10_000),
            concurrent_invocations: Some(1_000),
            ..Self::UNLIMITED
        }
    }
}
