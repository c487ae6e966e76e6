//! The programs that execute files which they find by name, as data.
//!
//! A row belongs to one program. [`protected`](FileReader::protected) are files that it executes or
//! trusts without being told to: at its start, when a directory is entered or opened, in a hook.
//! [`reported`](FileReader::reported) are files that a person or a service runs on purpose. Writing
//! them is everyday work of skills, so they are only listed after a run. [`installed`] are
//! directories of packages and of compiled code, in which each file is listed as one of that program,
//! whatever its name. Files with an executable bit are in no row, since their mode says it.
//!
//! A path is relative, separated by `/`, and matches at any depth and regardless of case. A protected
//! or installed path includes what is below it; a reported one only with a `/` at its end. The last component may
//! contain one `*`, which is either all that follows its last `.` or all before some literal `.`, as
//! in `.eslintrc.*` and `mise.*.toml`.

/// A program, and the files that it executes or that contain commands for it.
pub(crate) struct FileReader {
    /// The name for users.
    pub(crate) name: &'static str,
    /// Files that no caller has to name, separated by spaces. They stay read-only in wider writable
    /// directories.
    pub(crate) protected: &'static str,
    /// Files that are run on purpose, separated by spaces.
    pub(crate) reported: &'static str,
    /// Directories of files that are executed in place of, or together with, sources, separated by
    /// spaces.
    pub(crate) installed: &'static str,
}

const NO_FILES: FileReader = FileReader {
    name: "",
    protected: "",
    reported: "",
    installed: "",
};

const fn protects(name: &'static str, protected: &'static str) -> FileReader {
    FileReader {
        name,
        protected,
        ..NO_FILES
    }
}

const fn reports(name: &'static str, reported: &'static str) -> FileReader {
    FileReader {
        name,
        reported,
        ..NO_FILES
    }
}

const fn installs(name: &'static str, installed: &'static str) -> FileReader {
    FileReader {
        name,
        installed,
        ..NO_FILES
    }
}

