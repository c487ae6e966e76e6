//! Tests of the public API: documents and queries in, order and spans out.

mod encoding;
mod near_duplicates;
mod ranking;
mod sections;

use skills_search::{Document, IndexBuilder, SearchIndex};

/// The skills of most tests: name, description, body.
const SKILLS: [[&str; 3]; 8] = [
    [
        "pdf",
        "Reads and merges PDF files.",
        "Rotate pages with the tool.",
    ],
    [
        "weather-report",
        "Tells the forecast for a city.",
        "Call the service.",
    ],
    [
        "spreadsheets",
        "Edits tables and formulas.",
        "Also charts and pivots.",
    ],
    [
        "gitHubIssues",
        "Opens and closes tickets.",
        "Uses the API of GitHub.",
    ],
    [
        "csdn-publisher",
        "写文章并发布到博客。",
        "使用浏览器自动化。",
    ],
    ["amap", "地点搜索、天气查询和路线规划。", "调用地图服务。"],
    [
        "calendar",
        "Plans meetings.",
        "Checks free hours of people.",
    ],
    [
        "containers",
        "Builds Docker images.",
        "Multi-stage builds for Node.js.",
    ],
];

fn index() -> SearchIndex {
    build(&SKILLS)
}

fn build(skills: &[[&str; 3]]) -> SearchIndex {
    let mut builder = IndexBuilder::new();
    add_all(&mut builder, skills);
    builder.build()
}

fn add_all(builder: &mut IndexBuilder<'_>, skills: &[[&str; 3]]) {
    for [name, description, body] in skills {
        builder.add(&Document::new(name, description, body));
    }
}
