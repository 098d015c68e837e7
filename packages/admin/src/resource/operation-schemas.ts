/** Bodies and answers of the routes of operations. */

import type { OperationState, OperationType } from '@waybill/core/internal'
import { anyOf, list, mapOf, object } from '../schema/composite-schemas.ts'
import { about, named, nullable, optional, type Schema, schemaOf } from '../schema/schema.ts'
import {
  age,
  anyJson,
  anyNumber,
  boolean,
  instant,
  int64,
  integer,
  type Moment,
  moment,
  number,
  oneOf,
  openWord,
  text,
} from '../schema/value-schemas.ts'
import { countsSchema, errorTextSchema, pageOf, words } from './answer-schemas.ts'
import { type LetterId, letterId } from './letter-id.ts'

export const operationStates: readonly OperationState[] = [
  'PLANNED',
  'RUNNING',
  'PAUSED',
  'DONE',
  'FAILED',
  'CANCELLED',
]

export const operationTypes: readonly OperationType[] = [
  'REPLAY',
  'REPLAY_TO_TIER',
  'RELEASE',
  'PURGE',
  'EDIT_REPLAY',
  'OUTBOX_REPLAY',
  'OUTBOX_PURGE',
  'PROJECTION_REBUILD',
  'INDEX_REBUILD',
]

/** Types that a request can create by itself; an edit names its letter in the path. */
export const createdTypes = [
  'REPLAY',
  'REPLAY_TO_TIER',
  'RELEASE',
  'PURGE',
  'OUTBOX_REPLAY',
  'OUTBOX_PURGE',
  'PROJECTION_REBUILD',
  'INDEX_REBUILD',
] as const

/** Which dead letters are meant, as a request says it. */
export interface LetterFilterBody {
  readonly topic: string | undefined
  readonly group: string | undefined
  readonly event: string | undefined
  readonly exception: string | undefined
  readonly reason: 'RETRIES_EXHAUSTED' | 'NON_RETRYABLE' | 'MANUAL' | undefined
  readonly key: string | undefined
  readonly since: Moment | undefined
  readonly until: Moment | undefined
  readonly minAttempts: number | undefined
  readonly replayCount: number | undefined
  readonly traceId: string | undefined
  readonly q: string | undefined
}

export const letterFilterSchema: Schema<LetterFilterBody> = named(
  'LetterFilter',
  object({
    topic: optional(text({ max: 249 })),
    group: optional(about('A failure group.', text({ max: 100 }))),
    event: optional(about('The event type.', text({ max: 300 }))),
    exception: optional(text({ max: 300 })),
    reason: optional(oneOf(['RETRIES_EXHAUSTED', 'NON_RETRYABLE', 'MANUAL'])),
    key: optional(about('The whole key, or its beginning with a final *. Needs payloads:read.', text())),
    since: optional(about('When it died, or how long ago at most: it is resolved once.', moment)),
    until: optional(moment),
    minAttempts: optional(integer()),
    replayCount: optional(integer()),
    traceId: optional(text({ max: 32, pattern: /^[0-9a-f]{32}$/, called: 'a trace id of 32 hex digits' })),
    q: optional(about('A part of the error message or of the key. Needs payloads:read.', text({ max: 200 }))),
  }),
)

const off: Schema<false> = schemaOf<false>({
  expects: 'false',
  json: { type: 'boolean', const: false },
  // Undefined means "not accepted", so the value itself is its own conversion.
  convert: (value) => (value === false ? false : undefined),
})

type AbortRuleBody = { readonly failureRate: number; readonly minimum: number }

const abortRule = anyOf<false | AbortRuleBody>('false or { failureRate, minimum }', [
  off,
  object({ failureRate: number({ min: 0, max: 1 }), minimum: integer({ min: 1, max: 1_000_000 }) }),
])

