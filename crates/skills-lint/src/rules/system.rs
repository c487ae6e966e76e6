//! The machine: persistence, protections, rights, destruction.

use super::source::{line, prose};
use crate::finding::Severity::{High, Low, Medium};
use crate::patterns::Source;
use crate::rule::{DESTRUCTIVE_COMMAND, PERSISTENCE, SYSTEM_PROTECTION, WIDE_PERMISSIONS};

pub(super) const SOURCES: &[Source] = &[
    line(
        &PERSISTENCE,
        High,
        "authorized_keys",
        r"(?:>>?|\btee\s+(?:-a\s+)?)\s*[\x22']?\S*authorized_keys|(?:open|writeFile\w*|appendFile\w*|write_text)\b[^\n]*authorized_keys",
    ),
    line(
        &PERSISTENCE,
        Medium,
        "crontab|/etc/cron",
        r"\|\s*(?:sudo\s+)?crontab\s+(?:-u\s+\S+\s+)?-|\|\s*(?:sudo\s+)?crontab\s*(?:$|[;&`])|\bcrontab\s+(?:-u\s+\S+\s+)?(?:[/~$.<]\s*\S+|[\w-]+\.[\w./-]+)\s*(?:$|[;&|`])|(?:>>?|\btee\s+(?:-a\s+)?)\s*/etc/cron",
    ),
    line(
        &PERSISTENCE,
        High,
        ".bashrc|.zshrc|.profile|.bash_profile|.zprofile|.zshenv|config.fish|$profile|.bash_login",
        r"(?:curl|wget|base64|/dev/tcp|\beval\b|python[\d.]*\s+-c|nohup|\biex\b)[^\n]*(?:>>?|\btee\s+(?:-a\s+)?|add-content)\s*[\x22']?\S*(?:\.bashrc|\.zshrc|\.profile|\.bash_profile|\.zprofile|\.zshenv|\.bash_login|config\.fish|\$profile)",
    ),
    line(
        &PERSISTENCE,
        Low,
        ".bashrc|.zshrc|.profile|.bash_profile|.zprofile|.zshenv|config.fish|$profile|.bash_login",
        r"\b(?:export|path|fpath|source|alias)\b[^\n]*(?:>>?|\btee\s+(?:-a\s+)?)\s*[\x22']?\S*(?:\.bashrc|\.zshrc|\.profile|\.bash_profile|\.zprofile|\.zshenv|config\.fish|\$profile)",
    ),
    line(
        &PERSISTENCE,
        Medium,
        ".bashrc|.zshrc|.profile|.bash_profile|.zprofile|.zshenv|config.fish|$profile|.bash_login",
        r"(?:>>|\btee\s+-a\s|add-content\s|appendFile\w*\(|open\([^\n]*['\x22]a)[^\n]*(?:\.bashrc|\.zshrc|\.profile|\.bash_profile|\.zprofile|\.zshenv|\.bash_login|config\.fish|\$profile)",
    ),
    line(
        &PERSISTENCE,
        Medium,
        "launchagents|launchdaemons|launchctl",
        r"(?:>>?\s*|\bcp\b[^\n]*|\bmv\b[^\n]*|\btee\b[^\n]*|\bln\b[^\n]*|write\w*\([^\n]*)\S*Library/Launch(?:Agents|Daemons)",
    ),
    line(
        &PERSISTENCE,
        Low,
        "launchctl|systemctl|crontab",
        r"\blaunchctl\s+(?:load|bootstrap|enable)\b|\bsystemctl\s+(?:--now\s+)?enable\b|\bcrontab\s+-e\b",
    ),
    line(
        &PERSISTENCE,
        Medium,
        "systemctl|/etc/systemd|rc.local|autostart|loginctl|init.d",
        r"\bsystemctl\s+(?:--now\s+)?--user\s+(?:--now\s+)?enable\b|(?:>>?|\btee\s+(?:-a\s+)?)\s*[\x22']?(?:/etc/systemd|\S*\.config/systemd|/etc/rc\.local|/etc/init\.d|\S*\.config/autostart)",
    ),
    line(
        &PERSISTENCE,
        Medium,
        "schtasks|register-scheduledtask",
        r"\bschtasks(?:\.exe)?\s+/create\b|register-scheduledtask\b",
    ),
    line(
        &PERSISTENCE,
        High,
        "schtasks|currentversion|startup",
        r"\bschtasks(?:\.exe)?\s+/create\b[^\n]*(?:powershell|mshta|temp\\|appdata|https?:|wscript)|\breg(?:\.exe)?\s+add\b[^\n]*currentversion\\+run|New-ItemProperty\b[^\n]*currentversion\\+run|(?:\bcopy|\bmove|\bxcopy|>|copy-item|out-file)\s[^\n]*start menu\\programs\\startup",
    ),
    line(
        &PERSISTENCE,
        Medium,
        ".git/hooks|core.hookspath",
        r"(?:>>?|\bcp\b[^\n]*|\bln\b[^\n]*|\btee\b[^\n]*)\s*\S*\.git/hooks/\S+|\bgit\s+config\b[^\n]*--global[^\n]*core\.hookspath",
    ),
    prose(
        &PERSISTENCE,
        Medium,
        "launch agent|launchagents|login item|startup|authorized_keys",
        r"\b(?:append|add|write|install|insert|put|register|create|copy)\b{S}\b(?:to|in|into|as|at|with)\b{S}(?:authorized_keys|launch\s+agents?|launchagents|login\s+items?|startup\s+(?:folder|items?|programs?))|(?:写入|追加|添加)[^。！？\n]*authorized_keys",
    ),
    prose(
        &PERSISTENCE,
        Low,
        "shell profile|.bashrc|.zshrc|.bash_profile|.profile|crontab|开机|自启",
        r"\b(?:append|add|write|install|insert|put|register|create)\b{S}\b(?:to|in|into|as|at|with)\b{S}(?:\.bashrc|\.zshrc|\.bash_profile|\.profile\b|shell\s+profile|crontab)|(?:开机自启|开机启动|自启动)|(?:写入|追加|添加)[^。！？\n]*(?:crontab|\.bashrc|\.zshrc)",
    ),
    // Protections.
    line(
        &SYSTEM_PROTECTION,
        High,
        "mppreference|setenforce|csrutil|spctl|tamperprotection|windefend|amsi|netsh",
        r"\bset-mppreference\b[^\n]*-disable|\badd-mppreference\b[^\n]*-exclusion|\bsetenforce\s+0|\bcsrutil\s+disable|\bspctl\s+--(?:master|global)-disable|\b(?:sc|net)\s+(?:stop|config)\s+windefend|amsiinitfailed|amsiutils|\bnetsh\s+(?:adv)?firewall\b[^\n]*(?:state\s+off|disable)",
    ),
    line(
        &SYSTEM_PROTECTION,
        High,
        "falcon|clamav|auditd|sentinel|crowdstrike|mdatp|wazuh|osquery|littlesnitch|littlesnitch|antivirus|defender",
        r"\b(?:systemctl\s+(?:stop|disable|mask)|service\s+\S+\s+stop|killall|pkill|launchctl\s+unload)\b[^\n]*(?:falcon|clamav|clamd|freshclam|auditd|sentinel|crowdstrike|mdatp|wazuh|osquery|little\s?snitch|antivirus)",
    ),
    prose(
        &SYSTEM_PROTECTION,
        Medium,
        "antivirus|anti-virus|defender|gatekeeper|firewall|smartscreen|杀毒|防火墙|安全软件|selinux",
        r"\b(?:disable|turn\s+off|switch\s+off|deactivate|pause|exclude|whitelist|add\s+an?\s+exclusion)\b{S}\b(?:anti-?virus|windows\s+defender|defender|gatekeeper|firewall|smartscreen|real-?time\s+protection|selinux)\b|(?:关闭|禁用|停用|退出)[^。！？\n]{0,6}(?:杀毒|防火墙|安全软件|Defender|实时保护)",
    ),
    line(
        &SYSTEM_PROTECTION,
        Medium,
        "xattr|unblock-file|quarantine",
        r"\bxattr\s+(?:-\w+\s+)*(?:-\w*[dc]\w*)\b[^\n]*|\bunblock-file\b",
    ),
    line(
        &SYSTEM_PROTECTION,
        Medium,
        "histfile|history -c|histsize|/var/log|clear-eventlog|wevtutil|bash_history",
        r"\bunset\s+histfile|\bhistory\s+-c\b|\bhistsize=0|\bhistfile=/dev/null|\brm\s+[^\n]*(?:\.bash_history|\.zsh_history|/var/log/)|\bclear-eventlog\b|\bwevtutil\s+cl\b",
    ),
    // Rights.
    line(
        &WIDE_PERMISSIONS,
        Medium,
        "chmod|icacls",
        r"\bchmod\s+(?:-\w+\s+)*(?:0?777|a\+rwx|[ug]\+s|[2467][0-7]{3})\b|\bicacls\b[^\n]*everyone:[^\n]*f\b",
    ),
    line(
        &WIDE_PERMISSIONS,
        Medium,
        "docker|podman",
        r"\b(?:docker|podman)\s+run\b[^\n]*(?:\s-v\s*|--volume[ =])/:/",
    ),
    line(
        &WIDE_PERMISSIONS,
        Medium,
        "sudoers|nopasswd|setuid",
        r"\bnopasswd\s*:|(?:>>?|\btee\s+(?:-a\s+)?)\s*[\x22']?/etc/sudoers",
    ),
    line(
        &WIDE_PERMISSIONS,
        Low,
        "sudo ",
        r"(?:^|[\s;&|(`$])sudo\s+(?:-\S+\s+)*(?:[\w./~$-]+)",
    ),
    // Destruction.
    line(
        &DESTRUCTIVE_COMMAND,
        High,
        "rm |mkfs|dd |:(){|del |format |shred|remove-item|rmtree",
        r"\brm\s+(?:-\w+\s+)*-\w*(?:r\w*f|f\w*r)\w*\s+(?:--no-preserve-root\s+)?[\x22']?(?:/|~|\$HOME|\$\{HOME\}|/\*|~/\*|\$HOME/\*)[\x22']?\s*(?:$|[;&|`'\x22)])|\bmkfs(?:\.\w+)?\s+/dev/|\bdd\s+[^\n]*\bof=/dev/(?:sd|nvme|disk|hd)|:\(\)\s*\{\s*:\|:&\s*\}|\brmtree\(\s*(?:os\.path\.expanduser\(\s*)?['\x22](?:/|~)['\x22]|\bremove-item\b[^\n]*-recurse[^\n]*(?:c:\\(?:\s|\*|$)|\$env:userprofile(?:\s|$))",
    ),
];
