//! Reads a strict JSON object field by field. Errors name fields, never values.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::rule::{FieldFault, Rule};

/// An object whose fields are taken out one by one. A field of another type is an error; so is one
/// that nobody took.
pub(crate) struct Fields<'a> {
    object: &'a Map<String, Value>,
    taken: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Reads an object.
    pub(crate) fn of(value: &'a Value) -> Result<Self, FieldFault> {
        let object = value.as_object().ok_or_else(|| FieldFault::new("", Rule::Expected("an object")))?;
        Ok(Self { object, taken: Vec::new() })
    }

    /// The value of a field as it is.
    pub(crate) fn any(&mut self, name: &'static str) -> Option<&'a Value> {
        self.taken.push(name);
        self.object.get(name)
    }

    /// A text.
    pub(crate) fn text(&mut self, name: &'static str, rule: Rule) -> Result<Option<&'a str>, FieldFault> {
        self.typed(name, rule, Value::as_str)
    }

    /// A number.
    pub(crate) fn number(&mut self, name: &'static str) -> Result<Option<Number>, FieldFault> {
        self.typed(name, Rule::Expected("a number"), |value| value.as_number().cloned())
    }

    /// Yes or no.
    pub(crate) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, FieldFault> {
        self.typed(name, Rule::Expected("true or false"), Value::as_bool)
    }

    /// An object of anything.
    pub(crate) fn object(&mut self, name: &'static str) -> Result<Option<Map<String, Value>>, FieldFault> {
        self.typed(name, Rule::Expected("an object"), |value| value.as_object().cloned())
    }

    /// A list of texts.
    pub(crate) fn texts(&mut self, name: &'static str) -> Result<Option<Vec<String>>, FieldFault> {
        self.typed(name, Rule::Expected("a list of strings"), |value| {
            value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
        })
    }

    /// An object of texts.
    pub(crate) fn text_map(&mut self, name: &'static str) -> Result<Option<BTreeMap<String, String>>, FieldFault> {
        self.typed(name, Rule::Expected("an object of strings"), |value| {
            let entries = value.as_object()?.iter();
            entries.map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
        })
    }

    /// One of a closed list.
    pub(crate) fn one_of<T: Default>(
        &mut self,
        name: &'static str,
        options: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, FieldFault> {
        let parsed = self.typed(name, Rule::Option(options), |value| parse(value.as_str()?))?;
        Ok(parsed.unwrap_or_default())
    }

    /// Refuses what nobody took.
    pub(crate) fn end(self) -> Result<(), FieldFault> {
        match self.object.keys().find(|key| !self.taken.contains(&key.as_str())) {
            Some(key) => Err(FieldFault::new(key.clone(), Rule::UnknownKey)),
            None => Ok(()),
        }
    }

    fn typed<T>(
        &mut self,
        name: &'static str,
        rule: Rule,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, FieldFault> {
        match self.any(name) {
            Some(value) => read(value).map(Some).ok_or_else(|| FieldFault::new(name, rule)),
            None => Ok(None),
        }
    }
}
