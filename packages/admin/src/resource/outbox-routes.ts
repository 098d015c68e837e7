import type { AdminPermission } from '../access/permission.ts'
import { readCursor, writeCursor } from '../json/cursor.ts'
import { AdminNotFoundError } from '../problem/admin-errors.ts'
import { type Call, requirePermission } from '../route/call.ts'
import { type Route, route } from '../route/route.ts'
import { list, object } from '../schema/composite-schemas.ts'
import { about, nullable, optional, withDefault } from '../schema/schema.ts'
import { boolean, integer, openWord, text } from '../schema/value-schemas.ts'
import type { AdminOutbox } from '../service/admin-outbox.ts'
import type { AdminServices } from '../service/admin-services.ts'
import type { PayloadRule } from '../service/payload-view.ts'
import { pageFields, pageOf, words } from './answer-schemas.ts'
import { perSecond } from './binding-view.ts'
import {
  blockerSchema,
  deadEventSchema,
  outboxDetailSchema,
  outboxEventSchema,
  outboxSchema,
} from './outbox-schemas.ts'
import { blockerView, deadEventView, outboxEventView } from './outbox-view.ts'

const tag = 'Outboxes'
/** Rows counted of each kind: the cost does not depend on the backlog. */
const countUpTo = 10_000

interface Found {
  readonly name: string
  readonly outbox: AdminOutbox
}

/** Routes of outboxes. */
export function outboxRoutes(services: AdminServices): readonly Route[] {
  const { options } = services
  const read = { permission: 'outbox:read', of: 'SUBJECT' } as const
  return [
    route({
      id: 'listOutboxes',
      method: 'GET',
      path: '/eventbus/outboxes',
      tag,
      summary: 'Lists outboxes with their backlog',
      access: { permission: 'outbox:read', of: 'SOME' },
      answer: object({ items: list(outboxSchema), next: nullable(words) }),
      async run({ grants }) {
        const visible = Object.entries(options.outboxes).filter(([name]) => grants.allows('outbox:read', name))
        const items = visible.map(([name, outbox]) => outboxSummary(services, { name, outbox }))
        return { body: { items: await Promise.all(items), next: null } }
      },
    }),
    route({
      id: 'getOutbox',
      method: 'GET',
      path: '/eventbus/outboxes/{outbox}',
      tag,
      summary: 'Shows an outbox with its shards and their owners',
      access: read,
      answer: outboxDetailSchema,
      async run(call) {
        const found = findOutbox(services, call, 'outbox:read')
        const owners = await shardsOf(found)
        const shards = owners.filter(({ shard }) => shard >= 0).map(({ shard, owner }) => ({ shard, owner }))
        return { body: { ...(await outboxSummary(services, found)), shards } }
      },
    }),
    route({
      id: 'listDeadEvents',
      method: 'GET',
      path: '/eventbus/outboxes/{outbox}/dead',
      tag,
      summary: 'Lists DEAD events, oldest first',
      access: read,
      query: {
        type: optional(about('The event type.', text({ max: 300 }))),
        aggregateType: optional(text({ max: 300 })),
        ...pageFields,
      },
      answer: pageOf(deadEventSchema),
      async run(call) {
        const found = findOutbox(services, call, 'outbox:read')
        const { type: eventType, aggregateType, limit, cursor } = call.query
        const filter = { outbox: found.name, eventType, aggregateType }
        const after = readCursor(cursor, filter)
        const selection = {
          ...(eventType === undefined ? {} : { eventType }),
          ...(aggregateType === undefined ? {} : { aggregateType }),
        }
        const rows = await found.outbox.deadEvents.query(
          { ...selection, limit: limit + 1, ...(after === undefined ? {} : { after: sequenceOf(after) }) },
          call.operator,
        )
        const page = rows.slice(0, limit)
        const last = page.at(-1)
        const rule = ruleOf(services, call, found)
        return {
          body: {
            items: page.map((row) => deadEventView(row, rule)),
            next: rows.length > limit && last !== undefined ? writeCursor(String(last.seq), filter) : null,
          },
        }
      },
    }),
    route({
      id: 'getOutboxEvent',
      method: 'GET',
      path: '/eventbus/outboxes/{outbox}/events/{eventId}',
      tag,
      summary: 'Shows the row of an event, whatever its status',
      access: read,
      answer: outboxEventSchema,
      async run(call) {
        const found = findOutbox(services, call, 'outbox:read')
        const eventId = eventIdOf(call)
        const rule = ruleOf(services, call, found)
        const find = () => found.outbox.deadEvents.find(eventId, call.operator)
        const row = await (rule.isShown ? services.payloadReads.read(call, found.name, eventId, find) : find())
        if (row === undefined) throw new AdminNotFoundError('The outbox has no row of this event.')
        return { body: outboxEventView(row, rule) }
      },
    }),
    route({
      id: 'listBlockers',
      method: 'GET',
      path: '/eventbus/outboxes/{outbox}/blockers',
      tag,
      summary: 'Lists failed events that later events of their key wait for, oldest first',
      access: read,
      query: { limit: withDefault(integer({ min: 1, max: 100 }), 50) },
      answer: object({ items: list(blockerSchema), next: nullable(words) }),
      async run(call) {
        const found = findOutbox(services, call, 'outbox:read')
        const { isShown } = ruleOf(services, call, found)
        const rows = await found.outbox.deadEvents.blockers({ limit: call.query.limit }, call.operator)
        return { body: { items: rows.map((row) => blockerView(row, isShown)), next: null } }
      },
    }),
    replayRoute(services),
  ]
}

