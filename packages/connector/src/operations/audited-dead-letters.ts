import type { OperatorIdentity } from '@waybill/core'
import type { AuditedOperations } from '@waybill/core/internal'
import type { AdminOperation } from '../api/admin-operation.ts'
import type { DeadLetterAdmin } from '../api/dead-letter-admin.ts'
import type { SelectedReplayOptions } from '../api/dead-letter-selection.ts'
import { openAudited } from './audited-replay.ts'
import { readList, readPurge, readRelease, readReplay, readReplayToTier, readScan } from './command-rules.ts'
import { readPosition, readPositions, readRanges, readSelectedReplay, readSelection } from './selection-rules.ts'

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
      const purge = () => inner.purgeDlt(name, olderThanMs, operator, chosen)
      if (chosen.dryRun !== true) return change('PURGE', [name, which, operator], purge)
      await audited.permit(asked('PURGE', name, which, operator))
      return purge()
    },
    async deadLetterRanges(name, operator, given = {}) {
      const options = readRanges(name, given)
      await audited.permit(asked('COUNT_DEAD_LETTERS', name, options, operator))
      return inner.deadLetterRanges(name, operator, options)
    },
    async openReplay(name, selection, given, operator) {
      const { ranges } = readSelection(name, selection)
      const options = readSelectedReplay(name, given)
      const by = { ...options, ...(options.edit === undefined ? {} : { editedBy: operator.by }) }
      const open = () => inner.openReplay(name, { ...selection, ranges }, by, operator)
      const asking = asked(operationOf(options), name, requestOf(options, { ranges }), operator)
      if (options.dryRun !== true) return openAudited(audited, asking, open)
      await audited.permit(asking)
      return open()
    },
    async replayDeadLetters(name, positions, given, operator) {
      const chosen = readPositions(name, { positions }).positions
      const options = readSelectedReplay(name, given)
      const by = { ...options, ...(options.edit === undefined ? {} : { editedBy: operator.by }) }
      return change(operationOf(options), [name, requestOf(options, { positions: chosen }), operator], () =>
        inner.replayDeadLetters(name, chosen, by, operator),
      )
    },
    async deadLetter(name, given, operator) {
      const position = readPosition(name, given)
      const reading = asked('READ_DEAD_LETTERS', name, position, operator)
      const work = () => inner.deadLetter(name, position, operator)
      return audited.run(reading, work, (letter) => ({ read: letter === undefined ? 0 : 1 }))
    },
    async purgeDltRanges(name, given, operator) {
      const { ranges } = readSelection(name, { ranges: given })
      const work = () => inner.purgeDltRanges(name, ranges, operator)
      return audited.run(asked('PURGE', name, { ranges }, operator), work, (purged) => ({ purged }))
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

function operationOf({ to, edit }: SelectedReplayOptions): AdminOperation {
  if (edit !== undefined) return 'EDIT_REPLAY'
  if (to === 'RELEASE') return 'RELEASE'
  return typeof to === 'object' ? 'REPLAY_TO_TIER' : 'REPLAY'
}

/** Returns the request for the audit log: an edited value is a payload, and does not belong there. */
function requestOf({ edit, ...options }: SelectedReplayOptions, which: object): object {
  if (edit === undefined) return { ...options, ...which }
  const { value, setHeaders = {}, removeHeaders = [] } = edit
  const headers = [...Object.keys(setHeaders), ...removeHeaders]
  return {
    ...options,
    ...which,
    edit: { headers, valueBytes: value === undefined ? undefined : (value?.length ?? null) },
  }
}
