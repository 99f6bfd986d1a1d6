//! Lines and tables fit the window.

use report::screen::Screen;

fn table(columns: Option<usize>) -> String {
    let screen = Screen { columns, is_colored: false };
    let rows = [vec!["1".to_owned(), "general".into(), "default/web ×12, default/db-0".into()]];
    let mut out = Vec::new();
    screen.table(&["NODES", "NODEPOOL", "PODS EACH"], &rows, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_table_fits_every_window() {
    assert_eq!(
        table(None),
        "  NODES  NODEPOOL  PODS EACH\n  1      general   default/web ×12, default/db-0\n"
    );
    assert_eq!(
        table(Some(38)),
        "  NODES  NODEPOOL  PODS EACH\n  1      general   default/web ×12,\n                   default/db-0\n"
    );
    assert_eq!(
        table(Some(24)),
        "  NODES  NODEPOOL\n      PODS EACH\n  1      general\n      default/web ×12,\n        default/db-0\n"
    );
    for columns in 12..90 {
        let longest = table(Some(columns)).lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(columns), "{columns}:\n{}", table(Some(columns)));
    }
}

#[test]
fn a_cell_that_is_empty_takes_no_line() {
    let rows = [vec!["general-1".to_owned(), String::new(), String::new()]];
    for columns in [None, Some(24), Some(12)] {
        let mut out = Vec::new();
        let screen = Screen { columns, is_colored: false };
        screen.table(&["NODECLAIM", "NODE", "MESSAGE"], &rows, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains("message:") && !text.contains("\n\n"), "{columns:?}:\n{text}");
    }
}

#[test]
fn words_that_are_longer_than_the_window_are_folded() {
    let screen = Screen { columns: Some(6), is_colored: false };
    let title = |text: &str| {
        let mut out = Vec::new();
        screen.title(text, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(title("a-very-long-word b"), "a-very\n-long-\nword b\n");
    assert_eq!(title(""), "\n");
}
#[test]
fn names_of_nodes_are_short_in_narrow_windows() {
    let of = |columns| Screen { columns, is_colored: false };
    let name = "ip-10-0-0-5.us-west-2.compute.internal";
    assert_eq!(of(Some(80)).node_name(name), "ip-10-0-0-5");
    assert_eq!(of(Some(80)).node_name("ip-10-0-0-5.ec2.internal"), "ip-10-0-0-5");
    assert_eq!(of(Some(120)).node_name(name), name);
    // In a pipe names are whole: programs read them.
    assert_eq!(of(None).node_name(name), name);
    assert_eq!(of(Some(80)).node_name("node.example.com"), "node.example.com");
}
