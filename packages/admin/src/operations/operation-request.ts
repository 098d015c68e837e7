/** The requests of operations, checked and with their defaults. */

import type { Buffer } from 'node:buffer'
import type { ReplayTarget } from '@waybill/connector/internal'
import type { LogRange, OperationType } from '@waybill/core/internal'
import {
  boolean,
  durationMs,
  instance,
  integer,
  list,
  mapOf,
  nested,
  oneOf,
  optional,
  type Rule,
  resolveOptions,
  text,
} from '@waybill/core/option'
import type { LetterFilter } from './dead-letter-predicate.ts'
import { limitRules, type OperationLimits } from './operation-limits.ts'

/** The position of a dead letter. */
export type LetterPosition = Pick<LogRange, 'topic' | 'partition'> & { readonly offset: bigint }

/** A replay, a replay to a tier, or a release of many dead letters. */
export interface ReplayRequest extends Partial<OperationLimits> {
  readonly type: 'REPLAY' | 'REPLAY_TO_TIER' | 'RELEASE'
  readonly binding: string
  /** Required without `positions` and `next`; `{}` selects all. */
  readonly filter?: LetterFilter | undefined
  /** Single dead letters, at most 1,000. */
  readonly positions?: readonly LetterPosition[] | undefined
  /**
   * The next ones after the position that all replays of the binding share, instead of a filter. Their copies do not name the
   * operation, so it has no outcomes, and neither canary nor rate.
   */
  readonly next?: number | undefined
  /** Of REPLAY. @defaultValue `dlt.replay.target` of the binding */
  readonly target?: ReplayTarget | undefined
  /** Of REPLAY_TO_TIER: counted from 1. */
  readonly tier?: number | undefined
  readonly maxReplays?: number | undefined
}

/** A replay of one dead letter with another value or other headers. */
export interface EditReplayRequest {
  readonly type: 'EDIT_REPLAY'
  readonly binding: string
  readonly position: LetterPosition
  /** @defaultValue `dlt.replay.target` of the binding */
  readonly target?: ReplayTarget | undefined
  readonly value?: Buffer | null | undefined
  readonly setHeaders?: Readonly<Record<string, string>> | undefined
  readonly removeHeaders?: readonly string[] | undefined
}

/** A purge of dead letters by age, from the start of each partition. */
export interface PurgeRequest {
  readonly type: 'PURGE'
  readonly binding: string
  readonly olderThanMs: number
  readonly includeOtherGroups?: boolean | undefined
}

/** A replay or a purge of DEAD events of an outbox. */
export interface OutboxRequest extends Partial<OperationLimits> {
  readonly type: 'OUTBOX_REPLAY' | 'OUTBOX_PURGE'
  readonly outbox: string
  readonly eventType?: string | undefined
  readonly aggregateType?: string | undefined
  /** Of OUTBOX_PURGE: events that died at least this long ago. */
  readonly olderThanMs?: number | undefined
}

/** A rebuild of a projection beside its live table. */
export interface RebuildRequest {
  readonly type: 'PROJECTION_REBUILD'
  readonly projection: string
}

/** A rebuild of the dead letter index from the topics of a binding. */
export interface IndexRequest {
  readonly type: 'INDEX_REBUILD'
  readonly binding: string
}

/** A request for an operation. */
export type OperationRequest =
  | ReplayRequest
  | EditReplayRequest
  | PurgeRequest
  | OutboxRequest
  | RebuildRequest
  | IndexRequest

const isOffset = (value: unknown): boolean => typeof value === 'bigint' && value >= 0n

const position = instance<LetterPosition>('an object like { topic, partition, offset: 0n }', (value) => {
  const { topic, partition, offset } = (value ?? {}) as Partial<LetterPosition>
  return typeof topic === 'string' && Number.isSafeInteger(partition) && isOffset(offset)
})

const instant = instance<number>('a time in epoch milliseconds', (value) => Number.isSafeInteger(value))

