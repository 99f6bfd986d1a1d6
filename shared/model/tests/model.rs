//! The model at its boundary: texts in, values and their laws out.

// Marked as a test, so that helpers may unwrap as tests do.
#[cfg(test)]
mod model {
    mod catalog;
    mod claim;
    mod condition;
    mod default_spread;
    mod duration;
    mod dynamic_resources;
    mod event;
    mod id;
    mod image_alias;
    mod join;
    mod labels;
    mod ledger;
    mod node_pool;
    mod pod;
    mod policies;
    mod price;
    mod problem;
    mod protection;
    mod pulse;
    mod quantity;
    mod repair;
    mod requirement;
    mod requirements;
    mod resources;
    mod schedule;
    mod selector;
    mod static_hash;
    mod taint;
    mod validation;
    mod values;
    mod wake;
    mod words;
    mod zonal_shift;
}
