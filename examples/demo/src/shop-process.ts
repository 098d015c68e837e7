import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { SimCluster } from '@waybill/sim'
import type { PrintableRow, ShopMessage, ShopTask } from './shop-task.ts'

/** The process that the shop runs in, as its parent sees it. */
export class ShopProcess {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown[]>
  #audit: readonly PrintableRow[] | undefined

  /** Starts the shop, and resolves when it is open. */
  static async start(
    task: ShopTask,
    cluster: SimCluster | null,
    onFailed: (tier: number) => void,
  ): Promise<ShopProcess> {
    const child = fork(join(import.meta.dirname, 'shop.ts'), [JSON.stringify(task)], { execArgv: process.execArgv })
    cluster?.serve(child)
    const shop = new ShopProcess(child)
    const { promise: open, resolve } = Promise.withResolvers<void>()
    child.on('message', (message: ShopMessage) => {
      if (message.kind === 'open') resolve()
      else if (message.kind === 'failed') onFailed(message.tier)
      else if (message.kind === 'stopped') shop.#audit = message.audit
    })
    await Promise.race([open, shop.#failure()])
    return shop
  }

  private constructor(child: ChildProcess) {
    this.#child = child
    this.#exited = once(child, 'exit')
  }

  /** Ends it as a power cut would: nothing is flushed, closed or said. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#exited
  }

  /** Lets it finish what it does, and answers its own account of it. */
  async stop(): Promise<readonly PrintableRow[]> {
    this.#child.send('stop')
    const [code] = await this.#exited
    if (code !== 0 || this.#audit === undefined) throw new Error(`The shop ended with ${String(code)}: see its log.`)
    return this.#audit
  }

  async #failure(): Promise<never> {
    const [code, signal] = await this.#exited
    throw new Error(`The shop did not open: it ended with ${String(code ?? signal)}.`)
  }
}
