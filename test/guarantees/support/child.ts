import { type ChildProcess, fork } from 'node:child_process'
import { createSignal, type Signal } from '@waybill/testkit'

/** The common part of all messages of a child. */
export interface ChildMessage {
  readonly kind: string
}

/** The end of a process: with a code, or by a signal. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Keeps the last lines, which say what failed: a process that fails in a loop must not fill the memory. */
const mostCharacters = 50_000

/**
 * Shows the children's output. By default it is hidden: processes that are killed and frozen on purpose log many
 * warnings.
 */
const isShown = process.env['WAYBILL_SHOW_CHILDREN'] !== undefined

/** Code in a process of its own, so that a test can freeze and kill it. It reports its steps with `process.send`. */
export class Child<M extends ChildMessage> implements AsyncDisposable {
  readonly messages: Signal<M>
  /** Resolves when it has ended, for any reason. */
  readonly ended: Promise<Ended>
  readonly #process: ChildProcess

  /**
   * Passes the task to the script as JSON in its first argument.
   *
   * @param nodeOptions - further options of Node.js
   */
  constructor(script: URL, task: unknown, nodeOptions: readonly string[] = []) {
    this.messages = createSignal(`${script.pathname} sends a message`)
    this.#process = fork(script, [JSON.stringify(task)], {
      execArgv: ['--conditions=@waybill/source', ...nodeOptions],
      stdio: ['ignore', 'inherit', isShown ? 'inherit' : 'pipe', 'ipc'],
    })
    let written = ''
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      written = (written + text).slice(-mostCharacters)
    })
    this.#process.on('message', (message) => this.messages.send(message as M))
    this.ended = new Promise((resolve) => {
      this.#process.once('exit', (code, signal) => {
        if (code !== null && code !== 0) process.stderr.write(`\n${script.pathname} ends with ${code}:\n${written}`)
        resolve({ code, signal })
      })
    })
  }

  /** Process id. */
  get pid(): number {
    return this.#process.pid ?? 0
  }

  /** Returns its messages of one kind, from that index on. */
  of<K extends M['kind']>(kind: K, since = 0): Extract<M, { kind: K }>[] {
    return this.messages.values
      .slice(since)
      .filter((message): message is Extract<M, { kind: K }> => message.kind === kind)
  }

  /** Sends it a message. One that has ended gets none. */
  send(message: object): void {
    if (this.#process.connected) this.#process.send(message, () => {})
  }

  /** Freezes it as a debugger or a stopped machine would: connections stay open, nothing runs. */
  freeze(): void {
    this.#process.kill('SIGSTOP')
  }

  thaw(): void {
    this.#process.kill('SIGCONT')
  }

  /** Terminates it as an orchestrator does, and waits for its end. */
  terminate(): Promise<Ended> {
    this.#process.kill('SIGTERM')
    return this.ended
  }

  /** Kills it as a crash would, even while it is frozen, and waits for its end. */
  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    this.#process.kill('SIGKILL')
    await this.ended
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill()
  }
}
