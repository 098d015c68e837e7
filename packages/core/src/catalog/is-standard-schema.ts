/** Tells whether a value is a schema with the common interface of schema libraries. */
export function isStandardSchema(value: unknown): boolean {
  // Some libraries make schemas that are functions.
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  const standard: unknown = (value as { '~standard'?: unknown })['~standard']
  return (
    typeof standard === 'object' &&
    standard !== null &&
    (standard as { version?: unknown }).version === 1 &&
    typeof (standard as { validate?: unknown }).validate === 'function'
  )
}
