/** Recognizes rare states, and responses that no healthy broker sends, by the requests and responses of a process. */

import {
  type ErrorName,
  errorName,
  type FetchRequest,
  type FetchResponse,
  type KafkaApi,
  type PartitionErrorsResponse,
  type ProduceRequest,
  type ProduceResponse,
  RecordBatch,
  type RequestOf,
  type ResponseOf,
} from '@waybill/kafka/wire'
import type { NetworkWitness } from '../world/sim-process.ts'
import type { Court } from './court.ts'
import type { MemberChecker } from './member-checker.ts'
import type { RareState } from './rare-states.ts'

type JoinGroupRequest = RequestOf<'JoinGroup'>
type JoinGroupResponse = ResponseOf<'JoinGroup'>

/** Dependencies of a witness. */
export interface WitnessParts {
  readonly name: string
  readonly court: Court
  /** The consumer of the process. */
  readonly member?: MemberChecker
  /** The last known place of each static member, by its instance id. */
  readonly places: Map<string, Place>
  /** Names of topics by their ids. */
  readonly topicOf: (topicId: string) => string | undefined
}

/** A place in a generation of the group. */
export interface Place {
  readonly memberId: string
  readonly generationId: number
}

type ByCode = { readonly [C in ErrorName]?: RareState }

const commitStates: ByCode = {
  ILLEGAL_GENERATION: 'group: a commit is refused by its generation',
  UNKNOWN_MEMBER_ID: 'group: a commit is refused because its member is unknown',
  REBALANCE_IN_PROGRESS: 'group: a commit is refused between two generations',
  NOT_COORDINATOR: 'group: a commit meets a coordinator that has moved',
  FENCED_INSTANCE_ID: 'group: a static member is fenced by its successor',
}

const transactionalCommitStates: ByCode = {
  ILLEGAL_GENERATION: 'transaction: offsets of a stale generation are refused',
  UNKNOWN_MEMBER_ID: 'transaction: offsets of a stale generation are refused',
}

const fetchStates: ByCode = {
  OFFSET_OUT_OF_RANGE: 'fetch: the position is out of range',
  NOT_LEADER_OR_FOLLOWER: 'fetch: the leader has moved',
}

const codeStates: { readonly [A in KafkaApi]?: ByCode } = {
  JoinGroup: {
    NOT_COORDINATOR: 'group: the coordinator moves during a join',
    FENCED_INSTANCE_ID: 'group: a static member is fenced by its successor',
  },
  SyncGroup: { FENCED_INSTANCE_ID: 'group: a static member is fenced by its successor' },
  Heartbeat: { FENCED_INSTANCE_ID: 'group: a static member is fenced by its successor' },
  InitProducerId: { CONCURRENT_TRANSACTIONS: 'transaction: the one before is still being ended' },
  AddOffsetsToTxn: { CONCURRENT_TRANSACTIONS: 'transaction: the one before is still being ended' },
}

/** Requests whose response has a code for each partition. */
const partitionStates: { readonly [A in KafkaApi]?: ByCode } = {
  OffsetCommit: commitStates,
  TxnOffsetCommit: transactionalCommitStates,
  AddPartitionsToTxn: { CONCURRENT_TRANSACTIONS: 'transaction: the one before is still being ended' },
}

/** The outcome of an attempt to write a batch that must be retried. */
type Doubt = 'LOST' | 'DOUBTFUL'

