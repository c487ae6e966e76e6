//! Rules and word lists for requests in Chinese.
//!
//! Chinese does not separate words, so the rules match substrings.

use super::context::{Politeness, Sentence, SkillWord};
use super::vocabulary::Verb;
use crate::mentions::SuggestionReason;

/// Words of a request before a verb. A word precedes those that it begins with.
const OPENERS: &[&str] = &[
    "不好意思",
    "特别",
    "可以请你",
    "可以请您",
    "请问能",
    "麻烦您",
    "麻煩您",
    "让我们",
    "讓我們",
    "劳烦",
    "勞煩",
    "烦请",
    "煩請",
    "不妨",
    "咱们",
    "分别",
    "别忘记了",
    "別忘記了",
    "不要忘记",
    "不要忘了",
    "别忘记",
    "別忘記",
    "别忘了",
    "別忘了",
    "我希望你",
    "我希望您",
    "我想让你",
    "我想請你",
    "我想请你",
    "我需要你",
    "我要你",
    "希望你",
    "希望您",
    "能不能",
    "可不可以",
    "是否可以",
    "你能不能",
    "您能不能",
    "你可以",
    "您可以",
    "你能否",
    "能否",
    "可否",
    "你能",
    "您能",
    "你应该",
    "你應該",
    "你必须",
    "你必須",
    "你需要",
    "我们应该",
    "我們應該",
    "我想要",
    "我想",
    "我要",
    "帮我",
    "幫我",
    "帮忙",
    "幫忙",
    "给我",
    "麻烦你",
    "麻煩你",
    "麻烦",
    "麻煩",
    "拜托",
    "请你",
    "請你",
    "请您",
    "請您",
    "请",
    "請",
    "可以",
    "务必",
    "務必",
    "一定要",
    "一定",
    "记得要",
    "记得",
    "記得",
    "应该",
    "應該",
    "必须",
    "必須",
    "需要",
    "尝试",
    "嘗試",
    "试着",
    "接下来",
    "接下來",
    "然后",
    "然後",
    "首先",
    "最后",
    "最後",
    "同时",
    "同時",
    "另外",
    "现在",
    "現在",
    "直接",
    "并且",
    "好的",
    "那么",
    "那就",
    "先",
    "再",
    "就",
    "来",
    "來",
    "也",
    "要",
    "能",
    "你",
    "您",
    "改",
    "换",
    "換",
];
/// Words that make a question a polite request.
const POLITE_OPENERS: &[&str] = &[
    "能不能",
    "可不可以",
    "是否可以",
    "能否",
    "可否",
    "你能",
    "您能",
    "请",
    "請",
    "帮",
    "幫",
    "麻烦",
    "麻煩",
    "拜托",
];
/// Characters of negation. Words that only contain them are in the list of exceptions.
const NEGATION_CHARACTERS: &[char] = &[
    '不', '没', '沒', '未', '无', '無', '勿', '毋', '莫', '别', '別', '甭', '禁', '拒',
];
const NEGATION_EXCEPTIONS: &[&str] = &[
    "不好意思",
    "能不能",
    "可不可以",
    "不仅",
    "不僅",
    "不但",
    "不只",
    "不错",
    "不錯",
    "不如",
    "不妨",
    "差不多",
    "不客气",
    "特别",
    "特別",
    "分别",
    "分別",
    "区别",
    "區別",
    "类别",
    "類別",
    "识别",
    "識別",
    "级别",
    "級別",
    "个别",
    "性别",
    "别忘",
    "別忘",
    "不要忘",
];
const NEGATION_WORDS: &[&str] = &[
    "避免", "停止", "防止", "阻止", "放弃", "反对", "取消", "暂停", "跳过", "除了", "与其", "忘记",
    "忘了", "代替",
];
const CONDITIONS: &[&str] = &[
    "等",
    "的话",
    "时，",
    "之后",
    "有人",
    "下周",
    "今晚",
    "将来",
    "每",
    "如果",
    "假如",
    "假设",
    "若",
    "要是",
    "万一",
    "一旦",
    "只要",
    "每次",
    "每当",
    "每當",
    "除非",
    "因为",
    "因為",
    "关于",
    "當",
    "当",
    "必要时",
    "下次",
    "以后",
    "明天",
    "昨天",
    "即使",
    "就算",
];
const QUESTION_WORDS: &[&str] = &[
    "什么",
    "什麼",
    "怎么",
    "怎麼",
    "怎样",
    "怎樣",
    "如何",
    "为什么",
    "為什麼",
    "为何",
    "为啥",
    "是否",
    "有没有",
    "有沒有",
    "哪些",
    "哪里",
    "何时",
    "谁",
    "誰",
    "该不该",
    "是不是",
    "会不会",
    "介绍",
    "解释",
];
const REPORTING_VERBS: &[&str] = &[
    "建议，",
    "讲",
    "喊",
    "问，",
    "说",
    "說",
    "据说",
    "告诉",
    "写道",
    "文档",
    "标题",
    "翻译",
    "翻譯",
    "这句",
    "這句",
    "引用",
];
/// Words that can follow a name, or 技能 after it, in a request.
const CONTINUATIONS: &[&str] = &[
    "对", "為我", "为我", "告诉", "告訴", "完成", "解决", "回答", "计算", "計算", "画", "读", "讀",
    "搜", "找", "提取", "填", "拆", "优化", "改", "审查", "統計", "统计", "并", "然后", "和", "再",
    "，", "。", "、", "；", "！", "？", "～", "~", "…", "合", "看", "试", "跟", "与", "以及", "吗",
    "嗎", "处理", "處理", "来", "來", "一下", "看看", "帮", "幫", "查", "合并", "合併", "做", "把",
    "将", "將", "吧", "分析", "生成", "翻译", "翻譯", "转换", "轉換", "检查", "檢查", "整理",
    "总结", "写", "寫", "试试", "给", "去",
];

