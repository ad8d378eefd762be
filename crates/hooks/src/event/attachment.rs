//! Media of a final turn.

use jackline_model::Part;
use serde::Serialize;

/// One picture, file, sound or film of the final turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: AttachmentKind,
    /// Its bytes, or where they are.
    #[serde(flatten)]
    pub source: AttachmentSource,
    /// The media type, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The name to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// What an attachment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AttachmentKind {
    /// A picture.
    Image,
    /// Anything else.
    File,
    /// Moving pictures.
    Video,
    /// Sound.
    Audio,
}

/// Where the bytes of an attachment are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AttachmentSource {
    /// Here, in base64.
    Data(String),
    /// Behind an `http` or `https` URL.
    FetchUrl(String),
}

impl Attachment {
    /// Reads a part of a message. Text is no attachment; neither is a URL of any other scheme.
    ///
    /// The kind of a `data:` URL follows its media type.
    ///
    /// ```
    /// use jackline_hooks::{Attachment, AttachmentKind, AttachmentSource};
    /// use jackline_model::Part;
    /// let part = Part::Image { url: "data:audio/wav;base64,UklGRg==".to_owned() };
    /// let attachment = Attachment::from_part(&part).unwrap();
    /// assert_eq!(attachment.kind, AttachmentKind::Audio);
    /// assert_eq!(attachment.source, AttachmentSource::Data("UklGRg==".to_owned()));
    /// assert_eq!(Attachment::from_part(&Part::Image { url: "file:///a.png".to_owned() }), None);
    /// ```
    pub fn from_part(part: &Part) -> Option<Self> {
        match part {
            Part::Text { .. } => None,
            Part::Image { url } => Self::from_url(url, AttachmentKind::Image, None),
            Part::File { url, name } => Self::from_url(url, AttachmentKind::File, name.clone()),
            Part::Audio { url } => Self::from_url(url, AttachmentKind::Audio, None),
            Part::Video { url } => Self::from_url(url, AttachmentKind::Video, None),
        }
    }

    fn from_url(url: &str, kind: AttachmentKind, name: Option<String>) -> Option<Self> {
        if let Some((mime, data)) = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
            return Some(Self {
                kind: kind_of(mime),
                source: AttachmentSource::Data(data.to_owned()),
                mime_type: Some(mime.to_owned()),
                name,
            });
        }
        let fetchable = url.starts_with("http://") || url.starts_with("https://");
        fetchable.then(|| Self { kind, source: AttachmentSource::FetchUrl(url.to_owned()), mime_type: None, name })
    }
}

fn kind_of(mime: &str) -> AttachmentKind {
    match mime.split('/').next() {
        Some("image") => AttachmentKind::Image,
        Some("video") => AttachmentKind::Video,
        Some("audio") => AttachmentKind::Audio,
        Some(_) | None => AttachmentKind::File,
    }
}
