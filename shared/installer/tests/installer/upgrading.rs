//! Decisions of `upgrade` and `rollback`: what a template says of its release, what stands against a release, and which
//! template a stack had before.

use installer::{
    deploy::{
        history::TemplateHistory,
        passage::{Objections, TemplateRelease},
    },
    doctor::{
        judged,
        steps::{StepFinding, StepVerdict},
    },
};
use model::ledger::{LedgerFormat, UnreadableItem};
use serde_json::json;

use crate::installation::whole;

fn release(name: &str, writes: u32, reads: [u32; 2]) -> TemplateRelease {
    let format = LedgerFormat { writes, reads: reads[0]..=reads[1] };
    TemplateRelease { name: Some(name.to_owned()), format: Some(format) }
}

fn unknown() -> TemplateRelease {
    TemplateRelease { name: None, format: None }
}

#[test]
fn the_template_of_this_release_names_its_ledger_format() {
    let template = include_str!("../../../../template.yaml");
    let read = TemplateRelease::of(template);
    assert_eq!(read, TemplateRelease { name: None, format: Some(LedgerFormat::OURS) });
    assert_eq!(read.to_string(), "a checkout");
}

#[test]
fn a_template_is_read_however_it_is_written() {
    let expected = release("1.0.0 (0123456789ab)", 2, [1, 2]);
    assert_eq!(expected.to_string(), "release 1.0.0 (0123456789ab)");
    for template in [
        "  LedgerFormat: writes 2, reads 1 to 2\n  JOURNEYMAN_RELEASE: 1.0.0 (0123456789ab)\n",
        "  LedgerFormat: 'writes 2, reads 1 to 2'\r\n  JOURNEYMAN_RELEASE: \"1.0.0 (0123456789ab)\"\r\n",
        "  \"LedgerFormat\": \"writes 2, reads 1 to 2\",\n  \"JOURNEYMAN_RELEASE\" : \"1.0.0 (0123456789ab)\"\n",
    ] {
        assert_eq!(TemplateRelease::of(template), expected, "{template}");
    }
    let other =
        "# LedgerFormat of old\nLedgerFormats: writes 1, reads 1 to 1\nLedgerFormat: of tomorrow\n";
    assert_eq!(TemplateRelease::of(other), unknown());
}

#[test]
fn releases_that_read_each_other_may_come_and_go() {
    let objections = Objections::between(&release("a", 1, [1, 2]), &release("b", 2, [1, 2]));
    assert_eq!(objections, Objections::default());
    assert_eq!(objections.judged(false), Ok(Vec::new()));
}

#[test]
fn an_upgrade_without_a_way_back_must_be_forced() {
    let objections = || Objections::between(&release("a", 1, [1, 1]), &release("b", 2, [1, 2]));
    let risk = "You cannot go back: release a reads format 1 of the ledger, and release b writes format 2.";
    let refused = format!("{risk}\nNothing was changed. To continue anyway, add --force.");
    assert_eq!(objections().judged(false), Err(refused));
    assert_eq!(objections().judged(true), Ok(vec![risk.to_owned()]));
}

#[test]
fn a_release_that_cannot_read_the_ledger_is_refused_even_by_force() {
    // The way back of the upgrade above.
    let objections = Objections::between(&release("b", 2, [1, 2]), &release("a", 1, [1, 1]));
    let refused = "release a cannot read the ledger: it reads format 1, and release b writes format 2.\n\
                   Nothing was changed.";
    assert_eq!(objections.judged(true), Err(refused.to_owned()));
}

#[test]
fn several_formats_are_named_from_first_to_last() {
    let objections = Objections::between(&release("a", 4, [2, 4]), &release("b", 5, [5, 5]));
    let fatal =
        "release b cannot read the ledger: it reads format 5, and release a writes format 4.";
    assert_eq!(objections.fatal, [fatal]);
    let risk = "You cannot go back: release a reads formats 2 to 4 of the ledger, and release b writes format 5.";
    assert_eq!(objections.risks, [risk]);
}

#[test]
fn an_unknown_format_must_be_forced() {
    let known = release("b", 1, [1, 1]);
    for (installed, new) in [(unknown(), known.clone()), (known, unknown())] {
        let why = Objections::between(&installed, &new).judged(false).unwrap_err();
        assert!(why.starts_with("The template of a checkout names no ledger format"), "{why}");
        assert!(Objections::between(&installed, &new).judged(true).is_ok());
    }
}

