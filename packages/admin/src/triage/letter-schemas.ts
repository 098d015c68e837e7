/** The answers of the routes of dead letters. */

import { byteViewSchema, pageOf, words } from '../resource/answer-schemas.ts'
import { list, mapOf, object } from '../schema/composite-schemas.ts'
import { named, nullable, optional, type Schema } from '../schema/schema.ts'
import { boolean, instant, int64, integer, openWord } from '../schema/value-schemas.ts'
import { letterStates } from './letter-query.ts'

const reasons = ['RETRIES_EXHAUSTED', 'NON_RETRYABLE', 'MANUAL']

/** How far the answer has read. */
export const sourceSchema: Schema = named(
  'DeadLetterSource',
  object({
    mode: openWord(['INDEX', 'MEMORY', 'SCAN']),
    upTo: mapOf(mapOf(int64)),
    lagRecords: int64,
    leftOut: integer(),
    unreadClusters: list(words),
  }),
)

const resolved = object({ since: nullable(instant), until: nullable(instant) })

const letterFields = {
  id: words,
  binding: nullable(words),
  consumerGroup: nullable(words),
  state: openWord(letterStates),
  group: words,
  deadAt: nullable(instant),
  reason: openWord(reasons),
  exception: words,
  message: nullable(byteViewSchema),
  event: nullable(words),
  eventId: nullable(words),
  key: nullable(byteViewSchema),
  totalAttempts: integer(),
  replayCount: integer(),
  traceId: nullable(words),
  bytes: integer(),
  original: object({ topic: words, partition: integer({ min: -1 }), offset: nullable(int64), at: nullable(instant) }),
  operation: nullable(words),
}

const letterSchema = named('DeadLetter', object(letterFields))

export const groupSchema: Schema = named(
  'FailureGroup',
  object({
    group: words,
    state: openWord(['OPEN', 'RESOLVED', 'IGNORED']),
    note: nullable(words),
    by: nullable(words),
    count: int64,
    firstAt: nullable(instant),
    lastAt: nullable(instant),
    binding: nullable(words),
    event: nullable(words),
    exception: words,
    message: nullable(byteViewSchema),
    frame: nullable(words),
    replayed: int64,
    failedAgain: int64,
    sample: words,
    /** Dead letters by hour of the last day, the present hour last. Null: the index does not know them. */
    spark: nullable(object({ since: instant, bucketMs: integer(), counts: list(integer()) })),
  }),
)

export const lettersSchema: Schema = pageOf(letterSchema, { filter: resolved, source: sourceSchema })
export const groupsSchema: Schema = pageOf(groupSchema, { filter: resolved, source: sourceSchema })

export const facetsSchema: Schema = object({
  facets: mapOf(object({ values: list(object({ value: nullable(words), count: int64 })), other: int64 })),
  filter: resolved,
  source: sourceSchema,
})

const action = object({ allowed: boolean, because: optional(words) })

/** One dead letter. */
export const letterDetailSchema: Schema = named(
  'DeadLetterDetail',
  object({
    ...letterFields,
    original: object({
      topic: words,
      partition: integer({ min: -1 }),
      offset: nullable(int64),
      at: nullable(instant),
      stillThere: nullable(boolean),
    }),
    error: object({ class: words, message: nullable(byteViewSchema), stack: nullable(byteViewSchema) }),
    attempts: list(object({ tier: integer(), attempts: integer(), exception: words, exhaustedAt: nullable(instant) })),
    trace: nullable(object({ traceId: words, spanId: words, url: nullable(words) })),
    value: nullable(byteViewSchema),
    headers: list(
      object({ name: words, class: openWord(['LOCKED', 'SENSITIVE', 'CUSTOM']), value: nullable(byteViewSchema) }),
    ),
    history: list(
      object({ id: words, state: openWord(letterStates), deadAt: nullable(instant), replayCount: integer() }),
    ),
    /** With orderingMode KEY, while this process reads the partition: else null. */
    keyState: nullable(object({ state: openWord(['BLOCKED', 'PARKED', 'FREE']), waiting: integer() })),
    actions: mapOf(action),
  }),
)
