/**
 * Where to start when the group has no offset, or one that the log no longer has.
 *
 * - EARLIEST: at the first record there is.
 * - LATEST: behind the last record there is. What is found for a partition without an offset is committed before anything
 *   of it is handed out, so that a restart goes on there and passes over nothing. A partition or topic that was created
 *   after the consumer started begins at its first record: nothing in it is older than the subscription, and it is noticed
 *   only `metadataRefreshMs` later.
 * - ERROR: the partition stands still until a seek.
 */
export type StartFrom = 'EARLIEST' | 'LATEST' | 'ERROR'
