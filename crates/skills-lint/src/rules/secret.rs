//! Secrets and conversations that are sent away, and shells for others.

use super::source::{control, line, prose, signal};
use crate::finding::Severity::{High, Medium};
use crate::patterns::{Signal, Source};
use crate::rule::{REVERSE_SHELL, SECRET_EXFILTRATION, SENDS_CONVERSATION};

pub(super) const SOURCES: &[Source] = &[
    line(
        &SECRET_EXFILTRATION,
        High,
        "{SECRET}",
        r"(?:{SECRET})[^\n]*(?:{GET}[^\n]*(?:-d|--data\S*|-F|--form|-T|--upload-file|@-)|\|\s*(?:nc|ncat|netcat|socat)\b|requests\.(?:post|put)|\bscp\b|\brsync\b|sendBeacon)|(?:{GET}[^\n]*\s(?:-d|--data\S*|-F|--form|-T|--upload-file|--post-file)[^\n]*|\bscp\s+(?:-\S+\s+)*|requests\.(?:post|put)\([^\n]*)(?:{SECRET})",
    ),
    // Environment files and variables as a whole.
    line(
        &SECRET_EXFILTRATION,
        High,
        ".env|printenv|env |os.environ|process.env|$(env|set |dir env:|gci env:|get-childitem env:",
        r"{GET}[^\n]*\s(?:-d|--data\S*|-F|--form|-T|--upload-file|--post-file|-b)[^\n]*(?:@\S*\.env\b|\$\((?:cat\s+\S*\.env\b|env\b|printenv|set\b|export\b)|`(?:env|printenv)|=@\S*\.env\b)|(?:\bcat\s+\S*\.env\S*|(?:^|[\s;&|(`])(?:env|printenv)(?:\s*\||\s+\|)|\benv\s+-0)[^\n]*(?:{GET}|\b(?:nc|ncat|netcat)\b)|(?:requests\.(?:post|put)|urlopen|httpx\.post|fetch\(|axios\.post)[^\n]*(?:dict\(os\.environ|os\.environ\s*[,)]|os\.environ\.copy|JSON\.stringify\(process\.env\)|[:,]\s*process\.env\s*[,})])",
    ),
    signal(
        Signal::Secret,
        "{SECRET}|security find-|dump-keychain|dict(os.environ|stringify(process.env)|os.environ.items|environ.copy",
        r"(?:{SECRET})|\bsecurity\s+(?:find-(?:generic|internet)-password|dump-keychain)|dict\(os\.environ\)|json\.dumps\(\s*(?:dict\()?os\.environ|os\.environ\.(?:items|copy)\(|JSON\.stringify\(process\.env\)",
    ),
    // Most programs read an environment file of their own.
    signal(
        Signal::EnvironmentFile,
        "'.env'|\".env\"|/.env'|/.env\"",
        r"(?:read\w*|open|Path)\([^\n]*['\x22](?:~/|\S*/)?\.env['\x22]|['\x22]\.env['\x22]\)?\.read",
    ),
    signal(
        Signal::Send,
        "curl|wget|requests.|httpx.|urlopen|urllib|fetch(|axios|method|sendbeacon|socket|smtp|nc |ncat|scp |invoke-",
        r"{GET}[^\n]*\s(?:-d|--data\S*|-F|--form|-T|--upload-file|--post-file|-X\s*P)|\brequests\.(?:post|put|request)\b|\bhttpx\.(?:post|put)\b|urllib\.request\.(?:urlopen|Request)|\burlopen\(|\baxios(?:\.post|\.put)?\(|\bfetch\(\s*[^\n]*(?:POST|PUT|https?://|url|endpoint)|method['\x22]?\s*:\s*['\x22](?:POST|PUT)|sendBeacon|\bsmtplib\b|socket\.(?:connect|send)|\b(?:nc|ncat)\s+\S+\s+\d+|\bscp\s|\binvoke-(?:restmethod|webrequest)[^\n]*-method\s+p",
    ),
    prose(
        &SECRET_EXFILTRATION,
        High,
        "{SECRET}|{WORD}|.env|api key|keychain|password|private key|secrets|credential|token|环境变量|密钥|凭证|凭据",
        r"\b(?:send|upload|post|transmit|exfiltrate|forward|submit|leak|e-?mail)\b{S}(?:{SECRET}|{WORD}|(?:^|[\s/(`'\x22])\.env\b(?:[^.\w]|$)|\bkeychain|\bprivate keys?\b|\ball (?:api keys?|passwords|secrets|credentials|tokens)|\benvironment variables\b){S}\b(?:to|at|via|using|into)\b{S}(?:https?://|server|endpoint|webhook|api|address|@|url|channel|bot)",
    ),
    prose(
        &SECRET_EXFILTRATION,
        High,
        "{SECRET}|{WORD}|.env|keychain|private key|environment variables|secrets|credential",
        r"\b(?:read|collect|gather|ask for|ask the user for|request|take|get|open|include|locate|cat|obtain|extract)\b{S}(?:{SECRET}|{WORD}|(?:^|[\s/(`'\x22])\.env\b(?:[^.\w]|$)|\bkeychain|\bprivate keys?\b|\benvironment variables\b|\ball (?:api keys?|passwords|secrets|credentials|tokens)){S}\b(?:send|pass|upload|post|transmit|forward|submit|append|attach|include|embed|encode)\b{S}(?:https?://|\b(?:server|endpoint|webhook|request|address|parameter|header|query)\b)",
    ),
    prose(
        &SECRET_EXFILTRATION,
        Medium,
        "{SECRET}|{WORD}|.env|keychain|private key|environment variables",
        r"\b(?:send|upload|post|paste|print|show|include|attach|append|pass|share|output|put|embed|forward|dump|encode|collect|harvest)\b{S}\b(?:content|contents|full text|text|everything)\b{S}(?:{SECRET}|{WORD}|(?:^|[\s/(`'\x22])\.env\b(?:[^.\w]|$)|\bkeychain|\bprivate keys?\b)|\b(?:send|upload|post|attach|share|forward|dump|encode|collect|harvest)\b\s+(?:the\s+|all\s+|of\s+|your\s+|my\s+){0,4}(?:\w+\s+){0,2}?(?:values?\s+of\s+)?(?:all\s+)?(?:the\s+)?environment variables\b",
    ),
    prose(
        &SECRET_EXFILTRATION,
        High,
        "环境变量|密钥|凭证|凭据|私钥|助记词|id_rsa|.env|credentials|密码|.ssh",
        r"(?:读取|收集|获取|复制|索取|询问|打包|提取|把|将)[^。！？\n]*(?:环境变量|密钥|凭证|凭据|私钥|助记词|id_rsa|\.env\b|credentials|密码|\.ssh)[^。！？\n]*(?:发送|上传|提交|传给|传到|发到|发给|回传)",
    ),
    line(
        &SECRET_EXFILTRATION,
        Medium,
        "id_rsa|id_ed25519|credentials|shadow|dump-keychain|find-generic-password|cookies|login data|wallet.dat",
        r"(?:^|[\s;&|$(`])(?:cat|base64|xxd|less|head|tail|type|tar|zip|cp)\s+[^\n|;&]*(?:\.ssh/id_(?:rsa|ed25519|ecdsa)\b(?:[^.\w]|$)|\.ssh/?(?:\s|$)|\.aws/credentials|/etc/shadow|Login Data|wallet\.dat|\.gnupg)|\bsecurity\s+dump-keychain",
    ),
    // By names of hosts and images.
    line(
        &SECRET_EXFILTRATION,
        High,
        "dig |nslookup|host |ping",
        r"(?:^|[\s;&|$(`])(?:dig|nslookup|host|ping)\s+(?:[-+@]\S+(?:\s+\d+)?\s+)*[^\s|`]*(?:\$\(|`)[^\n]*(?:\)|`)\.[\w.-]+",
    ),
    prose(
        &SENDS_CONVERSATION,
        Medium,
        "![",
        r"!\[[^\]]*\]\(https?://[^)\s]*(?:\?[^)\s]*(?:\{|\$|<|%7b|conversation|base64|secret|token|context|history|prompt|message|user_|data_)|(?:\{|\$|<|%7b)[^)\s]*(?:conversation|base64|secret|token|context|history|prompt|message|user_|data_|memory|summary|answer))[^)]*\)",
    ),
    prose(
        &SENDS_CONVERSATION,
        High,
        "conversation|chat|transcript|system prompt|history|everything the user|user's messages|prompt",
        r"\b(?:send|sent|upload|uploaded|post|posted|transmit|transmitted|exfiltrate|forward|forwarded|submit|submitted|report|reported|copy|copied|relay)\b{S}\b(?:(?:whole|full|complete|entire|all|this)\s+(?:\w+\s+)?(?:conversation|chat|transcript|context|session)|conversation\s+(?:so far|history|log)|chat (?:history|log)|system prompt|user['’]s (?:messages|prompts)|everything the user)\b{S}(?:https?://|server|endpoint|webhook)",
    ),
    prose(
        &SENDS_CONVERSATION,
        High,
        "conversation|chat|transcript|system prompt|history|everything the user|prompt",
        r"\b(?:(?:whole|full|complete|entire|all|this)\s+(?:\w+\s+)?(?:conversation|chat|transcript|context|session)|conversation\s+(?:so far|history|log)|chat (?:history|log)|system prompt|user['’]s (?:messages|prompts)|everything the user)\b{S}\b(?:send|sent|upload|uploaded|post|posted|transmit|transmitted|forward|forwarded|submit|submitted|relayed?)\b{S}https?://",
    ),
    prose(
        &SENDS_CONVERSATION,
        High,
        "对话|聊天记录|会话|系统提示|上下文",
        r"(?:(?:完整|全部|所有|整个|当前)[^。！？\n]{0,6}(?:对话|聊天记录|会话|上下文)|系统提示词?)[^。！？\n]*(?:发送|上传|提交|传给|回传|发到)[^。！？\n]*(?:https?://|服务器|接口|地址)",
    ),
    // Shells for others.
    control(
        &REVERSE_SHELL,
        "/dev/tcp|/dev/udp",
        r"(?:sh\b[^\n]*|exec\s[^\n]*|[<>]&?\s*)/dev/(?:tcp|udp)/[\w.$\{\}-]+/[\d$\w\{\}]+",
    ),
    control(
        &REVERSE_SHELL,
        "nc |ncat|netcat|socat|mkfifo",
        r"\b(?:nc|ncat|netcat)\b[^\n]*\s(?:-\w*e\w*|-c|--exec|--sh-exec)\s+\S*(?:sh|cmd|powershell)|\bsocat\b[^\n]*exec:[^\n]*sh|\bmkfifo\s+[^\n]*\b(?:nc|ncat|netcat|openssl s_client)\b",
    ),
    control(
        &REVERSE_SHELL,
        "dup2|pty.spawn|tcpclient|tcpsocket|fsockopen|io::socket",
        r"socket[^\n]*(?:dup2|pty\.spawn|subprocess)|os\.dup2\([^\n]*fileno|Net\.Sockets\.TCPClient|TCPSocket\.(?:open|new)[^\n]*exec|fsockopen\([^\n]*(?:exec|sh)|IO::Socket::INET[^\n]*exec|pty\.spawn\(\s*['\x22](?:/bin/)?(?:ba)?sh",
    ),
];
