//! Vectors of one byte per dimension.

/// Rows of numbers of one byte each, with a factor for each row.
///
/// Rounding to 255 steps changes the cosine of two rows by less than 0.01, and a row takes a
/// quarter of its size.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct QuantizedRows {
    dimensions: usize,
    values: Vec<i8>,
    /// What a step of each row stands for.
    steps: Vec<f32>,
}

/// The largest value; -128 is not used, so that a row and its negative are alike.
const MAX_VALUE: f32 = 127.0;

impl QuantizedRows {
    /// Creates rows of this many numbers, at least one.
    pub(crate) fn new(dimensions: usize) -> Self {
        Self {
            dimensions: dimensions.max(1),
            values: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Creates rows from their bytes; `None` if the lengths do not match, or if a step is not from 0
    /// to 1: rows have a length of at most 1, and a larger step could make a cosine infinite.
    pub(crate) fn from_parts(dimensions: usize, values: Vec<i8>, steps: Vec<f32>) -> Option<Self> {
        let is_valid = dimensions > 0
            && values.len() == steps.len().checked_mul(dimensions)?
            && steps.iter().all(|step| (0.0..=1.0).contains(step));
        is_valid.then_some(Self {
            dimensions,
            values,
            steps,
        })
    }

    /// Adds a row. Numbers beyond the dimensions are ignored, missing ones are 0.
    pub(crate) fn push(&mut self, row: &[f32]) {
        let largest = row.iter().fold(0.0_f32, |max, value| max.max(value.abs()));
        let step = largest / MAX_VALUE;
        let quantize = |value: f32| match step > 0.0 {
            true => (value / step).round().clamp(-MAX_VALUE, MAX_VALUE) as i8,
            false => 0,
        };
        let padded = row.iter().copied().chain(std::iter::repeat(0.0));
        self.values
            .extend(padded.take(self.dimensions).map(quantize));
        self.steps.push(step);
    }

    /// Adds a row in the direction of `row`, of length 1; a row of zeros stays zero.
    pub(crate) fn push_unit(&mut self, row: &[f32]) {
        self.push(row);
        let length = norm(self.row(self.len() - 1));
        if let Some(step) = self.steps.last_mut() {
            *step = if length > 0.0 { length.recip() } else { 0.0 };
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.dimensions
    }

    pub(crate) fn values(&self) -> &[i8] {
        &self.values
    }

    pub(crate) fn steps(&self) -> &[f32] {
        &self.steps
    }

    /// Returns the size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.values.len() + self.steps.len() * size_of::<f32>()
    }

    fn row(&self, number: usize) -> &[i8] {
        &self.values[number * self.dimensions..(number + 1) * self.dimensions]
    }

    /// Adds a multiple of a row to a vector.
    pub(crate) fn add_row(&self, number: usize, factor: f32, vector: &mut [f32]) {
        let factor = factor * self.steps[number];
        for (sum, value) in vector.iter_mut().zip(self.row(number)) {
            *sum += factor * f32::from(*value);
        }
    }

    /// Returns the cosine of a vector and each row, which must be of length 1; 0 for a row or a
    /// vector of zeros.
    pub(crate) fn cosines(&self, vector: &[f32]) -> impl Iterator<Item = f32> {
        let mut unit = Self::new(self.dimensions);
        unit.push_unit(vector);
        let step = unit.steps[0];
        let vector: Vec<i16> = unit.values.iter().map(|value| i16::from(*value)).collect();
        let rows = self.values.chunks_exact(self.dimensions);
        rows.zip(&self.steps)
            .map(move |(row, row_step)| dot(row, &vector) as f32 * row_step * step)
    }
}

fn norm(row: &[i8]) -> f32 {
    let squares = row.iter().map(|value| i32::from(*value).pow(2));
    (squares.sum::<i32>() as f32).sqrt()
}

fn dot(row: &[i8], vector: &[i16]) -> i32 {
    // In parts of 16, which compilers turn into instructions for 8 products of 16 bits.
    let ((parts, rest), (vector_parts, vector_rest)) = (row.as_chunks(), vector.as_chunks());
    let part = |(row, vector): (&[i8; 16], &[i16; 16])| -> i32 { products(row, vector).sum() };
    let total: i32 = parts.iter().zip(vector_parts).map(part).sum();
    total + products(rest, vector_rest).sum::<i32>()
}

fn products(row: &[i8], vector: &[i16]) -> impl Iterator<Item = i32> {
    let pairs = row.iter().zip(vector);
    pairs.map(|(a, b)| i32::from(*a) * i32::from(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_the_rounding() {
        let mut units = QuantizedRows::new(3);
        units.push_unit(&[3.0, 4.0, 0.0]);
        units.push_unit(&[0.0, 0.0, 0.0]);
        units.push_unit(&[-30.0, -40.0, 0.0]);
        let cosines: Vec<f32> = units.cosines(&[1.0, 0.0, 0.0]).collect();
        for (cosine, expected) in cosines.iter().zip([0.6, 0.0, -0.6]) {
            assert!((cosine - expected).abs() < 0.01, "{cosines:?}");
        }
        assert!(units.cosines(&[0.0; 3]).all(|cosine| cosine == 0.0));
        let mut rows = QuantizedRows::new(3);
        rows.push(&[3.0, 4.0]);
        let mut sum = vec![0.0; 3];
        rows.add_row(0, 2.0, &mut sum);
        assert!((sum[0] - 6.0).abs() < 0.05 && (sum[1] - 8.0).abs() < 0.05 && sum[2] == 0.0);
    }

    #[test]
    fn rows_of_other_lengths_are_rejected() {
        assert!(QuantizedRows::from_parts(2, vec![1, 2, 3, 4], vec![1.0, 0.5]).is_some());
        assert!(QuantizedRows::from_parts(2, vec![1, 2, 3], vec![1.0, 0.5]).is_none());
        for step in [f32::NAN, f32::INFINITY, -0.5, 1.5] {
            assert!(QuantizedRows::from_parts(2, vec![1, 2], vec![step]).is_none());
        }
        assert!(QuantizedRows::from_parts(0, Vec::new(), Vec::new()).is_none());
    }
}
