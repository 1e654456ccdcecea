//! Parquet's hybrid of run lengths and packed bits ("RLE"), for small integers of known width:
//! <https://parquet.apache.org/docs/file-format/data-pages/encodings/>.

use super::thrift::{Reader, unsigned};

/// The bits that numbers below `n` need.
pub(super) fn width(n: usize) -> u32 {
    usize::BITS - n.saturating_sub(1).leading_zeros()
}

pub(super) fn write(out: &mut Vec<u8>, values: &[u32], width: u32) {
    // What stands from `from` to `at` waits to be packed: always a multiple of eight, but for the end.
    let (mut from, mut at) = (0, 0);
    while at < values.len() {
        let same = values[at..].iter().take_while(|v| **v == values[at]).count();
        let fill = (at - from).wrapping_neg() % 8;
        if same >= fill + 8 {
            pack(out, &values[from..at + fill], width);
            unsigned(out, ((same - fill) as u64) << 1);
            out.extend(&values[at].to_le_bytes()[..width.div_ceil(8) as usize]);
            from = at + same;
        }
        at += same;
    }
    pack(out, &values[from..], width);
}

/// Values in groups of eight, the lowest bits first; the last group is filled up with zeros.
fn pack(out: &mut Vec<u8>, values: &[u32], width: u32) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(8);
    unsigned(out, (groups as u64) << 1 | 1);
    let end = out.len() + groups * width as usize;
    let (mut bits, mut held) = (0u64, 0);
    for value in values {
        bits |= u64::from(*value) << held;
        held += width;
        while held >= 8 {
            out.push(bits as u8);
            bits >>= 8;
            held -= 8;
        }
    }
    if held > 0 {
        out.push(bits as u8);
    }
    out.resize(end, 0);
}

/// Reads `n` values. None: the bytes end too early or are malformed.
pub(super) fn read(reader: &mut Reader<'_>, width: u32, n: usize) -> Option<Vec<u32>> {
    if width > 32 {
        return None;
    }
    let mut values = Vec::new();
    while values.len() < n {
        let header = reader.unsigned()?;
        let missing = n - values.len();
        if header & 1 == 0 {
            let mut value = [0; 4];
            let bytes = width.div_ceil(8) as usize;
            value[..bytes].copy_from_slice(reader.take(bytes)?);
            let run = usize::try_from(header >> 1).ok().filter(|run| *run > 0)?;
            values.extend(std::iter::repeat_n(u32::from_le_bytes(value), run.min(missing)));
        } else {
            let groups = usize::try_from(header >> 1).ok().filter(|groups| *groups > 0)?;
            let mut packed = reader.take(groups.checked_mul(width as usize)?)?.iter();
            let (mut bits, mut held) = (0u64, 0);
            for _ in 0..groups.saturating_mul(8).min(missing) {
                while held < width {
                    bits |= u64::from(*packed.next()?) << held;
                    held += 8;
                }
                values.push((bits & ((1 << width) - 1)) as u32);
                bits >>= width;
                held -= width;
            }
        }
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            width in 0u32..=32,
            runs in proptest::collection::vec((any::<u32>(), 1usize..30), 0..20),
        ) {
            let mask = ((1u64 << width) - 1) as u32;
            let values: Vec<u32> =
                runs.iter().flat_map(|(x, n)| std::iter::repeat_n(x & mask, *n)).collect();
            let mut bytes = Vec::new();
            write(&mut bytes, &values, width);
            let mut reader = Reader(&bytes);
            prop_assert_eq!(read(&mut reader, width, values.len()), Some(values));
            prop_assert!(reader.0.is_empty());
        }

        #[test]
        fn any_bytes_end(width in 0u32..40, bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = read(&mut Reader(&bytes), width, 1000);
        }
    }

    /// "The numbers 1 through 7 using bit width 3", with 0 before them, of the specification.
    #[test]
    fn the_specifications_example() {
        let mut bytes = Vec::new();
        write(&mut bytes, &[0, 1, 2, 3, 4, 5, 6, 7], 3);
        assert_eq!(bytes, [0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
    }

    #[test]
    fn a_long_run_takes_two_bytes() {
        let mut bytes = Vec::new();
        write(&mut bytes, &[1; 50], 1);
        assert_eq!(bytes, [100, 1]);
    }

    #[test]
    fn numbers_have_their_width() {
        assert_eq!([0, 1, 2, 3, 256, 257].map(width), [0, 0, 1, 2, 8, 9]);
    }
}
