#!/bin/bash
# A repository is created and cloned.
set -e
git init --quiet --initial-branch main project
cp letter.fodt project/
git -C project add letter.fodt
git -C project -c user.name=Ada -c user.email=ada@example.org commit --quiet -m 'add a letter'
git clone --quiet project clone
git -C clone log --format='%an %s'
