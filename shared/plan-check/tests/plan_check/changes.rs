//! Claims that are deleted or observed.

use jiff::{SignedDuration, Timestamp};
use model::{
    ClaimPhase, DeletionReason, NodeClaim, Plan,
    disruption::DisruptionReason,
    facts::Facts,
    node_pool::{Budget, BudgetNodes, BudgetWindow, ConsolidationPolicy},
};
use testkit::build::{at, claim, id, node_of, pod};

use super::check;

/// Nothing but the changes that `change` makes of the stored claim `general-6-0`, whose node has no
/// pod.
fn changed(
    facts: &mut Facts,
    plan: &mut Plan,
    change: impl FnOnce(&NodeClaim, Timestamp) -> NodeClaim,
) {
    facts.pods.clear();
    let changed = change(&facts.ledger.claims["general-6-0"], facts.now);
    *plan = Plan { parent: plan.parent, changes: vec![changed], ..Plan::default() };
}

/// It is deleted as empty, and nothing speaks against it but what `obstacle` does.
#[track_caller]
fn check_empty(obstacle: impl FnOnce(&mut Facts), wanted: &[&str]) {
    check(
        |facts, plan| {
            changed(facts, plan, |stored, now| {
                stored.deleted(DeletionReason::Disrupted(DisruptionReason::Empty), now)
            });
            obstacle(facts);
            // What the obstacle does to the stored claim is in the change as well.
            let stored = &facts.ledger.claims["general-6-0"];
            plan.changes =
                vec![stored.deleted(DeletionReason::Disrupted(DisruptionReason::Empty), facts.now)];
        },
        wanted,
    );
}

#[test]
fn a_claim_may_be_deleted_or_observed() {
    let told_by_ec2 = [
        DeletionReason::SpotInterrupted,
        DeletionReason::ReservationEnding,
        DeletionReason::InstanceEnded,
    ];
    for reason in told_by_ec2 {
        check(|facts, plan| changed(facts, plan, |stored, now| stored.deleted(reason, now)), &[]);
    }
    check(
        |facts, plan| {
            changed(facts, plan, |stored, now| NodeClaim {
                version: 5,
                empty_since: Some(now),
                ..stored.clone()
            });
        },
        &[],
    );
    // Without any fact but the ledger, as for an interruption.
    check(
        |facts, plan| {
            let interrupted =
                |stored: &NodeClaim, now| stored.deleted(DeletionReason::SpotInterrupted, now);
            changed(facts, plan, interrupted);
            facts.nodes.clear();
            facts.node_pools.clear();
            facts.classes = None;
        },
        &[],
    );
}

#[test]
fn a_change_is_of_a_known_claim_one_version_on_and_once() {
    check(
        |facts, plan| {
            changed(facts, plan, |stored, now| NodeClaim {
                name: id("missing"),
                ..stored.deleted(DeletionReason::SpotInterrupted, now)
            });
        },
        &["claim missing is changed although it is not known"],
    );
    for version in [4, 6] {
        check(
            |facts, plan| {
                changed(facts, plan, |stored, now| NodeClaim {
                    version,
                    ..stored.deleted(DeletionReason::SpotInterrupted, now)
                });
            },
            &[&format!("claim general-6-0 is changed to version {version}, the ledger holds 4")],
        );
    }
    check(
        |facts, plan| {
            let interrupted =
                |stored: &NodeClaim, now| stored.deleted(DeletionReason::SpotInterrupted, now);
            changed(facts, plan, interrupted);
            plan.changes.push(plan.changes[0].clone());
        },
        &["claim general-6-0 is changed twice"],
    );
}

/// The next version of a claim, deleted.
fn interrupted(next: &NodeClaim, now: Timestamp) -> NodeClaim {
    NodeClaim { version: 4, ..next.clone() }.deleted(DeletionReason::SpotInterrupted, now)
}

