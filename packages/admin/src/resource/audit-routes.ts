import { OptionsError } from '@waybill/core'
import type { AuditedChange } from '@waybill/core/internal'
import { isPlainObject } from '@waybill/core/option'
import { readCursor, writeCursor } from '../json/cursor.ts'
import { instantOf } from '../json/write-json.ts'
import { AdminNotFoundError } from '../problem/admin-errors.ts'
import { type Route, route } from '../route/route.ts'
import { list, object } from '../schema/composite-schemas.ts'
import { about, named, nullable, optional, type Schema } from '../schema/schema.ts'
import { anyJson, instant, type Moment, moment, oneOf, openWord, text } from '../schema/value-schemas.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { pageFields, pageOf, words } from './answer-schemas.ts'
import { withoutTexts } from './operation-view.ts'

const outcomes = ['ASKED', 'REFUSED', 'DONE', 'FAILED'] as const

const auditSchema: Schema = named(
  'AuditEntry',
  object({
    id: words,
    at: instant,
    endedAt: nullable(instant),
    by: words,
    reason: nullable(words),
    operation: words,
    target: words,
    request: nullable(anyJson),
    outcome: openWord(outcomes),
    detail: nullable(anyJson),
    scope: openWord(['INSTANCE', 'FLEET']),
    via: nullable(words),
    address: nullable(words),
  }),
)

/** Routes of the audit log. */
export function auditRoutes({ options }: AdminServices): readonly Route[] {
  return [
    route({
      id: 'listAuditEntries',
      method: 'GET',
      path: '/eventbus/audit',
      tag: 'Audit log',
      summary: 'Lists changes and reads of payloads, newest first; ASKED: the process ended before it knew the outcome',
      access: { permission: 'audit:read', of: 'ALL' },
      query: {
        by: optional(text({ max: 500 })),
        operation: optional(text({ max: 100 })),
        target: optional(about('A binding, outbox, projection or topic.', text({ max: 500 }))),
        binding: optional(about('The same as target.', text({ max: 500 }))),
        outcome: optional(about('Separated by commas.', list(oneOf(outcomes), { min: 1, max: outcomes.length }))),
        since: optional(about('An instant, or an age such as PT24H.', moment)),
        until: optional(about('Excluded.', moment)),
        ...pageFields,
      },
      answer: pageOf(auditSchema),
      async run({ grants, query: { limit, cursor, since, until, outcome, target, binding, ...same } }) {
        const { auditLog, runtime } = options
        if (auditLog?.query === undefined)
          throw new AdminNotFoundError(
            'The audit log of this server cannot be read.',
            'Pass an audit log with query to createAdmin, such as createAuditLog of @waybill/sql.',
          )
        if (target !== undefined && binding !== undefined)
          throw new OptionsError('The query', [{ path: 'binding', problem: 'is the same as target: give one of them' }])
        const filter = { ...same, outcome, target: target ?? binding, since, until }
        const now = runtime.clock.now()
        const showsPayloads = grants.allows('payloads:read', undefined)
        const page = await auditLog.query(
          {
            ...same,
            target: filter.target,
            outcomes: outcome,
            sinceMs: since === undefined ? undefined : instantOfMoment(since, now),
            untilMs: until === undefined ? undefined : instantOfMoment(until, now),
          },
          { limit, cursor: readCursor(cursor, filter) },
        )
        const next = page.next === null ? null : writeCursor(page.next, filter)
        return { body: { items: page.items.map((one) => auditView(one, showsPayloads)), next } }
      },
    }),
  ]
}

/**
 * Returns a change as answers show it.
 * @param showsPayloads - whether the reader may see what a filter looks for
 */
export function auditView(change: AuditedChange, showsPayloads: boolean): object {
  const { id, atMs, endedAtMs, by, reason, operation, target, request, outcome, detail, scope, via, address } = change
  return {
    id,
    at: instantOf(atMs),
    endedAt: instantOf(endedAtMs),
    by,
    reason: reason ?? null,
    operation,
    target,
    request: showsPayloads ? (request ?? null) : requestView(request),
    outcome,
    detail: detail ?? null,
    scope,
    via: via ?? null,
    address: address ?? null,
  }
}

function requestView(request: unknown): unknown {
  if (!isPlainObject(request) || request['filter'] === undefined) return request ?? null
  return { ...request, filter: withoutTexts(request['filter']) }
}

function instantOfMoment(given: Moment, nowMs: number): number {
  return 'atMs' in given ? given.atMs : Math.max(0, nowMs - given.agoMs)
}
