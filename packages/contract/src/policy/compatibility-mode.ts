/**
 * The readers that a schema change must not break: BACKWARD is new readers of old events, FORWARD is old readers of new
 * events, FULL is both. With `_TRANSITIVE` the change is compared with every kept version, otherwise with the last one.
 */
export type CompatibilityMode = CompatibilityDirection | 'FULL' | `${CompatibilityDirection | 'FULL'}_TRANSITIVE`

/** The direction of a reader: BACKWARD is a new reader of an old event, FORWARD an old reader of a new event. */
export type CompatibilityDirection = 'BACKWARD' | 'FORWARD'

/** All modes, in the order of the documentation. */
export const compatibilityModes: readonly CompatibilityMode[] = [
  'BACKWARD',
  'FORWARD',
  'FULL',
  'BACKWARD_TRANSITIVE',
  'FORWARD_TRANSITIVE',
  'FULL_TRANSITIVE',
]

/** Returns the directions that a mode demands. */
export function directionsOf(mode: CompatibilityMode): readonly CompatibilityDirection[] {
  if (mode.startsWith('BACKWARD')) return ['BACKWARD']
  if (mode.startsWith('FORWARD')) return ['FORWARD']
  return ['BACKWARD', 'FORWARD']
}
