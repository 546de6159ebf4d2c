"""How each real client is installed, configured to use our fake model, and run without a person."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.evals.clients.model import Step

ANTIGRAVITY = Path(__file__).with_name("antigravity_run.py")


def _with_command(tool: str, name: str = "command", **more: Any) -> Callable[[str], Step]:
    return lambda command: Step(tool=tool, arguments={name: command, **more})


def _with_file(tool: str, path: str, content: str) -> Callable[[str, str, str], Step]:
    return lambda file, text, why: Step(tool=tool, arguments={path: file, content: text}, text=why)


def _with_task(tool: str, field: str, **more: Any) -> Callable[[str], Step]:
    return lambda task: Step(tool=tool, arguments={field: task, **more})


def _with_patch(file: str, text: str, why: str) -> Step:
    added = "".join(f"+{line}\n" for line in text.splitlines())
    patch = f"*** Begin Patch\n*** Add File: {file}\n{added}*** End Patch"
    return Step(tool="apply_patch", arguments={"input": patch}, text=why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client from npm, or from PyPI."""

    package: str
    """With its version after ``@`` on npm, after ``==`` on PyPI."""
    setup: Callable[[Path, Path, str], None]
    """Writes a user's settings of this client, given home, project and the model's address."""
    command: Callable[[str, str], list[str]]
    """The command for one prompt, given the prompt and the model's address."""
    environ: Callable[[str], dict[str, str]]
    shell: Callable[[str], Step]
    """A call of its tool that runs a command."""
    write: Callable[[str, str, str], Step]
    """A call of its tool that writes a new file, given file, content and what the model says before it."""
    subagent: Callable[[str], Step] | None = None
    """A call of its tool that starts a subagent with a task; none if hooks cannot brief its subagents."""
    server: Callable[[str, dict[str, Any]], Step] = lambda tool, arguments: Step(tool=tool, arguments=arguments)
    """A call of a tool of our server."""
    has_hooks: bool = True
    """Whether it runs hooks without a person; if not, only its server and its transcripts are checked."""
    install: tuple[str, ...] = ()
    """Additional arguments of ``hivemind install``."""
    trust_options: tuple[str, ...] = ()
    """Options that make it trust a new folder and its hooks for one run, without changing its settings."""
    ends_when_refused: bool = False
    """Whether a refused call ends its run."""
    is_briefed_late: bool = False
    """Whether it accepts context only after its first tool call."""


def _write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2) + "\n")


def _claude(home: Path, project: Path, address: str) -> None:
    _write(home / ".claude.json", {"hasCompletedOnboarding": True})
    _write(home / ".claude" / "settings.json", {"permissions": {"allow": ["mcp__hivemind", "Bash", "Write"]}})


def _codex(home: Path, project: Path, address: str) -> None:
    _write(
        home / ".codex" / "config.toml",
        # A model that Codex knows: others get no apply_patch, and a patch in a shell command runs no hook.
        'model = "gpt-5.5"\nmodel_provider = "stub"\napproval_policy = "never"\n'
        'sandbox_mode = "danger-full-access"\n\n[model_providers.stub]\nname = "stub"\n'
        f'base_url = "{address}/v1"\nwire_api = "responses"\nenv_key = "STUB_KEY"\n',
    )


def _gemini(home: Path, project: Path, address: str) -> None:
    auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
    _write(home / ".gemini" / "settings.json", auth | {"general": {"disableAutoUpdate": True}})
    _write(home / ".gemini" / "trustedFolders.json", {str(project): "TRUST_FOLDER"})


