//! Arithmetic of which it was proven before that it does not wrap.

/// Sums, differences and products that are exact: a check before them has bounded the operands, for
/// example that a block lies in the file. A device needs no code for another result; a build with
/// debug assertions, as tests are, checks the proof.
pub(crate) trait Exact: Copy {
    fn exact_add(self, other: Self) -> Self;
    fn exact_sub(self, other: Self) -> Self;
    fn exact_mul(self, other: Self) -> Self;
}

macro_rules! exact {
    ($($int:ty)*) => {$(
        impl Exact for $int {
            #[inline]
            fn exact_add(self, other: Self) -> Self {
                debug_assert!(self.checked_add(other).is_some(), "{self} + {other}");
                self.wrapping_add(other)
            }

            #[inline]
            fn exact_sub(self, other: Self) -> Self {
                debug_assert!(self >= other, "{self} - {other}");
                self.wrapping_sub(other)
            }

            #[inline]
            fn exact_mul(self, other: Self) -> Self {
                debug_assert!(self.checked_mul(other).is_some(), "{self} * {other}");
                self.wrapping_mul(other)
            }
        }
    )*};
}
exact!(u32 u64 usize);
