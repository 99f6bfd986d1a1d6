//! Requests that EC2 is only to check (`DryRun`): how they are sent, and what the answers mean.
//!
//! <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonParameters.html>

use aws_sdk_ec2::{Client, config::retry::RetryConfig};
use model::validation::DryRunAnswer;
use ports::PortError;

/// A client that sends each request once: what is only tried must not use up what others may ask.
pub(super) fn once(client: &Client) -> Client {
    let config = client.config().to_builder().retry_config(RetryConfig::disabled());
    Client::from_conf(config.build())
}

/// What EC2 says to a request with `DryRun`: success is an error, too.
pub(super) fn dry_run_answer(error: PortError) -> Result<DryRunAnswer, PortError> {
    let Some(refusal) = error.refusal() else { return Err(error) };
    let message = || refusal.message.clone();
    match refusal.code.as_str() {
        "DryRunOperation" => Ok(DryRunAnswer::Works),
        "UnauthorizedOperation" => Ok(DryRunAnswer::Forbidden(message())),
        "InvalidParameterValue" if refusal.message.contains("IAM Instance Profile") => {
            Ok(DryRunAnswer::NoProfile(message()))
        }
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use ports::Fault;

    use super::*;
    use crate::fault::refused;

    #[track_caller]
    fn check(code: &str, status: u16, message: &str, expected: &Result<DryRunAnswer, Fault>) {
        let answer = dry_run_answer(refused("RunInstances", code, status, message));
        assert_eq!(&answer.map_err(|error| error.fault), expected, "{code}");
    }

    #[test]
    fn what_was_only_tried_worked_or_is_forbidden_or_has_no_profile() {
        check("DryRunOperation", 412, "Request would have succeeded.", &Ok(DryRunAnswer::Works));
        let forbidden = Ok(DryRunAnswer::Forbidden("You are not authorized.".to_owned()));
        check("UnauthorizedOperation", 403, "You are not authorized.", &forbidden);
        let words = "Value (nodes) for parameter iamInstanceProfile.name is invalid. \
                     Invalid IAM Instance Profile name";
        check("InvalidParameterValue", 400, words, &Ok(DryRunAnswer::NoProfile(words.to_owned())));
        check("InvalidParameterValue", 400, "Value (x) is invalid.", &Err(Fault::Permanent));
        check("RequestLimitExceeded", 503, "slow down", &Err(Fault::Transient));
        check("InternalError", 500, "", &Err(Fault::Unknown));
        let gone = "InvalidLaunchTemplateName.NotFoundException";
        check(gone, 400, "no such template", &Err(Fault::NotFound));
    }
}
