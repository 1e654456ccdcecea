//! Thrift's compact protocol, in which Parquet writes its metadata:
//! <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>.

/// A value with its type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    I8(i8),
    /// Of 16 bits when read, too.
    I32(i32),
    I64(i64),
    /// Of no use here; read so that it can be skipped.
    Double,
    Bytes(Vec<u8>),
    /// Values of one type.
    List(Vec<Value>),
    Struct(Struct),
}

/// The fields of a structure: number and value, in ascending order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Struct(pub Vec<(i16, Value)>);

impl Struct {
    pub(super) fn get(&self, id: i16) -> Option<&Value> {
        self.0.iter().find(|(i, _)| *i == id).map(|(_, value)| value)
    }

    pub(super) fn int(&self, id: i16) -> Option<i64> {
        match self.get(id)? {
            Value::I8(x) => Some(i64::from(*x)),
            Value::I32(x) => Some(i64::from(*x)),
            Value::I64(x) => Some(*x),
            _ => None,
        }
    }

    /// A length or position.
    pub(super) fn size(&self, id: i16) -> Option<usize> {
        usize::try_from(self.int(id)?).ok()
    }

    pub(super) fn text(&self, id: i16) -> Option<String> {
        match self.get(id)? {
            Value::Bytes(bytes) => String::from_utf8(bytes.clone()).ok(),
            _ => None,
        }
    }

    pub(super) fn structure(&self, id: i16) -> Option<&Struct> {
        match self.get(id)? {
            Value::Struct(fields) => Some(fields),
            _ => None,
        }
    }

    /// A list of structures.
    pub(super) fn structures(&self, id: i16) -> Option<Vec<&Struct>> {
        let Value::List(list) = self.get(id)? else { return None };
        list.iter()
            .map(|value| match value {
                Value::Struct(fields) => Some(fields),
                _ => None,
            })
            .collect()
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut last = 0;
        for (id, value) in &self.0 {
            // The fields that Parquet needs are never more than 15 apart.
            debug_assert!((1..16).contains(&(id - last)));
            out.push(((id - last) as u8) << 4 | value.kind());
            // A truth is told by its type.
            if !matches!(value, Value::Bool(_)) {
                value.write(out);
            }
            last = *id;
        }
        out.push(0);
    }
}

impl Value {
    /// The number of its type.
    fn kind(&self) -> u8 {
        match self {
            Value::Bool(true) => 1,
            Value::Bool(false) => 2,
            Value::I8(_) => 3,
            Value::I32(_) => 5,
            Value::I64(_) => 6,
            Value::Double => 7,
            Value::Bytes(_) => 8,
            Value::List(_) => 9,
            Value::Struct(_) => 12,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Value::Bool(_) => out.push(self.kind()),
            Value::I8(x) => out.push(*x as u8),
            Value::I32(x) => signed(out, i64::from(*x)),
            Value::I64(x) => signed(out, *x),
            Value::Double => out.extend([0; 8]),
            Value::Bytes(bytes) => {
                unsigned(out, bytes.len() as u64);
                out.extend(bytes);
            }
            Value::List(list) => {
                let kind = list.first().map_or(0, Value::kind);
                match list.len() {
                    short @ 0..15 => out.push((short as u8) << 4 | kind),
                    long => {
                        out.push(0xf0 | kind);
                        unsigned(out, long as u64);
                    }
                }
                list.iter().for_each(|value| value.write(out));
            }
            Value::Struct(fields) => fields.write(out),
        }
    }
}

/// A variable-length integer: seven bits a byte, the lowest first (ULEB128).
pub(super) fn unsigned(out: &mut Vec<u8>, mut x: u64) {
    while x >= 0x80 {
        out.push(x as u8 | 0x80);
        x >>= 7;
    }
    out.push(x as u8);
}

/// Signed integers alternate about zero ("zigzag").
fn signed(out: &mut Vec<u8>, x: i64) {
    unsigned(out, (x << 1 ^ x >> 63) as u64);
}

/// Structures within structures; Parquet has no more than this many.
const DEPTH: u32 = 16;

