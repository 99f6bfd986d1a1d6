//! Token buckets: how requests are throttled.

use jiff::{SignedDuration, Timestamp};
use simulator::limits::{ApiAction, bucket::*};

const KEY: (ApiAction, &str) = (ApiAction::ec2("CreateFleet"), "requests");

fn at(millis: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH.checked_add(SignedDuration::from_millis(millis)).unwrap()
}

#[test]
fn a_bucket_gives_what_it_has_and_refills_with_time() {
    let (mut buckets, bucket) = (Buckets::default(), TokenBucket::new(5, 2));
    assert_eq!(buckets.take(KEY, bucket, 7, at(0)), 5);
    assert_eq!(buckets.take(KEY, bucket, 1, at(400)), 0);
    assert_eq!(buckets.take(KEY, bucket, 9, at(500)), 1);
    assert_eq!(buckets.take(KEY, bucket, 9, at(60_000)), 5);
}

#[test]
fn what_is_owed_is_paid_before_anything_else_is_taken() {
    let (mut buckets, bucket) = (Buckets::default(), TokenBucket::new(10, 10));
    assert!(buckets.owe(KEY, bucket, 30, at(0)));
    assert!(!buckets.owe(KEY, bucket, 1, at(1_900)));
    assert!(buckets.owe(KEY, bucket, 1, at(2_100)));
}

#[test]
fn each_action_of_ec2_has_a_bucket_of_its_kind() {
    let limits = RequestLimits::default_of_account();
    let of = |name| limits.of(ApiAction::ec2(name)).map(|bucket| bucket.capacity);
    assert_eq!(of("DescribeInstances"), Some(100));
    assert_eq!(of("CreateFleet"), Some(50));
    assert_eq!(of("CreateTags"), Some(100));
    assert_eq!(limits.of(ApiAction::kubernetes("list pods")), None);
}
