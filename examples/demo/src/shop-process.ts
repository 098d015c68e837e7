import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { SimCluster } from '@waybill/sim'
import { DemoFailure, unless } from './demo-failure.ts'
import type { PrintableRow, ShopCommand, ShopMessage, ShopTask } from './shop-task.ts'

/** What is told of a shop, and what ends the wait for it. */
export interface ShopWatch {
  /** Aborts when the story is over: by `onGone` too. */
  readonly over: AbortSignal
  readonly onFailed: (tier: number) => void
  readonly onGone: (error: DemoFailure) => void
}

/** The process that the shop runs in, as its parent sees it. */
export class ShopProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown[]>
  readonly #replayed = Promise.withResolvers<number>()
  #audit: readonly PrintableRow[] | undefined
  #trouble: string | undefined
  #mayEnd = false

  /** Starts the shop, and resolves when it is open. One that then ends by itself is told of, since nobody waits for that. */
  static async start(task: ShopTask, cluster: SimCluster | null, watch: ShopWatch): Promise<ShopProcess> {
    const child = fork(join(import.meta.dirname, 'shop.ts'), [JSON.stringify(task)], { execArgv: process.execArgv })
    cluster?.serve(child)
    const shop = new ShopProcess(child)
    const { promise: open, resolve } = Promise.withResolvers<void>()
    child.on('message', (message: ShopMessage) => {
      if (message.kind === 'open') resolve()
      else if (message.kind === 'failed') watch.onFailed(message.tier)
      else if (message.kind === 'replayed') shop.#replayed.resolve(message.count)
      else if (message.kind === 'stopped') shop.#audit = message.audit
      else if (message.kind === 'broken') shop.#trouble = message.why
    })
    child.once('exit', () => {
      if (!shop.#mayEnd) watch.onGone(shop.#gone())
    })
    try {
      await unless(watch.over, open)
    } catch (error) {
      await shop[Symbol.asyncDispose]()
      throw error
    }
    return shop
  }

  private constructor(child: ChildProcess) {
    this.#child = child
    this.#exited = once(child, 'exit')
  }

  /** Ends it as a power cut would: nothing is flushed, closed or said. */
  async kill(): Promise<void> {
    this.#mayEnd = true
    this.#child.kill('SIGKILL')
    await this.#exited
  }

  /** Has its dead letters replayed, and answers how many there were. */
  async replay(): Promise<number> {
    this.#tell('replay')
    return this.#replayed.promise
  }

  /** Lets it finish what it does, and answers its own account of it. */
  async stop(): Promise<readonly PrintableRow[]> {
    this.#mayEnd = true
    this.#tell('stop')
    await this.#exited
    if (this.#child.exitCode !== 0 || this.#audit === undefined) throw this.#gone()
    return this.#audit
  }

  /** Ends it, unless it has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.kill()
  }

  #tell(command: ShopCommand): void {
    // A shop that has just died takes no command, and without a callback that would be an event that ends the demo. Its end
    // is told of by its exit.
    this.#child.send(command, () => {})
  }

  #gone(): DemoFailure {
    const { exitCode, signalCode } = this.#child
    const why = this.#trouble ?? `it ended with ${String(exitCode ?? signalCode)}`
    return new DemoFailure(`The shop's process does not run any more: ${why}`)
  }
}
