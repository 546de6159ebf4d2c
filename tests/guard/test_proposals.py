"""The trigger that is proposed from the words of a memory; lab/evals/guards has the figures."""

import pytest

from hivemind.guard.proposals import propose_from_text, read_forbidden


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("We use pnpm, not npm", ("npm",)),
        ("Never commit with --no-verify", ("git commit --no-verify",)),
        ("Do not install packages globally with npm install -g", ("npm install -g",)),
        ("Build with `frobnicate --offline`; do not use `frob`", ("frob",)),
        ("Never push to main", ("git push * main", "git push * *:main")),
        ("Never force-push to main", ("git push --force",)),
        ("Never call the production API with curl", ()),
        ("Do not deploy without testing with make test", ()),
        ("Do not use `frob`", ()),
        ("Don't use npm, use pnpm", ("npm",)),
        ("Do not use `npm`, `yarn`, or `bun`", ("npm", "yarn", "bun")),
        ("`make build` is fine but `make deploy` is forbidden", ("make deploy",)),
        ("`npm run dev` breaks the build of everybody else", ("npm run dev",)),
        ("`git stash` is not welcome here, run `git commit` on a branch", ("git stash",)),
        ("Don't run `go test ./...` from the root, `make test-unit` is fine", ("go test ./...",)),
        ("Don't install node or go with brew or apt", ("brew install", "apt install")),
        ("We don't rebase, merge instead", ("git rebase",)),
        ("We lint with ruff now, flake8 and black are gone", ("flake8", "black")),
        ("Only the ops team runs `ansible-playbook site.yml`", ("ansible-playbook site.yml",)),
        ("Only ever run `make test`", ()),
        ("`npm publish` is done by the release bot", ("npm publish",)),
        ("Never git add . here", ("git add .",)),
        ("Don't rm -rf node_modules", ("rm -rf node_modules",)),
        ("No curl | bash", ()),
        ("We like tea", ()),
    ],
)
def test_the_commands_that_a_rule_forbids_are_proposed_and_no_others(text: str, commands: tuple[str, ...]) -> None:
    assert propose_from_text(text).commands == commands


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("Never edit files in `dist/`", ("dist/**",)),
        ("Anything in build/ is output. Change what is in src/ instead.", ("build/**",)),
        ("The web client is Next.js", ()),
        ("Don't touch package-lock.json by hand", ("package-lock.json",)),
        ("Edit the schema in `schema/`", ()),
        ("Hands off .env.production", (".env.production",)),
    ],
)
def test_the_files_that_a_rule_protects_are_proposed_and_no_others(text: str, files: tuple[str, ...]) -> None:
    assert propose_from_text(text).files == files


def test_what_an_agent_named_as_forbidden_is_read_as_commands_files_and_exceptions() -> None:
    trigger = read_forbidden(
        "`bazel clean --expunge`, locales/**, VERSION.txt, ./release.sh, !locales/en.json, !bazel clean"
    )

    assert trigger.commands == ("bazel clean --expunge", "./release.sh")
    assert trigger.files == ("locales/**", "VERSION.txt")
    assert trigger.exceptions == ("locales/en.json", "bazel clean")


def test_names_that_are_no_patterns_are_left_out() -> None:
    assert read_forbidden("--force, /etc/**, 'unclosed, ").is_empty
