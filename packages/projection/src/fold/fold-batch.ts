import { type Schemas, StateError, type WaybillError } from '@waybill/core'
import type { StoredRow } from '@waybill/core/internal'
import type { ProjectedEvent, Projection } from '../definition/projection.ts'
import {
  FoldFailedError,
  KeyQuarantinedError,
  ProjectionInputError,
  VersionGapError,
} from '../definition/projection-errors.ts'
import { checkState } from './check-state.ts'
import { inKeyOrder } from './in-key-order.ts'
import { step } from './step.ts'
import { copyOf, storableState } from './storable-state.ts'

/** Any event of a projection. */
export type AnyProjectedEvent = ProjectedEvent<string, unknown>

/** The first event of a batch that cannot be applied. */
export interface FoldStop {
  readonly index: number
  readonly key: string
  /** QUARANTINED: an earlier event of the key was the first one. INPUT: the event has no version. */
  readonly reason: 'GAP' | 'POISON' | 'QUARANTINED' | 'INPUT'
  /** The version that the row needs next. */
  readonly expected: number
  /** The version of the event. */
  readonly found: number
  readonly error: WaybillError
}

/** The effect of a batch of events on their rows. */
export interface FoldResult {
  /** The rows to write, in the order of their keys. */
  readonly rows: readonly StoredRow[]
  readonly applied: number
  readonly repeated: number
  /** Undefined if all events were applied or are repeats; otherwise those before it. */
  readonly stop: FoldStop | undefined
}

/**
 * Folds events into the rows of their keys, which are checked, up to the first one that cannot be applied. Pure.
 *
 * With positions instead of versions the caller has removed repeats, and each event raises the version of its row by one.
 */
export function foldBatch<S extends Schemas, State>(
  projection: Projection<S, State>,
  stored: readonly StoredRow[],
  events: readonly AnyProjectedEvent[],
): FoldResult {
  const rows = new Map(stored.map((row) => [row.key, row]))
  const changed = new Map<string, StoredRow>()
  let applied = 0
  let repeated = 0
  let stop: FoldStop | undefined
  for (const [index, event] of events.entries()) {
    const row = changed.get(event.key) ?? rows.get(event.key) ?? absentRow(event.key)
    const outcome = foldEvent(projection, row, event)
    if ('error' in outcome) {
      stop = { index, key: event.key, expected: row.version + 1, ...outcome }
      break
    }
    if (outcome.row === row) repeated++
    else {
      applied++
      changed.set(event.key, outcome.row)
    }
  }
  return { rows: inKeyOrder(changed.values()), applied, repeated, stop }
}

/** Returns the row of a key that no event was applied to. */
export function absentRow(key: string): StoredRow {
  return { key, version: 0, state: undefined, isQuarantined: false }
}

type EventOutcome = { readonly row: StoredRow } | Pick<FoldStop, 'reason' | 'found' | 'error'>

function foldEvent<S extends Schemas, State>(
  projection: Projection<S, State>,
  row: StoredRow,
  event: AnyProjectedEvent,
): EventOutcome {
  const { name, key } = event
  const found = projection.versions === 'POSITION' ? row.version + 1 : event.aggregateVersion
  if (found === null || found < 1) {
    const error = new ProjectionInputError(
      projection.name,
      `${name} of ${JSON.stringify(key)} has no aggregate version`,
    )
    return { reason: 'INPUT', found: 0, error }
  }
  const decided = step(row.version, found)
  if (decided === 'SKIP') return { row }
  if (row.isQuarantined) return { reason: 'QUARANTINED', found, error: new KeyQuarantinedError(projection.name, key) }
  if (decided === 'GAP')
    return { reason: 'GAP', found, error: new VersionGapError(projection.name, key, row.version + 1, found) }
  try {
    return { row: { key, version: found, state: nextState(projection, row.state, event), isQuarantined: false } }
  } catch (thrown) {
    return { reason: 'POISON', found, error: new FoldFailedError(projection.name, name, key, thrown) }
  }
}

type LooseFold = (state: StoredRow['state'], event: AnyProjectedEvent) => StoredRow['state']

function nextState<S extends Schemas, State>(
  projection: Projection<S, State>,
  state: StoredRow['state'],
  event: AnyProjectedEvent,
): StoredRow['state'] {
  const fold = projection.fold[event.name] as unknown as LooseFold | undefined
  if (fold === undefined) return state
  const next = fold(state && copyOf(projection.columns, state), event)
  if (next === undefined) return undefined
  for (const column of Object.keys(projection.columns))
    if (next[column] === undefined)
      throw new StateError(`${column} is undefined: use null for a value that is not there`)
  const stored = storableState(projection.columns, next)
  checkState(projection, stored)
  return stored
}
