/** Converts the body of a request for an operation to what `createOperations` takes. */

import { OptionsError } from '@waybill/core'
import type { AdminPermission } from '../access/permission.ts'
import type { LetterFilter } from '../operations/dead-letter-predicate.ts'
import type { LetterPosition, OperationRequest } from '../operations/operation-request.ts'
import type { ReadFields } from '../schema/schema.ts'
import type { Moment } from '../schema/value-schemas.ts'
import type { LetterId } from './letter-id.ts'
import type { createdTypes, LetterFilterBody, operationFields } from './operation-schemas.ts'

/** A body that was read. */
export type OperationBody = ReadFields<typeof operationFields>

type CreatedType = (typeof createdTypes)[number]

/** The permission that each type needs for its binding or outbox. */
export const permissionOf: Readonly<Record<CreatedType, AdminPermission>> = {
  REPLAY: 'dlt:replay',
  REPLAY_TO_TIER: 'dlt:replay',
  RELEASE: 'dlt:release',
  PURGE: 'dlt:purge',
  OUTBOX_REPLAY: 'outbox:replay',
  OUTBOX_PURGE: 'outbox:purge',
  PROJECTION_REBUILD: 'projections:rebuild',
  INDEX_REBUILD: 'dlt:triage',
}

/** Types that delete, or let keys continue without a record. */
export function isDestructive(type: CreatedType): boolean {
  return type === 'RELEASE' || type === 'PURGE' || type === 'OUTBOX_PURGE'
}

const limits = ['limit', 'rate', 'canary', 'abortWhen'] as const
const letters = ['binding', 'filter', 'ids', 'maxReplays', ...limits] as const
const rows = ['outbox', 'eventType', 'aggregateType', 'limit', 'rate'] as const

/** The keys of each type. */
const keysOf: Readonly<Record<CreatedType, readonly (keyof OperationBody)[]>> = {
  REPLAY: [...letters, 'target'],
  REPLAY_TO_TIER: [...letters, 'tier'],
  RELEASE: ['binding', 'filter', 'ids', 'limit', 'rate'],
  PURGE: ['binding', 'olderThan', 'includeOtherGroups'],
  OUTBOX_REPLAY: rows,
  OUTBOX_PURGE: [...rows, 'olderThan', 'confirm'],
  PROJECTION_REBUILD: ['projection'],
  INDEX_REBUILD: ['binding'],
}

const required: Readonly<Record<CreatedType, readonly (keyof OperationBody)[]>> = {
  REPLAY: ['binding'],
  REPLAY_TO_TIER: ['binding', 'tier'],
  RELEASE: ['binding'],
  PURGE: ['binding', 'olderThan'],
  OUTBOX_REPLAY: ['outbox'],
  OUTBOX_PURGE: ['outbox', 'olderThan'],
  PROJECTION_REBUILD: ['projection'],
  INDEX_REBUILD: ['binding'],
}

/** @throws OptionsError if a type has keys of another, or lacks one of its own */
export function checkOperationBody(body: OperationBody): void {
  const { type } = body
  const given = (Object.keys(body) as (keyof OperationBody)[]).filter((key) => body[key] !== undefined)
  const violations = [
    ...given
      .filter((key) => key !== 'type' && (key as string) !== 'reason' && !keysOf[type].includes(key))
      .map((path) => ({ path, problem: `is no key of ${type}` })),
    ...required[type]
      .filter((key) => !given.includes(key))
      .map((path) => ({ path, problem: `is required by ${type}` })),
  ]
  if (keysOf[type].includes('filter') && given.includes('filter') === given.includes('ids'))
    violations.push({ path: 'filter', problem: 'is required, or ids; {} selects all' })
  if (violations.length > 0) throw wrongBody(violations)
}

function wrongBody(violations: ConstructorParameters<typeof OptionsError>[1]): OptionsError {
  return new OptionsError('The body', violations)
}

/** Where an operation acts, once the route found it. */
export interface OperationSubject {
  /** `{cluster}:{name}` of a binding, or the name of an outbox or a projection. */
  readonly label: string
  readonly cluster: string | undefined
}

/** Returns the request of a checked body. @throws OptionsError for an id of another cluster */
export function operationRequest(body: OperationBody, subject: OperationSubject, nowMs: number): OperationRequest {
  const { type, limit, rate, olderThan } = body
  const { label } = subject
  switch (type) {
    case 'PURGE':
      return {
        type,
        binding: label,
        olderThanMs: olderThan ?? 0,
        includeOtherGroups: body.includeOtherGroups ?? false,
      }
    case 'PROJECTION_REBUILD':
      return { type, projection: label }
    case 'INDEX_REBUILD':
      return { type, binding: label }
    case 'OUTBOX_REPLAY':
    case 'OUTBOX_PURGE':
      return defined({
        type,
        outbox: label,
        eventType: body.eventType,
        aggregateType: body.aggregateType,
        olderThanMs: olderThan,
        limit,
        rate,
      })
    case 'REPLAY':
    case 'REPLAY_TO_TIER':
    case 'RELEASE':
      return defined({
        type,
        binding: label,
        filter: body.filter === undefined ? undefined : letterFilter(body.filter, nowMs),
        positions: body.ids?.map((id) => positionOf(id, subject)),
        target: body.target,
        tier: body.tier,
        maxReplays: body.maxReplays,
        limit,
        rate,
        canary: canaryOf(body.canary),
        abortWhen: body.abortWhen,
      })
  }
}

/** Returns a filter with absolute times. */
export function letterFilter({ event, q, since, until, ...same }: LetterFilterBody, nowMs: number): LetterFilter {
  return defined({
    ...same,
    eventType: event,
    text: q,
    sinceMs: since === undefined ? undefined : instantOfMoment(since, nowMs),
    untilMs: until === undefined ? undefined : instantOfMoment(until, nowMs),
  })
}

function instantOfMoment(moment: Moment, nowMs: number): number {
  return 'atMs' in moment ? moment.atMs : Math.max(0, nowMs - moment.agoMs)
}

function positionOf({ cluster, ...position }: LetterId, subject: OperationSubject): LetterPosition {
  if (cluster !== undefined && cluster !== subject.cluster)
    throw wrongBody([{ path: 'ids', problem: `has an id of cluster ${cluster}, and the binding is of another` }])
  return position
}

function canaryOf(
  canary: OperationBody['canary'],
): { readonly count: number; readonly settleMs: number; readonly onSettled: 'PAUSE' | 'CONTINUE' } | undefined {
  if (canary === undefined) return undefined
  const { count, settleMs = 60_000, then = 'PAUSE' } = canary
  return { count, settleMs, onSettled: then }
}

/** Options that are undefined count as given. */
function defined<T extends object>(given: T): Defined<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Defined<T>
}

type Defined<T> = { readonly [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  readonly [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}
