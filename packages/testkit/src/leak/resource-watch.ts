import { createHook } from 'node:async_hooks'
import type { LeakedResource, LeakKind } from './leaked-resource.ts'

/** Node's names of resources that hold an OS handle or a timer. */
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
 * Tracks the resources that a block of code creates and does not close. Uses async_hooks, because
 * process.getActiveResourcesInfo() omits unreferenced resources (such as all timers of `schedule`) and does not say who
 * created them.
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
    // An accepted connection has no creator in user code; it belongs to the server.
    if (!this.#isInBlock() && !this.#open.has(triggeredBy)) return
    const [kind, what] = known
    const where = callSite()
    this.#open.set(id, { kind, what, ...(where === undefined ? {} : { where }) })
  }
}

/**
 * Opens stdout and stderr before the block. Node creates them on first access, for example in `stream.pipe()`, and the
 * block would be charged for them.
 */
function openStandardStreams(): readonly object[] {
  return [process.stdout, process.stderr]
}

/** Returns the innermost stack frame outside of Node and this file. */
function callSite(): string | undefined {
  const here: { stack?: string } = {}
  Error.captureStackTrace(here)
  const frames = here.stack?.split('\n').slice(1) ?? []
  return frames.find((frame) => !/\(node:|at node:|resource-watch\.[jt]s|AsyncHook/.test(frame))?.trim()
}
