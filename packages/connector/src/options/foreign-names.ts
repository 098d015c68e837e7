/**
 * Option names of other libraries, and former names, with the option to use instead. Misspelled options are recognized
 * without this table.
 */
export const foreignNames: Readonly<Record<string, string>> = Object.freeze({
  attempts: 'retry.tier0.maxAttempts',
  autoOffsetReset: 'startFrom',
  backoff: 'retry.tier0.initialBackoffMs',
  backoffMs: 'retry.tier0.initialBackoffMs',
  consumerGroup: 'groupId',
  deadLetterTopic: 'dlt.topic',
  deserializer: 'decode',
  eachBatch: 'handler: { handleBatch }',
  eachMessage: 'handler',
  fromBeginning: "startFrom: 'EARLIEST'",
  idempotency: 'deduplicate',
  idempotencyStore: 'deduplicate.store',
  inbox: 'deduplicate.inbox',
  maxAttempts: 'retry.tier0.maxAttempts',
  maxRetries: 'retry.tier0.maxAttempts (the first call counts)',
  maxWaitingBytes: 'keyOrder.maxWaitingBytes',
  maxWaitingRecords: 'keyOrder.maxWaitingRecords',
  onDeadKey: 'keyOrder.onDeadKey',
  onMessage: 'handler',
  partitionsConsumedConcurrently: 'concurrency',
  retries: 'retry',
  tiers: 'retry.tiers',
  schema: 'decode',
  timeout: 'handlerTimeoutMs',
  timeoutMs: 'handlerTimeoutMs',
  valueDeserializer: 'decode',
})

/** Returns the problem with such a name; undefined for any other path. */
export function foreignOption(path: string): string | undefined {
  // A configuration may use hyphens: `["max-retries"]`.
  const key = path.replace(/^\["(.*)"\]$/, '$1').replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
  const meant = Object.hasOwn(foreignNames, key) ? foreignNames[key] : key.startsWith('deadLetter') ? 'dlt' : undefined
  return meant === undefined ? undefined : `is not an option; did you mean ${meant}?`
}
