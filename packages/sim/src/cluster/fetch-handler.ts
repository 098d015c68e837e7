/**
 * Fetch without sessions: every request names what it wants. It is answered at once when there are `minBytes`, when
 * nothing was asked for, or when anything is wrong with any partition; else it waits for appends, markers, and moves, at
 * most `maxWaitMs`.
 */

import { Buffer } from 'node:buffer'
import type { Runtime } from '@waybill/core'
import {
  type DivergingEpoch,
  errorCode,
  type FetchRequest,
  type FetchResponse,
  type FetchResponsePartition,
} from '@waybill/kafka/wire'
import { fetchError } from './error-response.ts'
import { epochProblem } from './partition-problem.ts'
import type { RequestHandler } from './request-handler.ts'
import type { Partition, TopicTable } from './topic-table.ts'

type AskedPartition = FetchRequest['topics'][number]['partitions'][number]

interface Reading {
  readonly response: FetchResponse
  readonly bytes: number
  readonly hasError: boolean
}

/** Answers Fetch. */
export function fetchHandler(runtime: Runtime, topics: TopicTable): RequestHandler<'Fetch'> {
  return (request, { node }) => {
    if (request.sessionId !== 0) return { errorCode: errorCode.FETCH_SESSION_ID_NOT_FOUND, sessionId: 0, topics: [] }
    const first = read(topics, request, node)
    return isReady(first, request) ? first.response : longPoll(runtime, topics, request, node)
  }
}

async function longPoll(
  runtime: Runtime,
  topics: TopicTable,
  request: FetchRequest,
  node: number,
): Promise<FetchResponse> {
  const ready = new AbortController()
  const wake = (): void => {
    if (isReady(read(topics, request, node), request)) ready.abort()
  }
  const watches = askedPartitions(topics, request).map((partition) => partition.watch(wake))
  // Rejects when it is cut short, which is what everybody hopes for.
  await runtime.timers.sleep(request.maxWaitMs, ready.signal).catch(() => {})
  for (const watch of watches) watch[Symbol.dispose]()
  return read(topics, request, node).response
}

function askedPartitions(topics: TopicTable, request: FetchRequest): Partition[] {
  return request.topics.flatMap(({ topicId, partitions }) =>
    partitions.flatMap(({ partition }) => topics.byId(topicId)?.partitions[partition] ?? []),
  )
}

function isReady({ bytes, hasError, response }: Reading, { minBytes, maxWaitMs }: FetchRequest): boolean {
  return bytes >= minBytes || hasError || maxWaitMs <= 0 || response.topics.length === 0
}

function read(topics: TopicTable, request: FetchRequest, node: number): Reading {
  let bytes = 0
  let hasError = false
  const answered = request.topics.map(({ topicId, partitions }) => ({
    topicId,
    partitions: partitions.map((asked) => {
      const partition = topics.byId(topicId)?.partitions[asked.partition]
      const unknown =
        topics.byId(topicId) === undefined ? errorCode.UNKNOWN_TOPIC_ID : errorCode.UNKNOWN_TOPIC_OR_PARTITION
      const problem = partition === undefined ? unknown : problemOf(partition, asked, node)
      if (partition === undefined || problem !== null) {
        hasError = true
        return fetchError(asked.partition, problem ?? errorCode.NONE)
      }
      const answer = readPartition(partition, asked, request, bytes)
      bytes += answer.records.length
      // The reader of a log that was cut gets the response at once.
      if (answer.divergingEpoch !== undefined) hasError = true
      return answer
    }),
  }))
  return { response: { errorCode: errorCode.NONE, sessionId: 0, topics: answered }, bytes, hasError }
}

function problemOf(partition: Partition, asked: AskedPartition, node: number): number | null {
  // A follower gives readers what it has, since Kafka 2.4. Only a client that knows the leader's epoch is redirected.
  if (!partition.replicas.includes(node)) return errorCode.NOT_LEADER_OR_FOLLOWER
  return epochProblem(partition, asked.currentLeaderEpoch) ?? rangeProblem(partition, asked)
}

/** A position past the end of a log that was cut is no error: the response has the end of the shared part. */
function rangeProblem(partition: Partition, asked: AskedPartition): number | null {
  const { log } = partition
  const { fetchOffset, lastFetchedEpoch = -1 } = asked
  const isNewer = lastFetchedEpoch > partition.leaderEpoch
  const isBehind = fetchOffset > log.highWatermark && divergence(partition, asked) === undefined
  return isNewer || fetchOffset < log.logStartOffset || isBehind ? errorCode.OFFSET_OUT_OF_RANGE : null
}

/** Compares epochs as a broker does for every fetch that names one, also a consumer's. */
function divergence({ log, leaderEpoch }: Partition, asked: AskedPartition): DivergingEpoch | undefined {
  const { fetchOffset, lastFetchedEpoch = -1 } = asked
  if (lastFetchedEpoch < 0) return undefined
  const shared = log.endOfEpoch(lastFetchedEpoch, leaderEpoch)
  if (shared === null) return undefined
  return shared.epoch < lastFetchedEpoch || shared.endOffset < fetchOffset ? shared : undefined
}

function readPartition(
  partition: Partition,
  asked: AskedPartition,
  request: FetchRequest,
  bytesBefore: number,
): FetchResponsePartition {
  const { log } = partition
  const { highWatermark, lastStableOffset, logStartOffset } = log
  const bounds = {
    partitionIndex: asked.partition,
    errorCode: errorCode.NONE,
    highWatermark,
    lastStableOffset,
    logStartOffset,
  }
  const divergingEpoch = divergence(partition, asked)
  if (divergingEpoch !== undefined)
    return { ...bounds, abortedTransactions: [], records: Buffer.alloc(0), divergingEpoch }
  const isCommitted = request.isolationLevel === 'READ_COMMITTED'
  const room = Math.max(0, Math.min(asked.partitionMaxBytes, request.maxBytes - bytesBefore))
  // The first batch of an answer comes whole however large it is: a consumer could never get past it otherwise.
  const limit = isCommitted ? lastStableOffset : highWatermark
  const { records, endBound } = log.read(asked.fetchOffset, limit, room, bytesBefore === 0)
  const aborted = isCommitted && records.length > 0 ? log.abortedWithin(asked.fetchOffset, endBound) : []
  return {
    ...bounds,
    abortedTransactions: aborted.map(({ producerId, firstOffset }) => ({ producerId, firstOffset })),
    records,
  }
}
