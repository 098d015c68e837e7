/**
 * A process of the simulated world: its timers, its connections, and an end that nobody inside notices.
 *
 * Everything a process does begins with a timer that fires or an answer that arrives. So both go through one gate. While
 * it is closed nothing gets through until it opens again, which is SIGSTOP; once it is shut for good the process is
 * killed, and the promises it waits for never settle.
 */

import { type Runtime, sleepWith } from '@waybill/core'
import type { KafkaApi, KafkaConnection, KafkaTransport, RequestOf, ResponseOf } from '@waybill/kafka/wire'

/** Is told what passes between a process and the cluster. */
export interface NetworkWitness {
  /** The process writes a request. */
  sending(api: KafkaApi, request: RequestOf<KafkaApi>): void
  /** The process gets an answer. `sentAt` is on the monotonic clock. */
  answered(api: KafkaApi, request: RequestOf<KafkaApi>, response: ResponseOf<KafkaApi>, sentAt: number): void
  /** The process learns that no answer will come. */
  unanswered(api: KafkaApi, request: RequestOf<KafkaApi>, error: Error): void
}

type Gate = 'OPEN' | 'FROZEN' | 'DEAD'

/** One process. */
export class SimProcess {
  readonly name: string
  readonly runtime: Runtime
  readonly transport: KafkaTransport
  readonly #base: Runtime
  readonly #witness: NetworkWitness
  readonly #connections = new Set<KafkaConnection>()
  #gate: Gate = 'OPEN'
  #held: (() => void)[] = []

  constructor(name: string, base: Runtime, transport: KafkaTransport, witness: NetworkWitness) {
    this.name = name
    this.#base = base
    this.#witness = witness
    const schedule = (ms: number, run: () => void): Disposable => this.#schedule(ms, run)
    this.runtime = { ...base, timers: { schedule, sleep: (ms, signal) => sleepWith(schedule, ms, signal) } }
    this.transport = { connect: (node, clientId) => this.#connect(transport, node, clientId) }
  }

  get isAlive(): boolean {
    return this.#gate !== 'DEAD'
  }

  get isFrozen(): boolean {
    return this.#gate === 'FROZEN'
  }

  /** Nothing runs in it until `thaw`. What is sent to it waits, as in the buffers of its sockets. */
  freeze(): void {
    if (this.#gate === 'OPEN') this.#gate = 'FROZEN'
  }

  thaw(): void {
    if (this.#gate !== 'FROZEN') return
    this.#gate = 'OPEN'
    // All of it is due at once, in an order that the seed decides.
    for (const run of this.#held.splice(0)) this.#base.timers.schedule(0, () => this.#pass(run))
  }

  /** Nothing runs in it any more. What it has sent still arrives, as bytes in the buffers of a socket do. */
  kill(): void {
    this.#gate = 'DEAD'
    this.#held = []
    for (const connection of this.#connections) connection.close()
    this.#connections.clear()
  }

  #pass(run: () => void): void {
    if (this.#gate === 'OPEN') run()
    else if (this.#gate === 'FROZEN') this.#held.push(run)
  }

  #schedule(ms: number, run: () => void): Disposable {
    let isOver = false
    const timer = this.#base.timers.schedule(ms, () =>
      this.#pass(() => {
        if (!isOver) run()
      }),
    )
    return {
      [Symbol.dispose]: () => {
        isOver = true
        timer[Symbol.dispose]()
      },
    }
  }

  /** Settles as the work does, when the process gets to it. */
  #receive<T>(work: Promise<T>, seen?: (value: T) => void, failed?: (error: Error) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      work.then(
        (value) =>
          this.#pass(() => {
            seen?.(value)
            resolve(value)
          }),
        (error: Error) =>
          this.#pass(() => {
            failed?.(error)
            reject(error)
          }),
      )
    })
  }

  async #connect(
    transport: KafkaTransport,
    node: Parameters<KafkaTransport['connect']>[0],
    clientId: string,
  ): Promise<KafkaConnection> {
    const connection = await this.#receive(transport.connect(node, clientId))
    this.#connections.add(connection)
    const { ended } = connection
    void ended.then(() => this.#connections.delete(connection))
    return {
      ended: this.#receive(ended),
      close: () => connection.close(),
      send: <A extends KafkaApi>(api: A, request: RequestOf<A>): Promise<ResponseOf<A>> => {
        const sentAt = this.#base.clock.monotonic()
        this.#witness.sending(api, request)
        return this.#receive(
          connection.send(api, request),
          (response) => this.#witness.answered(api, request, response, sentAt),
          (error) => this.#witness.unanswered(api, request, error),
        )
      },
    }
  }
}
