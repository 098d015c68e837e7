import type { Schemas } from '@waybill/core'
import type { StoredRow } from '@waybill/core/internal'
import type { Projection } from '../definition/projection.ts'
import { ProjectionStateError } from '../definition/projection-errors.ts'

/**
 * Checks that a stored row has the state that the projection declares.
 *
 * @throws ProjectionStateError if the table was changed by hand, or the state without a new revision
 */
export function checkState<S extends Schemas, State>(projection: Projection<S, State>, row: StoredRow): void {
  const result = projection.state['~standard'].validate(row.state)
  if (result instanceof Promise)
    throw new ProjectionStateError(`Projection ${projection.name}: the schema of the state is asynchronous`, {
      hint: 'Use a schema that looks nothing up.',
    })
  if (result.issues === undefined) return
  const issues = result.issues.map(({ message, path }) => `${(path ?? []).map(pathPart).join('.')}: ${message}`)
  throw new ProjectionStateError(
    `Projection ${projection.name}: the row of ${JSON.stringify(row.key)} does not match its schema: ${issues.join('; ')}`,
    {
      impact: 'Nothing was applied. The partition waits; no event is lost.',
      hint: 'Raise the revision of the projection when its state changes, and rebuild it. Never change its table by hand.',
    },
  )
}

function pathPart(part: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof part === 'object' ? part.key : part)
}
