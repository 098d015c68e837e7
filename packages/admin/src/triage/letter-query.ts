/** The filter of dead letters in a query, limited to what the operator may read. */

import type { DeadLetterFilter, DeadLetterState } from '@waybill/core/internal'
import { invalidCursor, readCursor, writeCursor } from '../json/cursor.ts'
import { instantOf } from '../json/write-json.ts'
import { type LetterFilterBody } from '../resource/operation-schemas.ts'
import { letterFilter } from '../resource/read-operation-body.ts'
import { type Call, requirePermission } from '../route/call.ts'
import { list } from '../schema/composite-schemas.ts'
import { about, optional, type Schema } from '../schema/schema.ts'
import { integer, type Moment, moment, oneOf, text } from '../schema/value-schemas.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { bindingKey } from '../service/find-binding.ts'

export const letterStates: readonly DeadLetterState[] = [
  'OPEN',
  'REPLAYED',
  'SUCCEEDED',
  'FAILED_AGAIN',
  'RESOLVED',
  'IGNORED',
  'RELEASED',
  'GONE',
]

/** The parameters of a filter. */
export interface LetterQuery extends LetterFilterBody {
  readonly binding: string | undefined
  readonly cluster: string | undefined
  readonly state: readonly DeadLetterState[] | undefined
}

/** The fields of a filter. */
export const letterQueryFields: { readonly [K in keyof LetterQuery]: Schema<LetterQuery[K]> } = {
  binding: optional(text({ max: 500 })),
  cluster: optional(text({ max: 100 })),
  topic: optional(text({ max: 249 })),
  group: optional(about('A failure group.', text({ max: 100 }))),
  event: optional(about('The event type.', text({ max: 300 }))),
  exception: optional(text({ max: 300 })),
  reason: optional(oneOf(['RETRIES_EXHAUSTED', 'NON_RETRYABLE', 'MANUAL'])),
  state: optional(about('Separated by commas.', list(oneOf(letterStates), { min: 1, max: 8 }))),
  key: optional(about('The whole key, or its beginning with a final *. Needs payloads:read.', text())),
  since: optional(about('When it died, or how long ago at most: it is resolved once.', moment)),
  until: optional<Moment>(moment),
  minAttempts: optional(integer()),
  replayCount: optional(integer()),
  traceId: optional(text({ max: 32, pattern: /^[0-9a-f]{32}$/, called: 'a trace id of 32 hex digits' })),
  q: optional(about('A part of the error message or of the key. Needs payloads:read.', text({ max: 200 }))),
}

/** A filter that was read, with the time by which its ages were resolved. */
export interface ReadFilter {
  readonly filter: DeadLetterFilter
  readonly nowMs: number
}

/**
 * Reads a filter. An operator with permissions for some bindings selects among these.
 * @throws OperationForbiddenError
 */
export function readFilter(services: AdminServices, call: Call, query: LetterQuery, nowMs: number): ReadFilter {
  const { binding, cluster, state, group, ...same } = query
  const key = binding === undefined ? undefined : keyOfBinding(binding)
  if (key !== undefined) requirePermission(call, 'dlt:read', key)
  const bindings = key !== undefined || call.grants.allows('dlt:read', undefined) ? undefined : readable(services, call)
  if (query.q !== undefined || query.key !== undefined)
    for (const subject of key === undefined ? (bindings ?? [undefined]) : [key])
      requirePermission(call, 'payloads:read', subject)
  const filter = letterFilter({ ...same, group }, nowMs)
  return { filter: { ...filter, binding: key, bindings, cluster, states: state }, nowMs }
}

/** Returns the keys of the bindings whose dead letters an operator may read. */
function readable({ connector }: AdminServices, { grants }: Call): readonly string[] {
  const keys = (connector?.listBindings() ?? []).map(bindingKey)
  return keys.filter((key) => grants.allows('dlt:read', key))
}

function keyOfBinding(name: string): string {
  return name.startsWith('default:') ? name.slice('default:'.length) : name
}

/** Requires that an operator may read the dead letters of a binding; without one, all of them. */
export function mayRead({ grants }: Pick<Call, 'grants'>, binding: string | undefined): boolean {
  return grants.allows('dlt:read', binding)
}

/** Returns the instants of a filter as answers show them. */
export function resolvedView({ filter: { sinceMs, untilMs } }: ReadFilter): object {
  return { since: instantOf(sinceMs), until: instantOf(untilMs) }
}

/** Writes a cursor that also keeps the time by which ages are resolved. */
export function writeLetterCursor(next: string | null, nowMs: number, query: object): string | null {
  return next === null ? null : writeCursor(`${nowMs} ${next}`, query)
}

/** Reads a cursor of {@link writeLetterCursor}. @throws AdminRequestError for a position that no index has written */
export function readLetterCursor(
  cursor: string | undefined,
  query: object,
  of: 'LETTERS' | 'GROUPS',
): { readonly nowMs: number | undefined; readonly cursor: string | undefined } {
  const position = readCursor(cursor, query)
  if (position === undefined) return { nowMs: undefined, cursor: undefined }
  const [, nowMs, place] = /^(\d{1,15}) (.+)$/.exec(position) ?? []
  if (place === undefined || !isPlace(place, forms[of])) throw invalidCursor()
  return { nowMs: Number(nowMs), cursor: place }
}

const isName = (value: unknown): boolean => typeof value === 'string' && value.length <= 500 && !value.includes('\0')
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0
const isDigits = (value: unknown): boolean => typeof value === 'string' && /^-?\d{1,18}$/.test(value)

/** The members of a position: `letterCursor` and `groupCursor` of the index write them. */
const forms = {
  LETTERS: [Number.isSafeInteger, isName, isName, isCount, isDigits],
  GROUPS: [isDigits, isName],
} as const

function isPlace(place: string, form: readonly ((value: unknown) => boolean)[]): boolean {
  try {
    const members: unknown = JSON.parse(place)
    return Array.isArray(members) && members.length === form.length && form.every((isValid, at) => isValid(members[at]))
  } catch {
    return false
  }
}
