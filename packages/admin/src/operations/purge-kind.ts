import { type Connector, OtherGroupsDeadLettersError } from '@waybill/connector'
import { rangeToJson, type StoredOperation } from '@waybill/core/internal'
import { targetOf } from './dead-letter-kinds.ts'
import type { LetterStates } from './letter-states.ts'
import type { AppliedBatch, OperationKind, OperationSession, RunBatch } from './operation-kind.ts'
import { readPurgeRequest, singleLimits } from './operation-request.ts'

/**
 * Creates the kind of purges: each deletes the ranges that its plan froze.
 * @param states - forgets what was purged; undefined: nothing knows it
 */
export function createPurgeKind(
  { admin }: Pick<Connector, 'admin'>,
  states: Pick<LetterStates, 'forget'> | undefined,
): OperationKind {
  return {
    type: 'PURGE',
    isIdempotent: true,
    isExclusive: true,
    async plan(given, operator) {
      const { binding, olderThanMs, includeOtherGroups = false } = readPurgeRequest(given)
      const report = await admin.purgeDlt(binding, olderThanMs, operator, { dryRun: true, includeOtherGroups })
      const { purged, notReplayed, byGroup, ranges } = report
      const { groupId } = admin.binding(binding)
      const others = byGroup.filter(({ consumerGroup }) => consumerGroup !== undefined && consumerGroup !== groupId)
      if (others.length > 0 && !includeOtherGroups)
        throw new OtherGroupsDeadLettersError([...new Set(ranges.map(({ topic }) => topic))], others)
      return {
        target: targetOf({ admin }, binding),
        request: { binding, olderThanMs, includeOtherGroups, ...singleLimits },
        ranges,
        plan: { eligible: String(purged), notReplayed: String(notReplayed), byGroup, ranges: ranges.map(rangeToJson) },
      }
    },
    async open({ request, progress: { remaining } }: StoredOperation, operator): Promise<OperationSession> {
      const { binding } = request as { readonly binding: string }
      let isDone = remaining.length === 0
      return {
        async next(): Promise<RunBatch | undefined> {
          if (isDone) return undefined
          isDone = true
          return { scanned: 0, count: 1, intended: remaining, refused: [], remaining: [] }
        },
        async apply({ intended }): Promise<AppliedBatch> {
          const purged = await admin.purgeDltRanges(binding, intended, operator)
          await states?.forget(admin.binding(binding).cluster, intended)
          return { sent: Number(purged), refused: [], unsent: [], unknown: [], failure: undefined }
        },
        async [Symbol.asyncDispose]() {},
      }
    },
  }
}
