/** Applies records to a table that is being built. The caller decides under which lock the transaction runs. */

import type { Schemas } from '@waybill/core'
import type { BuildTable, ProjectionTransaction, QuarantinedKey, StoredRow } from '@waybill/core/internal'
import type { Projection } from '../definition/projection.ts'
import { decodeRecords } from '../fold/decode-records.ts'
import { type AnyProjectedEvent, type FoldStop, foldBatch } from '../fold/fold-batch.ts'
import { inKeyOrder } from '../fold/in-key-order.ts'
import { lockBeforeQuarantine } from '../projector/lock-rows.ts'
import type { SourceRecord } from './rebuild-source.ts'

/** The effect of records on a table. */
export interface BuildStep {
  readonly rows: readonly StoredRow[]
  readonly applied: number
  /** Keys of which an event is missing or cannot be applied. */
  readonly quarantined: readonly Omit<QuarantinedKey, 'since' | 'last'>[]
  /** The last versions of quarantined keys that have later events. */
  readonly extended: readonly { readonly key: string; readonly version: number }[]
}

/** Decodes records. Those that are no events of the projection are left out: live, they became dead letters. */
export async function decodeAll(
  projection: Projection<Schemas, unknown>,
  records: readonly Pick<SourceRecord, 'key' | 'value' | 'headers'>[],
): Promise<readonly AnyProjectedEvent[]> {
  const events: AnyProjectedEvent[] = []
  for (let at = 0; at < records.length; ) {
    const decoded = await decodeRecords(projection, records.slice(at))
    events.push(...decoded.events)
    at += decoded.events.length + 1
  }
  return events
}

/** Folds events into rows, past those that cannot be applied. Pure. */
export function foldPast(
  projection: Projection<Schemas, unknown>,
  stored: readonly StoredRow[],
  events: readonly AnyProjectedEvent[],
): BuildStep {
  const rows = new Map(stored.map((row) => [row.key, row]))
  const written = new Map<string, StoredRow>()
  const quarantined: Omit<QuarantinedKey, 'since' | 'last'>[] = []
  const extended = new Map<string, number>()
  let applied = 0
  for (let at = 0; at < events.length; ) {
    const result = foldBatch(projection, [...rows.values()], events.slice(at))
    for (const row of result.rows) {
      rows.set(row.key, row)
      written.set(row.key, row)
    }
    applied += result.applied
    if (result.stop === undefined) break
    keep(result.stop)
    at += result.stop.index + 1
  }
  return {
    rows: inKeyOrder(written.values()),
    applied,
    quarantined: inKeyOrder(quarantined),
    extended: inKeyOrder([...extended].map(([key, version]) => ({ key, version }))),
  }

  function keep({ key, reason, expected, found }: FoldStop): void {
    if (reason === 'QUARANTINED') extended.set(key, Math.max(found, extended.get(key) ?? 0))
    // Without versions a later event does not depend on an earlier one.
    else if (reason !== 'INPUT' && projection.versions === 'AGGREGATE') {
      quarantined.push({ key, reason, expected, found })
      const row = rows.get(key) ?? { key, version: 0, state: undefined, isQuarantined: false }
      rows.set(key, { ...row, isQuarantined: true })
    }
  }
}

/** Writes the effect of records. Returns false if a key has changed since its row was read: then roll back. */
export async function writeStep(tx: ProjectionTransaction, table: BuildTable, step: BuildStep): Promise<boolean> {
  await lockBeforeQuarantine(tx, table, step.rows, step.quarantined)
  await tx.write(table, step.rows)
  for (const entry of step.quarantined) if (!(await tx.quarantine(table, entry))) return false
  for (const { key, version } of step.extended) if (!(await tx.extendQuarantine(table, key, version))) return false
  return true
}
