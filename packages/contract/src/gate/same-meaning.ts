import { compareSchemas } from '../compare/compare-schemas.ts'
import { canonicalText, type JsonObject } from '../schema/json.ts'

/**
 * Tells whether two schemas accept the same events and have the same defaults, in whatever words. An unproven answer is no.
 */
export function hasSameMeaning(one: JsonObject, other: JsonObject): boolean {
  if (canonicalText(one) === canonicalText(other)) return true
  // With FULL the check lists changed spellings of a type, too.
  return (['BACKWARD', 'FORWARD'] as const).every(
    (mode) => compareSchemas(one, other, { mode, writer: 'ANY', format: 'ASSERTION' }).length === 0,
  )
}
