/** What all bindings of a cluster share: its client, one dead letter producer (C-76, S0-200), and what is known of its logs. */

import type { Runtime } from '@waybill/core'
import type { KafkaClient, Producer } from '@waybill/kafka'
import { createDerivedPublisher, type DerivedPublisher, derivedProducerOptions } from '../records/derived-publisher.ts'
import { ClusterReader } from './cluster-reader.ts'

/** See the file's comment. The client is the user's: it is used and never closed. */
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

  /** Writes retry and dead letter records. Made when the first binding starts. */
  get publisher(): DerivedPublisher {
    this.#writing ??= this.#openProducer()
    return this.#writing.publisher
  }

  /** Why retry and dead letter records cannot be written now. */
  get publishTrouble(): string | undefined {
    return this.#writing?.publisher.trouble
  }

  /** To be called when no container runs any more: what they publish must be confirmed before (S0-160). */
  async close(): Promise<void> {
    await this.#writing?.producer.close()
  }

  #openProducer(): { readonly producer: Producer; readonly publisher: DerivedPublisher } {
    const producer = this.client.producer('DEAD_LETTER', derivedProducerOptions)
    return { producer, publisher: createDerivedPublisher(producer, this.#runtime) }
  }
}
