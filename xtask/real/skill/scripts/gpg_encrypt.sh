#!/bin/bash
# GnuPG starts its agent.
set -e
export GNUPGHOME="$(mktemp -d)"
echo secret | gpg --batch --quiet --passphrase key --symmetric --output text.gpg
gpg --batch --quiet --passphrase key --decrypt text.gpg
gpgconf --kill gpg-agent