/** Makes the witness of a process. */
export function createNetworkWitness(parts: WitnessParts): NetworkWitness {
  const { court, member, name, places, topicOf } = parts
  const doubts = new WeakMap<Buffer, Doubt>()

  const reachBy = (states: ByCode | undefined, code: number): void => {
    if (code === 0 || states === undefined) return
    const state = states[errorName(code) as ErrorName]
    if (state !== undefined) court.reach(state)
  }

  const reachByPartitions = (states: ByCode, { topics }: PartitionErrorsResponse): void => {
    for (const { partitions } of topics) for (const { errorCode: code } of partitions) reachBy(states, code)
  }

  const produced = (request: ProduceRequest, response: ProduceResponse): void => {
    for (const topic of response.topics) {
      const asked = request.topics.find((one) => one.name === topic.name)
      for (const { partitionIndex, errorCode: code, logAppendTimeMs } of topic.partitions) {
        const batch = asked?.partitions.find((one) => one.partitionIndex === partitionIndex)?.records[0]
        const where = `${topic.name}-${partitionIndex}`
        if (batch !== undefined) judgeBatch(batch, errorName(code), logAppendTimeMs, where)
      }
    }
  }

  const judgeBatch = (batch: Buffer, code: string, appendTimeMs: bigint, where: string): void => {
    switch (code) {
      case 'NONE':
        // A broker that does not stamp records returns a timestamp only for a batch it already had.
        if (appendTimeMs < 0n) return
        court.reach(
          doubts.get(batch) === 'DOUBTFUL'
            ? 'produce: an ambiguous response is resolved by a retry'
            : 'produce: a duplicate is recognized after a lost response',
        )
        return
      case 'OUT_OF_ORDER_SEQUENCE_NUMBER':
      case 'UNKNOWN_PRODUCER_ID':
        court.violate('SEQUENCE', `${name} numbers a batch for ${where} wrong: no log here ever lost anything`)
        return
      case 'REQUEST_TIMED_OUT':
      case 'NOT_ENOUGH_REPLICAS_AFTER_APPEND':
        doubts.set(batch, 'DOUBTFUL')
        return
      case 'MESSAGE_TOO_LARGE':
        if (new RecordBatch(batch, 0, batch.length).recordCount === 1)
          court.reach('produce: a record that is too large is isolated')
        return
      default:
    }
  }

  const producing = ({ topics, transactionalId }: ProduceRequest): void => {
    if (transactionalId !== null) return
    for (const { partitions } of topics)
      for (const { records } of partitions)
        for (const batch of records)
          if (new RecordBatch(batch, 0, batch.length).producerEpoch > 0)
            court.reach('produce: the epoch is raised after a doubt')
  }

  const joined = (
    { groupInstanceId }: JoinGroupRequest,
    { errorCode: code, memberId, generationId }: JoinGroupResponse,
  ): void => {
    reachBy(codeStates.JoinGroup, code)
    if (groupInstanceId === null || errorName(code) !== 'NONE') return
    const former = places.get(groupInstanceId)
    places.set(groupInstanceId, { memberId, generationId })
    if (former?.generationId === generationId && former.memberId !== memberId)
      court.reach('group: a static member comes back to its place')
  }

  const offsetsFetched = ({ topics }: ResponseOf<'OffsetFetch'>): void => {
    for (const { partitions } of topics)
      for (const { errorCode: code } of partitions)
        reachBy({ UNSTABLE_OFFSET_COMMIT: 'fetch: committed offsets are not stable yet' }, code)
  }

  const fetched = ({ topics }: FetchResponse, sentAt: number): void => {
    for (const { topicId, partitions } of topics) {
      const topic = topicOf(topicId)
      for (const { partitionIndex: partition, errorCode: code, records, abortedTransactions } of partitions) {
        reachBy(fetchStates, code)
        if (abortedTransactions.length > 0) court.reach('fetch: aborted records are filtered out')
        const producers = new Set(abortedTransactions.map(({ producerId }) => producerId))
        if (producers.size < abortedTransactions.length)
          court.reach('fetch: two aborted transactions of one producer come in one answer')
        if (records.length > 0 && topic !== undefined) member?.fetched({ topic, partition }, sentAt)
      }
    }
  }

  return {
    sending(api, request) {
      court.note(name, () => `sends ${api} ${summary(api, request)}`)
      member?.sending(api, request)
      if (api === 'Produce') producing(request as ProduceRequest)
    },
    answered(api, request, response, sentAt) {
      court.note(name, () => `gets ${api} ${answer(api, response)}`)
      member?.answered(api, response, sentAt)
      const states = partitionStates[api]
      if (states !== undefined) reachByPartitions(states, response as PartitionErrorsResponse)
      else if (api === 'OffsetFetch') offsetsFetched(response as ResponseOf<'OffsetFetch'>)
      else if (api === 'Produce') produced(request as ProduceRequest, response as ProduceResponse)
      else if (api === 'Fetch') fetched(response as FetchResponse, sentAt)
      else if (api === 'JoinGroup') joined(request as JoinGroupRequest, response as JoinGroupResponse)
      else if ('errorCode' in response) reachBy(codeStates[api], response.errorCode)
    },
    unanswered(api, request, error) {
      court.note(name, () => `gets no answer to ${api}: ${error.message}`)
      member?.unanswered(api)
      if (api !== 'Produce') return
      for (const { partitions } of (request as ProduceRequest).topics)
        for (const { records } of partitions) for (const batch of records) doubts.set(batch, 'LOST')
    },
  }
}

/** Summarizes a request for the trace. */
function summary(api: KafkaApi, request: RequestOf<KafkaApi>): string {
  if (api === 'Fetch')
    return (request as FetchRequest).topics
      .flatMap(({ partitions }) => partitions.map(({ partition, fetchOffset }) => `${partition}@${fetchOffset}`))
      .join(' ')
  if (api !== 'Produce') return JSON.stringify(request, brief)
  return (request as ProduceRequest).topics
    .flatMap(({ name, partitions }) =>
      partitions.map(({ partitionIndex, records }) => {
        const batch = new RecordBatch(records[0] as Buffer, 0, records[0]?.length ?? 0)
        return `${name}-${partitionIndex} ${batch.producerId}/${batch.producerEpoch} #${batch.baseSequence}+${batch.recordCount}`
      }),
    )
    .join(', ')
}

/** Summarizes a response for the trace. */
function answer(api: KafkaApi, response: ResponseOf<KafkaApi>): string {
  if (api !== 'Fetch') return JSON.stringify(response, brief)
  return (response as FetchResponse).topics
    .flatMap(({ partitions }) =>
      partitions.map(
        ({ partitionIndex, errorCode: code, records, lastStableOffset }) =>
          `${partitionIndex}: ${code === 0 ? `${records.length} bytes, stable to ${lastStableOffset}` : errorName(code)}`,
      ),
    )
    .join(', ')
}

function brief(key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (key === 'errorCode') return errorName(value as number)
  const isBytes = typeof value === 'object' && value !== null && (value as { type?: unknown }).type === 'Buffer'
  return isBytes ? `${(value as { data: number[] }).data.length} bytes` : value
}