#[test]
fn a_change_does_nothing_else() {
    let check = |change: fn(NodeClaim, Timestamp) -> NodeClaim, wanted: &str| {
        check(
            |facts, plan| {
                changed(facts, plan, |stored, now| {
                    change(NodeClaim { version: 5, ..stored.clone() }, now)
                });
            },
            &[wanted],
        );
    };
    check(|next, _| next, "nothing changes");
    check(
        |next, _| NodeClaim { batch_size: 9, ..next },
        "more than its deletion, its emptiness and its message changes",
    );
    check(
        |next, _| NodeClaim { phase: ClaimPhase::Deleting, ..next },
        "its phase changes without a reason",
    );
    check(
        |next, now| NodeClaim {
            empty_since: now.checked_add(SignedDuration::from_secs(1)).ok(),
            ..next
        },
        "it is empty since a time to come",
    );
    check(
        |next, now| NodeClaim { phase: next.phase, phase_since: now, ..interrupted(&next, now) },
        "it has a reason to be deleted and is initialized",
    );
    check(
        |next, _| interrupted(&next, at("2026-08-01T11:00:00Z")),
        "it is deleted at another time than now",
    );
    check(
        |next, now| {
            let mut next = interrupted(&next, now);
            // A spot instance is taken two minutes after its notice.
            let late = now.checked_add(SignedDuration::from_secs(121)).ok();
            next.deletion.as_mut().unwrap().deadline = late;
            next
        },
        "its deadline does not follow its terminationGracePeriod",
    );
    check(
        |next, now| {
            let mut next = interrupted(&next, now);
            let deletion = next.deletion.as_mut().unwrap();
            deletion.reason = DeletionReason::InstanceEnded;
            deletion.deadline = Some(now);
            next
        },
        "its deadline does not follow its terminationGracePeriod",
    );
}

#[test]
fn a_deleted_claim_may_only_end_sooner() {
    let hastened = |seconds: i64, before: Option<i64>| {
        move |facts: &mut Facts, plan: &mut Plan| {
            let from_now = |seconds| facts.now.checked_add(SignedDuration::from_secs(seconds)).ok();
            let stored = &facts.ledger.claims["general-6-0"];
            let mut ending = stored.deleted(DeletionReason::Expired, facts.now);
            ending.deletion.as_mut().unwrap().deadline = before.and_then(from_now);
            let mut sooner = ending.following();
            sooner.deletion.as_mut().unwrap().deadline = from_now(seconds);
            facts.ledger.claims.insert(ending.name.clone(), ending);
            changed(facts, plan, |_, _| sooner);
        }
    };
    check(hastened(120, None), &[]);
    check(hastened(120, Some(300)), &[]);
    check(hastened(120, Some(60)), &["it is being deleted already"]);
    check(hastened(120, Some(120)), &["it is being deleted already"]);
}

#[test]
fn a_claim_is_deleted_once() {
    check(
        |facts, plan| {
            let stored = &facts.ledger.claims["general-6-0"];
            let ending = stored.deleted(DeletionReason::Expired, facts.now);
            facts.ledger.claims.insert(ending.name.clone(), ending);
            changed(facts, plan, |stored, now| NodeClaim {
                version: 6,
                empty_since: Some(now),
                ..stored.clone()
            });
            plan.changes[0].deletion.as_mut().unwrap().reason = DeletionReason::SpotInterrupted;
        },
        &["it is being deleted already"],
    );
}

#[test]
fn a_claim_expires_when_its_time_is_over() {
    let aged = |expire_after: Option<i64>| {
        move |facts: &mut Facts, plan: &mut Plan| {
            let stored = facts.ledger.claims.get_mut("general-6-0").unwrap();
            stored.expire_after = expire_after.map(SignedDuration::from_mins);
            changed(facts, plan, |stored, now| stored.deleted(DeletionReason::Expired, now));
        }
    };
    check(aged(Some(60)), &[]);
    check(
        aged(Some(61)),
        &["claim general-6-0 is deleted as Expired although it expires at 2026-08-01T12:01:00Z"],
    );
    check(aged(None), &["although it never expires"]);
}

#[test]
fn a_deleted_node_is_being_deleted() {
    let deleted = |is_deleting: bool| {
        move |facts: &mut Facts, plan: &mut Plan| {
            for node in facts.nodes.values_mut() {
                node.is_deleting = is_deleting;
            }
            changed(facts, plan, |stored, now| stored.deleted(DeletionReason::NodeDeleted, now));
        }
    };
    check(deleted(true), &[]);
    check(deleted(false), &["is deleted as NodeDeleted although its node is not being deleted"]);
}

#[test]
fn a_deleted_node_claim_is_being_deleted_and_was_launched() {
    let deleted = |is_deleted: bool, phase: ClaimPhase| {
        move |facts: &mut Facts, plan: &mut Plan| {
            for claim in facts.ledger.claims.values_mut() {
                claim.phase = phase;
            }
            let deleted = facts.ledger.claims.keys().filter(|_| is_deleted).cloned();
            facts.deleted_claims = Some(deleted.collect());
            changed(facts, plan, |stored, now| {
                stored.deleted(DeletionReason::NodeClaimDeleted, now)
            });
        }
    };
    check(deleted(true, ClaimPhase::Initialized), &[]);
    check(
        deleted(false, ClaimPhase::Initialized),
        &["although its NodeClaim is not being deleted"],
    );
    check(deleted(true, ClaimPhase::Created), &["although its launch may be under way"]);
    let unseen = |facts: &mut Facts, plan: &mut Plan| {
        deleted(true, ClaimPhase::Initialized)(facts, plan);
        facts.deleted_claims = None;
    };
    check(unseen, &["although it was not observed whether its NodeClaim is being deleted"]);
}

