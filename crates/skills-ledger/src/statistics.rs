//! Rates with intervals, and the comparison of two rates.

use statrs::distribution::{Beta, Continuous, ContinuousCDF};

/// After this many days an event counts half.
pub const HALF_LIFE_DAYS: f64 = 30.0;
/// The probability that a rate is below, and that it is above its interval.
const TAIL: f64 = 0.05;
/// Number of steps of an integral; even.
const STEPS: u32 = 400;
/// The part of a distribution, on each side, that an integral leaves out.
const LEFT_OUT: f64 = 1e-9;

/// Returns how much an event counts after some days.
pub(crate) fn decay(days: f64) -> f64 {
    (-days / HALF_LIFE_DAYS).exp2()
}

/// A rate that was observed, with the interval in which the true one is with a probability of 90 %.
///
/// The interval is that of a Beta distribution with a uniform prior: without a trial it is 5 to 95
/// %, and it narrows with each. Trials can have fractions, since old ones count less.
///
/// ```
/// use skills_ledger::Rate;
///
/// let few = Rate::new(3.0, 5.0);
/// let many = Rate::new(60.0, 100.0);
/// assert!(few.low < 0.3 && many.low > 0.5);
/// assert_eq!(few.observed(), Some(0.6));
/// assert_eq!(Rate::new(0.0, 0.0).observed(), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Rate {
    /// The number of trials with the event.
    pub hits: f64,
    /// The number of trials.
    pub trials: f64,
    /// The true rate is below with a probability of 5 %.
    pub low: f64,
    /// The true rate is above with a probability of 5 %.
    pub high: f64,
}

impl Rate {
    /// Computes the interval of a rate. Negative numbers count as 0, and at most all trials are
    /// hits.
    #[must_use]
    pub fn new(hits: f64, trials: f64) -> Self {
        Self::with_prior(hits, trials, 0.0, 0.0)
    }

    /// Computes the interval of a rate of which something is known from before: `prior_hits` of
    /// `prior_trials`.
    #[must_use]
    pub fn with_prior(hits: f64, trials: f64, prior_hits: f64, prior_trials: f64) -> Self {
        let trials = trials.max(0.0);
        let hits = hits.clamp(0.0, trials);
        let prior_trials = prior_trials.max(0.0);
        let prior_hits = prior_hits.clamp(0.0, prior_trials);
        let posterior = posterior(hits + prior_hits, trials + prior_trials);
        let quantile = |p| posterior.as_ref().map(|posterior| posterior.inverse_cdf(p));
        Self {
            hits,
            trials,
            low: quantile(TAIL).unwrap_or(0.0).clamp(0.0, 1.0),
            high: quantile(1.0 - TAIL).unwrap_or(1.0).clamp(0.0, 1.0),
        }
    }

    /// Returns the observed rate; `None` without a trial.
    #[must_use]
    pub fn observed(&self) -> Option<f64> {
        (self.trials > 0.0).then(|| self.hits / self.trials)
    }
}

/// Returns the probability that the true rate behind `hits` of `trials` is larger than the one
/// behind `earlier_hits` of `earlier_trials`, from 0 to 1.
///
/// ```
/// use skills_ledger::probability_larger;
///
/// assert!(probability_larger(9, 10, 1, 10) > 0.99);
/// assert!(probability_larger(2, 4, 1, 4) < 0.95, "too few trials");
/// ```
#[must_use]
pub fn probability_larger(hits: u64, trials: u64, earlier_hits: u64, earlier_trials: u64) -> f64 {
    let posterior = |hits, trials| posterior(hits as f64, trials as f64);
    let pair = posterior(hits, trials).zip(posterior(earlier_hits, earlier_trials));
    // Never the case: counts are not negative.
    let Some((later, earlier)) = pair else {
        return 0.5;
    };
    // Simpson's rule over the range in which the density of the later rate is not negligible.
    let (start, end) = (
        later.inverse_cdf(LEFT_OUT),
        later.inverse_cdf(1.0 - LEFT_OUT),
    );
    let step = (end - start) / f64::from(STEPS);
    let value = |index: u32| {
        let rate = start + step * f64::from(index);
        later.pdf(rate) * earlier.cdf(rate)
    };
    let sum: f64 = (0..=STEPS)
        .map(|index| match index {
            0 | STEPS => value(index),
            index if index % 2 == 1 => 4.0 * value(index),
            index => 2.0 * value(index),
        })
        .sum();
    (sum * step / 3.0).clamp(0.0, 1.0)
}

