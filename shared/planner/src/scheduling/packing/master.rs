//! The program over the columns that are there: how much of each node, at the least price, so that every
//! pod has a place.
//!
//! A revised simplex method on the primal: the inverse of the basis is kept whole, which is right for
//! some hundreds of rows. It starts from nodes with one kind of pods each, so it is feasible from the
//! beginning.

#![expect(
    clippy::float_arithmetic,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a search by approximate numbers: what it finds is checked in whole numbers"
)]

use super::knapsack::Counts;

/// A node of an offer.
#[derive(Clone, Debug)]
pub struct Column {
    pub(crate) offer: usize,
    pub(crate) counts: Counts,
    /// In dollars.
    pub(crate) price: f64,
}

/// What stands in the basis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Basic {
    Column(usize),
    /// More pods of a row than there are.
    Surplus,
}

/// The program while it is solved.
#[derive(Debug)]
pub struct Master {
    rows: usize,
    basis: Vec<Basic>,
    inverse: Vec<f64>,
    /// How much of what is in the basis.
    amounts: Vec<f64>,
    /// What a pod of each row is worth.
    pub(crate) values: Vec<f64>,
    direction: Vec<f64>,
    /// About how many steps of some nanoseconds were taken.
    taken: u64,
}

/// Rows whose inverse is a megabyte: a larger one does not stay in the cache of a processor.
const CACHED_ROWS: usize = 360;
/// Pivots after which columns are looked for again.
const PIVOTS_MAX: usize = 2_000;
/// Columns that are looked at together.
const CANDIDATES: usize = 32;
/// What counts as nothing.
const SMALL: f64 = 1e-9;

impl Master {
    /// Begins with one column for each row, the first of `columns`: of these alone `demand` can be met.
    pub(crate) fn new(demand: &[u32], columns: &[Column]) -> Self {
        let rows = demand.len();
        let mut master = Self {
            rows,
            basis: (0..rows).map(Basic::Column).collect(),
            inverse: vec![0.0; rows * rows],
            amounts: vec![0.0; rows],
            values: vec![0.0; rows],
            direction: vec![0.0; rows],
            taken: 0,
        };
        for (row, column) in columns.iter().take(rows).enumerate() {
            let entry = column.counts.iter().find(|(item, _)| *item == row);
            let count = f64::from(entry.map_or(1, |(_, count)| *count));
            master.inverse[row * rows + row] = 1.0 / count;
            // A little more of some than of others, so that no step is for nothing.
            let demand = f64::from(demand[row]) * (1.0 + 1e-7 * (row as f64 + 1.0) / rows as f64);
            master.amounts[row] = demand / count;
            master.values[row] = column.price / count;
        }
        master
    }

    /// What a node with `counts` is worth.
    fn worth(&self, counts: &Counts) -> f64 {
        counts.iter().map(|(item, count)| self.values[*item] * f64::from(*count)).sum()
    }

    /// Takes columns in as long as one is worth more than it costs, and as long as that takes no more than about
    /// `work` steps of some nanoseconds; how many it took.
    pub(crate) fn solve(&mut self, columns: &[Column], work: u64) -> u64 {
        let entries: u64 = columns.iter().map(|column| steps(column.counts.len())).sum();
        let mut pivots = 0;
        self.taken = 0;
        let mut good: Vec<(f64, usize)> = Vec::new();
        // What does not move for want of precision.
        let mut stuck: Vec<usize> = Vec::new();
        while pivots < PIVOTS_MAX && self.taken < work {
            good.clear();
            self.taken += entries;
            for (at, column) in columns.iter().enumerate() {
                let ratio = self.ratio(column);
                if 1.0 + SMALL < ratio && !stuck.contains(&at) {
                    good.push((ratio, at));
                }
            }
            good.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            good.truncate(CANDIDATES);
            if good.is_empty() {
                match (0..self.rows).find(|row| self.values[*row] < -SMALL) {
                    Some(row) if self.enter_surplus(row) => pivots += 1,
                    _ => break,
                }
            }
            let before = pivots;
            // The best of the few, again and again, before all are looked at anew.
            while let Some((_, at)) = self.best(columns, &good) {
                if self.enter(at, &columns[at]) {
                    pivots += 1;
                } else {
                    stuck.push(at);
                    good.retain(|(_, other)| *other != at);
                }
                if before + 2 * CANDIDATES < pivots || work <= self.taken {
                    break;
                }
            }
        }
        self.taken
    }

