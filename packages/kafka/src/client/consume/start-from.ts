/**
 * The start position when the group has no offset, or one that the log no longer has.
 *
 * - EARLIEST: the first record in the log.
 * - LATEST: the end of the log. The position found for a partition without an offset is committed before any of its
 *   records are handed out, so that a restart continues there and skips nothing. A partition or topic created after the
 *   consumer started begins at its first record: all its records are newer than the subscription, and it is noticed
 *   only `metadataRefreshMs` later.
 * - ERROR: the partition is blocked until a seek.
 */
export type StartFrom = 'EARLIEST' | 'LATEST' | 'ERROR'
