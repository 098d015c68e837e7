/** The default of `maxPollRecords` with BATCH: larger, since a batch costs one commit. */
export const batchPollRecords = 200

/** Applies the defaults that depend on `listenerType`. Leaves anything that is not an object to the rules. */
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
