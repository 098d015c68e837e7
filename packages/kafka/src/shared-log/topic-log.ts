/**
 * A log on one partition of a compacted topic.
 *
 *     append   one producer, all in-sync replicas
 *     read     end of the log ─▶ behind it: read up to it ─▶ at it: follow, with a fetch that waits
 *
 * The reader that follows stays open from one read to the next. Where the end of the log holds no records any more, because
 * they were compacted away, it would wait for a record that never comes: the next read goes over the gap with a reader that
 * has an end.
 *
 * | failure | consequence |
 * |---|---|
 * | a request fails | the call rejects; the next one opens its readers anew |
 * | the topic was deleted and created again | the next read is from its start, with `isReset` |
 * | a record is not JSON | its value is the text |
 */

import { Buffer } from 'node:buffer'
import type { Runtime } from '@waybill/core'
import {
  checkLogWrites,
  type SharedLog,
  type SharedLogEntry,
  type SharedLogRead,
  type SharedLogReadOptions,
  type SharedLogWrite,
} from '@waybill/core/internal'
import { requireAllDone } from '../client/admin/admin-result.ts'
import { KafkaError } from '../client/cluster/kafka-error.ts'
import type { KafkaRecord } from '../client/cluster/kafka-record.ts'
import type { RangeReader } from '../client/fetch/range-reader.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import type { Producer } from '../client/producer/producer.ts'
import { prepareLogTopic } from './prepare-log-topic.ts'

/** The resolved options of the log. */
export interface TopicLogSettings {
  readonly topic: string
  readonly createTopic: boolean
  readonly runtime: Runtime
}

/** Entries of one read. A whole fleet has fewer. */
const batchSize = 5_000

/** Records of one poll. */
const pollSize = 500

/** Beyond the end of every log. */
const noEnd = 2n ** 63n - 1n

/** How long a read waits for records that the end of the log promises. */
const promisedMs = 1_000

/** The deadline of a request: a control that waits for a broker for longer tells its callers so. */
const requestMs = 5_000

/** An open reader, and the poll that an earlier read has begun and not awaited. */
interface Follower {
  readonly reader: RangeReader
  position: bigint
  poll: Promise<PollResult> | undefined
}

type PollResult = { readonly records: readonly KafkaRecord[] | undefined } | { readonly error: unknown }

/** See the file's comment. */
export class TopicLog implements SharedLog {
  readonly #client: KafkaClient
  readonly #settings: TopicLogSettings
  #topicId: string | undefined
  #isReady = false
  #producer: Producer | undefined
  #follower: Follower | undefined

  constructor(client: KafkaClient, settings: TopicLogSettings) {
    this.#client = client
    this.#settings = settings
  }

  async append(writes: readonly SharedLogWrite[]): Promise<void> {
    checkLogWrites(writes)
    if (!this.#isReady) await this.#prepare()
    const { topic } = this.#settings
    this.#producer ??= this.#client.producer('DEAD_LETTER', { deliveryTimeoutMs: 10_000, requestTimeoutMs: requestMs })
    const producer = this.#producer
    const sends = writes.map(({ key, value }) =>
      producer.send({
        topic,
        partition: 0,
        key: Buffer.from(key),
        value: value === null ? null : Buffer.from(JSON.stringify(value)),
      }),
    )
    const failed = (await Promise.allSettled(sends)).find((one) => one.status === 'rejected')
    if (failed === undefined) return
    // The topic may have been deleted.
    this.#isReady = false
    throw failed.reason
  }

  async read(after: string | undefined, options: SharedLogReadOptions): Promise<SharedLogRead> {
    try {
      return await this.#read(after, options)
    } catch (error) {
      this.#isReady = false
      await this.#unfollow()
      throw error
    }
  }

  async #read(after: string | undefined, { waitMs, signal }: SharedLogReadOptions): Promise<SharedLogRead> {
    signal.throwIfAborted()
    const isNew = this.#isReady ? false : await this.#prepare()
    const end = await this.#end()
    const from = after === undefined ? 0n : BigInt(after)
    const isReset = after !== undefined && (isNew || end < from)
    const begin = isReset ? 0n : from
    if (this.#follower?.position !== begin) await this.#unfollow()
    // The follower of the last read has the records already, or gets them with the fetch that it waits for.
    if (begin >= end || this.#follower !== undefined) {
      const read = await this.#follow(begin, begin < end ? Math.max(waitMs, promisedMs) : waitMs, signal)
      if (read.length > 0 || begin >= end) return this.#readOf(read, begin, end, isReset)
      await this.#unfollow()
    }
    return this.#readUpTo(begin, end, isReset)
  }

  /** Reads what lies below the end. */
  async #readUpTo(begin: bigint, end: bigint, isReset: boolean): Promise<SharedLogRead> {
    const { topic } = this.#settings
    await using reader = this.#client.reader([{ topic, partition: 0, from: begin, until: end }])
    const records: KafkaRecord[] = []
    while (records.length < batchSize) {
      const some = await this.#inTime(reader.next(pollSize))
      // Everything up to the end was read, though its last records may be compacted away.
      if (some === undefined) return { entries: records.map(entryOf), next: `${end}`, isAtEnd: true, isReset }
      records.push(...some)
    }
    return this.#readOf(records, begin, end, isReset)
  }

