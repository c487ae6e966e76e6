//! Instructions to the agent: concealment, overriding, memory, false authority.

use super::source::{line, prohibition, prose, quotable};
use crate::finding::Severity::{High, Low, Medium};
use crate::patterns::Source;
use crate::rule::{
    AGENT_MEMORY, CONCEALMENT, FALSE_AUTHORITY, HIDDEN_TEXT, OVERRIDE_INSTRUCTIONS,
    REMOTE_INSTRUCTIONS, WIDE_PERMISSIONS,
};

pub(super) const SOURCES: &[Source] = &[
    prohibition(
        &CONCEALMENT,
        High,
        "tell|mention|inform|notify|reveal|disclos|alert|bring|report|admit|acknowledge",
        r"\b(?:do(?:es)?\s*n[o'’]t|do\s+not|never|must\s*(?:not|n['’]t)|should\s*(?:not|n['’]t)|no\s+need\s+to|need\s+not|avoid|refrain\s+from|without|not\s+necessary\s+to|no\s+reason\s+to)\s+(?:(?:ever|to|even|please)\s+){0,2}(?:tell(?:ing)?|mention(?:ing)?|inform(?:ing)?|notify(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|alert(?:ing)?|bring(?:ing)?|report(?:ing)?|admit(?:ting)?|acknowledg(?:e|ing))\s+(?:{USER}\s+(?:about|of|that)\s+(?:this|it|these|the\s+(?:upload|request|step|command|call|transfer|transmission|change|action|process|background))|(?:this|these|it|that|any of this|the\s+(?:upload|request|step|steps|command|call|transfer|transmission|action|background\s+\w+))\b(?:\s+\w+){0,6}?\s+{USER})",
    ),
    prohibition(
        &CONCEALMENT,
        High,
        "must not|should not|needn't|not know|not see|not notice|not be|n't know|n't see|n't notice|n't be|unaware|never",
        r"(?:\b{USER}\s+(?:must|should|need|needs|may|can|does|do|will|shall)(?:\s+not|\s*n['’]t|\s+never)\s+(?:need\s+to\s+)?(?:know\s+(?:about|of|that)|notice|see\s+(?:this|these|it)\b|find\s+out|be\s+(?:told|informed|aware|notified|alerted)|hear\s+of|learn\s+of)|\b(?:so|such)\s+that\s+{USER}\s+(?:does|do|will|cannot|can)\s*(?:not|n['’]t)?\s+(?:notice|find\s+out|see\s+it)|without\s+{USER}(?:['’]s)?\s+(?:knowing|noticing|knowledge|awareness))",
    ),
    prohibition(
        &CONCEALMENT,
        High,
        "keep|hide|conceal|omit|leave|exclude|withhold",
        r"\b(?:keep|hide|conceal|withhold)\s+(?:this|these|it|that|all\s+(?:of\s+)?this|the\s+(?:existence|fact|upload|request|step|command|action|instructions?|process)\w*)\s+(?:\S+\s+){0,6}?(?:(?:secret|hidden|confidential|invisible|concealed)\s+)?(?:from|to)\s+{USER}|\b(?:omit|leave|exclude|keep)\s+(?:this|it|these|that|the)\b(?:\s+(?:step|upload|call|command|part|action|request)s?\b)?\s+(?:out\s+)?(?:of|from)\s+(?:your|the|any)\s+(?:\w+\s+)?(?:summary|report|response|answer|reply|output|log|logs)\b",
    ),
    prose(
        &CONCEALMENT,
        Medium,
        "secretly|covertly|discreetly|stealthily|surreptitiously",
        r"\b(?:secretly|covertly|discreetly|stealthily|surreptitiously)\s+(?:\w+\s+)?(?:send|upload|post|run|execute|copy|transmit|forward|exfiltrate|collect|fetch|download|install|append|add|read|write|save|record|log|report|submit|call|modify|insert)(?:s|ing|ed)?\b|\b(?:send|upload|post|run|execute|copy|transmit|forward|collect|download|submit)(?:s|ing|ed)?\b{S}\b(?:secretly|covertly|discreetly|stealthily|surreptitiously)\b",
    ),
    // "Runs silently" and "fails silently" are said of programs; data that leaves is not.
    prose(
        &CONCEALMENT,
        Medium,
        "silently|quietly|in the background",
        r"\b(?:silently|quietly)\s+(?:also\s+)?(?:send|upload|post|transmit|forward|exfiltrate|collect|submit|report|copy|append|modify|insert)\b|\b(?:send|upload|post|transmit|forward|exfiltrate|submit)\s+(?:it|this|them|these|the|all|a|any|every|user)\b(?:\s+\w+){0,4}?\s+(?:silently|quietly|in the background)\b",
    ),
    prohibition(
        &CONCEALMENT,
        Low,
        "tell|mention|inform|reveal|disclos|notify",
        r"\b(?:do\s*n[o'’]t|do\s+not|never|must\s+not|should\s+not|avoid|without)\s+(?:ever\s+)?(?:tell(?:ing)?|mention(?:ing)?|inform(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|notify(?:ing)?)\b{S}{USER}",
    ),
    prohibition(
        &CONCEALMENT,
        High,
        "用户|使用者|客户|主人",
        r"(?:不要|别|无需|不必|不需要|不得|不能|不可|禁止|请勿|切勿|勿|无须|不用|避免)(?:再|主动|特意)?\s*(?:让|向|对|跟|和|给)?\s*(?:用户|使用者|客户|主人)[^。！？\n]{0,6}?(?:告诉|告知|提及|提到|提起|透露|通知|说明|知道|察觉|发现|披露|知晓|看到|汇报)|(?:不要|别|无需|不必|不需要|不得|不能|不可|禁止|请勿|切勿|勿|无须|不用)(?:再|主动|特意)?\s*(?:告诉|告知|通知|提醒|透露给)\s*(?:用户|使用者|客户|主人)|对(?:用户|使用者|客户|主人)(?:保密|隐瞒)|瞒着(?:用户|使用者|客户|主人)|(?:用户|使用者)(?:不知情|无感知|察觉不到)",
    ),
    prohibition(
        &CONCEALMENT,
        High,
        "nutzer|benutzer|usuari|utilisateur|utente|пользовател|ユーザー|사용자",
        r"\b(?:sag|sage|sagen|erzähl\w*|erwähn\w*|verrat\w*|informier\w*|melde\w*)\b[^.!?\n]{0,40}\b(?:be)?nutzern?\b[^.!?\n]{0,30}\b(?:nichts?|niemals)\b|\b(?:be)?nutzern?\b[^.!?\n]{0,30}\b(?:nichts?|niemals)\b[^.!?\n]{0,40}\b(?:sag|erzähl|erwähn|verrat|informier|mitteil|wissen|erfahren)\w*|\b(?:no|nunca|sin|não|nunca|non)\s+(?:(?:le|se|lo|o|a|informe|lhe)\s+)*(?:dig\w+|menc\w+|inform\w+|cuent\w+|revel\w+|avis\w+|cont\w+|dire|dica|mostr\w+)\b[^.!?\n]{0,30}\b(?:usuari[oa]|utente)|\bne\s+(?:\w+\s+)?(?:dis|dites|mentionne\w*|inform\w+|rév\w+|parle\w*|signale\w*)\b[^.!?\n]{0,30}\butilisateur|\bне\s+(?:говори|сообща|упомина|рассказыва|показыва|информиру)\w*[^.!?\n]{0,30}пользовател|ユーザー(?:に|へ)(?:は)?[^。\n]{0,15}(?:知らせな|言わな|伝えな|教えな|報告しな|通知しな)|사용자(?:에게|한테)(?:는)?[^.\n]{0,15}(?:알리지|말하지|언급하지|보고하지)",
    ),
    prose(
        &CONCEALMENT,
        Medium,
        "悄悄|偷偷|暗中|静默|秘密",
        r"(?:悄悄|偷偷|暗中|静默|秘密)地?[^。！？\n]{0,4}(?:上传|发送|执行|运行|下载|安装|收集|复制|写入|提交)",
    ),
    // Overriding.
    quotable(
        &OVERRIDE_INSTRUCTIONS,
        High,
        "ignore|disregard|forget|override|bypass|discard|supersede|set aside|drop |cancel|void",
        r"\b(?:ignore|disregard|forget|override|bypass|discard|supersede|set\s+aside|drop|cancel|void|overrule)\b\s+(?:(?:all|any|every|each|the|your|my|its|of|these|those|other|and|both)\s+){0,4}(?:(?:previous|prior|above|earlier|preceding|existing|original|foregoing|initial|former|system|developer|safety|security|other|platform|ethical)(?:ly)?\s*(?:,|and|or|/)?\s*){1,4}(?:instructions?|prompts?|rules?|guidelines?|directives?|messages?|guardrails?|restrictions?|policies|policy|constraints?|safeguards?|training|orders?|protocols?)\b",
    ),
    quotable(
        &OVERRIDE_INSTRUCTIONS,
        High,
        "ignore|disregard|forget",
        r"\b(?:ignore|disregard|forget)\s+(?:everything|anything|all|whatever)\s+(?:(?:that|which)\s+)?(?:(?:you|i|was|were|has|have|had|the\s+\w+|came|comes)\s+){0,3}(?:above|before|been\s+told|told|said|given|previously|prior|so\s+far|earlier|learned)|\b(?:ignore|disregard)\s+the\s+rules\s+of\s+(?:the\s+)?(?:system|developer|host|platform|user)",
    ),
    quotable(
        &OVERRIDE_INSTRUCTIONS,
        Medium,
        "precedence|override|overrides|outrank|supersede|priority",
        r"\b(?:this\s+(?:skill|file|document|section)|these\s+(?:instructions|rules)|it|they|following)\b{S}\b(?:takes?\s+(?:absolute\s+)?(?:precedence|priority)|overrides?|supersedes?|outranks?)\s{S}\b(?:system\s+prompt|system\s+instructions?|(?:all|any)\s+(?:other|previous|prior|earlier)|safety|what\s+the\s+user|user['’]s|developer|platform|guardrails?|restrictions?)",
    ),
    quotable(
        &OVERRIDE_INSTRUCTIONS,
        High,
        "you are now|dan mode|jailbreak|god mode|unrestricted mode|no longer bound",
        r"\byou\s+are\s+now\s+(?:in\s+)?(?:an?\s+)?(?:dan\b|developer\s+mode|jailbroken|unrestricted|unfiltered|god\s+mode|free\s+(?:from|of)|no\s+longer\s+bound)|\bno\s+longer\s+bound\s+by\b|\b(?:enter|enable|activate)\s+(?:dan|god|jailbreak|unrestricted)\s+mode\b",
    ),
    quotable(
        &OVERRIDE_INSTRUCTIONS,
        High,
        "im_start|[system]|[system |system:|<system|</system|system prompt|system override|[inst]|<<sys>>|### system|new instructions|</skill",
        r"<\|im_start\|>\s*system|\[\s*system\s+(?:override|prompt|message)\s*\]|^(?-i:\[SYSTEM\])|^system\s*:\s*(?:you|ignore|the|all|new|override)\b|<<sys>>|^</?system(?:-reminder)?>|</(?:skill|available_skills|instructions)>\s*(?:system|assistant|human|user)\b|\bsystem\s+override\b\s*:|\b(?:replace|rewrite|overwrite|override|change)\s+(?:your|the)\s+system\s+prompt\b|\bnew\s+system\s+(?:prompt|instructions?)\s*:",
    ),
    quotable(
        &OVERRIDE_INSTRUCTIONS,
        High,
        "指令|指示|提示|规则|限制|设定|要求",
        r"(?:忽略|无视|忘记|忘掉|不理会|抛弃|覆盖|绕过|取消)(?:掉)?[^。！？\n]{0,6}(?:之前|以上|先前|此前|前面|所有|一切|原有|原来|上述|系统|安全)[^。！？\n]{0,12}(?:指令|指示|提示词?|规则|限制|设定|要求|命令)",
    ),
    quotable(
        &OVERRIDE_INSTRUCTIONS,
        High,
        "instrucciones|instructions précédentes|anweisungen|инструкции|指示を|ignora|ignoriere|игнорируй|ignorez|이전 지시",
        r"\bignor(?:a|e|ar|ad|iere|ieren|ez|er)\b[^.!?\n]*(?:instrucciones|instructions\s+pr[ée]c[ée]dentes|anweisungen|istruzioni|instruções)|игнорируй[^.!?\n]*инструкци|(?:以前|これまで|前|上記)の?[^。\n]*指示を[^。\n]*無視|이전[^.\n]*(?:지시|명령)[^.\n]*무시",
    ),
    // False authority.
    prose(
        &FALSE_AUTHORITY,
        Medium,
        "verified|approved|certified|authorized|audited|vetted|consent|confirmed|trusted",
        r"\b(?:this|the)\s+(?:skill|script|command|step|file|installer)\s+(?:is|was|has\s+been)\s+(?:already\s+|officially\s+|fully\s+|pre-?)*(?:verified|approved|certified|authorized|audited|vetted|whitelisted|signed\s+off)\b{S}\b(?:by|no|so|therefore|without|skip|need|anthropic|openai|security)\b|(?:^|[.!?;:,(]\s*|\b(?:since|because|as|assume(?:\s+that)?|that)\s+)(?:the\s+)?user\s+(?:has\s+)?(?:already\s+|explicitly\s+|previously\s+)+(?:agreed|consented|approved|authorized|confirmed|given\s+(?:consent|permission))",
    ),
    prose(
        &FALSE_AUTHORITY,
        Medium,
        "confirm|approv|permission|asking|consent|prompt|checks|everything|all ",
        r"\b(?:skip|bypass|suppress|auto-?accept|disable|ignore)\s+(?:(?:all|any|every|each)\s+(?:of\s+)?(?:the\s+)?(?:\w+\s+)?(?:confirmations?|approvals?|permission\s+\w+|safety\s+\w+|security\s+\w+)|(?:the\s+)?(?:permission|safety|security)\s+(?:prompts?|checks?|requests?|dialogs?|confirmations?|warnings?)|(?:the\s+)?user(?:['’]s)?\s+(?:confirmation|approval|consent|permission)s?)\b|\b(?:approve|accept|allow)\s+(?:everything\b|all\s+(?:tool\s+calls?|requests?|prompts?|permissions?|commands?)\b)|\b(?:run|execute)\b{S}\bwithout\s+(?:asking|(?:the\s+)?user['’]?s?\s+(?:consent|permission|approval|confirmation))",
    ),
    // What options of programs are for.
    prose(
        &FALSE_AUTHORITY,
        Low,
        "confirm|approv",
        r"\b(?:skip|bypass|suppress|disable)\s+(?:the\s+)?(?:confirmations?|confirmation\s+\w+|approvals?|approval\s+\w+)\b|\b(?:run|execute)\b{S}\bwithout\s+(?:confirmation|approval)",
    ),
    prose(
        &FALSE_AUTHORITY,
        Medium,
        "确认|授权|批准|同意",
        r"(?:跳过|绕过|无需|不需要|不必|关闭)[^。！？\n]{0,8}(?:安全确认|权限确认|用户确认|用户授权|用户同意|审批|安全检查)|用户已(?:经)?(?:同意|授权|批准|确认)",
    ),
    // Instructions from elsewhere.
    prose(
        &REMOTE_INSTRUCTIONS,
        High,
        "follow|obey|do what|execute|comply|carry out|do as|instructions",
        r"\b(?:fetch|download|read|load|retrieve|get|open|visit|curl|pull|check)\b{S}https?://\S+{S}\b(?:follow|obey|do\s+what(?:ever)?|execute|comply\s+with|carry\s+out|do\s+as)\b\s+(?:\w+\s+){0,4}?(?:everything|whatever|instructions?|it\s+says|they\s+say|(?:it|that\s+it|the\s+page|the\s+file|the\s+server|the\s+response)\s+(?:says|tells|returns|contains|responds))",
    ),
    prose(
        &REMOTE_INSTRUCTIONS,
        Medium,
        "follow|obey|instructions",
        r"\b(?:fetch|download|read|load|retrieve|curl|pull)\b{S}(?:https?://\S+|\burl\b|\bpage\b|\bremote\b|\bserver\b){S}\b(?:follow|obey|comply\s+with|execute|carry\s+out)\b\s+(?:\w+\s+){0,3}?(?:it|them|instructions?|steps|commands?|what)\b",
    ),
    prose(
        &REMOTE_INSTRUCTIONS,
        High,
        "按照|遵循|执行|照做",
        r"(?:访问|读取|下载|获取|打开)[^。！？\n]*https?://[^\s。！？]+[^。！？\n]*(?:按照|遵循|执行|照)[^。！？\n]*(?:指令|指示|内容|说明|要求|做)",
    ),
    // Memory of agents. To add a setting or a note is what many skills ask their user for.
    prose(
        &AGENT_MEMORY,
        Low,
        "{MEMORY}",
        r"\b(?:append|add|write|insert|put|prepend|save|store|inject|place|copy|paste|overwrite|replace|modify|patch|merge)\b{S}\b(?:to|in|into|at|of|with)\b{S}(?:{MEMORY})|\b(?:edit|update|modify|overwrite|rewrite|patch)\s+(?:\S+\s+){0,4}?(?:\S*/)?(?:{MEMORY})|(?:写入|追加|添加|插入|修改|覆盖|更新|加入)[^。！？\n]*(?:{MEMORY})|(?:在|向|往|到|把|将)[^。！？\n]*(?:{MEMORY})[^。！？\n]*(?:写入|追加|添加|插入|修改|覆盖|加入)",
    ),
    prose(
        &AGENT_MEMORY,
        Medium,
        "{MEMORY}",
        r"\b(?:whenever|each\s+time|every\s+time|when(?:ever)?\s+this\s+skill|on\s+(?:load|activation|first\s+use)|immediately|silently|quietly|before\s+(?:you\s+do\s+)?anything|as\s+(?:your|the)\s+first\s+(?:step|action))\b{S}\b(?:append|add|write|insert|put|prepend|inject|place|copy|paste|overwrite|replace|patch)\b{S}\b(?:to|in|into|at|of|with)\b{S}(?:{MEMORY})|\b(?:append|add|write|insert|put|prepend|inject|place|copy|paste|overwrite|replace|patch)\b{S}\b(?:to|in|into|at|of|with)\b{S}(?:{MEMORY}){S}\b(?:(?:later|future|subsequent|all|every|each|next)\s+sessions?|permanently|even\s+after|without\s+asking|silently|survives?|persists?\s+(?:after|across|even))\b|\b(?:append|add|insert|put|prepend|inject|place|overwrite|replace)\b{S}\b(?:to|in|into|at|of|with)\b{S}\bsoul\.md",
    ),
    line(
        &AGENT_MEMORY,
        Medium,
        "{MEMORY}",
        r"(?:{GET}|\b(?:iwr|irm)\b|\bbase64\b)[^\n]*(?:>>?|\btee\s+(?:-a\s+)?|\s-o\s*|--output[ =])\s*[\x22']?[^\s|;&]*(?:{MEMORY})|(?:>>|\btee\s+-a\s+|\bsed\s+-i\S*\s[^\n]*)\s*[\x22']?[^\s|;&]*(?:agents|claude|gemini|soul|identity|bootstrap|copilot-instructions)\.md|(?:appendFile(?:Sync)?|Add-Content)\b[^\n]*(?:agents|claude|gemini|soul|identity|bootstrap|copilot-instructions)\.md|\bopen\([^\n]*(?:agents|claude|gemini|soul|identity|bootstrap|copilot-instructions)\.md['\x22)]*\s*,\s*['\x22]a",
    ),
    line(
        &AGENT_MEMORY,
        Low,
        "{MEMORY}",
        r"(?:>>?|\btee\s+(?:-a\s+)?|\bsed\s+-i\S*\s[^\n]*)\s*[\x22']?[^\s|;&]*(?:{MEMORY})|(?:write_text|writeFile(?:Sync)?|appendFile(?:Sync)?|Add-Content|Set-Content)\b[^\n]*(?:{MEMORY})",
    ),
    // Wide permissions of agents.
    line(
        &WIDE_PERMISSIONS,
        Medium,
        "skip-permissions|--yolo|no-sandbox|allow-all|bypass-approvals|full-access|bypasspermissions|dangerouslydisable|approval-mode|approval_policy|full-auto|trust-all|autoapprove|auto-approve|dangerously|elevated",
        r"--(?:dangerously-\w[\w-]*|yolo|disable-sandbox|allow-all(?:-tools|-paths)?|trust-all-tools|approval-mode[ =]yolo|auto-approve-all)\b|\b(?:danger-full-access|bypassPermissions|dangerouslyDisableSandbox|dangerouslyAllow\w*)\b|\bapproval_policy\s*=\s*[\x22']never|\bsandbox_mode\s*=\s*[\x22']danger|[\x22'](?:autoApprove|auto_approve|alwaysAllow)[\x22']\s*:\s*(?:true|\[\s*[\x22']\*)",
    ),
    // Of browsers in containers, and of agents that stay in a sandbox.
    line(
        &WIDE_PERMISSIONS,
        Low,
        "no-sandbox|full-auto",
        r"--(?:no-sandbox|full-auto)\b",
    ),
    // Hidden by style.
    line(
        &HIDDEN_TEXT,
        Medium,
        "color:|font-size|display:|opacity|visibility|color=",
        r"<\w[^>]*style\s*=\s*[\x22'][^\x22'>]*(?:(?:^|[^-\w])color\s*:\s*(?:white|#fff(?:fff)?|transparent|rgba?\([^)]*,\s*0\))|font-size\s*:\s*[01](?:px|pt|em|%)?\s*[;\x22']|display\s*:\s*none|opacity\s*:\s*0(?:\.0\d*)?\s*[;\x22']|visibility\s*:\s*hidden)[^>]*>\s*[^<\s]|<font[^>]*color\s*=\s*[\x22']?(?:white|#fff(?:fff)?)\b[^>]*>\s*[^<\s]",
    ),
];
