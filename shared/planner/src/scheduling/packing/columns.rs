//! The program with columns made as they are needed.

#![expect(
    clippy::float_arithmetic,
    clippy::indexing_slicing,
    reason = "a search by approximate numbers: what it finds is checked in whole numbers"
)]

use super::{
    cuts,
    knapsack::{Counts, Scaled},
    market::Market,
    master::{Column, Master},
};

/// The program of a market, with all columns so far.
#[derive(Debug)]
pub struct Program<'m> {
    pub(crate) market: &'m Market,
    pub(crate) scaled: Scaled,
    columns: Vec<Column>,
    /// How many were dropped before the first of them.
    dropped: usize,
    /// What was solved last.
    session: Option<Session>,
    /// Values that proved much: new ones are kept near to them at first.
    center: Vec<f64>,
    /// What it may still do, in steps of a few nanoseconds.
    pub(crate) work: u64,
}

/// The program of one demand, as far as it is solved.
#[derive(Debug)]
struct Session {
    demand: Vec<u32>,
    /// Items that are asked for: by row.
    active: Vec<usize>,
    /// By item.
    row_of: Vec<usize>,
    /// By rows.
    columns: Vec<Column>,
    master: Master,
    /// How many columns there were in all when they were taken in.
    taken: usize,
}

/// How the program is solved for some demand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relaxed {
    /// What a pod of each item is worth.
    pub(crate) values: Vec<f64>,
    /// Nodes with how many of each, parts of nodes among them.
    pub(crate) nodes: Vec<(usize, Counts, f64)>,
}

/// How well it is to be solved.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How often columns are looked for.
    pub(crate) rounds: usize,
    /// Maximum worth of a column, as a multiple of its price.
    pub(crate) ratio: f64,
}

/// What looking for columns remembers.
#[derive(Debug, Default)]
struct Pricing {
    /// What pods are worth now.
    values: Vec<f64>,
    /// The values that proved most, and how much that is.
    center: Vec<f64>,
    proved: f64,
}

/// New columns that a round takes in.
const NEW_MAX: usize = 200;
/// Columns that are kept.
const COLUMNS_MAX: usize = 4_000;

impl<'m> Program<'m> {
    /// A program over `market` that ends after `work` steps.
    pub fn new(market: &'m Market, work: u64) -> Self {
        let center = cuts::priced(market, &[]).values;
        let scaled = Scaled::of(market);
        Self { market, scaled, columns: Vec::new(), dropped: 0, session: None, center, work }
    }

    /// Values that prove much: to begin with, by prices of resources and of shares of them.
    pub fn proving_values(&self) -> &[f64] {
        &self.center
    }

    /// Solves it for these numbers of pods of each item, from where it was left if it was solved for these last. What no
    /// offer takes must not be asked for.
    pub(crate) fn solve(&mut self, demand: &[u32], effort: Effort) -> Relaxed {
        let known = self.session.take().filter(|session| session.demand == demand);
        let Some(mut session) = known.or_else(|| self.begin(demand)) else {
            return Relaxed { values: vec![0.0; demand.len()], ..Relaxed::default() };
        };
        session.take(&self.columns, self.dropped);
        let center = self.center.clone();
        let mut search = Pricing { values: vec![0.0; demand.len()], center, ..Pricing::default() };
        for _ in 0..effort.rounds {
            self.pivot(&mut session);
            session.tell(&mut search.values);
            if self.work == 0 {
                break;
            }
            let new = self.look(&mut search, demand, effort.ratio);
            if new.is_empty() || self.work == 0 {
                break;
            }
            self.columns.extend(new);
            session.take(&self.columns, self.dropped);
        }
        self.pivot(&mut session);
        if 0.0 < search.proved {
            self.center = search.center;
        }
        let mut values = search.values;
        session.tell(&mut values);
        let nodes = session.nodes();
        if COLUMNS_MAX < self.columns.len() {
            let surplus = self.columns.len() - COLUMNS_MAX;
            self.columns.drain(..surplus);
            self.dropped += surplus;
        }
        self.session = Some(session);
        Relaxed { values, nodes }
    }

    /// Begins to solve it for `demand`, with nodes that have pods of one item alone; `None` if an item has none.
    fn begin(&self, demand: &[u32]) -> Option<Session> {
        let active: Vec<usize> = (0..demand.len()).filter(|item| 0 < demand[*item]).collect();
        let mut row_of = vec![usize::MAX; demand.len()];
        for (row, item) in active.iter().enumerate() {
            row_of[*item] = row;
        }
        let asked: Vec<u32> = active.iter().map(|item| demand[*item]).collect();
        let single = |item: &usize| self.single(*item, demand, &row_of);
        let columns: Vec<Column> = active.iter().map(single).collect::<Option<_>>()?;
        let master = Master::new(&asked, &columns);
        Some(Session { demand: demand.to_vec(), active, row_of, columns, master, taken: 0 })
    }

    fn pivot(&mut self, session: &mut Session) {
        let Session { master, columns, .. } = session;
        self.work -= master.solve(columns, self.work).min(self.work);
    }

    pub(crate) fn spend(&mut self, steps: usize) {
        self.work = self.work.saturating_sub(u64::try_from(steps).unwrap_or(u64::MAX));
    }

    /// A column that is known.
    pub(crate) fn know(&mut self, offer: usize, counts: Counts) {
        self.columns.push(Column { offer, counts, price: self.scaled.prices[offer] });
    }

