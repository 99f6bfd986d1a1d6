//! EC2's query protocol: which operation it is, and what every operation has in common.
//!
//! <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html>

mod discovery;
mod fleet;
mod instance;
mod instance_types;
mod market;
mod reservation;
mod status;
mod template;

use ports::PortError;
use simulator::Sim;

use crate::{
    parameters::{Parameters, refusal},
    reply::{Reply, failure_of},
    xml::{Element, document, text},
};

pub(crate) const VERSION: &str = "2016-11-15";
const NAMESPACE: &str = "http://ec2.amazonaws.com/doc/2016-11-15/";

/// What an operation answers: the children of its root element.
pub(crate) type Answer = Result<Vec<Element>, PortError>;

/// An operation that is being asked for.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) sim: &'a Sim,
    pub(crate) parameters: Parameters,
    /// Items of one page, at most.
    pub(crate) page_max: usize,
}

impl Call<'_> {
    /// Ends the call when it was only to be tried. To be asked when all parameters are taken.
    pub(crate) async fn tried(
        &self,
        operation: &'static str,
        is_dry: bool,
    ) -> Result<(), PortError> {
        self.parameters.finish().map_err(refused)?;
        if !is_dry {
            return Ok(());
        }
        self.sim.dry_run(operation).await?;
        Err(would_have_worked())
    }
}

/// How EC2 says that a request which was only to be tried is good.
pub(crate) fn would_have_worked() -> PortError {
    let words = "Request would have succeeded, but DryRun flag is set.";
    refused(refusal("DryRunOperation", words))
}

/// A refusal before anything was done.
pub(crate) fn refused(refusal: simulator::AwsError) -> PortError {
    PortError::because("EC2", ports::Fault::Permanent, ports::Refusal::from(refusal))
}

/// Answers `action`.
pub(crate) async fn answer(action: &str, call: Call<'_>) -> Reply {
    let answer = match action {
        "CreateFleet" => fleet::create(call).await,
        "RunInstances" => instance::run(call).await,
        "DescribeInstances" => instance::describe(call).await,
        "GetConsoleOutput" => instance::console(call).await,
        "DescribeInstanceStatus" => status::describe(call).await,
        "CreateTags" => instance::tag(call).await,
        "RebootInstances" => instance::reboot(call).await,
        "TerminateInstances" => instance::terminate(call).await,
        "DescribeLaunchTemplates" => template::describe(call).await,
        "DescribeLaunchTemplateVersions" => template::versions(call).await,
        "CreateLaunchTemplate" => template::create(call).await,
        "DeleteLaunchTemplate" => template::delete(call).await,
        "DescribeSubnets" => discovery::subnets(call).await,
        "DescribeSecurityGroups" => discovery::security_groups(call).await,
        "DescribeRouteTables" => discovery::route_tables(call).await,
        "DescribeImages" => discovery::images(call).await,
        "DescribeCapacityReservations" => reservation::describe(call).await,
        "DescribePlacementGroups" => discovery::placement_groups(call).await,
        "DescribeAvailabilityZones" => market::zones(call).await,
        "DescribeInstanceTypes" => instance_types::describe(call).await,
        "DescribeInstanceTypeOfferings" => market::offerings(call).await,
        "DescribeSpotPriceHistory" => market::spot_prices(call).await,
        _ => {
            let words = format!("The action {action} is not valid here, or not supported yet");
            Err(refused(refusal("InvalidAction", words)))
        }
    };
    match answer {
        Ok(children) => {
            let mut elements = vec![text("requestId", "00000000-0000-4000-8000-000000000000")];
            elements.extend(children);
            let root = format!("{action}Response");
            Reply::xml(200, document(&root, NAMESPACE, &elements))
        }
        Err(error) => match failure_of(&error) {
            None => Reply::HangUp,
            Some((status, code, message)) => Reply::xml(status, error_document(&code, &message)),
        },
    }
}

fn error_document(code: &str, message: &str) -> String {
    use crate::xml::node;
    let error = node("Error", [text("Code", code), text("Message", message)]);
    let id = text("RequestID", "00000000-0000-4000-8000-000000000000");
    document("Response", "", &[node("Errors", [error]), id])
}