fn posterior(hits: f64, trials: f64) -> Option<Beta> {
    let misses = (trials - hits).max(0.0);
    Beta::new(1.0 + hits.max(0.0), 1.0 + misses).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The interval of Wilson, of the same probability: another method for the same question.
    fn wilson(hits: f64, trials: f64) -> (f64, f64) {
        let z = 1.644_853_6;
        let observed = hits / trials;
        let scale = 1.0 + z * z / trials;
        let middle = (observed + z * z / (2.0 * trials)) / scale;
        let variance = observed * (1.0 - observed) / trials + z * z / (4.0 * trials * trials);
        let half = z * variance.sqrt() / scale;
        (middle - half, middle + half)
    }

    /// The closed form for whole numbers, as a sum of logarithms of factorials.
    fn exact(hits: u64, trials: u64, earlier_hits: u64, earlier_trials: u64) -> f64 {
        fn ln_factorial(n: u64) -> f64 {
            (1..=n).map(|i| (i as f64).ln()).sum()
        }
        fn ln_beta(a: u64, b: u64) -> f64 {
            ln_factorial(a - 1) + ln_factorial(b - 1) - ln_factorial(a + b - 1)
        }
        let (a, b) = (1 + earlier_hits, 1 + earlier_trials - earlier_hits);
        let (c, d) = (1 + hits, 1 + trials - hits);
        (0..c)
            .map(|i| {
                let ln = ln_beta(a + i, b + d)
                    - ((d + i) as f64).ln()
                    - ln_beta(1 + i, d)
                    - ln_beta(a, b);
                ln.exp()
            })
            .sum()
    }

    proptest! {
        #[test]
        fn intervals_contain_the_observed_rate_and_agree_with_wilson(
            trials in 5_u32..500,
            part in 0.0_f64..=1.0,
        ) {
            let hits = (f64::from(trials) * part).round();
            let rate = Rate::new(hits, f64::from(trials));
            let (low, high) = wilson(hits, f64::from(trials));
            prop_assert!(0.0 <= rate.low && rate.low <= rate.high && rate.high <= 1.0);
            prop_assert!((rate.low - low).abs() < 0.06, "{rate:?} {low}");
            prop_assert!((rate.high - high).abs() < 0.06, "{rate:?} {high}");
        }

        #[test]
        fn the_comparison_agrees_with_the_closed_form(
            trials in 0_u64..60,
            earlier in 0_u64..60,
            part in 0.0_f64..=1.0,
            earlier_part in 0.0_f64..=1.0,
        ) {
            let hits = (trials as f64 * part) as u64;
            let earlier_hits = (earlier as f64 * earlier_part) as u64;
            let computed = probability_larger(hits, trials, earlier_hits, earlier);
            let expected = exact(hits, trials, earlier_hits, earlier);
            prop_assert!((computed - expected).abs() < 1e-4, "{computed} {expected}");
        }
    }

    #[test]
    fn large_counts_are_compared() {
        assert!(probability_larger(500_000, 1_000_000, 400_000, 1_000_000) > 0.999);
        assert!((probability_larger(1_000, 100_000, 1_000, 100_000) - 0.5).abs() < 1e-6);
        assert!(probability_larger(0, 1_000_000, 0, 3) < 0.001);
    }

    #[test]
    fn weights_halve_with_each_half_life() {
        assert!((decay(0.0) - 1.0).abs() < 1e-12 && (decay(60.0) - 0.25).abs() < 1e-12);
    }
}