#[test]
fn items_that_cannot_be_read_are_named() {
    let items: Vec<UnreadableItem> = (0..7)
        .map(|number| UnreadableItem {
            item: format!("claim#{number}"),
            claim: None,
            instance: None,
            problem: "`record`: version 2 is not supported, only 1 is".to_owned(),
        })
        .collect();
    let mut objections = Objections::default();
    objections.add_unreadable(&items[..1]);
    let named = "The new release cannot read the item claim#0 of the ledger: `record`: version 2 is not supported, \
                 only 1 is.";
    assert_eq!(objections.risks, [named]);
    let mut objections = Objections::default();
    objections.add_unreadable(&items);
    assert_eq!(objections.risks.len(), 6);
    assert_eq!(objections.risks[5], "There are 2 more items that it cannot read.");
    let mut objections = Objections::default();
    objections.add_unreadable(&[]);
    assert_eq!(objections, Objections::default());
}

#[test]
fn the_command_of_another_release_has_other_crds() {
    let new = release("b", 1, [1, 1]);
    for (command, is_fine) in [(None, true), (Some("b"), true), (Some("a"), false)] {
        let mut objections = Objections::default();
        objections.add_command(&new, command);
        assert_eq!(objections.risks.is_empty(), is_fine, "{command:?}");
    }
}

/// The history after deployments of templates: what was installed before each (`-`: no stack), and the new one.
fn history(deployments: &str) -> TemplateHistory {
    let mut history = TemplateHistory::default();
    for pair in deployments.split(' ') {
        let (installed, new) = pair.split_once('>').unwrap();
        history.note(Some(installed).filter(|installed| *installed != "-"), new);
    }
    assert_eq!(TemplateHistory::read(&history.to_text()), history);
    history
}

#[test]
fn a_rollback_goes_to_the_template_before_the_installed_one() {
    for (deployments, installed, before) in [
        ("->a", "a", None),
        ("->a a>b", "b", Some("a")),
        ("->a a>b b>b", "b", Some("a")),
        ("->a a>b b>c", "c", Some("b")),
        // The second deployment failed.
        ("->a a>b", "a", None),
        ("->a a>b b>c", "b", Some("a")),
        ("->a a>b a>c", "c", Some("a")),
        // A rollback, and what undoes it.
        ("->a a>b b>a", "a", Some("b")),
        ("->a a>b b>a a>b", "b", Some("a")),
        // A stack that was created again, and one that AWS SAM updated in between.
        ("->a a>b ->c", "c", None),
        ("->a sam>b", "b", Some("sam")),
        ("->a a>b", "sam", None),
    ] {
        assert_eq!(history(deployments).before(installed), before, "{deployments}, {installed}");
    }
    let many: Vec<String> = (0..200).map(|number| format!("{number}>{}", number + 1)).collect();
    let long = history(&many.join(" "));
    assert_eq!(long.before("200"), Some("199"));
    assert!(long.to_text().lines().count() <= 50);
    assert_eq!(TemplateHistory::key("a/", "journeyman"), "a/history-journeyman.txt");
}

#[test]
fn doctor_expects_the_former_release_after_a_rollback() {
    let release = |seen| {
        let verdicts = judged(&seen);
        verdicts.into_iter().find(|(step, _)| step.id == "release").unwrap().1
    };
    let mut seen = whole();
    seen.rollback = Some("1.0.0 (0123456789ab)".to_owned());
    for function in seen.functions.as_mut().unwrap() {
        function["Environment"]["Variables"]["JOURNEYMAN_RELEASE"] = json!("1.0.0 (0123456789ab)");
    }
    let done = "all of the former release 1.0.0 (0123456789ab)".to_owned();
    assert_eq!(release(seen.clone()), StepVerdict::Done(done));
    seen.functions.as_mut().unwrap()[0]["Environment"]["Variables"]["JOURNEYMAN_RELEASE"] =
        json!("1.1.0 (ba9876543210)");
    let StepVerdict::Wrong(StepFinding { found, .. }) = release(seen) else { panic!("not wrong") };
    let wrong = "Functions are of release 1.1.0 (ba9876543210) and not of 1.0.0 (0123456789ab).";
    assert_eq!(found, [wrong]);
}
