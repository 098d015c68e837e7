import type { Buffer } from 'node:buffer'
import type { ProduceRequest, ProduceResponse } from '../../wire/api/kafka-apis.ts'
import { KafkaError } from '../cluster/kafka-error.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { AttemptResult, PartitionSender } from './partition-sender.ts'

/** One batch of one partition in a request. */
export interface Attempt {
  readonly sender: PartitionSender
  readonly batch: Buffer
}

/** Builds one request with the batches of several partitions, each partition once. */
export function produceRequest(
  attempts: readonly Attempt[],
  transactionalId: string | null,
  timeoutMs: number,
): ProduceRequest {
  const byTopic = new Map<string, { partitionIndex: number; records: readonly Buffer[] }[]>()
  for (const { sender, batch } of attempts) {
    const partition = { partitionIndex: sender.partition, records: [batch] }
    const partitions = byTopic.get(sender.topic)
    if (partitions === undefined) byTopic.set(sender.topic, [partition])
    else partitions.push(partition)
  }
  return { transactionalId, timeoutMs, topics: Array.from(byTopic, ([name, partitions]) => ({ name, partitions })) }
}

/** Returns the result of each attempt, in order. An attempt missing from the response counts as unanswered. */
export function attemptResults(attempts: readonly Attempt[], answer: ProduceResponse): readonly AttemptResult[] {
  const byTopic = new Map(
    answer.topics.map((topic) => [topic.name, new Map(topic.partitions.map((one) => [one.partitionIndex, one]))]),
  )
  return attempts.map(({ sender }) => {
    const found = byTopic.get(sender.topic)?.get(sender.partition)
    return found === undefined
      ? { error: new KafkaError(`The response does not include ${partitionName(sender)}.`, 'UNKNOWN') }
      : { code: found.errorCode, message: found.errorMessage, baseOffset: found.baseOffset }
  })
}
