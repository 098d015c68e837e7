import { type ChildProcess, fork } from 'node:child_process'
import { createSignal, type Signal } from '@waybill/testkit'

/** What every message of a child says first. */
export interface Told {
  readonly kind: string
}

/** How a process ended: with a code, or by a signal. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** The last lines tell what went wrong, and a process that fails in a loop must not fill the memory. */
const mostCharacters = 50_000

/** Processes that are killed and frozen on purpose warn all the time: with this set it is shown as it comes. */
const isShown = process.env['WAYBILL_SHOW_CHILDREN'] !== undefined

/** Code in a process of its own, so that a test can freeze and kill it. It tells what it does with `process.send`. */
export class Child<M extends Told> implements AsyncDisposable {
  readonly told: Signal<M>
  /** Resolves when it is over, by whatever. */
  readonly ended: Promise<Ended>
  readonly #process: ChildProcess

  /** The script finds its task as JSON in its first argument. */
  constructor(script: URL, task: unknown) {
    this.told = createSignal(`${script.pathname} tells something`)
    this.#process = fork(script, [JSON.stringify(task)], {
      execArgv: ['--conditions=@waybill/source'],
      stdio: ['ignore', 'inherit', isShown ? 'inherit' : 'pipe', 'ipc'],
    })
    let written = ''
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      written = (written + text).slice(-mostCharacters)
    })
    this.#process.on('message', (message) => this.told.send(message as M))
    this.ended = new Promise((resolve) => {
      this.#process.once('exit', (code, signal) => {
        if (code !== null && code !== 0) process.stderr.write(`\n${script.pathname} ends with ${code}:\n${written}`)
        resolve({ code, signal })
      })
    })
  }

  /** Of the process. */
  get pid(): number {
    return this.#process.pid ?? 0
  }

  /** Everything of one kind that it told, from that many messages on. */
  of<K extends M['kind']>(kind: K, since = 0): Extract<M, { kind: K }>[] {
    return this.told.values.slice(since).filter((message): message is Extract<M, { kind: K }> => message.kind === kind)
  }

  /** Stops it as a debugger or a frozen machine would: connections stay open, nothing is done. */
  freeze(): void {
    this.#process.kill('SIGSTOP')
  }

  thaw(): void {
    this.#process.kill('SIGCONT')
  }

  /** Asks it to end, as an orchestrator does, and waits for that. */
  terminate(): Promise<Ended> {
    this.#process.kill('SIGTERM')
    return this.ended
  }

  /** Ends it as a crash would, also while it is frozen, and waits for that. */
  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    this.#process.kill('SIGKILL')
    await this.ended
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill()
  }
}
