//! Token buckets: how requests are throttled.
//!
//! <https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html>

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{ApiAction, ApiService};

/// How many tokens a bucket holds, and how many come back each second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Tokens of a full bucket.
    pub capacity: u32,
    /// Tokens that come back in one second.
    pub refill_per_second: u32,
}

impl TokenBucket {
    /// A bucket with its number of tokens and its refill per second.
    pub const fn new(capacity: u32, refill_per_second: u32) -> Self {
        Self { capacity, refill_per_second }
    }
}

/// The buckets of one account in one region. Whatever has none is not throttled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestLimits {
    /// Requests, by action: each takes one token.
    pub requests: BTreeMap<ApiAction, TokenBucket>,
    /// Resources that requests name or make, by action: each takes one token.
    pub resources: BTreeMap<ApiAction, TokenBucket>,
    /// Of each action of EC2 that only asks and is not in `requests`.
    pub ec2_reads: Option<TokenBucket>,
    /// Of each action of EC2 that changes something and is not in `requests`.
    pub ec2_writes: Option<TokenBucket>,
    /// Of each action of IAM that is not in `requests`.
    pub iam: Option<TokenBucket>,
    /// How often a throttled request is sent in all, where it is not one of the table; see [`RequestLimits::default_of_account`].
    pub attempts_max: u32,
}

impl RequestLimits {
    /// What an account has that never asked for more.
    ///
    /// EC2: non-mutating actions 100 tokens and 20 a second; mutating ones 50 and 5; `CreateTags` 100
    /// and 10; `CreateLaunchTemplate` and `TerminateInstances` 100 and 5; `RunInstances` 5 and 2;
    /// resources of `RunInstances` 1,000 and 2, of `TerminateInstances` 1,000 and 20
    /// (<https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html>, each action has a
    /// bucket of its own). It is not published whether the instances of an instant fleet take
    /// resource tokens of `RunInstances`; here they do, which errs on the strict side.
    ///
    /// SSM: `GetParameter` 40 a second without higher throughput
    /// (<https://docs.aws.amazon.com/general/latest/gr/ssm.html>). EKS: `DescribeCluster` 100 and 10
    /// (no figure is published), and `DescribeAccessEntry` the same. `GetConsoleOutput`, `DescribeRouteTables` and
    /// `DescribeSecurityGroups` only ask, so each has the bucket of such actions. Application Recovery Controller publishes none for zonal shift
    /// (<https://docs.aws.amazon.com/arc-zonal-shift/latest/api/API_GetManagedResource.html> knows
    /// `ThrottlingException`): 5 and 1 a second is a guess on the strict side. IAM publishes none
    /// either: 20 requests and 5 a second for each action is what people report of it.
    ///
    /// A throttled request is sent three times in all: the SDKs' standard mode
    /// (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html>).
    pub fn default_of_account() -> Self {
        let bucket = TokenBucket::new;
        let requests = [
            (ApiAction::ec2("CreateTags"), bucket(100, 10)),
            (ApiAction::ec2("CreateLaunchTemplate"), bucket(100, 5)),
            (ApiAction::ec2("TerminateInstances"), bucket(100, 5)),
            (ApiAction::ec2("RunInstances"), bucket(5, 2)),
            (ApiAction { service: ApiService::Ssm, name: "GetParameter" }, bucket(40, 40)),
            (ApiAction { service: ApiService::Eks, name: "DescribeCluster" }, bucket(100, 10)),
            (ApiAction { service: ApiService::Eks, name: "DescribeAccessEntry" }, bucket(100, 10)),
            (
                ApiAction { service: ApiService::ArcZonalShift, name: "GetManagedResource" },
                bucket(5, 1),
            ),
        ];
        let resources = [
            (ApiAction::ec2("CreateFleet"), bucket(1_000, 2)),
            (ApiAction::ec2("RunInstances"), bucket(1_000, 2)),
            (ApiAction::ec2("TerminateInstances"), bucket(1_000, 20)),
        ];
        Self {
            requests: requests.into(),
            resources: resources.into(),
            ec2_reads: Some(bucket(100, 20)),
            ec2_writes: Some(bucket(50, 5)),
            iam: Some(bucket(20, 5)),
            attempts_max: 3,
        }
    }

    /// The bucket of requests for `action`, if it is throttled.
    pub fn of(&self, action: ApiAction) -> Option<TokenBucket> {
        let by_action = self.requests.get(&action).copied();
        by_action.or_else(|| match (action.service, action.is_read()) {
            (ApiService::Ec2, true) => self.ec2_reads,
            (ApiService::Ec2, false) => self.ec2_writes,
            (ApiService::Iam, _) => self.iam,
            _ => None,
        })
    }
}

/// What is left in a bucket, in thousandths of a token.
#[derive(Clone, Copy, Debug)]
struct Level {
    thousandths: i64,
    at: Timestamp,
}

/// What is left in each bucket that was used, by what it is for.
#[derive(Debug, Default)]
pub struct Buckets(BTreeMap<(ApiAction, &'static str), Level>);

impl Buckets {
    /// Takes up to `wanted` tokens at `now`, and says how many.
    pub fn take(
        &mut self,
        key: (ApiAction, &'static str),
        bucket: TokenBucket,
        wanted: u64,
        now: Timestamp,
    ) -> u64 {
        let level = self.level(key, bucket, now);
        let whole = u64::try_from(level.thousandths / 1_000).unwrap_or_default();
        let taken = whole.min(wanted);
        level.thousandths -= i64::try_from(taken).unwrap_or(i64::MAX).saturating_mul(1_000);
        taken
    }

    /// Takes `wanted` tokens at `now` or none; more than a bucket holds is taken from a full one.
    pub(crate) fn take_all(
        &mut self,
        key: (ApiAction, &'static str),
        bucket: TokenBucket,
        wanted: u64,
        now: Timestamp,
    ) -> bool {
        let level = self.level(key, bucket, now);
        let wanted = i64::try_from(wanted)
            .unwrap_or(i64::MAX)
            .saturating_mul(1_000)
            .min(i64::from(bucket.capacity) * 1_000);
        let is_enough = wanted <= level.thousandths;
        if is_enough {
            level.thousandths -= wanted;
        }
        is_enough
    }

    /// Takes `wanted` tokens at `now` if any is left, and owes what is missing, as DynamoDB does with
    /// capacity: what a request takes is known only after it.
    pub fn owe(
        &mut self,
        key: (ApiAction, &'static str),
        bucket: TokenBucket,
        wanted: u64,
        now: Timestamp,
    ) -> bool {
        let level = self.level(key, bucket, now);
        if level.thousandths <= 0 {
            return false;
        }
        let wanted = i64::try_from(wanted).unwrap_or(i64::MAX).saturating_mul(1_000);
        level.thousandths = level.thousandths.saturating_sub(wanted);
        true
    }

    fn level(
        &mut self,
        key: (ApiAction, &'static str),
        bucket: TokenBucket,
        now: Timestamp,
    ) -> &mut Level {
        let full = i64::from(bucket.capacity) * 1_000;
        let level = self.0.entry(key).or_insert(Level { thousandths: full, at: now });
        let elapsed = i64::try_from(now.duration_since(level.at).as_millis()).unwrap_or(i64::MAX);
        let refill = elapsed.saturating_mul(i64::from(bucket.refill_per_second));
        level.thousandths = level.thousandths.saturating_add(refill).min(full);
        level.at = level.at.max(now);
        level
    }
}