#[test]
fn an_empty_node_is_empty() {
    check_empty(|_| {}, &[]);
    for pod in [
        pod("daemon on:general-6-0 owner:DaemonSet"),
        pod("done on:general-6-0 succeeded"),
        pod("leaving on:general-6-0 terminating:30"),
    ] {
        check_empty(|facts| facts.pods.push(pod.clone()), &[]);
    }
    for pod in
        [pod("web on:general-6-0"), pod("web on:general-6-0 owner:StatefulSet terminating:30")]
    {
        check_empty(
            |facts| facts.pods.push(pod.clone()),
            &["claim general-6-0 is deleted as Empty although pod default/web needs node general"],
        );
    }
}

#[test]
fn what_must_not_be_disrupted_is_not() {
    check_empty(
        |facts| {
            let daemon = pod("daemon on:general-6-0 owner:DaemonSet do-not-disrupt");
            facts.pods.push(daemon);
        },
        &["although pod default/daemon must not be disrupted"],
    );
    check_empty(
        |facts| {
            let key = model::labels::DO_NOT_DISRUPT.to_owned();
            let node = facts.nodes.get_mut("general-6-0").unwrap();
            node.annotations.insert(key, "true".to_owned());
        },
        &["although node general-6-0 must not be disrupted"],
    );
}

/// It is deleted for `reason`, with a pod on it, after `change`.
#[track_caller]
fn check_moved(reason: DeletionReason, change: impl FnOnce(&mut Facts), wanted: &[&str]) {
    check(
        |facts, plan| {
            changed(facts, plan, |stored, now| stored.deleted(reason, now));
            facts.pods.push(pod("web on:general-6-0"));
            change(facts);
            let stored = &facts.ledger.claims["general-6-0"];
            plan.changes = vec![stored.deleted(reason, facts.now)];
        },
        wanted,
    );
}

#[test]
fn a_node_with_pods_goes_only_where_they_may_be_moved() {
    let protect = |facts: &mut Facts| {
        facts.pods = vec![pod("web on:general-6-0 do-not-disrupt")];
    };
    for reason in [
        DeletionReason::Disrupted(DisruptionReason::Underutilized),
        DeletionReason::Disrupted(DisruptionReason::Drifted),
    ] {
        check_moved(reason, |_| {}, &[]);
        check_moved(reason, protect, &["although pod default/web must not be disrupted"]);
        check_moved(reason, |facts| facts.nodes.clear(), &["it has no node", "0 of 0"]);
    }
    let waits = |facts: &mut Facts| {
        protect(facts);
        let claim = facts.ledger.claims.get_mut("general-6-0").unwrap();
        claim.termination_grace_period = Some(SignedDuration::from_mins(5));
    };
    check_moved(DeletionReason::Disrupted(DisruptionReason::Drifted), waits, &[]);
    check_moved(
        DeletionReason::Disrupted(DisruptionReason::Underutilized),
        waits,
        &["must not be disrupted"],
    );
    check_moved(
        DeletionReason::Disrupted(DisruptionReason::Underutilized),
        |facts| facts.node_pools[0].disruption.policy = ConsolidationPolicy::WhenEmpty,
        &["disrupts only empty nodes"],
    );
}

#[test]
fn an_empty_node_waits_for_its_pool() {
    check_empty(
        |facts| {
            facts.nodes.get_mut("general-6-0").unwrap().labels.remove(model::labels::INITIALIZED);
        },
        &["node general-6-0 is not initialized", "its budgets leave 0 of 0"],
    );
    check_empty(|facts| facts.nodes.clear(), &["it has no node", "its budgets leave 0 of 0"]);
    check_empty(|facts| facts.node_pools.clear(), &["its NodePool general does not exist"]);
    check_empty(|facts| facts.node_pools[0].replicas = Some(1), &["NodePool general is static"]);
    check_empty(
        |facts| facts.node_pools[0].disruption.consolidate_after = None,
        &["consolidateAfter of NodePool general is Never"],
    );
    let after = |since: Option<&str>| {
        let since = since.map(at);
        move |facts: &mut Facts| {
            let minute = Some(SignedDuration::from_mins(1));
            facts.node_pools[0].disruption.consolidate_after = minute;
            facts.ledger.claims.get_mut("general-6-0").unwrap().empty_since = since;
        }
    };
    check_empty(after(None), &["it was not seen empty before"]);
    check_empty(after(Some("2026-08-01T11:59:00Z")), &[]);
    check_empty(
        after(Some("2026-08-01T11:59:01Z")),
        &["although it is empty since 2026-08-01T11:59:01Z only"],
    );
}

