import type { AuditedOperation, AuditedOperations } from '@waybill/core/internal'
import type { AdminOperation } from '../api/admin-operation.ts'
import type { DeadLetterReplay } from '../api/dead-letter-selection.ts'

/** Opens a replay in steps with one audit entry before it, and one with its counts when it is disposed of. */
export async function openAudited(
  audited: AuditedOperations<AdminOperation>,
  asked: AuditedOperation<AdminOperation>,
  open: () => Promise<DeadLetterReplay>,
): Promise<DeadLetterReplay> {
  const counts = { sent: 0, refused: 0, unsent: 0, unknown: 0 }
  const opened = Promise.withResolvers<DeadLetterReplay>()
  const closed = Promise.withResolvers<void>()
  const work = async (): Promise<void> => {
    await using replay = await open()
    opened.resolve(replay)
    await closed.promise
  }
  const running = audited.run(asked, work, () => counts)
  running.catch(opened.reject)
  const replay = await opened.promise
  return {
    targets: replay.targets,
    async next(maxSelected) {
      const batch = await replay.next(maxSelected)
      counts.refused += batch?.refused.length ?? 0
      return batch
    },
    async send(batch) {
      const result = await replay.send(batch)
      counts.sent += result.sent.length
      counts.refused += result.refused.length
      counts.unsent += result.unsent.length
      counts.unknown += result.unknown.length
      return result
    },
    async [Symbol.asyncDispose]() {
      closed.resolve()
      await running
    },
  }
}
