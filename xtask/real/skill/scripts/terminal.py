"""A program opens a terminal for another one."""

import pexpect

child = pexpect.spawn("/bin/bash", ["-c", "test -t 1 && read -p 'name: ' name && echo hello $name"])
child.expect("name: ")
child.sendline("Ada")
child.expect("hello Ada")
print("answered")