/// `nodes` empty nodes of the pool, of which `disrupted` are disrupted, under one budget.
#[track_caller]
fn check_budget(nodes: u32, disrupted: usize, budget: &Budget, wanted: &[&str]) {
    check(
        |facts, plan| {
            facts.pods.clear();
            facts.nodes.clear();
            facts.ledger.claims.clear();
            for index in 0..nodes {
                let (joined, node) =
                    node_of(&claim(&format!("general-6-{index}")), &format!("i-06{index:02}"));
                facts.nodes.insert(node.name.clone(), node);
                facts.ledger.claims.insert(joined.name.clone(), joined);
            }
            facts.node_pools[0].disruption.budgets = vec![budget.clone()];
            let stored = facts.ledger.claims.values().take(disrupted);
            let changes = stored
                .map(|stored| {
                    stored.deleted(DeletionReason::Disrupted(DisruptionReason::Empty), facts.now)
                })
                .collect();
            *plan = Plan { parent: plan.parent, changes, ..Plan::default() };
        },
        wanted,
    );
}

#[test]
fn budgets_hold() {
    let budget = |nodes| Budget { nodes, reasons: Vec::new(), window: None };
    let refused = |disrupted, allowed, total| {
        format!(
            "NodePool general disrupts {disrupted} empty nodes, its budgets leave {allowed} of {total}"
        )
    };
    check_budget(5, 2, &budget(BudgetNodes::Count(2)), &[]);
    check_budget(5, 3, &budget(BudgetNodes::Count(2)), &[&refused(3, 2, 5)]);
    check_budget(5, 1, &budget(BudgetNodes::Count(0)), &[&refused(1, 0, 5)]);
    // Percentages round up.
    check_budget(5, 1, &budget(BudgetNodes::Percent(10)), &[]);
    check_budget(11, 2, &budget(BudgetNodes::Percent(10)), &[]);
    check_budget(10, 2, &budget(BudgetNodes::Percent(10)), &[&refused(2, 1, 10)]);
    // Only those for empty nodes, and only those without a schedule.
    let of = |reason| Budget { reasons: vec![reason], ..budget(BudgetNodes::Count(0)) };
    check_budget(5, 5, &of(DisruptionReason::Drifted), &[]);
    check_budget(5, 5, &of(DisruptionReason::Empty), &[&refused(5, 0, 5)]);
    let window = BudgetWindow { schedule: "@daily".to_owned(), duration: SignedDuration::MAX };
    check_budget(5, 5, &Budget { window: Some(window), ..of(DisruptionReason::Empty) }, &[]);
}

#[test]
fn nodes_that_are_disrupted_already_use_the_budget() {
    let change = |facts: &mut Facts| {
        let (joined, node) = node_of(&claim("general-6-9"), "i-0609");
        facts.ledger.claims.insert(joined.name.clone(), joined);
        facts.nodes.insert(node.name.clone(), node);
        let nodes = BudgetNodes::Count(1);
        facts.node_pools[0].disruption.budgets[0].nodes = nodes;
    };
    check_empty(change, &[]);
    check_empty(
        |facts| {
            change(facts);
            facts.nodes.get_mut("general-6-9").unwrap().is_ready = false;
        },
        &["NodePool general disrupts 1 empty nodes, its budgets leave 0 of 2"],
    );
    check_empty(
        |facts| {
            change(facts);
            let other = facts.ledger.claims.get_mut("general-6-9").unwrap();
            *other = other.deleted(DeletionReason::Expired, at("2026-08-01T11:59:00Z"));
        },
        &["its budgets leave 0 of 2"],
    );
    // Until its instance is being terminated: then it is none of the pool's nodes.
    check_empty(
        |facts| {
            change(facts);
            let other = facts.ledger.claims.get_mut("general-6-9").unwrap();
            let since = at("2026-08-01T11:59:00Z");
            *other = other.deleted(DeletionReason::Expired, since);
            other.conditions.instance_terminating_since = Some(since);
        },
        &[],
    );
}

#[test]
fn an_offering_is_unavailable_until_later() {
    let unavailable_offerings = |until: &'static str| {
        move |_: &mut Facts, plan: &mut Plan| {
            let offering = plan.new_claims[0].cheapest.clone();
            plan.unavailable_offerings.insert(offering, at(until));
        }
    };
    check(unavailable_offerings("2026-08-01T12:03:00Z"), &[]);
    check(
        unavailable_offerings("2026-08-01T12:00:00Z"),
        &["the offering on-demand of m7g.large cools down until a time that is over"],
    );
}
