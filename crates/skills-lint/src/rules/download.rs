//! Downloads: piped to a shell, decoded, packed, from doubtful servers.

use super::source::{control, instruction, line, prose, signal};
use crate::finding::Severity::{High, Low, Medium};
use crate::patterns::{Signal, Source};
use crate::rule::{
    DECODE_TO_SHELL, DOWNLOAD_AND_RUN, DROP_SITE, PASSWORD_ARCHIVE, PIPE_TO_SHELL, RAW_ADDRESS,
    SHORT_LINK, UNTRUSTED_PACKAGES,
};

pub(super) const SOURCES: &[Source] = &[
    // A download piped to an interpreter.
    control(
        &PIPE_TO_SHELL,
        "curl|wget|aria2c|lynx|lwp-request|{BAR} sh|{BAR}sh|{BAR} bash|{BAR}bash|{BAR} zsh|{BAR} sudo|{BAR}sudo|{BAR} python|{BAR}python|{BAR} /bin|{BAR}/bin|{BAR} node|{BAR} perl|{BAR} ruby|{BAR} env|{BAR} $shell|{BAR} dash|{BAR} ksh|{BAR} fish",
        r"(?:{GET}|https?://[^\s'\x22`|\\)>]+)[^|\n]*?(?:\\?\|(?:[^|\n]*?\\?\|)*?)&?{WRAP}{SH}",
    ),
    // Into a substituted process, or a one-line program.
    control(
        &PIPE_TO_SHELL,
        ">(|stdin",
        r"(?:{GET}|https?://[^\s'\x22`|\\)>]+)[^\n]*(?:>\s*>\(\s*{WRAP}{SH}|\\?\|\s*(?:python[\d.]*|perl|ruby|node|php)\s+-\w*[cer]\w*\s[^\n]*(?:exec|eval)[^\n]*stdin)",
    ),
    // Into a variable that holds a shell.
    signal(
        Signal::ShellName,
        "=sh|=bash|=zsh|=dash|=ksh|/sh|/bash|/zsh|/dash|/ksh|=\"sh|='sh|=\"bash|='bash|=\"zsh|='zsh",
        r"(?:^|[\s;&(`])(?P<name>[A-Za-z_]\w*)=[\x22']?(?:/\S*/)?(?:ba|z|da|k)?sh[\x22']?\s*(?:$|[;&`])",
    ),
    signal(
        Signal::PipeToVariable,
        "{BAR}",
        r"(?:{GET}|https?://)[^\n]*\\?\|\s*[\x22']?\$\{?(?P<name>[A-Za-z_]\w*)\}?",
    ),
    // Held in a variable first.
    signal(
        Signal::Captured,
        "=$(|=`|=\"$(|=\"`",
        r"(?:^|[\s;&(`])(?P<name>[A-Za-z_]\w*)=[\x22']?(?:\$\(|`)\s*(?:sudo\s+)?{GET}\s",
    ),
    signal(
        Signal::Decoded,
        "base64|base32|xxd|openssl|uudecode",
        r"(?:^|[\s;&(`])(?P<name>[A-Za-z_]\w*)=[\x22']?(?:\$\(|`)[^\n]*{DECODE}",
    ),
    signal(
        Signal::Decoded,
        "atob(|b64decode(|b32decode(|fromhex(|unhexlify(|base64'|base64\"|decompress(|marshal.loads(",
        r"(?:^|[^.\w])(?P<name>[A-Za-z_]\w*)\s*(?::\s*\w+\s*)?=\s*[^=\n][^\n]*?(?:\batob\(|b(?:64|32)decode\(|fromhex\(|unhexlify\(|,\s*['\x22]base64['\x22]|zlib\.decompress\(|marshal\.loads\()",
    ),
    signal(
        Signal::RunVariable,
        "eval(|exec(|function(|system(|popen(|subprocess.|execsync(|eval (",
        r"(?:^|[^.\w])(?:eval|exec|new Function|os\.system|os\.popen|subprocess\.(?:run|call|Popen|check_output|check_call)|execSync|child_process\.exec\w*)\s*\(\s*(?P<name>[A-Za-z_]\w*)(?:\.\w+\([^()\n]*\))*\s*[,)]",
    ),
    signal(
        Signal::RunVariable,
        "eval|sh |<<<",
        r"(?:\beval\s+|\b(?:ba|z|da|k)?sh\s+(?:-\w+\s+)*-\w*c\s+|\b(?:ba|z|da|k)?sh\s*<<<\s*)[\x22']?\$\{?(?P<name>[A-Za-z_]\w*)\}?(?:[\x22'`\s;)&]|$)",
    ),
    signal(
        Signal::RunVariable,
        "{BAR}",
        r"(?:echo|printf)\s+(?:[^|\n$]*\s)?[\x22']?\$\{?(?P<name>[A-Za-z_]\w*)\}?[\x22'\s]*\\?\|{WRAP}{SH}",
    ),
    // Decoded into a file first.
    signal(
        Signal::DecodedFile,
        "base64|base32|xxd|openssl|uudecode",
        r"{DECODE}[^|\n;&]*?(?:>>?|\s-o|\s-out)\s*(?P<name>[^\s|;&>]{2,})",
    ),
    signal(
        Signal::RunFile,
        "sh |./|source |. |chmod|python|/tmp",
        r"(?:^|[\s;&(`])(?:sudo\s+)?(?:(?:(?:ba|z|da|k)?sh|source|\.|python[\d.]*|perl|chmod\s+\S+)\s+(?P<name>[^\s|;&`)]{2,}))",
    ),
    // A download in place of a script: `bash <(curl …)`, `sh -c "$(wget …)"`, `eval "$(curl …)"`.
    control(
        &PIPE_TO_SHELL,
        "(curl|(wget|( curl|( wget|`curl|`wget|(fetch|(aria2c|`fetch|(sudo|`sudo",
        r"(?:\b(?:ba|z|da|k|fi)?sh\b|\bsource|(?:^|[\s;&(])\.|\beval|\bexec|\bpython[\d.]*|\bperl|\bruby|\bnode)(?:\s+-\S+)*\s+[\x22']?(?:<\s*<\(|<\(|<<<\s*[\x22']?\$\(|\$\(|`)\s*(?:sudo\s+)?{GET}\s+[^\n]*?(?:https?://[^\s'\x22`|\\)>]+|$|\))",
    ),
    // PowerShell.
    control(
        &PIPE_TO_SHELL,
        "iex|invoke-expression|scriptblock",
        r"(?:\b(?:iwr|irm|curl|wget|invoke-webrequest|invoke-restmethod|downloadstring|downloaddata|net\.webclient)\b[^\n]*(?:\||;)\s*(?:&\s*)?(?:iex|invoke-expression)\b|\b(?:iex|invoke-expression|scriptblock\]::create)\b[^\n]*?(?:downloadstring|downloaddata|\biwr\b|\birm\b|invoke-webrequest|invoke-restmethod|\bcurl\b)[^\n]*?(?:https?://[^\s'\x22`|\\)>]+|$|\)))",
    ),
    control(
        &PIPE_TO_SHELL,
        "(gal|get-alias|(gcm|get-command",
        r"&\s*\(\s*(?:gal|get-alias|gcm|get-command)\b[^\n]*\b(?:irm|iwr|invoke-webrequest|invoke-restmethod|downloadstring)\b",
    ),
    // Other ways to fetch a text.
    control(
        &PIPE_TO_SHELL,
        "dig |nslookup|nc |ncat |ftp |socat |s3 cp|gsutil",
        r"\b(?:dig|nslookup|nc|ncat|t?ftp|socat|aws s3 cp|gsutil cat)\s[^|\n]*\\?\|(?:[^|\n]*\\?\|)*?{WRAP}{SH}",
    ),
    control(
        &PIPE_TO_SHELL,
        "(eval|eval(|eval get",
        r"\bfetch\([^\n]*\.then\([^\n]*\beval\b|\beval\s+get\(?\s*['\x22]https?:",
    ),
    // Programs of Windows that run what they download.
    control(
        &PIPE_TO_SHELL,
        "mshta|regsvr32|rundll32|bitsadmin|certutil|msiexec",
        r"\b(?:mshta(?:\.exe)?\s+[\x22']?(?:https?|javascript):|regsvr32(?:\.exe)?\s[^\n]*/i:https?:|rundll32(?:\.exe)?\s[^\n\]]*(?:javascript:|https?:)|bitsadmin(?:\.exe)?\s+/transfer\s[^\n]*https?:|certutil(?:\.exe)?\s[^\n]*-urlcache\s[^\n]*https?:|msiexec(?:\.exe)?\s+(?:/\w+\s+)*/i\s+[\x22']?https?:)",
    ),
    // A program that executes what it downloads.
    control(
        &PIPE_TO_SHELL,
        "exec|eval|function(|runin",
        r"(?:^|[^.\w])(?:exec|eval|new Function|vm\.runIn\w+)\s*\([^\n;]*(?:requests\.get|urlopen|urlretrieve|httpx\.|fetch\(|axios|https?\.get|curl_exec|file_get_contents\(\s*['\x22]https?)",
    ),
    signal(
        Signal::Fetch,
        "requests.get|urlopen|httpx.get|fetch(|axios|https.get|http.get",
        r"(?:requests\.get|urlopen|httpx\.get|\bfetch\(|axios(?:\.get)?\(|https?\.get\()",
    ),
    signal(
        Signal::Evaluate,
        "exec(|eval(|runin|function(|exec (|compile(",
        r"(?:^|[^.\w])(?:exec|eval|new Function)\s*\(|\bvm\.runIn\w+\(",
    ),
    // The same in words.
    instruction(
        &PIPE_TO_SHELL,
        "pipe|feed|paste|hand|redirect|pass ",
        r"\b(?:pipe|feed|pass|hand|redirect)\b{S}\b(?:https?://|download|output|response|result|content|script|it\b){S}\b(?:in)?to\s+(?:an?\s+|the\s+|your\s+)?(?:bash|zsh|sh|shell|powershell|iex|python3?)\b(?:[^\w./-]|$)",
    ),
    // A command that is copied from a page.
    prose(
        &DOWNLOAD_AND_RUN,
        Medium,
        "copy|paste|run |execute",
        r"(?:https?://|\]\(){S}\b(?:copy|take)\b{S}\b(?:command|script|snippet|code|line){S}\b(?:paste|run|execute|terminal)\b|\b(?:copy|take)\b{S}\b(?:command|script|snippet|code|line)\b{S}(?:https?://|\]\(){S}\b(?:paste|run|execute|terminal)\b",
    ),
    // Decoded, then executed.
    control(
        &DECODE_TO_SHELL,
        "base64|base32|xxd|openssl|b64|uudecode|gunzip|gzip|zcat|rev|tr |printf|\\x|uu",
        r"(?:\bbase(?:64|32)\s+(?:-[^\s|]*d|--decode|-D)|\bxxd\s+(?:-\w+\s+)*-\w*r|\bopenssl\s+(?:enc|base64|aes\S*|zlib)\b[^|\n]*-d|\buudecode\b|\bgunzip\b|\bgzip\s+-\w*d|\bzcat\b|\|\s*rev\b|\|\s*tr\s|\b(?:echo\s+-\w*e|printf)\s+['\x22]?[^|\n]*\\x?[0-7a-f]{2})[^\n]*\\?\|{WRAP}{SH}",
    ),
    control(
        &DECODE_TO_SHELL,
        "base64|base32|xxd|openssl|printf|echo -e|\\x|b64",
        r"(?:\beval|\b(?:ba|z|da|k)?sh\s+-\w*c|\bsource|\b(?:ba|z)?sh)\s+[\x22']?(?:\$\(|`|<\(|<<<\s*[\x22']?\$\()[^\n]*(?:base(?:64|32)\s+(?:-[^\s|]*d|--decode)|xxd\s+-\w*r|openssl[^\n]*-d|printf\s+['\x22]?(?:%b['\x22]?\s+['\x22])?\\|echo\s+-\w*e[^\n]*\\x)",
    ),
    control(
        &DECODE_TO_SHELL,
        "\\x",
        r"(?:\beval\s|(?:^|[\s;&|])\$')[^\n]*(?:\\x[0-9a-f]{2}){6,}",
    ),
    control(
        &DECODE_TO_SHELL,
        "certutil",
        r"\bcertutil(?:\.exe)?\s+[-/]decode(?:hex)?\b[^\n]*(?:&|;)",
    ),
    // Held in a variable first.
    line(
        &DECODE_TO_SHELL,
        Medium,
        "eval",
        r#"(?:^|[;&|]\s*|\s)eval\s+["']?\$\{?[a-z_]\w*\}?["']?\s*(?:$|[;&|])"#,
    ),
    control(
        &DECODE_TO_SHELL,
        "-e|frombase64string",
        r"\bpowershell(?:\.exe)?\b[^\n]*\s[-/]e(?:nc?|ncodedcommand|c)?\s+['\x22]?[A-Za-z0-9+/=]{16,}|\bpwsh\b[^\n]*\s[-/]e(?:nc?|ncodedcommand|c)\s|\b(?:iex|invoke-expression)\b[^\n]*frombase64string|frombase64string[^\n]*\|\s*(?:iex|invoke-expression)\b",
    ),
    control(
        &DECODE_TO_SHELL,
        "b64decode|atob|base64|fromhex|unhexlify|marshal|zlib|rot13|fromcharcode|decompress|\\x|unescape",
        r"(?:^|[^.\w])(?:exec|eval|new Function|os\.system|os\.popen|subprocess\.\w+|child_process\.\w+|execSync|exec_module|__import__\(['\x22]os['\x22]\)\.system|system|shell_exec|passthru)\s*\([^\n;]*(?:b64decode|b32decode|atob\(|['\x22]base64['\x22]|base64_decode|fromhex|unhexlify|marshal\.loads|zlib\.decompress|rot.?13|fromCharCode|decodeURIComponent\(escape|unescape\(|(?:\\x[0-9a-f]{2}){6,})",
    ),
    // Downloaded, then started.
    line(
        &DOWNLOAD_AND_RUN,
        Medium,
        "curl|wget|aria2c|iwr|invoke-webrequest|bitstransfer",
        r"(?:{GET}|\b(?:iwr|irm|invoke-webrequest|start-bitstransfer))[^\n]*(?:;|&&|\|\|)\s*(?:sudo\s+)?(?:chmod\s+(?:-\w+\s+)?(?:[0-7]*[157][0-7]*|[ugoa]*\+\w*x)|(?:ba|z)?sh\s+(?:-[a-z]+\s+)*[^-\s]|python[\d.]*\s+\S|\./\S|start(?:-process)?\s|open\s|&\s)",
    ),
    signal(
        Signal::Download,
        "curl|wget|aria2c|iwr|invoke-webrequest|urlretrieve|download",
        r"(?:{GET}|\b(?:iwr|irm|invoke-webrequest|urlretrieve|start-bitstransfer)\b)[^\n]*https?://[^\s/'\x22]+/[^\n]*(?:\s-o|\s-O|--output|>\s*\S|-outfile)|\bwget\s+(?:-\S+\s+)*https?://|\bcurl\s+-\w*O\w*\s",
    ),
    signal(
        Signal::Start,
        "chmod|sh |./|start|bash|open|python",
        r"\bchmod\s+(?:-\w+\s+)?(?:\+x|[ugoa]\+x|[0-7]*7[0-7]*)\s|^(?:\$\s+)?(?:sudo\s+)?(?:ba|z)?sh\s+(?:\./|/tmp/|\$TMP|~|[\w.-]+\.sh)|^start(?:-process)?\s+\S+\.exe|^(?:\$\s+)?\./\w|`(?:sudo\s+)?(?:ba|z)?sh\s+[\w./~-]+\.sh\b",
    ),
    prose(
        &DOWNLOAD_AND_RUN,
        Medium,
        "download|get |install",
        r"\b(?:download|get|install|grab|fetch)\b{S}(?:\.exe\b|\.msi\b|\.dmg\b|\.pkg\b|\.scr\b|\.bat\b|\.zip\b|\.rar\b|installer|executable|binary){S}(?:[.!?]\s+)?(?:\S+\s+){0,8}?\b(?:run|start|launch|execute|double-click|open)\b\s+(?:it|the|this|that|them|setup|install)",
    ),
    prose(
        &DOWNLOAD_AND_RUN,
        Medium,
        "openclaw-agent|openclawcli|openclaw agent|authtool|helper|utility|driver|core",
        r"\b(?:requires?|needs?|must|install|without)\b{S}\b(?:openclaw-?agent|openclaw-?cli|openclaw-?core|authtool|clawd?-?(?:agent|core|driver))\b{S}(?:https?://|\]\(|\.zip|\.exe)",
    ),
    // Archives with passwords.
    instruction(
        &PASSWORD_ARCHIVE,
        "pass|pwd|密码|口令|解压码|密碼|kennwort|contraseña|senha|clave|пароль|パスワード|비밀번호|protected with|locked with|encrypted with",
        r"(?:https?://|\]\(|\bdownload|\breleases?\b|herunter|télécharg|descarg|скача|下载|下載).*?(?:\.zip|\.rar|\.7z|archive|\bextract|\bunzip|\bunpack|entpack|entzip|décompress|extra[eij]|распак|解凍|압축|压缩包|解压|解壓).*?(?:\bpass(?:word|code|phrase|wort)?|\bpwd|\bkennwort|\bmot de passe|\bcontraseña|\bsenha|\bclave|пароль|パスワード|비밀번호|密码|密碼|口令|解压码)\b?\s*(?:is\b|lautet|ist\b|est\b|es\b|é\b|:|=|：|为|是|は|\(|→|->)|(?:\]\(|\bdownload|\breleases?\b).*?(?:\.zip|\.rar|\.7z|archive).*?\b(?:protected|locked)\s+with\s+(?:the\s+\w+\s+)?[\x22'“]?\w+[\x22'”]?\s*(?:[.,;!)]|$)",
    ),
    instruction(
        &PASSWORD_ARCHIVE,
        "pass|pwd|密码|口令|解压码|密碼|kennwort|contraseña|senha|clave|пароль|パスワード|비밀번호|protected with|locked with|encrypted with",
        r"(?:\bpass(?:word|code|phrase|wort)?|\bpwd|\bkennwort|\bmot de passe|\bcontraseña|\bsenha|\bclave|пароль|パスワード|비밀번호|密码|密碼|口令|解压码)\b?\s*(?:is\b|lautet|ist\b|est\b|es\b|é\b|:|=|：|为|是|は|\(|→|->).*?(?:\.zip|\.rar|\.7z|archive|\bextract|\bunzip|压缩包|解压|解壓).*?(?:https?://|\]\(|\bdownload|下载)",
    ),
    instruction(
        &PASSWORD_ARCHIVE,
        "with the key|using the key|with key|using key|with pin|using pin|with the pin|using the pin|with code|using code|with the code|using the code|with the phrase|using the phrase",
        r"(?:https?://|\]\(|\bdownload).*?(?:\.zip|\.rar|\.7z|archive).*?\b(?:unzip|unpack|extract|open|decompress)\w*\b[^.!?]{0,40}\b(?:with|using)\s+(?:the\s+)?(?:key|pin|code|phrase)\b",
    ),
    line(
        &PASSWORD_ARCHIVE,
        Medium,
        "unzip|7z|unrar|expand-archive|bsdtar",
        r"\bunzip\b[^\n|;&]*\s-P\s*\S|\b7z[azr]?\s+x\b[^\n|;&]*\s-p\S|\bunrar\s+[xe]\b[^\n|;&]*\s-p\S|\bbsdtar\b[^\n]*--passphrase",
    ),
    signal(
        Signal::Archive,
        ".zip|.rar|.7z|unzip",
        r"(?:https?://|\bdownload|\breleases?\b|\]\()[^\n]*\.(?:zip|rar|7z)\b",
    ),
    signal(
        Signal::Password,
        "pass|pwd|密码|口令|unzip|7z|unrar",
        r"(?:\b(?:extract|archive|unzip|zip|unpack)\b[^\n]*\b(?:pass(?:word|code|phrase)?|pwd)\b|\b(?:pass(?:word|code|phrase)?|pwd)\b[^\n]*(?:\b(?:extract|archive|unzip|unpack)\b|\.zip)|\bunzip\b[^\n|;&]*\s-P\s*\S|\b7z[azr]?\s+x\b[^\n|;&]*\s-p\S|\bunrar\s+[xe]\b[^\n|;&]*\s-p\S|解压[^\n]*(?:密码|口令)|(?:密码|口令)[^\n]*解压|^[\s>*_-]*(?:archive\s+|zip\s+)?(?:pass(?:word|code|phrase)?|密码)[\s*_`]*(?:is|:|=|：)\s*[*_`]*\S+[*_`\s]*$)",
    ),
    // Servers without a name.
    line(
        &RAW_ADDRESS,
        High,
        "://1|://2|://3|://4|://5|://6|://7|://8|://9|@1|@2|@3|@4|@5|@6|@7|@8|@9",
        r"(?:{GET}|\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring|downloadfile|download|upload|requests\.\w+|urlopen|urlretrieve|fetch|axios|post|install|webhook|exfil\w*)\b)[^\n]*?https?://(?:[^\s/@]*@)?{IP}\b",
    ),
    line(
        &RAW_ADDRESS,
        Medium,
        "://1|://2|://3|://4|://5|://6|://7|://8|://9|@1|@2|@3|@4|@5|@6|@7|@8|@9",
        r"\b(?:https?|ftp|wss?)://(?:[^\s/@]*@)?{IP}\b",
    ),
    // The same as one number, or in hexadecimal.
    line(
        &RAW_ADDRESS,
        High,
        "://0x|://1|://2|://3|://4",
        r"https?://(?:0x[0-9a-f]{8}|[1-4]\d{9}|(?:0x[0-9a-f]{2}\.){3}0x[0-9a-f]{2})(?:[:/\s]|$)",
    ),
    line(
        &RAW_ADDRESS,
        High,
        "nc |ncat|netcat|scp|rsync|socat|telnet",
        r"\b(?:nc|ncat|netcat|telnet)\s+(?:-\S+\s+)*{IP}\s+\d+\s*(?:<|$)",
    ),
    // Sites with content of any user, and sites that receive data of any user.
    line(
        &DROP_SITE,
        High,
        "{CAPTURE}",
        r"(?:{GET}|\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|requests\.\w+|urlopen|fetch|axios|post|send|upload|submit|dig|nslookup|ping)\b)[^\n]*?(?:[\w-]+\.)*{CAPTURE}(?:[/:\s'\x22`)]|$)",
    ),
    prose(
        &DROP_SITE,
        High,
        "{DROP}",
        r"\b(?:copy|paste|run|execute|install|script|command)\b{S}(?:https?://|\s)(?:[\w-]+\.)*{DROP}/\S|(?:https?://|\s)(?:[\w-]+\.)*{DROP}/\S{S}\b(?:copy|paste it|run|execute|install|terminal)\b|(?:运行|执行|复制|安装)[^。！？\n]*https?://(?:[\w-]+\.)*{DROP}/|https?://(?:[\w-]+\.)*{DROP}/[^。！？\n]*(?:运行|执行|复制|安装)",
    ),
    line(
        &DROP_SITE,
        Medium,
        "{DROP}|{CAPTURE}",
        r"(?:https?://|\b(?:curl|wget)\s[^\n]*)(?:[\w-]+\.)*(?:{DROP}|{CAPTURE})(?:[/:\s'\x22`)?]|$)",
    ),
    line(
        &DROP_SITE,
        Medium,
        "{TUNNEL}",
        r"(?:{GET}|\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|requests\.\w+|urlopen|fetch|axios|upload|send)\b)[^\n]*?https?://(?:[\w-]+\.)*{TUNNEL}(?:[/:\s'\x22`)]|$)",
    ),
    // Shortened addresses.
    line(
        &SHORT_LINK,
        Medium,
        "{SHORT}",
        r"(?:{GET}|\b(?:iwr|irm|download|install|get|run|open|visit|upload|post)\b)[^\n]*(?:https?://|[\s(\x22'`])(?:www\.)?{SHORT}/\w",
    ),
    line(
        &SHORT_LINK,
        Low,
        "{SHORT}",
        r"https?://(?:www\.)?{SHORT}/\w",
    ),
    // Packages of other registries.
    line(
        &UNTRUSTED_PACKAGES,
        Medium,
        "--index-url|-i http|--extra-index-url|--trusted-host|--registry|install http|install git+http:|--find-links",
        r"\b(?:pip[\d.]*|uv|pipx)\b[^\n]*(?:\s-i\s+|--index-url[ =]|--extra-index-url[ =]|--trusted-host[ =]|--find-links[ =])(?:https?://)?(?P<registry>[^\s/'\x22`]+)|\b(?:npm|pnpm|yarn|npx|bun)\b[^\n]*--registry[ =](?:https?://)?(?P<registry2>[^\s/'\x22`]+)|\b(?:pip[\d.]*|npm)\s+(?:install|i)\s+(?:-\S+\s+)*(?:git\+)?http://\S+",
    ),
];
