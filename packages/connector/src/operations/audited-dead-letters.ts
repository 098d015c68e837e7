import type { AdminOperation } from '../api/audit-log.ts'
import type { OperatorIdentity } from '../api/control.ts'
import type { DeadLetterAdmin } from '../api/dead-letter-admin.ts'
import type { AuditedOperations } from './audited-operations.ts'
import { readList, readPurge, readRelease, readReplay, readReplayToTier, readScan } from './command-rules.ts'

/** Wraps dead letter operations: validates their arguments, and writes every change to the audit log. */
export function auditedDeadLetters(
  inner: DeadLetterAdmin,
  audited: AuditedOperations,
  labelOf: (name: string) => string,
): DeadLetterAdmin {
  const change = async <T>(
    operation: AdminOperation,
    [name, request, operator]: readonly [string, object, OperatorIdentity],
    work: () => Promise<T>,
  ): Promise<T> => {
    // Signals and callbacks do not belong in the audit log.
    const { signal: _, onProgress: __, ...plain } = request as { signal?: unknown; onProgress?: unknown }
    return audited.run({ operation, binding: labelOf(name), request: plain, operator }, work, (report) => report)
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
    async purgeDlt(name, given, operator) {
      const { olderThanMs } = readPurge(name, { olderThanMs: given })
      return change('PURGE', [name, { olderThanMs }, operator], () => inner.purgeDlt(name, olderThanMs, operator))
    },
    dltStats: async (name, options) => inner.dltStats(name, readScan(name, options)),
    async *deadLetters(name, options) {
      yield* inner.deadLetters(name, readList(name, options))
    },
  }
}
