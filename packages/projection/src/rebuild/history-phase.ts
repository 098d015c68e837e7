import { StateError } from '@waybill/core'
import type { ClaimedPartition } from '@waybill/core/internal'
import { RebuildFailedError } from '../definition/projection-errors.ts'
import { checkRows } from '../fold/check-state.ts'
import { decodeAll, foldPast, writeStep } from './apply-build.ts'
import type { WorkerDeps } from './build-worker.ts'
import type { EventHistory, HistoricalEvent } from './rebuild-source.ts'

/** The position of the history, beside those of the topics. No topic can have this name. */
export const historyPosition = { topic: '@history', partition: 0 } as const

const leaseMs = 30_000
const waitMs = 250

/**
 * Applies the history of a rebuild, which one worker at a time does. Returns when it is applied as a whole, by this worker
 * or another.
 */
export async function applyHistory(deps: WorkerDeps, history: EventHistory, signal: AbortSignal): Promise<void> {
  const { store, table, runtime, owner } = deps
  const known = await store.positions(table)
  // Topics are added when the history is complete.
  if (known.some(({ topic }) => topic !== historyPosition.topic)) return
  if (known.length === 0) await store.transaction(async (tx) => void (await tx.lockPositions(table, [historyPosition])))
  for (;;) {
    if (signal.aborted) return
    const claimed = await store.claim(table, owner, leaseMs)
    if (claimed?.topic === historyPosition.topic) return applyFrom(deps, history, claimed, signal)
    if ((await store.positions(table)).some(({ topic }) => topic !== historyPosition.topic)) return
    await runtime.timers.sleep(waitMs, signal).catch(() => {})
  }
}

async function applyFrom(
  deps: WorkerDeps,
  history: EventHistory,
  claimed: ClaimedPartition,
  signal: AbortSignal,
): Promise<void> {
  let batch: HistoricalEvent[] = []
  let held = claimed
  const flush = async (): Promise<void> => {
    const last = batch.at(-1)
    if (last === undefined) return
    await applyBatch(deps, held, batch, last.position)
    held = { ...held, next: last.position }
    batch = []
  }
  for await (const event of history(claimed.next)) {
    if (signal.aborted) break
    if (event.position <= (batch.at(-1)?.position ?? held.next))
      throw new RebuildFailedError(`The positions of the history do not rise at ${event.position}`, {
        impact: 'The live table was not touched.',
        hint: 'Return the events in the order of their positions, only those after the given one.',
      })
    batch.push(event)
    if (batch.length >= deps.recordsPerBatch) await flush()
  }
  await flush()
  // Another process need not wait for the end of the lease.
  await deps.store.transaction((tx) => tx.advanceClaimed(deps.table, held, held.next, 0))
}

async function applyBatch(
  deps: WorkerDeps,
  held: ClaimedPartition,
  batch: readonly HistoricalEvent[],
  next: bigint,
): Promise<void> {
  const { store, projection, table } = deps
  const events = await decodeAll(projection, batch)
  await deps.pace(events.length)
  const stored = await store.read(table, [...new Set(events.map(({ key }) => key))])
  const step = foldPast(projection, checkRows(projection, stored), events)
  if (step.quarantined.length > 0) await deps.onGaps(step.quarantined)
  await store.transaction(async (tx) => {
    await tx.lock(table.projection, 'SHARED')
    if (!(await tx.advanceClaimed(table, held, next, leaseMs)))
      throw new StateError('Another worker has taken over the history.')
    if (!(await writeStep(tx, table, step))) throw new StateError('Another worker has changed a row.')
  })
  deps.onApplied(step.applied)
}
