/** A batch that a poll brings is worth its commit; a single record is not waited for longer than needed (S0-015). */
export const batchPollRecords = 200

/** What was given, with the defaults that depend on `listenerType`. What is no binding is left for the rules to refuse. */
export function withListenerDefaults(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given
  const { listenerType, maxPollRecords } = given as {
    readonly listenerType?: unknown
    readonly maxPollRecords?: unknown
  }
  return listenerType === 'BATCH' && maxPollRecords === undefined
    ? { ...given, maxPollRecords: batchPollRecords }
    : given
}
