//! Puts things into slots so that no budget is overdrawn. What things and budgets are, it does not know.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

/// What is common to things that may be together under a constraint.
pub(super) type Mark = usize;

/// Who uses a budget: a place, as something that it may become. The most that a place uses counts.
pub(super) type User = (usize, usize);

/// Something that may be in a slot.
#[derive(Debug)]
pub(super) struct Choice {
    /// Of which budgets how much.
    pub(super) uses: Vec<(usize, i128)>,
    /// The budget that it uses up, if it can be in one slot only.
    pub(super) whole: Option<usize>,
    /// By number of a constraint that it is under.
    pub(super) marks: Vec<(usize, Mark)>,
}

/// One thing is to be in it.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) choices: Rc<[Choice]>,
    /// Whether it is like the slot before, so that it need not have what comes before the thing there.
    pub(super) is_alike: bool,
}

/// All slots of one way are to be filled.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) user: User,
    pub(super) ways: Vec<Vec<Slot>>,
}

/// Whether all tasks can be done together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Possible,
    Impossible,
    /// The search ended before.
    Undecided,
}

/// A point where something is chosen: a way, or a thing for a slot of one.
#[derive(Clone, Copy)]
struct Point {
    task: usize,
    slot: Option<(usize, usize)>,
}

struct Frame {
    point: Point,
    next: usize,
    /// The thing that is in the slot.
    chosen: Option<usize>,
}

struct Board<'t> {
    tasks: &'t [Task],
    limits: &'t [i128],
    used: Vec<BTreeMap<User, i128>>,
    /// By task and constraint.
    marks: BTreeMap<(usize, usize), Vec<Mark>>,
}

/// At most this many states from which there is no way on are remembered.
const DEAD_ENDS_MAX: usize = 4_096;

/// Looks for things for all slots of `tasks`, whose budgets have `limits`, in at most `steps`.
pub(super) fn solve(tasks: &[Task], limits: &[i128], mut steps: usize) -> Answer {
    let used = vec![BTreeMap::new(); limits.len()];
    let mut board = Board { tasks, limits, used, marks: BTreeMap::new() };
    let mut dead_ends = BTreeSet::new();
    let mut frames: Vec<Frame> = Vec::new();
    let mut point = Point { task: 0, slot: None };
    loop {
        if point.task == tasks.len() {
            return Answer::Possible;
        }
        let is_dead = point.slot.is_none() && dead_ends.contains(&(point.task, board.used.clone()));
        if !is_dead {
            frames.push(Frame { point, next: board.first(point, frames.last()), chosen: None });
        }
        point = loop {
            let Some(frame) = frames.last_mut() else { return Answer::Impossible };
            let Some(fewer) = steps.checked_sub(1) else { return Answer::Undecided };
            steps = fewer;
            if let Some(point) = board.advance(frame) {
                break point;
            }
            if frame.point.slot.is_none() && dead_ends.len() < DEAD_ENDS_MAX {
                dead_ends.insert((frame.point.task, board.used.clone()));
            }
            frames.pop();
        };
    }
}

