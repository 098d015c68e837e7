import { systemTimers } from '@waybill/core/internal'
import type { KafkaConnection, NodeAddress } from '@waybill/kafka/wire'

/** The address of the first broker of a list. */
export function brokerAt(bootstrap: readonly string[]): NodeAddress {
  const [host, port] = (bootstrap[0] ?? '').split(':')
  return { host: host ?? '', port: Number(port) }
}

/** Repeats a request until its answer is as wanted: a broker says for a while that it is not ready. */
export async function until<T>(ask: () => Promise<T>, isReady: (answer: T) => boolean): Promise<T> {
  let answer = await ask()
  for (let attempt = 0; attempt < 3_000 && !isReady(answer); attempt++) {
    await systemTimers.sleep(10)
    answer = await ask()
  }
  if (!isReady(answer)) throw new Error(`Still not ready: ${String(answer)}`)
  return answer
}

/** The id of a topic, once every partition has a leader that knows of it: metadata tell of both a little too early. */
export async function topicIdOf(connection: KafkaConnection, topic: string): Promise<string> {
  const metadata = await until(
    () => connection.send('Metadata', { topics: [topic] }),
    ({ topics }) =>
      topics.every(({ errorCode, partitions }) => errorCode === 0 && partitions.every((one) => one.leaderId >= 0)),
  )
  const partitions = (metadata.topics[0]?.partitions ?? []).map(({ partitionIndex }) => ({
    partitionIndex,
    currentLeaderEpoch: -1,
    timestamp: -1n,
  }))
  const topics = [{ name: topic, partitions }]
  await until(
    () => connection.send('ListOffsets', { isolationLevel: 'READ_UNCOMMITTED', topics }),
    (answer) => answer.topics.every((one) => one.partitions.every(({ errorCode }) => errorCode === 0)),
  )
  return metadata.topics[0]?.topicId ?? ''
}
