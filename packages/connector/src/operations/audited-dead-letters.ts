import type { OperatorIdentity } from '@waybill/core'
import type { AuditedOperations } from '@waybill/core/internal'
import type { AdminOperation } from '../api/admin-operation.ts'
import type { DeadLetterAdmin } from '../api/dead-letter-admin.ts'
import { readList, readPurge, readRelease, readReplay, readReplayToTier, readScan } from './command-rules.ts'

/** Wraps dead letter operations: validates their arguments, and asks for a permission and an entry in the audit log. */
export function auditedDeadLetters(
  inner: DeadLetterAdmin,
  audited: AuditedOperations<AdminOperation>,
  labelOf: (name: string) => string,
): DeadLetterAdmin {
  const change = async <T>(
    operation: AdminOperation,
    [name, request, operator]: readonly [string, object, OperatorIdentity],
    work: () => Promise<T>,
  ): Promise<T> => {
    return audited.run(asked(operation, name, request, operator), work, (report) => report)
  }
  const asked = (operation: AdminOperation, name: string, request: object, operator: OperatorIdentity) => {
    // Signals and callbacks do not belong in the audit log.
    const { signal: _, onProgress: __, ...plain } = request as { signal?: unknown; onProgress?: unknown }
    return { operation, target: labelOf(name), request: plain, operator }
  }
  return {
    async replayDlt(name, given, operator) {
      const which = readReplay(name, given)
      return change('REPLAY', [name, which, operator], () => inner.replayDlt(name, which, operator))
    },
    async replayToTier(name, tier, given, operator) {
      const which = readReplayToTier(name, given)
      return change('REPLAY_TO_TIER', [name, { ...which, tier }, operator], () =>
        inner.replayToTier(name, tier, which, operator),
      )
    },
    async releaseDlt(name, given, operator) {
      const which = readRelease(name, given)
      return change('RELEASE', [name, which, operator], () => inner.releaseDlt(name, which, operator))
    },
    async purgeDlt(name, given, operator, options) {
      const which = readPurge(name, { ...options, olderThanMs: given })
      const { olderThanMs, ...chosen } = which
      return change('PURGE', [name, which, operator], () => inner.purgeDlt(name, olderThanMs, operator, chosen))
    },
    async dltStats(name, operator, options) {
      const scan = readScan(name, options)
      await audited.permit(asked('COUNT_DEAD_LETTERS', name, scan, operator))
      return inner.dltStats(name, operator, scan)
    },
    async *deadLetters(name, operator, options) {
      const scanned = readList(name, options)
      const reading = asked('READ_DEAD_LETTERS', name, scanned, operator)
      yield* audited.stream(reading, () => inner.deadLetters(name, operator, scanned))
    },
  }
}