const filterRules = {
  topic: optional(text()),
  group: optional(text()),
  eventType: optional(text()),
  exception: optional(text()),
  reason: optional(oneOf(['RETRIES_EXHAUSTED', 'NON_RETRYABLE', 'MANUAL'])),
  key: optional(text()),
  sinceMs: optional(instant),
  untilMs: optional(instant),
  minAttempts: optional(integer({ min: 0 })),
  replayCount: optional(integer({ min: 0 })),
  traceId: optional(text()),
  text: optional(text()),
}

const typeRule = (...types: readonly OperationType[]): Rule<OperationType> => oneOf(types)
const headerText = instance<string>('a text', (value) => typeof value === 'string')
const target = optional(oneOf(['ORIGINAL', 'BINDING']))

const replayRules = {
  type: typeRule('REPLAY', 'REPLAY_TO_TIER', 'RELEASE'),
  binding: text(),
  filter: optional(nested(filterRules)),
  positions: optional(list(position, { min: 1, max: 1_000 })),
  next: optional(integer({ min: 1, max: 1_000_000 })),
  target,
  tier: optional(integer({ min: 1 })),
  maxReplays: optional(integer({ min: 1 })),
  ...limitRules,
}

const editRules = {
  type: typeRule('EDIT_REPLAY'),
  binding: text(),
  position,
  target,
  value: optional(
    instance<Buffer | null>('a Buffer or null', (value) => value === null || value instanceof Uint8Array),
  ),
  setHeaders: optional(mapOf(headerText)),
  removeHeaders: optional(list(text())),
}

const purgeRules = {
  type: typeRule('PURGE'),
  binding: text(),
  olderThanMs: instance<number>('an age in milliseconds', (value) => Number.isSafeInteger(value) && Number(value) >= 0),
  includeOtherGroups: boolean({ default: false, because: 'other groups still need theirs' }),
}

const indexRules = { type: typeRule('INDEX_REBUILD'), binding: text() }

const outboxRules = {
  type: typeRule('OUTBOX_REPLAY', 'OUTBOX_PURGE'),
  outbox: text(),
  eventType: optional(text()),
  aggregateType: optional(text()),
  olderThanMs: optional(durationMs({ min: 0 })),
  ...limitRules,
}

/** One record without conditions: an operation that needs no limits of its own. */
export const singleLimits: OperationLimits = { limit: 1, rate: 50, canary: undefined, abortWhen: false }

/** @throws OptionsError with every violation */
export function readReplayRequest(given: object): ReplayRequest & OperationLimits {
  return resolveOptions(
    'operation',
    replayRules,
    given,
    ({ type, next, tier, target: to, canary, ...which }, report) => {
      if ([which.filter, which.positions, next].filter((one) => one !== undefined).length !== 1)
        report('filter', 'is required, or positions, or next; { } selects all')
      if (next !== undefined && canary !== undefined)
        report('canary', 'is no option of next: its copies have no outcomes')
      if ((tier === undefined) === (type === 'REPLAY_TO_TIER')) report('tier', 'is required by REPLAY_TO_TIER alone')
      if (to !== undefined && type !== 'REPLAY') report('target', 'is an option of REPLAY alone')
    },
  ) as ReplayRequest & OperationLimits
}

/** @throws OptionsError with every violation */
export function readEditRequest(given: object): EditReplayRequest {
  return resolveOptions('operation', editRules, given) as EditReplayRequest
}

/** @throws OptionsError with every violation */
export function readPurgeRequest(given: object): Required<PurgeRequest> {
  return resolveOptions('operation', purgeRules, given) as Required<PurgeRequest>
}

/** @throws OptionsError with every violation */
export function readIndexRequest(given: object): IndexRequest {
  return resolveOptions('operation', indexRules, given) as IndexRequest
}

/** @throws OptionsError with every violation */
export function readOutboxRequest(given: object): OutboxRequest & OperationLimits {
  return resolveOptions('operation', outboxRules, given, ({ type, olderThanMs }, report) => {
    if ((olderThanMs === undefined) === (type === 'OUTBOX_PURGE'))
      report('olderThanMs', 'is required by OUTBOX_PURGE alone')
  }) as OutboxRequest & OperationLimits
}
