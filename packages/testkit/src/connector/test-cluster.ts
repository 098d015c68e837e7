import { Buffer } from 'node:buffer'
import { ArgumentError, RecordHeaders } from '@waybill/core'
import { isPlainObject, showValue } from '@waybill/core/option'
import type { KafkaClient, Producer } from '@waybill/kafka'
import type { SimCluster } from '@waybill/sim'
import { requireOptions } from '../require-argument.ts'
import type { EventuallyOptions } from '../wait/eventually.ts'
import { type DeadLetterAssertions, deadLetterAssertions } from './dead-letter-assertions.ts'
import { createFailingHandler, type FailingHandlerOptions } from './failing-handler.ts'
import { createHandlerJournal, type HandlerJournal, type WrittenRecord } from './handler-journal.ts'
import {
  createRecordingHandler,
  type HandlerCall,
  type HandlerContext,
  type RecordingHandler,
  type RecordingHandlerOptions,
} from './recording-handler.ts'
import { createSlowHandler } from './slow-handler.ts'
import { type TierAssertions, tierAssertions } from './tier-assertions.ts'

/** A record to write; strings are written as UTF-8. */
export interface RecordToWrite {
  /** @defaultValue null */
  readonly key?: string | null
  readonly value: string | null
  readonly headers?: Readonly<Record<string, string | null>>
  /** @defaultValue the partition of the key; without a key, partitions take turns */
  readonly partition?: number
}

/** Options of a handler of a {@link TestCluster}; runtime and deadline are those of the test. */
export type TestHandlerOptions<C extends HandlerContext> = Omit<RecordingHandlerOptions<C>, 'runtime' | 'deadlineMs'>

/** A simulated cluster and the functions of a test. None of them needs `this`. */
export interface TestCluster {
  /** Controls the cluster: topics, faults, broker failures. */
  readonly sim: SimCluster
  /** The client of the connectors, for any other request to the cluster too. */
  readonly client: KafkaClient
  /** Records written by `write`, and handled by handlers created here. */
  readonly journal: HandlerJournal
  /** Writes records, or values without a key. Resolves with their positions once the cluster has them. */
  readonly write: (topic: string, records: readonly (string | RecordToWrite)[]) => Promise<readonly WrittenRecord[]>
  /** Creates a recording handler that reports to the journal. With `work` it records the handler under test. */
  readonly recordingHandler: <C extends HandlerContext = HandlerContext>(
    options?: TestHandlerOptions<C>,
  ) => RecordingHandler<C>
  /** Creates a failing handler that reports to the journal. */
  readonly failingHandler: <C extends HandlerContext = HandlerContext>(
    times: number,
    options?: Omit<FailingHandlerOptions<C>, 'runtime' | 'deadlineMs'>,
  ) => RecordingHandler<C>
  /** Creates a slow handler that reports to the journal. */
  readonly slowHandler: <C extends HandlerContext = HandlerContext>(
    ms: number,
    options?: TestHandlerOptions<C>,
  ) => RecordingHandler<C>
  /** Creates assertions for a dead letter topic, such as `orders.DLT`. */
  readonly deadLetters: (topic: string) => DeadLetterAssertions
  /** Creates assertions for a retry tier topic, such as `orders.retry-1`. */
  readonly tier: (topic: string) => TierAssertions
}

/** Creates a {@link TestCluster}; `waits` has the runtime and the deadline of the test. */
export function createTestCluster(
  sim: SimCluster,
  client: KafkaClient,
  waits: Required<Pick<EventuallyOptions, 'runtime' | 'deadlineMs' | 'everyMs'>>,
): TestCluster {
  const { runtime, deadlineMs } = waits
  const journal = createHandlerJournal(waits)
  let producer: Producer | undefined
  const recorded = <O extends Pick<RecordingHandlerOptions, 'onHandled' | 'onFailed'>>(
    maker: string,
    options: O,
    hint: string,
  ) => {
    // Checked here, since the combined options below are always an object.
    requireOptions(maker, options, hint)
    const recorder = journal.recorder()
    const onHandled = (call: HandlerCall): void => {
      recorder.handled(call)
      options.onHandled?.(call)
    }
    const onFailed = (call: HandlerCall, error: unknown): void => {
      recorder.failed(call, error)
      options.onFailed?.(call, error)
    }
    return { ...options, runtime, deadlineMs, onHandled, onFailed }
  }
  return {
    sim,
    client,
    journal,
    async write(topic, records) {
      assertTopic(sim, topic)
      assertRecords(records)
      const to = (producer ??= client.producer('EVENT'))
      const sending = records.map(async (record) => {
        const { key = null, value, headers = {}, partition } = typeof record === 'string' ? { value: record } : record
        const place = await to.send({
          topic,
          key: bytesOf(key),
          value: bytesOf(value),
          headers: RecordHeaders.from(Object.entries(headers)),
          ...(partition === undefined ? {} : { partition }),
        })
        const written = { topic, partition: place.partition, offset: place.offset, key, value }
        journal.noteWritten(written)
        return written
      })
      return Promise.all(sending)
    },
    recordingHandler: (options = {}) =>
      createRecordingHandler(recorded('recordingHandler()', options, 'Write recordingHandler({ work: shipOrder }).')),
    failingHandler: (times, options = {}) =>
      createFailingHandler(
        times,
        recorded('failingHandler()', options, 'Write failingHandler(2, { work: shipOrder }).'),
      ),
    slowHandler: (ms, options = {}) =>
      createSlowHandler(ms, recorded('slowHandler()', options, 'Write slowHandler(2_000, { work: shipOrder }).')),
    deadLetters: (topic) => deadLetterAssertions(client, topic, waits),
    tier: (topic) => tierAssertions(client, topic, waits),
  }
}

function bytesOf(text: string | null): Buffer | null {
  return text === null ? null : Buffer.from(text)
}

/** Validates records. Only strings are accepted: their encoding is up to the code under test. */
function assertRecords(records: unknown): void {
  const hint = "Write write('orders', ['o-1', { key: 'o-2', value: JSON.stringify(order) }])."
  if (!Array.isArray(records))
    throw new ArgumentError(`write() takes a list of records, got ${showValue(records)}.`, { hint })
  for (const [at, record] of records.entries()) {
    const problem = typeof record === 'string' ? undefined : problemWith(record)
    if (problem !== undefined) throw new ArgumentError(`Record ${at} of write() ${problem}.`, { hint })
  }
}

function problemWith(record: unknown): string | undefined {
  if (!isPlainObject(record)) return `is neither a string nor an object with a value: it is ${showValue(record)}`
  const { key = null, value } = record
  if (!isTextOrNull(value)) return `must have a string or null as its value: it is ${showValue(value)}`
  return isTextOrNull(key) ? undefined : `must have a string or null as its key: it is ${showValue(key)}`
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}

/** Refuses an unknown topic, for which a producer would wait two minutes. */
function assertTopic(sim: SimCluster, topic: string): void {
  try {
    sim.partition(topic, 0)
  } catch (cause) {
    throw new ArgumentError(`Cannot write to topic '${topic}': it does not exist.`, {
      hint: 'Add it to `topics` of the test, or create it with sim.createTopic().',
      cause,
    })
  }
}