  /** Fails a read after the time of a request: a reader waits longer for a broker than a control can. @throws KafkaError */
  async #inTime<T>(reading: Promise<T>): Promise<T> {
    const { topic, runtime } = this.#settings
    const late = Promise.withResolvers<never>()
    const error = new KafkaError(`${topic} was not read within ${requestMs} ms.`, 'RETRIABLE')
    using _ = runtime.timers.schedule(requestMs, () => late.reject(error))
    // The race reports the first failure.
    for (const one of [reading, late.promise]) one.catch(() => {})
    return await Promise.race([reading, late.promise])
  }

  /** Waits for records at the end of the log. */
  async #follow(begin: bigint, waitMs: number, signal: AbortSignal): Promise<readonly KafkaRecord[]> {
    const { topic, runtime } = this.#settings
    this.#follower ??= {
      reader: this.#client.reader([{ topic, partition: 0, from: begin, until: noEnd }]),
      position: begin,
      poll: undefined,
    }
    const follower = this.#follower
    follower.poll ??= pollOf(follower.reader)
    const waited = new AbortController()
    const pause = runtime.timers.sleep(waitMs, AbortSignal.any([signal, waited.signal])).then(
      () => 'LATE' as const,
      (error: unknown) => ({ error }),
    )
    const result = await Promise.race([follower.poll, pause])
    waited.abort()
    if (result === 'LATE') return []
    if ('error' in result) throw result.error
    follower.poll = undefined
    const records = result.records ?? []
    follower.position = nextOf(records, begin)
    return records
  }

  #readOf(records: readonly KafkaRecord[], begin: bigint, end: bigint, isReset: boolean): SharedLogRead {
    const next = nextOf(records, begin)
    return { entries: records.map(entryOf), next: `${next}`, isAtEnd: next >= end, isReset }
  }

  async #end(): Promise<bigint> {
    const { topic } = this.#settings
    const asked = await this.#client.admin.listOffsets([{ topic, partition: 0 }], 'LATEST', { deadlineMs: requestMs })
    const [found] = requireAllDone(`Finding the end of ${topic}`, asked)
    const end = found?.offset ?? undefined
    if (end === undefined) throw new KafkaError(`The end of ${topic} is unknown.`, 'RETRIABLE')
    return end
  }

  /** Returns whether the topic is another one than that of earlier reads. */
  async #prepare(): Promise<boolean> {
    const { topic, createTopic, runtime } = this.#settings
    const topicId = await prepareLogTopic(this.#client.admin, { topic, createTopic, timers: runtime.timers }, requestMs)
    const isNew = this.#topicId !== undefined && this.#topicId !== topicId
    this.#topicId = topicId
    this.#isReady = true
    return isNew
  }

  async #unfollow(): Promise<void> {
    const follower = this.#follower
    this.#follower = undefined
    await follower?.reader.close()
  }
}

/** Never rejects, because an earlier read may have stopped waiting for it. */
function pollOf(reader: RangeReader): Promise<PollResult> {
  return reader.next(pollSize).then(
    (records) => ({ records }),
    (error: unknown) => ({ error }),
  )
}

function nextOf(records: readonly KafkaRecord[], begin: bigint): bigint {
  const last = records.at(-1)
  return last === undefined ? begin : last.offset + 1n
}

function entryOf({ key, value, offset, timestamp }: KafkaRecord): SharedLogEntry {
  return { key: String(key ?? ''), value: valueOf(value), position: `${offset}`, atMs: timestamp }
}

function valueOf(value: Buffer | null): unknown {
  if (value === null) return null
  try {
    return JSON.parse(String(value))
  } catch {
    return String(value) // Not written by this log. Readers pass over it as over every value that they do not know.
  }
}
