//! Decides how much of each description is shown.
//!
//! Codex's algorithm: everything, if it fits; else names and paths, and the rest is shared out one
//! character after the other; else as many names and paths as fit.

use super::Allocation;
use super::list_entry::ListEntry;
use crate::budget::CostMeter;
use crate::skill_summary::ListingMode;

/// How many characters of each description are shown; `None` leaves the skill out.
pub(crate) type BudgetPlan = Vec<Option<usize>>;

/// Plans for `limit`. Pinned skills have the first claim, the others get what they leave.
pub(crate) fn plan_budget(
    lines: &[ListEntry<'_>],
    meter: &CostMeter<'_>,
    limit: usize,
    fill: Allocation,
) -> BudgetPlan {
    let is_pinned = |line: &&ListEntry<'_>| line.mode == ListingMode::Pinned;
    if !lines.iter().any(|line| is_pinned(&line)) {
        return plan_entries(&lines.iter().collect::<Vec<_>>(), meter, limit, fill);
    }
    let (pinned, others): (Vec<&ListEntry<'_>>, Vec<&ListEntry<'_>>) =
        lines.iter().partition(is_pinned);
    let first = plan_entries(&pinned, meter, limit, fill);
    let spent = plan_cost(&pinned, &first, meter);
    let second = plan_entries(&others, meter, limit.saturating_sub(spent), fill);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    lines
        .iter()
        .map(|line| {
            if is_pinned(&line) {
                first.next()
            } else {
                second.next()
            }
            .flatten()
        })
        .collect()
}

/// What the entries of a plan cost together.
pub(crate) fn plan_cost(
    lines: &[&ListEntry<'_>],
    plan: &[Option<usize>],
    meter: &CostMeter<'_>,
) -> usize {
    lines
        .iter()
        .zip(plan)
        .filter_map(|(line, shown)| Some(line.cost((*shown)?, meter)))
        .sum()
}

fn plan_entries(
    lines: &[&ListEntry<'_>],
    meter: &CostMeter<'_>,
    limit: usize,
    fill: Allocation,
) -> BudgetPlan {
    let full = || {
        lines
            .iter()
            .map(|line| line.cost(line.shown_chars, meter))
            .sum::<usize>()
    };
    if full() <= limit {
        return lines.iter().map(|line| Some(line.shown_chars)).collect();
    }
    let bare: Vec<usize> = lines.iter().map(|line| line.cost(0, meter)).collect();
    match (limit.checked_sub(bare.iter().sum()), fill) {
        (Some(rest), Allocation::Even) => allocate_evenly(lines, &bare, meter, rest)
            .into_iter()
            .map(Some)
            .collect(),
        (Some(rest), Allocation::Ranked) => allocate_ranked(lines, &bare, meter, rest),
        (None, Allocation::Even) => allocate_names(&bare, limit),
        (None, Allocation::Ranked) => ranked_within(lines, &bare, meter, limit),
    }
}

/// Gives each description one more character in turn, as long as one fits.
fn allocate_evenly(
    lines: &[&ListEntry<'_>],
    bare: &[usize],
    meter: &CostMeter<'_>,
    rest: usize,
) -> Vec<usize> {
    let level = max_common_chars(lines, bare, meter, rest);
    let mut shown: Vec<usize> = lines
        .iter()
        .map(|line| line.shown_chars.min(level))
        .collect();
    let mut costs: Vec<usize> = lines
        .iter()
        .zip(&shown)
        .map(|(line, shown)| line.cost(*shown, meter))
        .collect();
    let spent = costs
        .iter()
        .zip(bare)
        .map(|(cost, bare)| cost.saturating_sub(*bare))
        .sum::<usize>();
    let mut rest = rest.saturating_sub(spent);
    if meter.tokenizer().is_some() {
        // Each step would ask the tokenizer about the whole entry again, so what is left goes to
        // the first ones.
        for (index, line) in lines.iter().enumerate() {
            let more = max_chars_within(line, meter, costs[index] + rest).max(shown[index]);
            let cost = line.cost(more, meter);
            if cost <= costs[index] + rest {
                rest -= cost.saturating_sub(costs[index]);
                shown[index] = more;
            }
        }
        return shown;
    }
    let mut open: Vec<usize> = (0..lines.len())
        .filter(|index| shown[*index] < lines[*index].shown_chars)
        .collect();
    loop {
        let mut changed = false;
        for &index in &open {
            let cost = lines[index].cost(shown[index] + 1, meter);
            let step = cost - costs[index];
            if step <= rest {
                (rest, costs[index], changed) = (rest - step, cost, true);
                shown[index] += 1;
            }
        }
        if !changed {
            return shown;
        }
        open.retain(|index| shown[*index] < lines[*index].shown_chars);
    }
}

/// Finds how many characters every description can have, at least: so many turns are sure to give a
/// character to each that has one left.
fn max_common_chars(
    lines: &[&ListEntry<'_>],
    bare: &[usize],
    meter: &CostMeter<'_>,
    rest: usize,
) -> usize {
    let spent = |level: usize| {
        lines
            .iter()
            .zip(bare)
            .map(|(line, bare)| line.cost(level, meter).saturating_sub(*bare))
            .sum::<usize>()
    };
    let longest = lines
        .iter()
        .map(|line| line.shown_chars)
        .max()
        .unwrap_or_default();
    // The lowest level that does not fit lies in `fits + 1..=over`; whole descriptions do not, or
    // nothing would be shared out.
    let (mut fits, mut over) = (0, longest);
    while over - fits > 1 {
        let middle = fits.midpoint(over);
        if spent(middle) <= rest {
            fits = middle
        } else {
            over = middle
        }
    }
    fits
}

/// Gives whole descriptions to the first ones, as long as they fit; what is left goes to the others
/// as well, as far as it reaches.
fn allocate_ranked(
    lines: &[&ListEntry<'_>],
    bare: &[usize],
    meter: &CostMeter<'_>,
    mut rest: usize,
) -> BudgetPlan {
    let give = |(line, bare): (&&ListEntry<'_>, &usize)| {
        let whole = line.cost(line.shown_chars, meter).saturating_sub(*bare);
        if whole <= rest {
            rest -= whole;
            return Some(line.shown_chars);
        }
        let characters = max_chars_within(line, meter, bare + rest);
        rest -= line.cost(characters, meter).saturating_sub(*bare);
        Some(characters)
    };
    lines.iter().zip(bare).map(give).collect()
}

/// The most characters of a description with which its entry costs at most `limit`.
fn max_chars_within(line: &ListEntry<'_>, meter: &CostMeter<'_>, limit: usize) -> usize {
    let (mut fits, mut over) = (0, line.shown_chars + 1);
    while over - fits > 1 {
        let middle = fits.midpoint(over);
        if line.cost(middle, meter) <= limit {
            fits = middle
        } else {
            over = middle
        }
    }
    fits
}

/// Takes names and paths in order; one that does not fit is left out and the next is tried.
fn allocate_names(bare: &[usize], mut rest: usize) -> BudgetPlan {
    let take = |cost: &usize| {
        rest = rest.checked_sub(*cost)?;
        Some(0)
    };
    // A failed subtraction leaves the rest as it was.
    bare.iter().map(take).collect()
}

/// Spends half the budget on whole entries of the first ones, the other half on names and paths.
fn ranked_within(
    lines: &[&ListEntry<'_>],
    bare: &[usize],
    meter: &CostMeter<'_>,
    limit: usize,
) -> BudgetPlan {
    let (mut rest, mut whole) = (limit, limit / 2);
    let take = |(line, bare): (&&ListEntry<'_>, &usize)| {
        let cost = line.cost(line.shown_chars, meter);
        if let (Some(left), Some(remains)) = (whole.checked_sub(cost), rest.checked_sub(cost)) {
            (whole, rest) = (left, remains);
            return Some(line.shown_chars);
        }
        whole = 0;
        rest = rest.checked_sub(*bare)?;
        Some(0)
    };
    lines.iter().zip(bare).map(take).collect()
}