/// Bytes that are read from the front. None: they end too early or are malformed.
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }

    pub(super) fn unsigned(&mut self) -> Option<u64> {
        let mut x = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            x |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(x);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let x = self.unsigned()?;
        Some((x >> 1) as i64 ^ -((x & 1) as i64))
    }

    pub(super) fn structure(&mut self) -> Option<Struct> {
        self.fields(DEPTH)
    }

    fn fields(&mut self, depth: u32) -> Option<Struct> {
        let (mut fields, mut id) = (Vec::new(), 0i16);
        loop {
            let header = self.byte()?;
            if header == 0 {
                return Some(Struct(fields));
            }
            id = match header >> 4 {
                0 => i16::try_from(self.signed()?).ok()?,
                more => id.checked_add(i16::from(more))?,
            };
            let value = match header & 15 {
                1 => Value::Bool(true),
                2 => Value::Bool(false),
                kind => self.value(kind, depth.checked_sub(1)?)?,
            };
            fields.push((id, value));
        }
    }

    fn value(&mut self, kind: u8, depth: u32) -> Option<Value> {
        Some(match kind {
            1 | 2 => Value::Bool(self.byte()? == 1),
            3 => Value::I8(self.byte()? as i8),
            4 | 5 => Value::I32(i32::try_from(self.signed()?).ok()?),
            6 => Value::I64(self.signed()?),
            7 => self.take(8).map(|_| Value::Double)?,
            8 => {
                let length = usize::try_from(self.unsigned()?).ok()?;
                Value::Bytes(self.take(length)?.to_vec())
            }
            // A set is written as a list.
            9 | 10 => {
                let header = self.byte()?;
                let length = match header >> 4 {
                    15 => self.unsigned()?,
                    short => u64::from(short),
                };
                let depth = depth.checked_sub(1)?;
                // No capacity is reserved: every element takes a byte, and a false length ends here.
                (0..length).map(|_| self.value(header & 15, depth)).collect::<Option<_>>().map(Value::List)?
            }
            12 => Value::Struct(self.fields(depth)?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::Bool),
            any::<i8>().prop_map(Value::I8),
            any::<i32>().prop_map(Value::I32),
            any::<i64>().prop_map(Value::I64),
            Just(Value::Double),
            proptest::collection::vec(any::<u8>(), 0..200).prop_map(Value::Bytes),
        ];
        leaf.prop_recursive(3, 24, 20, |inner| {
            prop_oneof![
                (inner.clone(), 0usize..20).prop_map(|(value, n)| Value::List(vec![value; n])),
                proptest::collection::vec((1i16..16, inner), 0..6).prop_map(|fields| {
                    let mut id = 0;
                    let numbered = fields.into_iter().map(|(delta, value)| {
                        id += delta;
                        (id, value)
                    });
                    Value::Struct(Struct(numbered.collect()))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(value in values()) {
            let structure = Struct(vec![(1, value), (16, Value::I32(7))]);
            let mut bytes = Vec::new();
            structure.write(&mut bytes);
            let mut reader = Reader(&bytes);
            prop_assert_eq!(reader.structure(), Some(structure));
            prop_assert!(reader.0.is_empty());
        }

        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = Reader(&bytes).structure();
        }
    }

    /// The specification's examples of integers and of a field's header.
    #[test]
    fn the_specifications_examples() {
        let mut bytes = Vec::new();
        unsigned(&mut bytes, 50399);
        assert_eq!(bytes, [0xdf, 0x89, 0x03]);
        let zigzag = [(0, 0), (-1, 1), (1, 2), (-2, 3), (2, 4)];
        for (x, written) in zigzag {
            let mut bytes = Vec::new();
            signed(&mut bytes, x);
            assert_eq!(bytes, [written]);
        }
        let mut bytes = Vec::new();
        Struct(vec![(1, Value::I32(-1)), (3, Value::Bool(true))]).write(&mut bytes);
        assert_eq!(bytes, [0x15, 0x01, 0x21, 0x00]);
    }
}
