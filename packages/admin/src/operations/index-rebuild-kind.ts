import type { Connector } from '@waybill/connector'
import { StateError } from '@waybill/core'
import { type LogRange, rangeToJson, type StoredOperation } from '@waybill/core/internal'
import { targetOf } from './dead-letter-kinds.ts'
import type { OperationKind, OperationSession, RunBatch } from './operation-kind.ts'
import { readIndexRequest, singleLimits } from './operation-request.ts'

/** One pass over dead letter topics. */
export interface IndexReading extends AsyncDisposable {
  /** Reads records and writes them to the index again; undefined at the end. */
  next(): Promise<{ readonly scanned: number; readonly remaining: readonly LogRange[] } | undefined>
}

/** An index that operations fill again. */
export interface RebuiltIndex {
  /** Reads the ranges of the topics of a binding into the index. What is known of their states stays. */
  reread(binding: string, ranges: readonly LogRange[]): Promise<IndexReading>
}

/**
 * Creates the kind of rebuilds of the dead letter index: the topics of a binding are read from their start, and each row is
 * written again from its record. Each batch is one transaction, so a repeat changes nothing.
 */
export function createIndexRebuildKind({ admin }: Pick<Connector, 'admin'>, index: RebuiltIndex): OperationKind {
  return {
    type: 'INDEX_REBUILD',
    isIdempotent: true,
    isExclusive: false,
    async plan(given, operator) {
      const { binding } = readIndexRequest(given)
      const ranges = await admin.deadLetterRanges(binding, operator)
      const scanned = ranges.reduce((sum, { from, until }) => sum + until - from, 0n)
      return {
        target: targetOf({ admin }, binding),
        request: { binding, ...singleLimits },
        ranges,
        plan: { scanned: String(scanned), ranges: ranges.map(rangeToJson) },
      }
    },
    async open({ request, progress: { remaining } }: StoredOperation): Promise<OperationSession> {
      const { binding } = request as { readonly binding: string }
      const reading = await index.reread(binding, remaining)
      return {
        async next(): Promise<RunBatch | undefined> {
          const read = await reading.next()
          return read === undefined ? undefined : { ...read, count: 0, intended: [], refused: [] }
        },
        async apply(): Promise<never> {
          throw new StateError('A rebuild of the index has no effect beside its reads.')
        },
        [Symbol.asyncDispose]: () => reading[Symbol.asyncDispose](),
      }
    },
  }
}
