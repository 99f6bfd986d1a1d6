//! The ports over the AWS SDKs.
//!
//! An adapter is two pure halves and a send: a request made of `model` values, `model` values made
//! of an answer, and between them one call. The SDKs repeat what was throttled in their standard
//! mode; nothing here retries on top of that. The only crate of the functions that names `aws_sdk_*`:
//! the command line has clients of its own for what no function does.
//!
//! Deliberately absent: decisions, caches that outlive an answer (but for what EKS says of a cluster,
//! for five minutes), and the Kubernetes API.

mod account;
mod collector;
mod dynamodb;
mod ec2;
mod eks;
mod fault;
#[cfg(test)]
mod fixture;
mod forensics;
mod iam;
mod json_call;
mod kept;
mod lambda;
mod pricing;
#[cfg(test)]
mod rights_tests;
mod s3;
mod signing;
mod sqs;
mod ssm;
#[cfg(test)]
mod wire;
mod zonal_shift;

pub use account::{Account, Endpoints, InvalidAccount, Service};
pub use collector::OtlpCollector;
pub use dynamodb::{DynamoCatalogStore, DynamoLedger, ExaminedLedger, RecordForm};
pub use ec2::{Ec2Discovery, Ec2Fleet, Ec2Market, Ec2Templates};
pub use eks::{Connection, EksClusters};
pub use forensics::AwsForensics;
pub use iam::IamProfiles;
pub use lambda::FunctionNames;
pub use s3::S3Bucket;
pub use sqs::{QueueUrls, SqsMailbox};
