//! Values of Rust as trees. All that is written or compared goes through this one serializer: for each further one
//! the compiler translates the parameters of all algorithms again.

use serde::ser::{self, Impossible, Serialize, Serializer};

use crate::tree::{Entry, Fault, Node, Value};

impl Node {
    /// The tree of a value; what has none, such as an absent field, is left out.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Node, Fault> {
        let value = value.serialize(ToTree)?.ok_or_else(|| refused("nothing"))?;
        Ok(Node { value, span: None })
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::String(s) => serializer.serialize_str(s),
            Value::Integer(n) => serializer.serialize_i64(*n),
            Value::Float(x) => serializer.serialize_f64(*x),
            Value::Bool(b) => serializer.serialize_bool(*b),
            Value::Array(items) => serializer.collect_seq(items),
            Value::Table(entries) => serializer.collect_map(entries.iter().map(|e| (&e.key, &e.node))),
        }
    }
}

type Tree = Result<Option<Value>, Fault>;

fn refused(what: &str) -> Fault {
    ser::Error::custom(format!("{what} has no form in a scenario"))
}

struct ToTree;

/// A list or a table as its parts come.
#[derive(Default)]
struct Parts {
    items: Vec<Node>,
    entries: Vec<Entry>,
    key: String,
}

impl Parts {
    fn insert<T: Serialize + ?Sized>(&mut self, key: String, value: &T) -> Result<(), Fault> {
        if let Some(value) = value.serialize(ToTree)? {
            self.entries.push(Entry { key, key_span: None, node: Node { value, span: None } });
        }
        Ok(())
    }
}

/// Methods that make a value of what they are given.
macro_rules! values {
    ($($method:ident: $t:ty => $value:ident,)*) => {
        $(fn $method(self, x: $t) -> Tree { Ok(Some(Value::$value(x.into()))) })*
    };
}

/// Methods for what no scenario has.
macro_rules! refusals {
    ($($method:ident($($t:ty),*) -> $out:ty,)*) => {
        $(fn $method(self, $(_: $t),*) -> Result<$out, Fault> { Err(refused("such a value")) })*
    };
}

impl Serializer for ToTree {
    type Ok = Option<Value>;
    type Error = Fault;
    type SerializeSeq = Parts;
    type SerializeTuple = Parts;
    type SerializeTupleStruct = Impossible<Option<Value>, Fault>;
    type SerializeTupleVariant = Impossible<Option<Value>, Fault>;
    type SerializeMap = Parts;
    type SerializeStruct = Parts;
    type SerializeStructVariant = Impossible<Option<Value>, Fault>;

    values! {
        serialize_bool: bool => Bool,
        serialize_i8: i8 => Integer,
        serialize_i16: i16 => Integer,
        serialize_i32: i32 => Integer,
        serialize_i64: i64 => Integer,
        serialize_u8: u8 => Integer,
        serialize_u16: u16 => Integer,
        serialize_u32: u32 => Integer,
        serialize_f32: f32 => Float,
        serialize_f64: f64 => Float,
        serialize_char: char => String,
        serialize_str: &str => String,
    }

    refusals! {
        serialize_bytes(&[u8]) -> Option<Value>,
        serialize_unit() -> Option<Value>,
        serialize_unit_struct(&'static str) -> Option<Value>,
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct,
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant,
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant,
    }

    fn serialize_u64(self, n: u64) -> Tree {
        i64::try_from(n).map(|n| Some(Value::Integer(n))).map_err(|_| refused("a number above 2^63"))
    }

    fn serialize_none(self) -> Tree {
        Ok(None)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Tree {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Tree {
        self.serialize_str(name)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Tree {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Tree {
        let mut table = Parts::default();
        table.insert(name.to_string(), value)?;
        Ok(Some(Value::Table(table.entries)))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts, Fault> {
        Ok(Parts::default())
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts, Fault> {
        Ok(Parts::default())
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts, Fault> {
        Ok(Parts::default())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Parts, Fault> {
        Ok(Parts::default())
    }
}

/// Makes a list of what comes in one of serde's ways.
macro_rules! list {
    ($($way:ident)*) => {$(
        impl ser::$way for Parts {
            type Ok = Option<Value>;
            type Error = Fault;

            fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
                self.items.push(Node::of(value)?);
                Ok(())
            }

            fn end(self) -> Tree {
                Ok(Some(Value::Array(self.items)))
            }
        }
    )*};
}
list!(SerializeSeq SerializeTuple);

impl ser::SerializeMap for Parts {
    type Ok = Option<Value>;
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Fault> {
        let Some(Value::String(key)) = key.serialize(ToTree)? else { return Err(refused("such a key")) };
        self.key = key;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        let key = std::mem::take(&mut self.key);
        self.insert(key, value)
    }

    fn end(self) -> Tree {
        Ok(Some(Value::Table(self.entries)))
    }
}

impl ser::SerializeStruct for Parts {
    type Ok = Option<Value>;
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Fault> {
        self.insert(key.to_string(), value)
    }

    fn end(self) -> Tree {
        Ok(Some(Value::Table(self.entries)))
    }
}
