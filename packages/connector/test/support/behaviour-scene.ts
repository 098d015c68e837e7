/** What the behaviours of bindings have in common: they hold on a simulated cluster and on Apache Kafka alike. */

import { noopLogger, type Runtime, runtimeWith } from '@waybill/core'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { createSimCluster, createVirtualRuntime, type SimCluster } from '@waybill/sim'
import { eventually } from '@waybill/testkit'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector, ConnectorOptions } from '../../src/api/connector.ts'
import { createConnector } from '../../src/engine/create-connector.ts'
import { openAdministration } from './open-administration.ts'

/** Where connectors stand. */
export interface BehaviourPlace {
  readonly client: KafkaClient
  readonly runtime: Runtime
  createTopic(partitions: number): Promise<string>
}

/** Runs a program in a place of its own. */
export type InPlace<P extends BehaviourPlace = BehaviourPlace> = (program: (place: P) => Promise<void>) => Promise<void>

/** On a simulated cluster, in virtual time. */
export const inSimulation: InPlace<BehaviourPlace & { readonly sim: SimCluster }> = async (program) => {
  const runtime = createVirtualRuntime(1)
  await runtime.run(async () => {
    const sim = createSimCluster({ brokers: 3, runtime })
    await using client = createKafkaClient({ brokers: sim.brokers, transport: sim.transport('connector'), runtime })
    const createTopic = async (partitions: number): Promise<string> => {
      sim.createTopic('orders', { partitions })
      return 'orders'
    }
    await program({ client, runtime, createTopic, sim })
  })
}

/** One topic and one group, and connectors of a binding that come and go. */
export class BehaviourScene<P extends BehaviourPlace = BehaviourPlace> implements AsyncDisposable {
  readonly place: P
  readonly topic: string
  readonly groupId: string
  protected readonly connectors: Set<Connector> = new Set()

  constructor(place: P, topic: string) {
    this.place = place
    this.topic = topic
    this.groupId = `${topic}-group`
  }

  /** A connector that runs; it is stopped with the scene. */
  protected async startWith(
    binding: Omit<Binding, 'topic' | 'groupId'>,
    options: Pick<ConnectorOptions, 'derivedTopics'> = {},
  ): Promise<Connector> {
    const { place, topic, groupId } = this
    const connector = createConnector({
      ...options,
      clusters: { default: place.client },
      administration: openAdministration,
      bindings: { shipping: { topic, groupId, ...binding } },
      // What goes wrong here is meant to: nobody needs to read of it.
      runtime: runtimeWith({ ...place.runtime, logger: noopLogger }),
    })
    this.connectors.add(connector)
    await connector.start()
    return connector
  }

  until(assertion: () => void | Promise<void>): Promise<void> {
    return eventually(assertion, { runtime: this.place.runtime, deadlineMs: 60_000 })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Array.from(this.connectors, (connector) => connector.stop({ deadlineMs: 10_000 })))
  }
}
