//! Steps of leaving as they are done. Each may be done again: what is gone already is left alone.

use std::{io, time::Duration};

use serde_json::json;

use super::acts::{Act, LEASE};
use crate::{
    doctor::{gather::Ends, observed::name},
    installation::pause,
    live::{Account, Answer, Cluster, Kind, StackState, TableState, kinds, namespace_of},
};

/// Between two looks while something is waited for.
const LOOKS_EVERY: Duration = Duration::from_secs(5);

/// Names that one line lists.
const NAMED_MAX: usize = 5;

/// Says how far it is.
type Tell<'a> = dyn FnMut(&str) -> io::Result<()> + 'a;

/// What is waited for, or that it is so.
enum Look {
    Done,
    Waits(String),
    /// It will never be so.
    Failed(String),
}

/// Does `act`, and waits for at most so many minutes where it takes its time. The outer result is that of telling.
pub(super) fn carry_out(
    ends: &Ends,
    act: &Act,
    minutes: u32,
    tell: &mut Tell<'_>,
) -> io::Result<Answer<()>> {
    let ends = ends.cluster().and_then(|cluster| Ok((cluster, ends.account()?)));
    let (cluster, account) = match ends {
        Ok(ends) => ends,
        Err(why) => return Ok(Err(why)),
    };
    let look: &mut dyn FnMut() -> Answer<Look> = match act {
        Act::WaitForNone(kind, _) => &mut || none_is_left(cluster, kind),
        Act::WaitForStack(stack) => &mut || stack_is_gone(account, stack),
        Act::UnprotectTable(table) => &mut || table_is_open(account, table),
        act => return Ok(at_once(cluster, account, act)),
    };
    until_done(look, minutes, &pause, tell)
}

/// Looks again and again until it is done or has taken too long; each new state is told once.
fn until_done(
    look: &mut dyn FnMut() -> Answer<Look>,
    minutes: u32,
    pause: &dyn Fn(Duration),
    tell: &mut Tell<'_>,
) -> io::Result<Answer<()>> {
    let looks = u64::from(minutes) * 60 / LOOKS_EVERY.as_secs();
    let mut last = String::new();
    for at in 0..=looks {
        if at > 0 {
            pause(LOOKS_EVERY);
        }
        match look() {
            Ok(Look::Done) => return Ok(Ok(())),
            Ok(Look::Failed(why)) | Err(why) => return Ok(Err(why)),
            Ok(Look::Waits(waits)) => {
                if waits != last {
                    tell(&waits)?;
                }
                last = waits;
            }
        }
    }
    Ok(Err(format!(
        "{last} That was waited for, for {minutes} minutes: --wait MINUTES waits longer."
    )))
}

/// What takes no time.
fn at_once(cluster: &Cluster, account: &Account, act: &Act) -> Answer<()> {
    match act {
        Act::DeleteAll(kind) => {
            let objects = cluster.objects(kind)?;
            objects
                .iter()
                .try_for_each(|object| cluster.delete(kind, namespace_of(object), name(object)))
        }
        Act::LetGo { kind, name } => {
            let change = json!({"metadata": {"finalizers": null}});
            cluster.merge(kind, (None, name), None, &change)
        }
        Act::DeleteStack(stack) => account.delete_stack(stack),
        Act::DeleteTable(table) => account.delete_table(table),
        Act::DeleteTemplate(id) => account.delete_launch_template(id),
        Act::RemoveRole { profile, role } => account.remove_role(profile, role),
        Act::DeleteProfile(profile) => account.delete_instance_profile(profile),
        Act::DeleteManifests(manifests) => manifests.objects()?.iter().try_for_each(|object| {
            let kind = Kind::of(object).ok_or_else(|| format!("an unknown kind: {object}"))?;
            cluster.delete(kind, namespace_of(object), name(object))
        }),
        Act::DeleteLease => {
            let (namespace, lease) = LEASE;
            cluster.delete(&kinds::LEASES, Some(namespace), lease)
        }
        Act::WaitForNone(..) | Act::WaitForStack(_) | Act::UnprotectTable(_) => Ok(()),
    }
}

