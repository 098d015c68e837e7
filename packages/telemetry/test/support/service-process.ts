import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { SimCluster } from '@waybill/sim'
import type { ServiceNews, ServiceOrder, TracedServiceTask } from './traced-service.ts'

/** A traced service in a process of its own. */
export class ServiceProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #heard: ServiceNews['news'][] = []
  readonly #exit: Promise<void>
  #listen: () => void = () => {}
  #hasExited = false

  /** @param cluster - the simulated cluster that serves it; undefined for a real one */
  constructor(task: TracedServiceTask, cluster: SimCluster | undefined) {
    this.#child = fork(join(import.meta.dirname, 'traced-service.ts'), [JSON.stringify(task)], {
      execArgv: ['--conditions=@waybill/source', '--disable-warning=ExperimentalWarning'],
    })
    cluster?.serve(this.#child)
    this.#child.on('message', (message: Partial<ServiceNews>) => {
      if (message.news === undefined) return
      this.#heard.push(message.news)
      this.#listen()
    })
    this.#exit = this.#watchExit()
  }

  order(order: ServiceOrder['order']): void {
    this.#child.send({ order } satisfies ServiceOrder)
  }

  /** Resolves once it has said this. @throws if it exits before */
  async hears(news: ServiceNews['news']): Promise<void> {
    while (!this.#heard.includes(news)) {
      if (this.#hasExited) throw new Error(`The service ended before it said ${news}.`)
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#listen = resolve
      await promise
    }
  }

  /** Stops it, with its last spans exported. */
  async stop(): Promise<void> {
    this.order('STOP')
    await this.hears('STOPPED')
    await this.#exit
  }

  async #watchExit(): Promise<void> {
    await once(this.#child, 'exit')
    this.#hasExited = true
    this.#listen()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#hasExited) this.#child.kill('SIGKILL')
    await this.#exit
  }
}
