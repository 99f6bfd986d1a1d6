//! Refused launches of pools: the last word of each pool stands.

use std::collections::BTreeMap;

use model::{NodePoolName, ledger::LaunchRefusals};
use ports::Ledger;

use super::{Subject, later};
use crate::{
    build,
    conformance::{Case, Failure, same},
};

pub(super) async fn cases<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Vec<Case> {
    vec![Case::of("refusals of a pool stand until the next word", last_stands(subject).await)]
}

async fn last_stands<L: Ledger, W: AsyncFn()>(subject: &Subject<'_, L, W>) -> Result<(), Failure> {
    let (general, batch): (NodePoolName, NodePoolName) = (build::id("general"), build::id("batch"));
    let refused = |count: u32| LaunchRefusals {
        reason: "VcpuLimitExceeded: 128 of 128 are used".to_owned(),
        count,
        until: later(i64::from(count)),
        ended: count / 2,
    };
    let (ledger, one) = (subject.ledger, subject.one());
    ledger.put_refusals(one, &batch, Some(&refused(9))).await?;
    for count in [Some(1), Some(1), Some(2), None, None, Some(3)] {
        let known = count.map(refused);
        ledger.put_refusals(one, &general, known.as_ref()).await?;
        let mut wanted = BTreeMap::from([(batch.clone(), refused(9))]);
        wanted.extend(known.map(|refusals| (general.clone(), refusals)));
        same("the refusals", &ledger.snapshot(one).await?.refusals, &wanted)?;
    }
    let elsewhere = ledger.snapshot(&subject.clusters.other).await?.refusals;
    same("those of another cluster", &elsewhere, &BTreeMap::new())
}
