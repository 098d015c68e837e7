/** A process with connections to a simulated cluster. */

import type { Runtime } from '@waybill/core'
import type { KafkaApi, KafkaConnection, KafkaTransport, RequestOf, ResponseOf } from '@waybill/kafka/wire'
import { ProcessGate } from './process-gate.ts'

/** Observes the traffic between a process and the cluster. */
export interface NetworkWitness {
  /** Called when the process writes a request. */
  sending(api: KafkaApi, request: RequestOf<KafkaApi>): void
  /** Called when the process receives a response. `sentAt` is monotonic. */
  answered(api: KafkaApi, request: RequestOf<KafkaApi>, response: ResponseOf<KafkaApi>, sentAt: number): void
  /** Called when the process learns that no response will come. */
  unanswered(api: KafkaApi, request: RequestOf<KafkaApi>, error: Error): void
}

/** One process. */
export class SimProcess extends ProcessGate {
  readonly transport: KafkaTransport
  readonly #clock: Runtime['clock']
  readonly #witness: NetworkWitness
  readonly #connections = new Set<KafkaConnection>()

  constructor(name: string, base: Runtime, transport: KafkaTransport, witness: NetworkWitness) {
    super(name, base)
    this.#clock = base.clock
    this.#witness = witness
    this.transport = { connect: (node, clientId) => this.#connect(transport, node, clientId) }
  }

  /** Kills it. Its sent requests still arrive, as bytes in the buffers of a socket do. */
  override kill(): void {
    super.kill()
    for (const connection of this.#connections) connection.close()
    this.#connections.clear()
  }

  async #connect(
    transport: KafkaTransport,
    node: Parameters<KafkaTransport['connect']>[0],
    clientId: string,
  ): Promise<KafkaConnection> {
    const connection = await this.receive(transport.connect(node, clientId))
    this.#connections.add(connection)
    const { ended } = connection
    void ended.then(() => this.#connections.delete(connection))
    return {
      ended: this.receive(ended),
      close: () => connection.close(),
      send: <A extends KafkaApi>(api: A, request: RequestOf<A>): Promise<ResponseOf<A>> => {
        const sentAt = this.#clock.monotonic()
        this.#witness.sending(api, request)
        return this.receive(
          connection.send(api, request),
          (response) => this.#witness.answered(api, request, response, sentAt),
          (error) => this.#witness.unanswered(api, request, error),
        )
      },
    }
  }
}