fn contains_negation(text: &str) -> bool {
    let mut text = text.to_owned();
    // 能不能 contains 不 but asks politely, 特别 contains 别 but means "especially".
    for harmless in NEGATION_EXCEPTIONS {
        text = text.replace(harmless, "");
    }
    text.contains(NEGATION_CHARACTERS) || NEGATION_WORDS.iter().any(|word| text.contains(word))
}

/// Returns true if the previous clause is a complete prohibition, so that the request after it is
/// not negated: 「不要用 X，用 …」.
fn is_complete_prohibition(text: &str) -> bool {
    let clauses: Vec<&str> = text.split([',', '，', ';', '；']).collect();
    let [before @ .., last, _] = clauses.as_slice() else {
        return false;
    };
    let clause = last.trim_start_matches("请").trim_start_matches("請");
    let prohibited = ["不要", "不用", "别", "別"]
        .iter()
        .find_map(|negation| clause.strip_prefix(negation));
    // These words announce that the prohibition continues in the next clause.
    let is_incomplete = |prohibited: &str| {
        contains_any(
            prohibited,
            &[
                "任何", "情况", "情況", "随意", "时候", "千万", "绝对", "禁止", "以下", "下列",
                "这些", "做",
            ],
        ) || contains_negation(prohibited)
    };
    let is_only_negation = !before.iter().any(|clause| contains_negation(clause))
        && !last.contains(['"', '“', '「', '\n']);
    is_only_negation
        && prohibited.is_some_and(|text| text.chars().count() >= 2 && !is_incomplete(text))
}

fn contains_any(text: &str, list: &[&str]) -> bool {
    list.iter().any(|word| text.contains(word))
}