impl Board<'_> {
    /// The first thing that is tried: none before that of a slot that is alike.
    fn first(&self, point: Point, before: Option<&Frame>) -> usize {
        let is_alike = self.slot(point).is_some_and(|slot| slot.is_alike);
        before.filter(|_| is_alike).and_then(|frame| frame.chosen).unwrap_or(0)
    }

    fn slot(&self, point: Point) -> Option<&Slot> {
        let (way, slot) = point.slot?;
        self.tasks.get(point.task)?.ways.get(way)?.get(slot)
    }

    /// Chooses the next thing, and says what is to be chosen then.
    fn advance(&mut self, frame: &mut Frame) -> Option<Point> {
        let task = frame.point.task;
        let Some((way, slot)) = frame.point.slot else {
            let way = frame.next;
            frame.next += 1;
            let slots = self.tasks.get(task)?.ways.get(way)?;
            return Some(after(task, way, 0, slots.len()));
        };
        if let Some(chosen) = frame.chosen.take() {
            self.count(frame.point, chosen, -1);
        }
        let slots = self.tasks.get(task)?.ways.get(way)?.len();
        while let Some(choice) = self.slot(frame.point)?.choices.get(frame.next) {
            let number = frame.next;
            frame.next += 1;
            if self.fits(task, choice) {
                self.count(frame.point, number, 1);
                frame.chosen = Some(number);
                return Some(after(task, way, slot + 1, slots));
            }
        }
        None
    }

    fn fits(&self, task: usize, choice: &Choice) -> bool {
        let user = self.tasks.get(task).map(|task| task.user);
        let is_in = |(budget, amount): &(usize, i128)| {
            let limit = self.limits.get(*budget).copied().unwrap_or(-1);
            user.is_some_and(|user| self.with(*budget, user, *amount) <= limit)
        };
        let agrees = |(constraint, mark): &(usize, Mark)| {
            let marks = self.marks.get(&(task, *constraint));
            marks.and_then(|marks| marks.last()).is_none_or(|other| other == mark)
        };
        choice.uses.iter().all(is_in) && choice.marks.iter().all(agrees)
    }

    /// What is used of a budget if `user` takes `amount` more of it.
    fn with(&self, budget: usize, (place, outcome): User, amount: i128) -> i128 {
        let mut most: BTreeMap<usize, i128> = BTreeMap::new();
        let mut sum = amount;
        for ((user_place, user_outcome), used) in self.used.get(budget).into_iter().flatten() {
            if *user_place != place {
                let most = most.entry(*user_place).or_default();
                *most = (*most).max(*used);
            } else if *user_outcome == outcome {
                sum = sum.saturating_add(*used);
            }
        }
        most.into_values().fold(sum, i128::saturating_add)
    }

    /// Takes a thing, or with a negative `sign` puts it back.
    fn count(&mut self, point: Point, chosen: usize, sign: i128) {
        let Some(task) = self.tasks.get(point.task) else { return };
        let Some((way, slot)) = point.slot else { return };
        let slot = task.ways.get(way).and_then(|slots| slots.get(slot));
        let Some(choice) = slot.and_then(|slot| slot.choices.get(chosen)) else { return };
        for (budget, amount) in &choice.uses {
            let Some(used) = self.used.get_mut(*budget) else { continue };
            let used_by = used.entry(task.user).or_default();
            *used_by = used_by.saturating_add(amount.saturating_mul(sign));
            if *used_by == 0 {
                used.remove(&task.user);
            }
        }
        for (constraint, mark) in &choice.marks {
            let marks = self.marks.entry((point.task, *constraint)).or_default();
            if sign < 0 {
                marks.pop();
            } else {
                marks.push(*mark);
            }
        }
    }
}

fn after(task: usize, way: usize, slot: usize, slots: usize) -> Point {
    if slot < slots {
        Point { task, slot: Some((way, slot)) }
    } else {
        Point { task: task + 1, slot: None }
    }
}

/// Whether there are too few things for the slots, whatever is in which of them: where each place becomes one thing
/// only, and no task has a choice of ways, things that can be in one slot only are matched with slots.
pub(super) fn are_too_few(tasks: &[Task], limits: &[i128]) -> bool {
    let mut outcomes: BTreeMap<usize, usize> = BTreeMap::new();
    let mut slots: Vec<Vec<usize>> = Vec::new();
    for task in tasks {
        let (place, outcome) = task.user;
        let [way] = task.ways.as_slice() else { continue };
        if *outcomes.entry(place).or_insert(outcome) != outcome {
            continue;
        }
        for slot in way {
            let things = slot.choices.iter().map(|choice| choice.whole);
            let Some(things) = things.collect::<Option<Vec<_>>>() else { continue };
            let is_there = |thing: &usize| limits.get(*thing).is_some_and(|limit| 0 < *limit);
            slots.push(things.into_iter().filter(is_there).collect());
        }
    }
    let mut slot_of: BTreeMap<usize, usize> = BTreeMap::new();
    (0..slots.len()).any(|slot| !is_matched(slot, &slots, &mut slot_of))
}

/// Finds a thing for one more slot, and other ones for slots that have it: breadth first.
fn is_matched(slot: usize, slots: &[Vec<usize>], slot_of: &mut BTreeMap<usize, usize>) -> bool {
    // By thing: the slot that it was found from.
    let mut found_from: BTreeMap<usize, usize> = BTreeMap::new();
    let mut queue = vec![slot];
    let mut next = 0;
    while let Some(current) = queue.get(next).copied() {
        next += 1;
        for thing in slots.get(current).into_iter().flatten() {
            if found_from.contains_key(thing) {
                continue;
            }
            found_from.insert(*thing, current);
            let Some(holder) = slot_of.get(thing) else {
                hand_over(*thing, slot, &found_from, slot_of);
                return true;
            };
            queue.push(*holder);
        }
    }
    false
}

/// Gives each slot on the way back to the first one the thing that was found from it.
fn hand_over(
    mut thing: usize,
    first: usize,
    found_from: &BTreeMap<usize, usize>,
    slot_of: &mut BTreeMap<usize, usize>,
) {
    while let Some(slot) = found_from.get(&thing).copied() {
        let before = slot_of.iter().find(|(_, holder)| **holder == slot).map(|(thing, _)| *thing);
        slot_of.insert(thing, slot);
        match before {
            Some(before) if slot != first => thing = before,
            _ => return,
        }
    }
}