fn none_is_left(cluster: &Cluster, kind: &Kind) -> Answer<Look> {
    let left = cluster.objects(kind)?;
    if left.is_empty() {
        return Ok(Look::Done);
    }
    let mut named: Vec<&str> = left.iter().take(NAMED_MAX).map(name).collect();
    named.extend((left.len() > NAMED_MAX).then_some("…"));
    Ok(Look::Waits(format!("{} {} are left: {}.", left.len(), kind.plural, named.join(", "))))
}

fn stack_is_gone(account: &Account, stack: &str) -> Answer<Look> {
    let Some(StackState { status, reason }) = account.stack(stack)? else { return Ok(Look::Done) };
    let reason = if reason.is_empty() { reason } else { format!(": {reason}") };
    Ok(match status.as_str() {
        "DELETE_IN_PROGRESS" => Look::Waits(format!("The stack {stack} is {status}{reason}.")),
        _ => Look::Failed(format!("The stack {stack} is {status}{reason}")),
    })
}

/// Lets the table be deleted as soon as it can be changed.
fn table_is_open(account: &Account, table: &str) -> Answer<Look> {
    let Some(TableState { status, is_protected }) = account.table(table)? else {
        return Ok(Look::Done);
    };
    match status.as_str() {
        "DELETING" => return Ok(Look::Done),
        "ACTIVE" if !is_protected => return Ok(Look::Done),
        "ACTIVE" => account.unprotect_table(table)?,
        _ => {}
    }
    Ok(Look::Waits(format!("The table {table} is {status}, and is about to be given free.")))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How often it was waited, what was told, and the outcome.
    fn waited(minutes: u32, mut looks: Vec<Answer<Look>>) -> (u32, Vec<String>, Answer<()>) {
        looks.reverse();
        let pauses = Cell::new(0_u32);
        let mut told = Vec::new();
        let mut tell = |said: &str| {
            told.push(said.to_owned());
            Ok(())
        };
        let mut look = || match looks.len() {
            1 => match &looks[0] {
                Ok(Look::Waits(waits)) => Ok(Look::Waits(waits.clone())),
                _ => looks.pop().unwrap(),
            },
            _ => looks.pop().unwrap(),
        };
        let pause = |_| pauses.set(pauses.get() + 1);
        let outcome = until_done(&mut look, minutes, &pause, &mut tell).unwrap();
        (pauses.get(), told, outcome)
    }

    #[test]
    fn what_takes_its_time_is_waited_for_and_each_state_told_once() {
        let waits = |text: &str| Ok(Look::Waits(text.to_owned()));
        let (pauses, told, outcome) =
            waited(30, vec![waits("2 left."), waits("2 left."), waits("1 left."), Ok(Look::Done)]);
        assert_eq!((pauses, outcome), (3, Ok(())));
        assert_eq!(told, ["2 left.", "1 left."]);
        let (pauses, told, outcome) = waited(1, vec![waits("1 left.")]);
        assert_eq!((pauses, told.len()), (12, 1));
        assert!(outcome.unwrap_err().starts_with("1 left. That was waited for, for 1 minutes"));
        let (pauses, _, outcome) = waited(0, vec![waits("1 left.")]);
        assert!(pauses == 0 && outcome.is_err());
    }

    #[test]
    fn what_will_never_be_so_is_not_waited_for() {
        let failed = Ok(Look::Failed("DELETE_FAILED".to_owned()));
        assert_eq!(waited(30, vec![failed]), (0, Vec::new(), Err("DELETE_FAILED".to_owned())));
        let unseen = Err("Forbidden".to_owned());
        assert_eq!(waited(30, vec![unseen]), (0, Vec::new(), Err("Forbidden".to_owned())));
    }
}
