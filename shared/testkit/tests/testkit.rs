//! The language of clusters says what it says, and a wrong word is named.

// Marked as a test, so that helpers may unwrap as tests do.
#[cfg(test)]
mod testkit {
    use ::testkit::build::{
        instance_type, node, node_pool, pods, read_world, requirements, resources, world,
    };

    #[test]
    fn requirements_have_one_notation() {
        for (word, expected) in [
            ("zone=a,b", "topology.kubernetes.io/zone In [a b]"),
            ("team!=a", "team NotIn [a]"),
            ("size>5", "size Gt 5"),
            ("size<=5", "size Lt 6"),
            ("team", "team Exists"),
            ("!arch", "kubernetes.io/arch DoesNotExist"),
            ("team=a,b@2", "team In [a b] minValues 2"),
            ("os=linux&team=a", "kubernetes.io/os In [linux], team In [a]"),
        ] {
            assert_eq!(requirements(word).to_string(), expected, "{word}");
        }
    }

    #[test]
    fn pods_of_one_statement_differ_by_their_names() {
        let three = pods("web x2 cpu=500m app=web near:zone:app=db:weight=5; other/db on:own");
        let names: Vec<String> = three.iter().map(|pod| pod.key.to_string()).collect();
        assert_eq!(names, ["default/web-0", "default/web-1", "other/db"]);
        assert_eq!(three[0].spec, three[1].spec);
        assert_eq!(three[0].spec.requests, resources("cpu=500m pods=1"));
        assert_eq!(three[0].spec.labels["app"], "web");
        assert_eq!(three[0].spec.pod_affinity.preferred[0].weight, 5);
        assert_eq!(three[2].node.as_ref().unwrap().as_str(), "own");
    }

    #[test]
    fn a_word_makes_of_a_node_pool_and_type_what_it_says() {
        let rack = node("own cpu=4 zone=a label:example.com/rack=r taint:team=a:NoSchedule");
        assert_eq!((&rack.capacity, &rack.allocatable), (&resources("cpu=4"), &resources("cpu=4")));
        assert_eq!(rack.labels["topology.kubernetes.io/zone"], "a");
        assert_eq!(rack.labels["example.com/rack"], "r");
        assert_eq!(rack.taints[0].to_string(), "team=a:NoSchedule");
        let pool = node_pool("general weight:3 limit:cpu=0 team=a require:zone=a&arch=arm64");
        assert_eq!((pool.weight, pool.limits.0["cpu"]), (3, 0));
        assert_eq!(pool.template.labels["team"], "a");
        assert_eq!(pool.template.requirements, requirements("zone=a arch=arm64"));
        let large = instance_type("m7g.large cpu=2 spot:a=0.03 reserved:b=cr-1,2 overhead:cpu=70m");
        assert_eq!(large.allocatable(), resources("cpu=1930m"));
        assert_eq!(
            large.requirements.get("topology.kubernetes.io/zone"),
            requirements("zone=a,b").get("topology.kubernetes.io/zone")
        );
        assert_eq!(large.offerings[1].reservation.as_ref().unwrap().count, 2);
    }

    #[test]
    fn a_world_has_the_pool_general_where_it_names_none() {
        let text = "type m7g.large cpu=2; node own\n\ndaemon logs tolerate:*; pod web";
        let facts = world(text);
        assert_eq!(facts.node_pools[0].name.as_str(), "general");
        assert_eq!(facts.ready_classes().next().unwrap().1.len(), 1);
        assert_eq!((facts.nodes.len(), facts.daemon_sets.len(), facts.pods.len()), (1, 1, 1));
        assert_eq!(world("pool other").node_pools[0].name.as_str(), "other");
    }

    #[test]
    fn a_wrong_word_is_named_with_its_line() {
        for (text, expected) in [
            ("pod web\ncluster a", "line 2: `cluster`: a statement starts with what there is"),
            ("pod web; pod db cpu=much", "line 1: `cpu=much`: "),
            ("pod web ready often", "line 1: `often`: nothing is called that"),
            ("pod web\n\nnode own colour:red", "line 3: `colour:red`: a node has no such word"),
            ("pool a weight:heavy", "line 1: `weight:heavy`: invalid digit found in string"),
            ("type a.b spot:zone", "line 1: `spot:zone`: it is not `key=value`"),
            ("pod web spread:zone:skew=many", "line 1: `spread:zone:skew=many`: invalid digit"),
        ] {
            let error = read_world(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