/// Checks the earlier clauses of the sentence.
pub(super) fn check_before(text: &str, clause: &str) -> Option<SuggestionReason> {
    let negation_ended =
        clause.starts_with('但') || clause.is_empty() && is_complete_prohibition(text);
    if text.is_ascii() {
        None
    } else if contains_negation(text) && !negation_ended {
        Some(SuggestionReason::Negated)
    } else if contains_any(text, CONDITIONS) {
        // 「如果下雨，用 X」: the condition of an earlier clause holds for the request.
        Some(SuggestionReason::Conditional)
    } else if contains_any(text, REPORTING_VERBS) {
        Some(SuggestionReason::Quoted)
    } else {
        None
    }
}

/// Checks the words between the start of the clause and the verb.
pub(super) fn check_request(
    text: &str,
    sentence: Sentence,
    verb: Verb,
) -> Option<SuggestionReason> {
    let mut rest = text
        .trim_start_matches(|c: char| {
            c.is_ascii_digit() || matches!(c, '-' | '*' | '.' | '、' | '•')
        })
        .trim_start_matches('但');
    let is_question = sentence == Sentence::Question;
    let mut is_polite = false;
    loop {
        if rest.is_empty() {
            return if is_question && !is_polite {
                Some(SuggestionReason::Question)
            } else {
                None
            };
        }
        // Openers are chained: 麻烦你 and 帮我 in 「麻烦你帮我用 X」.
        let Some(opener) = OPENERS.iter().find(|opener| rest.starts_with(**opener)) else {
            break;
        };
        is_polite |= POLITE_OPENERS.iter().any(|polite| opener.contains(polite));
        rest = &rest[opener.len()..];
    }
    // Mixed text such as "please 用 X".
    if rest.is_ascii() && matches!(rest.to_ascii_lowercase().as_str(), "please" | "ok") {
        return None;
    }
    Some(if contains_negation(rest) {
        SuggestionReason::Negated
    } else if contains_any(rest, QUESTION_WORDS) {
        SuggestionReason::Question
    } else if contains_any(rest, REPORTING_VERBS) {
        SuggestionReason::Quoted
    } else if verb == Verb::Preposition || is_question {
        SuggestionReason::Question
    } else {
        SuggestionReason::Conditional
    })
}

/// Returns whether a question is a polite request.
pub(super) fn politeness(before: &str, tail: &str) -> Politeness {
    if contains_any(before, POLITE_OPENERS) || contains_any(tail, &["帮", "幫", "一下"]) {
        Politeness::Polite
    } else {
        Politeness::Neutral
    }
}

/// Checks the words after the name and 技能.
pub(super) fn check_after_name(
    text: &str,
    skill_word: SkillWord,
    politeness: Politeness,
) -> Option<SuggestionReason> {
    let is_question = text.ends_with(['吗', '嗎', '么', '呢']) && politeness == Politeness::Neutral;
    if is_question || contains_any(text, &["会怎", "會怎", "还是", "還是", "干嘛"]) {
        return Some(SuggestionReason::Question);
    }
    // 「X 的 …」 talks about something that belongs to X.
    let is_attribute = skill_word == SkillWord::Absent
        && (text.chars().nth(1) == Some('的') || text.chars().nth(2) == Some('的'));
    let continues_request =
        text.is_empty() || CONTINUATIONS.iter().any(|word| text.starts_with(word));
    (is_attribute || !continues_request).then_some(SuggestionReason::CommonWord)
}

/// Checks for later words that retract the request.
pub(super) fn check_after(text: &str) -> Option<SuggestionReason> {
    if text.is_ascii() {
        None
    } else if contains_any(
        text,
        &[
            "算了",
            "开玩笑",
            "不行",
            "禁止",
            "不要",
            "不用",
            "没用",
            "不能",
            "别用",
        ],
    ) {
        Some(SuggestionReason::Negated)
    } else if contains_any(text, &["如果", "先问", "问我", "的话", "要是"]) {
        Some(SuggestionReason::Conditional)
    } else if contains_any(text, &["他说", "她说", "说的"]) {
        Some(SuggestionReason::Quoted)
    } else {
        None
    }
}
