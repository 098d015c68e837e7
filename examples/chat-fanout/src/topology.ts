/** The topics of the chat, as code: the same file creates them and shows how a cluster differs. */

import { applyTopology, defineTopology, type KafkaClient, planTopology, readTopology } from '@waybill/kafka'

/** Names of the four topics. */
export interface ChatTopics {
  readonly messages: string
  readonly memberships: string
  readonly chats: string
  readonly deadLetters: string
}

const dayMs = 86_400_000
const gibibyte = 1_073_741_824

/** Returns the names of the topics. A prefix keeps runs on one cluster apart. */
export function chatTopics(prefix = ''): ChatTopics {
  return {
    messages: `${prefix}messages.persisted`,
    memberships: `${prefix}memberships.changed`,
    chats: `${prefix}chats.created`,
    deadLetters: `${prefix}dead_letters`,
  }
}

/** Returns the topology: 7 days of events and 30 days of dead letters, or as many bytes, whichever is reached first. */
export function chatTopology({ messages, memberships, chats, deadLetters }: ChatTopics, replication = 3) {
  const declared = [
    { name: messages, partitions: 64, days: 7, gibibytes: 100 },
    { name: memberships, partitions: 16, days: 7, gibibytes: 10 },
    { name: chats, partitions: 16, days: 7, gibibytes: 10 },
    { name: deadLetters, partitions: 8, days: 30, gibibytes: 50 },
  ]
  return defineTopology({
    topics: declared.map(({ name, partitions, days, gibibytes }) => ({
      name,
      partitions,
      replication,
      configs: {
        'cleanup.policy': 'delete',
        'retention.ms': days * dayMs,
        'retention.bytes': gibibytes * gibibyte,
        'min.insync.replicas': Math.min(2, replication),
        'message.timestamp.type': 'CreateTime',
      },
    })),
  })
}

/** Creates the topics that are missing. An existing topic keeps its settings. */
export async function createTopics(kafka: KafkaClient, topics: ChatTopics, replication: number): Promise<void> {
  const topology = chatTopology(topics, replication)
  await applyTopology(kafka.admin, planTopology(topology, await readTopology(kafka.admin, topology)))
}
