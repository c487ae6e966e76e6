//! The matrix of documents and terms, of which most entries are zero.

use super::matrix::Matrix;

/// A matrix of documents (rows) and terms (columns) with the entries that are not zero.
#[derive(Debug, Default)]
pub(super) struct SparseMatrix {
    columns: usize,
    /// The end of each row in the entries.
    ends: Vec<usize>,
    entries: Vec<(u32, f32)>,
}

impl SparseMatrix {
    /// Creates a matrix from its entries, column by column, each with its row. The rows are counted
    /// first, so `column_entries` is called twice for each column.
    pub(super) fn from_columns<I>(
        rows: usize,
        columns: usize,
        column_entries: impl Fn(usize) -> I,
    ) -> Self
    where
        I: Iterator<Item = (usize, f32)>,
    {
        let mut starts = vec![0; rows + 1];
        for column in 0..columns {
            column_entries(column).for_each(|(row, _)| starts[row + 1] += 1);
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut entries = vec![(0, 0.0); starts[rows]];
        for column in 0..columns {
            for (row, value) in column_entries(column) {
                entries[starts[row]] = (u32::try_from(column).unwrap_or(u32::MAX), value);
                starts[row] += 1;
            }
        }
        // Each start was moved to the end of its row.
        starts.pop();
        Self {
            columns,
            ends: starts,
            entries,
        }
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn rows(&self) -> usize {
        self.ends.len()
    }

    fn row(&self, row: usize) -> &[(u32, f32)] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.entries[start..self.ends[row]]
    }

    /// Adds the product of one row of this matrix and `factor` to `sums`.
    pub(super) fn add_row_product(&self, row: usize, factor: &Matrix, sums: &mut [f32]) {
        for (column, value) in self.row(row) {
            add_multiple(sums, *value, factor.row(*column as usize));
        }
    }

    /// Returns the product of this matrix and another, which has a row for each column.
    pub(super) fn product(&self, factor: &Matrix) -> Matrix {
        let mut product = Matrix::zeros(self.rows(), factor.columns());
        for row in 0..self.rows() {
            self.add_row_product(row, factor, product.row_mut(row));
        }
        product
    }

    /// Returns the product of the transpose of this matrix and another, which has a row for each
    /// row.
    pub(super) fn transposed_product(&self, factor: &Matrix) -> Matrix {
        let mut product = Matrix::zeros(self.columns, factor.columns());
        for row in 0..self.rows() {
            for (column, value) in self.row(row) {
                add_multiple(product.row_mut(*column as usize), *value, factor.row(row));
            }
        }
        product
    }
}

fn add_multiple(sums: &mut [f32], factor: f32, values: &[f32]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += factor * value;
    }
}
