// Written by `hivemind install`; `hivemind uninstall` takes it away.
// Tells hivemind what happens in a session and puts what it remembers before the model.
import { spawn } from "node:child_process"

const HOOK = ["hivemind-hook"]
const TIMEOUT_MS = 10000

const run = (event, payload) =>
  new Promise((resolve) => {
    const child = spawn(HOOK[0], [...HOOK.slice(1), "opencode", event], { stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), TIMEOUT_MS)
    const done = (said) => {
      clearTimeout(timer)
      resolve(said)
    }
    let said = ""
    child.stdout.on("data", (chunk) => (said += chunk))
    child.stdin.on("error", () => {})
    child.on("error", () => done(""))
    child.on("close", () => done(said.trim()))
    child.stdin.end(JSON.stringify(payload))
  })

export const Hivemind = async ({ directory }) => {
  const parents = new Map()
  const briefs = new Map()
  const tell = (event, sessionID, payload) =>
    run(event, { directory, sessionID, parentID: parents.get(sessionID), ...payload })

  return {
    event: async ({ event }) => {
      const { sessionID, info, part } = event.properties ?? {}
      if (event.type === "session.created") {
        if (info?.parentID) parents.set(sessionID, info.parentID)
        briefs.set(sessionID, tell(event.type, sessionID, event))
      } else if (event.type === "session.compacted") {
        briefs.set(sessionID, tell(event.type, sessionID, event))
      } else if (event.type === "session.idle") {
        await tell(event.type, sessionID, event)
      } else if (event.type === "message.part.updated" && part?.type === "compaction") {
        await tell(event.type, sessionID, event)
      }
    },
    "chat.message": async (input, output) => {
      const said = await tell("chat.message", input.sessionID, { input, output })
      if (!said) return
      output.parts.push({
        id: `prt_${Date.now().toString(16)}hivemind00000000`,
        sessionID: input.sessionID,
        messageID: output.message.id,
        type: "text",
        text: said,
        synthetic: true,
      })
    },
    "tool.execute.after": async (input, output) => {
      await tell("tool.execute.after", input.sessionID, { input, output })
    },
    "experimental.text.complete": async (input, output) => {
      await tell("experimental.text.complete", input.sessionID, { input, output })
    },
    "experimental.chat.system.transform": async (input, output) => {
      const { sessionID } = input
      if (!sessionID) return
      if (!briefs.has(sessionID)) briefs.set(sessionID, tell("session.resumed", sessionID, {}))
      const said = await briefs.get(sessionID)
      if (said) output.system.push(said)
    },
  }
}
