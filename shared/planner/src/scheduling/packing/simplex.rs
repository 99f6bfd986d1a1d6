//! One node filled with parts of pods: the most that they can be worth, and what its resources are worth
//! then.
//!
//! A simplex method for few resources and many pods, each with an upper bound: what is worth more than
//! its resources is taken whole, without a step of its own.

#![expect(
    clippy::float_arithmetic,
    clippy::indexing_slicing,
    reason = "a search by approximate numbers: what it finds is checked in whole numbers"
)]

/// Pods that may go onto a node.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'s> {
    pub(crate) need: &'s [f64],
    pub(crate) value: f64,
    pub(crate) most: f64,
}

/// The best filling with parts of pods.
#[derive(Debug)]
pub struct Parts {
    /// How much of each choice.
    pub(crate) amounts: Vec<f64>,
    /// What a unit of each resource is worth.
    pub(crate) prices: Vec<f64>,
}

const SMALL: f64 = 1e-10;
/// Steps after which what is there is taken as it is.
const STEPS_MAX: usize = 400;

struct Tableau<'s> {
    choices: &'s [Choice<'s>],
    resources: usize,
    /// What is in the basis: choices, then resources that are left over.
    basis: Vec<usize>,
    inverse: Vec<f64>,
    amounts: Vec<f64>,
    is_full: Vec<bool>,
    is_basic: Vec<bool>,
}

/// Fills `room` with what is worth most.
pub(crate) fn fill(room: &[f64], choices: &[Choice<'_>]) -> Parts {
    let (resources, count) = (room.len(), choices.len());
    let mut tableau = Tableau {
        choices,
        resources,
        basis: (count..count + resources).collect(),
        inverse: (0..resources * resources)
            .map(|at| if at / resources == at % resources { 1.0 } else { 0.0 })
            .collect(),
        amounts: room.to_vec(),
        is_full: vec![false; count],
        is_basic: (0..count + resources).map(|at| count <= at).collect(),
    };
    let mut prices = vec![0.0; resources];
    for _ in 0..STEPS_MAX {
        prices = tableau.prices();
        let wanted = tableau.wanted(&prices);
        if !wanted.into_iter().any(|entering| tableau.enter(entering)) {
            break;
        }
    }
    let mut amounts: Vec<f64> = tableau
        .is_full
        .iter()
        .zip(choices)
        .map(|(is_full, choice)| if *is_full { choice.most } else { 0.0 })
        .collect();
    for (basic, amount) in tableau.basis.iter().zip(&tableau.amounts) {
        if let Some(entry) = amounts.get_mut(*basic) {
            *entry = amount.max(0.0);
        }
    }
    for price in &mut prices {
        *price = price.max(0.0);
    }
    Parts { amounts, prices }
}

impl Tableau<'_> {
    fn value(&self, at: usize) -> f64 {
        self.choices.get(at).map_or(0.0, |choice| choice.value)
    }

    fn most(&self, at: usize) -> f64 {
        self.choices.get(at).map_or(f64::INFINITY, |choice| choice.most)
    }

    fn prices(&self) -> Vec<f64> {
        let row = |at: usize| self.inverse.iter().skip(at).step_by(self.resources);
        let values: Vec<f64> = self.basis.iter().map(|basic| self.value(*basic)).collect();
        (0..self.resources)
            .map(|at| row(at).zip(&values).map(|(entry, value)| entry * value).sum())
            .collect()
    }

    /// What had better be moved, the most first.
    fn wanted(&self, prices: &[f64]) -> Vec<usize> {
        let count = self.choices.len();
        let mut wanted: Vec<(f64, usize)> = Vec::new();
        for (at, choice) in self.choices.iter().enumerate() {
            if self.is_basic[at] {
                continue;
            }
            let cost: f64 = choice.need.iter().zip(prices).map(|(need, price)| need * price).sum();
            let gain = choice.value - cost;
            let gain = if self.is_full[at] { -gain } else { gain };
            if SMALL * choice.value.max(1e-6) < gain {
                let size: f64 = choice.need.iter().sum();
                wanted.push((gain / size.max(1e-9), at));
            }
        }
        for (at, price) in prices.iter().enumerate() {
            if *price < -SMALL && !self.is_basic[count + at] {
                wanted.push((-price, count + at));
            }
        }
        wanted.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        wanted.into_iter().map(|(_, at)| at).collect()
    }

    /// Moves one as far as it goes; whether prices changed by it.
    fn enter(&mut self, entering: usize) -> bool {
        let resources = self.resources;
        let count = self.choices.len();
        let direction: Vec<f64> = (0..resources)
            .map(|row| {
                let row = &self.inverse[row * resources..(row + 1) * resources];
                match self.choices.get(entering) {
                    Some(choice) => row.iter().zip(choice.need).map(|(r, n)| r * n).sum(),
                    None => row[entering - count],
                }
            })
            .collect();
        let is_down = self.is_full.get(entering).copied().unwrap_or_default();
        let sign = if is_down { -1.0 } else { 1.0 };
        let mut most = (self.most(entering), None);
        for (row, along) in direction.iter().enumerate() {
            let moved = sign * along;
            let amount = self.amounts[row].max(0.0);
            let limit = if SMALL < moved {
                amount / moved
            } else if moved < -SMALL {
                (self.most(self.basis[row]) - amount).max(0.0) / -moved
            } else {
                continue;
            };
            if limit < most.0 {
                most = (limit, Some((row, moved < 0.0)));
            }
        }
        if most.0.is_infinite() {
            return false;
        }
        for (amount, along) in self.amounts.iter_mut().zip(&direction) {
            *amount -= sign * along * most.0;
        }
        let Some((row, is_full)) = most.1 else {
            if let Some(full) = self.is_full.get_mut(entering) {
                *full = !*full;
            }
            return false;
        };
        let leaving = self.basis[row];
        self.is_basic[leaving] = false;
        if let Some(full) = self.is_full.get_mut(leaving) {
            *full = is_full;
        }
        self.basis[row] = entering;
        self.is_basic[entering] = true;
        let start = if is_down { self.most(entering) } else { 0.0 };
        if let Some(full) = self.is_full.get_mut(entering) {
            *full = false;
        }
        self.amounts[row] = start + sign * most.0;
        let pivot = direction[row];
        for at in 0..resources {
            self.inverse[row * resources + at] /= pivot;
        }
        for other in (0..resources).filter(|other| *other != row) {
            for at in 0..resources {
                let weight = self.inverse[row * resources + at];
                self.inverse[other * resources + at] -= direction[other] * weight;
            }
        }
        true
    }
}
