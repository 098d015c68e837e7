/** Requests about producer ids and transactions. */

import assert from 'node:assert/strict'
import type { Buffer } from 'node:buffer'
import { type BatchProducer, errorName, type InitProducerIdResponse, type RequestOf } from '@waybill/kafka/wire'
import { type ErrorText, type Produced, produceBatch, textBatch } from './log-requests.ts'
import type { MadeTopic, WireClient } from './wire-client.ts'

/** The result of InitProducerId. */
export interface Identity {
  readonly producerId: bigint
  readonly producerEpoch: number
}

/** A request without a current producer id and epoch. */
export const anyone: Identity = { producerId: -1n, producerEpoch: -1 }

/** Errors of a coordinator that is loading, or completes a transaction first. */
const isForTheMoment = new Set<ErrorText>([
  'CONCURRENT_TRANSACTIONS',
  'COORDINATOR_LOAD_IN_PROGRESS',
  'COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR',
])

/** Sends one InitProducerId. */
export async function askProducerId(
  wire: WireClient,
  transactionalId: string | null,
  { producerId, producerEpoch }: Identity = anyone,
  transactionTimeoutMs = 60_000,
): Promise<InitProducerIdResponse & { readonly error: ErrorText }> {
  const request = { transactionalId, transactionTimeoutMs, producerId, producerEpoch }
  const answer = await wire.send('InitProducerId', request)
  return { ...answer, error: errorName(answer.errorCode) }
}

/** Sends InitProducerId until the response is final, which may be a rejection. */
export function settledProducerId(
  wire: WireClient,
  transactionalId: string | null,
  identity: Identity = anyone,
): Promise<InitProducerIdResponse & { readonly error: ErrorText }> {
  return wire.until(
    () => askProducerId(wire, transactionalId, identity),
    ({ error }) => !isForTheMoment.has(error),
  )
}

/** Obtains a producer id. */
export async function initProducer(
  wire: WireClient,
  transactionalId: string | null,
  identity: Identity = anyone,
): Promise<Identity> {
  const { error, producerId, producerEpoch } = await settledProducerId(wire, transactionalId, identity)
  assert.equal(error, 'NONE')
  return { producerId, producerEpoch }
}

/** The producer fields of batches of an idempotent producer. */
export function stamp({ producerId, producerEpoch }: Identity, baseSequence: number): BatchProducer {
  return { producerId, producerEpoch, baseSequence, isTransactional: false }
}

/** Writes a batch of an idempotent producer that is not part of a transaction. */
export function append(
  wire: WireClient,
  topic: MadeTopic,
  identity: Identity,
  baseSequence: number,
  values: readonly string[],
): Promise<Produced> {
  return produceBatch(wire, topic, textBatch(wire, values, stamp(identity, baseSequence)))
}

/** A transactional producer that sends one request at a time. */
export class WireTransactor {
  readonly wire: WireClient
  readonly transactionalId: string
  readonly identity: Identity
  readonly #sequences = new Map<string, number>()

  private constructor(wire: WireClient, transactionalId: string, identity: Identity) {
    this.wire = wire
    this.transactionalId = transactionalId
    this.identity = identity
  }

  /** Takes over the transactional id. */
  static async begin(wire: WireClient, plainId: string): Promise<WireTransactor> {
    const transactionalId = wire.named(plainId)
    return new WireTransactor(wire, transactionalId, await initProducer(wire, transactionalId))
  }

  get #asker(): Identity & { readonly transactionalId: string } {
    return { transactionalId: this.transactionalId, ...this.identity }
  }

  /** Adds partitions and returns their errors in the order of the response. Waits for the previous transaction. */
  async addPartitions(topic: MadeTopic, partitions: readonly number[] = [0]): Promise<ErrorText[]> {
    return this.wire.until(
      async () => {
        const topics = [{ name: topic.name, partitions }]
        const answer = await this.wire.send('AddPartitionsToTxn', { ...this.#asker, topics })
        return answer.topics.flatMap((one) => one.partitions.map(({ errorCode }) => errorName(errorCode)))
      },
      (errors) => !errors.includes('CONCURRENT_TRANSACTIONS'),
    )
  }

  /** Writes a batch of the transaction. The partition must have been added. */
  async produce(topic: MadeTopic, values: readonly string[], partition = 0): Promise<Produced> {
    const where = `${topic.name}-${partition}`
    const baseSequence = this.#sequences.get(where) ?? 0
    const batch: Buffer = textBatch(this.wire, values, { ...this.identity, baseSequence, isTransactional: true })
    const { transactionalId } = this
    const produced = await produceBatch(this.wire, topic, batch, { partition, transactionalId })
    if (produced.error === 'NONE') this.#sequences.set(where, baseSequence + values.length)
    return produced
  }

  /** Adds the partition and writes to it. */
  async write(topic: MadeTopic, values: readonly string[], partition = 0): Promise<bigint> {
    assert.deepEqual(await this.addPartitions(topic, [partition]), ['NONE'])
    const { error, baseOffset } = await this.produce(topic, values, partition)
    assert.equal(error, 'NONE')
    return baseOffset
  }

  addOffsets(groupId: string): Promise<ErrorText> {
    return this.wire.until(
      async () => errorName((await this.wire.send('AddOffsetsToTxn', { ...this.#asker, groupId })).errorCode),
      (error) => error !== 'CONCURRENT_TRANSACTIONS',
    )
  }

  /** Commits offsets in the transaction, and returns the error of each in the given order. */
  async commitOffsets(
    request: Omit<RequestOf<'TxnOffsetCommit'>, 'transactionalId' | 'producerId' | 'producerEpoch'>,
  ): Promise<ErrorText[]> {
    const answer = await this.wire.send('TxnOffsetCommit', { ...this.#asker, ...request })
    return answer.topics.flatMap((topic) => topic.partitions.map(({ errorCode }) => errorName(errorCode)))
  }

  async end(outcome: 'COMMIT' | 'ABORT'): Promise<ErrorText> {
    const answer = await this.wire.send('EndTxn', { ...this.#asker, committed: outcome === 'COMMIT' })
    return errorName(answer.errorCode)
  }
}
