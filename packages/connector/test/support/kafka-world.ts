/** What tests of a connector do with a real broker. */

import { Buffer } from 'node:buffer'
import { noopLogger, runtimeWith } from '@waybill/core'
import { createKafkaClient, type KafkaClient, requireAllDone } from '@waybill/kafka'
import type { KafkaPlace } from '@waybill/test-support'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector } from '../../src/api/connector.ts'
import { createConnector } from '../../src/engine/create-connector.ts'
import type { InPlace } from './behaviour-scene.ts'
import { openAdministration } from './open-administration.ts'

/** What goes wrong here is meant to: nobody needs to read of it. */
const runtime = runtimeWith({ logger: noopLogger })

/** Programs on Apache Kafka, each with a topic of its own. */
export function inKafka(kafka: KafkaPlace, name: string): InPlace {
  let topics = 0
  return async (program) => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const createTopic = (partitions: number): Promise<string> =>
      kafka.createTopic(`${name}-${++topics}`, { partitions })
    await program({ client, runtime, createTopic })
  }
}

/** A topic and a group of that name. */
export async function placeOf(kafka: KafkaPlace, name: string, partitions = 1) {
  return { topic: await kafka.createTopic(name, { partitions }), groupId: kafka.named(`${name}-group`) }
}

/** Writes values, each its own key, to one partition. */
export async function write(
  client: KafkaClient,
  topic: string,
  values: readonly string[],
  partition = 0,
): Promise<void> {
  await using producer = client.producer('EVENT')
  await Promise.all(
    values.map((value) => producer.send({ topic, partition, key: Buffer.from(value), value: Buffer.from(value) })),
  )
}

/** Where the next record of a partition will lie. */
export async function endOf(client: KafkaClient, topic: string, partition = 0): Promise<bigint> {
  const [end] = requireAllDone('an end', await client.admin.listOffsets([{ topic, partition }], 'LATEST'))
  return end?.offset ?? 0n
}

/** What a group has committed, by partition. */
export async function committedOf(
  client: KafkaClient,
  groupId: string,
  topic: string,
): Promise<Record<number, bigint | null>> {
  const offsets = requireAllDone('offsets', await client.admin.groupOffsets(groupId))
  const own = offsets.filter((one) => one.topic === topic)
  return Object.fromEntries(own.map(({ partition, committed }) => [partition, committed]))
}

/** A connector of one binding that runs. */
export async function startOne(client: KafkaClient, binding: Binding): Promise<Connector> {
  const connector = createConnector({
    clusters: { default: client },
    bindings: { shipping: binding },
    administration: openAdministration,
    runtime,
  })
  await connector.start()
  return connector
}