    fn ratio(&self, column: &Column) -> f64 {
        self.worth(&column.counts) / column.price.max(1e-12)
    }

    fn best(&self, columns: &[Column], good: &[(f64, usize)]) -> Option<(f64, usize)> {
        let ratios = good.iter().map(|(_, at)| (self.ratio(&columns[*at]), *at));
        let better = ratios.filter(|(ratio, _)| 1.0 + SMALL < *ratio);
        better.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
    }

    fn enter_surplus(&mut self, row: usize) -> bool {
        let rows = self.rows;
        for at in 0..rows {
            self.direction[at] = -self.inverse[at * rows + row];
        }
        let cost = self.values[row];
        self.pivot(Basic::Surplus, cost)
    }

    fn enter(&mut self, column: usize, Column { counts, price, .. }: &Column) -> bool {
        let rows = self.rows;
        self.taken += steps(rows * (counts.len() + 4));
        let reduced = price - self.worth(counts);
        for at in 0..rows {
            let row = &self.inverse[at * rows..(at + 1) * rows];
            self.direction[at] =
                counts.iter().map(|(item, count)| row[*item] * f64::from(*count)).sum();
        }
        self.pivot(Basic::Column(column), reduced)
    }

    /// Brings in what moves the basis by `direction`, each unit at the cost `reduced`.
    fn pivot(&mut self, basic: Basic, reduced: f64) -> bool {
        let rows = self.rows;
        let mut leaving: Option<(f64, usize)> = None;
        for at in 0..rows {
            if self.direction[at] <= SMALL {
                continue;
            }
            let ratio = self.amounts[at].max(0.0) / self.direction[at];
            let is_less = leaving.is_none_or(|(least, other)| {
                ratio < least - SMALL
                    || ratio <= least + SMALL && self.direction[other] < self.direction[at]
            });
            if is_less {
                leaving = Some((ratio, at));
            }
        }
        let Some((amount, leaving)) = leaving else { return false };
        let pivot = self.direction[leaving];
        for at in 0..rows {
            self.amounts[at] -= amount * self.direction[at];
        }
        self.amounts[leaving] = amount;
        self.basis[leaving] = basic;
        let (before, rest) = self.inverse.split_at_mut(leaving * rows);
        let (own, after) = rest.split_at_mut(rows);
        for entry in own.iter_mut() {
            *entry /= pivot;
        }
        let others = before.chunks_exact_mut(rows).chain(after.chunks_exact_mut(rows));
        let places = (0..rows).filter(|at| *at != leaving);
        let of_entry = if CACHED_ROWS < rows { 2 } else { 4 };
        for (row, at) in others.zip(places) {
            let factor = self.direction[at];
            if factor.abs() <= 1e-14 {
                continue;
            }
            self.taken += steps(rows / of_entry);
            for (entry, own) in row.iter_mut().zip(own.iter()) {
                *entry -= factor * own;
            }
        }
        for (value, own) in self.values.iter_mut().zip(own.iter()) {
            *value += reduced * own;
        }
        true
    }

    /// Columns with how much of each.
    pub(crate) fn amounts(&self) -> impl Iterator<Item = (usize, f64)> {
        self.basis.iter().zip(&self.amounts).filter_map(|(basic, amount)| match basic {
            Basic::Column(column) if SMALL < *amount => Some((*column, *amount)),
            Basic::Column(_) | Basic::Surplus => None,
        })
    }
}

fn steps(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
