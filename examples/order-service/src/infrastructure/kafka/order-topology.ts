import { applyTopology, defineTopology, type KafkaClient, planTopology, readTopology } from '@waybill/kafka'

const dayMs = 86_400_000

/** Creates the topic of orders if it is missing. The connector creates those of retries and dead letters. */
export async function createTopics({ admin }: KafkaClient, topic: string, replication: number): Promise<void> {
  const configs = { 'retention.ms': 7 * dayMs, 'min.insync.replicas': Math.min(2, replication) }
  const topology = defineTopology({ topics: [{ name: topic, partitions: 8, replication, configs }] })
  await applyTopology(admin, planTopology(topology, await readTopology(admin, topology)))
}
