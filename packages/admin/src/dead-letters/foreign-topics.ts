import { type KafkaClient, requireAllDone } from '@waybill/kafka'
import type { LetterTopic } from './letter-topics.ts'

/** Returns whether a topic has one of these names. `*` stands for any characters; case does not matter. */
export function isNamed(topic: string, names: readonly string[]): boolean {
  return names.some((name) => matches(topic.toLowerCase(), name.toLowerCase()))
}

/** Each part between two stars is found behind the one before: time grows with the length, whatever the name. */
function matches(topic: string, name: string): boolean {
  const [first = '', ...rest] = name.split('*')
  if (rest.length === 0) return topic === name
  const last = rest.pop() ?? ''
  if (!topic.startsWith(first) || !topic.endsWith(last) || topic.length < first.length + last.length) return false
  let at = first.length
  for (const part of rest) {
    const found = topic.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return at <= topic.length - last.length
}

/** Finds the topics of these names that a cluster has, with the offsets they hold. */
export async function foreignTopicsOf(
  cluster: string,
  { admin }: Pick<KafkaClient, 'admin'>,
  names: readonly string[],
): Promise<readonly LetterTopic[]> {
  if (names.length === 0) return []
  const topics = (await admin.listTopics()).filter((topic) => isNamed(topic, names))
  if (topics.length === 0) return []
  const described = requireAllDone('Describing the topics', await admin.describeTopics(topics))
  const partitions = described.flatMap(({ topic, partitions: all }) =>
    all.map(({ partition }) => ({ topic, partition })),
  )
  const [starts, ends] = await Promise.all([
    admin.listOffsets(partitions, 'EARLIEST'),
    admin.listOffsets(partitions, 'LATEST'),
  ])
  const from = new Map(
    requireAllDone('Finding the starts', starts).map((one) => [`${one.partition} ${one.topic}`, one.offset]),
  )
  const ranges = requireAllDone('Finding the ends', ends).map(({ topic, partition, offset }) => ({
    topic,
    partition,
    from: from.get(`${partition} ${topic}`) ?? 0n,
    until: offset ?? 0n,
  }))
  return topics.map((topic) => ({
    cluster,
    topic,
    bindings: [],
    ranges: ranges.filter((range) => range.topic === topic),
  }))
}
