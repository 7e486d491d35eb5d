//! A natural logarithm that gives the same bits on every machine.
//!
//! The standard one is whatever the platform's library does. This one is sums and products in a
//! fixed order, good to about 1e-12 for what rarity asks.

/// For finite `x > 0`.
pub(crate) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = i32::try_from((bits >> 52) & 0x7ff).unwrap_or(1023) - 1023;
    let mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    let (mantissa, exponent) = if mantissa > std::f64::consts::SQRT_2 {
        (mantissa / 2.0, exponent + 1)
    } else {
        (mantissa, exponent)
    };
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for odd in [15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        sum = sum * square + 1.0 / odd;
    }
    2.0 * s * sum + f64::from(exponent) * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_agrees_with_the_platform(x in 1e-3_f64..1e7) {
            prop_assert!((ln(x) - x.ln()).abs() < 1e-11, "{x}");
        }
    }
}