def _opencode(home: Path, project: Path, address: str) -> None:
    model = {"tool_call": True, "limit": {"context": 100_000, "output": 8_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{address}/v1", "apiKey": "none"},
        "models": {"stub-model": model},
    }
    names = {"model": "stub/stub-model", "small_model": "stub/stub-model"}
    settings = {"autoupdate": False, "share": "disabled", **names, "provider": {"stub": provider}}
    _write(home / ".config" / "opencode" / "opencode.json", settings)


def _copilot(home: Path, project: Path, address: str) -> None:
    _write(home / ".copilot" / "config.json", {"banner": "never"})


def _qwen(home: Path, project: Path, address: str) -> None:
    auth = {"$version": 4, "security": {"auth": {"selectedType": "openai"}}}
    quiet = {"privacy": {"usageStatisticsEnabled": False}, "general": {"disableAutoUpdate": True}}
    _write(home / ".qwen" / "settings.json", auth | quiet)


def _cline(home: Path, project: Path, address: str) -> None:
    (home / ".cline").mkdir()


def _continue(home: Path, project: Path, address: str) -> None:
    model: dict[str, Any] = {"roles": ["chat"], "capabilities": ["tool_use"]}
    model |= {"name": "stub", "provider": "openai", "model": "stub-model", "apiBase": f"{address}/v1", "apiKey": "none"}
    # JSON is valid YAML.
    settings = f"name: stub\nversion: 0.0.1\nschema: v1\nmodels: {json.dumps([model])}\n"
    _write(home / ".continue" / "config.yaml", settings)


def _antigravity(home: Path, project: Path, address: str) -> None:
    (home / ".gemini" / "antigravity-cli").mkdir(parents=True)


CLIENTS = {
    "claude-code": Client(
        package="@anthropic-ai/claude-code@2.1.328",
        setup=_claude,
        shell=_with_command("Bash", description="check"),
        write=_with_file("Write", "file_path", "content"),
        subagent=_with_task("Agent", "prompt", description="look", subagent_type="general-purpose"),
        command=lambda prompt, address: ["claude", "-p", prompt, "--output-format", "json"],
        environ=lambda address: {
            "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    ),
    "codex": Client(
        package="@openai/codex@0.169.0",
        setup=_codex,
        shell=_with_command("exec_command", "cmd"),
        write=_with_patch,
        subagent=_with_task("spawn_agent", "message", agent_type="default"),
        command=lambda prompt, address: ["codex", "exec", "--json", "--skip-git-repo-check", prompt],
        environ=lambda address: {"STUB_KEY": "none"},
        install=("--trust-codex-hooks",),
        trust_options=("--dangerously-bypass-hook-trust",),
    ),
    "gemini": Client(
        package="@google/gemini-cli@0.61.0",
        setup=_gemini,
        shell=_with_command("run_shell_command"),
        write=_with_file("write_file", "file_path", "content"),
        command=lambda prompt, address: ["gemini", "-p", prompt, "-m", "gemini-2.5-pro", "--approval-mode", "yolo"],
        environ=lambda address: {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": address},
    ),
    "antigravity": Client(
        package="google-antigravity==0.1.22",
        setup=_antigravity,
        shell=_with_command("run_command", "CommandLine", WaitMsBeforeAsync=5000),
        write=_with_file("write_to_file", "TargetFile", "CodeContent"),
        server=lambda tool, arguments: Step(
            tool="call_mcp_tool",
            arguments={"ServerName": "hivemind", "ToolName": tool, "Arguments": arguments},
        ),
        command=lambda prompt, address: ["python", str(ANTIGRAVITY), prompt, address],
        environ=lambda address: {"GEMINI_API_KEY": "none"},
        has_hooks=False,
    ),
    "opencode": Client(
        package="opencode-ai@1.18.33",
        setup=_opencode,
        shell=_with_command("bash", description="check"),
        write=_with_file("write", "filePath", "content"),
        command=lambda prompt, address: ["opencode", "run", "--auto", prompt],
        environ=lambda address: {
            "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
    ),
    "copilot": Client(
        package="@github/copilot@1.0.102",
        setup=_copilot,
        shell=_with_command("bash", description="check"),
        write=_with_file("create", "path", "file_text"),
        subagent=_with_task("task", "prompt", description="look", agent_type="explore", name="look", mode="sync"),
        command=lambda prompt, address: ["copilot", "-p", prompt, "--allow-all-tools"],
        environ=lambda address: {
            "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false", "COPILOT_MODEL": "stub-model",
            "COPILOT_PROVIDER_BASE_URL": f"{address}/v1", "COPILOT_PROVIDER_API_KEY": "none",
        },
        trust_options=("--trust-folder",),
    ),
    "qwen": Client(
        package="@qwen-code/qwen-code@0.24.4",
        setup=_qwen,
        shell=_with_command("run_shell_command", is_background=False),
        write=_with_file("write_file", "file_path", "content"),
        command=lambda prompt, address: ["qwen", "-p", prompt, "--approval-mode", "yolo"],
        environ=lambda address: {
            "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{address}/v1", "OPENAI_MODEL": "stub-model",
        },
    ),
    "cline": Client(
        package="cline@3.0.65",
        setup=_cline,
        shell=lambda command: Step(tool="run_commands", arguments={"commands": [command]}),
        write=_with_file("editor", "path", "new_text"),
        command=lambda prompt, address: [
            "sh", "-c",
            f"cline auth -p openai-compatible -k none -m stub-model -b {address}/v1"
            f" && cline --json -P openai-compatible -m stub-model '{prompt}'",
        ],
        environ=lambda address: {},
        ends_when_refused=True,
        is_briefed_late=True,
    ),
    "continue": Client(
        package="@continuedev/cli@1.5.47",
        setup=_continue,
        shell=_with_command("Bash"),
        write=_with_file("Write", "filepath", "content"),
        command=lambda prompt, address: [
            "sh", "-c", f"cn -p '{prompt}' --config \"$HOME/.continue/config.yaml\" --auto",
        ],
        environ=lambda address: {},
        has_hooks=False,
    ),
}  # fmt: skip
