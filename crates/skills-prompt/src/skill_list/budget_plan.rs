//! Plans how much of each description is shown.
//!
//! The algorithm of Codex: everything, if it fits; otherwise names and paths, and the rest of the
//! budget is divided character by character; otherwise as many names and paths as fit.

use super::allocation::Allocation;
use super::list_entry::ListEntry;
use crate::budget::CostMeter;
use crate::skill_summary::ListingMode;

/// The number of characters that are shown of each description; `None` omits the skill.
pub(crate) type BudgetPlan = Vec<Option<usize>>;

/// Plans within `limit`. Pinned skills are planned first; the others get the rest.
pub(crate) fn plan_budget(
    entries: &[ListEntry<'_>],
    meter: &CostMeter<'_>,
    limit: usize,
    allocation: Allocation,
) -> BudgetPlan {
    let is_pinned = |entry: &&ListEntry<'_>| entry.mode == ListingMode::Pinned;
    let (pinned, others): (Vec<&ListEntry<'_>>, Vec<&ListEntry<'_>>) =
        entries.iter().partition(is_pinned);
    let pinned_plan = plan_entries(&pinned, meter, limit, allocation);
    let pinned_cost = plan_cost(&pinned, &pinned_plan, meter);
    let rest = limit.saturating_sub(pinned_cost);
    let mut pinned_plan = pinned_plan.into_iter();
    let mut other_plan = plan_entries(&others, meter, rest, allocation).into_iter();
    entries
        .iter()
        .map(|entry| {
            if is_pinned(&entry) {
                pinned_plan.next()
            } else {
                other_plan.next()
            }
            .flatten()
        })
        .collect()
}

/// Returns the total cost of the entries of a plan.
pub(crate) fn plan_cost(
    entries: &[&ListEntry<'_>],
    plan: &[Option<usize>],
    meter: &CostMeter<'_>,
) -> usize {
    entries
        .iter()
        .zip(plan)
        .filter_map(|(entry, shown)| Some(entry.cost((*shown)?, meter)))
        .sum()
}

/// Plans entries of equal priority within `limit`.
fn plan_entries(
    entries: &[&ListEntry<'_>],
    meter: &CostMeter<'_>,
    limit: usize,
    allocation: Allocation,
) -> BudgetPlan {
    let full_cost: usize = entries
        .iter()
        .map(|entry| entry.cost(entry.shown_chars, meter))
        .sum();
    if full_cost <= limit {
        return entries
            .iter()
            .map(|entry| Some(entry.shown_chars))
            .collect();
    }
    let bare: Vec<usize> = entries.iter().map(|entry| entry.cost(0, meter)).collect();
    let bare_total = bare.iter().sum();
    match (limit.checked_sub(bare_total), allocation) {
        (Some(rest), Allocation::Even) => allocate_evenly(entries, &bare, meter, rest)
            .into_iter()
            .map(Some)
            .collect(),
        (Some(rest), Allocation::Ranked) => allocate_ranked(entries, &bare, meter, rest),
        (None, Allocation::Even) => allocate_names(&bare, limit),
        (None, Allocation::Ranked) => complete_within(entries, meter, limit),
    }
}

/// Gives each description one more character in turn, as long as one fits.
///
/// `bare` are the costs without descriptions, `rest` is the budget for descriptions.
fn allocate_evenly(
    entries: &[&ListEntry<'_>],
    bare: &[usize],
    meter: &CostMeter<'_>,
    rest: usize,
) -> Vec<usize> {
    // The first rounds give a character to every entry, so they are computed at once.
    let level = max_common_chars(entries, bare, meter, rest);
    let mut shown: Vec<usize> = entries
        .iter()
        .map(|entry| entry.shown_chars.min(level))
        .collect();
    let mut costs: Vec<usize> = entries
        .iter()
        .zip(&shown)
        .map(|(entry, shown)| entry.cost(*shown, meter))
        .collect();
    let spent = costs
        .iter()
        .zip(bare)
        .map(|(cost, bare)| cost.saturating_sub(*bare))
        .sum::<usize>();
    let rest = rest.saturating_sub(spent);
    if meter.tokenizer().is_some() {
        add_to_first(entries, &costs, meter, rest, &mut shown);
    } else {
        add_in_turn(entries, &mut costs, meter, rest, &mut shown);
    }
    shown
}

/// Gives the rest of the budget to the first entries that use it. A tokenizer would have to count
/// the whole entry again for each character that is given in turn.
fn add_to_first(
    entries: &[&ListEntry<'_>],
    costs: &[usize],
    meter: &CostMeter<'_>,
    mut rest: usize,
    shown: &mut [usize],
) {
    for (index, entry) in entries.iter().enumerate() {
        // A tokenizer may count fewer tokens for a longer text; never show less than before.
        let more = max_chars_within(entry, meter, costs[index] + rest).max(shown[index]);
        let cost = entry.cost(more, meter);
        if cost <= costs[index] + rest {
            rest -= cost.saturating_sub(costs[index]);
            shown[index] = more;
        }
    }
}

/// Gives each incomplete description one more character in turn, as long as one fits.
fn add_in_turn(
    entries: &[&ListEntry<'_>],
    costs: &mut [usize],
    meter: &CostMeter<'_>,
    mut rest: usize,
    shown: &mut [usize],
) {
    let mut incomplete: Vec<usize> = (0..entries.len()).collect();
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        incomplete.retain(|index| shown[*index] < entries[*index].shown_chars);
        for &index in &incomplete {
            let cost = entries[index].cost(shown[index] + 1, meter);
            // A character can cost several bytes, or nothing if it fits into a started token.
            let step = cost - costs[index];
            if step <= rest {
                rest -= step;
                costs[index] = cost;
                shown[index] += 1;
                has_changed = true;
            }
        }
    }
}

/// Returns the largest length that every description can have within `rest` (binary search).
fn max_common_chars(
    entries: &[&ListEntry<'_>],
    bare: &[usize],
    meter: &CostMeter<'_>,
    rest: usize,
) -> usize {
    let longest = entries.iter().map(|entry| entry.shown_chars).max();
    // Complete descriptions never fit, or this would not be called.
    largest_fitting(longest.unwrap_or_default(), |level| {
        description_cost(entries, bare, meter, level) <= rest
    })
}

/// Returns the cost of all descriptions at a length, without the names and paths.
fn description_cost(
    entries: &[&ListEntry<'_>],
    bare: &[usize],
    meter: &CostMeter<'_>,
    level: usize,
) -> usize {
    let entries = entries.iter().zip(bare);
    entries
        .map(|(entry, bare)| entry.cost(level, meter).saturating_sub(*bare))
        .sum()
}

/// Gives complete descriptions to the first entries as long as they fit, and the rest of the budget
/// to the entries after them.
fn allocate_ranked(
    entries: &[&ListEntry<'_>],
    bare: &[usize],
    meter: &CostMeter<'_>,
    mut rest: usize,
) -> BudgetPlan {
    let allocate = |(entry, bare): (&&ListEntry<'_>, &usize)| {
        let full = entry.cost(entry.shown_chars, meter).saturating_sub(*bare);
        if full <= rest {
            rest -= full;
            return Some(entry.shown_chars);
        }
        let characters = max_chars_within(entry, meter, bare + rest);
        rest -= entry.cost(characters, meter).saturating_sub(*bare);
        Some(characters)
    };
    entries.iter().zip(bare).map(allocate).collect()
}

/// Returns the largest length of a description with which its entry costs at most `limit`.
fn max_chars_within(entry: &ListEntry<'_>, meter: &CostMeter<'_>, limit: usize) -> usize {
    largest_fitting(entry.shown_chars + 1, |characters| {
        entry.cost(characters, meter) <= limit
    })
}

/// Returns the largest number below `too_large` that fits, by binary search; 0 always fits.
pub(crate) fn largest_fitting(mut too_large: usize, fits: impl Fn(usize) -> bool) -> usize {
    let mut fitting = 0;
    while too_large - fitting > 1 {
        let middle = fitting.midpoint(too_large);
        if fits(middle) {
            fitting = middle;
        } else {
            too_large = middle;
        }
    }
    fitting
}

/// Includes names and paths in order. An entry that does not fit is omitted and the next is tried,
/// so that one long path does not hide all skills after it.
fn allocate_names(bare: &[usize], mut rest: usize) -> BudgetPlan {
    let take = |cost: &usize| {
        rest = rest.checked_sub(*cost)?;
        Some(0)
    };
    // `?` leaves `rest` unchanged if an entry does not fit.
    bare.iter().map(take).collect()
}

/// Spends half of the budget on complete entries of the first skills, more only for the first of all.
/// The rest is for the names of others: of 2,300 skills, 8,000 characters then hold the right one for
/// 95 of 100 requests.
fn complete_within(entries: &[&ListEntry<'_>], meter: &CostMeter<'_>, limit: usize) -> BudgetPlan {
    let mut rest = limit / 2;
    let mut plan: BudgetPlan = vec![None; entries.len()];
    for (index, (entry, shown)) in entries.iter().zip(&mut plan).enumerate() {
        let cost = entry.cost(entry.shown_chars, meter);
        // After the first incomplete entry no later one is complete, or the rank would be reversed.
        if cost > rest && (index > 0 || cost > limit) {
            break;
        }
        rest = rest.saturating_sub(cost);
        *shown = Some(entry.shown_chars);
    }
    plan
}
