//! What is called over the wire: a service and one of its actions.

use std::fmt;

/// A service that counts, limits and bills requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApiService {
    /// Amazon EC2.
    Ec2,
    /// Amazon DynamoDB.
    DynamoDb,
    /// Amazon SQS.
    Sqs,
    /// AWS Lambda.
    Lambda,
    /// AWS Systems Manager.
    Ssm,
    /// AWS Identity and Access Management.
    Iam,
    /// Amazon EKS.
    Eks,
    /// AWS Price List.
    Pricing,
    /// Amazon Application Recovery Controller, zonal shift.
    ArcZonalShift,
    /// The cluster's API server.
    Kubernetes,
}

impl ApiService {
    /// The prefix of its actions, as IAM writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ec2 => "ec2",
            Self::DynamoDb => "dynamodb",
            Self::Sqs => "sqs",
            Self::Lambda => "lambda",
            Self::Ssm => "ssm",
            Self::Iam => "iam",
            Self::Eks => "eks",
            Self::Pricing => "pricing",
            Self::ArcZonalShift => "arc-zonal-shift",
            Self::Kubernetes => "kubernetes",
        }
    }
}

/// One action of a service, such as `ec2:DescribeInstances` or `kubernetes:list pods`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiAction {
    /// Whose action it is.
    pub service: ApiService,
    /// Its name in that service; for the API server a verb and a resource.
    pub name: &'static str,
}

impl ApiAction {
    /// The action called `name` of EC2.
    pub const fn ec2(name: &'static str) -> Self {
        Self { service: ApiService::Ec2, name }
    }

    /// The action called `name` of DynamoDB.
    pub const fn dynamodb(name: &'static str) -> Self {
        Self { service: ApiService::DynamoDb, name }
    }

    /// The action called `name` of IAM.
    pub const fn iam(name: &'static str) -> Self {
        Self { service: ApiService::Iam, name }
    }

    /// A verb and a resource of the API server.
    pub const fn kubernetes(name: &'static str) -> Self {
        Self { service: ApiService::Kubernetes, name }
    }

    /// Whether it only asks: EC2's non-mutating actions begin with `Describe`.
    ///
    /// <https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html>
    pub fn is_read(self) -> bool {
        ["Describe", "Get", "List", "Query", "get ", "list "]
            .iter()
            .any(|prefix| self.name.starts_with(prefix))
    }
}

impl fmt::Display for ApiAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.service.as_str(), self.name)
    }
}
