//! Why a node does not join: when its instance is looked into, and what was seen of it → a finding.
//!
//! The console names a cause by itself, as it was there; what EC2 and EKS say is asked for what the console does
//! not tell, such as whether a refused role has an access entry, and what keeps an API server from being reached.
//! What the console says goes into the finding without secrets, and a few lines of it only.

mod console;
pub mod secrets;
mod seen;

use jiff::{SignedDuration, Timestamp};
use model::{
    ClaimPhase, ConditionReason, NodeClaim,
    claim::ClaimMessage,
    interruption::StatusProblem,
    join::{JoinEvidence, JoinFinding, JoinQuestions, JoinReason},
};

/// From the launch to the first look: most nodes join within a minute.
const LOOKED_AFTER: SignedDuration = SignedDuration::from_mins(2);
/// From one look to the next. EC2's console output is minutes old where it is not the latest.
///
/// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html>
const LOOKED_EVERY: SignedDuration = SignedDuration::from_mins(5);

/// Whether the instance of `claim`, which has no node, is to be looked into at `now`.
#[must_use]
pub fn is_look_due(claim: &NodeClaim, now: Timestamp) -> bool {
    let Some(instance) = &claim.instance else { return false };
    let waits = claim.phase == ClaimPhase::Launched && !claim.is_ambiguous();
    waits
        && match claim.conditions.looked_into_at {
            Some(last) => LOOKED_EVERY <= now.duration_since(last),
            None => LOOKED_AFTER <= now.duration_since(instance.launched_at),
        }
}

/// `claim` with what a look at `now` came to, one version on.
#[must_use]
pub fn looked_into(claim: &NodeClaim, finding: &JoinFinding, now: Timestamp) -> NodeClaim {
    let reason = Some(ConditionReason::NotJoined(finding.reason));
    let mut next = claim.following();
    next.message = Some(ClaimMessage { reason, text: finding.message.clone() });
    next.conditions.looked_into_at = Some(now);
    next
}

/// What is asked for beside `console`: all that may explain what it says, and everything where it tells no cause.
#[must_use]
pub fn questions(console: &Result<String, String>) -> JoinQuestions {
    let reason = console.as_deref().ok().and_then(console::told).map(|line| line.reason);
    JoinQuestions {
        access: matches!(reason, None | Some(JoinReason::NodeRoleRefused)),
        network: matches!(reason, None | Some(JoinReason::ApiServerUnreachable)),
        image: matches!(reason, None | Some(JoinReason::ArchitectureMismatch)),
    }
}

/// What `evidence` comes to.
#[must_use]
pub fn diagnose(evidence: &JoinEvidence) -> JoinFinding {
    let line = evidence.console.as_deref().ok().and_then(console::told);
    let seen = seen::causes(evidence, questions(&evidence.console));
    match (line, seen.split_first()) {
        (line, Some((first, more))) => {
            let also = more.iter().map(|cause| format!("; also: {}", cause.words));
            let words = format!("{}{}", first.words, also.collect::<String>());
            finding(first.reason, with(words, line))
        }
        (Some(line), None) => {
            let words = seen::beside(evidence, line.reason);
            let message = match words {
                Some(words) => with(words, Some(line.clone())),
                None => line.line.clone(),
            };
            finding(line.reason, message)
        }
        (None, None) => without_cause(evidence),
    }
}

/// What it comes to where neither the console nor anything else tells a cause.
fn without_cause(evidence: &JoinEvidence) -> JoinFinding {
    if let Some(words) = evidence.checks.as_ref().ok().and_then(|checks| failed(checks)) {
        return finding(JoinReason::InstanceStatusFailed, words.to_owned());
    }
    let unseen: Vec<String> = seen::unseen(evidence).map(secrets::cut).collect();
    let (reason, words) = match &evidence.console {
        Ok(text) => (JoinReason::UnknownJoinFailure, console::end(text)),
        Err(_) => (JoinReason::NotLookedInto, String::new()),
    };
    let could_not = (!unseen.is_empty()).then(|| format!("could not look: {}", unseen.join("; ")));
    let words: Vec<String> =
        [words].into_iter().filter(|words| !words.is_empty()).chain(could_not).collect();
    finding(reason, words.join("; "))
}

fn failed(checks: &[StatusProblem]) -> Option<&'static str> {
    checks.iter().find_map(|check| match check {
        StatusProblem::InstanceCheck { .. } => Some("EC2's check of the instance fails"),
        StatusProblem::SystemCheck { .. } => Some("EC2's check of the instance's host fails"),
        StatusProblem::ScheduledEvent => None,
    })
}

fn with(words: String, told: Option<console::Told>) -> String {
    match told {
        Some(told) => format!("{words}; its console: {}", told.line),
        None => words,
    }
}

fn finding(reason: JoinReason, message: String) -> JoinFinding {
    JoinFinding { reason, message }
}
