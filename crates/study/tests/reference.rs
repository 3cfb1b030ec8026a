//! Promise: `docs/reference/study.md` and `docs/reference/selector.md` have the keys of the JSON
//! Schemas. With `UPDATE_EXPECT=1` the pages are written.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value as Json;

/// Returns the values that a key can have.
fn value_text(node: &Json) -> String {
    if let Some(definition) = node["$ref"].as_str() {
        return definition.rsplit('/').next().unwrap_or_default().to_owned();
    }
    if let Some(same) = node["allOf"].get(0) {
        return value_text(same);
    }
    let words = node["enum"].as_array().cloned();
    if let Some(words) = words.or_else(|| Some(vec![node.get("const")?.clone()])) {
        let words = words.iter().map(|word| format!("`{word}`"));
        return words.collect::<Vec<_>>().join(", ");
    }
    let types = node["type"].as_array().cloned();
    let types = types.unwrap_or_else(|| vec![node["type"].clone()]);
    let types = types.iter().map(|one| match one.as_str() {
        Some("object") => "table".to_owned(),
        Some("array") => format!("list of {}", value_text(&node["items"])),
        other => other.expect("a type").to_owned(),
    });
    let bounds = [
        ("minimum", "at least"),
        ("exclusiveMinimum", "above"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "below"),
    ];
    let bounds = bounds
        .iter()
        .filter_map(|(key, word)| Some(format!("{word} {}", node.get(key)?)));
    let parts = [types.collect::<Vec<_>>().join(" or ")];
    parts
        .into_iter()
        .chain(bounds)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Adds the description of a table, the keys, and the tables in this table.
fn add_table(node: &Json, path: &str, page: &mut String) {
    let description = node["description"].as_str().unwrap_or_default();
    let _ = writeln!(page, "\n{description}");
    let Some(properties) = node["properties"].as_object() else {
        return;
    };
    *page += "\n| key | value | meaning |\n|---|---|---|\n";
    for (key, value) in properties {
        let mut required = node["required"].as_array().into_iter().flatten();
        let needed = if required.any(|name| name == key) {
            "; required"
        } else {
            ""
        };
        let meaning = value["description"].as_str().unwrap_or_default();
        let (values, meaning) = (value_text(value), meaning.replace('|', "\\|"));
        let _ = writeln!(page, "| `{key}` | {values}{needed} | {meaning} |");
    }
    for (key, value) in properties
        .iter()
        .filter(|(_, value)| value.get("properties").is_some())
    {
        let path = format!("{path}{key}");
        let _ = writeln!(page, "\n## `[{path}]`");
        add_table(value, &format!("{path}."), page);
    }
}

/// Returns the page of a schema.
fn schema_page(schema: &Json) -> String {
    let mut page = format!("# {}\n", schema["title"].as_str().expect("a title"));
    add_table(schema, "", &mut page);
    for (name, definition) in schema["definitions"].as_object().expect("definitions") {
        let _ = writeln!(page, "\n## A value `{name}`");
        add_table(definition, "", &mut page);
    }
    page
}

#[test]
fn the_pages_have_the_keys_of_the_schemas() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in ["study", "selector"] {
        let schema = root.join(format!("crates/cli/schemas/{name}.schema.json"));
        let schema = std::fs::read_to_string(schema).expect("a schema");
        let expected = schema_page(&serde_json::from_str(&schema).expect("JSON"));
        let path = root.join(format!("docs/reference/{name}.md"));
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&path, &expected).expect("the page can be written");
        }
        let found = std::fs::read_to_string(&path).expect("a page");
        assert!(found == expected, "run this test with UPDATE_EXPECT=1");
    }
}
