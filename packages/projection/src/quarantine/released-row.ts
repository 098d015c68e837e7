import { type Schemas, StateError } from '@waybill/core'
import type { QuarantinedKey, StoredRow } from '@waybill/core/internal'
import type { Projection } from '../definition/projection.ts'
import { foldBatch } from '../fold/fold-batch.ts'
import type { FoundVersions } from './collect-versions.ts'

/** The versions that a preview lists. */
const mostMissing = 1_000

/** Returns the versions that are missing between a row and the last event seen of its key, at most a thousand. */
export function missingVersions(version: number, last: number, found: FoundVersions): readonly number[] {
  const known = new Set(found.map((one) => one.version))
  const highest = Math.max(last, found.at(-1)?.version ?? 0)
  const missing: number[] = []
  for (let next = version + 1; next <= highest && missing.length < mostMissing; next++)
    if (!known.has(next)) missing.push(next)
  return missing
}

/**
 * Returns the row of a quarantined key with its events applied. Pure.
 *
 * @throws StateError if a version up to the last one seen is missing, FoldFailedError if a fold throws
 */
export function releasedRow(
  projection: Projection<Schemas, unknown>,
  stored: StoredRow,
  { key, last }: Pick<QuarantinedKey, 'key' | 'last'>,
  found: FoundVersions,
): StoredRow {
  const missing = missingVersions(stored.version, last, found)
  if (missing.length > 0)
    throw new StateError(`${JSON.stringify(key)} cannot be released: ${listed(missing)} missing`, {
      impact: 'Nothing was changed. The key stays quarantined.',
      hint: 'Publish the missing events again, or accept a row that includes them.',
    })
  const released = { ...stored, isQuarantined: false }
  const { rows, stop } = foldBatch(
    projection,
    [released],
    found.map(({ event }) => event),
  )
  if (stop !== undefined) throw stop.error
  return rows[0] ?? released
}

function listed(versions: readonly number[]): string {
  if (versions.length === 1) return `version ${versions[0]} is`
  return `versions ${versions.slice(0, 10).join(', ')}${versions.length > 10 ? ', …' : ''} are`
}
