//! What tests of pictures share: SVG read as XML.

use quick_xml::events::Event;
use quick_xml::reader::Reader;

/// What a test wants to know of an SVG: the class of the group, the element, its attributes, its text.
#[derive(Debug, Clone, Default)]
pub struct Element {
    pub group: String,
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub text: String,
}

impl Element {
    pub fn get(&self, name: &str) -> &str {
        self.attributes.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    pub fn points(&self) -> Vec<(f64, f64)> {
        self.get("points")
            .split_whitespace()
            .map(|pair| {
                let (x, y) = pair.split_once(',').unwrap();
                (x.parse::<f64>().unwrap() / 10.0, y.parse::<f64>().unwrap() / 10.0)
            })
            .collect()
    }
}

/// Reads the document as XML, which fails where it is none.
pub fn elements(svg: &str) -> Vec<Element> {
    let mut reader = Reader::from_str(svg);
    reader.config_mut().check_end_names = true;
    let (mut found, mut group): (Vec<Element>, String) = (Vec::new(), String::new());
    loop {
        match reader.read_event().unwrap() {
            Event::Eof => return found,
            Event::Start(start) | Event::Empty(start) => {
                let attributes: Vec<(String, String)> = start
                    .attributes()
                    .map(|attribute| {
                        let attribute = attribute.unwrap();
                        let key = attribute.key.as_ref().to_owned();
                        (key, attribute.value.into_owned())
                    })
                    .collect();
                let name = start.name().as_ref().to_owned();
                let mut element = Element { group: group.clone(), name, attributes, text: String::new() };
                if element.name == "g" {
                    group = element.get("class").to_owned();
                    element.group.clone_from(&group);
                }
                found.push(element);
            }
            Event::Text(text) => {
                if let Some(last) = found.last_mut() {
                    last.text.push_str(&text);
                }
            }
            Event::GeneralRef(name) => {
                if let Some(last) = found.last_mut() {
                    last.text.push_str(&format!("&{};", &*name));
                }
            }
            _ => {}
        }
    }
}

pub fn of<'a>(elements: &'a [Element], group: &str, name: &str) -> Vec<&'a Element> {
    elements.iter().filter(|element| element.group == group && element.name == name).collect()
}

pub fn texts(elements: &[Element], group: &str) -> Vec<String> {
    of(elements, group, "text").into_iter().map(|element| element.text.trim().to_owned()).collect()
}
