/**
 * The parts that all bindings of a cluster share: its client, one dead letter producer, and a reader of log offsets.
 */

import type { Runtime } from '@waybill/core'
import type { KafkaClient, Producer } from '@waybill/kafka'
import { createDerivedPublisher, type DerivedPublisher, derivedProducerOptions } from '../records/derived-publisher.ts'
import { ClusterReader } from './cluster-reader.ts'

/** The shared parts of one cluster. The client belongs to the user and is never closed here. */
export class ClusterLink {
  readonly name: string
  readonly client: KafkaClient
  readonly reader: ClusterReader
  readonly #runtime: Runtime
  #writing: { readonly producer: Producer; readonly publisher: DerivedPublisher } | undefined

  constructor(name: string, client: KafkaClient, runtime: Runtime) {
    this.name = name
    this.client = client
    this.reader = new ClusterReader(client.admin)
    this.#runtime = runtime
  }

  /** Writes retry and dead letter records. Created when the first binding starts. */
  get publisher(): DerivedPublisher {
    this.#writing ??= this.#openProducer()
    return this.#writing.publisher
  }

  /** The reason why retry and dead letter records cannot be written; undefined when they can. */
  get publishTrouble(): string | undefined {
    return this.#writing?.publisher.trouble
  }

  /** Closes the producer. Call it after all containers have stopped: their records must be confirmed first. */
  async close(): Promise<void> {
    await this.#writing?.producer.close()
  }

  #openProducer(): { readonly producer: Producer; readonly publisher: DerivedPublisher } {
    const producer = this.client.producer('DEAD_LETTER', derivedProducerOptions)
    return { producer, publisher: createDerivedPublisher(producer, this.#runtime) }
  }
}