    /// Whether any of `nodes` is worth more than it costs by `values`.
    pub(crate) fn is_new(&self, nodes: &[(usize, Counts)], values: &[f64]) -> bool {
        nodes.iter().any(|(offer, counts)| {
            let worth = counts.iter().map(|(item, count)| values[*item] * f64::from(*count));
            self.scaled.prices[*offer] * (1.0 + 1e-4) < worth.sum()
        })
    }

    /// Nodes that are worth more than this multiple of their cost. Values swing while columns are few: they are
    /// taken half way to those that proved most so far, and as they are only when that finds nothing.
    fn look(&mut self, search: &mut Pricing, demand: &[u32], ratio: f64) -> Vec<Column> {
        if worth(&search.values, demand) <= search.proved * ratio {
            return Vec::new();
        }
        let halves = search.values.iter().zip(&search.center);
        let tried: Vec<f64> = halves.map(|(own, center)| 0.5 * (own + center)).collect();
        let mut improving = self.price(search, &tried, demand);
        if improving.is_empty() {
            let values = search.values.clone();
            improving = self.price(search, &values, demand);
            improving.retain(|(worth, _)| ratio < *worth);
        }
        improving.sort_by(|a, b| b.0.total_cmp(&a.0));
        improving.truncate(NEW_MAX);
        improving.into_iter().map(|(_, column)| column).collect()
    }

    /// Nodes that are worth more than they cost, filled by the values `tried`; and takes down what these prove.
    fn price(&mut self, search: &mut Pricing, tried: &[f64], demand: &[u32]) -> Vec<(f64, Column)> {
        let mut improving: Vec<(f64, Column)> = Vec::new();
        let (mut most, mut steps): (f64, usize) = (0.0, 0);
        for offer in 0..self.market.offers.len() {
            let price = self.scaled.prices[offer].max(1e-12);
            let filled = self.scaled.fill(self.market, offer, (tried, demand));
            steps += filled.steps;
            most = most.max(filled.value / price);
            let worth: f64 = filled
                .counts
                .iter()
                .map(|(item, count)| search.values[*item] * f64::from(*count))
                .sum();
            if price * (1.0 + 1e-6) < worth {
                improving.push((worth / price, Column { offer, counts: filled.counts, price }));
            }
        }
        self.spend(steps);
        search.prove(tried, most, demand);
        improving
    }

    /// The node with pods of `item` alone on which one of them costs least.
    fn single(&self, item: usize, demand: &[u32], row_of: &[usize]) -> Option<Column> {
        let Market { items, offers, .. } = self.market;
        let asked = &items[item];
        let mut best: Option<(f64, usize, u32)> = None;
        for (at, offer) in offers.iter().enumerate().filter(|(_, offer)| offer.takes(asked)) {
            let mut count = i64::from(demand[item].min(asked.most));
            for (room, need) in offer.room.iter().zip(&asked.need) {
                if 0 < *need {
                    count = count.min(room / need);
                }
            }
            let count = u32::try_from(count).unwrap_or_default().max(1);
            let each = self.scaled.prices[at] / f64::from(count);
            if best.is_none_or(|(least, _, _)| each < least) {
                best = Some((each, at, count));
            }
        }
        let (_, offer, count) = best?;
        let counts = vec![(row_of[item], count)];
        Some(Column { offer, counts, price: self.scaled.prices[offer] })
    }
}

impl Pricing {
    /// Takes `values` down if they prove more than any before, where a node is worth `most` times its price by them.
    fn prove(&mut self, values: &[f64], most: f64, demand: &[u32]) {
        let proved = worth(values, demand) / most.max(1.0);
        if self.proved < proved {
            self.proved = proved;
            self.center = values.iter().map(|value| value / most.max(1.0)).collect();
        }
    }
}

/// What all pods of `demand` are worth.
fn worth(values: &[f64], demand: &[u32]) -> f64 {
    values.iter().zip(demand).map(|(value, count)| value * f64::from(*count)).sum()
}

impl Session {
    /// Takes in what became known, of all `columns` but those that were `dropped`.
    fn take(&mut self, columns: &[Column], dropped: usize) {
        let new = columns.get(self.taken.saturating_sub(dropped)..).unwrap_or_default();
        let cut = |column| cut(column, &self.demand, &self.row_of);
        self.columns.extend(new.iter().filter_map(cut));
        self.taken = dropped + columns.len();
    }

    /// What pods of each item are worth.
    fn tell(&self, values: &mut [f64]) {
        for (row, item) in self.active.iter().enumerate() {
            values[*item] = self.master.values[row].max(0.0);
        }
    }

    /// Parts of nodes.
    fn nodes(&self) -> Vec<(usize, Counts, f64)> {
        let node = |(column, amount): (usize, f64)| {
            let Column { offer, counts, .. } = &self.columns[column];
            let counts = counts.iter().map(|(row, count)| (self.active[*row], *count)).collect();
            (*offer, counts, amount)
        };
        self.master.amounts().map(node).collect()
    }
}

/// `column` by rows, with no more pods than are asked for; `None` if none are.
fn cut(column: &Column, demand: &[u32], row_of: &[usize]) -> Option<Column> {
    let counts = column.counts.iter().filter(|(item, _)| 0 < demand[*item]);
    let counts: Counts =
        counts.map(|(item, count)| (row_of[*item], (*count).min(demand[*item]))).collect();
    (!counts.is_empty()).then_some(Column { counts, ..*column })
}
