//! What stands around a verb: whether the text asks for a skill, or only speaks of it.

use super::tokens::{Kind, Token};
use crate::mentions::Doubt;

/// Says why what stands at a verb is no request; nothing when it is one.
pub(super) fn doubt(text: &str, tokens: &[Token], verb_at: usize) -> Option<Doubt> {
    let sentence_start = (0..verb_at).rev().find(|at| ends_sentence(text, tokens, *at)).map_or(0, |at| at + 1);
    let sentence_end = (verb_at..tokens.len()).find(|at| ends_sentence(text, tokens, *at)).unwrap_or(tokens.len());
    let clause_start = (sentence_start..verb_at).rev().find(|at| ends_clause(text, &tokens[*at])).map_or(sentence_start, |at| at + 1);
    let around = Around {
        text,
        before: &tokens[clause_start..verb_at],
        led: &tokens[sentence_start..verb_at],
        verb: &tokens[verb_at],
        sentence: &tokens[sentence_start..sentence_end],
        end: tokens.get(sentence_end),
    };
    if around.is_quoted() {
        Some(Doubt::Quoted)
    } else if around.is_negated() {
        Some(Doubt::Negated)
    } else if around.is_question() {
        Some(Doubt::Question)
    } else if around.is_condition() {
        Some(Doubt::Condition)
    } else {
        None
    }
}

fn ends_sentence(text: &str, tokens: &[Token], at: usize) -> bool {
    match tokens[at].kind {
        Kind::Mark('!' | '?' | '。' | '！' | '？' | '\n') => true,
        Kind::Mark('.') => text[tokens[at].end..].chars().next().is_none_or(char::is_whitespace),
        _ => false,
    }
}

fn ends_clause(text: &str, token: &Token) -> bool {
    let part = &text[token.start..token.end];
    match token.kind {
        Kind::Mark(mark) => matches!(mark, ',' | ';' | ':' | '，' | '；' | '：' | '—' | '–' | '(' | '（'),
        Kind::Word => ["but", "then"].iter().any(|word| part.eq_ignore_ascii_case(word)),
        Kind::Character(_) => part == "但",
    }
}

struct Around<'t> {
    text: &'t str,
    /// From the start of the clause to the verb.
    before: &'t [Token],
    /// From the start of the sentence to the verb.
    led: &'t [Token],
    verb: &'t Token,
    sentence: &'t [Token],
    /// What ends the sentence.
    end: Option<&'t Token>,
}

impl<'t> Around<'t> {
    /// The words before the verb in lower case, the nearest first.
    fn words(&self, tokens: &'t [Token]) -> impl DoubleEndedIterator<Item = String> + use<'t> {
        let text = self.text;
        let words = tokens.iter().filter(|token| token.kind == Kind::Word);
        words.map(move |token| text[token.start..token.end].to_lowercase().replace('\u{2019}', "'"))
    }

    fn slice(&self, tokens: &[Token]) -> &'t str {
        tokens.first().zip(tokens.last()).map_or("", |(first, last)| &self.text[first.start..last.end])
    }

    /// Whether the verb stands inside quotation marks or code.
    fn is_quoted(&self) -> bool {
        let (mut straight, mut code, mut curved) = (false, false, 0_usize);
        for token in self.led {
            match token.kind {
                Kind::Mark('"') => straight = !straight,
                Kind::Mark('`') => code = !code,
                Kind::Mark('“' | '「' | '『') => curved += 1,
                Kind::Mark('”' | '」' | '』') => curved = curved.saturating_sub(1),
                _ => {}
            }
        }
        straight || code || curved > 0
    }

    fn is_negated(&self) -> bool {
        const NEGATIONS: [&str; 14] =
            ["not", "never", "without", "avoid", "stop", "no", "cannot", "dont", "refuse", "nor", "neither", "forbid", "forbidden", "quit"];
        const UNDONE: [&str; 6] = ["forget", "hesitate", "fail", "only", "just", "mind"];
        let words: Vec<String> = self.words(self.before).collect();
        let is_negation = |word: &String| NEGATIONS.contains(&word.as_str()) || word.ends_with("n't");
        let last = words.iter().rposition(is_negation);
        let is_undone = last.is_some_and(|last| words[last + 1..].first().is_some_and(|word| UNDONE.contains(&word.as_str())));
        let is_instead =
            words.windows(2).any(|pair| matches!([pair[0].as_str(), pair[1].as_str()], ["instead", "of"] | ["rather", "than"]));
        last.is_some() && !is_undone || is_instead || self.is_negated_in_chinese()
    }

    fn is_negated_in_chinese(&self) -> bool {
        const NEGATIONS: [&str; 27] = [
            "不要",
            "不用",
            "不必",
            "不需",
            "不能",
            "不可",
            "不得",
            "不应",
            "不應",
            "不想",
            "不准",
            "不许",
            "不許",
            "无需",
            "無需",
            "禁止",
            "避免",
            "停止",
            "没有",
            "沒有",
            "而不是",
            "而非",
            "请勿",
            "請勿",
            "切勿",
            "甭",
            "莫",
        ];
        // 特别, 分别, 区别, 类别, 识别, 级别, 个别, 性别.
        const OTHERS: [char; 12] = ['特', '分', '区', '區', '类', '類', '识', '識', '级', '級', '个', '性'];
        let before = self.slice(self.before);
        if before.contains("忘") {
            return false;
        }
        let is_bie = before.char_indices().any(|(at, c)| matches!(c, '别' | '別') && !before[..at].ends_with(OTHERS));
        let is_polite = before.contains("能不能") || before.contains("可不可以");
        let ends = before.trim_end();
        is_bie || !is_polite && (NEGATIONS.iter().any(|word| before.contains(word)) || ends.ends_with(['不', '勿', '没', '沒']))
    }

