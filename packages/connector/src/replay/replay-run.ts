/**
 * Runs one replay in batches:
 *
 *     read ▸ decide each ▸ write the copies ▸ all confirmed ▸ commit the position ▸ report
 *
 * A dead letter is decided when its copy is confirmed or when it is skipped; the position never passes one that is
 * neither (I11). A failure of one dead letter ends the run after its batch, and does not affect the others:
 *
 * | the copy is | consequence |
 * |---|---|
 * | confirmed | counted as replayed |
 * | rejected for its content | skipped and counted: it would be rejected every time |
 * | not confirmed, or unknown | the position stays before it, the run ends, and the next run starts with it |
 */

import { ArgumentError, describeThrown, type Runtime, StateError } from '@waybill/core'
import { KafkaError, type KafkaRecord, type OutRecord, type Producer } from '@waybill/kafka'
import { isOfContent, type OffsetCommit } from '@waybill/kafka/internal'
import type { ReplayReport } from '../api/dead-letter-admin.ts'
import type { ReplaySkip } from '../api/dead-letter-types.ts'
import { jsonSafe } from '../api/json-safe.ts'
import { type DeadLetterReading, readDeadLetter } from '../records/dead-letter-record.ts'
import type { DeadLetterSource } from './dead-letter-source.ts'

/**
 * The decision about one dead letter: the copy to write, or the reason to skip it. NOT_SELECTED: outside of the
 * requested window. NOT_NOW: it and those after it in its partition are left for another run.
 */
export type ReplayStep = OutRecord | ReplaySkip | 'NOT_SELECTED' | 'NOT_NOW'

/** The dependencies of a run. */
export interface ReplayRunDeps {
  readonly source: DeadLetterSource
  readonly producer: Pick<Producer, 'send'>
  readonly runtime: Runtime
  /** Decides about one dead letter. Never called concurrently. */
  readonly decide: (letter: DeadLetterReading, record: KafkaRecord) => Promise<ReplayStep>
  /** The maximum number of copies. */
  readonly limit: number
  /** The number of dead letters per commit, which a crash may repeat. */
  readonly batchSize: number
  readonly signal: AbortSignal
  readonly onProgress: (report: ReplayReport) => void
}

/** The report of a run, and the failure that ended it early, if any. */
export interface ReplayRunResult {
  readonly report: ReplayReport
  readonly failure: unknown
}

/** A dead letter and its outcome. */
interface Decided {
  readonly record: KafkaRecord
  readonly result: 'REPLAYED' | Exclude<ReplayStep, OutRecord> | { readonly failure: unknown } | Rejection
}

/** A rejected copy. The cause may be another record of the same batch, so it is sent once more, alone. */
interface Rejection {
  readonly failure: unknown
  readonly of: OutRecord
}

function isRejection(decided: Decided): decided is Decided & { readonly result: Rejection } {
  return typeof decided.result === 'object' && 'of' in decided.result
}

function isOfTheRecord(failure: unknown): boolean {
  return failure instanceof KafkaError ? isOfContent(failure) : failure instanceof ArgumentError
}

/** Runs a replay. Never rejects: the result has the failure and the report of what was done until then. */
export async function runReplay(deps: ReplayRunDeps): Promise<ReplayRunResult> {
  const run = new ReplayRun(deps)
  let failure: unknown
  try {
    await run.run()
  } catch (error) {
    failure = error ?? new StateError('Replay failed with an undefined error.')
  }
  return { report: run.report(), failure }
}

class ReplayRun {
  readonly #deps: ReplayRunDeps
  readonly #skipped = new Map<ReplaySkip, number>()
  #replayed = 0

  constructor(deps: ReplayRunDeps) {
    this.#deps = deps
  }

  report(): ReplayReport {
    return jsonSafe({
      replayed: this.#replayed,
      skipped: Object.freeze(Object.fromEntries(this.#skipped)),
      remaining: this.#deps.source.remaining(),
    })
  }

  async run(): Promise<void> {
    const { source, limit, batchSize, signal, onProgress } = this.#deps
    while (this.#replayed < limit && !signal.aborted) {
      const records = await source.next(Math.min(batchSize, limit - this.#replayed))
      if (records === undefined) return
      await this.#replay(records)
      onProgress(this.report())
    }
  }

  async #replay(records: readonly KafkaRecord[]): Promise<void> {
    const { source, runtime } = this.#deps
    const decided = await this.#writeAll(records)
    await runtime.failpoint('replay.sent')
    const failed = decided.find(({ result }) => typeof result === 'object')?.result
    await source.settle(decidedUpTo(decided))
    await runtime.failpoint('replay.committed')
    for (const { result } of decided) this.#count(result)
    if (typeof failed === 'object') throw failed.failure
  }

  /** Decides sequentially and writes concurrently: the producer keeps the order of its sends. */
  async #writeAll(records: readonly KafkaRecord[]): Promise<readonly Decided[]> {
    const { source } = this.#deps
    const held = new Set<number>()
    const writes: Promise<Decided>[] = []
    for (const record of records) {
      if (held.has(record.partition)) continue
      const step = await this.#decide(record)
      if (step === 'NOT_NOW') {
        held.add(record.partition)
        source.hold(record)
      }
      writes.push(this.#write(record, step))
    }
    const written: Decided[] = []
    for (const one of await Promise.all(writes))
      written.push(isRejection(one) ? await this.#write(one.record, one.result.of) : one)
    return written.map((one) => (isRejection(one) ? this.#rejected(one) : one))
  }

  async #decide(record: KafkaRecord): Promise<ReplayStep | { readonly failure: unknown }> {
    try {
      return await this.#deps.decide(readDeadLetter(record), record)
    } catch (failure) {
      return { failure }
    }
  }

  /** Never rejects. */
  async #write(record: KafkaRecord, step: ReplayStep | { readonly failure: unknown }): Promise<Decided> {
    if (typeof step === 'string' || 'failure' in step) return { record, result: step }
    try {
      await this.#deps.producer.send(step)
      return { record, result: 'REPLAYED' }
    } catch (failure) {
      return { record, result: isOfTheRecord(failure) ? { failure, of: step } : { failure } }
    }
  }

  #rejected({ record, result }: Decided & { readonly result: Rejection }): Decided {
    const { topic, partition, offset } = record
    const reason = describeThrown(result.failure)
    const fields = { topic, partition, offset: String(offset), to: result.of.topic, reason }
    this.#deps.runtime.logger.warn(fields, 'Dead letter skipped: its copy was rejected')
    return { record, result: 'REFUSED' }
  }

  #count(result: Decided['result']): void {
    if (result === 'REPLAYED') this.#replayed++
    else if (typeof result === 'string' && result !== 'NOT_NOW' && result !== 'NOT_SELECTED')
      this.#skipped.set(result, (this.#skipped.get(result) ?? 0) + 1)
  }
}

/** Returns, for each partition, the offset up to which all dead letters are decided. */
function decidedUpTo(decided: readonly Decided[]): OffsetCommit[] {
  const commits = new Map<number, OffsetCommit>()
  const open = new Set<number>()
  for (const { record, result } of decided) {
    const { topic, partition, offset, epoch } = record
    if (typeof result === 'object' || result === 'NOT_NOW') open.add(partition)
    else if (!open.has(partition)) commits.set(partition, { topic, partition, offset: offset + 1n, epoch })
  }
  return [...commits.values()]
}
