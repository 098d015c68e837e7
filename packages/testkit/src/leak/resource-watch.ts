import { createHook } from 'node:async_hooks'
import type { LeakedResource, LeakKind } from './leaked-resource.ts'

/** Node's names of what holds something of the operating system, or time. */
const kinds: ReadonlyMap<string, readonly [kind: LeakKind, what: string]> = new Map([
  ['Timeout', ['TIMER', 'a timer']],
  ['TCPWRAP', ['SOCKET', 'a TCP connection']],
  ['PIPEWRAP', ['SOCKET', 'a pipe']],
  ['UDPWRAP', ['SOCKET', 'a UDP socket']],
  ['TCPSERVERWRAP', ['SERVER', 'a TCP server']],
  ['PIPESERVERWRAP', ['SERVER', 'a pipe server']],
  ['PROCESSWRAP', ['PROCESS', 'a child process']],
  ['WORKER', ['WORKER', 'a worker thread']],
  ['FSEVENTWRAP', ['WATCHER', 'a file watcher']],
])

/**
 * Knows which resources a block of code made and did not close. async_hooks and not process.getActiveResourcesInfo(),
 * because that knows neither what is unreferenced (all timers of `schedule` are) nor who made it.
 */
export class ResourceWatch implements Disposable {
  readonly #isInBlock: () => boolean
  readonly #open = new Map<number, LeakedResource>()
  readonly #hook = createHook({
    init: (id, type, triggeredBy) => this.#note(id, type, triggeredBy),
    destroy: (id) => void this.#open.delete(id),
  })

  constructor(isInBlock: () => boolean) {
    this.#isInBlock = isInBlock
    openStandardStreams()
    this.#hook.enable()
  }

  leaks(): readonly LeakedResource[] {
    return [...this.#open.values()]
  }

  [Symbol.dispose](): void {
    this.#hook.disable()
  }

  #note(id: number, type: string, triggeredBy: number): void {
    const known = kinds.get(type)
    if (known === undefined) return
    // A connection that a server accepted is made by nobody's code; it belongs to the server.
    if (!this.#isInBlock() && !this.#open.has(triggeredBy)) return
    const [kind, what] = known
    const where = callSite()
    this.#open.set(id, { kind, what, ...(where === undefined ? {} : { where }) })
  }
}

/**
 * Node opens these when somebody first looks at them, and `stream.pipe()` does: a block that pipes anything would be
 * charged with the process's own output.
 */
function openStandardStreams(): readonly object[] {
  return [process.stdout, process.stderr]
}

/** The innermost frame that is neither of Node nor of this file. */
function callSite(): string | undefined {
  const here: { stack?: string } = {}
  Error.captureStackTrace(here)
  const frames = here.stack?.split('\n').slice(1) ?? []
  return frames.find((frame) => !/\(node:|at node:|resource-watch\.[jt]s|AsyncHook/.test(frame))?.trim()
}
