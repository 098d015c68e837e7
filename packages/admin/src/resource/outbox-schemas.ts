/** Answers of the routes of outboxes. */

import { list, object } from '../schema/composite-schemas.ts'
import { named, nullable, type Schema } from '../schema/schema.ts'
import { anyNumber, boolean, instant, int64, integer, openWord } from '../schema/value-schemas.ts'
import { byteViewSchema, words } from './answer-schemas.ts'

const counted = object({ count: int64, exact: boolean })

const summaryFields = {
  outbox: words,
  mode: nullable(words),
  backlog: object({ pending: int64, retrying: int64, more: boolean, oldestAgeMs: anyNumber }),
  dead: int64,
  rates: object({ successPerSecond: nullable(anyNumber), failurePerSecond: nullable(anyNumber) }),
  nodes: list(object({ owner: words, shards: integer() })),
  health: nullable(
    object({
      status: openWord(['UP', 'DEGRADED', 'DOWN']),
      reasons: list(
        object({
          status: openWord(['DEGRADED', 'DOWN']),
          since: instant,
          what: words,
          hint: words,
          waiting: nullable(integer()),
        }),
      ),
    }),
  ),
} as const

/** An outbox in a list. */
export const outboxSchema: Schema = named('Outbox', object(summaryFields))

/** An outbox with its shards. */
export const outboxDetailSchema: Schema = named(
  'OutboxDetail',
  object({ ...summaryFields, shards: list(object({ shard: integer({ min: -1_000_000 }), owner: words })) }),
)

const eventFields = {
  seq: int64,
  eventId: words,
  eventType: nullable(words),
  aggregateType: nullable(words),
  aggregateId: nullable(byteViewSchema),
  attempts: integer(),
  lastError: nullable(byteViewSchema),
  failureType: nullable(words),
  diedAt: nullable(instant),
} as const

/** A DEAD event in a list. */
export const deadEventSchema: Schema = named('DeadEvent', object(eventFields))

/** A row, whatever its status. */
export const outboxEventSchema: Schema = named(
  'OutboxEvent',
  object({
    ...eventFields,
    status: openWord(['NEW', 'RETRY', 'DONE', 'DEAD']),
    createdAt: instant,
    availableAt: instant,
    occurredAt: nullable(instant),
    tenantId: nullable(words),
    payload: nullable(byteViewSchema),
    headers: list(object({ name: words, value: nullable(byteViewSchema) })),
  }),
)

/** A failed event that later events of its key wait for. */
export const blockerSchema: Schema = named(
  'Blocker',
  object({
    seq: int64,
    eventId: words,
    aggregateType: words,
    aggregateId: nullable(byteViewSchema),
    status: openWord(['RETRY', 'DEAD']),
    attempts: integer(),
    lastError: nullable(byteViewSchema),
    since: instant,
    behind: counted,
  }),
)
