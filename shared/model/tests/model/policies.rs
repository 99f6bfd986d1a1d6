//! How decisions are made, where the user may choose.

use model::policies::*;

fn read(gates: &str) -> Result<Policies, String> {
    let mut policies = Policies::default();
    policies.set_gates(gates).map_err(|error| error.to_string())?;
    Ok(policies)
}

#[test]
fn gates_are_karpenters() {
    assert_eq!(read(""), Ok(Policies::default()));
    let overlaid = Policies { node_overlay: true, reserved_capacity: false, ..Policies::default() };
    assert_eq!(read("NodeOverlay=true, ReservedCapacity=False,"), Ok(overlaid));
    let open = overlaid.gates().into_iter().filter(|(_, is_open)| *is_open);
    assert_eq!(open.map(|(name, _)| name).collect::<Vec<_>>(), ["NodeOverlay"]);
    assert!(GATES.is_sorted_by_key(|(name, _)| *name));
}

#[test]
fn an_unknown_gate_is_refused_with_those_that_there_are() {
    let error = read("NodeRepair=true,Overlay=true").unwrap_err();
    assert!(error.contains("`Overlay=true`") && error.contains("NodeOverlay"), "{error}");
    assert!(read("NodeOverlay").unwrap_err().contains("=true"), "no value");
    assert!(read("NodeOverlay=yes").unwrap_err().contains("`true`"), "no boolean");
}
