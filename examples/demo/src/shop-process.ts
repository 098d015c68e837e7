import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { SimCluster } from '@waybill/sim'
import type { PrintableRow, ShopCommand, ShopMessage, ShopTask } from './shop-task.ts'

/** The process that the shop runs in, as its parent sees it. */
export class ShopProcess {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown[]>
  readonly #replayed = Promise.withResolvers<number>()
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
      else if (message.kind === 'replayed') shop.#replayed.resolve(message.count)
      else if (message.kind === 'stopped') shop.#audit = message.audit
    })
    await Promise.race([open, shop.#failure('open')])
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

  /** Has its dead letters replayed, and answers how many there were. */
  async replay(): Promise<number> {
    this.#tell('replay')
    return Promise.race([this.#replayed.promise, this.#failure('replay its dead letters')])
  }

  /** Lets it finish what it does, and answers its own account of it. */
  async stop(): Promise<readonly PrintableRow[]> {
    this.#tell('stop')
    const [code] = await this.#exited
    if (code !== 0 || this.#audit === undefined) throw new Error(`The shop ended with ${String(code)}: see its log.`)
    return this.#audit
  }

  #tell(command: ShopCommand): void {
    this.#child.send(command)
  }

  async #failure(what: string): Promise<never> {
    const [code, signal] = await this.#exited
    throw new Error(`The shop did not ${what}: it ended with ${String(code ?? signal)}.`)
  }
}
