//! Steps of leaving as they are done. Each may be done again: what is gone already is left alone.

use std::io;

use serde_json::json;

use super::acts::{Act, LEASE};
use crate::{
    doctor::{gather::InstallationClients, observed::name},
    installation::{Look, pause, waited},
    live::{
        AccountClient, ClusterClient, LiveAnswer, ObjectKind, StackState, TableState, kinds,
        namespace_of,
    },
    wake,
};

/// Names that one line lists.
const NAMED_MAX: usize = 5;

/// Says how far it is.
type Tell<'a> = dyn FnMut(&str) -> io::Result<()> + 'a;

/// Does `act`, and waits at most this number of minutes for its end. The outer result is that of printing.
pub fn carry_out(
    ends: &InstallationClients,
    act: &Act,
    minutes: u32,
    tell: &mut Tell<'_>,
) -> io::Result<LiveAnswer<()>> {
    let ends = ends.cluster().and_then(|cluster| Ok((cluster, ends.account()?)));
    let (cluster, account) = match ends {
        Ok(ends) => ends,
        Err(why) => return Ok(Err(why)),
    };
    let look: &dyn Fn() -> LiveAnswer<Look<()>> = match act {
        Act::WaitForNone(kind, _) => &|| none_is_left(cluster, kind),
        Act::WaitForStack(stack) => &|| stack_is_gone(account, stack),
        Act::UnprotectTable(table) => &|| table_is_open(account, table),
        act => return Ok(at_once(cluster, account, act)),
    };
    Ok(outcome(waited(|| look_of(look()), minutes, pause, tell)?, minutes))
}

/// What a look found; what cannot be seen is not waited for.
pub fn look_of(answer: LiveAnswer<Look<()>>) -> Look<()> {
    answer.unwrap_or_else(Look::Failed)
}

/// What waiting for `minutes` at most comes to, where `found` was found last.
pub fn outcome(found: Look<()>, minutes: u32) -> LiveAnswer<()> {
    match found {
        Look::Done(()) => Ok(()),
        Look::Failed(why) => Err(why),
        Look::Waits(last) => Err(format!(
            "{last} Not finished after {minutes} minutes: --wait MINUTES waits longer."
        )),
    }
}

/// What takes no time.
fn at_once(cluster: &ClusterClient, account: &AccountClient, act: &Act) -> LiveAnswer<()> {
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
            let kind =
                ObjectKind::of(object).ok_or_else(|| format!("an unknown kind: {object}"))?;
            cluster.delete(kind, namespace_of(object), name(object))
        }),
        Act::DeleteCalls => {
            wake::OBJECTS.iter().try_for_each(|(kind, name)| cluster.delete(kind, None, name))
        }
        Act::DeleteLease => {
            let (namespace, lease) = LEASE;
            cluster.delete(&kinds::LEASES, Some(namespace), lease)
        }
        Act::WaitForNone(..) | Act::WaitForStack(_) | Act::UnprotectTable(_) => Ok(()),
    }
}

fn none_is_left(cluster: &ClusterClient, kind: &ObjectKind) -> LiveAnswer<Look<()>> {
    let left = cluster.objects(kind)?;
    if left.is_empty() {
        return Ok(Look::Done(()));
    }
    let mut named: Vec<&str> = left.iter().take(NAMED_MAX).map(name).collect();
    named.extend((left.len() > NAMED_MAX).then_some("…"));
    Ok(Look::Waits(format!("{} {} are left: {}.", left.len(), kind.plural, named.join(", "))))
}

fn stack_is_gone(account: &AccountClient, stack: &str) -> LiveAnswer<Look<()>> {
    let Some(StackState { status, reason }) = account.stack(stack)? else {
        return Ok(Look::Done(()));
    };
    let reason = if reason.is_empty() { reason } else { format!(": {reason}") };
    Ok(match status.as_str() {
        "DELETE_IN_PROGRESS" => Look::Waits(format!("The stack {stack} is {status}{reason}.")),
        _ => Look::Failed(format!("The stack {stack} is {status}{reason}")),
    })
}

/// Lets the table be deleted as soon as it can be changed.
fn table_is_open(account: &AccountClient, table: &str) -> LiveAnswer<Look<()>> {
    let Some(TableState { status, is_protected }) = account.table(table)? else {
        return Ok(Look::Done(()));
    };
    match status.as_str() {
        "DELETING" => return Ok(Look::Done(())),
        "ACTIVE" if !is_protected => return Ok(Look::Done(())),
        "ACTIVE" => account.unprotect_table(table)?,
        _ => {}
    }
    Ok(Look::Waits(format!("The table {table} is {status}, and is about to be given free.")))
}
