/**
 * One replay, from its first dead letter to its last, in batches:
 *
 *     read ▸ decide each ▸ write the copies ▸ all confirmed ▸ commit how far it came ▸ report
 *
 * A dead letter is decided when its copy is confirmed or when it is passed over; the position never passes one that is
 * neither (I11). What a broker or a handler does to one of them ends its batch at most, and never touches the others:
 *
 * | the copy is | what follows |
 * |---|---|
 * | confirmed | counted |
 * | refused for what it is | passed over and counted: it would be refused every time |
 * | not confirmed, or unknown | the position stays before it, the run ends, and the next one begins with it |
 */

import { ArgumentError, describeThrown, type Runtime, StateError } from '@waybill/core'
import { KafkaError, type KafkaRecord, type OutRecord, type Producer } from '@waybill/kafka'
import { isOfContent, type OffsetCommit } from '@waybill/kafka/internal'
import type { ReplayReport, ReplaySkip } from '../api/dead-letter-admin.ts'
import { type DeadLetterReading, readDeadLetter } from '../records/dead-letter-record.ts'
import type { DeadLetterSource } from './dead-letter-source.ts'

/**
 * What is done with one dead letter: its copy is written, or it is passed over. NOT_SELECTED: nobody asked for it.
 * NOT_NOW: it and those behind it in its partition wait for another run.
 */
export type ReplayStep = OutRecord | ReplaySkip | 'NOT_SELECTED' | 'NOT_NOW'

/** What a run stands on. */
export interface ReplayRunDeps {
  readonly source: DeadLetterSource
  readonly producer: Pick<Producer, 'send'>
  readonly runtime: Runtime
  /** Decides about one. Never called for two at a time. */
  readonly decide: (letter: DeadLetterReading, record: KafkaRecord) => Promise<ReplayStep>
  /** Copies at most. */
  readonly limit: number
  /** Dead letters between two commits: what a crash may repeat. */
  readonly batchSize: number
  readonly signal: AbortSignal
  readonly onProgress: (report: ReplayReport) => void
}

/** How a run ended: with everything it was asked for, or before that. */
export interface ReplayRunResult {
  readonly report: ReplayReport
  readonly failure: unknown
}

/** A dead letter and what became of it. */
interface Decided {
  readonly record: KafkaRecord
  readonly result: 'REPLAYED' | Exclude<ReplayStep, OutRecord> | { readonly failure: unknown } | Refusal
}

/** Refused, maybe for what lies in the same batch: it is sent once more, alone, before that counts. */
interface Refusal {
  readonly failure: unknown
  readonly of: OutRecord
}

function isRefusal(decided: Decided): decided is Decided & { readonly result: Refusal } {
  return typeof decided.result === 'object' && 'of' in decided.result
}

function isOfTheRecord(failure: unknown): boolean {
  return failure instanceof KafkaError ? isOfContent(failure) : failure instanceof ArgumentError
}

/** Runs it. Never rejects: what ended it is in the result, beside what was done by then. */
export async function runReplay(deps: ReplayRunDeps): Promise<ReplayRunResult> {
  const run = new ReplayRun(deps)
  let failure: unknown
  try {
    await run.toTheEnd()
  } catch (error) {
    failure = error ?? new StateError('The replay ended, and nobody said why.')
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
    return {
      replayed: this.#replayed,
      skipped: Object.freeze(Object.fromEntries(this.#skipped)),
      remaining: this.#deps.source.remaining(),
    }
  }

  async toTheEnd(): Promise<void> {
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

  /** Decides one after the other and writes side by side: the producer keeps the order of what it is given. */
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
      written.push(isRefusal(one) ? await this.#write(one.record, one.result.of) : one)
    return written.map((one) => (isRefusal(one) ? this.#refused(one) : one))
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

  #refused({ record, result }: Decided & { readonly result: Refusal }): Decided {
    const { topic, partition, offset } = record
    const reason = describeThrown(result.failure)
    const why = { topic, partition, offset: String(offset), to: result.of.topic, reason }
    this.#deps.runtime.logger.warn(why, 'A dead letter cannot be replayed: its copy is refused')
    return { record, result: 'REFUSED' }
  }

  #count(result: Decided['result']): void {
    if (result === 'REPLAYED') this.#replayed++
    else if (typeof result === 'string' && result !== 'NOT_NOW' && result !== 'NOT_SELECTED')
      this.#skipped.set(result, (this.#skipped.get(result) ?? 0) + 1)
  }
}

/** For each partition the offset behind its last dead letter before which all are decided. */
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
