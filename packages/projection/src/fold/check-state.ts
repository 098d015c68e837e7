import { type Schemas, StateError } from '@waybill/core'
import type { StoredRow } from '@waybill/core/internal'
import type { Projection } from '../definition/projection.ts'
import { ProjectionStateError } from '../definition/projection-errors.ts'

/**
 * Returns rows that were read, all of which have a state that the projection declares.
 *
 * @throws ProjectionStateError if the table was changed by hand, or the state without a new revision
 */
export function checkRows<S extends Schemas, State>(
  projection: Projection<S, State>,
  rows: readonly StoredRow[],
): readonly StoredRow[] {
  for (const { key, state } of rows) {
    const issues = state === undefined ? undefined : issuesOf(projection, state)
    if (issues === undefined) continue
    throw new ProjectionStateError(
      `Projection ${projection.name}: the row of ${JSON.stringify(key)} does not match its schema: ${issues}`,
      {
        impact: 'Nothing was applied. The partition waits; no event is lost.',
        hint: 'Raise the revision of the projection when its state changes, and rebuild it. Never change its table by hand.',
      },
    )
  }
  return rows
}

/** Checks a new state. @throws StateError: stored, it would stop every later event of its key */
export function checkState<S extends Schemas, State>(
  projection: Projection<S, State>,
  state: NonNullable<StoredRow['state']>,
): void {
  const issues = issuesOf(projection, state)
  if (issues !== undefined) throw new StateError(`The state does not match its schema: ${issues}`)
}

function issuesOf<S extends Schemas, State>(
  projection: Projection<S, State>,
  state: NonNullable<StoredRow['state']>,
): string | undefined {
  const result = projection.state['~standard'].validate(state)
  if (result instanceof Promise)
    throw new ProjectionStateError(`Projection ${projection.name}: the schema of the state is asynchronous`, {
      hint: 'Use a schema that looks nothing up.',
    })
  return result.issues?.map(({ message, path }) => `${(path ?? []).map(pathPart).join('.')}: ${message}`).join('; ')
}

function pathPart(part: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof part === 'object' ? part.key : part)
}
