//! Dense matrices with few columns.

/// A matrix whose rows are stored one after the other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Matrix {
    columns: usize,
    values: Vec<f32>,
}

/// A column that is this small after its parts along the others were removed depends on them.
const MIN_INDEPENDENT_SHARE: f64 = 1e-6;

impl Matrix {
    /// Creates a matrix of zeros with at least one column.
    pub(super) fn zeros(rows: usize, columns: usize) -> Self {
        let columns = columns.max(1);
        Self {
            columns,
            values: vec![0.0; rows * columns],
        }
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    pub(super) fn row_mut(&mut self, row: usize) -> &mut [f32] {
        &mut self.values[row * self.columns..(row + 1) * self.columns]
    }

    pub(super) fn rows(&self) -> std::slice::ChunksExact<'_, f32> {
        self.values.chunks_exact(self.columns)
    }

    /// Makes the columns orthonormal without changing the space that they span. A column that
    /// depends on those before it becomes zero.
    ///
    /// `M = Q R`, where `R` is the Cholesky factor of `Mᵀ M`: unlike reflections, this passes over
    /// the rows twice only.
    pub(super) fn orthonormalize(&mut self) {
        let factor = cholesky(self.gram(), self.columns);
        for row in self.values.chunks_exact_mut(self.columns) {
            for column in 0..factor.len() {
                let inverse = factor[column][column];
                let value = row[column] * inverse;
                row[column] = value;
                if value != 0.0 {
                    let later = row[column + 1..].iter_mut();
                    for (entry, part) in later.zip(&factor[column][column + 1..]) {
                        *entry -= value * part;
                    }
                }
            }
        }
    }

    /// Returns the upper half of the products of all columns.
    fn gram(&self) -> Vec<Vec<f64>> {
        /// Sums of so many rows are added up in `f32`, which is faster, before they are added to
        /// the total, which must be exact.
        const BLOCK: usize = 64;
        let mut total = vec![vec![0.0_f64; self.columns]; self.columns];
        let mut block = vec![0.0_f32; self.columns * self.columns];
        for rows in self.values.chunks(BLOCK * self.columns) {
            block.fill(0.0);
            for row in rows.chunks_exact(self.columns) {
                for (column, value) in row.iter().enumerate() {
                    let sums = &mut block[column * self.columns..(column + 1) * self.columns];
                    for (sum, other) in sums[column..].iter_mut().zip(&row[column..]) {
                        *sum += value * other;
                    }
                }
            }
            for (total, sums) in total.iter_mut().zip(block.chunks_exact(self.columns)) {
                for (total, sum) in total.iter_mut().zip(sums) {
                    *total += f64::from(*sum);
                }
            }
        }
        total
    }
}

/// Returns the upper triangular factor `R` with `Rᵀ R = gram`, by rows. The diagonal has the
/// inverse of its values; 0 for a column that depends on those before it.
fn cholesky(mut gram: Vec<Vec<f64>>, columns: usize) -> Vec<Vec<f32>> {
    let mut factor = Vec::with_capacity(columns);
    let diagonal: Vec<f64> = (0..columns).map(|column| gram[column][column]).collect();
    for column in 0..columns {
        let mut row = std::mem::take(&mut gram[column]);
        let rest = row[column];
        let is_independent = rest > diagonal[column] * MIN_INDEPENDENT_SHARE && rest > 0.0;
        let inverse = if is_independent {
            rest.sqrt().recip()
        } else {
            0.0
        };
        row[column..].iter_mut().for_each(|value| *value *= inverse);
        for later in column + 1..columns {
            let part = row[later];
            for other in later..columns {
                gram[later][other] -= part * row[other];
            }
        }
        row[column] = inverse;
        factor.push(row.into_iter().map(|value| value as f32).collect());
    }
    factor
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[f32]]) -> Matrix {
        let mut matrix = Matrix::zeros(rows.len(), rows[0].len());
        for (number, row) in rows.iter().enumerate() {
            matrix.row_mut(number).copy_from_slice(row);
        }
        matrix
    }

    fn product(matrix: &Matrix, a: usize, b: usize) -> f32 {
        matrix.rows().map(|row| row[a] * row[b]).sum()
    }

    #[test]
    fn columns_become_orthonormal_and_span_the_same_space() {
        let before = matrix(&[&[1.0, 1.0], &[0.0, 2.0], &[1.0, 0.0], &[0.0, 5.0]]);
        let mut after = before.clone();
        after.orthonormalize();
        assert!((product(&after, 0, 0) - 1.0).abs() < 1e-5);
        assert!((product(&after, 1, 1) - 1.0).abs() < 1e-5);
        assert!(product(&after, 0, 1).abs() < 1e-5);
        // The first column keeps its direction.
        assert!((after.row(0)[0] - 0.5_f32.sqrt()).abs() < 1e-5);
    }

    #[test]
    fn dependent_columns_become_zero() {
        let mut dependent = matrix(&[&[1.0, 2.0, 0.0], &[2.0, 4.0, 0.0], &[0.0, 0.0, 0.0]]);
        dependent.orthonormalize();
        assert!((product(&dependent, 0, 0) - 1.0).abs() < 1e-5);
        assert!(product(&dependent, 1, 1) < 1e-9 && product(&dependent, 2, 2) < 1e-9);
    }
}
