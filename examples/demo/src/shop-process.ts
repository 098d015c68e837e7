import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { SimCluster } from '@waybill/sim'
import { DemoFailure, unless } from './demo-failure.ts'
import type { PrintableRow, ShopCommand, ShopMessage, ShopTask } from './shop-task.ts'

/** Callbacks for the events of a shop, and the signal that ends the wait for it. */
export interface ShopWatch {
  /** Aborts when the story is over, including by `onGone`. */
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

  /** Starts the shop, and resolves when it is open. Calls `onGone` if it then exits unexpectedly. */
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

  /** Ends it as a power cut would: nothing is flushed or closed. */
  async kill(): Promise<void> {
    this.#mayEnd = true
    this.#child.kill('SIGKILL')
    await this.#exited
  }

  /** Makes the shop replay its dead letters, and returns their number. */
  async replay(): Promise<number> {
    this.#tell('replay')
    return this.#replayed.promise
  }

  /** Stops the shop gracefully, and returns its own audit. */
  async stop(): Promise<readonly PrintableRow[]> {
    this.#mayEnd = true
    this.#tell('stop')
    await this.#exited
    if (this.#child.exitCode !== 0 || this.#audit === undefined) throw this.#gone()
    return this.#audit
  }

  /** Kills the shop, unless it has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.kill()
  }

  #tell(command: ShopCommand): void {
    // A send to a dead process fails. Without a callback that failure would be an `error` event, which ends the demo; the
    // exit of the process reports it anyway.
    this.#child.send(command, () => {})
  }

  #gone(): DemoFailure {
    const { exitCode, signalCode } = this.#child
    const why = this.#trouble ?? `it ended with ${String(exitCode ?? signalCode)}`
    return new DemoFailure(`The shop's process has ended: ${why}`)
  }
}