/// All rows.
pub(crate) const FILE_READERS: &[FileReader] = &[
    // Version control. Entries below `.git` apply even where `.git` itself is granted.
    FileReader {
        name: "git",
        protected: ".git .git/commondir .git/config .git/config.worktree .git/hooks .git/modules \
                    .git/worktrees .gitconfig .githooks .gitmodules .config/git",
        reported: "githooks/",
        ..NO_FILES
    },
    reports("plugins of agents", ".claude-plugin/ hooks/hooks.json"),
    protects("Mercurial", ".hg/hgrc .hg/hgrc-not-shared .hgrc .config/hg"),
    protects(
        "Jujutsu",
        ".jj/repo/config.toml .jj/workspace-config.toml .jjconfig.toml .config/jj",
    ),
    protects("Sapling", ".sl/config .config/sapling"),
    protects("Subversion", ".subversion"),
    protects("GitHub CLI", ".config/gh"),
    protects("GitLab CLI", ".config/glab-cli"),
    // Managers of git hooks: git runs what they say at the next commit.
    protects(
        "Husky",
        ".husky .huskyrc .huskyrc.js .huskyrc.json .config/husky",
    ),
    protects(
        "Lefthook",
        ".lefthook .lefthook-local lefthook.yml lefthook.yaml lefthook.toml lefthook.json \
         lefthook.jsonc .lefthook.yml .lefthook.yaml .lefthook.toml .lefthook.json \
         .lefthook.jsonc lefthook-local.* .lefthook-local.* .config/lefthook.* \
         .config/lefthook-local.* .config/.lefthook.*",
    ),
    protects(
        "pre-commit",
        ".pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml prek.toml",
    ),
    protects("Overcommit", ".overcommit.yml .git-hooks"),
    protects(
        "simple-git-hooks",
        ".simple-git-hooks.js .simple-git-hooks.cjs .simple-git-hooks.mjs .simple-git-hooks.json \
         simple-git-hooks.js simple-git-hooks.cjs simple-git-hooks.mjs simple-git-hooks.json",
    ),
    protects("CaptainHook", "captainhook.json"),
    reports(
        "lint-staged",
        ".lintstagedrc .lintstagedrc.* lint-staged.config.*",
    ),
    reports("GrumPHP", "grumphp.yml grumphp.yml.dist"),
    // Services that execute files of a commit.
    protects("CircleCI", ".circleci"),
    protects("Forgejo Actions", ".forgejo/workflows"),
    protects("Gitea Actions", ".gitea/workflows"),
    FileReader {
        name: "GitHub Actions",
        protected: ".github/actions .github/workflows",
        reported: "action.yml action.yaml",
        ..NO_FILES
    },
    protects("GitLab CI", ".gitlab-ci.yml"),
    reports("Jenkins", "Jenkinsfile *.jenkinsfile"),
    reports(
        "Azure Pipelines",
        "azure-pipelines.yml azure-pipelines.yaml azure-pipelines.*.yml .azure-pipelines/ \
         .azuredevops/",
    ),
    reports("Bitbucket Pipelines", "bitbucket-pipelines.yml"),
    reports("Travis CI", ".travis.yml"),
    reports("Drone", ".drone.yml .drone.star .drone.jsonnet"),
    reports(
        "Woodpecker",
        ".woodpecker/ .woodpecker.yml .woodpecker.yaml",
    ),
    reports("Buildkite", ".buildkite/"),
    reports("AppVeyor", "appveyor.yml .appveyor.yml"),
    reports("Cirrus CI", ".cirrus.yml .cirrus.star"),
    reports("Semaphore", ".semaphore/"),
    reports("TeamCity", ".teamcity/"),
    reports("Tekton", ".tekton/"),
    reports("SourceHut", ".build.yml .builds/"),
    reports("Google Cloud Build", "cloudbuild.yaml cloudbuild.yml"),
    reports("AWS CodeBuild", "buildspec.yml buildspec.yaml appspec.yml"),
    reports("Codemagic", "codemagic.yaml"),
    reports("Dagger", "dagger.json"),
    reports("Netlify", "netlify.toml"),
    reports("Vercel", "vercel.json"),
    reports("Heroku", "Procfile heroku.yml"),
    reports("Fly.io", "fly.toml"),
    reports("Render", "render.yaml"),
    reports("Read the Docs", ".readthedocs.yml .readthedocs.yaml"),
    reports(
        "Renovate",
        "renovate.json renovate.json5 .renovaterc .renovaterc.json",
    ),
    // Shells, and what they and a login start.
    protects(
        "Bash",
        ".bash_aliases .bash_completion .bash_login .bash_logout .bash_profile .bashrc .bashrc.d",
    ),
    protects(
        "POSIX shells",
        ".profile .kshrc .mkshrc .shinit .shrc .login .cshrc .tcshrc .inputrc",
    ),
    protects(
        "Zsh",
        ".zlogin .zlogout .zprofile .zshenv .zshrc .zimrc .zpreztorc .p10k.zsh .oh-my-zsh \
         .config/zsh",
    ),
    protects("fish", ".config/fish"),
    protects("Nushell", ".config/nushell"),
    protects("Elvish", ".config/elvish .elvish"),
    protects("Xonsh", ".xonshrc .config/xonsh"),
    protects(
        "PowerShell",
        ".config/powershell Microsoft.PowerShell_profile.ps1 Microsoft.VSCode_profile.ps1",
    ),
    protects("Starship", ".config/starship.toml"),
    protects("Atuin", ".config/atuin"),
    protects("direnv", ".envrc .direnvrc .config/direnv"),
    protects("autoenv", ".autoenv .autoenv.zsh .autoenv_leave.zsh"),
    protects("shadowenv", ".shadowenv.d"),
    // Variables such as `PATH` and `NODE_OPTIONS`. autoenv executes the file.
    reports(
        "Docker Compose, Pipenv, VS Code and autoenv",
        ".env .env.local",
    ),
    protects(
        "systemd",
        ".config/environment.d .config/systemd .local/share/systemd",
    ),
    protects(
        "desktop sessions",
        ".config/autostart .config/autostart-scripts .config/plasma-workspace .config/hypr \
         .config/i3 .config/sway .config/awesome .config/bspwm .config/sxhkd \
         .config/mimeapps.list .local/share/applications .pam_environment .xinitrc .xprofile \
         .xsession .xsessionrc .xserverrc Library/LaunchAgents Library/LaunchDaemons",
    ),
    protects(
        "terminals",
        ".config/alacritty .config/ghostty .config/kitty .config/wezterm .config/foot \
         .alacritty.toml .wezterm.lua .hyper.js",
    ),
    protects("tmux", ".config/tmux .tmux.conf"),
    protects("Zellij", ".config/zellij"),
    protects("GNU Screen", ".screenrc"),
    protects("mail delivery", ".forward .procmailrc .mailcap"),
    protects("less", ".lessfilter"),
    protects(
        "programs on the search path",
        ".local/bin .bun/bin .cabal/bin .cargo/bin .composer/vendor/bin .deno/bin .dotnet/tools \
         .foundry/bin .ghcup .krew .linuxbrew .local/share/mise .nix-profile .npm-global .opam \
         .pub-cache/bin .volta/bin",
    ),
    // Version managers: the next command in the directory goes through them.
    protects(
        "mise",
        ".mise .mise-tasks .mise.toml .mise.*.toml mise.toml mise.*.toml mise-tasks \
         mise/config.toml mise/config.*.toml mise/conf.d mise/tasks .config/mise \
         .config/mise.toml .config/mise.*.toml .rtx.toml .rtx.*.toml",
    ),
    protects("asdf", ".asdf .asdfrc .tool-versions"),
    protects("proto", ".proto .prototools"),
    protects("RVM", ".rvm .rvmrc"),
    FileReader {
        name: "rbenv",
        protected: ".rbenv",
        reported: ".ruby-version .rbenv-gemsets .rbenv-vars",
        ..NO_FILES
    },
    FileReader {
        name: "pyenv",
        protected: ".pyenv",
        reported: ".python-version",
        ..NO_FILES
    },
    FileReader {
        name: "nvm",
        protected: ".nvm",
        reported: ".nvmrc .node-version",
        ..NO_FILES
    },
    FileReader {
        name: "SDKMAN",
        protected: ".sdkman",
        reported: ".sdkmanrc",
        ..NO_FILES
    },
    FileReader {
        name: "rustup",
        protected: ".rustup",
        reported: "rust-toolchain rust-toolchain.toml",
        ..NO_FILES
    },
    protects(
        "other version managers",
        ".fnm .goenv .jenv .nodenv .phpenv .plenv .tfenv",
    ),
    reports("jEnv", ".java-version"),
    reports(
        "Nix",
        "default.nix flake.nix shell.nix devenv.nix devenv.yaml",
    ),
    reports("Devbox", "devbox.json"),
    reports("Flox", ".flox/"),
    // Editors.
    protects(
        "Vim",
        ".exrc .gvimrc .nexrc .vim .vimrc _exrc _gvimrc _vimrc .config/vim .lvimrc \
         .vimspector.json",
    ),
    protects("Neovim", ".nvim.lua .nvimrc .config/nvim .lazy.lua"),
    protects(
        "Emacs",
        ".dir-locals.el .dir-locals-2.el .emacs .emacs.d .config/emacs .doom.d .config/doom \
         .spacemacs .spacemacs.d",
    ),
    protects("Helix", ".helix .config/helix"),
    protects("Kakoune", ".kakrc .config/kak"),
    protects("Micro", ".config/micro"),
    protects("nano", ".nanorc"),
    protects(
        "VS Code",
        ".vscode .vscode-server .vscode-insiders .config/Code .config/VSCodium .vscode-oss \
         *.code-workspace *.code-profile",
    ),
    FileReader {
        name: "Visual Studio",
        protected: ".vs",
        reported: "tasks.vs.json launch.vs.json",
        ..NO_FILES
    },
    protects(
        "JetBrains IDEs",
        ".idea .fleet .config/JetBrains .ideavimrc",
    ),
    protects(
        "Sublime Text",
        "*.sublime-project *.sublime-workspace *.sublime-build .config/sublime-text \
         .config/sublime-text-3",
    ),
    protects("Nova", ".nova"),
    protects("Theia", ".theia"),
    protects("Lapce", ".lapce"),
    protects("Eclipse", ".externalToolBuilders"),
    protects("Lite XL", ".lite_project.lua .lite_project"),
    protects("Atom", ".atom"),
    reports(
        "language servers",
        ".ccls .clangd .luarc.json .luarc.jsonc hie.yaml .ocamlformat .solargraph.yml \
         pyrightconfig.json",
    ),
    reports("JetBrains run configurations", ".run/"),
    // Development environments of a cloud: they run what is in the repository when it is opened.
    protects("development containers", ".devcontainer .devcontainer.json"),
    protects("Gitpod", ".gitpod.yml .gitpod.Dockerfile"),
    protects("Replit", ".replit replit.nix"),
    protects("StackBlitz", ".stackblitzrc"),
    protects("CodeSandbox", ".codesandbox"),
    protects("Firebase Studio", ".idx"),
    reports("devfile", "devfile.yaml .devfile.yaml"),
    protects("Coder", ".coder.yaml"),
    reports("Binder", "postBuild"),
    // Interpreters, their prompts and their debuggers.
    FileReader {
        name: "Python",
        protected: ".venv sitecustomize.py usercustomize.py site-packages/*.pth \
                    dist-packages/*.pth .pythonrc .pythonrc.py .pythonstartup .pystartup .pdbrc \
                    .pdbrc.py",
        reported: "pyvenv.cfg *.pyc *.pyo",
        installed: "__pycache__ __pypackages__ .eggs *.egg-info dist-packages site-packages",
    },
    protects(
        "IPython and Jupyter",
        ".ipython .jupyter .config/ptpython .config/bpython ipython_config.py \
         ipython_kernel_config.py jupyter_*config.py",
    ),
    protects(
        "Ruby",
        ".irbrc .pryrc .byebugrc .rdbgrc .rdbgrc.rb .config/irb .config/pry _irbrc",
    ),
    FileReader {
        name: "R",
        protected: ".Rprofile .Renviron Rprofile.site Renviron.site",
        reported: ".RData",
        installed: "renv",
    },
    protects(
        "Octave and MATLAB",
        ".octaverc startup.m finish.m matlabrc.m",
    ),
    protects("Julia", ".julia/config .juliarc.jl"),
    protects("GHCi", ".ghci .ghc/ghci.conf .haskeline"),
    protects("Perl", ".perldb .re.pl .config/reply"),
    protects("PHP", ".psysh.php .config/psysh"),
    protects("Elixir and Erlang", ".iex.exs .erlang .config/erlang"),
    protects("OCaml", ".ocamlinit .utoprc .config/utop"),
    protects(
        "Lisp and Scheme",
        ".sbclrc .clisprc .ccl-init.lisp .eclrc .guile .racketrc .clojure/deps.edn \
         .lein/profiles.clj",
    ),
    protects("Prolog", ".swiplrc .gprologrc .config/swi-prolog"),
    protects("Scala", ".ammonite .scala-repl .sbtrc"),
    protects("Tcl", ".tclshrc .wishrc .expect.rc"),
    protects("gnuplot", ".gnuplot .config/gnuplot"),
    protects(
        "computer algebra",
        ".maxima/maxima-init.mac .sage/init.sage .gap/gaprc .gprc",
    ),
    protects(
        "debuggers",
        ".gdbinit .gdbearlyinit .config/gdb .lldbinit .cgdb .radare2rc .rizinrc .x64dbg .mdbrc \
         .dbxrc",
    ),
    protects(
        "database clients",
        ".psqlrc .sqliterc .duckdbrc .my.cnf .mylogin.cnf .mongorc.js .mongoshrc.js",
    ),
    // Package managers, and keys of registries.
    protects("Cargo", ".cargo/config .cargo/config.toml .cargo/env"),
    FileReader {
        name: "npm and pnpm",
        protected: ".npmrc .pnpmfile.cjs .pnpmfile.mjs .pnpmrc",
        reported: "package.json pnpm-workspace.yaml binding.gyp",
        ..NO_FILES
    },
    protects("Yarn", ".yarn .yarnrc .yarnrc.yml .pnp.cjs .pnp.loader.mjs"),
    FileReader {
        name: "Bun",
        protected: ".bunfig.toml",
        reported: "bunfig.toml",
        ..NO_FILES
    },
    reports("Deno", "deno.json deno.jsonc"),
    FileReader {
        name: "pip and uv",
        protected: ".config/pip .config/uv .pip .pydistutils.cfg pip.conf pip.ini",
        reported: "uv.toml requirements.txt Pipfile",
        ..NO_FILES
    },
    protects("Conda", ".condarc .mambarc"),
    FileReader {
        name: "Bundler and RubyGems",
        protected: ".bundle/config .gemrc",
        reported: "Gemfile gems.rb *.gemspec",
        ..NO_FILES
    },
    FileReader {
        name: "Maven",
        protected: ".m2/settings.xml .m2/settings-security.xml .m2/extensions.xml .mavenrc",
        reported: ".mvn/ pom.xml mvnw mvnw.cmd",
        ..NO_FILES
    },
    FileReader {
        name: "Gradle",
        protected: ".gradle",
        reported: "build.gradle build.gradle.kts settings.gradle settings.gradle.kts init.gradle \
                   gradle.properties gradlew gradlew.bat gradle-wrapper.properties",
        ..NO_FILES
    },
    FileReader {
        name: "Composer",
        protected: ".composer/config.json .config/composer",
        reported: "composer.json",
        ..NO_FILES
    },
    FileReader {
        name: "Docker and Podman",
        protected: ".docker/config.json .docker/cli-plugins .config/containers",
        reported: "Dockerfile Dockerfile.* *.dockerfile Containerfile compose.yml compose.yaml \
                   compose.*.yml compose.*.yaml docker-compose.yml docker-compose.yaml \
                   docker-compose.*.yml docker-compose.*.yaml docker-bake.hcl docker-bake.json",
        ..NO_FILES
    },
    FileReader {
        name: "Kubernetes",
        protected: ".kube/config",
        reported: "skaffold.yaml Tiltfile kustomization.yaml Chart.yaml helmfile.yaml \
                   devspace.yaml",
        ..NO_FILES
    },
    FileReader {
        name: "Terraform",
        protected: ".terraformrc .terraform.d/plugins terraform.rc",
        reported: ".terraform/ *.tf terragrunt.hcl",
        ..NO_FILES
    },
    FileReader {
        name: "Ansible",
        protected: ".ansible.cfg",
        reported: "ansible.cfg",
        ..NO_FILES
    },
    reports("Vagrant", "Vagrantfile"),
    reports("Earthly", "Earthfile"),
    protects("NuGet", ".nuget/NuGet .config/NuGet"),
    protects("Homebrew", ".homebrew"),
    reports("Homebrew bundle", "Brewfile"),
    protects("curl and Wget", ".curlrc .wgetrc .netrc _netrc"),
    // Not `jars`, `packages`, `deps` and others, which are directories of sources as well.
    installs(
        "installed packages of JavaScript",
        "bower_components jspm_packages node_modules",
    ),
    installs(
        "packages in a project",
        "vendor Carthage Pods elm-stuff _opam",
    ),
    // Loaded in place of sources, or linked with them, and readable by no reviewer.
    reports(
        "compiled code",
        "*.a *.beam *.class *.dll *.dylib *.elc *.eln *.jar *.node *.o *.pmc *.pyd *.rlib *.rmeta \
         *.so *.war *.wasm *.zo *.zwc",
    ),
    // Elsewhere the mode of a file says that it is executable.
    #[cfg(windows)]
    reports("Windows", "*.bat *.cmd *.com *.exe *.scr"),
    protects("OpenSSH", ".ssh"),
    protects("GnuPG", ".gnupg"),
    protects("AWS CLI", ".aws/cli/alias .aws/config .aws/credentials"),
    // Build tools and task runners.
    reports(
        "make",
        "Makefile BSDmakefile GNUmakefile *.mk *.make Makefile.* Kbuild",
    ),
    reports(
        "Boost.Build and tup",
        "Jamfile Jamfile.* Jamroot Jamroot.* Tupfile Tupfile.*",
    ),
    reports("just", "justfile .justfile *.just"),
    reports(
        "Task",
        "Taskfile.yml Taskfile.yaml Taskfile.dist.yml Taskfile.dist.yaml Taskfile.*.yml",
    ),
    reports("Cargo", "Cargo.toml build.rs Makefile.toml"),
    reports(
        "Python build and test tools",
        "pyproject.toml setup.py setup.cfg tox.ini tox.toml noxfile.py conftest.py pytest.ini \
         .pytest.ini pytest.toml hatch.toml hatch_build.py fabfile.py tasks.py dodo.py \
         pavement.py SConstruct SConscript wscript wscript_build .coveragerc .pylintrc pylintrc mypy.ini \
         .mypy.ini .flake8 meson.build snakefile *.smk poe_tasks.toml pixi.toml MLproject dvc.yaml \
         treefmt.toml .treefmt.toml",
    ),
    reports(
        "JavaScript tools",
        "*.config.js *.config.cjs *.config.mjs *.config.ts *.config.mts *.config.cts *.conf.js \
         gulpfile.* gulpfile.babel.* Gruntfile.* .commitlintrc .commitlintrc.* .versionrc .versionrc.* \
         .size-limit.js .size-limit.cjs .size-limit.mjs .size-limit.ts knexfile.* ormconfig.* \
         codegen.js codegen.ts codegen.yml codegen.yaml .puppeteerrc.* .lighthouserc.* .remarkrc \
         .remarkrc.* .textlintrc .textlintrc.* .markdownlint.cjs .markdownlint.mjs .markdownlint-cli2.* plopfile.* \
         gatsby-*.js gatsby-*.ts gatsby-*.mjs config-overrides.js .vitepress/ .vuepress/ \
         truffle.js truffle-config.* .release-it.* .umirc.* .fatherrc.* vitest.workspace.* \
         .testcaferc.* .postcssrc .postcssrc.* project.json .eslintrc .eslintrc.* .prettierrc .prettierrc.* .babelrc \
         .babelrc.* .mocharc.* .nycrc .nycrc.json .stylelintrc .stylelintrc.* .swcrc .parcelrc \
         .releaserc .releaserc.* jsconfig.json tsconfig.json tsconfig.*.json lerna.json nx.json \
         rush.json turbo.json turbo.jsonc .nodemonrc nodemon.json moon.yml .storybook/ \
         .eleventy.js .eleventy.cjs angular.json ember-cli-build.js",
    ),
    reports(
        "Ruby tools",
        "tmp/cache/bootsnap/ tmp/cache/bootsnap-compile-cache/ Rakefile *.rake config.ru Capfile Dangerfile Fastfile Guardfile Podfile Thorfile .rspec \
         .rubocop.yml .standard.yml .simplecov Steepfile",
    ),
    reports(
        "PHP tools",
        "phpunit.xml phpunit.xml.dist phpstan.neon phpstan.neon.dist .php-cs-fixer.php \
         .php-cs-fixer.dist.php rector.php psalm.xml .user.ini php.ini",
    ),
    reports(
        "Perl tools",
        "Makefile.PL Build.PL cpanfile dist.ini .proverc .perlcriticrc",
    ),
    reports(
        "Elixir and Erlang tools",
        "mix.exs .formatter.exs .credo.exs rebar.config rebar.config.script",
    ),
    reports(
        "Haskell tools",
        "stack.yaml Setup.hs Setup.lhs cabal.project cabal.project.local package.yaml",
    ),
    reports(
        "JVM tools",
        "build.xml *.sbt build.sc build.mill .sbtopts .jvmopts project.clj deps.edn bb.edn \
         shadow-cljs.edn build.boot",
    ),
    reports(
        ".NET tools",
        "Directory.Build.props Directory.Build.targets Directory.Packages.props \
         Directory.Solution.props *.csproj *.fsproj *.vbproj *.vcxproj *.props *.targets \
         .config/dotnet-tools.json build.cake nuget.config global.json",
    ),
    reports(
        "C and C++ build tools",
        "CMakeLists.txt CMakePresets.json CMakeUserPresets.json *.cmake CMakeCache.txt CMakeFiles/ config.status configure configure.ac \
         configure.in *.m4 conanfile.py conanfile.txt vcpkg.json xmake.lua premake5.lua *.pro \
         *.ninja",
    ),
    reports(
        "Bazel",
        "WORKSPACE WORKSPACE.bazel WORKSPACE.bzlmod MODULE.bazel BUILD BUILD.bazel *.bzl .bazelrc \
         .bazelversion .bazeliskrc tools/bazel",
    ),
    reports(
        "Buck and Pants",
        ".buckconfig BUCK TARGETS pants.toml .pants.rc",
    ),
    reports(
        "Go",
        "go.mod go.work magefile.go .air.toml .goreleaser.yml .goreleaser.yaml .golangci.yml \
         .golangci.yaml",
    ),
    reports(
        "Swift and Xcode",
        "Package.swift project.pbxproj *.xcscheme",
    ),
    reports("Zig", "build.zig build.zig.zon"),
    reports("Nim", "config.nims *.nims *.nimble"),
    reports("Dub", "dub.json dub.sdl"),
    reports("Nextflow", "nextflow.config"),
    reports("moon and Trunk", ".moon/ .trunk/"),
    reports("Cargo nextest", ".config/nextest.toml"),
    reports("AWS Elastic Beanstalk", ".ebextensions/ .platform/"),
    reports("Dart and Flutter", "pubspec.yaml"),
    reports("OCaml tools", "dune dune-project *.opam"),
    reports("LaTeX", ".latexmkrc latexmkrc arara.yaml"),
    reports("Lua tools", ".luacheckrc .busted *.rockspec"),
    reports("Sphinx and MkDocs", "conf.py mkdocs.yml _config.yml"),
    reports(
        "watchers and process managers",
        ".watchmanconfig bacon.toml process-compose.yml process-compose.yaml .overmind.env \
         supervisord.conf ecosystem.config.*",
    ),
    reports("web servers", ".htaccess web.config Caddyfile nginx.conf"),
    reports(
        "Pulumi and Serverless",
        "Pulumi.yaml serverless.yml serverless.ts cdk.json samconfig.toml wrangler.toml \
         wrangler.jsonc",
    ),
];