    fn is_question(&self) -> bool {
        const ASKING: [&str; 22] = [
            "what", "how", "why", "which", "who", "where", "when", "does", "did", "is", "are", "was", "were", "should", "has", "have",
            "explain", "describe", "do", "whether", "may", "must",
        ];
        let words: Vec<String> = self.words(self.sentence).take(4).collect();
        let first = words.first().map_or("", String::as_str);
        let second = words.get(1).map_or("", String::as_str);
        let is_polite = matches!(first, "can" | "could" | "would" | "will") && matches!(second, "you" | "we" | "i")
            || self.words(self.sentence).any(|word| word == "please");
        let is_marked = matches!(self.end.map(|end| end.kind), Some(Kind::Mark('?' | '？')));
        let is_do = first == "do" && !matches!(second, "you" | "i" | "we" | "they" | "people");
        let is_asking = ASKING.contains(&first) && !is_do || [first, second] == ["tell", "me"];
        // Whoever asks how to use something does not ask for its use, however politely.
        let is_how = self.words(self.led).any(|word| matches!(word.as_str(), "how" | "why" | "explain" | "describe"));
        is_how || is_asking || is_marked && !is_polite && !self.is_polite_in_chinese() || self.asks_in_chinese()
    }

    fn is_polite_in_chinese(&self) -> bool {
        ["请", "請", "帮", "幫", "麻烦", "麻煩", "能不能", "可以", "能否", "可否", "可不可以"]
            .iter()
            .any(|word| self.slice(self.sentence).contains(word))
    }

    fn asks_in_chinese(&self) -> bool {
        const ASKING: [&str; 16] = [
            "会怎",
            "會怎",
            "什么",
            "什麼",
            "怎么",
            "怎麼",
            "如何",
            "为什么",
            "為什麼",
            "为何",
            "是否",
            "有没有",
            "有沒有",
            "哪些",
            "介绍",
            "解释",
        ];
        let sentence = self.slice(self.sentence);
        let led = self.slice(self.led);
        let asks = |word: &str| {
            if matches!(word, "介绍" | "解释" | "如何" | "怎么" | "怎麼") { led.contains(word) } else { sentence.contains(word) }
        };
        ASKING.iter().any(|word| asks(word)) || (sentence.ends_with('吗') || sentence.ends_with('嗎')) && !self.is_polite_in_chinese()
    }

    /// Whether the clause says when, or whose habit it is.
    fn is_condition(&self) -> bool {
        const CONDITIONS: [&str; 16] = [
            "if", "when", "whenever", "unless", "because", "since", "until", "before", "after", "while", "about", "on", "suppose", "once",
            "of", "for",
        ];
        const SUBJECTS: [&str; 10] = ["i", "they", "he", "she", "people", "users", "who", "which", "we", "you"];
        const ADVERBS: [&str; 6] = ["always", "often", "usually", "already", "sometimes", "normally"];
        let words: Vec<String> = self.words(self.before).collect();
        let mut nearest = words.iter().rev().map(String::as_str).skip_while(|word| ADVERBS.contains(word));
        let (last, before) = (nearest.next().unwrap_or_default(), nearest.next().unwrap_or_default());
        let is_asked = last == "you" && matches!(before, "can" | "could" | "would" | "will" | "please");
        let verb = self.slice(std::slice::from_ref(self.verb)).to_lowercase();
        let is_plain = !verb.ends_with("ing") && !matches!(verb.as_str(), "with" | "via" | "through" | "per");
        let is_habit = is_plain
            && SUBJECTS.contains(&last)
            && !is_asked
            && !(matches!(last, "we" | "i") && matches!(before, "can" | "could" | "should" | "shall"));
        // "on using", "about using" speak of it; "on this file use" does not.
        let speaks = |word: &str| if matches!(word, "on" | "of" | "for") { last == word } else { words.iter().any(|other| other == word) };
        is_habit || CONDITIONS.iter().any(|word| speaks(word)) || self.is_condition_in_chinese()
    }

    fn is_condition_in_chinese(&self) -> bool {
        const CONDITIONS: [&str; 9] = ["如果", "假如", "若", "每当", "每當", "除非", "因为", "因為", "关于"];
        const NOUNS: [&str; 12] =
            ["的方法", "的步骤", "的示例", "的例子", "的文档", "的教程", "的时候", "的場景", "的场景", "的人", "的用户", "的注意"];
        let (before, sentence) = (self.slice(self.before), self.slice(self.sentence));
        let behind = sentence.get(self.slice(self.led).len()..).unwrap_or_default();
        CONDITIONS.iter().any(|word| before.contains(word)) || NOUNS.iter().any(|noun| behind.contains(noun))
    }
}
