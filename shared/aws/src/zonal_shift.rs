//! Zonal shifts of a cluster: the one call of Amazon Application Recovery Controller that is needed.
//!
//! <https://docs.aws.amazon.com/arc-zonal-shift/latest/api/API_GetManagedResource.html>

use aws_config::SdkConfig;
use aws_credential_types::provider::SharedCredentialsProvider;
use jiff::Timestamp;
use model::{ZoneId, zonal_shift::ZonalShift};
use ports::PortError;
use serde_json::Value;

use crate::{
    fault::BadAnswer,
    json_call::{JsonService, Operation, endpoint},
};

const GET: Operation =
    Operation { name: "GetManagedResource", target: "", service: "arc-zonal-shift" };

/// The zonal shifts of one region.
#[derive(Clone, Debug)]
pub(crate) struct ZonalShifts(JsonService);

impl ZonalShifts {
    pub(crate) fn new(
        config: &SdkConfig,
        region: &str,
        credentials: SharedCredentialsProvider,
    ) -> Self {
        Self(JsonService::new(config, endpoint("arc-zonal-shift", region), region, credentials))
    }

    /// The same at the other end of `connector`.
    #[cfg(test)]
    pub(crate) fn over(
        self,
        connector: aws_smithy_runtime_api::client::http::SharedHttpConnector,
    ) -> Self {
        Self(self.0.over(connector))
    }

    /// The shifts of the resource `arn` that are in effect, sorted.
    pub(crate) async fn of(&self, arn: &str) -> Result<Vec<ZonalShift>, PortError> {
        let answer = self.0.get(GET, &path(arn)).await?;
        let mut shifts =
            from_answer(&answer).map_err(|problem| BadAnswer::of(GET.name, problem))?;
        shifts.sort();
        Ok(shifts)
    }
}

/// The path of a resource: its ARN is one segment of it.
fn path(arn: &str) -> String {
    format!("/managedresources/{}", arn.replace(':', "%3A").replace('/', "%2F"))
}

/// The shifts in an answer: those that users started, which say when they end, and those that AWS started.
fn from_answer(answer: &Value) -> Result<Vec<ZonalShift>, String> {
    let listed = |name: &str| answer.get(name).and_then(Value::as_array).into_iter().flatten();
    let is_applied =
        |shift: &&Value| shift.get("appliedStatus").and_then(Value::as_str) == Some("APPLIED");
    let away_from = |shift: &Value| {
        let zone = shift.get("awayFrom").and_then(Value::as_str).unwrap_or_default();
        ZoneId::new(zone).map_err(|error| format!("awayFrom: {error}"))
    };
    let started = listed("zonalShifts").filter(is_applied).map(|shift| {
        let seconds = shift.get("expiryTime").and_then(Value::as_f64);
        let ends_at = seconds.and_then(from_seconds).ok_or("expiryTime: a time is required")?;
        Ok(ZonalShift { away_from: away_from(shift)?, ends_at: Some(ends_at) })
    });
    let by_aws = listed("autoshifts")
        .filter(is_applied)
        .map(|shift| Ok(ZonalShift { away_from: away_from(shift)?, ends_at: None }));
    started.chain(by_aws).collect()
}

/// Seconds since 1970, with a fraction that is not needed.
fn from_seconds(seconds: f64) -> Option<Timestamp> {
    format!("{seconds:.0}").parse().ok().and_then(|whole| Timestamp::from_second(whole).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Wire;

    #[test]
    fn only_shifts_that_are_applied_count() {
        let answer: Value = serde_json::from_str(
            r#"{"arn":"a","zonalShifts":[
            {"appliedStatus":"APPLIED","awayFrom":"usw2-az1","expiryTime":1.7952624E9},
            {"appliedStatus":"NOT_APPLIED","awayFrom":"usw2-az2","expiryTime":1.7952624E9}],
            "autoshifts":[{"appliedStatus":"APPLIED","awayFrom":"usw2-az3","startTime":1.7952E9},
            {"appliedStatus":"NOT_APPLIED","awayFrom":"usw2-az2","startTime":1.7952E9}]}"#,
        )
        .unwrap();
        let shift = |zone: &str, ends_at: Option<&str>| ZonalShift {
            away_from: ZoneId::new(zone).unwrap(),
            ends_at: ends_at.map(|at| at.parse().unwrap()),
        };
        let expected = [shift("usw2-az1", Some("2026-11-21T12:00:00Z")), shift("usw2-az3", None)];
        assert_eq!(from_answer(&answer).unwrap(), expected);
        let endless = r#"{"zonalShifts":[{"appliedStatus":"APPLIED","awayFrom":"usw2-az1"}]}"#;
        let endless = from_answer(&serde_json::from_str(endless).unwrap());
        assert_eq!(endless.unwrap_err(), "expiryTime: a time is required");
        assert_eq!(from_answer(&Value::Null), Ok(Vec::new()));
    }

    #[tokio::test]
    async fn the_arn_is_one_segment_of_the_path() {
        let arn = "arn:aws:eks:us-west-2:123456789012:cluster/demo";
        let encoded = "arn%3Aaws%3Aeks%3Aus-west-2%3A123456789012%3Acluster%2Fdemo";
        assert_eq!(path(arn), format!("/managedresources/{encoded}"));
        let wire = Wire::answering(&[Some((200, "{}")), Some((404, r#"{"message":"no"}"#))]);
        let config = wire.config();
        let credentials = config.credentials_provider().unwrap();
        let shifts = ZonalShifts::new(&config, "us-west-2", credentials).over(wire.connector());
        assert_eq!(shifts.of(arn).await.unwrap(), Vec::new());
        assert_eq!(shifts.of(arn).await.unwrap_err().fault, ports::Fault::NotFound);
        assert_eq!(wire.sent(), ["", ""]);
    }
}
