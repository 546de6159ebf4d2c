// Written by `hivemind install`; `hivemind uninstall` takes it away.
// Sends the events of a session to hivemind and gives the context it returns to the model.
import { spawn } from "node:child_process"

const HOOK = ["hivemind-hook"]
const TIMEOUT_MS = 10000
// Tools that only look; no guard concerns them.
const LOOKING = new Set(["read", "glob", "grep", "list", "lsp", "skill", "question", "todoread", "todowrite"])

const run = (event, payload) =>
  new Promise((resolve) => {
    const child = spawn(HOOK[0], [...HOOK.slice(1), "opencode", event], { stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), TIMEOUT_MS)
    const finish = (output) => {
      clearTimeout(timer)
      resolve(output)
    }
    let output = ""
    child.stdout.on("data", (chunk) => (output += chunk))
    child.stdin.on("error", () => {})
    child.on("error", () => finish(""))
    child.on("close", () => finish(output.trim()))
    child.stdin.end(JSON.stringify(payload))
  })

const parse = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const Hivemind = async ({ directory }) => {
  const parents = new Map()
  const briefs = new Map()
  const send = (event, sessionID, payload) =>
    run(event, { directory, sessionID, parentID: parents.get(sessionID), ...payload })

  return {
    event: async ({ event }) => {
      const { sessionID, info, part } = event.properties ?? {}
      if (event.type === "session.created") {
        if (info?.parentID) parents.set(sessionID, info.parentID)
        briefs.set(sessionID, send(event.type, sessionID, event))
      } else if (event.type === "session.compacted") {
        briefs.set(sessionID, send(event.type, sessionID, event))
      } else if (event.type === "session.idle") {
        await send(event.type, sessionID, event)
      } else if (event.type === "message.part.updated" && part?.type === "compaction") {
        await send(event.type, sessionID, event)
      }
    },
    "chat.message": async (input, output) => {
      const context = await send("chat.message", input.sessionID, { input, output })
      if (!context) return
      output.parts.push({
        id: `prt_${Date.now().toString(16)}hivemind00000000`,
        sessionID: input.sessionID,
        messageID: output.message.id,
        type: "text",
        text: context,
        synthetic: true,
      })
    },
    "tool.execute.before": async (input, output) => {
      if (LOOKING.has(input.tool)) return
      const reply = await send("tool.execute.before", input.sessionID, { input: { ...input, args: output.args } })
      const refusal = parse(reply)?.refusal
      if (refusal) throw new Error(refusal)
    },
    "tool.execute.after": async (input, output) => {
      const context = await send("tool.execute.after", input.sessionID, { input, output })
      // Results of MCP tools have no text of this name.
      if (context && typeof output.output === "string") output.output += `\n\n${context}`
    },
    "experimental.text.complete": async (input, output) => {
      await send("experimental.text.complete", input.sessionID, { input, output })
    },
    "experimental.chat.system.transform": async (input, output) => {
      const { sessionID } = input
      if (!sessionID) return
      if (!briefs.has(sessionID)) briefs.set(sessionID, send("session.resumed", sessionID, {}))
      // The system prompt survives compaction.
      const brief = await briefs.get(sessionID)
      if (brief) output.system.push(brief)
    },
  }
}
