import { type KafkaClient, requireAllDone, type TopicPartition } from '@waybill/kafka'
import type { RebuildSource, SourcePartition } from './rebuild-source.ts'

/** Creates the source that reads topics from their first offset, without a group. */
export function createTopicSource(
  client: Pick<KafkaClient, 'admin' | 'reader'>,
  topics: readonly string[],
): RebuildSource {
  return {
    partitions: () => partitionsOf(client, topics),
    incomplete: () => incompleteBecause(client, topics),
    open({ topic, partition }, from, until) {
      if (from >= until) return nothing
      const reader = client.reader([{ topic, partition, from, until }])
      return { next: (most) => reader.next(most), [Symbol.asyncDispose]: () => reader.close() }
    },
  }
}

const nothing = { next: () => Promise.resolve(undefined), [Symbol.asyncDispose]: () => Promise.resolve() }

async function partitionsOf(
  { admin }: Pick<KafkaClient, 'admin'>,
  topics: readonly string[],
): Promise<readonly SourcePartition[]> {
  const described = requireAllDone('Describing the topics of a projection', await admin.describeTopics(topics))
  const partitions: TopicPartition[] = described.flatMap(({ topic, partitions: all }) =>
    all.map(({ partition }) => ({ topic, partition })),
  )
  const [starts, ends] = await Promise.all([
    admin.listOffsets(partitions, 'EARLIEST'),
    admin.listOffsets(partitions, 'LATEST'),
  ])
  const startOf = offsetsOf(requireAllDone('Finding the start of topics', starts))
  const endOf = offsetsOf(requireAllDone('Finding the end of topics', ends))
  return partitions.map((one) => ({ ...one, start: startOf(one), end: endOf(one) }))
}

function offsetsOf(
  found: readonly (TopicPartition & { readonly offset: bigint | null })[],
): (one: TopicPartition) => bigint {
  const offsets = new Map(found.map(({ topic, partition, offset }) => [`${topic}-${partition}`, offset ?? 0n]))
  return ({ topic, partition }) => offsets.get(`${topic}-${partition}`) ?? 0n
}

async function incompleteBecause(
  client: Pick<KafkaClient, 'admin'>,
  topics: readonly string[],
): Promise<string | undefined> {
  const configs = requireAllDone('Reading the settings of topics', await client.admin.describeConfigs(topics))
  const compacted = configs.filter(({ configs: all }) => all.get('cleanup.policy')?.value?.includes('compact') === true)
  if (compacted.length > 0)
    return `${compacted.map(({ topic }) => topic).join(', ')} is compacted, so earlier events of a key may be gone`
  const cut = (await partitionsOf(client, topics)).filter(({ start }) => start > 0n)
  if (cut.length === 0) return undefined
  const listed = cut
    .slice(0, 10)
    .map(({ topic, partition, start }) => `${topic}-${partition} begins at offset ${start}`)
  return `the first events are gone: ${listed.join(', ')}${cut.length > 10 ? ', …' : ''}`
}