/** The body of a request for an operation. */
export const operationFields: {
  readonly type: Schema<(typeof createdTypes)[number]>
  readonly binding: Schema<string | undefined>
  readonly outbox: Schema<string | undefined>
  readonly projection: Schema<string | undefined>
  readonly filter: Schema<LetterFilterBody | undefined>
  readonly ids: Schema<readonly LetterId[] | undefined>
  readonly target: Schema<'ORIGINAL' | 'BINDING' | undefined>
  readonly tier: Schema<number | undefined>
  readonly maxReplays: Schema<number | undefined>
  readonly limit: Schema<number | undefined>
  readonly rate: Schema<number | undefined>
  readonly canary: Schema<
    | { readonly count: number; readonly settleMs: number | undefined; readonly then: 'PAUSE' | 'CONTINUE' | undefined }
    | undefined
  >
  readonly abortWhen: Schema<false | AbortRuleBody | undefined>
  readonly olderThan: Schema<number | undefined>
  readonly includeOtherGroups: Schema<boolean | undefined>
  readonly eventType: Schema<string | undefined>
  readonly aggregateType: Schema<string | undefined>
  readonly confirm: Schema<bigint | undefined>
} = {
  type: oneOf(createdTypes),
  binding: optional(about('Of operations on dead letters.', text({ max: 500 }))),
  outbox: optional(about('Of operations on outboxes.', text({ max: 200 }))),
  projection: optional(about('Of PROJECTION_REBUILD.', text({ max: 200 }))),
  filter: optional(about('Of REPLAY, REPLAY_TO_TIER and RELEASE. {} selects all.', letterFilterSchema)),
  ids: optional(about('Single dead letters instead of a filter.', list(letterId, { min: 1, max: 1_000 }))),
  target: optional(about('Of REPLAY.', oneOf(['ORIGINAL', 'BINDING']))),
  tier: optional(about('Of REPLAY_TO_TIER, counted from 1.', integer({ min: 1, max: 100 }))),
  maxReplays: optional(integer({ min: 1, max: 1_000_000 })),
  limit: optional(about('The most records that take effect. 10,000 by default.', integer({ min: 1, max: 1_000_000 }))),
  rate: optional(about('Records per second. 50 by default.', number({ min: 0.1, max: 10_000 }))),
  canary: optional(
    about(
      'The first records, whose outcomes are awaited before any other.',
      object({
        count: integer({ min: 1, max: 1_000 }),
        settleMs: optional(integer({ max: 3_600_000 })),
        // oxlint-disable-next-line unicorn/no-thenable -- a word of the API, never a function
        then: optional(oneOf(['PAUSE', 'CONTINUE'])),
      }),
    ),
  ),
  abortWhen: optional(about('Pauses when more copies fail; false turns it off.', abortRule)),
  olderThan: optional(about('Of PURGE and OUTBOX_PURGE: an age such as P7D.', age)),
  includeOtherGroups: optional(about('Of PURGE: deletes dead letters of other groups, too.', boolean)),
  eventType: optional(about('Of operations on outboxes.', text({ max: 300 }))),
  aggregateType: optional(about('Of operations on outboxes.', text({ max: 300 }))),
  confirm: optional(about('Of OUTBOX_PURGE: `plan.matched` of its dry run.', int64)),
}

const word = openWord(operationStates)

/** An operation. */
export const operationSchema: Schema = named(
  'Operation',
  object({
    id: words,
    type: openWord(operationTypes),
    state: word,
    by: words,
    reason: nullable(words),
    binding: nullable(words),
    outbox: nullable(words),
    projection: nullable(words),
    createdAt: instant,
    startedAt: nullable(instant),
    endedAt: nullable(instant),
    expiresAt: nullable(instant),
    durable: boolean,
    runner: nullable(words),
    leaseUntil: nullable(instant),
    takeovers: integer(),
    pausedBy: nullable(openWord(['OPERATOR', 'CANARY', 'ABORT_RULE'])),
    wish: nullable(openWord(['PAUSE', 'CANCEL'])),
    rate: anyNumber,
    request: mapOf(anyJson),
    plan: mapOf(anyJson),
    progress: object({
      scanned: int64,
      sent: int64,
      refused: countsSchema,
      remaining: nullable(int64),
      etaMs: nullable(anyNumber),
    }),
    outcomes: object({
      succeeded: int64,
      retrying: int64,
      failedAgain: int64,
      skipped: int64,
      unknown: int64,
      mayBeRepeated: int64,
    }),
    trouble: nullable(errorTextSchema),
  }),
)

/** A record of an operation. */
export const operationItemSchema: Schema = pageOf(
  object({ id: words, outcome: openWord(['REFUSED', 'FAILED_AGAIN', 'MAY_REPEAT']), detail: words }),
)
