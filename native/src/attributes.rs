//! The attributes that matter, as written and as meant.

use std::borrow::Cow;

use crate::source::{Plain, value};

macro_rules! attributes {
    ($($name:ident $text:literal;)*) => {
        #[derive(Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Attribute { $($name),* }

        #[allow(non_upper_case_globals)]
        mod codes { $(pub const $name: u128 = crate::tags::packed_long($text);)* }

        pub fn attribute(name: &[u8]) -> Option<Attribute> {
            if name.len() > 16 {
                return None;
            }
            match crate::tags::packed_long(name) { $(codes::$name => Some(Attribute::$name),)* _ => None }
        }
    };
}

attributes! {
    Class b"class";
    Id b"id";
    Href b"href";
    Rel b"rel";
    Title b"title";
    Role b"role";
    Style b"style";
    Src b"src";
    Alt b"alt";
    Name b"name";
    Content b"content";
    Type b"type";
    Hidden b"hidden";
    Srcset b"srcset";
    DataSrc b"data-src";
    DataSrcset b"data-srcset";
    Property b"property";
    Itemprop b"itemprop";
    HttpEquiv b"http-equiv";
    Hreflang b"hreflang";
    Lang b"lang";
    XmlLang b"xml:lang";
    Poster b"poster";
    Data b"data";
    Datetime b"datetime";
    Pubdate b"pubdate";
    AriaHidden b"aria-hidden";
    Imagesrcset b"imagesrcset";
}

pub const fn bit(attribute: Attribute) -> u32 {
    1 << attribute as u32
}

/// Any of these makes an element interesting.
pub const ASKING: u32 =
    bit(Attribute::Hidden) | bit(Attribute::AriaHidden) | bit(Attribute::Role) | bit(Attribute::Style);

/// The attributes of the tag in work, as written.
#[derive(Default)]
pub struct Attributes<'a> {
    pub seen: u32,
    pub linked: bool, // with one of `xlink:`
    pub values: Vec<(u8, &'a str)>,
}

impl<'a> Attributes<'a> {
    pub fn has(&self, attribute: Attribute) -> bool {
        self.seen & bit(attribute) != 0
    }

    pub fn written(&self, attribute: Attribute) -> Option<&'a str> {
        if !self.has(attribute) {
            return None;
        }
        self.values.iter().find(|entry| entry.0 == attribute as u8).map(|entry| entry.1)
    }

    /// Its value; empty where there is none.
    pub fn get(&self, attribute: Attribute) -> Plain<Cow<'a, str>> {
        self.written(attribute).map_or(Ok(Cow::Borrowed("")), value)
    }

    pub fn first_of(&self, attributes: &[Attribute]) -> Plain<Cow<'a, str>> {
        for &attribute in attributes {
            let found = self.get(attribute)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Cow::Borrowed(""))
    }
}