function replayRoute(services: AdminServices): Route {
  return route({
    id: 'replayDeadEvent',
    method: 'POST',
    path: '/eventbus/outboxes/{outbox}/dead/{eventId}/replay',
    tag,
    summary: 'Makes a DEAD event NEW, with all its attempts; replayed: false if another operator was faster',
    access: { permission: 'outbox:replay', of: 'SUBJECT' },
    body: {},
    change: { operation: 'REPLAY_DEAD_EVENTS', isDestructive: false },
    answer: object({
      eventId: words,
      replayed: boolean,
      dryRun: optional(boolean),
      status: optional(openWord(['DEAD'])),
    }),
    async run(call) {
      const found = findOutbox(services, call, 'outbox:replay')
      const eventId = eventIdOf(call)
      const { deadEvents } = found.outbox
      const row = await deadEvents.find(eventId, call.operator)
      if (row === undefined) throw new AdminNotFoundError('The outbox has no row of this event.')
      if (call.isDryRun) return { body: { dryRun: true, eventId, replayed: row.status === 'DEAD', status: row.status } }
      return { body: { eventId, replayed: await deadEvents.replay(eventId, call.operator) } }
    },
  })
}

/** @throws AdminNotFoundError, OperationForbiddenError */
function findOutbox({ options }: AdminServices, call: Call, permission: AdminPermission): Found {
  const { outbox: name = '' } = call.params
  requirePermission(call, permission, name)
  const outbox = Object.hasOwn(options.outboxes, name) ? options.outboxes[name] : undefined
  if (outbox === undefined) throw new AdminNotFoundError('There is no such outbox.')
  return { name, outbox }
}

function ruleOf({ options }: AdminServices, { grants }: Pick<Call, 'grants'>, { name }: Found): PayloadRule {
  return { isShown: grants.allows('payloads:read', name), policy: options.payloads }
}

/** @throws AdminNotFoundError for a text that no event has as its id */
function eventIdOf({ params }: Call): string {
  const { eventId = '' } = params
  if (eventId.length > 36) throw new AdminNotFoundError('The outbox has no row of this event.')
  return eventId
}

/** A cursor is opaque and may be made up. @throws AdminNotFoundError */
function sequenceOf(position: string): bigint {
  if (!/^\d{1,16}$/.test(position)) throw new AdminNotFoundError('The cursor names no event.')
  return BigInt(position)
}

async function shardsOf({ outbox }: Found): Promise<readonly { readonly owner: string; readonly shard: number }[]> {
  return outbox.database.connection((connection) => outbox.store.shardOwners(connection))
}

/** Returns an outbox as lists show it. */
export async function outboxSummary({ options }: AdminServices, { name, outbox }: Found): Promise<object> {
  const { mode, metricPrefix = 'outbox' } = outbox
  const { pending, retrying, dead, more, oldestAgeMs } = await outbox.database.connection((connection) =>
    outbox.store.backlog(connection, { countUpTo }),
  )
  const owners = Map.groupBy(
    (await shardsOf({ name, outbox })).filter(({ shard }) => shard >= 0),
    ({ owner }) => owner,
  )
  return {
    outbox: name,
    mode: mode ?? null,
    backlog: { pending: BigInt(pending), retrying: BigInt(retrying), more, oldestAgeMs },
    dead: BigInt(dead),
    rates: {
      successPerSecond: perSecond(options, `${metricPrefix}.dispatch.success`, {}),
      failurePerSecond: perSecond(options, `${metricPrefix}.dispatch.failure`, {}),
    },
    nodes: [...owners].map(([owner, shards]) => ({ owner, shards: shards.length })),
    health: healthOf(outbox),
  }
}

function healthOf({ health }: AdminOutbox): object | null {
  if (health === undefined) return null
  const { status, reasons } = health()
  return {
    status,
    reasons: reasons.map(({ status: severity, since, what, hint, waiting }) => ({
      status: severity,
      since,
      what,
      hint,
      waiting,
    })),
  }
}
