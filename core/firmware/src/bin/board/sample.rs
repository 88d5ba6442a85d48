//! What the board measures: numbers that a reader can compute again. tests/interop/board_logs.py
//! has them a second time.

/// Most rows of an acceleration.
pub const MAX_ROWS: usize = 8;

/// What is logged at once.
pub struct Sample {
    pub second: u32,
    /// K.
    pub temperature: f32,
    /// m/s^2 along x, y, z; as many rows as there were since the last sample.
    acceleration: [[f32; 3]; MAX_ROWS],
    rows: usize,
}

impl Sample {
    /// Sample number `n`.
    pub fn take(n: u32) -> Self {
        let x = n as f32;
        let row = |row: usize| [x, -x, x + row as f32 / 8.0];
        Self {
            second: 10 * n,
            temperature: 290.0 + (n % 64) as f32 / 4.0,
            acceleration: core::array::from_fn(row),
            rows: n as usize % (MAX_ROWS + 1),
        }
    }

    pub fn acceleration(&self) -> &[[f32; 3]] {
        &self.acceleration[..self.rows]
    }
}
