//! The manifests under `examples/`: each is accepted as it stands, and `journeyman plan` finds nodes for
//! every pod in it. `tests/live/api` gives them to a real API server.

#![expect(clippy::expect_used, reason = "helpers of tests say what they read")]

use std::path::{Path, PathBuf};

use api::objects::Object;
use journeyman::{
    options::SetArgs,
    plan::{self, PlanArgs},
};
use report::screen::Screen;
use tests::{files, repository};

/// Every file but scenarios, which are not objects of Kubernetes.
fn examples() -> Vec<PathBuf> {
    let folder = repository().join("examples");
    let mut path_bufs = files(&folder, &[".yaml"]);
    path_bufs.retain(|path| !path.starts_with(folder.join("scenarios")));
    assert!(path_bufs.len() >= 15, "there are {} examples", path_bufs.len());
    path_bufs
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).expect("an example can be read")
}

#[test]
fn every_example_is_accepted() {
    for path in examples() {
        let manifest = api::files::read(&text(&path), &path.display().to_string());
        assert_eq!(manifest.problems, []);
        for object in &manifest.objects {
            assert!(!matches!(object, Object::Other { .. }), "{}: {object:?}", path.display());
        }
    }
}

/// What one file of `examples/api` launches, as it is printed.
fn planned(name: &str) -> String {
    planned_of(&format!("api/{name}"))
}

/// What one file of `examples` launches, as it is printed.
fn planned_of(name: &str) -> String {
    let args = PlanArgs {
        manifests: vec![repository().join("examples").join(name)],
        now: Some("2026-08-01T12:00:00Z".to_owned()),
        set: SetArgs {
            feature_gates:
                "CapacityBuffer=true,DRANVIDIAGPU=true,NodeOverlay=true,StaticCapacity=true"
                    .to_owned(),
            ..SetArgs::default()
        },
        ..PlanArgs::default()
    };
    let (mut out, mut complaints) = (Vec::new(), Vec::new());
    let validation =
        plan::run(&args, Screen::default(), &mut out, (Screen::default(), &mut complaints))
            .expect("an example can be planned");
    let (out, complaints) = (String::from_utf8(out).expect("text"), String::from_utf8(complaints));
    assert!(validation.is_good(true), "{name}:\n{}{out}", complaints.expect("text"));
    out
}

#[track_caller]
fn check(name: &str, said: &[&str]) {
    let out = planned(name);
    for word in said {
        assert!(out.contains(word), "`{word}` is missing in the plan of {name}:\n{out}");
    }
}

#[test]
fn every_example_of_the_api_has_a_plan() {
    let folder = repository().join("examples/api");
    for path in files(&folder, &[".yaml"]) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        planned(&name);
    }
}

#[test]
fn the_example_of_devices_has_a_plan() {
    let out = planned_of("devices/gpus.yaml");
    assert!(out.contains("default/inference"), "{out}");
}

#[test]
fn plans_of_examples_show_what_they_are_examples_of() {
    check("capacity-split.yaml", &["split-spot", "split-on-demand"]);
    check("gpu.yaml", &["default/inference"]);
    check("windows.yaml", &["default/website"]);
    check("static.yaml", &["5 nodes would be launched", "static", "(a replica of the pool)"]);
    // On Graviton, but for what does not run there.
    check("arm64.yaml", &["default/graviton", "spot c6g.", "default/legacy"]);
    // Without the overlays something else would be the cheapest.
    check("price-overlay.yaml", &["m7i."]);
    // The pods that are there, and room for those that are not.
    check("headroom.yaml", &["default/capacity-buffer-builds-1"]);
}
