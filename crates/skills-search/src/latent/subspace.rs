//! The directions in which the documents differ most.

use super::matrix::Matrix;
use super::sparse_matrix::SparseMatrix;

/// How often the directions are refined. Without, they are good; twice, they no longer change what
/// a search finds.
const ITERATIONS: usize = 2;

/// Returns orthonormal directions, one for each column of the result, that span about the space of
/// the largest singular vectors of the rows: the randomized range finder of Halko, Martinsson and
/// Tropp, with subspace iteration.
///
/// The directions are not the singular vectors themselves, but angles between documents are the
/// same in any orthonormal basis of a space, so no eigenvalue problem is solved. There are at most
/// `directions`, at least one; those that the matrix does not have are zero. The same matrix gives
/// the same directions.
pub(super) fn dominant_directions(matrix: &SparseMatrix, directions: usize) -> Matrix {
    let most = matrix.rows().min(matrix.columns());
    let mut right = random_signs(matrix.columns(), directions.min(most));
    for iteration in 0..=ITERATIONS {
        let mut left = matrix.product(&right);
        left.orthonormalize();
        right = matrix.transposed_product(&left);
        if iteration == ITERATIONS {
            right.orthonormalize();
        }
    }
    right
}

/// Returns a matrix of `1.0` and `-1.0`, always the same ones.
fn random_signs(rows: usize, columns: usize) -> Matrix {
    let mut matrix = Matrix::zeros(rows, columns);
    let mut state = 0_u64;
    for row in 0..rows {
        let mut bits = 0;
        for (column, value) in matrix.row_mut(row).iter_mut().enumerate() {
            if column % 64 == 0 {
                bits = split_mix(&mut state);
            }
            *value = if bits >> (column % 64) & 1 == 1 {
                1.0
            } else {
                -1.0
            };
        }
    }
    matrix
}

/// Returns the next number of the generator SplitMix64.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut bits = *state;
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the matrix `Σ strength_i u_i v_iᵀ` with known singular values: its documents are
    /// blocks, each with terms of its own.
    fn blocks(strengths: &[f32]) -> SparseMatrix {
        const DOCUMENTS: usize = 4;
        const TERMS: usize = 3;
        let columns = strengths.len() * TERMS;
        SparseMatrix::from_columns(strengths.len() * DOCUMENTS, columns, |column| {
            let block = column / TERMS;
            let strength = strengths[block];
            (block * DOCUMENTS..(block + 1) * DOCUMENTS).map(move |row| (row, strength))
        })
    }

    /// Returns how much of a vector lies in the directions, from 0 to 1.
    fn share(directions: &Matrix, vector: &[f32]) -> f32 {
        let parts = (0..directions.columns()).map(|direction| {
            let products = directions.rows().zip(vector);
            products
                .map(|(row, value)| row[direction] * value)
                .sum::<f32>()
        });
        let length: f32 = vector.iter().map(|value| value * value).sum();
        parts.map(|part| part * part).sum::<f32>() / length
    }

    #[test]
    fn the_strongest_directions_are_found() {
        let strengths = [9.0, 0.5, 7.0, 0.4, 5.0, 0.3, 0.2, 0.1];
        let directions = dominant_directions(&blocks(&strengths), 3);
        for (block, strength) in strengths.into_iter().enumerate() {
            let vector: Vec<f32> = (0..strengths.len() * 3)
                .map(|column| if column / 3 == block { 1.0 } else { 0.0 })
                .collect();
            let share = share(&directions, &vector);
            let is_strong = strength > 1.0;
            assert!((share > 0.999) == is_strong, "{block}: {share}");
        }
    }

    #[test]
    fn a_matrix_with_fewer_directions_than_asked_for_is_spanned() {
        let directions = dominant_directions(&blocks(&[2.0, 1.0]), 128);
        assert!(share(&directions, &[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]) > 0.999);
        assert!(share(&directions, &[1.0, -1.0, 0.0, 0.0, 0.0, 0.0]) < 1e-3);
        let empty = SparseMatrix::default();
        assert_eq!(dominant_directions(&empty, 128).rows().count(), 0);
    }
}
